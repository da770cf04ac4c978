"""WordLlama read from its files gives the vectors its own code gives."""

from __future__ import annotations

import logging
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recollect.errors import InvalidInputError, InvalidTextError
from recollect.providers.embedders import Embedder, open_embedder
from recollect.providers.embedders.vectors import blank_vector


def test_vectors_equal_those_of_the_package_itself(wordllama: Embedder, sentences: list[str]) -> None:
    handlers, level = list(logging.root.handlers), logging.root.level
    from wordllama import WordLlama

    logging.root.handlers[:], logging.root.level = handlers, level  # its import sets up logging for all
    spec = find_spec("wordllama")
    assert spec is not None
    assert spec.origin is not None
    reference = WordLlama.load(cache_dir=Path(spec.origin).parent, disable_download=True)
    expected = reference.embed(sentences, norm=True)
    assert (wordllama.embed(sentences) * expected).sum(axis=1).min() > 0.999999


def test_the_package_is_not_imported_and_logging_is_left_alone(model_cache: Path) -> None:
    code = (
        "import logging, sys; from pathlib import Path;"
        "from recollect.providers.embedders import open_embedder;"
        "open_embedder('wordllama', cache_dir=Path(sys.argv[1])).embed(['a', 'b']);"
        "print('wordllama' in sys.modules, logging.root.handlers)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(model_cache)],
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    assert (done.stdout.strip(), done.stderr) == ("False []", "")


@settings(deadline=None)
@given(texts=st.lists(st.text(max_size=80), min_size=1, max_size=12))
def test_a_text_has_the_same_unit_vector_alone_and_in_any_batch(
    wordllama: Embedder, texts: list[str]
) -> None:
    together = wordllama.embed(texts)
    alone = np.stack([wordllama.embed_query(text) for text in texts])
    assert (together * alone).sum(axis=1).min() >= 0.9999
    assert np.allclose(np.linalg.norm(together, axis=1), 1, atol=1e-5)


def test_an_empty_text_gets_the_blank_vector_which_is_far_from_sentences(
    wordllama: Embedder, sentences: list[str]
) -> None:
    blank = wordllama.embed_query("")
    assert np.array_equal(blank, blank_vector(256))
    assert np.abs(wordllama.embed(sentences) @ blank).max() < 0.3


def test_no_texts_give_no_vectors(wordllama: Embedder) -> None:
    assert wordllama.embed([]).shape == (0, 256)


def test_more_texts_than_a_batch_keep_their_order(wordllama: Embedder) -> None:
    texts = [f"text number {number}" for number in range(600)]
    vectors = wordllama.embed(texts)
    for index in (0, 255, 256, 599):
        assert vectors[index] @ wordllama.embed_query(texts[index]) >= 0.9999


def test_a_lone_surrogate_is_refused_as_invalid_text(wordllama: Embedder) -> None:
    for call in (wordllama.embed_query, wordllama.split, lambda text: wordllama.embed(["fine", text])):
        with pytest.raises(InvalidTextError, match="valid Unicode"):
            call("broken \ud800")


def test_a_variant_is_refused(model_cache: Path) -> None:
    with pytest.raises(InvalidInputError, match="'wordllama:512'"):
        open_embedder("wordllama:512", cache_dir=model_cache)

"""The multilingual embedder: meaning across languages, one vector per text whatever stands beside it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from recollect.errors import InvalidInputError, InvalidTextError
from recollect.providers.embedders import Embedder, open_embedder

NOTES = [
    "Keine Federkissen, ich bin gegen Daunen allergisch.",
    "Le code de l'immeuble est 48B17, deuxième cour à gauche.",
    "次の点検は十二月十日の朝九時からです。",
    "The release train leaves every second Tuesday.",
    "La boda es el 19 de septiembre en Carmona.",
]


@pytest.fixture(scope="module")
def e5(model_cache: Path) -> Embedder:
    return open_embedder("e5", cache_dir=model_cache)


@pytest.mark.parametrize(
    ("question", "note"),
    [
        ("Which pillows should I avoid?", 0),
        ("What is the door code of the building?", 1),
        ("When is the next inspection?", 2),
        ("Wann fährt der Release-Zug?", 3),
        ("Where does the wedding take place?", 4),
    ],
)
def test_a_question_finds_a_memory_in_another_language(e5: Embedder, question: str, note: int) -> None:
    assert int(np.argmax(e5.embed(NOTES) @ e5.embed_query(question))) == note


def test_a_text_has_the_same_vector_alone_and_in_a_batch(e5: Embedder) -> None:
    together = e5.embed(NOTES)
    alone = np.concatenate([e5.embed([note]) for note in NOTES])
    assert (together * alone).sum(axis=1).min() > 0.9999
    assert np.allclose(np.linalg.norm(together, axis=1), 1, atol=1e-5)


def test_texts_of_any_length_and_content_are_embedded(e5: Embedder) -> None:
    odd = ["", " ", "a\0b", "点" * 20_000, "word " * 20_000, "\U0001f9c1"]
    assert e5.embed(odd).shape == (len(odd), 384)
    assert "".join(e5.split("word " * 2_000)).split() == ["word"] * 2_000


def test_what_is_no_text_and_other_variants_are_clear_errors(e5: Embedder, model_cache: Path) -> None:
    with pytest.raises(InvalidTextError, match="valid Unicode"):
        e5.embed(["\ud800"])
    with pytest.raises(InvalidInputError, match="there is 'e5'"):
        open_embedder("e5:large", cache_dir=model_cache)

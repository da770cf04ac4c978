"""Cutting long texts: pieces are substrings in order, cover everything, and fit the window."""

from __future__ import annotations

import re
from itertools import pairwise

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.profiles import examples

from recollect.providers.embedders import Embedder
from recollect.providers.embedders.vectors import Span, spans_by_bytes, spans_by_tokens


def words_and_letters(text: str) -> list[Span]:
    """A tokenizer like the real ones: words are cut into bits of three, signs outside Latin-1 count twice."""
    tokens: list[Span] = []
    for match in re.finditer(r"\w{1,3}|[^\w\s]", text):
        tokens.append(match.span())
        if ord(match.group()[0]) > 255:
            tokens.append(match.span())
    return tokens


def assert_covering(spans: list[Span], text: str) -> None:
    assert spans[0][0] == 0
    assert spans[-1][1] == len(text)
    for (start, end), (next_start, next_end) in pairwise(spans):
        assert start < next_start <= end < next_end


@given(text=st.text(alphabet="ab é数🙂.\n ", max_size=400), window=st.integers(16, 60))
def test_token_pieces_cover_the_text_and_fit(text: str, window: int) -> None:
    spans = spans_by_tokens(text, words_and_letters, window=window, overlap=window // 4)
    assert_covering(spans, text)
    assert all(len(words_and_letters(text[start:end])) <= window for start, end in spans)


@given(text=st.text(alphabet="ab é数🙂.\n ", max_size=400), limit=st.integers(4, 60))
def test_byte_pieces_cover_the_text_and_fit(text: str, limit: int) -> None:
    spans = spans_by_bytes(text, limit=limit)
    assert "".join(text[start:end] for start, end in spans) == text
    assert all(len(text[start:end].encode()) <= limit for start, end in spans)


def test_a_text_that_fits_is_left_whole() -> None:
    assert spans_by_tokens("  one two ", words_and_letters, window=16, overlap=4) == [(0, 10)]
    assert spans_by_bytes("one two", limit=7) == [(0, 7)]
    assert spans_by_bytes("", limit=7) == [(0, 0)]


def test_pieces_are_cut_between_words_and_share_some() -> None:
    text = " ".join(f"word{number:03d}" for number in range(100))
    spans = spans_by_tokens(text, words_and_letters, window=30, overlap=6)
    pieces = [text[start:end] for start, end in spans]
    assert len(pieces) > 3
    assert all(re.fullmatch(r"(word\d{3} ?)+", piece) for piece in pieces)
    for one, after in pairwise(pieces):
        assert set(one.split()) & set(after.split())


@pytest.fixture(scope="session", params=[pytest.param("minilm", marks=pytest.mark.system), "wordllama"])
def embedder(request: pytest.FixtureRequest) -> Embedder:
    opened: Embedder = request.getfixturevalue(request.param)
    return opened


PHRASES = [
    "The plan",
    "changed.",
    "数据库迁移",
    "🙂🙂🙂",
    "x" * 300,
    "naïve",
    "\n\n",
    "supercalifragilistic",
    "e\u0301",
]
LONG = st.lists(st.sampled_from(PHRASES), min_size=100, max_size=600).map(" ".join)


@settings(
    max_examples=examples(15),
    deadline=None,
    suppress_health_check=[HealthCheck.large_base_example, HealthCheck.data_too_large],
)
@given(text=LONG)
def test_an_embedder_splits_a_long_text_into_pieces_that_cover_it_and_are_not_split_again(
    embedder: Embedder, text: str
) -> None:
    # How far the pieces may reach so far: a text that repeats itself has the same piece in several places.
    covered = {0}
    for piece in embedder.split(text):
        assert embedder.split(piece) == [piece]
        begins = [at for at in range(max(covered) + 1) if text.startswith(piece, at)]
        covered = {at + len(piece) for at in begins for end in covered if at <= end < at + len(piece)}
        assert covered
    assert len(text) in covered


def test_short_and_empty_texts_are_one_piece(embedder: Embedder) -> None:
    assert embedder.split("") == [""]
    assert embedder.split(" a short text\n") == [" a short text\n"]


def test_the_end_of_a_long_text_can_be_found_by_its_last_piece(embedder: Embedder) -> None:
    text = "Notes about the weather in the mountains. " * 120 + "The safe's code is in the blue folder."
    question = embedder.embed_query("Where is the code of the safe?")
    scores = embedder.embed(embedder.split(text)) @ question
    assert int(scores.argmax()) == len(scores) - 1
    assert scores[-1] > scores[0] + 0.05

"""Ranking sections by what an index measured, and saying when nothing answers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from uuid import UUID

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.profiles import examples

from recollect.library.lookup import look_through
from recollect.library.prose import Asked, names_in, read_asked
from recollect.library.ranking import (
    ANSWERED,
    Pool,
    RankedSection,
    Weights,
    answer_curve,
    comparable,
    missing_names,
    rank_sections,
    sureness,
)
from recollect.retrieval.rank.calibration import MINILM, UNKNOWN, WORDLLAMA

QUESTION = read_asked("which colour has the roof")  # two terms that are no names: colour, roof


def pool(
    rows: Sequence[tuple[int, int, float, float]],
    *,
    matched: Sequence[int] | None = None,
    texts: Sequence[str] | None = None,
    idf: Sequence[float] = (3.0, 3.0),
) -> Pool:
    """Rows of section, page, cosine, BM25."""
    table = np.array(rows, dtype=np.float64).reshape(-1, 4)
    return Pool(
        sections=table[:, 0].astype(np.int64),
        pages=table[:, 1].astype(np.int64),
        cosine=table[:, 2],
        bm25=table[:, 3],
        matched=np.array(matched if matched is not None else [0] * len(rows), dtype=np.int64),
        idf=np.array(idf, dtype=np.float64),
        texts=texts if texts is not None else [""] * len(rows),
    )


def answer_score(ranked: Sequence[RankedSection], found: Pool, asked: Asked) -> float:
    return answer_curve(sureness(ranked, found, asked))


def order(ranked: Sequence[RankedSection]) -> list[int]:
    return [one.section for one in ranked]


def test_an_empty_pool_has_no_sections_and_no_answer() -> None:
    nothing = pool([])
    assert rank_sections(nothing, QUESTION) == []
    assert answer_score([], nothing, QUESTION) < ANSWERED


def test_the_section_with_the_nearest_passage_comes_first() -> None:
    assert order(rank_sections(pool([(1, 1, 0.3, 0), (2, 2, 0.6, 0), (3, 3, 0.5, 0)]), QUESTION)) == [2, 3, 1]


def test_words_decide_between_sections_of_the_same_meaning() -> None:
    found = pool([(1, 1, 0.5, 0.0), (2, 2, 0.5, 6.0)], matched=[0b00, 0b11])
    ranked = rank_sections(found, QUESTION)
    assert order(ranked) == [2, 1]
    assert ranked[0].reasons["bm25"] > 0
    assert ranked[0].reasons["section_words"] == pytest.approx(Weights().section_words)


def test_a_page_that_speaks_of_the_subject_lifts_its_sections() -> None:
    rows = [
        (1, 1, 0.50, 0),
        (2, 2, 0.49, 0),
        *((section, 2, 0.48, 0) for section in range(3, 7)),
        (9, 9, 0.4, 0),
    ]
    assert order(rank_sections(pool(rows), QUESTION))[0] == 2


def test_a_passage_that_stands_out_wins_against_pages_of_faint_ones() -> None:
    rows = [(1, 1, 0.6, 0), *((section, 2, 0.42, 0) for section in range(2, 9)), (9, 9, 0.1, 0)]
    ranked = rank_sections(pool(rows), QUESTION)
    assert order(ranked)[0] == 1
    assert ranked[0].reasons["alone"] > 0


def test_the_words_of_a_section_are_those_of_all_its_passages_together() -> None:
    rows = [(1, 1, 0.5, 1.0), (1, 1, 0.5, 1.0), (2, 2, 0.5, 1.0), (2, 2, 0.5, 1.0)]
    ranked = rank_sections(pool(rows, matched=[0b01, 0b10, 0b01, 0b01]), QUESTION)
    assert order(ranked) == [1, 2]


def test_a_quantity_prefers_the_passage_with_a_number_and_a_default_the_one_that_says_so() -> None:
    rows = [(1, 1, 0.5, 0), (2, 2, 0.5, 0)]
    how_many = read_asked("how many tiles has the roof")
    found = pool(rows, texts=["Some tiles.", "It has 12 tiles."], idf=[3.0] * len(how_many.terms))
    assert order(rank_sections(found, how_many)) == [2, 1]
    stock = read_asked("which colour unless told otherwise")
    found = pool(rows, texts=["It is red.", "The default is red."], idf=[3.0] * len(stock.terms))
    assert order(rank_sections(found, stock)) == [2, 1]
    assert order(rank_sections(found, QUESTION)) == [1, 2]


def test_the_passages_of_a_section_are_rows_of_the_pool_strongest_first() -> None:
    rows = [(1, 1, 0.2, 0), (2, 2, 0.9, 0), (1, 1, 0.6, 0), (1, 1, 0.4, 0), (1, 1, 0.3, 0)]
    ranked = {one.section: one.passages for one in rank_sections(pool(rows), QUESTION)}
    assert ranked == {1: (2, 3, 4), 2: (1,)}


def test_a_near_passage_answers_and_a_far_one_does_not() -> None:
    for cosine, answered in ((0.6, True), (0.45, True), (0.3, False), (0.1, False)):
        found = pool([(1, 1, cosine, 0)])
        score = answer_score(rank_sections(found, QUESTION), found, QUESTION)
        assert (score >= ANSWERED) is answered
        assert 0 <= score <= 1


def test_a_question_about_another_product_is_not_answered_by_what_lacks_its_name() -> None:
    asked = read_asked("how do I add an index in MongoDB")
    bits = {term: 1 << number for number, term in enumerate(asked.terms)}
    rows: list[tuple[int, int, float, float]] = [(1, 1, 0.6, 5.0)]
    without = pool(rows, matched=[bits["add"] | bits["index"]], idf=[2.0, 2.0, 9.0])
    named = pool(rows, matched=[sum(bits.values())], idf=[2.0, 2.0, 9.0])
    assert missing_names(rank_sections(without, asked), without, asked) == pytest.approx(9 / 13)
    assert answer_score(rank_sections(without, asked), without, asked) < ANSWERED
    assert answer_score(rank_sections(named, asked), named, asked) >= ANSWERED


@pytest.mark.parametrize(
    ("question", "passages", "answered"),
    [
        ("how do I centre a box with flexbox", 40_000, False),
        # In a small library words that anybody uses are missing.
        ("how do I centre a box with flexbox", 40, True),
        ("who has to centre a box with flexbox", 40_000, True),
    ],
)
def test_a_way_with_a_tool_that_a_large_library_never_names_is_not_in_it(
    question: str, passages: int, answered: bool
) -> None:
    asked = read_asked(question)
    row = {
        "document_id": UUID(int=1),
        "section": 1,
        "document_tokens": 100,
        "path": "Boxes",
        "text": "A box is centred by hand.",
        "cosine": 0.5,
        "bm25": 2.0,
        "matched": 1 << asked.terms.index("box"),
        "passages": passages,
        "df": [0 if term in ("centr", "flexbox") else 9 for term in asked.terms],
    }
    look = look_through(asked, [row], calibration=MINILM, limit=5)
    assert (answer_curve(look.sureness) >= ANSWERED) is answered


def test_a_passage_that_has_the_names_of_a_question_is_likely_about_it() -> None:
    asked = read_asked("when does Ada Holm leave")
    bits = {term: 1 << number for number, term in enumerate(asked.terms)}
    both = bits["ada"] | bits["holm"]
    rows: list[tuple[int, int, float, float]] = [(1, 1, 0.40, 0.0), (2, 2, 0.33, 0.0)]
    weights = [9.0 if term in asked.names else 2.0 for term in asked.terms]
    found = pool(rows, matched=[0, both], idf=weights)
    assert order(rank_sections(found, asked)) == [2, 1]
    alone = pool([(2, 2, 0.33, 0.0)], matched=[both], idf=weights)
    assert answer_score(rank_sections(alone, asked), alone, asked) >= ANSWERED
    nameless = pool([(2, 2, 0.33, 0.0)], matched=[0], idf=weights)
    assert answer_score(rank_sections(nameless, asked), nameless, asked) < ANSWERED


@pytest.mark.parametrize(
    ("question", "names"),
    [
        ("How do I add an index in MongoDB?", {"mongodb"}),
        ("Which colour? The roof has I think two.", set()),
        ("What does max_wal_size do", {"max", "wal", "size", "max_wal_size"}),
        ("When does Ada Holm leave?", {"ada", "holm"}),
        ("Why does a JSON float lose digits?", {"json"}),
        ("is there a limit for http2 streams", {"http2"}),
        ("", set()),
    ],
)
def test_names_are_capitalised_inside_a_sentence_or_written_like_identifiers(
    question: str, names: set[str]
) -> None:
    assert names_in(question) == names


def test_cosines_of_other_embedders_are_read_on_one_scale() -> None:
    cosine = np.array([0.2, 0.6, np.nan])
    assert comparable(cosine, MINILM) == pytest.approx([0.2, 0.6, 0.2])
    assert comparable(cosine, WORDLLAMA) == pytest.approx([0.25, 0.53, 0.25])
    assert comparable(cosine, UNKNOWN)[1] > comparable(cosine, UNKNOWN)[0]
    assert comparable(np.array([np.nan, np.nan]), MINILM).tolist() == [0.0, 0.0]


def test_without_vectors_the_words_alone_rank() -> None:
    rows = [(1, 1, np.nan, 0.5), (2, 2, np.nan, 6.0)]
    assert order(rank_sections(pool(rows, matched=[0b01, 0b11]), QUESTION)) == [2, 1]


def test_a_question_without_terms_is_ranked_by_meaning() -> None:
    asked = read_asked("???")
    found = pool([(1, 1, 0.2, 0), (2, 2, 0.6, 0)], idf=[])
    ranked = rank_sections(found, asked)
    assert order(ranked) == [2, 1]
    assert answer_score(ranked, found, asked) >= ANSWERED


ROWS = st.lists(
    st.tuples(st.integers(0, 9), st.floats(-0.2, 1.0), st.floats(0.0, 12.0), st.integers(0, 3)),
    min_size=1,
    max_size=40,
)


@settings(max_examples=examples(60), deadline=None)
@given(rows=ROWS, seed=st.integers(0, 999))
def test_the_order_of_the_pool_changes_nothing(rows: list[Any], seed: int) -> None:
    def ranked(rows: list[Any]) -> list[tuple[int, float]]:
        found = pool(
            [(section, section // 3, cosine, bm25) for section, cosine, bm25, _ in rows],
            matched=[bits for *_, bits in rows],
        )
        return [(one.section, round(one.relevance, 9)) for one in rank_sections(found, QUESTION)]

    shuffled = [rows[at] for at in np.random.default_rng(seed).permutation(len(rows))]
    assert sorted(ranked(shuffled)) == sorted(ranked(rows))


@settings(max_examples=examples(60), deadline=None)
@given(rows=ROWS)
def test_a_ranking_has_every_section_once_and_falls(rows: list[Any]) -> None:
    found = pool([(section, section // 3, cosine, bm25) for section, cosine, bm25, _ in rows])
    ranked = rank_sections(found, QUESTION, limit=100)
    assert sorted(order(ranked)) == sorted({section for section, *_ in rows})
    assert [one.relevance for one in ranked] == sorted((one.relevance for one in ranked), reverse=True)
    assert all(rows[row][0] == one.section for one in ranked for row in one.passages)

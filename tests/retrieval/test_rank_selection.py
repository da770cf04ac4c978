"""What is returned of a ranking, in which order, and what is said about it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from uuid import UUID

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from recollect.retrieval.rank import (
    Meaning,
    Pool,
    Ranking,
    best_first,
    complementing,
    explain,
    in_shares,
    select,
)
from recollect.retrieval.rank.calibration import scores


def pool_and_ranking(
    relevance: Sequence[float],
    *,
    layers: Sequence[int] | None = None,
    digests: Sequence[bytes] | None = None,
    conversations: Sequence[str | None] | None = None,
    created_at: Sequence[datetime] | None = None,
    cosine: Sequence[float] | None = None,
) -> tuple[Pool, Ranking]:
    size = len(relevance)
    values = np.array(relevance, dtype=np.float64)
    pool = Pool(
        ids=[UUID(int=number) for number in range(size)],
        cosine=np.zeros(size) if cosine is None else np.array(cosine),
        bm25=np.zeros(size),
        matched=np.zeros(size, dtype=np.int64),
        idf=np.zeros(0),
        conversation=conversations or [None] * size,
        position=np.arange(size),
        speaker=[None] * size,
        layer=np.array(layers or [2] * size, dtype=np.int64),
        created_at=created_at,
        digest=digests,
    )
    return pool, Ranking(score=scores(values), relevance=values, signals={})


def chosen_rows(
    pool: Pool,
    ranking: Ranking,
    *,
    limit: int,
    threshold: float,
    vectors: Mapping[UUID, NDArray[np.float32]] | None = None,
) -> list[int]:
    meanings = {id: Meaning(vector, frozenset()) for id, vector in (vectors or {}).items()}
    return select(pool, best_first(pool, ranking, threshold=threshold), limit=limit, meanings=meanings).rows


def test_texts_with_different_figures_are_no_repeats_however_close_their_vectors() -> None:
    pool, _ = pool_and_ranking([3.0, 2.0, 1.0])
    texts = ["Invoice 1041 is paid", "Invoice 1042 is paid", "invoice 1041 is paid"]
    vector = np.array([1.0, 0.0], dtype=np.float32)
    meanings = {id: Meaning.of(text, vector) for id, text in zip(pool.ids, texts, strict=True)}
    assert select(pool, [0, 1, 2], limit=3, meanings=meanings) == ([0, 1], {0: 1})


def test_texts_about_different_people_are_no_repeats_however_close_their_vectors() -> None:
    pool, _ = pool_and_ranking([3.0, 2.0, 1.0])
    vector = np.array([1.0, 0.0], dtype=np.float32)
    names = [["Anna"], ["Hanna"], ["anna"]]
    meanings = {id: Meaning.of("likes tea", vector, said) for id, said in zip(pool.ids, names, strict=True)}
    assert select(pool, [0, 1, 2], limit=3, meanings=meanings) == ([0, 1], {0: 1})


@given(st.lists(st.sampled_from(["ana", "bo", "mallory", None]), max_size=30))
def test_no_author_has_more_than_half_of_any_beginning_while_others_are_left(
    authors: list[str | None],
) -> None:
    order = in_shares(range(len(authors)), authors)
    assert sorted(order) == list(range(len(authors)))
    for length in range(1, len(order) + 1):
        taken, left = order[:length], order[length:]
        author = authors[taken[-1]]
        if author is not None and any(authors[row] != author for row in left):
            assert sum(authors[row] == author for row in taken) <= (length + 1) // 2
    for author in set(authors):
        mine = [row for row in order if authors[row] == author]
        assert mine == sorted(mine), "the order of one author's own rows stays"


def test_what_is_hardly_relevant_overtakes_nobody() -> None:
    worth = np.array([3.0, 2.9, 2.8, 2.0, 0.4])
    assert in_shares(range(5), ["m", "m", "m", "a", "a"], worth=worth) == [0, 3, 1, 2, 4]


@given(st.text(alphabet="ab1２٣_.:,/- x", max_size=40))
def test_figures_are_words_with_a_digit_and_what_hangs_on_them(text: str) -> None:
    plain = frozenset(re.findall(r"\w*\d[\w.:,/-]*", text.casefold()))
    assert Meaning.of(text, np.zeros(2, dtype=np.float32)).particulars == plain


def test_a_note_that_repeats_an_earlier_turn_is_dropped_and_a_turn_that_repeats_a_note_is_not() -> None:
    pool, ranking = pool_and_ranking([5.0, 4.0, 3.0, 2.0], conversations=["talk", None, "talk", None])
    same, other = np.array([1.0, 0.0], dtype=np.float32), np.array([0.0, 1.0], dtype=np.float32)
    vectors = dict(zip(pool.ids, [same, same, same, other], strict=True))
    assert chosen_rows(pool, ranking, limit=4, threshold=0.0, vectors=vectors) == [0, 2, 3]


def test_the_last_of_many_notes_is_compared_with_all_before_it() -> None:
    size = 12
    pool, ranking = pool_and_ranking([float(size - row) for row in range(size)])
    apart = np.eye(size - 1, dtype=np.float32)
    for repeated in range(size - 1):
        vectors = dict(zip(pool.ids, [*apart, apart[repeated]], strict=True))
        assert chosen_rows(pool, ranking, limit=size, threshold=0.0, vectors=vectors) == list(range(size - 1))


def with_words(pool: Pool, *matched: int) -> Pool:
    return replace(pool, matched=np.array(matched, dtype=np.int64), idf=np.array([3.0, 3.0, 1.0]))


def test_what_has_the_other_half_of_a_question_comes_before_more_of_the_first_half() -> None:
    pool, ranking = pool_and_ranking([3.0, 2.9, 2.8, 1.0])
    pool = with_words(pool, 0b001, 0b001, 0b101, 0b010)
    assert complementing(pool, range(4), relevance=ranking.relevance) == [2, 3, 0, 1]


def test_what_was_taken_first_stays_and_others_add_to_it() -> None:
    pool, ranking = pool_and_ranking([3.0, 2.9, 1.0])
    pool = with_words(pool, 0b001, 0b010, 0b001)
    assert complementing(pool, [2, 1, 0], relevance=ranking.relevance, first=[2]) == [2, 1, 0]


def test_where_no_words_are_asked_for_relevance_alone_decides() -> None:
    pool, ranking = pool_and_ranking([1.0, 3.0, 2.0])
    assert complementing(pool, range(3), relevance=ranking.relevance) == [1, 2, 0]


@given(st.lists(st.tuples(st.floats(0, 5), st.integers(0, 7)), max_size=40))
def test_memories_that_complement_each_other_are_all_there_once(rows: list[tuple[float, int]]) -> None:
    pool, ranking = pool_and_ranking([relevance for relevance, _ in rows])
    pool = with_words(pool, *(matched for _, matched in rows))
    order = complementing(pool, range(len(rows)), relevance=ranking.relevance)
    assert sorted(order) == list(range(len(rows)))


def test_the_best_by_score_are_taken_and_then_ordered_by_layer() -> None:
    pool, ranking = pool_and_ranking([1.0, 3.0, 2.0, 0.5], layers=[1, 5, 2, 1])
    assert chosen_rows(pool, ranking, limit=3, threshold=0.0) == [0, 2, 1]
    assert chosen_rows(pool, ranking, limit=2, threshold=0.0) == [2, 1]


def test_within_a_layer_the_higher_score_comes_first() -> None:
    pool, ranking = pool_and_ranking([1.0, 3.0, 2.0])
    assert chosen_rows(pool, ranking, limit=10, threshold=0.0) == [1, 2, 0]


def test_only_what_reaches_the_threshold_is_returned() -> None:
    pool, ranking = pool_and_ranking([1.2, 1.0, 0.1])
    assert chosen_rows(pool, ranking, limit=10, threshold=0.7) == [0]
    assert chosen_rows(pool, ranking, limit=10, threshold=1.0) == []


def test_scores_that_round_to_one_are_still_told_apart() -> None:
    pool, ranking = pool_and_ranking([30.0, 40.0, 35.0])
    assert chosen_rows(pool, ranking, limit=1, threshold=0.7) == [1]


def test_equals_are_ordered_by_closeness_then_layer_then_age_then_id() -> None:
    closer = pool_and_ranking([0.0, 0.0], cosine=[0.1, 0.2])
    assert chosen_rows(*closer, limit=1, threshold=0.0) == [1]
    layer = pool_and_ranking([1.0, 1.0], layers=[5, 2])
    assert chosen_rows(*layer, limit=1, threshold=0.0) == [1]
    age = pool_and_ranking(
        [1.0, 1.0], created_at=[datetime(2024, 1, 1, tzinfo=UTC), datetime(2025, 1, 1, tzinfo=UTC)]
    )
    assert chosen_rows(*age, limit=1, threshold=0.0) == [1]
    pool, ranking = pool_and_ranking([1.0, 1.0, 1.0])
    backwards = replace(pool, ids=pool.ids[::-1])
    assert chosen_rows(backwards, ranking, limit=3, threshold=0.0) == [2, 1, 0]


def test_of_equal_texts_only_the_first_stays() -> None:
    pool, ranking = pool_and_ranking([1.0, 3.0, 2.0], digests=[b"a", b"a", b"b"])
    assert chosen_rows(pool, ranking, limit=10, threshold=0.0) == [1, 2]


def test_near_equal_vectors_are_repeats_and_those_not_loaded_are_not() -> None:
    pool, ranking = pool_and_ranking([3.0, 2.0, 1.0, 0.5])
    close = np.array([0.96, 0.28], dtype=np.float32)
    vectors = {
        UUID(int=0): np.array([1.0, 0.0], dtype=np.float32),
        UUID(int=1): close,
        UUID(int=2): np.array([0.9, 0.436], dtype=np.float32),
    }
    assert chosen_rows(pool, ranking, limit=10, threshold=0.0, vectors=vectors) == [0, 2, 3]


def test_turns_are_never_dropped_as_repeats() -> None:
    same = {UUID(int=row): np.array([1.0], dtype=np.float32) for row in range(3)}
    pool, ranking = pool_and_ranking([3.0, 2.0, 1.0], digests=[b"yes"] * 3, conversations=["c", "c", "d"])
    assert chosen_rows(pool, ranking, limit=10, threshold=0.0, vectors=same) == [0, 1, 2]


def test_a_note_that_repeats_a_turn_is_dropped_and_the_turn_stays() -> None:
    pool, ranking = pool_and_ranking([3.0, 2.0], digests=[b"a", b"a"], conversations=["c", None])
    assert chosen_rows(pool, ranking, limit=10, threshold=0.0) == [0]
    pool, ranking = pool_and_ranking([2.0, 3.0], digests=[b"a", b"a"], conversations=["c", None])
    assert chosen_rows(pool, ranking, limit=10, threshold=0.0) == [1, 0]


def test_repeats_do_not_use_up_the_limit() -> None:
    pool, ranking = pool_and_ranking([4.0, 3.0, 2.0], digests=[b"a", b"a", b"b"])
    assert chosen_rows(pool, ranking, limit=2, threshold=0.0) == [0, 2]


@given(
    st.lists(st.tuples(st.floats(0, 5), st.integers(1, 7), st.integers(0, 3)), max_size=30),
    st.integers(1, 12),
    st.floats(0, 1),
)
def test_nothing_left_out_would_have_deserved_a_place(
    candidates: list[tuple[float, int, int]], limit: int, threshold: float
) -> None:
    relevance = [candidate[0] for candidate in candidates]
    digests = [bytes([candidate[2]]) for candidate in candidates]
    pool, ranking = pool_and_ranking(
        relevance, layers=[candidate[1] for candidate in candidates], digests=digests
    )
    chosen = chosen_rows(pool, ranking, limit=limit, threshold=threshold)
    assert len(chosen) <= limit
    assert [int(pool.layer[row]) for row in chosen] == sorted(int(pool.layer[row]) for row in chosen)
    assert len({digests[row] for row in chosen}) == len(chosen)
    for row in set(range(len(candidates))) - set(chosen):
        below = ranking.score[row] < threshold
        beaten = len(chosen) == limit and all(relevance[row] <= relevance[other] for other in chosen)
        repeat = any(
            digests[row] == digests[other] and relevance[row] <= relevance[other] for other in chosen
        )
        assert below or beaten or repeat


def test_the_explanation_names_the_strongest_reason_first_and_leaves_out_crumbs() -> None:
    said = explain({"semantic": 0.8, "lexical": 1.2, "neighbours": 0.4, "speaker": 0.01})
    assert said == (
        "recalled because it shares words with the question (lexical 1.20), "
        "is close in meaning (semantic 0.80) and stands beside turns that match (neighbours 0.40)"
    )


def test_one_reason_reads_as_one_and_no_reason_is_said_plainly() -> None:
    assert (
        explain({"semantic": 0.5, "lexical": 0.0})
        == "recalled because it is close in meaning (semantic 0.50)"
    )
    assert explain({"semantic": 0.0}) == "recalled without any matching signal"


def test_a_signal_of_a_later_stage_is_explained_by_its_name() -> None:
    assert explain({"weather": 0.3}) == "recalled because it has the signal weather (weather 0.30)"

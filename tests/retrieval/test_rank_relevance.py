"""How candidates are weighed, on pools made by hand."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.retrieval.rank import Pool, Ranking, inverse_frequency, rank
from recollect.retrieval.rank.calibration import MINILM, UNKNOWN
from recollect.retrieval.rank.relevance import FUSED

IDF = inverse_frequency(3, 500)


def pool_of(*candidates: dict[str, Any], query_terms: int = 3) -> Pool:
    """A pool from what matters of each candidate; the rest is as a lone note that matches nothing has it."""
    rows = [
        {
            "cosine": 0.0,
            "matched": 0,
            "bm25": None,
            "conversation": None,
            "position": 0,
            "speaker": None,
            "layer": 2,
        }
        | candidate
        for candidate in candidates
    ]
    return Pool(
        ids=[UUID(int=number) for number in range(len(rows))],
        cosine=np.array([row["cosine"] for row in rows], dtype=np.float64),
        bm25=np.array([_bm25(row) for row in rows], dtype=np.float64),
        matched=np.array([row["matched"] for row in rows], dtype=np.int64),
        idf=np.full(query_terms, IDF),
        conversation=[row["conversation"] for row in rows],
        position=np.array([row["position"] for row in rows], dtype=np.int64),
        speaker=[row["speaker"] for row in rows],
        layer=np.array([row["layer"] for row in rows], dtype=np.int64),
    )


def _bm25(row: dict[str, Any]) -> float:
    """What each matched term earns, once, in a memory of average length."""
    return IDF * int(row["matched"]).bit_count() if row["bm25"] is None else float(row["bm25"])


def ranked(*candidates: dict[str, Any], query: str = "what about it?") -> Ranking:
    return rank(pool_of(*candidates), query=query, calibration=MINILM)


def test_an_empty_pool_gives_an_empty_ranking() -> None:
    assert len(ranked().score) == 0


def test_without_any_signal_the_score_is_near_zero() -> None:
    assert ranked({}).score[0] < 0.06


def test_meaning_alone_or_words_alone_can_reach_the_default_threshold() -> None:
    close, worded, neither = ranked(
        {"cosine": 0.6}, {"matched": 0b111}, {"cosine": 0.3, "matched": 0b1}
    ).score
    assert close >= 0.7
    assert worded >= 0.7
    assert neither < 0.7


def test_unknown_cosines_and_no_query_terms_at_all_are_no_error() -> None:
    pool = pool_of({"cosine": float("nan")}, {"cosine": 0.7}, query_terms=0)
    assert list(rank(pool, query="?", calibration=MINILM).score > 0.5) == [False, True]


def test_a_turn_gains_from_neighbours_that_match() -> None:
    lonely, helped, _ = ranked(
        {"cosine": 0.3, "conversation": "a", "position": 9},
        {"cosine": 0.3, "conversation": "b", "position": 1},
        {"cosine": 0.6, "matched": 0b11, "conversation": "b", "position": 2},
    ).signals["neighbours"]
    assert lonely == 0
    assert helped > 0.5


def test_terms_spread_over_neighbouring_turns_count_together_but_not_twice() -> None:
    def neighbours(matched: int) -> float:
        turns = ({"matched": matched, "position": 1}, {"matched": 0b001, "position": 2})
        return float(ranked(*({"conversation": "a"} | turn for turn in turns)).signals["neighbours"][0])

    assert neighbours(0b010) > neighbours(0b001) + 0.2


def test_the_same_position_in_another_conversation_is_no_neighbour() -> None:
    signals = ranked(
        {"conversation": "a", "position": 1},
        {"matched": 0b111, "cosine": 0.8, "conversation": "b", "position": 2},
    ).signals
    assert signals["neighbours"][0] == 0
    assert signals["conversation"][0] == 0


def test_turns_of_a_conversation_on_the_topic_gain_however_far_apart_they_are() -> None:
    far = [{"cosine": 0.6, "matched": 0b11, "conversation": "a", "position": 50 * n} for n in range(3)]
    inside, outside = ranked(
        {"conversation": "a", "position": 900}, {"conversation": "b", "position": 900}, *far
    ).signals["conversation"][:2]
    assert inside > 0.3
    assert outside == 0


def test_a_note_has_no_conversation_even_when_positions_agree() -> None:
    signals = ranked(
        {"position": 1}, {"position": 2, "cosine": 0.9}, {"conversation": "a", "position": 3}
    ).signals
    assert signals["neighbours"][0] == signals["conversation"][0] == 0


@pytest.mark.parametrize(
    ("speaker", "query", "named"),
    [
        ("Ana", "what does Ana drink?", True),
        ("Ana Ruiz", "ana's plans", True),
        ("Ana", "what does Anastasia drink?", False),
        ("安娜", "安娜喜欢喝什么茶", True),
        ("user", "when is my flight?", True),
        ("assistant", "when is my flight?", False),
        ("user", "when does the train leave?", False),
        ("It", "is it late?", False),
    ],
)
def test_turns_of_the_speaker_asked_about_gain(speaker: str, query: str, named: bool) -> None:
    turn = {"speaker": speaker, "conversation": "a"}
    assert (ranked(turn, query=query).signals["speaker"][0] > 0) == named


def test_a_term_in_a_very_long_memory_is_worth_less_than_in_a_short_one() -> None:
    short, long = ranked({"matched": 0b111}, {"matched": 0b111, "bm25": 0.2 * IDF}).score
    assert short >= 0.7
    assert long < 0.5


def test_an_unmeasured_embedder_is_read_relative_to_the_pool() -> None:
    pool = pool_of(*({"cosine": cosine} for cosine in (0.71, 0.72, 0.7, 0.73, 0.95, 0.7)))
    relevance = rank(pool, query="x", calibration=UNKNOWN).relevance
    assert relevance[4] > 4 * sorted(relevance)[-2]


def test_columns_of_unequal_length_are_refused() -> None:
    with pytest.raises(ValueError, match="'cosine' has 1 entries for 2 ids"):
        Pool(
            ids=[UUID(int=1), UUID(int=2)],
            cosine=np.zeros(1),
            bm25=np.zeros(2),
            matched=np.zeros(2, dtype=np.int64),
            idf=np.zeros(0),
            conversation=[None, None],
            position=np.zeros(2, dtype=np.int64),
            speaker=[None, None],
            layer=np.ones(2, dtype=np.int64),
        )


def test_more_query_terms_than_bits_are_refused() -> None:
    with pytest.raises(ValueError, match="63 query terms, the limit is 62"):
        pool_of({}, query_terms=63)


def test_all_62_query_terms_can_match() -> None:
    pool = pool_of({"matched": (1 << 62) - 1}, query_terms=62)
    assert pool.matches.sum() == 62


CANDIDATES = st.lists(
    st.fixed_dictionaries(
        {
            "cosine": st.one_of(st.just(float("nan")), st.floats(-1, 1)),
            "matched": st.integers(0, 7),
            "conversation": st.sampled_from([None, "a", "b"]),
            "speaker": st.sampled_from([None, "Ana", "user"]),
        }
    ),
    min_size=1,
    max_size=30,
)


@given(CANDIDATES)
def test_signals_are_not_negative_add_up_to_the_relevance_and_order_like_the_score(
    candidates: list[dict[str, Any]],
) -> None:
    ranking = ranked(
        *({"position": at} | candidate for at, candidate in enumerate(candidates)), query="my Ana"
    )
    assert set(ranking.signals) == set(FUSED)
    assert all((values >= -1e-12).all() for values in ranking.signals.values())
    assert np.allclose(sum(ranking.signals.values()), ranking.relevance)
    assert ((ranking.score >= 0) & (ranking.score <= 1)).all()
    assert (np.diff(ranking.score[np.argsort(ranking.relevance)]) >= 0).all()


@given(CANDIDATES, st.integers(0, 29), st.integers(0, 2), st.floats(0, 1))
def test_a_closer_vector_or_one_more_term_never_lowers_any_score(
    candidates: list[dict[str, Any]], which: int, bit: int, closer: float
) -> None:
    rows = [{"position": at} | candidate for at, candidate in enumerate(candidates)]
    better = [dict(row) for row in rows]
    row = better[which % len(rows)]
    row["matched"] |= 1 << bit
    row["cosine"] = max(np.nan_to_num(row["cosine"], nan=-1.0), closer)
    assert (ranked(*better).relevance >= ranked(*rows).relevance - 1e-9).all()


@given(CANDIDATES, st.integers(1, 40))
def test_notes_that_match_nothing_change_nobody_elses_score(
    candidates: list[dict[str, Any]], more: int
) -> None:
    rows = [{"position": at} | candidate for at, candidate in enumerate(candidates)]
    alone = ranked(*rows).relevance
    assert np.allclose(alone, ranked(*rows, *({"cosine": 0.1} for _ in range(more))).relevance[: len(rows)])

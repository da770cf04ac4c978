"""Which rows are returned, and in what order."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from uuid import UUID

import numpy as np
import pytest

from recollect.domain.query import Aim, Category, QueryType, Strategy, Understanding, Want
from recollect.retrieval.choose import _outdated_after, _together
from recollect.retrieval.rank import Judged, Pool, Ranking


def test_what_is_outdated_stands_behind_what_outdates_it_and_before_what_is_worse() -> None:
    assert _outdated_after([1, 2, 3, 4], {1: 3}) == [2, 3, 1, 4]


def test_what_stands_behind_already_stays_where_it_is() -> None:
    assert _outdated_after([3, 1, 2], {1: 3}) == [3, 1, 2]


def test_what_is_outdated_by_something_that_is_not_returned_stays() -> None:
    assert _outdated_after([1, 2], {1: 9}) == [1, 2]


def test_a_chain_of_updates_ends_with_the_oldest() -> None:
    assert _outdated_after([1, 2, 3], {1: 3, 2: 3}) == [3, 1, 2]


def asked(want: Want) -> Understanding:
    return Understanding(
        query="When was the sister of the founder of Orbis born?",
        terms=(),
        type=QueryType(category=Category.FACTUAL),
        strategy=Strategy(name="exploratory", weights={}),
        now=datetime(2026, 5, 20, tzinfo=UTC),
        aim=Aim(want=want),
    )


def judged(
    *, bridged: bool, verdict: float = 0.0, conversation: Sequence[str | None] = (None, None, None)
) -> tuple[Pool, Ranking, list[int]]:
    """Three memories in the judge's order: the first is the least relevant, the second and third share a word."""
    pool = Pool(
        ids=[UUID(int=number) for number in range(3)],
        cosine=np.zeros(3),
        bm25=np.zeros(3),
        matched=np.array([0b00, 0b01, 0b01]),
        idf=np.array([3.0, 3.0]),
        conversation=conversation,
        position=np.arange(3),
        speaker=[None] * 3,
        layer=np.full(3, 2),
    )
    likely = Judged(
        evidence={0: {"verdict": verdict}},
        outdated_by={},
        relevance=np.array([1.0, 2.0, 3.0]),
        bridged=bridged,
    )
    ranking = Ranking(score=np.full(3, 0.5), relevance=np.zeros(3), signals={}, judged=likely)
    return pool, ranking, [0, 1, 2]


def test_where_memories_lead_to_one_another_those_come_first_that_answer_together() -> None:
    assert _together(asked(Want.ONE), *judged(bridged=True)) == [2, 1, 0]


def test_what_clearly_answers_alone_stays_first_even_where_memories_lead_to_one_another() -> None:
    assert _together(asked(Want.ONE), *judged(bridged=True, verdict=2.0)) == [0, 2, 1]


def test_where_none_leads_to_another_the_likeliest_answer_stays_first() -> None:
    assert _together(asked(Want.ONE), *judged(bridged=False)) == [0, 2, 1]


@pytest.mark.parametrize("want", [Want.ALL, Want.NUMBER])
def test_of_a_list_every_one_answers_by_itself(want: Want) -> None:
    assert _together(asked(want), *judged(bridged=False)) == [0, 1, 2]


def test_turns_of_a_conversation_stay_as_the_judge_has_them() -> None:
    assert _together(asked(Want.ONE), *judged(bridged=True, conversation=["c", None, None])) == [0, 1, 2]

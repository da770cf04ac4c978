"""What the judge's verdicts do to the sections of a look: their order, their scores, and what supports an answer."""

from __future__ import annotations

import numpy as np

from recollect.library.ranking import ANSWERED
from recollect.library.verdicts import ACCEPTED, LEAST_VERDICT, Candidate, decide

SURE, UNSURE = 0.7, 0.1
NEAR = [Candidate(relevance=1.00 - 0.01 * place, related=True) for place in range(3)]


def order(verdicts: list[float] | None, *, sureness: float = SURE) -> list[int]:
    read = None if verdicts is None else np.array(verdicts)
    places, _ = decide(NEAR, sureness=sureness, spelled_out=False, verdicts=read)
    return [one.candidate for one in places]


def test_without_a_judge_the_ranking_orders_and_nothing_supports() -> None:
    places, answered = decide(NEAR, sureness=SURE, spelled_out=False, verdicts=None)
    assert answered
    assert [one.candidate for one in places] == [0, 1, 2]
    assert not any(one.supports for one in places)


def test_among_sections_that_are_about_as_near_the_one_that_answers_comes_first() -> None:
    assert order([-3.0, 1.0, -4.0]) == [1, 0, 2]
    assert order([-3.0, -3.0, -3.0]) == [0, 1, 2]


def test_a_section_that_was_not_read_does_not_overtake_one_that_was() -> None:
    assert order([LEAST_VERDICT - 2.0, LEAST_VERDICT - 2.0]) == [0, 1, 2]


def test_only_the_first_place_supports_and_only_when_the_judge_accepts_it() -> None:
    places, _ = decide(NEAR, sureness=SURE, spelled_out=False, verdicts=np.array([2.0, 1.9, -4.0]))
    assert [one.supports for one in places] == [True, False, False]
    below = np.array([ACCEPTED - 0.1, -4.0, -4.0])
    places, _ = decide(NEAR, sureness=SURE, spelled_out=False, verdicts=below)
    assert not any(one.supports for one in places)


def test_where_the_documents_do_not_answer_nothing_supports() -> None:
    places, answered = decide(NEAR, sureness=UNSURE, spelled_out=False, verdicts=np.array([2.0, 2.0, 2.0]))
    assert not answered
    assert all(one.score < ANSWERED and not one.supports for one in places)


def test_no_candidates_are_no_answer() -> None:
    assert decide([], sureness=SURE, spelled_out=False, verdicts=None) == ([], False)

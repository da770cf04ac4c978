"""Now and before: the newest answer first, older ones marked, and nothing overtakes that does not answer."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.domain.query import Aim, Want
from recollect.retrieval.judge.currency import later, newest_first

NOW = datetime(2026, 11, 1, tzinfo=UTC)


def days_ago(*days: float) -> list[datetime]:
    return [NOW - timedelta(days=day) for day in days]


def test_the_newer_of_two_answers_comes_first_and_marks_the_older() -> None:
    current = newest_first(np.array([0.95, 0.9]), days_ago(300, 10), Aim())
    assert current.scores.tolist() == [0.9, 0.95]
    assert current.outdated_by == {0: 1}


def test_what_hardly_answers_does_not_overtake() -> None:
    current = newest_first(np.array([0.97, 0.3]), days_ago(300, 10), Aim())
    assert current.scores.tolist() == [0.97, 0.3]
    assert not current.outdated_by


def test_what_speaks_of_something_else_does_not_overtake() -> None:
    apart = [np.array([1.0, 0.0]), np.array([0.0, 1.0])]
    assert not newest_first(np.array([0.95, 0.9]), days_ago(300, 10), Aim(), vectors=apart).outdated_by


@pytest.mark.parametrize(
    "aim", [Aim(past=True), Aim(want=Want.ALL), Aim(want=Want.NUMBER), Aim(want=Want.COMPARISON)]
)
def test_questions_about_the_past_and_for_several_keep_the_order(aim: Aim) -> None:
    current = newest_first(np.array([0.95, 0.9]), days_ago(300, 10), aim)
    assert current.scores.tolist() == [0.95, 0.9]
    assert not current.outdated_by


def test_two_parts_of_one_telling_are_no_update() -> None:
    assert not newest_first(np.array([0.95, 0.9]), days_ago(10.01, 10), Aim()).outdated_by


@given(st.lists(st.tuples(st.floats(0, 1), st.integers(0, 900)), max_size=8))
def test_scores_are_only_exchanged_never_made_up(rows: list[tuple[float, int]]) -> None:
    scores = np.array([score for score, _ in rows])
    current = newest_first(scores, days_ago(*(day for _, day in rows)), Aim())
    assert sorted(current.scores.tolist()) == sorted(scores.tolist())
    for old, new in current.outdated_by.items():
        assert rows[old][1] > rows[new][1]


def test_what_replaces_the_best_comes_first_however_it_is_worded() -> None:
    scores, replaces = np.array([0.95, 0.6, 0.3]), np.array([0.0, 0.9, 0.1])
    current = newest_first(scores, days_ago(300, 10, 5), Aim(), replaces=replaces)
    assert current.scores.tolist() == [0.6, 0.95, 0.3]
    assert current.outdated_by == {0: 1}


def test_what_does_not_answer_by_itself_replaces_nothing() -> None:
    current = newest_first(np.array([0.95, 0.2]), days_ago(300, 10), Aim(), replaces=np.array([0.0, 0.9]))
    assert current.scores.tolist() == [0.95, 0.2]


def test_only_what_was_said_later_is_asked_whether_it_replaces_the_best() -> None:
    assert later(np.array([0.9, 0.5, 0.1]), days_ago(30, 60, 10), Aim()) == (0, [2])
    assert later(np.array([0.2, 0.1]), days_ago(30, 10), Aim()) == (0, [])
    assert later(np.array([0.9, 0.1]), days_ago(30, 10), Aim(past=True)) == (0, [])
    assert later(np.array([]), [], Aim()) == (0, [])

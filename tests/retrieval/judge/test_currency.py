"""Now and before: what replaces the best answer comes first, what is outdated is marked."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.domain.query import Aim, Want
from recollect.retrieval.judge.currency import (
    SIGNS,
    Moments,
    Pair,
    adds,
    as_stated,
    may_have_changed,
    measure_signs,
    newest_first,
    pairs_to_compare,
)
from recollect.retrieval.judge.evidence import FEATURES, Candidate

NOW = datetime(2026, 11, 1, tzinfo=UTC)


def days_ago(*days: float, conversation: str | None = "c1") -> Moments:
    return Moments([NOW - timedelta(days=day) for day in days], [conversation for _ in days])


def test_the_best_is_compared_with_what_was_said_later_and_with_earlier_answers() -> None:
    scores, moments = np.array([0.9, 0.5, 0.1, 0.2]), days_ago(30, 60, 10, 90)
    assert pairs_to_compare(scores, moments) == [Pair(0, 2), Pair(1, 0)]


def test_nothing_is_compared_where_nobody_answers() -> None:
    assert pairs_to_compare(np.array([0.2, 0.1]), days_ago(30, 10)) == []
    assert pairs_to_compare(np.array([]), days_ago()) == []


def test_what_the_asker_may_not_be_answered_with_replaces_nothing() -> None:
    assert pairs_to_compare(np.array([0.9, -1.0]), days_ago(30, 10)) == []


def test_two_parts_of_one_telling_are_no_update() -> None:
    assert pairs_to_compare(np.array([0.95, 0.9]), days_ago(10.01, 10)) == []


def test_what_is_said_twice_on_one_day_outside_of_a_conversation_may_be_an_update() -> None:
    moments = days_ago(10.01, 10, conversation=None)
    assert pairs_to_compare(np.array([0.95, 0.9]), moments) == [Pair(0, 1)]
    assert pairs_to_compare(np.array([0.95, 0.9]), days_ago(10, 10, conversation=None)) == []


@pytest.mark.parametrize(
    "aim",
    [
        Aim(past=True),
        Aim(topic=True),
        *(Aim(want=want, several=1.0) for want in (Want.ALL, Want.NUMBER, Want.COMPARISON)),
    ],
)
def test_the_past_and_a_list_do_not_change(aim: Aim) -> None:
    assert not may_have_changed("Where does Lena live?", aim)


@pytest.mark.parametrize(
    "question",
    [
        "What do we usually order?",
        "Why did the pump fail?",
        "What happened on Friday?",
        "Which dose was Luna started on?",
        "Who vetoed the gradients?",
        "How much did Nils get in 2025?",
    ],
)
def test_what_is_usual_and_what_happened_do_not_change(question: str) -> None:
    assert not may_have_changed(question, Aim())


@pytest.mark.parametrize("question", ["What was my last A1c?", "Was kostet die Miete?", "Who is my boss?"])
def test_the_newest_of_what_happened_may_have_changed(question: str) -> None:
    assert may_have_changed(question, Aim())


@pytest.mark.parametrize("want", [Want.ONE, Want.YES_NO, Want.TASK])
def test_one_thing_as_it_is_now_may_have_changed(want: Want) -> None:
    assert may_have_changed("Where does Lena live?", Aim(want=want))


def test_what_replaces_the_best_comes_first_however_low_it_scored() -> None:
    current = newest_first(np.array([0.95, 0.2]), days_ago(300, 10), [Pair(0, 1)], np.array([0.9]))
    assert current.scores[1] == 0.95
    assert 0.7 < current.scores[0] < 0.95
    assert current.outdated_by == {0: 1}


def test_what_hardly_replaces_changes_nothing() -> None:
    current = newest_first(np.array([0.95, 0.9]), days_ago(300, 10), [Pair(0, 1)], np.array([0.1]))
    assert current.scores.tolist() == [0.95, 0.9]
    assert not current.outdated_by


def test_an_earlier_answer_that_the_best_replaces_is_marked_and_stays_behind() -> None:
    current = newest_first(np.array([0.9, 0.9]), days_ago(10, 300), [Pair(1, 0)], np.array([0.8]))
    assert current.scores[0] > current.scores[1]
    assert current.outdated_by == {1: 0}


def test_of_two_that_replace_the_best_the_newest_holds() -> None:
    pairs = [Pair(0, 1), Pair(0, 2)]
    current = newest_first(np.array([0.95, 0.6, 0.5]), days_ago(300, 100, 10), pairs, np.array([0.9, 0.9]))
    assert int(np.argmax(current.scores)) == 2
    assert current.outdated_by == {0: 2, 1: 2}


@given(st.lists(st.tuples(st.floats(0, 1), st.integers(0, 900), st.floats(0, 1)), max_size=8))
def test_nothing_older_ever_outdates_something_newer(rows: list[tuple[float, int, float]]) -> None:
    scores = np.array([score for score, _, _ in rows])
    moments = days_ago(*(day for _, day, _ in rows))
    pairs = pairs_to_compare(scores, moments)
    current = newest_first(scores, moments, pairs, np.array([rows[pair.later][2] for pair in pairs]))
    assert len(current.scores) == len(rows)
    if rows:
        assert current.scores.max() == scores.max()
    for old, new in current.outdated_by.items():
        assert moments.at[old] < moments.at[new]
        assert current.scores[old] <= current.scores[new]


def candidate(text: str, *, days: float, speaker: str | None = None) -> Candidate:
    return Candidate(
        text=text,
        statement=text,
        speaker=speaker,
        own=False,
        at=NOW - timedelta(days=days),
        summary=False,
        verdict=0.0,
        relevance=1.0,
        likeness=0.5,
        inside=None,
    )


def test_signs_tell_of_a_change_of_likeness_and_of_who_speaks() -> None:
    candidates = [
        candidate("we live in Paris", days=300, speaker="Ana"),
        candidate("we moved to London, Paris is behind us", days=10, speaker="ana"),
        candidate("nice weather", days=5, speaker="Bob"),
    ]
    signs = measure_signs(
        [Pair(0, 1), Pair(0, 2)],
        candidates,
        np.zeros((3, len(FEATURES))),
        [np.array([1.0, 0.0]), np.array([0.8, 0.6]), np.array([0.0, 1.0])],
    )
    update, other = (dict(zip(SIGNS, row, strict=True)) for row in signs.tolist())
    for sign in ("alike", "shared", "same", "changed"):
        assert update[sign] > other[sign], sign


@pytest.mark.parametrize(
    ("text", "on_top"),
    [
        ("I'm allergic to shellfish, too.", True),
        ("Ben eats no fish as well", True),
        ("We moved to London, it was too loud in Paris", False),
        ("That is too much!", False),
        ("Goodbye FreeAgent, we've moved everything over to Xero, login in the safe too.", False),
    ],
)
def test_what_comes_on_top_of_what_is_known_is_heard(text: str, on_top: bool) -> None:
    assert adds(text) is on_top


@pytest.mark.parametrize(
    ("question", "earlier", "later", "said"),
    [
        ("Where does Ana live?", "Ana lives in Porto.", "Ana moved to Lisbon.", 1.0),
        ("Where do I live?", "I live in Porto.", "I moved to Lisbon last week.", 1.0),
        ("What is Tom's phone number?", "Tom's phone number is 555-1234.", "Tom's phone number is 555-9876.", 1.0),
        ("What is Ana allergic to?", "Ana is allergic to peanuts.", "Ana is allergic to shellfish.", 0.0),
        ("Where does Ana live?", "Ana lives in Porto.", "Ana resides in Porto.", 0.0),
        ("Where does Ana live?", "Ana lives in Porto.", "Ana visited Lisbon.", 0.0),
        ("Where do I live?", "I live in Porto.", "We're in Lisbon for a wedding.", 0.0),
        ("Where does Ana work?", "Ana works at Globex.", "Ana had a meeting at Initech.", 0.0),
        ("Where does Ana live?", "Ana lives in Porto.", "Ana went to Lisbon and is not coming home.", None),
        ("What does the API team use?", "The API team uses Postgres.", "The Data team uses ClickHouse.", 0.0),
        ("Which password has the router?", "The password of the router is a.", "The password of the TV is b.", 0.0),
        ("Which car do we drive?", "We drive a Skoda.", "The Skoda went to the scrappy, we picked up a Kia.", None),
        ("What does Ana prefer?", "Ana prefers tea.", "Ana now prefers coffee.", None),
        ("Who reviews billing?", "Jo reviews billing. Marek reviews the app.", "Marek left; Priya has the app.", 0.0),
        ("Who reviews the app?", "Jo reviews billing. Marek reviews the app.", "Marek left, Priya reviews it.", None),
        ("How is the vault opened?", "Warm the lock of branch 7.", "Warm the lock of branch 9.", 0.0),
    ],
)  # fmt: skip
def test_where_both_are_facts_their_words_say_whether_one_replaces_the_other(
    question: str, earlier: str, later: str, said: float | None
) -> None:
    known, new = (
        Candidate(
            text=text, statement=text, speaker=None, own=True, at=at, summary=False,
            verdict=1.0, relevance=1.0, likeness=1.0, inside=None, conversation=None,
        )
        for text, at in ((earlier, NOW - timedelta(seconds=1)), (later, NOW))
    )  # fmt: skip
    assert as_stated(question, known, new) == said

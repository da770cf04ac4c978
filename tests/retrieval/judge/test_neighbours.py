"""A memory about the neighbour of what is asked: another of a kind, another's thing, another number."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from recollect import Recollect
from recollect.retrieval.judge.evidence import Candidate
from recollect.retrieval.judge.neighbours import is_next_door
from recollect.text.aim import read_aim


def noted(text: str, *, before: str = "") -> Candidate:
    """A note of the asker's own."""
    return Candidate(
        text=text,
        statement=f"I: {text} (before: {before})",
        speaker=None,
        own=True,
        at=datetime(2026, 5, 1, tzinfo=UTC),
        summary=False,
        verdict=0.0,
        relevance=0.0,
        likeness=0.0,
        inside=None,
    )


def next_door(question: str, candidate: Candidate) -> bool:
    return is_next_door(question, read_aim(question), candidate)


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("What colour did we choose for the bedroom?", "We decided to paint the living room sage green."),
        ("Which port does production use?", "The staging database runs on port 5433."),
        ("When is Dad's operation?", "Mum's hip operation is on the 14th."),
        ("What is the number of our gas meter?", "Our electricity meter number is 8841027."),
        ("When does Paula's passport expire?", "My passport expires in February 2027."),
        ("When is my birthday?", "Paula's birthday is the 9th of November."),
        ("What is our dog called?", "The neighbours' dog is called Bamse."),
        ("What is Ondine’s favourite pizza?", "Ravi’s favourite pizza is quattro formaggi."),
        ("What came of invoice 1042?", "Invoice 1041 was paid."),
    ],
)
def test_what_is_said_of_a_neighbour_is_told(question: str, text: str) -> None:
    assert next_door(question, noted(text))


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("What colour is the bedroom?", "The bedroom is grey, the kitchen green."),
        ("Do we deploy to production on Fridays?", "On Fridays we deploy to staging only."),
        ("What differs between staging and production?", "Staging has no cache."),
        ("When does my passport expire?", "The user's passport expires in February 2027."),
        ("When is Mum's birthday?", "Rosalind's birthday is in May."),  # she may be mum
        ("When is Tom's birthday?", "Ana: his birthday is the 4th of June."),
        ("What's the wifi password?", "My wifi password is 1234."),
        ("When does the contract end?", "Nobody's contract is extended, mine ends in May."),
        ("Where is my sister's cat?", "The cat is at the vet's."),
        ("Who supplies our electricity?", "We're with Ember for gas and electric."),
        ("", "My passport expires in 2027."),
    ],
)
def test_what_may_be_about_the_same_thing_is_left_alone(question: str, text: str) -> None:
    assert not next_door(question, noted(text))


def test_a_reply_is_about_what_was_asked_before_it() -> None:
    reply = "Green, like the kitchen."
    assert next_door("What colour is the bedroom?", noted(reply))
    assert not next_door("What colour is the bedroom?", noted(reply, before="And the bedroom?"))


def test_what_another_says_of_their_own_thing_is_not_the_askers() -> None:
    text = "My passport expires in February 2027."
    assert not next_door(
        "When does Paula's passport expire?", replace(noted(text), own=False, speaker="Paula")
    )


@pytest.mark.system
def test_a_search_is_silent_about_the_neighbour_and_answers_what_was_noted(default_store: Recollect) -> None:
    default_store.add("My passport expires in February 2027.")
    default_store.add("We decided to paint the living room sage green.")
    assert default_store.search("When does my passport expire?")[0].text.startswith("My passport")
    assert default_store.search("What colour did we choose for the living room?")[0].text.endswith("green.")
    assert list(default_store.search("When does Paula's passport expire?")) == []
    assert list(default_store.search("What colour did we choose for the bedroom?")) == []

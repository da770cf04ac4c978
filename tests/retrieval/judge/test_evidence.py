"""Who a question is about, held against who the candidates are about."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from recollect.domain.query import Category, QueryType, Understanding
from recollect.retrieval.judge.evidence import (
    FEATURES,
    Candidate,
    is_elapsed,
    is_other_number,
    measure_evidence,
    share_of_strangers,
    words_of,
)
from recollect.retrieval.understand import select_strategy


def said(speaker: str | None, text: str) -> Candidate:
    return Candidate(
        text=text,
        statement=text,
        speaker=speaker,
        own=False,
        at=datetime(2026, 5, 1, tzinfo=UTC),
        summary=False,
        verdict=0.0,
        relevance=0.0,
        likeness=0.0,
        inside=None,
    )


TALK = [said("Maria", "Her name is Shadow, she is full of energy."), said(None, "Tom loves steak.")]


@pytest.mark.parametrize(
    ("question", "names", "share"),
    [
        ("What is Melanie's pet called?", ["Melanie"], 1.0),
        ("What did Maria say to Melanie?", ["Maria", "Melanie"], 0.0),  # "to" may lead to a place
        ("What did Maria and Melanie buy?", ["Maria", "Melanie"], 0.5),
        ("What is Maria's pet called?", ["Maria"], 0.0),
        ("What does Tom eat?", ["Tom"], 0.0),
        ("Who took a taxi in Guangzhou?", ["Guangzhou"], 0.0),
        ("Who worked last Christmas Eve?", ["Christmas Eve"], 0.0),
        ("Which pet is it?", [], 0.0),
        ("Welches Kissen brauche ich im Hotel?", ["Kissen", "Hotel"], 0.0),
        ("Draft the contract", ["Draft"], 0.0),
    ],
)
def test_somebody_whom_no_candidate_names_is_a_stranger(
    question: str, names: list[str], share: float
) -> None:
    assert share_of_strangers(question, {name: words_of(name) for name in names}, TALK) == share


def test_another_name_of_the_same_person_is_no_stranger() -> None:
    names = {"Lizzie": words_of("Lizzie Maria Sanders")}
    assert share_of_strangers("What is Lizzie's pet called?", names, TALK) == 0.0


@pytest.mark.parametrize(
    ("text", "other"),
    [
        ("Invoice 1042 is not paid", True),
        ("Invoice 1041 is paid after all", False),
        ("invoice #1041 and invoice #1042 are paid", False),
        ("It is paid now, 300 euros", False),
        ("Rent is 900 euros", False),
    ],
)
def test_another_of_the_numbered_things_is_not_meant(text: str, other: bool) -> None:
    assert is_other_number("Is invoice 1041 paid?", text) is other


def test_a_time_is_no_numbered_thing() -> None:
    assert not is_other_number("What was decided in May 2026?", "On May 12 we chose passkeys")
    assert not is_other_number("What changed since 2024?", "We have been in Bremen since 2025")


@pytest.mark.parametrize(
    ("text", "lacks"),
    [
        ("The bakery opens at seven.", 0.0),
        ("They close by half past five", 0.0),
        ("Die Probe beginnt um acht", 0.0),
        ("The bakery sells bread", 1.0),
        ("Seven people work in the bakery", 1.0),
    ],
)
def test_a_time_in_words_is_a_time(text: str, lacks: float) -> None:
    kind = QueryType(category=Category.FACTUAL)
    now = datetime(2026, 11, 1, tzinfo=UTC)
    asked = Understanding(
        query="When does the bakery open?", terms=(), type=kind, strategy=select_strategy(kind), now=now
    )
    assert measure_evidence(asked, [said(None, text)])[0, FEATURES.index("lacks_time")] == lacks


@pytest.mark.parametrize(
    ("question", "elapsed"),
    [
        ("How many weeks ago did I meet my aunt?", True),
        ("How many days passed between the fair and the flight?", True),
        ("How many days before the party did I order the gift?", True),
        ("How long had I been taking lessons when I bought the amp?", True),
        ("How many days did it take me to finish the book?", True),
        ("How long must the sink stay dry after sealing?", False),
        ("How many bikes do I have?", False),
        ("How many days of leave do I get?", False),
        ("How long is the marathon?", False),
    ],
)
def test_the_time_between_two_things_stands_in_no_text(question: str, elapsed: bool) -> None:
    assert is_elapsed(question) is elapsed

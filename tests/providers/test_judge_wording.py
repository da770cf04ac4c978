"""How questions are put before the judge."""

from __future__ import annotations

import pytest

from recollect.providers.judge.model import question_text


@pytest.mark.parametrize(
    ("question", "read"),
    [
        ("What is Tom's birthday?", "When is Tom's birthday?"),
        ("what's the deadline of Atlas", "When's the deadline of Atlas"),
        ("What was the deadline for the grant?", "When was the deadline for the grant?"),
    ],
)
def test_a_day_asked_for_with_what_is_asked_for_with_when(question: str, read: str) -> None:
    assert question_text(question) == read


@pytest.mark.parametrize(
    "question",
    [
        "What is the birthday cake made of?",
        "What is Tom's job?",
        "What did Tom get for his birthday?",
        "What is new? When is Tom's birthday?",
        "",
    ],
)
def test_other_questions_stay_as_they_are(question: str) -> None:
    assert question_text(question) == question


@pytest.mark.parametrize(
    "question",
    ["Tell me about my customers", "What do we know about my customers?", "Summarise my customers."],
)
def test_a_topic_is_asked_for_by_its_name_alone(question: str) -> None:
    assert question_text(question) == "my customers"

"""Where sentences end, and where a full stop is part of a word."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.text.sentences import split_sentences


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("One came. Two went! Three?", ["One came.", "Two went!", "Three?"]),
        ("i live in berlin. i work at acme.", ["i live in berlin.", "i work at acme."]),
        ('He said "stop." Then he left.', ['He said "stop."', "Then he left."]),
        ("She is taller than I. He is not.", ["She is taller than I.", "He is not."]),
        ("They said no. Then they left.", ["They said no.", "Then they left."]),
        ("- milk\n- bread\n\n2. eggs\n* [x] paid", ["milk", "bread", "eggs", "paid"]),
        ("服务器在柏林。备份在慕尼黑！", ["服务器在柏林。", "备份在慕尼黑！"]),
        ("「明日。」と言った。", ["「明日。」", "と言った。"]),
        ("Wait... what?\n---\nSo it   is", ["Wait... what?", "So it is"]),
        ("   \n  ", []),
    ],
)
def test_texts_are_cut_where_sentences_end(text: str, sentences: list[str]) -> None:
    assert split_sentences(text) == sentences


@pytest.mark.parametrize(
    "text",
    [
        "Dr. Silva met Mr. Costa at 3 p.m. sharp.",
        "John F. Kennedy spoke, i.e. he was heard.",
        "Version 2.4.1 runs on db.example.com now",
        "See No. 12, pp. 3 and vs. it, approx. ten times, cf. Fig. 4.",
        "Acme Inc. is in Berlin since 3 Dec. 2025.",
        "Logs, copies etc. are kept at Hauptstr. 4.",
    ],
)
def test_a_stop_within_a_sentence_does_not_cut_it(text: str) -> None:
    assert split_sentences(text) == [text]


def test_an_abbreviation_may_stand_at_the_end_of_a_sentence() -> None:
    assert split_sentences("I work at Acme Inc. My boss is Ana.") == [
        "I work at Acme Inc.",
        "My boss is Ana.",
    ]


@given(st.text(st.characters(codec="utf-8") | st.sampled_from(" \n.!?…'\")A。"), max_size=200))
def test_no_letter_is_lost_added_or_moved(text: str) -> None:
    joined = "".join(split_sentences(text))
    letters = [sign for sign in text if sign.isalpha()]
    # The mark in a box of a list, "- [x] paid", is no word.
    assert [sign for sign in joined if sign.isalpha()] == letters or "[x]" in text.lower()


def test_a_text_of_initials_alone_is_cut_in_a_moment() -> None:
    assert len(split_sentences("A. " * 200_000)) == 1

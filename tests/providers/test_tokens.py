"""Counting tokens."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.profiles import examples

from recollect.providers import tokens
from recollect.providers.tokens import count_tokens, estimate_tokens, first_tokens, load_encoding

#: Where the vocabulary's expression looks ahead: blanks of every kind before and after everything else.
TRICKY = st.text(st.sampled_from(" \n\r\t\u3000\x85\xa0\x1c" + "xA1.'sé中😀-"), max_size=40)


def test_the_counts_are_those_of_the_published_vocabulary() -> None:
    assert count_tokens("") == 0
    assert count_tokens("hello world") == 2
    assert count_tokens("antidisestablishmentarianism") == 6
    assert load_encoding().encode_ordinary("hello world") == [15339, 1917]


def test_an_estimate_is_a_count() -> None:
    assert estimate_tokens("about four letters make a token") == count_tokens(
        "about four letters make a token"
    )


def test_words_that_look_like_control_tokens_are_plain_text() -> None:
    assert count_tokens("<|endoftext|>") > 1


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a" * 1_000_000, 125_000),
        (" " * 1_000_000, 7_813),
        # Uncut, this one makes the expression engine panic; its count is that of the parts it falls into.
        (" " * 1_000_000 + "x", 7_814),
        ("\n" * 1_000_000 + "x", 31_251),
    ],
    ids=["letters", "blanks", "blanks before a word", "line breaks"],
)
def test_a_million_characters_of_one_kind_are_counted(text: str, expected: int) -> None:
    assert count_tokens(text) == expected


@given(TRICKY)
@settings(max_examples=examples(400))
def test_cutting_long_blanks_leaves_the_count_as_it_is(text: str) -> None:
    pieces = list(tokens._pieces(text, re.compile(tokens._BLANK + "{3,}")))
    assert "".join(pieces) == text
    assert sum(map(count_tokens, pieces)) == len(load_encoding().encode_ordinary(text))


@given(st.text(max_size=200), st.integers(1, 30))
def test_a_beginning_has_no_more_tokens_than_asked_for(text: str, limit: int) -> None:
    shortened = first_tokens(text, limit)
    assert count_tokens(shortened) <= limit
    assert shortened == text or shortened == "" or text.startswith(shortened.removesuffix("…"))


def test_a_text_that_fits_is_not_shortened() -> None:
    assert first_tokens("a short question", 3) == "a short question"
    assert first_tokens("a rather long question about everything", 4) == "a rather long…"


def test_nothing_is_downloaded_and_nothing_is_loaded_before_the_first_count() -> None:
    program = """
import socket, sys
socket.socket.connect = lambda *_: sys.exit("went to the network")
import recollect.providers.tokens as tokens
assert "tiktoken" not in sys.modules
print(tokens.count_tokens("hello world"))
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "2\n"), done.stderr

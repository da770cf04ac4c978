"""Words that exclude each other where one is asked for."""

from __future__ import annotations

import pytest

from recollect.text.families import families, kinds_in


def words_in(text: str) -> set[str]:
    """The words of all families that a text names, each by the first of those that mean the same."""
    return {word.split("/")[0] for words in kinds_in(text).values() for word in words}


def test_no_family_has_a_word_twice() -> None:
    for family in families():
        words = [word for entry in family for word in entry.split("/")]
        assert len(set(words)) == len(words) > 1, family


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("What colour is the Kitchen?", {"kitchen"}),
        ("Mum's and Dad’s bathrooms", {"mother", "father", "bathroom"}),
        ("the puppies and a pharmacy, two pharmacies", {"dog", "pharmacy"}),
        ("on the fourth floor", {"fourth floor"}),
        ("prod DB", {"production", "database"}),
        ("my driver's license", {"driving licence"}),
        ("kitchenware, catalogue, doggedly", set()),
        ("", set()),
        ("厨房 кухня", set()),
    ],
)
def test_words_are_found_whole_and_in_any_number(text: str, words: set[str]) -> None:
    assert words_in(text) == words


def test_a_question_of_a_hundred_kilobytes_is_read() -> None:
    assert words_in("kitchen " * 12_500) == {"kitchen"}

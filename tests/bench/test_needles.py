"""The facts of the needle task: asked in other words, planted where they can be found again."""

from __future__ import annotations

from dataclasses import replace

import pytest

from recollect.errors import InvalidInputError
from recollect_bench.needles import Needle, check_needles, plant, read_needles, shared_words

NEEDLE = Needle(
    number=7,
    fact="Ada Holm keeps the spare key in a blue tin.",
    question="Where does Ada Holm hide the extra opener?",
    names=("Ada Holm",),
    answer="blue tin",
)


def test_the_shipped_needles_are_a_hundred_different_ones_and_pass_their_own_check() -> None:
    needles = read_needles()
    assert len({needle.fact for needle in needles}) == 100
    assert len({needle.question for needle in needles}) == 100
    assert sum(not needle.names for needle in needles) >= 25


def test_names_do_not_count_as_shared_words_but_their_absence_does() -> None:
    assert shared_words(NEEDLE) == set()
    assert shared_words(replace(NEEDLE, names=())) == {"ada", "holm"}


def test_word_forms_count_as_the_same_word() -> None:
    needle = replace(NEEDLE, question="In which tins are Ada Holm's keys kept?")
    assert shared_words(needle) == {"tin", "key"}


def test_a_needle_asked_for_in_its_own_words_is_refused() -> None:
    check_needles([replace(NEEDLE, question="Where does Ada Holm hide the key?")])
    with pytest.raises(InvalidInputError, match="needle 7 shares the words"):
        check_needles([replace(NEEDLE, question="Where does Ada Holm hide the spare key?")])


def test_an_answer_that_is_not_in_the_fact_is_refused() -> None:
    with pytest.raises(InvalidInputError, match="is not a piece of its fact"):
        check_needles([replace(NEEDLE, answer="red tin")])


def test_planting_keeps_every_line_in_order_and_says_where_each_fact_stands() -> None:
    lines = [f"line {number}" for number in range(500)]
    needles = read_needles()
    text, planted = plant(lines, needles, seed=3)
    assert [line for line in text if line.startswith("line ")] == lines
    assert all(text[one.line - 1] == one.needle.fact for one in planted)
    assert {one.needle.number for one in planted} == set(range(1, 101))
    assert plant(lines, needles, seed=3) == (text, planted)
    assert plant(lines, needles, seed=4)[0] != text

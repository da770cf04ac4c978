import pytest

from recollect.codebase.query import Segments
from recollect.codebase.words import SEGMENTS, forms_of, words_of


def words(title="", prose="", code="", trace="", **limits):
    return words_of(Segments(title=title, prose=prose, code=code, trace=trace), **limits)


@pytest.mark.parametrize(
    ("term", "form"),
    [
        ("orders", "order"),
        ("order", "ordering"),
        ("ordering", "ordered"),
        ("queries", "query"),
        ("serialize", "serializing"),
        ("serializing", "serializer"),
        ("stopped", "stop"),
        ("validation", "validate"),
        ("migration", "migrations"),
    ],
)
def test_forms_of_one_word_find_each_other(term, form):
    assert form in forms_of(term)


@pytest.mark.parametrize(("term", "other"), [("class", "clas"), ("css", "cs"), ("utf8", "utf"), ("is", "i")])
def test_short_words_and_names_keep_their_ends(term, other):
    assert other not in forms_of(term)


def test_forms_of_one_word_in_a_query_are_one_word():
    (word,) = words("order orders", "ordering")
    assert dict(word.forms)["orders"] == 1.0
    assert dict(word.forms)["ordered"] < 1.0
    assert word.weights[SEGMENTS.index("title")] > word.weights[SEGMENTS.index("prose")] > 0


def test_words_that_hold_sentences_together_are_left_out():
    assert [word.text for word in words("Why is it that the cart can't be merged?")] == ["cart", "merged"]


def test_repeating_a_word_counts_less_and_less():
    once, twice, often = (words(prose="cart " * times)[0].weights[1] for times in (1, 2, 50))
    assert once < twice < often < 2.3 * once


def test_when_there_are_too_many_words_those_of_the_title_stay():
    found = words(
        "cart", code=" ".join(f"name{chr(97 + number % 26)}x{number}y" for number in range(300)), limit=5
    )
    assert len(found) == 5
    assert found[0].text == "cart"

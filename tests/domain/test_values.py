"""Rules that need no database: ids, texts, layers, filters, errors."""

from __future__ import annotations

import threading
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.domain.filters import is_trivial, parse_filters
from recollect.domain.ids import new_id, parse_id
from recollect.domain.layers import Layer, ScopeName
from recollect.domain.memory import DEFAULT_IMPORTANCE, MemoryType, check_time
from recollect.domain.results import ItemError
from recollect.domain.text import check_metadata, text_digest
from recollect.errors import InvalidInputError, RecollectError, error_class


def test_ids_of_one_process_ascend_and_never_repeat_even_across_threads() -> None:
    made: list[list[int]] = [[] for _ in range(4)]

    def make(mine: list[int]) -> None:
        mine += [new_id().int for _ in range(5_000)]

    threads = [threading.Thread(target=make, args=[mine]) for mine in made]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for mine in made:
        assert mine == sorted(mine)
    assert len({number for mine in made for number in mine}) == 20_000


def test_ids_are_version_7_of_the_standard() -> None:
    made = new_id()
    assert made.version == 7
    assert made.variant == "specified in RFC 4122"
    assert parse_id(str(made)) == parse_id(made) == made


@pytest.mark.parametrize("value", ["", "5", None, 5, b"x" * 16])
def test_what_is_no_id_is_refused(value: object) -> None:
    with pytest.raises(InvalidInputError, match="is not a UUID"):
        parse_id(value)


@given(st.text(min_size=1))
def test_blanks_and_composition_do_not_change_what_a_text_is(text: str) -> None:
    if any(unicodedata.category(letter) == "Cs" for letter in text):
        return
    assert text_digest(text) == text_digest(f"  {text}\n") == text_digest(unicodedata.normalize("NFD", text))


def test_case_does_change_what_a_text_is() -> None:
    assert text_digest("the US") != text_digest("the us")


def test_layers_go_from_the_most_specific_to_the_most_general() -> None:
    assert [(layer.value, layer.precedence) for layer in Layer] == [
        ("agent", 1), ("user", 2), ("session", 3), ("project", 4), ("team", 5), ("org", 6), ("company", 7),
    ]  # fmt: skip
    assert all(Layer.from_precedence(layer.precedence) is layer for layer in Layer)


@pytest.mark.parametrize(
    ("written", "default", "read"),
    [
        ("team/api", None, "team/api"),
        ("api", Layer.TEAM, "team/api"),
        ("team/a/b", None, "team/a/b"),
        ("a/b", Layer.PROJECT, "project/a/b"),
        ("user/ ana ", None, "user/ana"),
    ],
)
def test_scopes_are_read_as_people_write_them(written: str, default: Layer | None, read: str) -> None:
    assert str(ScopeName.parse(written, default_layer=default)) == read


@pytest.mark.parametrize("written", ["api", "galaxy/x", "team/", "team/ ", "team/a\nb"])
def test_what_is_no_scope_is_refused(written: str) -> None:
    with pytest.raises(InvalidInputError):
        ScopeName.parse(written)


def test_every_type_has_a_default_importance() -> None:
    assert set(DEFAULT_IMPORTANCE) == set(MemoryType)


@given(st.datetimes(), st.sampled_from(["+00:00", "+14:00", "-12:00", "Z", ""]))
def test_times_are_read_or_refused_but_never_break(moment: object, zone: str) -> None:
    try:
        read = check_time(f"{moment.isoformat()}{zone}", "at")  # type: ignore[attr-defined]
    except InvalidInputError:
        return
    assert read is not None
    assert 1000 <= read.year <= 9000
    assert read.utcoffset() is not None


_JUNK = st.recursive(
    st.one_of(
        st.none(), st.booleans(), st.integers(), st.floats(), st.text(), st.binary(), st.sets(st.integers())
    ),
    lambda inner: st.one_of(
        st.lists(inner), st.tuples(inner), st.dictionaries(st.one_of(st.text(), st.integers()), inner)
    ),
    max_leaves=20,
)


@given(_JUNK)
def test_metadata_is_plain_json_or_refused(value: object) -> None:
    try:
        stored = check_metadata(value)
    except InvalidInputError:
        return
    assert check_metadata(stored) == stored


@given(_JUNK)
def test_filters_are_read_or_refused_but_never_break(value: object) -> None:
    try:
        parse_filters(value)
        parse_filters({"a": value, "importance": value})
    except InvalidInputError:
        return


@pytest.mark.parametrize(
    ("filters", "trivial"),
    [
        (None, True),
        ({}, True),
        ({"$and": []}, True),
        ({"$and": [{}, {"$and": [{}]}]}, True),
        ({"$or": [{"a": 1}, {}]}, True),
        ({"$or": []}, False),
        ({"$not": {}}, False),
        ({"$not": {"$or": []}}, True),
        ({"a": 1}, False),
        ({"$and": [{"a": 1}]}, False),
    ],
    ids=repr,
)
def test_filters_that_restrict_nothing_are_known_for_it(filters: object, trivial: bool) -> None:
    assert is_trivial(parse_filters(filters)) is trivial


def test_codes_of_errors_are_distinct_and_lead_back_to_their_classes() -> None:
    found: dict[str, type[RecollectError]] = {}
    waiting: list[type[RecollectError]] = [RecollectError]
    while waiting:
        kind = waiting.pop()
        if kind.__module__ != "recollect.errors":
            continue  # a finer kind for its own module; callers see the code of its parent
        assert kind.code not in found
        found[kind.code] = kind
        waiting += kind.__subclasses__()
    for code, kind in found.items():
        assert error_class(code) is kind
    raised = ItemError(index=3, code="invalid_text", message="text is empty").to_error()
    assert (type(raised), str(raised)) == (found["invalid_text"], "text is empty")
    assert error_class("from the future") is RecollectError

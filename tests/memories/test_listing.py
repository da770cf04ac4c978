"""Listing: pages, filters against an oracle in Python, layers, types, scopes, time."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.profiles import examples

from recollect import Memory, Recollect, TenantContext
from recollect.domain.names import entity_key, mention_keys
from recollect.errors import InvalidFilterError, InvalidInputError, ScopeNotFoundError

DAY = datetime(2026, 2, 1, tzinfo=UTC)


def test_pages_go_through_everything_once_even_when_dates_are_equal(client: Recollect) -> None:
    dates = [DAY + timedelta(days=n // 9) for n in range(47)]
    client.add_many([{"text": f"m {n}", "created_at": date} for n, date in enumerate(dates)])
    pages = [client.list(limit=10)]
    while pages[-1].next_cursor is not None:
        pages.append(client.list(limit=10, cursor=pages[-1].next_cursor))
    assert [len(page) for page in pages] == [10, 10, 10, 10, 7]
    found = [memory for page in pages for memory in page]
    assert len({memory.id for memory in found}) == 47
    assert found == sorted(found, key=lambda m: (m.created_at, m.id), reverse=True)


def test_a_page_that_is_exactly_full_is_the_last_one(client: Recollect) -> None:
    client.add_many([{"text": f"m {n}"} for n in range(10)])
    page = client.list(limit=10)
    assert (len(page), page.next_cursor) == (10, None)


def test_pages_stay_whole_while_others_add(client: Recollect) -> None:
    client.add_many([{"text": f"m {n}", "created_at": DAY} for n in range(20)])
    first = client.list(limit=10)
    client.add("newer than all")
    second = client.list(limit=20, cursor=first.next_cursor)
    assert len({memory.id for memory in [*first, *second]}) == 20
    assert "newer than all" not in {memory.text for memory in second}


@pytest.mark.parametrize(
    "cursor",
    [
        "garbage",
        "",
        "é",
        "=" * 9,
        5,
        base64.urlsafe_b64encode(b"[1, 2]").decode(),
        base64.urlsafe_b64encode(b"[" * 100_000).decode(),
        base64.urlsafe_b64encode(json.dumps(["2026-01-01", "no uuid"]).encode()).decode(),
        base64.urlsafe_b64encode(b"\xff\xfe").decode(),
    ],
)
def test_a_cursor_that_list_never_gave_is_refused(client: Recollect, cursor: Any) -> None:
    with pytest.raises(InvalidInputError, match=r"is not one that list returned|must be a string"):
        client.list(cursor=cursor)


@pytest.mark.parametrize("limit", [0, -1, 1001, 2.0, "5", True, None])
def test_a_limit_that_makes_no_sense_is_refused(client: Recollect, limit: Any) -> None:
    with pytest.raises(InvalidInputError, match="limit"):
        client.list(limit=limit)


def test_layers_types_scope_and_conversation_narrow_a_listing(client: Recollect) -> None:
    client.scopes.create("team/api")
    client.scopes.create("team/web")
    client.add("mine")
    client.add("api fact", layer="team", scope="team/api", type="semantic")
    client.add("web fact", layer="team", scope="team/web", type="semantic")
    client.add("company rule", layer="company", type="procedural")
    client.add("turn", conversation="c1")

    def texts(**conditions: Any) -> set[str]:
        return {memory.text for memory in client.list(**conditions)}

    assert texts(layers=["team"]) == {"api fact", "web fact"}
    assert texts(layers=["user", "company"]) == {"mine", "turn", "company rule"}
    assert texts(layers=[]) == set()
    assert texts(types=["semantic", "procedural"]) == {"api fact", "web fact", "company rule"}
    assert texts(scope="team/api") == {"api fact"}
    assert texts(scope="team/api", types=["procedural"]) == set()
    assert texts(conversation="c1") == {"turn"}
    assert texts(conversation="c1", filters={"type": "semantic"}) == set()
    assert texts(conversation="none such") == set()


@pytest.mark.parametrize(
    ("conditions", "error"),
    [
        ({"layers": ["galaxy"]}, InvalidInputError),
        ({"layers": "team"}, InvalidInputError),
        ({"types": ["novel"]}, InvalidInputError),
        ({"types": "semantic"}, InvalidInputError),
        ({"scope": "team/none"}, ScopeNotFoundError),
        ({"scope": "none"}, InvalidInputError),
        ({"as_of": "soon"}, InvalidInputError),
        ({"conversation": 7}, InvalidInputError),
        ({"filters": []}, InvalidFilterError),
    ],
)
def test_conditions_that_make_no_sense_are_refused(
    client: Recollect, conditions: Any, error: type[Exception]
) -> None:
    with pytest.raises(error):
        client.list(**conditions)


# Filters, compared with the same rules written in Python -------------------------------------------

_NAMES = ["a", "b", "c"]
_LEAVES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 3),
    st.sampled_from([0.5, 1.0, -2.5]),
    st.sampled_from(["", "x", "y", "2026-01-01", "ü"]),
)
_VALUES = st.recursive(
    _LEAVES,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.sampled_from(_NAMES), inner, max_size=2)
    ),
    max_leaves=4,
)
_METADATA = st.dictionaries(st.sampled_from(_NAMES), _VALUES, max_size=3)
_ORDERED = st.one_of(st.integers(-3, 3), st.sampled_from([0.5, 1.0]), st.sampled_from(["x", "2026-01-01"]))
_PATHS = st.sampled_from(["a", "b", "c", "a.b", "metadata.a", "a.b.c", "b.0", "c.1.a"])
_DATES = [DAY + timedelta(days=n) for n in range(4)]


def _on_metadata() -> st.SearchStrategy[dict[str, Any]]:
    condition = st.one_of(
        # A dict as a value is equality, too; one without "$" keys.
        _VALUES.filter(lambda v: v != {}),
        st.fixed_dictionaries({"$in": st.lists(_VALUES, max_size=3)}),
        st.fixed_dictionaries({"$ne": _VALUES}),
        st.fixed_dictionaries({"$exists": st.booleans()}),
        st.fixed_dictionaries({"$gte": _ORDERED}, optional={"$lt": _ORDERED}),
        st.fixed_dictionaries({"$gt": _ORDERED}),
        st.fixed_dictionaries({"$lte": _ORDERED}),
    )
    return st.builds(lambda key, value: {key: value}, _PATHS, condition)


def _on_columns() -> st.SearchStrategy[dict[str, Any]]:
    subject = st.sampled_from(["Ana", "Ben", None])
    number = st.sampled_from([0, 0.25, 0.5, 1])
    date = st.one_of(st.sampled_from(_DATES), st.sampled_from(_DATES).map(lambda d: d.isoformat()))

    def ordered(values: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
        operator = st.sampled_from(["$gt", "$gte", "$lt", "$lte"])
        return st.builds(lambda op, value: {op: value}, operator, values)

    def equal(values: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
        return st.one_of(
            values,
            st.builds(lambda v: {"$ne": v}, values),
            st.builds(lambda v: {"$eq": v}, values),
            st.builds(lambda v: {"$in": v}, st.lists(values, max_size=3)),
            st.builds(lambda v: {"$exists": v}, st.booleans()),
        )

    names = st.sampled_from(["Ana", "ANA", "  acme  gmbh", "nobody"])
    return st.one_of(
        st.builds(
            lambda v: {"subject": v}, st.one_of(equal(subject), ordered(st.sampled_from(["Ana", "B"])))
        ),
        st.builds(lambda v: {"importance": v}, st.one_of(equal(number), ordered(number))),
        st.builds(lambda v: {"valid_from": v}, st.one_of(equal(st.one_of(st.none(), date)), ordered(date))),
        st.builds(lambda v: {"type": v}, equal(st.sampled_from(["episodic", "semantic"]))),
        st.builds(lambda v: {"entity": v}, equal(st.one_of(st.none(), names))),
        st.builds(lambda v: {"layer": v}, equal(st.sampled_from(["user", "team"]))),
        st.builds(lambda v: {"scope": v}, equal(st.sampled_from(["user/root", "team/api"]))),
        st.builds(lambda v: {"conversation": v}, equal(st.sampled_from(["c1", "c2", None]))),
        st.builds(
            lambda v: {"position": v}, st.one_of(equal(st.sampled_from([0, 1, None])), ordered(st.just(1)))
        ),
        st.builds(lambda v: {"status": v}, equal(st.just("active"))),
    )


_FILTERS = st.recursive(
    st.one_of(_on_metadata(), _on_columns()),
    lambda inner: st.one_of(
        st.builds(lambda parts: {"$and": parts}, st.lists(inner, max_size=3)),
        st.builds(lambda parts: {"$or": parts}, st.lists(inner, max_size=3)),
        st.builds(lambda part: {"$not": part}, inner),
        st.builds(lambda a, b: {**a, **b}, inner, inner),
    ),
    max_leaves=4,
)
_ITEMS = st.lists(
    st.fixed_dictionaries(
        {
            "metadata": _METADATA,
            "subject": st.sampled_from(["Ana", "Ben", None]),
            "importance": st.sampled_from([0.0, 0.25, 0.5, 1.0]),
            "valid_from": st.sampled_from([None, *_DATES]),
            "type": st.sampled_from(["episodic", "semantic"]),
            "entities": st.lists(st.sampled_from(["Ana", "Acme GmbH"]), max_size=2),
            "conversation": st.sampled_from([None, None, "c1", "c2"]),
            "layer": st.sampled_from(["user", "team"]),
        }
    ),
    max_size=8,
)
_MISSING = object()


def _same(left: Any, right: Any) -> bool:
    """Equality as JSON has it: true is not 1, but 1 is 1.0."""
    if isinstance(left, bool) or isinstance(right, bool):
        return isinstance(left, bool) and isinstance(right, bool) and left == right
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(_same(a, b) for a, b in zip(left, right, strict=True))
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(_same(left[key], right[key]) for key in left)
    return (type(left) in (int, float) and type(right) in (int, float) and left == right) or (
        type(left) is type(right) and left == right
    )


def _contained(value: Any, element: Any) -> bool:
    """Containment as PostgreSQL has it (`element @> value`), for one element of a list."""
    if isinstance(value, dict) and isinstance(element, dict):
        return all(key in element and _contained(item, element[key]) for key, item in value.items())
    if isinstance(value, list) and isinstance(element, list):
        return all(any(_contained(item, candidate) for candidate in element) for item in value)
    return _same(value, element)


def _reach(value: Any, path: list[str]) -> Any:
    for step in path:
        if isinstance(value, dict):
            value = value.get(step, _MISSING)
        elif isinstance(value, list) and step.lstrip("-").isdigit() and -len(value) <= int(step) < len(value):
            value = value[int(step)]
        else:
            return _MISSING
    return value


def _compare(operator: str, left: Any, right: Any) -> bool:
    return {"$gt": left > right, "$gte": left >= right, "$lt": left < right, "$lte": left <= right}[operator]


def _metadata_holds(found: Any, operator: str, value: Any) -> bool:
    if operator == "$exists":
        return (found is not _MISSING) is value
    if operator == "$in":
        return any(_metadata_holds(found, "$eq", item) for item in value)
    if operator == "$ne":
        return not _metadata_holds(found, "$eq", value)
    if operator == "$eq":
        if value is None:
            return found is None or found is _MISSING
        if found is _MISSING:
            return False
        return _same(found, value) or (
            isinstance(found, list) and any(_contained(value, item) for item in found)
        )
    kinds = ((int, float), (str,))
    if isinstance(found, bool) or not any(isinstance(found, k) and isinstance(value, k) for k in kinds):
        return False
    return _compare(operator, found, value)


def _column_holds(memory: Memory, column: str, operator: str, value: Any) -> bool:
    if column == "entity":
        named = (*memory.entities, *memory.mentions, *filter(None, [memory.subject]))
        names = {key for name in named for key in mention_keys(name)}
        if operator == "$exists":
            return bool(names) is value
        if operator == "$in":
            return any(_column_holds(memory, column, "$eq", item) for item in value)
        if operator == "$ne":
            return not _column_holds(memory, column, "$eq", value)
        return not names if value is None else entity_key(value) in names
    found = getattr(memory, column)
    if operator == "$exists":
        return (found is not None) is value
    if operator == "$in":
        return any(_column_holds(memory, column, "$eq", item) for item in value)
    if operator == "$ne":
        return not _column_holds(memory, column, "$eq", value)
    if isinstance(found, datetime) and isinstance(value, str):
        value = datetime.fromisoformat(value)
    if operator == "$eq":
        return bool(found == value)
    return found is not None and _compare(operator, found, value)


def holds(memory: Memory, filters: dict[str, Any]) -> bool:
    """The rules of domain/filters.py, evaluated on a value."""
    columns = {"subject", "importance", "valid_from", "type", "entity", "layer", "scope"}
    columns |= {"conversation", "position", "status"}
    for key, value in filters.items():
        if key == "$and":
            good = all(holds(memory, part) for part in value)
        elif key == "$or":
            good = any(holds(memory, part) for part in value)
        elif key == "$not":
            good = not holds(memory, value)
        else:
            is_operators = isinstance(value, dict) and any(k.startswith("$") for k in value)
            tests = value.items() if is_operators else [("$eq", value)]
            if key in columns:
                good = all(_column_holds(memory, key, *test) for test in tests)
            else:
                found = _reach(memory.metadata, key.removeprefix("metadata.").split("."))
                good = all(_metadata_holds(found, *test) for test in tests)
        if not good:
            return False
    return True


@settings(max_examples=examples(40), deadline=None, suppress_health_check=list(HealthCheck))
@given(items=_ITEMS, filters=st.lists(_FILTERS, min_size=10, max_size=10))
def test_filters_keep_what_their_rules_say(
    store: Recollect, items: list[dict[str, Any]], filters: list[dict[str, Any]]
) -> None:
    tenant = f"t-{uuid4().hex[:12]}"
    store.tenants.create(tenant)
    client = store.for_context(
        TenantContext(tenant_id=tenant, user_id="root", team_id="api", roles=("admin", "operator"))
    )
    client.scopes.create("team/api")
    report = client.add_many([{**item, "text": f"memory {n}"} for n, item in enumerate(items)])
    assert not report.errors
    everything = list(client.list(limit=1000))
    assert len(everything) == len(items)
    for condition in filters:
        found = {memory.text for memory in client.list(filters=condition)}
        assert found == {memory.text for memory in everything if holds(memory, condition)}, condition


@pytest.mark.parametrize(
    "filters",
    [
        {"importance": "high"},
        {"importance": True},
        {"importance": {"$gt": float("nan")}},
        {"importance": {"$gt": None}},
        {"layer": "galaxy"},
        {"layer": {"$gt": "user"}},
        {"type": "novel"},
        {"status": "odd"},
        {"scope": "api"},
        {"id": "5"},
        {"subject": 5},
        {"created_at": "soon"},
        {"created_at": 5},
        {"created_at": {"$gte": None}},
        {"a": {"$regex": "x"}},
        {"a": {"$gt": True}},
        {"a": {"$gt": [1]}},
        {"a": {"$exists": 1}},
        {"a": {"$in": "abc"}},
        {"a": {"$in": list(range(1001))}},
        {"a": {"$gt": 1, "b": 2}},
        {"a": {"$not": {"$gt": 1}}},
        {"a": {1, 2}},
        {"a": float("nan")},
        {"a": b"bytes"},
        {"a": "nul \x00"},
        {"a": "\ud800"},
        {"": 1},
        {"a..b": 1},
        {"a\x00": 1},
        {5: 1},
        {"$and": {"a": 1}},
        {"$or": "x"},
        {"$or": [1]},
        {"$not": [1]},
        {"$nor": []},
        {"$and": [{"a": n} for n in range(201)]},
        "a = 1",
        [("a", 1)],
    ],
    ids=repr,
)
def test_a_filter_that_can_not_be_read_is_refused(client: Recollect, filters: Any) -> None:
    with pytest.raises(InvalidFilterError):
        client.list(filters=filters)


def test_a_filter_that_contains_itself_is_refused(client: Recollect) -> None:
    circle: dict[str, Any] = {}
    circle["$not"] = circle
    with pytest.raises(InvalidFilterError, match="nested"):
        client.list(filters=circle)
    value: list[Any] = []
    value.append(value)
    with pytest.raises(InvalidFilterError, match="nested"):
        client.list(filters={"a": value})


def test_numbers_beyond_every_column_compare_as_endless(client: Recollect) -> None:
    client.add("x")
    assert len(client.list(filters={"use_count": {"$lt": 10**400}})) == 1
    assert len(client.list(filters={"use_count": {"$gt": -(10**400)}})) == 1
    assert len(client.list(filters={"use_count": {"$gt": 2**62}})) == 0


@pytest.mark.parametrize("value", ["'; drop table recollect.memory; --", "%s", "%(f0)s", "{}", '"', "\\"])
def test_text_of_a_filter_never_becomes_sql(client: Recollect, value: str) -> None:
    client.add("x", metadata={value: {value: value}}, subject=value)
    client.add("y")
    assert [m.text for m in client.list(filters={"subject": value})] == ["x"]
    path = f"metadata.{value}.{value}"
    if "." not in value:
        assert [m.text for m in client.list(filters={path: value})] == ["x"]


def test_as_of_lists_what_was_known_then(client: Recollect, texts: Callable[..., list[str]]) -> None:
    client.add_many([{"text": f"day {n}", "created_at": DAY + timedelta(days=n)} for n in range(5)])
    assert texts(client, as_of=DAY + timedelta(days=2)) == ["day 2", "day 1", "day 0"]
    assert texts(client, as_of=DAY - timedelta(seconds=1)) == []
    assert texts(client, as_of="2026-02-02T12:00:00+00:00") == ["day 1", "day 0"]
    assert len(texts(client)) == 5


def test_sources_of_any_length_are_found(client: Recollect, texts: Callable[..., list[str]]) -> None:
    long = "x" * 61
    client.add_many(
        [{"text": "short", "source": "mem0:1"}, {"text": "long", "source": long}, {"text": "none"}]
    )
    assert texts(client, filters={"source": "mem0:1"}) == ["short"]
    assert texts(client, filters={"source": long}) == ["long"]
    assert sorted(texts(client, filters={"source": {"$in": ["mem0:1", long]}})) == ["long", "short"]
    assert sorted(texts(client, filters={"source": {"$in": ["mem0:1", None]}})) == ["none", "short"]
    assert texts(client, filters={"source": {"$in": []}}) == []
    assert sorted(texts(client, filters={"$not": {"source": "mem0:1"}})) == ["long", "none"]

"""What makes no sense is refused with a code and a sentence, stores nothing, and harms nothing."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, timezone
from types import MappingProxyType
from typing import Any

import pytest

from recollect import Memory, Recollect, TenantContext
from recollect.domain.memory import make_draft
from recollect.domain.text import MAX_METADATA_BYTES, MAX_NAME_CHARS, MAX_TEXT_CHARS
from recollect.errors import InvalidInputError, InvalidTextError

NOW = datetime(2026, 5, 8, tzinfo=UTC)


def nested(depth: int) -> dict[str, Any]:
    value: dict[str, Any] = {}
    for _ in range(depth):
        value = {"a": value}
    return value


def circle() -> dict[str, Any]:
    value: dict[str, Any] = {}
    value["self"] = value
    return value


TEXTS: list[tuple[object, str]] = [
    ("", "text is empty"),
    ("   \n\t", "text is empty"),
    (None, "text is empty"),
    ("x" * (MAX_TEXT_CHARS + 1), "the limit is 200,000"),
    ("a\x00b", "NUL character at position 1"),
    ("lone \ud800 surrogate", "lone surrogate at position 5"),
    (b"\xff\xfe", "not valid UTF-8 at byte 0"),
    (b"caf\xe9", "not valid UTF-8 at byte 3"),
]


FIELDS: list[tuple[dict[str, Any], str]] = [
    ({"layer": "galaxy"}, "unknown layer 'galaxy'; layers are agent, user"),
    ({"layer": "team", "scope": "user/ana"}, "but layer='team' was asked for"),
    ({"scope": "user/"}, "scope name is empty"),
    ({"scope": "team"}, "scope 'team' is a layer and lacks a name; write it as 'team/NAME'"),
    ({"scope": "api"}, "scope 'api' has no layer; write it as 'team/api' or 'user/api'"),
    ({"scope": "user/" + "x" * 300}, "the limit is 200"),
    ({"type": "novel"}, "unknown type 'novel'; types are episodic"),
    ({"type": ["episodic"]}, "unknown type"),
    ({"importance": 1.01}, "outside 0 to 1"),
    ({"importance": -0.01}, "outside 0 to 1"),
    ({"importance": float("nan")}, "not a number"),
    ({"importance": float("inf")}, "not a number"),
    ({"importance": True}, "not a number"),
    ({"importance": "high"}, "not a number"),
    ({"created_at": "garbage"}, "is not a date"),
    ({"created_at": "0000-01-01"}, "is not a date"),
    ({"created_at": "2026-02-30"}, "is not a date"),
    ({"created_at": ""}, "is not a date"),
    ({"created_at": 1_700_000_000}, "must be a datetime"),
    ({"created_at": datetime(1, 1, 1)}, "out of range"),
    ({"created_at": datetime(1, 1, 1, tzinfo=timezone(timedelta(hours=14)))}, "out of range"),
    ({"created_at": datetime(9999, 12, 31, 23, tzinfo=timezone(-timedelta(hours=14)))}, "out of range"),
    ({"created_at": "9999-12-31"}, "out of range"),
    ({"valid_from": "2026-02-01", "valid_to": "2026-01-01"}, "is before valid_from"),
    ({"created_at": "2026-02-01", "expires_at": "2026-02-01"}, "is not after created_at"),
    ({"expires_at": "1999-01-01"}, "is not after created_at"),
    ({"metadata": [1]}, "metadata must be a dict"),
    ({"metadata": "x"}, "metadata must be a dict"),
    ({"metadata": {"a": {1, 2}}}, "metadata.a is a set"),
    ({"metadata": {"a": [float("nan")]}}, r"metadata.a\[0\] is nan"),
    ({"metadata": {"a": float("-inf")}}, "metadata.a is -inf"),
    ({"metadata": {"a": b"x"}}, "metadata.a is a bytes"),
    ({"metadata": {"a": datetime(2026, 1, 1)}}, "metadata.a is a datetime"),
    ({"metadata": {1: "x"}}, "has the key 1"),
    ({"metadata": {"a": {None: "x"}}}, "has the key None"),
    ({"metadata": {"a": "nul \x00"}}, "NUL character"),
    ({"metadata": {"nul \x00": 1}}, "NUL character"),
    ({"metadata": {"a": "\udfff"}}, "lone surrogate"),
    ({"metadata": {"a": 10**5000}}, "store it as a string"),
    ({"metadata": nested(5_000)}, "nested more than 32 deep"),
    ({"metadata": circle()}, "contains itself"),
    ({"metadata": {"a": "x" * MAX_METADATA_BYTES}}, "larger than 65,536 bytes"),
    ({"entities": "Ana"}, "must be a list of names"),
    ({"entities": [5]}, "entity must be a string"),
    ({"entities": [""]}, "entity is empty"),
    ({"entities": ["x" * (MAX_NAME_CHARS + 1)]}, "the limit is 200"),
    ({"entities": [f"e{n}" for n in range(101)]}, "the limit is 100"),
    ({"entities": ["two\nlines"]}, "control characters"),
    ({"subject": ""}, "subject is empty"),
    ({"subject": "x" * 10_001}, "the limit is 10,000"),
    ({"source": 5}, "source must be a string"),
    ({"conversation": ""}, "conversation is empty"),
    ({"conversation": 5}, "conversation must be a string"),
    ({"speaker": "a\x00"}, "NUL character"),
]


BAD: list[tuple[dict[str, Any], str]] = [
    *(({"text": text}, complaint) for text, complaint in TEXTS),
    *(({"text": "a good text", **fields}, complaint) for fields, complaint in FIELDS),
]


@pytest.mark.parametrize(("text", "complaint"), TEXTS, ids=[complaint for _, complaint in TEXTS])
def test_a_text_that_can_not_be_stored_is_refused(text: Any, complaint: str) -> None:
    with pytest.raises(InvalidTextError, match=complaint) as caught:
        make_draft({"text": text}, now=NOW)
    assert caught.value.code == "invalid_text"


@pytest.mark.parametrize(("fields", "complaint"), FIELDS, ids=[f"{n} {c}" for n, (_, c) in enumerate(FIELDS)])
def test_a_field_that_makes_no_sense_is_refused(fields: dict[str, Any], complaint: str) -> None:
    with pytest.raises(InvalidInputError, match=complaint) as caught:
        make_draft({"text": "a good text", **fields}, now=NOW)
    assert caught.value.code.startswith("invalid")


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"text_or_messages": "a\x00b"}, "invalid_text"),
        ({"text_or_messages": "a good text", "importance": "high"}, "invalid_input"),
        # Known only when the caller's scopes are.
        ({"text_or_messages": "a good text", "layer": "team"}, "invalid_input"),
    ],
)
def test_nothing_is_stored_of_what_is_refused_and_the_store_goes_on(
    client: Recollect, fields: dict[str, Any], code: str
) -> None:
    with pytest.raises(InvalidInputError) as caught:
        client.add(**fields)
    assert caught.value.code == code
    assert len(client.list()) == 0
    client.add("the store goes on")


def test_of_many_memories_the_bad_ones_are_named_and_none_of_them_is_stored(client: Recollect) -> None:
    needs_scope = ({"text": "a good text", "layer": "team"}, "layer 'team' needs a scope")
    bad = [*BAD, needs_scope]
    report = client.add_many([*(fields for fields, _ in bad), {"text": "the store goes on"}])
    assert [error.index for error in report.errors] == list(range(len(bad)))
    for error, (fields, complaint) in zip(report.errors, bad, strict=True):
        assert re.search(complaint, error.message), (fields, error)
        assert error.code.startswith("invalid")
    assert [memory.text for memory in client.list()] == ["the store goes on"]


def test_limits_themselves_are_allowed(client: Recollect) -> None:
    word = "wort "
    long = client.add((word * (MAX_TEXT_CHARS // len(word)))[:MAX_TEXT_CHARS])
    assert isinstance(long, Memory)
    assert len(client.get(long.id).text) == MAX_TEXT_CHARS
    one_word = client.add("x" * MAX_TEXT_CHARS)
    assert isinstance(one_word, Memory)
    full = client.add(
        "full",
        metadata={"a": "x" * (MAX_METADATA_BYTES - 10), **({})},
        entities=[f"{n:03}" + "ü" * (MAX_NAME_CHARS - 3) for n in range(100)],
        conversation="\U0001f600" * MAX_NAME_CHARS,
        speaker="\U0001f600" * MAX_NAME_CHARS,
        subject="x" * 10_000,
        importance=0,
        created_at="1000-01-02",
        valid_to="8999-12-31",
    )
    assert isinstance(full, Memory)
    assert client.get(full.id) == full
    assert [m.id for m in client.list(filters={"entity": full.entities[0].upper()})] == [full.id]


def test_metadata_of_other_mappings_becomes_plain_json(client: Recollect) -> None:
    given = MappingProxyType({"a": MappingProxyType({"b": (1, 2)}), "n": nested(30)})
    memory = client.add("x", metadata=given)
    assert isinstance(memory, Memory)
    assert memory.metadata == {"a": {"b": [1, 2]}, "n": nested(30)}


@pytest.mark.parametrize(
    "text",
    [
        "'; drop table recollect.memory; --",
        "%s %(tenant)s",
        "{columns}",
        "\\copy",
        "\u202e\u200b",
        "🦜" * 100,
        "!!!",
        "a\r\nb",
    ],
)
def test_any_other_text_is_stored_as_it_is(client: Recollect, text: str) -> None:
    memory = client.add(text, subject=text, metadata={text: text}, source=text)
    assert isinstance(memory, Memory)
    got = client.get(memory.id)
    assert (got.text, got.subject, got.metadata, got.source) == (text, text, {text: text}, text)


def test_dates_without_a_zone_are_utc_and_others_keep_their_moment(client: Recollect) -> None:
    plain = client.add("a", created_at="2026-05-08")
    zoned = client.add("b", created_at="2026-05-08T02:00:00+02:00")
    assert isinstance(plain, Memory)
    assert isinstance(zoned, Memory)
    assert plain.created_at == zoned.created_at == datetime(2026, 5, 8, tzinfo=UTC)


@pytest.mark.parametrize(
    ("parts", "complaint"),
    [
        ({"tenant_id": ""}, "tenant_id is empty"),
        ({"tenant_id": "a\x00"}, "NUL"),
        ({"tenant_id": "t", "user_id": 5}, "user_id must be a string"),
        ({"tenant_id": "t", "roles": "admin"}, "roles must be a tuple"),
        ({"tenant_id": "t", "roles": ("king",)}, "unknown role 'king'"),
        ({"tenant_id": "t", "roles": ("lead:api",)}, "has no layer"),
    ],
)
def test_a_context_that_makes_no_sense_is_refused(parts: dict[str, Any], complaint: str) -> None:
    with pytest.raises(InvalidInputError, match=complaint):
        TenantContext(**parts)


def test_a_context_of_nobody_has_nowhere_to_write(store: Recollect, tenant_id: str) -> None:
    nobody = store.for_context(TenantContext(tenant_id=tenant_id))
    with pytest.raises(InvalidInputError, match="needs a scope"):
        nobody.add("x")
    assert len(nobody.list()) == 0

"""A memory, what may be in one, and what callers hand in.

`Draft` is a memory that was checked but not stored; making one is the only way in, so every rule about
a single memory's content is in this file. `Memory` is one that the database returned.
"""

from __future__ import annotations

import enum
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from recollect.domain.ids import new_id
from recollect.domain.layers import Layer, ScopeName, read_place
from recollect.domain.text import check_metadata, check_name, check_text, parse_member
from recollect.errors import InvalidInputError

MAX_ENTITIES = 100
#: A single add of messages; longer conversations go through add_many, which reports progress.
MAX_MESSAGES = 10_000


class MemoryType(enum.StrEnum):
    """What kind of thing is remembered."""

    EPISODIC = "episodic"
    SEMANTIC = "semantic"
    PROCEDURAL = "procedural"
    SUMMARY = "summary"

    @classmethod
    def parse(cls, value: str) -> MemoryType:
        """Read a type's name; an unknown one is an error that lists the known ones."""
        return parse_member(cls, value, "type")


class Status(enum.StrEnum):
    """Whether a memory is believed now."""

    ACTIVE = "active"
    SUPERSEDED = "superseded"


#: Procedures and summaries are dense, so they start higher.
DEFAULT_IMPORTANCE = {
    MemoryType.EPISODIC: 0.5,
    MemoryType.SEMANTIC: 0.5,
    MemoryType.PROCEDURAL: 0.8,
    MemoryType.SUMMARY: 0.9,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """A checked memory on its way to the store. `scope` None means: where the context stands."""

    text: str
    layer: Layer = Layer.USER
    scope: ScopeName | None = None
    type: MemoryType = MemoryType.EPISODIC
    subject: str | None = None
    predicate: str | None = None
    object: str | None = None
    trigger: str | None = None
    action: str | None = None
    entities: tuple[str, ...] = ()
    importance: float = 0.5
    metadata: Mapping[str, Any] = field(default_factory=dict)
    source: str | None = None
    created_at: datetime
    valid_from: datetime | None = None
    valid_to: datetime | None = None
    expires_at: datetime | None = None
    conversation: str | None = None
    speaker: str | None = None

    @property
    def indexed_text(self) -> str:
        """What is embedded and put into the lexical index: a turn is found by its speaker too."""
        return f"{self.speaker}: {self.text}" if self.speaker else self.text


@dataclass(frozen=True, slots=True, kw_only=True)
class Memory:
    """A memory as the store returned it. `created_at` is when it was learned, `valid_*` when it is true."""

    id: UUID
    tenant_id: str
    layer: Layer
    scope: str
    type: MemoryType
    text: str
    subject: str | None
    predicate: str | None
    object: str | None
    trigger: str | None
    action: str | None
    entities: tuple[str, ...]
    importance: float
    use_count: int
    utility: float
    metadata: dict[str, Any]
    source: str | None
    created_at: datetime
    valid_from: datetime | None
    valid_to: datetime | None
    expires_at: datetime | None
    superseded_by: UUID | None
    superseded_at: datetime | None
    status: Status
    conversation: str | None
    speaker: str | None
    position: int | None
    updated_at: datetime
    #: Names found in the text; `entities` are the caller's.
    mentions: tuple[str, ...] = ()


def make_draft(fields: Mapping[str, Any], *, now: datetime) -> Draft:
    """Check what a caller passed for one memory. Unknown keys are named, not ignored."""
    if not isinstance(fields, Mapping):
        raise InvalidInputError(f"an item must be a dict with 'text', not {type(fields).__name__}")
    unknown = sorted(set(fields) - DRAFT_KEYS, key=str)
    if unknown:
        raise InvalidInputError(f"unknown field {unknown[0]!r}; fields are {', '.join(sorted(DRAFT_KEYS))}")
    kind = MemoryType.parse(fields.get("type") or "episodic")
    layer, scope = read_place(fields.get("layer") or None, fields.get("scope"))
    parts = {name: _optional_text(fields.get(name), name) for name in _PART_KEYS}
    created_at = check_time(fields.get("created_at"), "created_at") or now
    valid_from = check_time(fields.get("valid_from"), "valid_from")
    valid_to = check_time(fields.get("valid_to"), "valid_to")
    expires_at = check_time(fields.get("expires_at"), "expires_at")
    check_period(valid_from, valid_to)
    if expires_at is not None and expires_at <= created_at:
        raise InvalidInputError(
            f"expires_at {expires_at.isoformat()} is not after created_at {created_at.isoformat()}"
        )
    return Draft(
        text=check_text(compose_text(kind, parts) if fields.get("text") is None else fields["text"]),
        layer=layer,
        scope=scope,
        type=kind,
        **parts,
        entities=check_entities(fields.get("entities")),
        importance=check_importance(fields.get("importance"), kind),
        metadata=check_metadata(fields.get("metadata")),
        source=_optional_text(fields.get("source"), "source"),
        created_at=created_at,
        valid_from=valid_from,
        valid_to=valid_to,
        expires_at=expires_at,
        conversation=_optional_name(fields.get("conversation"), "conversation"),
        speaker=_optional_name(fields.get("speaker"), "speaker"),
    )


_PART_KEYS = ("subject", "predicate", "object", "trigger", "action")
DRAFT_KEYS = frozenset(Draft.__dataclass_fields__)


def message_fields(messages: Sequence[object], shared: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Turn chat messages into the fields of one memory per turn, in order.

    A message is `{"role" or "speaker": ..., "content" or "text": ...}`, the content a text or the text parts of
    chat APIs (`[{"type": "text", "text": ...}]`). It may carry its own `created_at`, `metadata` and
    `entities`; what it lacks it takes from `shared`. Messages without a
    conversation are one of their own, or equal turns would merge and neighbours be lost.
    """
    if not messages:
        raise InvalidInputError("messages is empty; give at least one message")
    if len(messages) > MAX_MESSAGES:
        raise InvalidInputError(
            f"{len(messages):,} messages in one add, the limit is {MAX_MESSAGES:,}; use add_many"
        )
    conversation = shared.get("conversation") or str(new_id())
    turns = []
    for index, message in enumerate(messages):
        if not isinstance(message, Mapping):
            raise InvalidInputError(
                f"message {index} must be a dict with 'content', not {type(message).__name__}"
            )
        known = {"role", "speaker", "name", "content", "text", "created_at", "metadata", "entities"}
        unknown = sorted(set(message) - known, key=str)
        if unknown:
            raise InvalidInputError(
                f"message {index} has the unknown key {unknown[0]!r}; keys are {sorted(known)}"
            )
        turn = {key: value for key, value in shared.items() if value is not None}
        turn["conversation"] = conversation
        content = message.get("content", message.get("text"))
        turn["text"] = check_text(_joined_parts(content, index), what=f"message {index}")
        speaker = (
            message.get("speaker") or message.get("name") or message.get("role") or shared.get("speaker")
        )
        turn["speaker"] = speaker
        for key in ("created_at", "metadata", "entities"):
            if message.get(key) is not None:
                turn[key] = message[key]
        turns.append(turn)
    return turns


#: How chat APIs call a part of a message that is text.
_TEXT_PARTS = frozenset({"text", "input_text", "output_text"})


def _joined_parts(content: object, index: int) -> object:
    """A message's content as one text; what is no list of parts is left as it is."""
    if not isinstance(content, Sequence) or isinstance(content, str | bytes):
        return content
    texts = []
    for part in content:
        kind = part.get("type") if isinstance(part, Mapping) else type(part).__name__
        text = part.get("text") if isinstance(part, Mapping) else part
        if (isinstance(part, Mapping) and kind not in _TEXT_PARTS) or not isinstance(text, str):
            raise InvalidInputError(
                f"message {index} has a part of type {kind!r}, and only text is remembered; leave that part out"
            )
        texts.append(text)
    return "\n".join(texts)


def check_importance(value: object, kind: MemoryType) -> float:
    """A number from 0 to 1; None takes the type's default."""
    if value is None:
        return DEFAULT_IMPORTANCE[kind]
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise InvalidInputError(f"importance {value!r} is not a number from 0 to 1")
    if not 0.0 <= value <= 1.0:
        raise InvalidInputError(f"importance {value!r} is outside 0 to 1")
    return float(value)


def check_entities(value: object) -> tuple[str, ...]:
    """Distinct names, in order."""
    if value is None:
        return ()
    if isinstance(value, str) or not isinstance(value, Sequence | set | frozenset):
        raise InvalidInputError(f"entities must be a list of names, not {type(value).__name__}")
    names = list(dict.fromkeys(check_name(item, what="entity") for item in value))
    if len(names) > MAX_ENTITIES:
        raise InvalidInputError(f"{len(names)} entities on one memory, the limit is {MAX_ENTITIES}")
    return tuple(names)


def check_time(value: object, what: str) -> datetime | None:
    """A point in time: a datetime, or ISO 8601 text. Without a zone it is taken as UTC."""
    if value is None:
        return None
    moment = value
    if isinstance(moment, str):
        try:
            moment = datetime.fromisoformat(moment.strip())
        except ValueError:
            raise InvalidInputError(
                f"{what} {value!r} is not a date; write 2026-05-08 or 2026-05-08T14:30:00Z"
            ) from None
    if not isinstance(moment, datetime):
        raise InvalidInputError(f"{what} must be a datetime or ISO 8601 text, not {type(value).__name__}")
    moment = moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment
    try:
        # Years 1 and 9999 overflow when a zone shifts them, and nobody means them.
        moment = moment.astimezone(UTC)
    except OverflowError:
        raise InvalidInputError(f"{what} {value!r} is out of range") from None
    if not 1000 <= moment.year <= 9000:
        raise InvalidInputError(f"{what} {value!r} is out of range; years go from 1000 to 9000")
    return moment


def check_period(valid_from: datetime | None, valid_to: datetime | None) -> None:
    """A period must not end before it begins."""
    if valid_from is not None and valid_to is not None and valid_to < valid_from:
        raise InvalidInputError(
            f"valid_to {valid_to.isoformat()} is before valid_from {valid_from.isoformat()}"
        )


def _optional_text(value: object, what: str) -> str | None:
    return None if value is None else check_text(value, what=what, limit=10_000)


def _optional_name(value: object, what: str) -> str | None:
    return None if value is None else check_name(value, what=what)


def compose_text(kind: MemoryType, parts: Mapping[str, str | None]) -> str:
    """A fact or a procedure given only by its parts reads as a sentence."""
    if kind is MemoryType.SEMANTIC and parts["subject"] and parts["predicate"] and parts["object"]:
        return f"{parts['subject']} {parts['predicate'].replace('_', ' ')} {parts['object']}"
    if kind is MemoryType.PROCEDURAL and parts["trigger"] and parts["action"]:
        return f"When {parts['trigger']}: {parts['action']}"
    return ""


def parse_types(types: Sequence[str] | None) -> list[MemoryType] | None:
    """Types by name; None is all of them."""
    return None if types is None else [MemoryType.parse(kind) for kind in types]

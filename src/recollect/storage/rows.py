"""Rows of the database as values of the domain."""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Iterable
from datetime import datetime
from typing import Any, TypeVar
from uuid import UUID

from psycopg import sql

from recollect.domain.layers import Layer, ScopeName
from recollect.domain.memory import Memory, MemoryType, Status
from recollect.errors import InvalidInputError
from recollect.storage.store import Row

T = TypeVar("T")

#: What a Memory is read from; the queries join scope as s and conversation as c.
MEMORY_COLUMNS = sql.SQL(
    "m.memory_id, m.tenant_id, m.layer, s.name as scope_name, s.owner as scope_owner, m.type, m.text, m.subject,"
    " m.predicate, m.object, m.trigger, m.action, m.entities, m.importance, m.use_count, m.utility, m.metadata,"
    " m.source, m.created_at, m.valid_from, m.valid_to, m.expires_at, m.superseded_by, m.superseded_at,"
    " c.name as conversation, m.speaker, m.position, m.updated_at, m.mentions"
)


def from_row(form: type[T], row: Row, **given: Any) -> T:
    """A value from the columns that are named like its fields, lists as tuples; what is called otherwise is given."""
    names: Iterable[str] = form.__dataclass_fields__  # type: ignore[attr-defined]
    taken = {name: row[name] for name in names if name in row and name not in given}
    lists = {name: tuple(value) for name, value in taken.items() if isinstance(value, list)}
    return form(**taken | lists | given)


def scope_of(layer: int | None, name: str) -> str | None:
    """A scope as it is written; None where there is no layer."""
    return None if layer is None else str(ScopeName(Layer.from_precedence(layer), name))


def to_memory(row: Row) -> Memory:
    """A row selected with MEMORY_COLUMNS."""
    layer = Layer.from_precedence(row["layer"])
    return from_row(
        Memory,
        row,
        id=row["memory_id"],
        layer=layer,
        scope=f"{layer.value}/{row['scope_name']}",
        type=MemoryType(row["type"]),
        status=Status.ACTIVE if row["superseded_at"] is None else Status.SUPERSEDED,
    )


def make_cursor(created_at: datetime, memory_id: UUID) -> str:
    """Where a page ended, as an opaque token."""
    raw = json.dumps([created_at.isoformat(), str(memory_id)])
    return base64.urlsafe_b64encode(raw.encode()).decode().rstrip("=")


def read_cursor(cursor: str | None) -> tuple[datetime | None, UUID | None]:
    """The place a cursor stands for."""
    if cursor is None:
        return None, None
    try:
        raw = base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4))
        created_at, memory_id = json.loads(raw)
        return datetime.fromisoformat(created_at), UUID(memory_id)
    except (ValueError, TypeError, RecursionError, binascii.Error) as error:
        raise InvalidInputError(
            f"cursor {str(cursor)[:80]!r} is not one that list returned; leave it out to start over"
        ) from error

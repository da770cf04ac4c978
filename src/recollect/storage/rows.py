"""Rows of the database as values of the domain."""

from __future__ import annotations

import base64
import binascii
import json
from datetime import datetime
from uuid import UUID

from psycopg import sql

from recollect.domain.layers import Layer
from recollect.domain.memory import Memory, MemoryType, Status
from recollect.errors import InvalidInputError
from recollect.storage.store import Row

#: What a Memory is read from; the queries join scope as s and conversation as c.
MEMORY_COLUMNS = sql.SQL(
    "m.memory_id, m.tenant_id, m.layer, s.name as scope_name, s.owner as scope_owner, m.type, m.text, m.subject,"
    " m.predicate, m.object, m.trigger, m.action, m.entities, m.importance, m.use_count, m.utility, m.metadata,"
    " m.source, m.created_at, m.valid_from, m.valid_to, m.expires_at, m.superseded_by, m.superseded_at,"
    " c.name as conversation, m.speaker, m.position, m.updated_at, m.mentions"
)


def to_memory(row: Row) -> Memory:
    """A row selected with MEMORY_COLUMNS."""
    layer = Layer.from_precedence(row["layer"])
    return Memory(
        id=row["memory_id"],
        tenant_id=row["tenant_id"],
        layer=layer,
        scope=f"{layer.value}/{row['scope_name']}",
        type=MemoryType(row["type"]),
        text=row["text"],
        subject=row["subject"],
        predicate=row["predicate"],
        object=row["object"],
        trigger=row["trigger"],
        action=row["action"],
        entities=tuple(row["entities"]),
        importance=row["importance"],
        use_count=row["use_count"],
        utility=row["utility"],
        metadata=row["metadata"],
        source=row["source"],
        created_at=row["created_at"],
        valid_from=row["valid_from"],
        valid_to=row["valid_to"],
        expires_at=row["expires_at"],
        superseded_by=row["superseded_by"],
        superseded_at=row["superseded_at"],
        status=Status.ACTIVE if row["superseded_at"] is None else Status.SUPERSEDED,
        conversation=row["conversation"],
        speaker=row["speaker"],
        position=row["position"],
        updated_at=row["updated_at"],
        mentions=tuple(row["mentions"]),
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

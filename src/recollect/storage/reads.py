"""Memories out of the database: by id, in pages, their history."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from psycopg import sql

from recollect.domain.codec import encode, encode_fields
from recollect.domain.filters import Filter
from recollect.domain.layers import OWNED_LAYERS, Layer
from recollect.domain.memory import Memory, MemoryType
from recollect.domain.results import HistoryEntry, Page
from recollect.storage.filters import (
    TRUE,
    Moment,
    Parameters,
    all_of,
    believed,
    compile_filter,
    in_layers,
    of_types,
)
from recollect.storage.rows import MEMORY_COLUMNS, from_row, make_cursor, read_cursor, to_memory
from recollect.storage.store import Transaction


async def get_memories(tx: Transaction, ids: Sequence[UUID]) -> list[Memory]:
    """Visible memories in the order of their ids; what is not visible is left out."""
    rows = await tx.fetch("select_memories", {"columns": MEMORY_COLUMNS}, ids=list(ids))
    memories = {row["memory_id"]: to_memory(row) for row in rows}
    return [memories[id] for id in ids if id in memories]


ORDERS = ("newest", "oldest")
#: Where a page goes on, and how it is sorted.
_PAGES = {
    False: {"after": sql.SQL("<"), "order": sql.SQL("m.created_at desc, m.memory_id desc")},
    True: {"after": sql.SQL(">"), "order": sql.SQL("m.created_at, m.memory_id")},
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """Which memories are meant; `moment` None includes what is no longer believed."""

    scopes: Sequence[UUID] | None = None
    layers: Sequence[Layer] | None = None
    types: Sequence[MemoryType] | None = None
    filters: Filter | None = None
    moment: Moment | None = None

    def where(self, parameters: Parameters) -> sql.Composable:
        """The condition on a memory `m`; its values go into the parameters."""
        return all_of(
            TRUE if self.moment is None else believed(self.moment, parameters),
            in_layers(self.layers, parameters),
            of_types(self.types, parameters),
            compile_filter(self.filters, parameters),
        )


async def list_memories(
    tx: Transaction, chosen: Selection, *, limit: int, cursor: str | None = None, oldest: bool = False
) -> Page:
    """One page, the newest or the oldest first."""
    parameters = Parameters()
    where = chosen.where(parameters)
    after_at, after_id = read_cursor(cursor)
    rows = await tx.fetch(
        "list_memories",
        {"columns": MEMORY_COLUMNS, "where": where, **_PAGES[oldest]},
        scopes=None if chosen.scopes is None else list(chosen.scopes),
        after_at=after_at,
        after_id=after_id,
        limit=limit + 1,
        **parameters.values,
    )
    items = tuple(to_memory(row) for row in rows[:limit])
    more = len(rows) > limit
    return Page(items=items, next_cursor=make_cursor(items[-1].created_at, items[-1].id) if more else None)


async def count_memories(tx: Transaction, chosen: Selection) -> int:
    """How many memories are chosen."""
    parameters = Parameters()
    where = chosen.where(parameters)
    scopes = None if chosen.scopes is None else list(chosen.scopes)
    row = await tx.get_row("count_matching", {"where": where}, scopes=scopes, **parameters.values)
    return int(row["memories"])


async def memories_tokens(tx: Transaction, *, now: datetime) -> int:
    """About how many tokens all of them have, those that are believed."""
    row = await tx.fetch_one("memories_size", now=now)
    return row["chars"] // 3 if row is not None else 0


async def list_history(tx: Transaction, memory: Memory) -> list[HistoryEntry]:
    """Every change of a memory, the adding first."""
    # Our own ids carry the time they were made; an imported id of another kind does not.
    ours = memory.id.version == 7
    added_at = datetime.fromtimestamp((memory.id.int >> 80) / 1000, tz=UTC) if ours else memory.created_at
    added = HistoryEntry(memory_id=memory.id, event="added", at=added_at, by=None, before=None)
    rows = await tx.fetch("list_history", id=memory.id)
    return [added, *(from_row(HistoryEntry, row) for row in rows)]


async def fetch_details(tx: Transaction, ids: Sequence[UUID]) -> dict[UUID, dict[str, Any]]:
    """Memories with all that an export keeps of them: their period of belief and their history too."""
    rows = await tx.fetch("export_memories", {"columns": MEMORY_COLUMNS}, ids=list(ids))
    exported = {}
    for row in rows:
        details = encode_fields(to_memory(row))
        del details["mentions"]  # found again in the text by whoever imports it
        details |= {name: encode(row[name]) for name in ("since", "version_of")}
        if Layer.from_precedence(row["layer"]) in OWNED_LAYERS:
            details["owner"] = row["scope_owner"]
        details["history"] = row["history"] or []
        exported[row["memory_id"]] = {key: value for key, value in details.items() if value is not None}
    return exported

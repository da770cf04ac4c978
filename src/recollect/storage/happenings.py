"""What goes on in a tenant, in the database: events that are told, searches as recorded, counts at a glance.

A notification carries the tenant's name and nothing else: what happened is read under the listener's own rights.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import asdict, replace
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

import psycopg
from psycopg.types.json import Jsonb

from recollect.domain.ids import new_id
from recollect.domain.layers import Layer
from recollect.domain.memory import MemoryType
from recollect.domain.overview import (
    Happening,
    MemoryCount,
    Overview,
    SearchMinute,
    Trace,
    TracedHit,
    TraceFilter,
)
from recollect.errors import NotFoundError, StoreError
from recollect.storage.learning import HOUR
from recollect.storage.rows import from_row, scope_of
from recollect.storage.store import Row, Store, Transaction

log = logging.getLogger(__name__)

#: How long what happened can be heard of afterwards.
KEPT = timedelta(days=7)
#: Ids that one event names; a larger batch says how many there were.
MAX_IDS = 100
_RETRY_S = 1.0


async def tell(tx: Transaction, type: str, scope_id: UUID | None, detail: Mapping[str, Any]) -> None:
    """Keep what the caller did, and say so when this transaction is committed."""
    await tx.execute(
        "tell",
        id=new_id(),
        type=type,
        user=tx.context.user_id or "",
        scope=scope_id,
        detail=Jsonb(dict(detail)),
    )


async def tell_all(tx: Transaction, events: Sequence[tuple[str, Mapping[str, Any]]]) -> None:
    """Keep several things that the caller did, in their order, at once."""
    await tx.execute(
        "tell_all",
        ids=[new_id() for _ in events],
        types=[type for type, _ in events],
        user=tx.context.user_id or "",
        details=[Jsonb(dict(detail)) for _, detail in events],
    )
    await tx.execute("wake_watchers")


async def tell_of(tx: Transaction, type: str, ids: Sequence[tuple[UUID, UUID]]) -> None:
    """One event for each scope of (scope, memory) pairs."""
    by_scope: dict[UUID, list[UUID]] = {}
    for scope, memory in ids:
        by_scope.setdefault(scope, []).append(memory)
    for scope, memories in by_scope.items():
        named = [str(memory) for memory in memories[:MAX_IDS]]
        await tell(tx, type, scope, {"ids": named, "count": len(memories)})


async def happened_since(
    tx: Transaction, since: datetime, *, types: Sequence[str] | None = None, limit: int
) -> list[Happening]:
    """What happened after a moment, as far as the caller may know."""
    rows = await tx.fetch("happened_since", since=since, types=list(types) if types else None, limit=limit)
    return [
        from_row(
            Happening,
            row,
            id=row["event_id"],
            user=row["by_user"],
            scope=scope_of(row["layer"], row["scope_name"]),
        )
        for row in rows
    ]


async def get_moment(tx: Transaction, event_id: UUID) -> datetime:
    """When an event was; an error when nobody knows it any more."""
    row = await tx.fetch_one("moment_of_happening", id=event_id)
    if row is None:
        raise NotFoundError(f"no event {str(event_id)!r}; events are kept for {KEPT.days} days")
    at: datetime = row["at"]
    return at


async def listen(store: Store) -> AsyncIterator[str]:
    """The tenants in which something happened, as it happens; "" after a break, when anything may have."""
    is_known = False
    while True:
        try:
            async with await store.connector.connect(unasked=True) as connection:
                await connection.execute("listen recollect_event")
                is_known = False
                yield ""
                async for notification in connection.notifies():
                    yield notification.payload
        except (psycopg.OperationalError, StoreError) as error:
            if not is_known:
                log.warning("listening for events broke off and is tried again: %s", error)
            is_known = True
        await asyncio.sleep(_RETRY_S)


async def list_traces(
    tx: Transaction, wanted: TraceFilter, *, limit: int, query: UUID | None = None
) -> list[Trace]:
    """Searches, the newest first."""
    rows = await tx.fetch("list_traces", limit=limit, query=query, **asdict(wanted))
    return [_trace(row) for row in rows]


async def find_trace(tx: Transaction, query: UUID) -> Trace | None:
    """A search with what it returned."""
    traces = await list_traces(tx, TraceFilter(), limit=1, query=query)
    if not traces:
        return None
    hits = await tx.fetch("trace_hits", query=query)
    return replace(traces[0], returned=tuple(TracedHit(**row) for row in hits))


def _trace(row: Row) -> Trace:
    session = None if row["session"].startswith(HOUR) else row["session"] or None
    return from_row(Trace, row, id=row["query_id"], user=row["user_id"], session=session)


async def overview(tx: Transaction, *, now: datetime, minutes: int) -> Overview:
    """What the caller sees of the tenant, and how searches went in the last minutes."""
    since = now - timedelta(minutes=minutes)
    counted = await tx.fetch("count_memories", now=now)
    documents = await tx.get_row("count_documents")
    by_minute = await tx.fetch("searches_by_minute", since=since)
    searches = await tx.get_row("searches_in_all", since=since)
    runs = await tx.get_row("runs_in_all", since=since)
    consultations = await tx.get_row("consultations_in_all", since=since)
    cached = runs["cached_calls"] + consultations["cached_calls"]
    return Overview(
        counted=tuple(
            MemoryCount(
                layer=Layer.from_precedence(row["layer"]),
                type=MemoryType(row["type"]),
                memories=row["memories"],
            )
            for row in counted
        ),
        documents=documents["documents"],
        minutes=minutes,
        searched=searches["searches"],
        searches=tuple(SearchMinute(**row) for row in by_minute),
        p50_ms=searches["p50_ms"],
        p95_ms=searches["p95_ms"],
        p99_ms=searches["p99_ms"],
        decomposed=runs["decomposed"],
        consultations=consultations["consultations"],
        # A run counts only what was carried out as its sub-calls.
        tool_calls=runs["subcalls"] + runs["cached_calls"] + consultations["tool_calls"],
        cached_calls=cached,
    )

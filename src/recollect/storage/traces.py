"""Searches as they were recorded, out of the database: somebody's own, or a whole tenant's for its admin."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from uuid import UUID

from recollect.domain.traces import Trace, TracedHit
from recollect.storage.store import Row, Transaction


async def list_traces(
    tx: Transaction,
    *,
    limit: int,
    user: str | None = None,
    since: datetime | None = None,
    before: datetime | None = None,
    silent: bool = False,
    query: UUID | None = None,
) -> list[Trace]:
    """Searches, the newest first; `silent`: only those that found nothing."""
    rows = await tx.fetch(
        "list_traces", limit=limit, user=user, since=since, before=before, silent=silent, query=query
    )
    return [_trace(row) for row in rows]


async def find_trace(tx: Transaction, query: UUID) -> Trace | None:
    """A search with what it returned."""
    traces = await list_traces(tx, limit=1, query=query)
    if not traces:
        return None
    hits = await tx.fetch("trace_hits", query=query)
    return replace(traces[0], returned=tuple(TracedHit(**row) for row in hits))


def _trace(row: Row) -> Trace:
    return Trace(
        id=row["query_id"],
        at=row["at"],
        user=row["user_id"],
        session=row["session"] or None,
        question=row["question"],
        category=row["category"],
        strategy=row["strategy"],
        entities=tuple(row["entities"]),
        hits=row["hits"],
        latency_ms=row["latency_ms"],
        stages=row["stages"],
        outcome=row["outcome"],
    )

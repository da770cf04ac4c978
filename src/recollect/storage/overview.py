"""A tenant at a glance, counted in the database under the caller's own rights."""

from __future__ import annotations

from datetime import datetime, timedelta

from recollect.domain.layers import Layer
from recollect.domain.memory import MemoryType
from recollect.domain.overview import MemoryCount, Overview, SearchMinute
from recollect.storage.store import Transaction


async def overview(tx: Transaction, *, now: datetime, minutes: int) -> Overview:
    """What the caller sees of the tenant, and how searches went in the last minutes."""
    since = now - timedelta(minutes=minutes)
    counted = await tx.fetch("count_memories", now=now)
    documents = await tx.fetch_one("count_documents")
    by_minute = await tx.fetch("searches_by_minute", since=since)
    searches = await tx.fetch_one("searches_in_all", since=since)
    runs = await tx.fetch_one("runs_in_all", since=since)
    consultations = await tx.fetch_one("consultations_in_all", since=since)
    # Each counts, and says 0 of nothing.
    assert documents is not None
    assert searches is not None
    assert runs is not None
    assert consultations is not None
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

"""Rows of learning: searches and what came of them, feedback, learned weights, experiments.

Everything here is somebody's own or the admin's (row-level security); which weights are worth adopting and what a
reward is worth is decided in `learning/`.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from recollect.storage.store import Row, Transaction

#: Outcomes, from the weakest to the strongest; a stronger one replaces a weaker one.
OUTCOMES = ("ignored", "context", "refined", "feedback", "used")


async def store_id(tx: Transaction) -> UUID:
    """What tells this store from all others."""
    row = await tx.fetch_one("store_identity")
    assert row is not None
    found: UUID = row["store_id"]
    return found


async def session_events(
    tx: Transaction, *, user: str, session: str, query: UUID, since: datetime, at: datetime
) -> list[Row]:
    """The latest questions of a session before a moment, the newest first."""
    return await tx.fetch("session_events", user=user, session=session, query=query, since=since, at=at)


async def insert_events(
    tx: Transaction,
    *,
    user: str,
    session: str,
    events: Sequence[Mapping[str, Any]],
    hits: Sequence[Mapping[str, Any]],
) -> int:
    """Store searches with their hits, and what they say about the searches they refine."""
    stored = await tx.execute("insert_events", user=user, session=session, events=_json(events))
    if hits:
        await tx.execute("insert_hits", user=user, hits=_json(hits))
    refined = [event["refines"] for event in events if event["refines"] is not None]
    if refined:
        await tx.execute("mark_refined", user=user, ids=refined)
    return stored


async def mark_hits(tx: Transaction, *, user: str, query: UUID, ids: Sequence[UUID]) -> list[Row]:
    """Say which hits of a search were used; returns every hit of it."""
    return await tx.fetch("mark_hits", user=user, query=query, ids=list(ids))


async def mark_event(tx: Transaction, *, user: str, query: UUID, outcome: str) -> bool:
    """Say what came of a search, unless something stronger is known."""
    weaker = list(OUTCOMES[: OUTCOMES.index(outcome)])
    return await tx.execute("mark_event", user=user, query=query, outcome=outcome, weaker=weaker) > 0


async def reward_memories(tx: Transaction, steps: Mapping[UUID, tuple[int, float]]) -> list[UUID]:
    """Add uses and a step of utility to each memory; returns those that the caller may write."""
    if not steps:
        return []
    rows = [{"memory_id": id, "uses": uses, "step": step} for id, (uses, step) in steps.items()]
    return [row["memory_id"] for row in await tx.fetch("reward_memories", steps=_json(rows))]


async def settle_hits(tx: Transaction, queries: Iterable[UUID], ids: Iterable[UUID]) -> None:
    """Note that hits have moved their memories' utility."""
    await tx.execute("settle_hits", queries=list(queries), ids=list(ids))


async def learned_choices(tx: Transaction) -> Row:
    """The active weights of the caller and its tenant, and the running experiment."""
    row = await tx.fetch_one("learned_choices", user=tx.context.user_id or "")
    assert row is not None
    return row


async def utility_state(tx: Transaction) -> Row | None:
    """The tenant's running mean of rewards; None before the first training."""
    return await tx.fetch_one("utility_state")


def _json(value: object) -> str:
    return json.dumps(value, default=_plain, allow_nan=False)


def _plain(value: object) -> str:
    if isinstance(value, UUID):
        return str(value)
    if isinstance(value, datetime):
        return value.isoformat()
    raise TypeError(f"can't write {value!r} as JSON")

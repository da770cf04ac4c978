"""Rows of learning: searches, runs and what came of them, feedback, learned weights, experiments.

Everything here is somebody's own or the admin's (row-level security); what is kept of a run, which weights are worth
adopting and what a reward is worth is decided in `learning/`.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from recollect.domain.learning import (
    DecompositionStatus,
    Experiment,
    Policy,
    RunSummary,
)
from recollect.domain.overview import OUTCOMES
from recollect.storage.rows import from_row
from recollect.storage.store import Row, Transaction

#: How a session begins that is no caller's own but an hour of their questions; no name of a caller's can.
HOUR = "\x01"


async def mark_event(tx: Transaction, *, user: str, query: UUID, outcome: str) -> bool:
    """Say what came of a search, unless something stronger is known."""
    weaker = list(OUTCOMES[: OUTCOMES.index(outcome)])
    return await tx.execute("mark_event", user=user, query=query, outcome=outcome, weaker=weaker) > 0


async def reward_memories(tx: Transaction, steps: Mapping[UUID, tuple[int, float]]) -> list[UUID]:
    """Add uses and a step of utility to each memory; returns those that the caller may write."""
    if not steps:
        return []
    rows = [{"memory_id": id, "uses": uses, "step": step} for id, (uses, step) in steps.items()]
    return [row["memory_id"] for row in await tx.fetch("reward_memories", steps=to_json(rows))]


async def settle_hits(tx: Transaction, pairs: Sequence[tuple[UUID, UUID]]) -> None:
    """Note that hits, each a search and a memory, have moved their memories' utility."""
    await tx.execute("settle_hits", queries=[query for query, _ in pairs], ids=[id for _, id in pairs])


async def list_runs(tx: Transaction, limit: int) -> list[RunSummary]:
    """The latest runs, the newest first."""
    return [_summary(row) for row in await tx.fetch("list_runs", limit=limit)]


async def find_run(tx: Transaction, run: UUID) -> tuple[RunSummary, Mapping[str, Any]] | None:
    """A run and what was kept of its trajectory."""
    row = await tx.fetch_one("find_run", run=run)
    return None if row is None else (_summary(row), row["trajectory"])


def _summary(row: Row) -> RunSummary:
    return from_row(RunSummary, row, id=row["run_id"])


# Feedback -----------------------------------------------------------------------------------------


# Training -----------------------------------------------------------------------------------------


async def list_policies(tx: Transaction) -> list[Policy]:
    """Learned weights that are in use or were tried last."""
    return [_to_policy(row) for row in await tx.fetch("list_policies")]


async def group_policies(tx: Transaction, *, user: str, strategy: str) -> dict[str, Policy]:
    """The weights of a group by state: the active ones, and the last candidate."""
    rows = await tx.fetch("group_policies", user=user, strategy=strategy)
    return {row["state"]: _to_policy(row) for row in rows}


async def save_policy(tx: Transaction, policy: Policy) -> None:
    """Store weights; a candidate replaces the last candidate, active ones replace both."""
    states = ["candidate", "active"] if policy.state == "active" else ["candidate"]
    user = policy.user_id or ""
    await tx.execute("retire_policies", user=user, strategy=policy.strategy, states=states)
    await tx.execute(
        "insert_policy",
        id=policy.id,
        user=user,
        strategy=policy.strategy,
        weights=to_json(policy.weights),
        evaluation=to_json(policy.evaluation),
        events=policy.events,
        state=policy.state,
        at=policy.created_at,
    )


def _to_policy(row: Row) -> Policy:
    return from_row(
        Policy, row, id=row["policy_id"], user_id=row["user_id"] or None, strategy=row["category"]
    )


async def list_decompositions(tx: Transaction) -> list[DecompositionStatus]:
    """Decomposition policies in use, and the last ones that were turned down."""
    return [
        from_row(
            DecompositionStatus,
            row,
            id=row["policy_id"],
            environment=row["category"],
            runs=row["events"],
        )
        for row in await tx.fetch("list_decompositions")
    ]


# Experiments --------------------------------------------------------------------------------------


async def list_experiments(tx: Transaction) -> list[Experiment]:
    """Experiments, the latest first."""
    return [
        from_row(
            Experiment,
            row,
            arms={arm: row["plan"]["arms"][arm] for arm in row["plan"]["order"]},
            shares={arm: row["plan"]["shares"][arm] for arm in row["plan"]["order"]},
            unit=row["plan"]["unit"],
        )
        for row in await tx.fetch("list_experiments")
    ]


# Forgetting ---------------------------------------------------------------------------------------


async def expire(tx: Transaction, *, before: datetime) -> Counter[str]:
    """Erase searches and judgements from before a moment, as far as they are the caller's."""
    rows: Counter[str] = Counter()
    rows["retrieval_hit"] = await tx.execute("expire_hits", before=before)
    rows["retrieval_event"] = await tx.execute("expire_events", before=before)
    rows["feedback"] = await tx.execute("expire_feedback", before=before)
    rows["run"] = await tx.execute("expire_runs", before=before)
    return +rows


async def forget_learner(tx: Transaction, user: str | None) -> Counter[str]:
    """Erase what a user asked and judged, and what was learned from them alone; None is everybody."""
    rows: Counter[str] = Counter()
    rows["feedback"] = await tx.execute("forget_feedback", user=user)
    rows["retrieval_hit"] = await tx.execute("forget_hits", user=user)
    rows["retrieval_event"] = await tx.execute("forget_events", user=user)
    rows["run"] = await tx.execute("forget_runs", user=user)
    if user is not None:
        rows["policy"] = await tx.execute("forget_policies", user=user)
    return rows


async def forget_learned(tx: Transaction) -> Counter[str]:
    """Erase learned weights and experiments, and level all memories' utility."""
    rows: Counter[str] = Counter()
    rows["policy"] = await tx.execute("delete_policies")
    rows["experiment"] = await tx.execute("delete_experiments")
    rows["memory"] = await tx.execute("level_utility")
    return rows


def to_json(value: object) -> str:
    """A document for a column or a parameter of a query."""
    return json.dumps(value, default=_plain, allow_nan=False)


def _plain(value: object) -> str:
    if isinstance(value, UUID):
        return str(value)
    if isinstance(value, datetime):
        return value.isoformat()
    raise TypeError(f"can't write {value!r} as JSON")

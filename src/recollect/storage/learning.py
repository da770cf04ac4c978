"""Rows of learning: searches and what came of them, feedback, learned weights, experiments.

Everything here is somebody's own or the admin's (row-level security); which weights are worth adopting and what a
reward is worth is decided in `learning/`.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from recollect.domain.ids import new_id
from recollect.domain.learning import Experiment, Feedback, FeedbackKind, Policy
from recollect.domain.overview import OUTCOMES
from recollect.storage.rows import from_row
from recollect.storage.store import Row, Transaction

#: How a session begins that is no caller's own but an hour of their questions; no name of a caller's can.
HOUR = "\x01"


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


async def lock_traces(tx: Transaction) -> None:
    """Before `insert_events` and `insert_runs`: nobody erases memories until this transaction ends."""
    await tx.fetch("lock_traces")


async def insert_events(
    tx: Transaction,
    *,
    user: str,
    session: str,
    events: Sequence[Mapping[str, Any]],
    hits: Sequence[Mapping[str, Any]],
) -> int:
    """Store searches with their hits, and what they say about the searches they refine."""
    stored = await tx.execute("insert_events", user=user, session=session, events=to_json(events))
    if hits:
        await tx.execute("insert_hits", user=user, hits=to_json(hits))
    refined = [event["refines"] for event in events if event["refines"] is not None]
    if refined:
        await tx.execute("mark_refined", user=user, ids=refined)
    return stored


async def lock_hit_memories(tx: Transaction, *, user: str, queries: Sequence[UUID]) -> None:
    """Before `mark_hits` and `reward_memories`: hold the memories that the searches returned."""
    await tx.execute("lock_hit_memories", user=user, queries=list(queries))


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
    return [row["memory_id"] for row in await tx.fetch("reward_memories", steps=to_json(rows))]


async def settle_hits(tx: Transaction, pairs: Sequence[tuple[UUID, UUID]]) -> None:
    """Note that hits, each a search and a memory, have moved their memories' utility."""
    await tx.execute("settle_hits", queries=[query for query, _ in pairs], ids=[id for _, id in pairs])


async def learned_choices(tx: Transaction) -> Row:
    """The active weights of the caller and its tenant, and the running experiment."""
    row = await tx.fetch_one("learned_choices", user=tx.context.user_id or "")
    assert row is not None
    return row


# Feedback -----------------------------------------------------------------------------------------


async def find_event(tx: Transaction, query: UUID) -> Row | None:
    """A search the caller may know of."""
    return await tx.fetch_one("find_event", query=query)


async def returned(tx: Transaction, query: UUID, ids: Sequence[UUID]) -> set[UUID]:
    """Which of these memories a search returned."""
    return {row["memory_id"] for row in await tx.fetch("find_hit", query=query, ids=list(ids))}


async def find_feedback(
    tx: Transaction, *, user: str, memory: UUID, kind: FeedbackKind, query: UUID | None, since: datetime
) -> Feedback | None:
    """The same judgement by the same user, given since then."""
    row = await tx.fetch_one(
        "find_feedback", user=user, memory=memory, kind=kind.value, query=query, since=since
    )
    if row is None:
        return None
    return Feedback(
        id=row["feedback_id"],
        memory_id=row["memory_id"],
        kind=FeedbackKind(row["kind"]),
        score=row["score"],
        at=row["at"],
        query_id=row["query_id"],
        applied=row["applied"],
    )


async def rescore_feedback(tx: Transaction, feedback: Feedback) -> None:
    """Keep a judgement's new score."""
    await tx.execute("rescore_feedback", id=feedback.id, score=feedback.score, at=feedback.at)


async def insert_feedback(tx: Transaction, user: str, feedback: Feedback) -> None:
    """Store a judgement."""
    await tx.execute(
        "insert_feedback",
        id=feedback.id,
        memory=feedback.memory_id,
        query=feedback.query_id,
        user=user,
        kind=feedback.kind.value,
        score=feedback.score,
        at=feedback.at,
        applied=feedback.applied,
    )


# Training -----------------------------------------------------------------------------------------


async def hold_learning(tx: Transaction) -> None:
    """Let nobody else train this tenant until the transaction ends."""
    await tx.execute("hold_learning")


async def utility_state(tx: Transaction) -> Row | None:
    """The tenant's running mean of rewards; None before the first training."""
    return await tx.fetch_one("utility_state")


async def save_utility_state(tx: Transaction, *, baseline: float, count: int, until: datetime) -> None:
    """Keep the tenant's running mean of rewards."""
    await tx.execute("save_utility_state", id=new_id(), baseline=baseline, count=count, until=until)


async def pending_feedback(tx: Transaction, limit: int) -> list[Row]:
    """Judgements no utility has learned from."""
    return await tx.fetch("pending_feedback", limit=limit)


async def settle_feedback(tx: Transaction, ids: Sequence[UUID]) -> None:
    """Note that judgements have moved their memories' utility."""
    await tx.execute("settle_feedback", ids=list(ids))


async def pending_hits(tx: Transaction, *, since: datetime, limit: int) -> list[Row]:
    """Hits no utility has learned from."""
    return await tx.fetch("pending_hits", since=since, limit=limit)


async def rewards_since(
    tx: Transaction, since: datetime, *, reported: float, assembled: float, refined: float
) -> list[float]:
    """What outcomes were worth since a moment, the oldest first."""
    rows = await tx.fetch(
        "rewards_since", since=since, reported=reported, assembled=assembled, refined=refined
    )
    return [row["reward"] for row in rows]


async def mark_ignored(tx: Transaction, *, since: datetime, before: datetime) -> int:
    """Note the searches of which nothing was used, where others of the session were."""
    return await tx.execute("mark_ignored", since=since, before=before)


async def judged_groups(tx: Transaction, least: int) -> list[Row]:
    """Users ('' for all) and kinds of questions with enough searches whose use is known."""
    return await tx.fetch("judged_groups", least=least)


async def judged_hits(tx: Transaction, *, user: str, strategy: str, limit: int) -> list[Row]:
    """The latest searches of a group whose use is known, hit by hit, the oldest first."""
    return await tx.fetch("judged_hits", user=user, strategy=strategy, limit=limit)


async def explored_outcomes(
    tx: Transaction, *, user: str, strategy: str, since: datetime, limit: int
) -> list[Row]:
    """Searches of a group from when some were ranked at random."""
    return await tx.fetch("explored_outcomes", user=user, strategy=strategy, since=since, limit=limit)


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


async def count_learning(tx: Transaction) -> list[Row]:
    """Searches by outcome, judgements by kind."""
    return await tx.fetch("learning_counts")


# Experiments --------------------------------------------------------------------------------------


async def list_experiments(tx: Transaction) -> list[Experiment]:
    """Experiments, the latest first."""
    return [
        Experiment(
            name=row["name"],
            arms={arm: row["plan"]["arms"][arm] for arm in row["plan"]["order"]},
            shares={arm: row["plan"]["shares"][arm] for arm in row["plan"]["order"]},
            unit=row["plan"]["unit"],
            state=row["state"],
            created_at=row["created_at"],
            stopped_at=row["stopped_at"],
        )
        for row in await tx.fetch("list_experiments")
    ]


async def insert_experiment(tx: Transaction, name: str, plan: Mapping[str, Any], at: datetime) -> bool:
    """Start an experiment; False when its name is taken or another one runs."""
    return await tx.execute("insert_experiment", name=name, plan=to_json(plan), at=at) > 0


async def stop_experiment(tx: Transaction, name: str, at: datetime) -> bool:
    """Stop a running experiment."""
    return await tx.execute("stop_experiment", name=name, at=at) > 0


async def arm_outcomes(
    tx: Transaction, arms: Sequence[str], *, since: datetime, until: datetime, by_user: bool
) -> list[Row]:
    """What came of each arm's searches, by user or session."""
    return await tx.fetch("arm_outcomes", arms=list(arms), since=since, until=until, by_user=by_user)


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

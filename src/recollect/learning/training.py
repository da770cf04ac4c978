"""One training run of a tenant: utility and decomposition first, then weights for every group with enough searches.

A group is a kind of question (the name of its strategy) of one user, or of the whole tenant. Only an admin trains,
because only an admin sees everybody's outcomes. A run that is interrupted has changed nothing, or whole groups.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import groupby
from typing import TYPE_CHECKING

import numpy as np

from recollect.domain.ids import new_id
from recollect.domain.learning import LearningStatus, Policy, TrainReport
from recollect.domain.query import SIGNALS
from recollect.domain.tenancy import TenantContext
from recollect.errors import ForbiddenError
from recollect.learning.rewards import JudgedList
from recollect.learning.utility import CombinedMemoryTrainer, read_baseline
from recollect.learning.weights import ArmOutcome, SignalWeightTrainer, to_array
from recollect.storage import learning as storage
from recollect.storage.scopes import get_tenant

if TYPE_CHECKING:
    from recollect.domain.tenancy import TenantContext
    from recollect.learning.events import EventLog
    from recollect.learning.strategies import PolicyBook, StrategyBook
    from recollect.storage.store import Row, Store, Transaction

#: The latest judged searches of a group that are looked at; older ones say little about today's questions.
MAX_LISTS = 20_000
#: Judged searches of one kind, of a user or tenant, from which on weights are learned.
MIN_EVENTS = 1_000
#: Lists in which something was judged better than something else; fewer can't be split into training and proof.
MIN_LISTS = 100
#: A group is trained anew once it has a tenth more judged searches: every try gives chance another one.
_GROWTH = 1.1

Weights = Mapping[str, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Trainers:
    """The trainers of a run, and from how many judged searches on weights are learned."""

    min_events: int = field(default_factory=lambda: MIN_EVENTS)
    weights: SignalWeightTrainer = field(default_factory=SignalWeightTrainer)
    combined: CombinedMemoryTrainer = field(default_factory=CombinedMemoryTrainer)


async def train(
    store: Store,
    context: TenantContext,
    *,
    trainers: Trainers,
    defaults: Mapping[str, Weights],
    now: datetime,
    log: EventLog | None = None,
    book: StrategyBook | None = None,
    policies: PolicyBook | None = None,
) -> TrainReport:
    """Learn from everything recorded so far. `defaults` is the table of strategies; needs the admin role."""
    need_admin(context, "train")
    if log is not None:
        await log.flush()
    async with store.transaction(context) as tx:
        await get_tenant(tx)  # nothing is learned about a tenant that was forgotten
        await tx.execute("hold_learning")
        combined = await trainers.combined.train(tx, now)
    tried: list[Policy] = []
    skipped: list[str] = []
    async with store.transaction(context) as tx:
        await tx.execute("hold_learning")
        for group in await tx.fetch("judged_groups", least=trainers.min_events):
            outcome = await _train_group(tx, group, trainers.weights, defaults, now)
            if isinstance(outcome, Policy):
                tried.append(outcome)
            else:
                skipped.append(outcome)
    if book is not None:
        book.forget(context.tenant_id)
    if policies is not None:
        policies.forget(context.tenant_id)
    utility = combined.utility
    return TrainReport(
        rewarded=utility.rewarded,
        ignored=utility.ignored,
        baseline=round(utility.baseline.value, 4),
        decomposition=combined.decomposition,
        policies=tuple(tried),
        skipped=tuple(skipped),
    )


async def _train_group(
    tx: Transaction,
    group: Row,
    trainer: SignalWeightTrainer,
    defaults: Mapping[str, Weights],
    now: datetime,
) -> Policy | str:
    user, strategy, events = group["user_id"], group["strategy"], group["events"]
    label = f"{strategy} of {user}" if user else strategy
    if strategy not in defaults:
        return f"{label}: no such strategy any more"
    known = await storage.group_policies(tx, user=user, strategy=strategy)
    seen = max((policy.events for policy in known.values()), default=0)
    if events < seen * _GROWTH:
        return f"{label}: {events} judged searches, too few more than the {seen} of the last time"
    lists = read_lists(await tx.fetch("judged_hits", user=user, strategy=strategy, limit=MAX_LISTS))
    if len(lists) < MIN_LISTS:
        return (
            f"{label}: {len(lists)} of {events} judged searches say what was better; {MIN_LISTS} are needed"
        )
    current, since = await _current(tx, known, user, strategy, defaults)
    arms = _arms(
        await tx.fetch("explored_outcomes", user=user, strategy=strategy, since=since, limit=MAX_LISTS)
    )
    verdict = await asyncio.to_thread(trainer.learn, lists, current, arms)
    policy = Policy(
        id=new_id(),
        user_id=user or None,
        strategy=strategy,
        weights=verdict.weights,
        state="active" if verdict.adopted else "candidate",
        events=events,
        evaluation=verdict.document(),
        created_at=now,
    )
    await storage.save_policy(tx, policy)
    return policy


async def _current(
    tx: Transaction,
    known: Mapping[str, Policy],
    user: str,
    strategy: str,
    defaults: Mapping[str, Weights],
) -> tuple[Weights, datetime]:
    """The weights a group is ranked by today, and since when."""
    active = known.get("active")
    if active is None and user:
        active = (await storage.group_policies(tx, user="", strategy=strategy)).get("active")
    if active is None:
        return defaults[strategy], datetime(1970, 1, 1, tzinfo=UTC)
    return active.weights, active.created_at


def read_lists(rows: list[Row]) -> list[JudgedList]:
    """Judged searches as lists of candidates; those in which nothing is better than anything else are left out."""
    lists = []
    for _, grouped in groupby(rows, key=lambda row: row["query_id"]):
        hits = list(grouped)
        # What somebody said of a hit outweighs that it was used or not.
        grades = np.array([h["used"] if h["judged"] is None else h["judged"] for h in hits], dtype=np.float64)
        if grades.max() <= grades.min():
            continue
        first = hits[0]
        # An hour of questions is no session of the caller's own: nothing says that they belong together.
        own = first["session"] and not first["session"].startswith(storage.HOUR)
        cluster = (first["user_id"], first["session"]) if own else first["query_id"]
        lists.append(
            JudgedList(
                np.array([to_array(h["signals"]) for h in hits]),
                np.array([h["place"] for h in hits], dtype=np.float64),
                grades,
                cluster,
            )
        )
    return lists


def _arms(rows: list[Row]) -> list[ArmOutcome]:
    outcomes = []
    for row in rows:
        signal = None if row["arm"] is None else row["arm"].removeprefix("explore/")
        if signal is None or signal in SIGNALS:
            outcomes.append(
                ArmOutcome(
                    signal=signal,
                    propensity=row["propensity"],
                    served=bool(row["served"]),
                    cluster=(row["user_id"], row["session"]),
                )
            )
    return outcomes


def need_admin(context: TenantContext, what: str) -> None:
    """Learning is the admin's business, and nobody else's."""
    if not context.is_admin:
        raise ForbiddenError(f"only an admin may {what}; add 'admin' to the context's roles")


async def learning_status(
    store: Store, context: TenantContext, *, log: EventLog, enabled: bool
) -> LearningStatus:
    """The state of learning in a tenant, as its admin sees it."""
    await log.flush()
    async with store.transaction(context) as tx:
        counts = await tx.fetch("learning_counts")
        policies = await storage.list_policies(tx)
        running = [
            experiment for experiment in await storage.list_experiments(tx) if experiment.state == "running"
        ]
        baseline = await read_baseline(tx)
        counted = await tx.fetch("run_counts")
        decompositions = await storage.list_decompositions(tx)
    outcomes = {row["kind"]: row["rows"] for row in counts if row["what"] == "event"}
    return LearningStatus(
        enabled=enabled,
        events=sum(outcomes.values()),
        judged=outcomes.get("used", 0) + outcomes.get("feedback", 0),
        needed=MIN_EVENTS,
        outcomes=outcomes,
        feedback={row["kind"]: row["rows"] for row in counts if row["what"] == "feedback"},
        pending=sum(row["pending"] for row in counts),
        baseline=round(baseline.value, 4),
        policies=tuple(policies),
        experiment=running[0] if running else None,
        log=log.counts,
        runs=sum(row["runs"] for row in counted),
        decomposition=tuple(decompositions),
    )

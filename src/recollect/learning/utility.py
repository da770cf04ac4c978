"""Which memories are worth recalling: `MemoryUtilityTrainer`; with decomposition in one pass: `CombinedMemoryTrainer`.

Each outcome of a recalled memory is a reward; the tenant's running mean of rewards is the baseline; the memory's
utility moves by the advantage, within -1 and 1 (as Memory-R1 trains what to remember, with a bandit's update in
place of a policy network). Utility and use_count feed the reinforcement signal in `retrieval/rank`.

Whoever may write to a memory's scope moves its utility at once. A reader's outcome waits, and `train`, run by an
admin, applies it. Neither leaves a line in the memory's history nor touches a vector.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any
from uuid import UUID

from recollect.domain.ids import new_id
from recollect.domain.learning import DecompositionReport
from recollect.learning.decomposition import DecompositionConfig, DecompositionTrainer
from recollect.learning.rewards import UTILITY_REWARDS, BaselineEMA, UtilityRewards
from recollect.storage import learning as storage

if TYPE_CHECKING:
    from recollect.storage.store import Transaction

_BATCH = 5_000
_EVER = datetime(1970, 1, 1, tzinfo=UTC)
#: Events are written a moment after they happen; looking back this far finds those that came late. What was
#: applied once is marked, so nothing counts twice.
_LATE = timedelta(hours=1)
#: A search without an outcome may still get one for this long.
IGNORED_AFTER = timedelta(hours=1)


async def read_baseline(tx: Transaction) -> BaselineEMA:
    """The tenant's running mean of rewards."""
    row = await tx.fetch_one("utility_state")
    return BaselineEMA() if row is None else BaselineEMA(value=row["baseline"], count=row["count"])


@dataclass(frozen=True, slots=True, kw_only=True)
class UtilityReport:
    """How many memories' utility moved, how many searches turned out ignored, and the baseline after it."""

    rewarded: int
    ignored: int
    baseline: BaselineEMA


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryUtilityTrainer:
    """Applies the outcomes that no memory has learned from yet, and moves the tenant's baseline."""

    rewards: UtilityRewards = UTILITY_REWARDS

    async def train(self, tx: Transaction, now: datetime) -> UtilityReport:
        """One run, as an admin: a caller with fewer rights would see only its own outcomes."""
        state = await tx.fetch_one("utility_state")
        since: datetime = _EVER if state is None else state["until"]
        baseline = await read_baseline(tx)
        ignored = await tx.execute("mark_ignored", since=since - _LATE, before=now - IGNORED_AFTER)
        moved = await self._apply_feedback(tx, baseline)
        moved |= await self._apply_hits(tx, baseline, since - _LATE)
        for row in await tx.fetch(
            "rewards_since",
            since=since,
            reported=self.rewards.reported,
            assembled=self.rewards.assembled,
            refined=self.rewards.refined,
        ):
            baseline = baseline.update(row["reward"])
        await tx.execute(
            "save_utility_state", id=new_id(), baseline=baseline.value, count=baseline.count, until=now
        )
        return UtilityReport(rewarded=len(moved), ignored=ignored, baseline=baseline)

    async def _apply_feedback(self, tx: Transaction, baseline: BaselineEMA) -> set[UUID]:
        moved: set[UUID] = set()
        while rows := await tx.fetch("pending_feedback", limit=_BATCH):
            moved |= await self._move(tx, baseline, [(row["memory_id"], 0, row["score"]) for row in rows])
            await tx.execute("settle_feedback", ids=[row["feedback_id"] for row in rows])
        return moved

    async def _apply_hits(self, tx: Transaction, baseline: BaselineEMA, since: datetime) -> set[UUID]:
        moved: set[UUID] = set()
        while rows := await tx.fetch("pending_hits", since=since, limit=_BATCH):
            hits = [(row["memory_id"], int(bool(row["used"])), self._reward(row)) for row in rows]
            moved |= await self._move(tx, baseline, hits)
            await storage.settle_hits(tx, [(row["query_id"], row["memory_id"]) for row in rows])
        return moved

    async def _move(
        self, tx: Transaction, baseline: BaselineEMA, outcomes: Sequence[tuple[UUID, int, float]]
    ) -> set[UUID]:
        """Move the utility of memories by their outcomes: a memory, its uses, a reward. Which were moved."""
        sums: dict[UUID, tuple[int, float]] = {}
        for id, uses, reward in outcomes:
            known_uses, known_step = sums.get(id, (0, 0.0))
            sums[id] = known_uses + uses, known_step + self.rewards.step(reward, baseline)
        return set(await storage.reward_memories(tx, sums))

    def _reward(self, row: dict[str, Any]) -> float:
        if not row["used"]:
            return self.rewards.refined
        return self.rewards.reported if row["outcome"] == "used" else self.rewards.assembled


@dataclass(frozen=True, slots=True, kw_only=True)
class CombinedReport:
    """What a pass did to memories' utility, and to the policy."""

    utility: UtilityReport
    decomposition: DecompositionReport


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyState:
    """All that a tenant's training goes on from: the usual reward of a memory, and the decomposition's trainer."""

    utility: BaselineEMA
    decomposition: DecompositionTrainer


@dataclass(frozen=True, slots=True, kw_only=True)
class CombinedMemoryTrainer:
    """Trains utility and decomposition of one tenant, in its transaction."""

    utility: MemoryUtilityTrainer = field(default_factory=MemoryUtilityTrainer)
    decomposition: DecompositionConfig = field(default_factory=DecompositionConfig)

    async def train(self, tx: Transaction, now: datetime) -> CombinedReport:
        """One pass over the outcomes that nothing has learned from yet, as an admin."""
        utility = await self.utility.train(tx, now)
        state = await self.load_policy_state(tx)
        decomposition = await state.decomposition.train_stored(tx, now)
        return CombinedReport(utility=utility, decomposition=decomposition)

    async def load_policy_state(self, tx: Transaction) -> PolicyState:
        """As the last pass in this tenant left it; a new tenant starts from the base."""
        return PolicyState(
            utility=await read_baseline(tx),
            decomposition=await DecompositionTrainer.load(tx, config=self.decomposition),
        )

    async def save_policy_state(self, tx: Transaction, state: PolicyState, now: datetime) -> None:
        """Store a trainer's policy as the one in use, with how its training stands. `train` does so by itself."""
        trainer = state.decomposition
        await trainer.save(
            tx,
            trainer.policy,
            active=True,
            evaluation={"reason": "saved as it was", "mean_reward": round(trainer.state.mean_reward, 5)},
            runs=trainer.state.runs,
            at=now,
        )


#: The name of the design's seventh section.
CombinedTrainer = CombinedMemoryTrainer

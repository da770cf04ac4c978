"""Both halves of learning to remember, in one pass: `CombinedMemoryTrainer`.

`MemoryUtilityTrainer` learns which memories are worth recalling, `DecompositionTrainer` how to find them. The first
comes first: it settles which searches were ignored, and runs are judged by their searches.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING

from recollect.domain.learning import DecompositionReport
from recollect.learning.decomposition import DecompositionConfig, DecompositionTrainer
from recollect.learning.rewards import BaselineEMA
from recollect.learning.utility import MemoryUtilityTrainer, UtilityReport, read_baseline

if TYPE_CHECKING:
    from recollect.storage.store import Transaction

__all__ = ["CombinedMemoryTrainer", "CombinedReport", "CombinedTrainer", "PolicyState"]


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

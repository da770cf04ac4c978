"""Learning before anybody has asked anything: `BootstrapTrainer` trains a policy on synthetic tasks.

Tasks are made from templates over the tenant's own scopes and entities (`bootstrap_tasks`). Each is run several times
by lot, and what went better than the other runs of the same task becomes more likely. Templates that are held out never
train: at the end both policies answer their tasks, and the new one is used only if it isn't worse there. How a
question is run is handed in: this package knows no search.
"""

from __future__ import annotations

import random
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import TYPE_CHECKING
from uuid import UUID

import numpy as np

from recollect import telemetry
from recollect.domain.learning import BootstrapResult
from recollect.domain.trajectory import Trajectory
from recollect.errors import InvalidInputError
from recollect.learning.bootstrap_tasks import (
    TEMPLATES,
    BootstrapTask,
    BootstrapTaskTemplate,
    Material,
    make_tasks,
)
from recollect.learning.decomposition import DecompositionConfig, DecompositionTrainer, TrainingState
from recollect.learning.gradient import Episode
from recollect.learning.policy import DecompositionPolicy
from recollect.learning.rewards import Measured, RewardConfig, Signal, TrainingOutcome, mean
from recollect.learning.runs import decisions_of
from recollect.storage.scopes import get_tenant

if TYPE_CHECKING:
    from recollect.domain.tenancy import TenantContext
    from recollect.storage.store import Store

#: Runs a question with a policy and lots: the ids of the hits, the best first, and the record (None: nothing to read).
Execute = Callable[
    [str, DecompositionPolicy, random.Random], Awaitable[tuple[Sequence[UUID], Trajectory | None]]
]

#: The proportions of `RewardConfig`, scaled to add up to 1: among complete answers the cheaper one still wins, where
#: the sum of the two would be cut off at 1.
_SHARES = RewardConfig()
SUCCESS = _SHARES.success_weight / (_SHARES.success_weight + _SHARES.efficiency_weight)
#: So many times what the policy in use reads for a task is the most that a run can waste.
_WASTE = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class BootstrapConfig:
    """How much is tried. An iteration runs `tasks` questions `rollouts` times each."""

    multiplier: int = 20
    tasks: int = 12
    rollouts: int = 4
    #: The least share of choices drawn by lot: a policy that no longer varies no longer learns.
    exploration: float = 0.5
    decomposition: DecompositionConfig = field(default_factory=DecompositionConfig)


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """One run of a task: how complete its answer was, and what it cost."""

    task: BootstrapTask
    quality: float
    reward: float
    subcalls: int
    tokens: int
    episode: Episode


class BootstrapTrainer:
    """Trains a tenant's policy on tasks made from its own memories. The same seed gives the same tasks and lots."""

    def __init__(
        self,
        store: Store,
        execute: Execute,
        *,
        templates: Sequence[BootstrapTaskTemplate] = TEMPLATES,
        config: BootstrapConfig | None = None,
        seed: int = 0,
        clock: Callable[[], datetime],
    ) -> None:
        self._store = store
        self._execute = execute
        self._templates = tuple(templates)
        self._config = config or BootstrapConfig()
        self._rng = random.Random(seed)  # noqa: S311 - lots, not secrets
        self._clock = clock
        self.reward = RewardConfig()

    async def generate_bootstrap_tasks(
        self, templates: Sequence[BootstrapTaskTemplate], tenant: TenantContext, multiplier: int
    ) -> list[BootstrapTask]:
        """Up to `multiplier` tasks of each template, from what the tenant's memories speak of."""
        if multiplier < 1:
            raise InvalidInputError(
                f"multiplier {multiplier!r} is below 1; ask for at least one task of each"
            )
        async with self._store.transaction(tenant) as tx:
            await get_tenant(tx)
            material = await Material.read(tx, self._clock())
        return make_tasks(templates, material, multiplier, self._rng)

    async def bootstrap(self, tenant: TenantContext, iterations: int) -> BootstrapResult:
        """Train, compare on templates that did not train, and use the new policy if it isn't worse."""
        training = [template for template in self._templates if not template.held_out]
        testing = [template for template in self._templates if template.held_out]
        tasks = await self.generate_bootstrap_tasks(training, tenant, self._config.multiplier)
        held_out = await self.generate_bootstrap_tasks(testing, tenant, self._config.multiplier)
        async with self._store.transaction(tenant) as tx:
            trainer = await DecompositionTrainer.load(tx, config=self._config.decomposition)
        before = trainer.policy
        await self.measure(before, tasks)
        if not tasks or not held_out:
            return _nothing(len(tasks), "the memories name too little to make tasks of; add more of them")
        curve = await self.train(trainer, tasks, iterations)
        old = await self.evaluate(before, held_out)
        new = await self.evaluate(trainer.policy, held_out)
        gain = compare_trials(old, new)
        # Of one task nothing can be said; a reward lies between -1 and 1, so no gain is beyond these.
        low, high = (min(max(end, -2.0), 2.0) for end in gain.interval())
        # As with runs of real questions: it must not be worse, and a small doubt is allowed.
        adopted = gain.value >= 0 and gain.interval(1.28)[0] >= -self._config.decomposition.gate.margin
        reason = f"{gain.value:+.3f} on {len(held_out)} tasks of other templates"
        result = BootstrapResult(
            tasks=len(tasks),
            held_out=len(held_out),
            iterations=iterations,
            runs=len(curve) * self._config.tasks * self._config.rollouts,
            curve=tuple(round(value, 4) for value in curve),
            reward_before=_average(trial.reward for trial in old),
            reward_after=_average(trial.reward for trial in new),
            gain=round(gain.value, 4),
            gain_low=round(low, 4),
            gain_high=round(high, 4),
            subcalls_before=_average(trial.subcalls for trial in old),
            subcalls_after=_average(trial.subcalls for trial in new),
            adopted=adopted,
            reason=reason,
        )
        async with self._store.transaction(tenant) as tx:
            await get_tenant(tx)
            await tx.execute("hold_learning")
            proof = {"reason": f"synthetic tasks: {reason}", "gain": result.gain, "gain_low": result.gain_low}
            await trainer.save(
                tx, trainer.policy, active=adopted, evaluation=proof, runs=result.runs, at=self._clock()
            )
        return result

    async def measure(self, policy: DecompositionPolicy, tasks: Sequence[BootstrapTask]) -> RewardConfig:
        """See what tasks cost with a policy, and rate runs by that from now on."""
        some = tasks[:: max(len(tasks) // 40, 1)]
        tokens = [trial.tokens for trial in await self.evaluate(policy, some)]
        self.reward = RewardConfig(
            success_weight=SUCCESS,
            efficiency_weight=1.0 - SUCCESS,
            token_ceiling=max(int(_WASTE * sum(tokens) / max(len(tokens), 1)), 1),
        )
        return self.reward

    async def train(
        self, trainer: DecompositionTrainer, tasks: Sequence[BootstrapTask], iterations: int
    ) -> list[float]:
        """Improve a trainer's policy on tasks; returns the mean reward of each iteration's runs."""
        config, curve = self._config, []
        for _ in range(iterations):
            chosen = [self._rng.choice(tasks) for _ in range(config.tasks)]
            rate = max(trainer.state.exploration_rate, config.exploration)
            policy = trainer.policy.exploring(rate)
            trials = []
            for number, task in enumerate(chosen):
                for _ in range(config.rollouts):
                    trial = await self.attempt(task, policy)
                    trials.append(replace(trial.episode, group=number))
            step = trainer.learn(trials)
            curve.append(step.mean_reward)
            telemetry.trained(step.mean_reward, trainer.state.exploration_rate)
        return curve

    async def evaluate(self, policy: DecompositionPolicy, tasks: Sequence[BootstrapTask]) -> list[Trial]:
        """Every task once, with the best choices of a policy."""
        return [await self.attempt(task, policy.exploring(0.0)) for task in tasks]

    async def attempt(self, task: BootstrapTask, policy: DecompositionPolicy) -> Trial:
        """One run of a task."""
        lots = random.Random(self._rng.getrandbits(64))  # noqa: S311 - lots, not secrets
        ids, trajectory = await self._execute(task.query, policy, lots)
        quality = task.quality(ids)
        tokens = 0 if trajectory is None else trajectory.usage.tokens
        outcome = TrainingOutcome(signal=Signal.RESULT_USED, quality_score=quality)
        reward = self.reward.compute(outcome, tokens_used=tokens)
        decisions = () if trajectory is None else tuple(decisions_of(trajectory))
        return Trial(
            task=task,
            quality=quality,
            reward=reward,
            subcalls=0 if trajectory is None else trajectory.usage.subcalls,
            tokens=tokens,
            episode=Episode(decisions=decisions, reward=reward),
        )


def compare_trials(before: Sequence[Trial], after: Sequence[Trial]) -> Measured:
    """How much more reward the same tasks brought, task by task."""
    return mean(np.array([new.reward - old.reward for old, new in zip(before, after, strict=True)]))


def fresh_trainer(policy: DecompositionPolicy, config: BootstrapConfig) -> DecompositionTrainer:
    """A trainer that starts from a policy and knows nothing else; for benchmarks and the base."""
    return DecompositionTrainer(policy, TrainingState(), config=config.decomposition)


def _average(values: Iterable[float]) -> float:
    numbers = list(values)
    return round(sum(numbers) / len(numbers), 4) if numbers else 0.0


def _nothing(tasks: int, reason: str) -> BootstrapResult:
    return BootstrapResult(tasks=tasks, held_out=0, iterations=0, adopted=False, reason=reason)

"""Learning how to decompose questions: `DecompositionTrainer`.

It holds a tenant's policy and how its training stands (baseline, rate of exploration, counts), takes outcomes, and
learns from runs whose outcome says something: at least `min_batch` of them at once, none without a signal. The
arithmetic is in `gradient`, the templates and features are the environment's. What is learned in one tenant is stored
there and used there alone; `policies.PolicyBook` gives it to searches.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any
from uuid import UUID

import numpy as np

from recollect import telemetry
from recollect.domain.codec import decode_fields, encode_fields
from recollect.domain.ids import new_id
from recollect.domain.learning import DecompositionReport, RunOutcome
from recollect.domain.trajectory import Trajectory
from recollect.errors import InvalidInputError, NotFoundError
from recollect.learning.gradient import (
    Episode,
    GateConfig,
    GradientConfig,
    PolicyVerdict,
    expected_rewards,
    improve,
    judge,
)
from recollect.learning.policy import DecompositionPolicy, Options, base_policy
from recollect.learning.rewards import BaselineEMA, RewardConfig, TrainingOutcome, split
from recollect.learning.runs import MEMORY, decisions_of, outcome_of, read_decisions
from recollect.storage.learning import to_json
from recollect.storage.rows import from_row

if TYPE_CHECKING:
    from recollect.storage.store import Row, Transaction

#: Fewer runs than this say more about chance than about a policy.
MIN_BATCH = 20
#: The latest runs that are looked at.
MAX_RUNS = 5_000
#: A context may still be judged, a search still be refined: weak outcomes wait for so long.
SETTLED_AFTER = timedelta(hours=1)
#: After a policy was turned down it is tried again with a tenth more runs: every try gives chance another one.
_GROWTH = 1.1


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingState:
    """How the training of a tenant stands. The rate of exploration falls with every training."""

    baseline: BaselineEMA = field(default_factory=lambda: BaselineEMA(limit=1.0))
    exploration_rate: float = 1.0
    trainings: int = 0
    runs: int = 0
    mean_reward: float = 0.0
    #: Runs that were looked at when a policy was turned down last; 0 after one was adopted.
    turned_down_at: int = 0

    def document(self) -> dict[str, Any]:
        """As JSON; of the baseline its value and count."""
        kept = {"baseline": self.baseline.value, "count": self.baseline.count}
        return {**kept, **encode_fields(self, without={"baseline"})}

    @classmethod
    def read(cls, document: Mapping[str, Any]) -> TrainingState:
        """From JSON; what is missing is as at the start."""
        count, value = document.get("count", 0), document.get("baseline", 0.0)
        state: TrainingState = decode_fields(
            cls, document, baseline=BaselineEMA(limit=1.0, value=value, count=count)
        )
        return state


@dataclass(frozen=True, slots=True, kw_only=True)
class DecompositionConfig:
    """What a trainer goes by."""

    reward: RewardConfig = field(default_factory=RewardConfig)
    gradient: GradientConfig = field(default_factory=GradientConfig)
    gate: GateConfig = field(default_factory=GateConfig)
    min_batch: int = MIN_BATCH
    held_out: float = 0.4
    exploration_decay: float = 0.95
    min_exploration: float = 0.05


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingStep:
    """What one batch did: runs with a signal, their mean reward; `policy` is the one after it."""

    policy: DecompositionPolicy
    runs: int
    mean_reward: float
    trained: bool


class DecompositionTrainer:
    """Learns a policy from runs and their outcomes, for one tenant."""

    def __init__(
        self,
        policy: DecompositionPolicy | None = None,
        state: TrainingState | None = None,
        *,
        config: DecompositionConfig | None = None,
    ) -> None:
        self.policy = policy or base_policy()
        self.state = state or TrainingState()
        self.config = config or DecompositionConfig()
        self._outcomes: dict[UUID, TrainingOutcome] = {}

    # Choosing and learning, without a store ---------------------------------------------------------

    def select_action(self, options: Options, rng: random.Random) -> tuple[str, float]:
        """Draw a template as training explores, with the probability it had."""
        return self.policy.exploring(self.state.exploration_rate).draw(options, rng)

    def record_outcome(self, trajectory_id: UUID, outcome: TrainingOutcome) -> None:
        """Say what came of a run; `train` learns from it."""
        self._outcomes[trajectory_id] = outcome

    def train(
        self, trajectories: Sequence[Trajectory], *, groups: Mapping[UUID, object] | None = None
    ) -> TrainingStep:
        """Learn from the runs whose outcome was recorded and says something; too few of them train nothing.

        `groups` names the task of a run, where several runs did the same one.
        """
        episodes, used = [], []
        for trajectory in trajectories:
            outcome = self._outcomes.get(trajectory.id)
            if outcome is None or not outcome.trains:
                continue
            reward = self.config.reward.compute(outcome, tokens_used=trajectory.usage.tokens)
            decisions = tuple(decisions_of(trajectory))
            group = None if groups is None else groups.get(trajectory.id)
            episodes.append(Episode(decisions=decisions, reward=reward, group=group))
            used.append(trajectory.id)
        step = self.learn(episodes)
        if step.trained:
            for id in used:
                del self._outcomes[id]
        return step

    def learn(self, episodes: Sequence[Episode]) -> TrainingStep:
        """One batch of rewarded runs: moves the policy, the baseline and the rate of exploration."""
        mean = float(np.mean([episode.reward for episode in episodes])) if episodes else 0.0
        if len(episodes) < self.config.min_batch:
            return TrainingStep(policy=self.policy, runs=len(episodes), mean_reward=mean, trained=False)
        self.policy = self._improved(episodes)
        self._advance(episodes, mean)
        return TrainingStep(policy=self.policy, runs=len(episodes), mean_reward=mean, trained=True)

    def _improved(self, episodes: Sequence[Episode]) -> DecompositionPolicy:
        # Before the first training nothing is usual yet: the batch itself is.
        known = self.state.baseline
        usual = known.value if known.count else float(np.mean([episode.reward for episode in episodes]))
        return improve(self.policy, episodes, baseline=usual, config=self.config.gradient)

    def _advance(self, episodes: Sequence[Episode], mean: float) -> None:
        baseline = self.state.baseline
        for episode in episodes:
            baseline = baseline.update(episode.reward)
        self.state = replace(
            self.state,
            baseline=baseline,
            exploration_rate=self._explored_less(),
            trainings=self.state.trainings + 1,
            runs=self.state.runs + len(episodes),
            mean_reward=mean,
            turned_down_at=0,
        )

    def _explored_less(self) -> float:
        return max(self.state.exploration_rate * self.config.exploration_decay, self.config.min_exploration)

    # With a store -----------------------------------------------------------------------------------

    @classmethod
    async def load(
        cls, tx: Transaction, *, config: DecompositionConfig | None = None
    ) -> DecompositionTrainer:
        """As the tenant's last training left it; a tenant without one starts from the base."""
        row = await tx.get_row("decomposition_policy", environment=MEMORY)
        state = TrainingState() if row["training"] is None else TrainingState.read(row["training"])
        return cls(read_active(row), state, config=config)

    async def save(
        self,
        tx: Transaction,
        policy: DecompositionPolicy,
        *,
        active: bool,
        evaluation: Mapping[str, Any],
        runs: int,
        at: datetime,
    ) -> DecompositionPolicy:
        """Store a policy, to be used or only to be looked at, and how training stands."""
        id = new_id()
        named = replace(policy, name=str(id))
        # A candidate replaces the last candidate, an active policy replaces both.
        states = ["candidate", "active"] if active else ["candidate"]
        await tx.execute("retire_decomposition", environment=MEMORY, states=states)
        await tx.execute(
            "insert_decomposition",
            id=id,
            environment=MEMORY,
            weights=to_json(named.document()),
            evaluation=to_json(evaluation),
            events=runs,
            state=states[-1],
            at=at,
        )
        await tx.execute(
            "save_decomposition_state",
            id=new_id(),
            environment=MEMORY,
            training=to_json(self.state.document()),
            events=self.state.runs,
        )
        if active:
            self.policy = named
        return named

    async def train_stored(self, tx: Transaction, now: datetime) -> DecompositionReport:
        """Learn from the runs that the store has outcomes of, as an admin. A policy that may be worse is not used."""
        latest = await tx.fetch(
            "pending_runs", environment=MEMORY, settled=now - SETTLED_AFTER, limit=MAX_RUNS
        )
        rated = [
            (row, outcome)
            for row in reversed(latest)
            if (outcome := outcome_of(from_row(RunOutcome, row))).trains
        ]
        episodes = [self._episode(row, outcome) for row, outcome in rated]
        telling = [episode for episode in episodes if episode.decisions]
        needed = max(self.config.min_batch, int(self.state.turned_down_at * _GROWTH))
        mean = float(np.mean([episode.reward for episode in telling])) if telling else 0.0
        report = DecompositionReport(
            environment=MEMORY,
            runs=len(telling),
            needed=needed,
            mean_reward=mean,
            exploration_rate=self.state.exploration_rate,
            adopted=False,
            reason=f"{len(telling)} runs with an outcome; {needed} are needed",
        )
        if len(telling) < needed:
            return report
        candidate, verdict = self._tried(telling)
        if verdict.adopted:
            self._advance(telling, mean)
        else:
            self.state = replace(
                self.state,
                exploration_rate=self._explored_less(),
                trainings=self.state.trainings + 1,
                mean_reward=mean,
                turned_down_at=len(telling),
            )
        for episode in telling:
            telemetry.trained(episode.reward, self.state.exploration_rate)
        proof = {**verdict.document(), "runs": len(telling), "mean_reward": round(mean, 5)}
        await self.save(tx, candidate, active=verdict.adopted, evaluation=proof, runs=len(telling), at=now)
        # What a policy that is not used yet learned from stays: with more runs it may prove itself.
        settled = [
            {
                "run_id": row["run_id"],
                "reward": round(episode.reward, 5),
                "outcome": outcome.signal.value,
                "quality": round(outcome.quality_score, 5),
            }
            for (row, outcome), episode in zip(rated, episodes, strict=True)
        ]
        await tx.execute("settle_runs", runs=to_json(settled), trained=verdict.adopted)
        rate = self.state.exploration_rate
        return replace(report, exploration_rate=rate, adopted=verdict.adopted, reason=verdict.reason)

    def _tried(self, episodes: Sequence[Episode]) -> tuple[DecompositionPolicy, PolicyVerdict]:
        """A policy from the earlier runs, judged by the later ones."""
        train, test = split(episodes, self.config.held_out)
        candidate = self._improved(train)
        verdict = judge(
            test, candidate, self.policy, expected=expected_rewards(train, test), config=self.config.gate
        )
        return candidate, verdict

    def _episode(self, row: Row, outcome: TrainingOutcome) -> Episode:
        return Episode(
            decisions=tuple(read_decisions(row["trajectory"])),
            reward=self.config.reward.compute(outcome, tokens_used=row["tokens"]),
            cluster=(row["user_id"], row["session"]) if row["session"] else row["run_id"],
        )


def read_active(row: Row) -> DecompositionPolicy:
    """The tenant's own policy, else the base; one that can't be read counts as none."""
    active = row["active"]
    if active is None:
        return base_policy()
    try:
        return replace(DecompositionPolicy.read(active["policy"]), name=str(active["id"]))
    except InvalidInputError:
        return base_policy()


async def record_outcome(tx: Transaction, run_id: UUID, outcome: TrainingOutcome) -> None:
    """Say what came of a stored run, where no search knows it."""
    quality = outcome.quality_score
    if not await tx.execute("record_run_outcome", run=run_id, outcome=outcome.signal.value, quality=quality):
        raise NotFoundError(f"no run {run_id} of this caller is recorded; see `recollect learning runs`")

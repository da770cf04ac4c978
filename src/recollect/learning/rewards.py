"""What an outcome is worth, and what it is compared with.

Pure: no store, no clock. Two kinds of reward live here. `RewardConfig` rates a whole search or run by its outcome
and its cost, between -1 and 1. `UtilityRewards` rates one recalled memory. Both are only ever given for something
that somebody did with a result: having been returned is worth nothing, and an outcome without a signal trains
nothing. `BaselineEMA` is the running mean that turns a reward into an advantage.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum


def clamp(value: float, low: float = -1.0, high: float = 1.0) -> float:
    """The value, or the nearer end of the range."""
    return min(max(value, low), high)


class Signal(StrEnum):
    """What became of a result."""

    RESULT_USED = "result_used"
    RESULT_IGNORED = "result_ignored"
    QUERY_REFINED = "query_refined"
    NO_SIGNAL = "no_signal"


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingOutcome:
    """What became of a search or run. `quality_score` counts only where a result was used.

    A refined query is known by the fact alone: neither of the two texts is kept.
    """

    signal: Signal
    quality_score: float = 1.0

    @property
    def trains(self) -> bool:
        """Whether anything may be learned from it."""
        return self.signal is not Signal.NO_SIGNAL


@dataclass(frozen=True, slots=True, kw_only=True)
class RewardConfig:
    """How success and cost add up to the reward of a search or run."""

    success_weight: float = 1.0
    efficiency_weight: float = 0.3
    refined_success: float = 0.3
    ignored_success: float = -0.5
    #: So many tokens count as the most a run can waste.
    token_ceiling: int = 100_000

    def compute(self, outcome: TrainingOutcome, *, tokens_used: int = 0) -> float:
        """The reward, between -1 and 1. Look at `outcome.trains` first: no signal still costs its tokens."""
        success = {
            Signal.RESULT_USED: outcome.quality_score,
            Signal.QUERY_REFINED: self.refined_success,
            Signal.RESULT_IGNORED: self.ignored_success,
            Signal.NO_SIGNAL: 0.0,
        }[outcome.signal]
        efficiency = 1.0 - min(max(tokens_used, 0) / self.token_ceiling, 1.0)
        return clamp(self.success_weight * success + self.efficiency_weight * efficiency)


@dataclass(frozen=True, slots=True, kw_only=True)
class BaselineEMA:
    """An exponential moving average of rewards. Starts as a plain mean, so that the first reward does not rule.

    It stays within +-`limit`: whatever a tenant is used to, praise keeps being worth something and so does blame.
    """

    value: float = 0.0
    count: int = 0
    decay: float = 0.99
    limit: float = 0.5

    def update(self, reward: float) -> BaselineEMA:
        """The average with one more reward in it."""
        step = max(1.0 - self.decay, 1.0 / (self.count + 1))
        moved = clamp(self.value + step * (reward - self.value), -self.limit, self.limit)
        return replace(self, value=moved, count=self.count + 1)

    def advantage(self, reward: float) -> float:
        """How much better than usual; never of the other sign than the reward.

        Without that, a memory that served would lose utility wherever others serve even better.
        """
        difference = reward - self.value
        return max(difference, 0.0) if reward > 0 else min(difference, 0.0) if reward < 0 else 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class UtilityRewards:
    """What an outcome is worth to one recalled memory. Explicit feedback counts with its own score."""

    #: The caller said that the memory served its answer.
    reported: float = 0.5
    #: Recollect put it into a context. Little: nobody judged it, and the baseline soon takes it back.
    assembled: float = 0.1
    #: A better question followed at once, and this memory had been shown and not used.
    refined: float = -0.1
    learning_rate: float = 0.1

    def step(self, reward: float, baseline: BaselineEMA) -> float:
        """How far a memory's utility moves; the store clamps the sum to -1 and 1."""
        return self.learning_rate * baseline.advantage(reward)


UTILITY_REWARDS = UtilityRewards()

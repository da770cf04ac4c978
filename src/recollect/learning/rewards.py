"""What an outcome is worth, and what a policy would have been worth from what another one logged.

Pure: no store, no clock. Two kinds of reward live here. `RewardConfig` rates a whole search or run by its outcome
and its cost, between -1 and 1. `UtilityRewards` rates one recalled memory. Both are only ever given for something
that somebody did with a result: having been returned is worth nothing, and an outcome without a signal trains
nothing. `BaselineEMA` is the running mean that turns a reward into an advantage.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray


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


Array = NDArray[np.float64]

#: How fast attention fades with the place in a list: 1 / place ** 0.5. Readers of memories are mostly agents, which
#: read all they are given; web users, for whom 1.0 is usual, do not.
ATTENTION_DECAY = 0.5
#: No grade counts more than five times another one because of its place: variance would eat the gain.
_MIN_EXAMINATION = 0.2
#: Likewise for arms drawn with a tiny probability.
MAX_WEIGHT = 50.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """A mean with its standard error. `clusters` is how many independent groups it stands on."""

    value: float
    error: float
    count: int
    clusters: int

    def interval(self, z: float = 1.96) -> tuple[float, float]:
        """Lower and upper bound; the normal quantile z is widened to Student's for few clusters."""
        if self.clusters < 2:
            return -math.inf, math.inf
        reach = student(z, self.clusters - 1) * self.error
        return self.value - reach, self.value + reach


def student(z: float, freedom: int) -> float:
    """Student's t quantile for a normal quantile (Cornish-Fisher, good to 1 % from four degrees of freedom on)."""
    return (
        z
        + (z**3 + z) / (4 * freedom)
        + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * freedom**2)
        + (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / (384 * freedom**3)
    )


def ratio(numerators: Array, denominators: Array, clusters: Sequence[object] | None = None) -> Measured:
    """The ratio of two sums, with a cluster-robust standard error (linearised)."""
    total = float(denominators.sum())
    if len(numerators) == 0 or total <= 0:
        return Measured(value=0.0, error=math.inf, count=0, clusters=0)
    value = float(numerators.sum()) / total
    residuals = numerators - value * denominators
    if clusters is not None:
        numbers: dict[object, int] = {}
        places = np.array([numbers.setdefault(key, len(numbers)) for key in clusters])
        residuals = np.bincount(places, weights=residuals, minlength=len(numbers)).astype(np.float64)
    groups = len(residuals)
    if groups < 2:
        return Measured(value=value, error=math.inf, count=len(numerators), clusters=groups)
    error = math.sqrt(groups / (groups - 1) * float(np.square(residuals).sum())) / total
    return Measured(value=value, error=error, count=len(numerators), clusters=groups)


def mean(values: Array, clusters: Sequence[object] | None = None) -> Measured:
    """A plain mean with a cluster-robust standard error."""
    return ratio(values, np.ones(len(values)), clusters)


def snips(rewards: Array, logged: Array, target: Array, clusters: Sequence[object] | None = None) -> Measured:
    """What a target policy would have been worth on what another one logged, self-normalised.

    A little biased for few events, but never outside the range of the rewards.
    """
    if np.any(logged <= 0):
        raise ValueError("a logged propensity is not above 0")
    weights = np.minimum(target / logged, MAX_WEIGHT)
    return ratio(weights * rewards, weights, clusters)


def snips_gain(
    rewards: Array, current: Array, target: Array, clusters: Sequence[object] | None = None
) -> Measured:
    """How much better a target policy does than the current one, both self-normalised, on the same events.

    `current` and `target` are importance weights. The error is that of the difference (linearised): what both
    policies share cancels out.
    """
    if len(rewards) == 0 or current.sum() <= 0 or target.sum() <= 0:
        return Measured(value=0.0, error=math.inf, count=0, clusters=0)
    values = [float(weights @ rewards) / float(weights.sum()) for weights in (current, target)]
    parts = [
        weights * (rewards - value) / weights.mean()
        for weights, value in zip((current, target), values, strict=True)
    ]
    spread = mean(parts[1] - parts[0], clusters)
    return Measured(
        value=values[1] - values[0], error=spread.error, count=spread.count, clusters=spread.clusters
    )


def effective(weights: Array) -> float:
    """How many events of equal weight would say as much."""
    total = float(np.square(weights).sum())
    return float(weights.sum()) ** 2 / total if total > 0 else 0.0


def examination(places: Array) -> Array:
    """How likely somebody looked at a place of a list (1 is the first)."""
    seen: Array = np.maximum(np.maximum(places, 1.0) ** -ATTENTION_DECAY, _MIN_EXAMINATION)
    return seen


@dataclass(frozen=True, slots=True)
class JudgedList:
    """A logged list: a row of signals, a place and a grade (-1..1) per candidate, and the cluster it belongs to."""

    signals: Array
    places: Array
    grades: Array
    cluster: object

    @property
    def gains(self) -> Array:
        """Grades, as if everybody had looked at every place."""
        return self.grades / examination(self.places)


def ranking_values(lists: Sequence[JudgedList], weights: Array) -> Array:
    """What each logged list is worth in the order that the weights give it: 1 at best, -1 at worst."""
    values = np.zeros(len(lists))
    for number, judged in enumerate(lists):
        # Equal scores stay in the logged order, whatever the weights.
        order = np.lexsort((judged.places, -np.round(judged.signals @ weights, 9)))
        gains = judged.gains[order]
        worth = float(np.abs(gains).sum())
        if worth > 0:
            values[number] = float(gains @ (1.0 / np.log2(np.arange(len(gains)) + 2.0))) / worth
    return values


def compare_rankings(lists: Sequence[JudgedList], candidate: Array, current: Array) -> Measured:
    """How much better the candidate orders the logged lists than the current weights do, list by list."""
    difference = ranking_values(lists, candidate) - ranking_values(lists, current)
    return mean(difference, [judged.cluster for judged in lists])


class _Clustered(Protocol):
    @property
    def cluster(self) -> object: ...


C = TypeVar("C", bound=_Clustered)


def split(logged: Sequence[C], held_out: float) -> tuple[list[C], list[C]]:
    """The earlier events for training, the later ones for the proof; no cluster is in both, and None is none."""
    first: dict[object, int] = {}
    starts = [
        place if item.cluster is None else first.setdefault(item.cluster, place)
        for place, item in enumerate(logged)
    ]
    order = sorted(range(len(logged)), key=starts.__getitem__)
    border = int(len(order) * (1 - held_out))
    while 0 < border < len(order) and starts[order[border]] == starts[order[border - 1]]:
        border += 1
    return [logged[place] for place in order[:border]], [logged[place] for place in order[border:]]


def digits(value: float) -> float | None:
    """A number for a report; None for one that is not finite."""
    return round(value, 5) if np.isfinite(value) else None

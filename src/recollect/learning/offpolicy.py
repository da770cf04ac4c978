"""What a policy would have been worth, from what another one logged.

Pure numpy: no store, no names of signals. Two families:

- estimators over arms (`ips`, `snips`, `doubly_robust`): every logged action was drawn with a known probability, and
  the target policy would have drawn it with another;
- the ranking estimator (`ranking_values`): a logged list of candidates with grades is put into the order a new
  scoring gives it. A grade is worth 1 / log2(1 + rank); grades seen far down the logged list count more, because
  fewer people look there (`examination`).

Every mean comes with an interval that is honest about repeats: questions of one session or user are not independent,
so residuals are summed by cluster first. What no estimator here can see: memories that were never shown. Limits are
written down in docs/learning.md.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

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


def importance(logged: Array, target: Array, *, clip: float = MAX_WEIGHT) -> Array:
    """How often the target policy would have done what the logging one did, relative to it."""
    if np.any(logged <= 0):
        raise ValueError("a logged propensity is not above 0")
    clipped: Array = np.minimum(target / logged, clip)
    return clipped


def ips(rewards: Array, logged: Array, target: Array, clusters: Sequence[object] | None = None) -> Measured:
    """Inverse propensity scoring: unbiased while no weight is clipped, and noisy."""
    return mean(importance(logged, target) * rewards, clusters)


def snips(rewards: Array, logged: Array, target: Array, clusters: Sequence[object] | None = None) -> Measured:
    """Self-normalised: a little biased for few events, much less noisy, and never outside the rewards' range."""
    weights = importance(logged, target)
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


def doubly_robust(
    rewards: Array,
    logged: Array,
    target: Array,
    *,
    predicted: Array,
    expected: Array,
    clusters: Sequence[object] | None = None,
) -> Measured:
    """A model of rewards, corrected where it was wrong: unbiased when the propensities or the model are right.

    `predicted` is what the model says of the logged actions, `expected` of what the target policy would do.
    """
    return mean(expected + importance(logged, target) * (rewards - predicted), clusters)


def examination(places: Array, decay: float = ATTENTION_DECAY) -> Array:
    """How likely somebody looked at a place of a list (1 is the first)."""
    seen: Array = np.maximum(np.maximum(places, 1.0) ** -decay, _MIN_EXAMINATION)
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
    for number, one in enumerate(lists):
        # Equal scores stay in the logged order, whatever the weights.
        order = np.lexsort((one.places, -np.round(one.signals @ weights, 9)))
        gains = one.gains[order]
        worth = float(np.abs(gains).sum())
        if worth > 0:
            values[number] = float(gains @ (1.0 / np.log2(np.arange(len(gains)) + 2.0))) / worth
    return values


def compare_rankings(lists: Sequence[JudgedList], candidate: Array, current: Array) -> Measured:
    """How much better the candidate orders the logged lists than the current weights do, list by list."""
    difference = ranking_values(lists, candidate) - ranking_values(lists, current)
    return mean(difference, [one.cluster for one in lists])

"""How much each signal shall count: `SignalWeightTrainer`.

Pairwise logistic regression on logged lists: what was used should score above what was shown and not used. The
weights stay on the simplex (not negative, adding up to 1), each within bounds, and are drawn towards the weights in
use the fewer lists there are. The first lists in time train; the last ones, kept apart, decide: the new weights are
adopted only if even the lower bound of their gain there is above zero, and if no randomised ranking speaks against
them. Pure numpy; `training` brings the lists and stores the verdict.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from recollect.domain.learning import EXPLORE_TILT
from recollect.domain.query import SIGNALS
from recollect.learning.rewards import (
    Array,
    JudgedList,
    Measured,
    compare_rankings,
    digits,
    examination,
    ranking_values,
    snips,
    split,
)


def to_array(weights: Mapping[str, float]) -> Array:
    """Weights in the order of `SIGNALS`; a missing one is 0."""
    return np.array([float(weights.get(name, 0.0)) for name in SIGNALS])


def to_weights(values: Array) -> dict[str, float]:
    """Weights by name, in four digits, still adding up to 1."""
    rounded = [round(float(value), 4) for value in values]
    largest = int(np.argmax(values))
    rounded[largest] = round(1.0 - sum(rounded[:largest] + rounded[largest + 1 :]), 4)
    return dict(zip(SIGNALS, rounded, strict=True))


#: No signal is ever switched off by what was logged. The content keeps at least a fifth, and no other signal gets
#: more than twice as much: beyond that, `rank` would cut it off, and the replay would no longer be what it does.
LOW = np.array([0.20, 0.02, 0.02, 0.02, 0.02])
HIGH = np.array([0.80, 0.40, 0.40, 0.40, 0.40])


def project(values: Array) -> Array:
    """The nearest weights that add up to 1, each between `LOW` and `HIGH`."""
    below, above = float(values.min() - HIGH.max()) - 1.0, float(values.max() - LOW.min()) + 1.0
    for _ in range(100):
        shift = (below + above) / 2
        if np.clip(values - shift, LOW, HIGH).sum() > 1.0:
            below = shift
        else:
            above = shift
    nearest: Array = np.clip(values - (below + above) / 2, LOW, HIGH)
    return nearest


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What a training came to. `gain` is measured on lists that did not train."""

    weights: Mapping[str, float]
    adopted: bool
    reason: str
    gain: Measured
    low: float
    value: float
    current_value: float
    trained_on: int
    explored: Measured | None = None

    def document(self) -> dict[str, object]:
        """The proof as it is stored."""
        explored = self.explored
        return {
            "reason": self.reason,
            "gain": digits(self.gain.value),
            "gain_low": digits(self.low),
            "value": digits(self.value),
            "current_value": digits(self.current_value),
            "trained_on": self.trained_on,
            "tested_on": self.gain.count,
            "sessions": self.gain.clusters,
            "explored_gain": None if explored is None else digits(explored.value),
            "explored_high": None if explored is None else digits(explored.interval()[1]),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class SignalWeightTrainer:
    """Learns signal weights from judged lists, and judges them itself."""

    #: A difference of 0.1 between two weighted sums makes the better one 2.7 times as likely.
    sharpness: float = 10.0
    #: As if so many lists had spoken for the weights in use.
    prior_lists: float = 300.0
    held_out: float = 0.3
    #: One-sided 99 %: training is repeated, and each time chance has another try.
    confidence_z: float = 2.33
    #: A gain smaller than this is not worth another order of results for everybody.
    min_gain: float = 0.002
    steps: int = 300

    def fit(self, lists: Sequence[JudgedList], start: Array) -> Array:
        """The weights that order the lists best, not too far from the start."""
        begun = project(start)
        differences, counts = _pairs(lists)
        if len(differences) == 0:
            return begun
        pull = self.prior_lists / len(lists)
        weights = begun
        rate = 0.1
        loss = self._loss(weights, begun, differences, counts, pull)
        for _ in range(self.steps):
            margins = np.clip(self.sharpness * (differences @ weights), -500, 500)
            slope = -self.sharpness * (counts / (1.0 + np.exp(margins))) @ differences
            slope += pull * (weights - begun)
            moved = project(weights - rate * slope)
            tried = self._loss(moved, begun, differences, counts, pull)
            if tried > loss:
                rate /= 2
                continue
            if float(np.abs(moved - weights).max()) < 1e-7:
                break
            weights, loss, rate = moved, tried, rate * 1.2
        return weights

    def _loss(self, weights: Array, begun: Array, differences: Array, counts: Array, pull: float) -> float:
        margins = self.sharpness * (differences @ weights)
        return float(counts @ np.logaddexp(0.0, -margins)) + pull / 2 * float(
            np.square(weights - begun).sum()
        )

    def judge(
        self,
        lists: Sequence[JudgedList],
        candidate: Array,
        current: Array,
        *,
        trained_on: int,
        explored: Measured | None = None,
    ) -> Verdict:
        """Whether a candidate may replace the current weights, on lists it has not seen."""
        gain = compare_rankings(lists, candidate, current)
        low = gain.interval(self.confidence_z)[0]
        adopted, reason = True, f"orders unseen searches better by {gain.value:.4f}, at least {low:.4f}"
        if gain.value < self.min_gain:
            adopted, reason = False, f"gains {gain.value:.4f} on unseen searches, less than {self.min_gain}"
        elif low <= 0:
            adopted, reason = False, f"gains {gain.value:.4f} on unseen searches, which may be chance"
        elif explored is not None and explored.interval()[1] < 0:
            adopted, reason = False, "randomised rankings say that it serves less often"
        return Verdict(
            weights=to_weights(candidate),
            adopted=adopted,
            reason=reason,
            gain=gain,
            low=low,
            value=_mean(ranking_values(lists, candidate)),
            current_value=_mean(ranking_values(lists, current)),
            trained_on=trained_on,
            explored=explored,
        )

    def learn(
        self, lists: Sequence[JudgedList], current: Mapping[str, float], arms: Sequence[ArmOutcome] = ()
    ) -> Verdict:
        """Fit on the earlier lists, judge on the later ones."""
        start = to_array(current)
        train, test = split(lists, self.held_out)
        candidate = to_array(to_weights(self.fit(train, start)))
        return self.judge(
            test,
            candidate,
            start,
            trained_on=len(train),
            explored=explored_gain(arms, candidate, start),
        )


def _mean(values: Array) -> float:
    return float(values.mean()) if len(values) else 0.0


def _pairs(lists: Sequence[JudgedList]) -> tuple[Array, Array]:
    """Differences of signals between better and worse candidates of a list, and what each pair counts.

    All pairs of one list count together as much as all of another's. A pair counts more the further down the better
    one stood: that it was seen there at all makes up for those that were not.
    """
    differences: list[Array] = []
    counts: list[Array] = []
    for judged in lists:
        better, worse = np.nonzero(judged.grades[:, None] > judged.grades[None, :])
        if len(better) == 0:
            continue
        weight = (judged.grades[better] - judged.grades[worse]) / examination(judged.places[better])
        differences.append(judged.signals[better] - judged.signals[worse])
        counts.append(weight / weight.sum())
    if not differences:
        return np.zeros((0, len(SIGNALS))), np.zeros(0)
    return np.concatenate(differences), np.concatenate(counts) / len(differences)


@dataclass(frozen=True, slots=True, kw_only=True)
class ArmOutcome:
    """A search while rankings were drawn by lot: the signal it leaned to (None: as usual), and whether it served."""

    signal: str | None
    propensity: float
    served: bool
    cluster: object


#: With fewer searches of an arm than this, exploring has nothing to say yet.
MIN_EXPLORED = 100


def explored_gain(outcomes: Sequence[ArmOutcome], candidate: Array, current: Array) -> Measured | None:
    """What randomised rankings say about a candidate, to first order; None when there were too few.

    Leaning towards signal s moved the weights by tilt * (e_s - current) and changed how often searches served.
    The candidate is a sum of such moves, candidate - current = sum of (candidate_s - current_s) * (e_s - current),
    and its gain is estimated as the same sum of changes. Unlike the ranking estimator this sees memories that the
    current weights never showed.
    """
    signals = np.array(
        [-1 if outcome.signal is None else SIGNALS.index(outcome.signal) for outcome in outcomes]
    )
    shares = (candidate - current) / EXPLORE_TILT
    needed = [number for number in range(len(SIGNALS)) if abs(shares[number]) > 0.05]
    if any(np.count_nonzero(signals == number) < MIN_EXPLORED for number in (-1, *needed)) or not needed:
        return None
    logged = np.array([outcome.propensity for outcome in outcomes])
    served = np.array([float(outcome.served) for outcome in outcomes])
    clusters = [outcome.cluster for outcome in outcomes]

    def worth(number: int) -> Measured:
        return snips(served, logged, (signals == number).astype(np.float64), clusters)

    usual = worth(-1)
    tried = {number: worth(number) for number in needed}
    total = float(sum(shares[number] for number in needed))
    value = float(sum(shares[number] * tried[number].value for number in needed)) - total * usual.value
    variance = sum((float(shares[number]) * tried[number].error) ** 2 for number in needed)
    variance += (total * usual.error) ** 2
    return Measured(value=value, error=float(np.sqrt(variance)), count=len(outcomes), clusters=usual.clusters)

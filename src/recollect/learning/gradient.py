"""Policy gradient over logged choices, and the proof that a new policy isn't worse: `improve` and `judge`.

REINFORCE on the log-probabilities of a softmax (`policy`): what a run chose becomes more likely if the run went better
than usual. Choices that the policy itself would have made less often than they were logged count less, and no choice
moves further than `clip` from where it started, so that one batch can't ruin a policy. `judge` weighs whole runs by
how likely another policy is to make the same choices (self-normalised, with a model of rewards as control variate).
Pure numpy; `decomposition` brings the runs and stores the verdict.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from recollect.learning.policy import MAX_WEIGHT, DecompositionPolicy
from recollect.learning.rewards import Array, Measured, digits, effective, snips_gain
from recollect.learning.runs import Decision

#: What a choice counts at most for being rare in the log.
_MAX_RATIO = 5.0
#: The same for a whole run.
_MAX_RUN_WEIGHT = 20.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Episode:
    """A run that trains: its choices and its reward. Runs of one `group` did the same task; `cluster`: one session."""

    decisions: tuple[Decision, ...]
    reward: float
    cluster: object = None
    group: object = None


@dataclass(frozen=True, slots=True, kw_only=True)
class GradientConfig:
    """How far and how fast a policy moves in one batch."""

    learning_rate: float = 0.5
    steps: int = 20
    #: A choice may become so much more or less likely in one batch, not more.
    clip: float = 0.5
    #: Pulls weights that nothing speaks for back to where they were.
    decay: float = 0.001


class _Table:
    """Choices as arrays: (choice, option, feature), padded with options that can't be chosen."""

    def __init__(self, decisions: Sequence[Decision], policy: DecompositionPolicy) -> None:
        templates = sorted({*policy.weights, *(name for decision in decisions for name in decision.options)})
        names = sorted(
            {
                *(name for known in policy.weights.values() for name in known),
                *(
                    name
                    for decision in decisions
                    for features in decision.options.values()
                    for name in features
                ),
            }
        )
        self.templates, self.features = templates, names
        place = {name: number for number, name in enumerate(templates)}
        column = {name: number for number, name in enumerate(names)}
        widest = max((len(decision.options) for decision in decisions), default=1)
        self.values = np.zeros((len(decisions), widest, len(names)))
        self.options: NDArray[np.int64] = np.zeros((len(decisions), widest), dtype=np.int64)
        self.possible = np.zeros((len(decisions), widest), dtype=bool)
        self.chosen: NDArray[np.int64] = np.zeros(len(decisions), dtype=np.int64)
        self.logged = np.array([decision.probability for decision in decisions])
        for row, decision in enumerate(decisions):
            for number, (template, features) in enumerate(decision.options.items()):
                self.options[row, number] = place[template]
                self.possible[row, number] = True
                if template == decision.template:
                    self.chosen[row] = number
                for name, value in features.items():
                    self.values[row, number, column[name]] = value
        self.start = np.zeros((len(templates), len(names)))
        for template, known in policy.weights.items():
            for name, value in known.items():
                self.start[place[template], column[name]] = value

    def chances(self, weights: Array, temperature: float) -> Array:
        """The softmax of every choice's options."""
        scores = np.einsum("dof,dof->do", self.values, weights[self.options]) / temperature
        scores[~self.possible] = -np.inf
        raised = np.exp(scores - scores.max(axis=1, keepdims=True))
        normal: Array = raised / raised.sum(axis=1, keepdims=True)
        return normal

    def slope(self, chances: Array, pull: Array, temperature: float) -> Array:
        """The gradient of the sum of pull * log-probability of what was chosen, by template and feature."""
        push = -chances * pull[:, None]
        push[np.arange(len(pull)), self.chosen] += pull
        slope = np.zeros_like(self.start)
        np.add.at(slope, self.options, push[:, :, None] * self.values)
        return slope / temperature


def advantages(episodes: Sequence[Episode], baseline: float) -> Array:
    """How much better each run went than usual, in units of the spread.

    Usual is the mean of the other runs of the same task, where there are any: a hard task is no fault of the policy.
    Elsewhere it is the baseline.
    """
    rewards = np.array([episode.reward for episode in episodes])
    members: dict[object, list[int]] = {}
    for number, episode in enumerate(episodes):
        if episode.group is not None:
            members.setdefault(episode.group, []).append(number)
    usual = np.full(len(episodes), baseline)
    for places in members.values():
        if len(places) > 1:
            usual[places] = (rewards[places].sum() - rewards[places]) / (len(places) - 1)
    difference = rewards - usual
    spread = float(np.sqrt(np.mean(np.square(difference)))) if len(difference) else 0.0
    normal: Array = difference / spread if spread > 1e-6 else np.zeros(len(difference))
    return normal


def improve(
    policy: DecompositionPolicy, episodes: Sequence[Episode], *, baseline: float, config: GradientConfig
) -> DecompositionPolicy:
    """The policy after one batch; its weights stay within their bound."""
    decisions = [decision for episode in episodes for decision in episode.decisions]
    if not decisions:
        return policy
    table = _Table(decisions, policy)
    gains = np.repeat(advantages(episodes, baseline), [len(episode.decisions) for episode in episodes])
    rows = np.arange(len(decisions))
    before = table.chances(table.start, policy.temperature)[rows, table.chosen]
    counted = np.minimum(before / table.logged, _MAX_RATIO) * gains / len(episodes)
    weights = table.start
    for _ in range(config.steps):
        chances = table.chances(weights, policy.temperature)
        moved = chances[rows, table.chosen] / before
        # What has moved far enough in the wanted direction rests.
        resting = np.where(counted > 0, moved > 1 + config.clip, moved < 1 / (1 + config.clip))
        slope = table.slope(chances, np.where(resting, 0.0, counted * moved), policy.temperature)
        slope -= config.decay * (weights - table.start)
        weights = np.clip(weights + config.learning_rate * slope, -MAX_WEIGHT, MAX_WEIGHT)
    return replace(policy, weights=_by_name(table, weights))


def _by_name(table: _Table, weights: Array) -> Mapping[str, Mapping[str, float]]:
    return {
        template: {
            name: float(weights[row, column])
            for column, name in enumerate(table.features)
            if weights[row, column] != 0.0
        }
        for row, template in enumerate(table.templates)
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class GateConfig:
    """When a new policy may replace the one in use."""

    #: A loss up to this much of the reward (which spans -1 to 1) is not one.
    margin: float = 0.05
    #: One-sided 90 %: it has to be shown that it isn't worse, not that it is better.
    confidence_z: float = 1.28
    #: Runs of equal weight that speak for it.
    min_effective: float = 8.0
    #: The least share of what it would do that was ever tried, as far as the weights of runs tell.
    min_support: float = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyVerdict:
    """Whether a policy may be used. `gain` over the one in use; `support`: how much of what it would do was logged."""

    adopted: bool
    reason: str
    gain: Measured
    low: float
    support: float
    effective_runs: float

    def document(self) -> dict[str, object]:
        """The proof as it is stored."""
        return {
            "reason": self.reason,
            "gain": digits(self.gain.value),
            "gain_low": digits(self.low),
            "support": digits(self.support),
            "effective_runs": digits(self.effective_runs),
            "tested_on": self.gain.count,
        }


def run_weights(episodes: Sequence[Episode], policy: DecompositionPolicy) -> Array:
    """How likely the policy is to make each run's choices, relative to how likely they were when logged.

    Their mean is 1, but for chance, if all that the policy would do was tried.
    """
    weights = np.ones(len(episodes))
    for number, episode in enumerate(episodes):
        for decision in episode.decisions:
            weights[number] *= (
                policy.probabilities(decision.options)[decision.template] / decision.probability
            )
    return weights


def judge(
    episodes: Sequence[Episode],
    candidate: DecompositionPolicy,
    current: DecompositionPolicy,
    *,
    expected: Array | None = None,
    config: GateConfig | None = None,
) -> PolicyVerdict:
    """Whether a candidate may replace the current policy, on runs that did not train it.

    `expected` is what a model says each run's reward would be; being wrong only costs precision.
    """
    config = config or GateConfig()
    rewards = np.array([episode.reward for episode in episodes])
    residuals = rewards - (expected if expected is not None else rewards.mean() if len(rewards) else 0.0)
    tried = run_weights(episodes, candidate)
    target = np.minimum(tried, _MAX_RUN_WEIGHT)
    clusters = [
        number if episode.cluster is None else episode.cluster for number, episode in enumerate(episodes)
    ]
    usual = np.minimum(run_weights(episodes, current), _MAX_RUN_WEIGHT)
    gain = snips_gain(residuals, usual, target, clusters)
    low = gain.interval(config.confidence_z)[0]
    support = min(float(tried.mean()), 1.0) if len(tried) else 0.0
    runs = effective(target)
    adopted, reason = True, f"not worse on unseen runs: {gain.value:+.3f}, at least {low:+.3f}"
    if runs < config.min_effective:
        adopted, reason = (
            False,
            f"only {runs:.1f} unseen runs speak for it; {config.min_effective:g} are needed",
        )
    elif support < config.min_support:
        adopted = False
        reason = f"{support:.0%} of what it would do was ever tried; exploring (learning_explore) would help"
    elif gain.value < 0:
        adopted, reason = False, f"worse on unseen runs: {gain.value:+.3f}"
    elif low < -config.margin:
        adopted, reason = False, f"{gain.value:+.3f} on unseen runs, but it may be as low as {low:+.3f}"
    return PolicyVerdict(
        adopted=adopted, reason=reason, gain=gain, low=low, support=support, effective_runs=runs
    )


def expected_rewards(train: Sequence[Episode], test: Sequence[Episode]) -> Array:
    """What runs of the test part should be worth by the kind of their question: ridge regression on the other part."""
    names = sorted({name for episode in (*train, *test) for name in _question(episode)})
    rewards = np.array([episode.reward for episode in train])
    if not len(train) or not names:
        return np.full(len(test), float(rewards.mean()) if len(train) else 0.0)

    def table(episodes: Sequence[Episode]) -> Array:
        return np.array(
            [[1.0, *(_question(episode).get(name, 0.0) for name in names)] for episode in episodes]
        )

    known = table(train)
    # One run's worth of doubt per feature, none about the mean.
    doubt = np.diag([0.0] + [1.0] * len(names))
    fitted = np.linalg.lstsq(known.T @ known + doubt, known.T @ rewards, rcond=None)[0]
    predicted: Array = np.clip(table(test) @ fitted, -1.0, 1.0) if len(test) else np.zeros(0)
    return predicted


def _question(episode: Episode) -> dict[str, float]:
    """What the first choice knew of the question itself: the features that all its options share."""
    if not episode.decisions:
        return {}
    options = list(episode.decisions[0].options.values())
    return {
        name: value
        for name, value in options[0].items()
        if name != "bias" and all(other.get(name) == value for other in options)
    }

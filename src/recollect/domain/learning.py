"""What searches leave behind, and what is learned from it: events, feedback, choices, experiments, reports.

Values and pure checks only. Events are recorded in `learning/events`, stored by `storage/learning`, and turned into
memory utility and signal weights by the trainers in `learning/`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any
from uuid import UUID

from recollect.domain.query import SIGNALS, QueryType, Strategy
from recollect.domain.text import parse_member
from recollect.errors import InvalidInputError


class FeedbackKind(StrEnum):
    """What somebody says about a memory that was recalled."""

    HELPFUL = "helpful"
    IRRELEVANT = "irrelevant"
    OUTDATED = "outdated"
    INACCURATE = "inaccurate"
    DUPLICATE = "duplicate"

    @classmethod
    def parse(cls, value: object) -> FeedbackKind:
        """Read a kind."""
        return parse_member(cls, value, "feedback kind")


#: What a kind is worth when no score is given. A wrong memory is worse than an old one, which was right once; an
#: irrelevant one may be right for another question; a duplicate says something true a second time.
DEFAULT_SCORES: Mapping[FeedbackKind, float] = {
    FeedbackKind.HELPFUL: 1.0,
    FeedbackKind.IRRELEVANT: -0.5,
    FeedbackKind.OUTDATED: -0.7,
    FeedbackKind.INACCURATE: -1.0,
    FeedbackKind.DUPLICATE: -0.3,
}


#: How far exploring tilts the weights towards one signal.
EXPLORE_TILT = 0.2


def check_score(score: object, kind: FeedbackKind) -> float:
    """The score of a piece of feedback: what was given, from -1 to 1, else the kind's own."""
    if score is None:
        return DEFAULT_SCORES[kind]
    if isinstance(score, bool) or not isinstance(score, int | float) or not -1.0 <= score <= 1.0:
        raise InvalidInputError(f"score {score!r} is not a number from -1 to 1")
    return float(score)


def check_weights(weights: object, *, what: str) -> dict[str, float]:
    """Signal weights as somebody gave them: known signals, no negative numbers, scaled to add up to 1."""
    if not isinstance(weights, Mapping) or not weights:
        raise InvalidInputError(f"{what} must give a weight for at least one of {', '.join(SIGNALS)}")
    for name, value in weights.items():
        if name not in SIGNALS:
            raise InvalidInputError(
                f"{what} names an unknown signal {name!r}; signals are {', '.join(SIGNALS)}"
            )
        if (
            isinstance(value, bool)
            or not isinstance(value, int | float)
            or not math.isfinite(value)
            or value < 0
        ):
            raise InvalidInputError(f"{what} gives {name!r} the weight {value!r}; weights are 0 or more")
    total = float(sum(weights.values()))
    if total <= 0 or not math.isfinite(total):
        raise InvalidInputError(f"the weights of {what} add up to {total!r}; at least one must be above 0")
    return {name: float(weights.get(name, 0.0)) / total for name in SIGNALS}


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownHit:
    """A memory that a search returned: its place (1 is the first), score, and what the weights multiply, by name."""

    id: UUID
    place: int
    score: float
    signals: Mapping[str, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Guess:
    """A name in a question that was read as a similar one."""

    alias: str
    entity: str
    confidence: float


@dataclass(frozen=True, slots=True, kw_only=True)
class RetrievalEvent:
    """One search. `terms` and `guesses` never leave this process: only hashes of terms are stored.

    `arm` and `propensity` are those of the `Choice` that gave the strategy. `question` is kept only where the tenant
    keeps questions; `stages` says how many milliseconds each took.
    """

    query_id: UUID
    at: datetime
    query_type: QueryType
    strategy: Strategy
    hits: tuple[ShownHit, ...] = ()
    terms: tuple[str, ...] = ()
    entities: tuple[str, ...] = ()
    guesses: tuple[Guess, ...] = ()
    latency_ms: float = 0.0
    arm: str | None = None
    propensity: float = 1.0
    question: str | None = None
    stages: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """The strategy a search is ranked by; `propensity` is the probability with which this arm was drawn."""

    strategy: Strategy
    arm: str | None = None
    propensity: float = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Feedback:
    """What somebody said about a memory. `applied` says whether the memory's utility has learned from it."""

    id: UUID
    memory_id: UUID
    kind: FeedbackKind
    score: float
    at: datetime
    query_id: UUID | None
    applied: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class EventCounts:
    """How the log of this process is doing. `dropped`: the queue was full; `failed`: the store refused them."""

    queued: int
    written: int
    dropped: int
    failed: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """Learned signal weights of one kind of question, for one user or (None) for the whole tenant."""

    id: UUID
    user_id: str | None
    strategy: str
    weights: Mapping[str, float]
    state: str
    events: int
    evaluation: Mapping[str, Any]
    created_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSummary:
    """A run of the recursive engine. `reward` is what training made of it; `policy_id` None: no tenant's own policy."""

    id: UUID
    query_id: UUID | None
    user_id: str
    environment: str
    planner: str
    policy_id: UUID | None
    started_at: datetime
    stopped_by: str
    subcalls: int
    tokens: int
    outcome: str | None
    quality: float | None
    reward: float | None
    trained: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRecord:
    """A run with what is kept of its steps: tools, times and counts, no words of the question or of memories."""

    summary: RunSummary
    trajectory: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOutcome:
    """What came of a run: as said of itself, or of its search (hits that were used, mean score of feedback)."""

    outcome: str | None = None
    quality: float | None = None
    search_outcome: str | None = None
    used: int = 0
    judged: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DecompositionStatus:
    """A tenant's policy for decomposing questions: whether it is in use, and the proof it was judged on."""

    id: UUID
    environment: str
    state: str
    runs: int
    evaluation: Mapping[str, Any]
    created_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class DecompositionReport:
    """What a training made of a tenant's runs: how many had an outcome, and whether the policy it gave is used."""

    environment: str
    runs: int
    needed: int
    mean_reward: float
    exploration_rate: float
    adopted: bool
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class BootstrapResult:
    """What training on synthetic tasks did. Rewards, gain (95 % interval) and sub-calls are of templates held out."""

    tasks: int
    held_out: int
    iterations: int
    adopted: bool
    reason: str
    runs: int = 0
    curve: tuple[float, ...] = ()
    reward_before: float = 0.0
    reward_after: float = 0.0
    gain: float = 0.0
    gain_low: float = 0.0
    gain_high: float = 0.0
    subcalls_before: float = 0.0
    subcalls_after: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Experiment:
    """A comparison of strategies on live questions. An arm without weights ranks as without the experiment."""

    name: str
    arms: Mapping[str, Mapping[str, Any]]
    shares: Mapping[str, float]
    unit: str
    state: str
    created_at: datetime
    stopped_at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """A number with its 95 % confidence interval; all None where there is nothing to count."""

    value: float | None
    low: float | None
    high: float | None
    count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ArmReport:
    """What came of one arm's questions."""

    arm: str
    share: float
    queries: int
    used: Estimate
    refined: Estimate
    feedback: Estimate


@dataclass(frozen=True, slots=True, kw_only=True)
class ExperimentReport:
    """An experiment's arms side by side, and a sentence that says what they prove."""

    experiment: Experiment
    arms: tuple[ArmReport, ...]
    verdict: str
    winner: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class LearningStatus:
    """What has been recorded and learned in a tenant. `judged` events say which memories served."""

    enabled: bool
    events: int
    judged: int
    needed: int
    outcomes: Mapping[str, int]
    feedback: Mapping[str, int]
    pending: int
    baseline: float
    policies: tuple[Policy, ...]
    experiment: Experiment | None
    log: EventCounts
    runs: int = 0
    decomposition: tuple[DecompositionStatus, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainReport:
    """What a training run did: memories whose utility moved, and the weights it tried for each group."""

    rewarded: int
    ignored: int
    baseline: float
    policies: tuple[Policy, ...] = ()
    skipped: tuple[str, ...] = field(default=())
    decomposition: DecompositionReport | None = None

"""Which path a question takes, for how complex it is.

How complex it is, is read in `complexity.py`; who acts on the decision is `retrieval/request.py`. `recollect bench
route` measures both on a labelled set. Nothing here knows memories or a store.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from recollect.errors import InvalidInputError
from recollect.text.complexity import ComplexitySignals, read_signals

__all__ = ["ComplexityRouter", "ComplexitySignals", "RouteDecision"]

DEFAULT_THRESHOLD = 0.3
#: From here on nothing is routed, not even the question that has everything.
NOTHING = 1.0


class RouteDecision(StrEnum):
    """The path of a search; the values are also the metric's labels."""

    STANDARD = "standard"
    RLM = "rlm"


@dataclass(frozen=True, slots=True)
class ComplexityRouter:
    """Sends a query to standard search or to the recursive one.

    A query goes to the recursive one when its score is at least `threshold`; at 1.0 none does, and none when
    `enabled` is off.
    """

    threshold: float = DEFAULT_THRESHOLD
    enabled: bool = True

    def __post_init__(self) -> None:
        if isinstance(self.threshold, bool) or not 0.0 <= self.threshold <= 1.0:
            raise InvalidInputError(f"threshold {self.threshold!r} is not a number from 0 to 1")

    def score(self, query: str) -> float:
        """How complex a query is, from 0 to 1."""
        return self.signals(query).computed_score

    compute_complexity = score

    def signals(self, query: str) -> ComplexitySignals:
        """The score and what it is made of."""
        return read_signals(query)

    def route(self, query: str) -> RouteDecision:
        """The path this query takes."""
        return self.decide(self.score(query))

    def decide(self, score: float) -> RouteDecision:
        """The path of a query whose score is known."""
        if not self.enabled or self.threshold >= NOTHING:
            return RouteDecision.STANDARD
        return RouteDecision.RLM if score >= self.threshold else RouteDecision.STANDARD

    def should_route_to_rlm(self, query: str) -> bool:
        """Whether this query takes the recursive path."""
        return self.route(query) is RouteDecision.RLM

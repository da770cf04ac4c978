"""Which path a search takes: the standard one, or the recursive one for a question that one look won't answer."""

from __future__ import annotations

from dataclasses import dataclass

from recollect import telemetry
from recollect.config import Settings
from recollect.retrieval.request import SearchRequest
from recollect.runs.router import ComplexityRouter, RouteDecision
from recollect.storage.scopes import Caller

#: What `SearchRequest.without` calls the recursive path.
RECURSION = "recursion"


@dataclass(frozen=True, slots=True, kw_only=True)
class Routing:
    """A question's complexity, and the settings that a tenant's own may override."""

    score: float
    threshold: float
    enabled: bool

    @classmethod
    def of(cls, settings: Settings, request: SearchRequest) -> Routing:
        """Read the question; nothing is looked up."""
        return cls(
            score=ComplexityRouter().score(request.query),
            threshold=settings.recursion_threshold,
            enabled=settings.recursion_enabled and RECURSION not in request.without,
        )

    def leaves(self, caller: Caller) -> bool:
        """Whether this caller's question leaves the standard path."""
        own = caller.recursion_enabled
        threshold = caller.recursion_threshold
        router = ComplexityRouter(
            threshold=self.threshold if threshold is None else threshold,
            enabled=self.enabled if own is None else self.enabled and own,
        )
        decision = router.decide(self.score)
        telemetry.routed(decision.value, self.score)
        return decision is RouteDecision.RLM

"""A search as it was asked for, checked; and which path it takes, the standard or the recursive one."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, tzinfo

from recollect import telemetry
from recollect.config import Settings
from recollect.domain.filters import Filter, parse_filters
from recollect.domain.layers import Layer, ScopeName, parse_layers
from recollect.domain.memory import MemoryType, check_time, parse_types
from recollect.domain.text import MAX_LIMIT, check_text, check_timezone, check_whole
from recollect.errors import InvalidInputError
from recollect.retrieval.understand import MAX_QUERY_CHARS
from recollect.runs.router import ComplexityRouter, RouteDecision
from recollect.storage.scopes import Caller


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchRequest:
    """A checked search."""

    query: str
    limit: int
    threshold: float
    layers: Sequence[Layer] | None
    scope: ScopeName | None
    types: Sequence[MemoryType] | None
    filters: Filter | None
    as_of: datetime | None
    now: datetime
    timezone: tzinfo
    explain: bool
    diverse: bool = False
    #: Sources and signals to leave out, for measuring what they are worth.
    without: frozenset[str] = frozenset()

    @classmethod
    def check(
        cls,
        settings: Settings,
        *,
        query: str,
        clock: datetime,
        limit: int = 10,
        threshold: object = 0.7,
        layers: Sequence[str] | None = None,
        scope: str | None = None,
        types: Sequence[str] | None = None,
        filters: object = None,
        as_of: datetime | str | None = None,
        now: datetime | str | None = None,
        timezone: str | tzinfo | None = None,
        explain: bool = False,
        diverse: bool = False,
        without: frozenset[str] = frozenset(),
    ) -> SearchRequest:
        """Refuse what makes no sense before anything is asked. `clock` is the time when `now` is not given."""
        if (
            isinstance(threshold, bool)
            or not isinstance(threshold, int | float)
            or not math.isfinite(threshold)
        ):
            raise InvalidInputError(f"threshold {threshold!r} is not a number from 0 to 1")
        if not 0.0 <= threshold <= 1.0:
            raise InvalidInputError(f"threshold {threshold!r} is outside 0 to 1")
        return cls(
            query=check_text(query, what="query", limit=MAX_QUERY_CHARS),
            limit=check_whole("limit", limit, most=MAX_LIMIT),
            threshold=float(threshold),
            layers=parse_layers(layers),
            scope=None if scope is None else ScopeName.parse(scope),
            types=parse_types(types),
            filters=parse_filters(filters),
            as_of=check_time(as_of, "as_of"),
            now=check_time(now, "now") or clock,
            timezone=check_timezone(settings.timezone if timezone is None else timezone),
            explain=explain,
            diverse=diverse,
            without=without,
        )


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
            enabled=settings.recursion_threshold < 1 and RECURSION not in request.without,
        )

    def leaves(self, caller: Caller) -> bool:
        """Whether this caller's question leaves the standard path; counts nothing."""
        own = caller.recursion_enabled
        threshold = caller.recursion_threshold
        router = ComplexityRouter(
            threshold=self.threshold if threshold is None else threshold,
            enabled=self.enabled if own is None else self.enabled and own,
        )
        return router.decide(self.score) is RouteDecision.RLM

    def route(self, caller: Caller) -> bool:
        """As `leaves`, for a search that is made."""
        leaves = self.leaves(caller)
        telemetry.routed((RouteDecision.RLM if leaves else RouteDecision.STANDARD).value, self.score)
        return leaves

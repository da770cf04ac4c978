"""One look at the store: who asks what, on which ground, at everything or at groups of it; and what a stage took.

`explain_query` understands a question with everything the workspace has, as a search would, and searches nothing.
"""

from __future__ import annotations

import time
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from recollect import telemetry
from recollect.domain.ids import new_id
from recollect.domain.query import QueryType, Strategy, Understanding
from recollect.domain.tenancy import TenantContext
from recollect.retrieval.rank import Calibration, Pool
from recollect.retrieval.request import SearchRequest
from recollect.retrieval.understand import understand
from recollect.storage import scopes
from recollect.storage.grouped import ByScope, Grouping
from recollect.storage.scopes import Caller
from recollect.storage.store import Transaction
from recollect.workspace import OpenSpace, Workspace


class Stopwatch:
    """Milliseconds by name; a name that comes again adds up, and one that runs several times at once counts once."""

    def __init__(self) -> None:
        self._started = time.perf_counter()
        self.ms: dict[str, float] = {}
        self._running: Counter[str] = Counter()
        self._since: dict[str, float] = {}

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Count the time the block takes."""
        if not self._running[name]:
            self._since[name] = time.perf_counter()
        self._running[name] += 1
        try:
            with telemetry.span(name):
                yield
        finally:
            self._running[name] -= 1
            if not self._running[name]:
                self.ms[name] = self.ms.get(name, 0.0) + (time.perf_counter() - self._since[name]) * 1000

    def stop(self) -> dict[str, float]:
        """All stages, and the whole as `total`."""
        return {**self.ms, "total": (time.perf_counter() - self._started) * 1000}


@dataclass(frozen=True, slots=True, kw_only=True)
class Groups:
    """Groups of scopes, or periods, that a question is asked of one by one; `names` says what each stands for."""

    names: tuple[str, ...]
    grouping: Grouping

    def of(self, pool: Pool) -> list[str]:
        """The group of each candidate."""
        if isinstance(self.grouping, ByScope):
            places = dict(zip(self.grouping.scope_ids, self.grouping.places, strict=True))
            return [self.names[places[scope]] for scope in pool.scope or ()]
        starts = self.grouping.starts
        return [self.names[max(bisect_right(starts, moment) - 1, 0)] for moment in pool.event_at or ()]


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """What one look is at: everything, or some groups of it, each by itself."""

    groups: Groups | None = None


EVERYTHING = Part()


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """A search under way: who asks what, on which ground."""

    workspace: Workspace
    tx: Transaction
    caller: Caller
    opened: OpenSpace
    calibration: Calibration
    request: SearchRequest
    part: Part
    watch: Stopwatch


async def explain_query(
    workspace: Workspace, context: TenantContext, request: SearchRequest
) -> Understanding:
    """How a search would read a query, learned weights included."""
    async with workspace.store.transaction(context, keep_plans=True) as tx:
        await scopes.describe_caller(tx, layers=request.layers)
        if request.scope is not None:
            await scopes.get_scope(tx, request.scope)
        domain = await workspace.domain(context, tx)

        async def strategy_for(kind: QueryType, default: Strategy) -> Strategy:
            choice = await workspace.strategies.strategy_for(tx, kind, default, new_id())
            return choice.strategy

        return await understand(
            tx,
            request.query,
            now=request.now,
            timezone=request.timezone,
            find_in_domain=None if domain is None else domain.find,
            ontology=None if domain is None else domain.ontology,
            strategy_for=strategy_for,
        )

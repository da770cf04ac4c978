"""Search, stage by stage: understand -> generate -> rank, then what hits show.

The embedding of the query and the caller's scopes are found at the same time; everything else follows from the
two. Later stages never see another caller's rows: row-level security filtered them before.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, tzinfo
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recollect.domain.filters import Filter
from recollect.domain.ids import new_id
from recollect.domain.layers import Layer, ScopeName
from recollect.domain.memory import MemoryType
from recollect.domain.results import Explanation, Hit, SearchResults
from recollect.domain.tenancy import TenantContext
from recollect.errors import InvalidInputError
from recollect.retrieval.generate import Wanted, generate
from recollect.retrieval.rank import (
    Calibration,
    Meaning,
    Pool,
    Ranking,
    best_first,
    calibration_for,
    diverse_first,
    explain,
    rank,
    select,
)
from recollect.retrieval.rank.calibration import PROBES, UNKNOWN, measured
from recollect.retrieval.stopwatch import Stopwatch
from recollect.retrieval.understand import Understanding, read_query
from recollect.storage import scopes
from recollect.storage import search as storage
from recollect.storage.filters import Moment
from recollect.storage.scopes import Caller
from recollect.storage.search import Conditions
from recollect.storage.store import Row, Transaction
from recollect.workspace import OpenSpace, Workspace


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchRequest:
    """A checked search."""

    understanding: Understanding
    limit: int
    threshold: float
    layers: Sequence[Layer] | None
    scope: ScopeName | None
    types: Sequence[MemoryType] | None
    filters: Filter | None
    as_of: datetime | None
    now: datetime
    timezone: tzinfo = UTC
    explain: bool
    diverse: bool = False
    #: Sources and signals to leave out, for measuring what they are worth.
    without: frozenset[str] = frozenset()

    @classmethod
    def check(cls, *, query: str, threshold: object, **parts: Any) -> SearchRequest:
        """Refuse what makes no sense before anything is asked."""
        if (
            isinstance(threshold, bool)
            or not isinstance(threshold, int | float)
            or not math.isfinite(threshold)
        ):
            raise InvalidInputError(f"threshold {threshold!r} is not a number from 0 to 1")
        if not 0.0 <= threshold <= 1.0:
            raise InvalidInputError(f"threshold {threshold!r} is outside 0 to 1")
        return cls(understanding=read_query(query, now=parts["now"]), threshold=float(threshold), **parts)


async def search(
    workspace: Workspace,
    context: TenantContext,
    request: SearchRequest,
    *,
    on_understood: Callable[[Understanding], None] | None = None,
) -> SearchResults:
    """The memories that answer a query. `on_understood` hears what is asked as soon as that is known."""
    if on_understood is not None:
        on_understood(request.understanding)
    watch = Stopwatch()
    active: int | None = None
    while True:
        opened = await workspace.open_space(context, active)
        calibration = await _calibration(opened)
        embedding = asyncio.create_task(
            asyncio.to_thread(opened.embedder.embed_query, request.understanding.query)
        )
        try:
            async with workspace.store.transaction(context, keep_plans=True) as tx:
                caller = await _caller(tx, request)
                if caller.space_id in (None, opened.space.id):
                    return await _answer(
                        workspace, tx, caller, opened, calibration, embedding, request, watch
                    )
        finally:
            embedding.cancel()
        # The store was re-embedded since this client opened it: follow, and ask again.
        active = caller.space_id


async def _answer(
    workspace: Workspace,
    tx: Transaction,
    caller: Caller,
    opened: OpenSpace,
    calibration: Calibration,
    vector: Awaitable[NDArray[np.float32]],
    request: SearchRequest,
    watch: Stopwatch,
) -> SearchResults:
    """Generate, rank and show, inside one transaction."""
    with watch.stage("understand"):
        asked = request.understanding
    notes = list(asked.notes)
    if caller.scope_ids == [] or caller.memories == 0:
        return _results(request, [], notes, watch)
    wanted = Wanted(
        understanding=asked,
        entities=asked.entity_keys,
        conditions=Conditions(
            moment=Moment.as_of(request.as_of) if request.as_of else Moment.now(request.now),
            types=request.types,
            filters=request.filters,
        ),
        space=opened.space,
        exact=await _exact(workspace, tx, caller, opened, notes),
        limit=request.limit,
        without=request.without,
    )
    pool = await generate(tx, caller, wanted, counts=workspace.term_counts, vector=vector, watch=watch)
    with watch.stage("rank"):
        ranking = rank(pool, query=asked.query, calibration=calibration)
        # Three times as many as asked for: among them repeats are dropped.
        first = best_first(pool, ranking, threshold=request.threshold)[: 3 * request.limit]
    with watch.stage("show"):
        shown = await storage.fetch_hits(tx, [pool.ids[row] for row in first], opened.space.id)
    meanings = {
        id: Meaning.of(row["text"], row["embedding"].to_numpy().astype(np.float32))
        for id, row in shown.items()
        if row["embedding"] is not None
    }
    rows = select(pool, first, limit=len(first) if request.diverse else request.limit, meanings=meanings)
    if request.diverse:
        rows = diverse_first(pool, ranking, rows, limit=request.limit, meanings=meanings)
    hits = [
        _to_hit(pool, ranking, row, shown[pool.ids[row]], request) for row in rows if pool.ids[row] in shown
    ]
    return _results(request, hits, notes, watch)


async def _caller(tx: Transaction, request: SearchRequest) -> Caller:
    if request.scope is None:
        return await scopes.describe_caller(tx, layers=request.layers)
    await scopes.describe_caller(tx)
    row = await scopes.get_scope(tx, request.scope)
    return await scopes.describe_caller(tx, layers=request.layers, scope=row["scope_id"])


async def _exact(
    workspace: Workspace, tx: Transaction, caller: Caller, opened: OpenSpace, notes: list[str]
) -> bool:
    """Compare every visible vector, unless there are too many and an index is there for them."""
    if caller.vectors <= workspace.settings.exact_rows:
        return True
    if await workspace.has_vector_index(tx, opened.space):
        return False
    notes.append(
        f"{caller.vectors:,} vectors were compared one by one: their index is not built yet; run `recollect db index`"
    )
    return True


#: By fingerprint: an embedder nobody tried on real data is measured once per process.
_measured: dict[str, Calibration] = {}


async def _calibration(opened: OpenSpace) -> Calibration:
    """How the embedder's cosines read; an unknown one is asked a few questions whose answers are known."""
    known = calibration_for(opened.space.name)
    if known is not UNKNOWN:
        return known
    if opened.space.fingerprint not in _measured:
        embedder = opened.embedder
        questions = await asyncio.to_thread(
            lambda: [embedder.embed_query(question) for question, _ in PROBES]
        )
        notes = await asyncio.to_thread(embedder.embed, [note for _, note in PROBES])
        _measured[opened.space.fingerprint] = measured(np.array(questions), np.asarray(notes))
    return _measured[opened.space.fingerprint]


def _to_hit(pool: Pool, ranking: Ranking, row: int, shown: Row, request: SearchRequest) -> Hit:
    layer = Layer.from_precedence(shown["layer"])
    scope = f"{layer.value}/{shown['scope_name']}"
    return Hit(
        id=pool.ids[row],
        text=shown["text"],
        score=round(float(ranking.score[row]), 4),
        layer=layer,
        scope=scope,
        type=MemoryType(shown["type"]),
        group=scope,
        created_at=shown["created_at"],
        metadata=shown["metadata"],
        conversation=shown["conversation"],
        speaker=shown["speaker"],
        position=shown["position"],
        explanation=_explanation(pool, ranking, row) if request.explain else None,
    )


def _explanation(pool: Pool, ranking: Ranking, row: int) -> Explanation:
    signals = {
        name: round(float(values[row]), 4) for name, values in ranking.signals.items() if values[row] > 0
    }
    return Explanation(signals=signals, sources=pool.sources[row], sentence=explain(signals))


def _results(
    request: SearchRequest, hits: Sequence[Hit], notes: Sequence[str], watch: Stopwatch
) -> SearchResults:
    return SearchResults(
        hits=tuple(hits),
        query=request.understanding.query,
        query_id=new_id(),
        notes=tuple(notes),
        timings_ms=watch.stop(),
    )

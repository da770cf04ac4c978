"""Search, stage by stage: understand -> generate -> rank -> judge, then what hits show.

`search` is the door: it takes a question on the standard path, or, when it is too big for one look, hands it to
`recursive/`, which looks many times. Either way the answer has the same form. `look` is one such look, at everything
the caller sees or at a part of it.

The question is embedded while the events in it are dated and its words are looked up. Later stages never see another
caller's rows: row-level security filtered them before. What was found is noted for learning, which takes no time here.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from contextvars import copy_context
from dataclasses import dataclass, replace
from functools import partial
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from recollect import telemetry
from recollect.domain.ids import new_id
from recollect.domain.learning import Choice, ShownHit
from recollect.domain.query import Understanding
from recollect.domain.results import Hit, SearchResults
from recollect.domain.tenancy import TenantContext
from recollect.providers.judge.model import without_runs
from recollect.providers.models.purse import Purse
from recollect.retrieval.choose import chosen, judged, missing_sides, to_event, to_hit, to_shown
from recollect.retrieval.generate import (
    Wanted,
    calibration_of,
    expand,
    follow_links,
    generate,
    generate_grouped,
)
from recollect.retrieval.judge import may_have_changed
from recollect.retrieval.look import EVERYTHING, Look, Part, Stopwatch
from recollect.retrieval.rank import Pool, Ranking, best_first, first_hits, rank
from recollect.retrieval.request import Routing, SearchRequest
from recollect.retrieval.understand import date_by_events, understand
from recollect.storage import scopes, spaces
from recollect.storage.connections import try_twice
from recollect.storage.filters import Moment
from recollect.storage.scopes import Caller
from recollect.storage.search import Conditions
from recollect.storage.store import Transaction
from recollect.text.terms import TERMS_VERSION
from recollect.workspace import OpenSpace, Workspace

__all__ = ["Found", "SearchRequest", "caller_of", "look", "search", "understand_request"]

#: Of how many of the best it is looked up what was said later about the same.
REPLACEABLE = 2

Listener = Callable[[Understanding], None]


class _Embedding:
    """The question's vector on its way, in a thread of its own from the first moment on.

    The model takes one core and as long as the database takes to say who asks, what is named and where the words are.
    """

    def __init__(self, opened: OpenSpace, query: str) -> None:
        # Not a task: one would begin only when this one waits for something.
        embed = partial(copy_context().run, opened.embedder.embed_query, without_runs(query))
        self.vector = asyncio.get_running_loop().run_in_executor(None, embed)

    def leave(self) -> None:
        """Nobody waits for it any more, nor for its fault."""
        if not self.vector.cancel() and not self.vector.cancelled():
            self.vector.exception()


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What one look found. `shown` is what learning hears of each hit, in the order of `hits`."""

    asked: Understanding
    choice: Choice
    hits: tuple[Hit, ...]
    shown: tuple[ShownHit, ...]
    entities: Mapping[UUID, tuple[str, ...]]
    notes: tuple[str, ...]
    empty: bool = False


async def search(
    workspace: Workspace,
    context: TenantContext,
    request: SearchRequest,
    *,
    on_understood: Listener | None = None,
    purse: Purse | None = None,
    seconds: float | None = None,
) -> SearchResults:
    """The memories that answer a query. `on_understood` hears what is asked as soon as that is known.

    `purse` and `seconds` are what a complex search may use, if it is not the only thing that is asked.
    """
    with telemetry.span("search"):
        return await _routed(workspace, context, request, on_understood, purse, seconds)


async def _routed(
    workspace: Workspace,
    context: TenantContext,
    request: SearchRequest,
    on_understood: Listener | None,
    purse: Purse | None,
    seconds: float | None,
) -> SearchResults:
    """The answer by the path that the question takes."""
    watch = Stopwatch()
    query_id = new_id()
    router = Routing.of(workspace.settings, request)
    one_look = partial(
        look,
        workspace,
        context,
        request,
        query_id,
        watch=watch,
        leave=router.route,
        on_understood=on_understood,
    )
    found = await try_twice(one_look, only_reads=True)
    if found is None:
        from recollect.retrieval.recursive.executor import RlmExecutor

        executor = RlmExecutor(workspace, context, purse=purse, seconds=seconds)
        found = await executor.find(request, query_id, watch=watch, on_understood=on_understood)
    if not found.empty:
        event = to_event(
            query_id,
            found.asked,
            found.choice,
            found.shown,
            at=workspace.clock(),
            stages=watch.stop(),
        )
        workspace.events.record(context, event)
    return SearchResults(
        hits=found.hits,
        query=found.asked.query,
        query_id=query_id,
        notes=(*found.notes, *missing_sides(found.asked, found.hits)),
        timings_ms=watch.stop(),
    )


async def look(
    workspace: Workspace,
    context: TenantContext,
    request: SearchRequest,
    query_id: UUID,
    *,
    watch: Stopwatch,
    part: Part = EVERYTHING,
    leave: Callable[[Caller], bool] | None = None,
    on_understood: Listener | None = None,
) -> Found | None:
    """One look, in a transaction of its own. None when `leave` says, knowing the caller, that one look won't do."""
    active: int | None = None
    while True:
        opened = await workspace.open_space(context, active)
        calibration = await calibration_of(opened)
        embedding = _Embedding(opened, request.query)
        try:
            async with workspace.store.transaction(context, keep_plans=True) as tx:
                caller = await caller_of(tx, request)
                if leave is not None and leave(caller):
                    return None
                if caller.space_id in (None, opened.space.id):
                    asking = Look(
                        workspace=workspace,
                        tx=tx,
                        caller=caller,
                        opened=opened,
                        calibration=calibration,
                        request=request,
                        part=part,
                        watch=watch,
                    )
                    return await _answer(asking, embedding, query_id, on_understood)
        finally:
            embedding.leave()
        # The store was re-embedded since this client opened it: follow, and ask again.
        active = caller.space_id


async def _answer(
    asking: Look, embedding: _Embedding, query_id: UUID, on_understood: Listener | None
) -> Found:
    """Understand, generate, rank and show, inside one transaction."""
    with asking.watch.stage("understand"):
        asked, choice = await understand_request(
            asking.workspace, asking.tx, asking.request, asking.caller, query_id, date_events=False
        )
    with asking.watch.stage("dates"):
        asked, choice = await _dated(asking, asked, choice, query_id)
    if on_understood is not None:
        on_understood(asked)
    notes = [*asked.notes, *_other_words(asking.caller)]
    if asking.caller.scope_ids == [] or asking.caller.memories <= 0:
        return Found(
            asked=asked, choice=choice, hits=(), shown=(), entities={}, notes=tuple(notes), empty=True
        )
    pool, ranking, relations = await _ranked(asking, asked, embedding.vector, notes)
    ranking, shown = await judged(asking, asked, pool, ranking, notes, relations=relations)
    (rows, folded), shown = await chosen(asking, asked, pool, ranking, shown, notes)
    explained = asking.request.explain
    hits = [
        to_hit(
            pool,
            ranking,
            row,
            shown[pool.ids[row]],
            asked,
            explained=explained,
            folded=folded.get(row, 0),
        )
        for row in rows
    ]
    if asking.part.groups is not None:
        names = asking.part.groups.of(pool)
        hits = [replace(hit, group=names[row]) for hit, row in zip(hits, rows, strict=True)]
    return Found(
        asked=asked,
        choice=choice,
        hits=tuple(hits),
        shown=to_shown(pool, ranking, rows),
        entities={id: (*row["entities"], *row["mentions"]) for id, row in shown.items()},
        notes=tuple(notes),
    )


async def _dated(
    asking: Look, asked: Understanding, choice: Choice, query_id: UUID
) -> tuple[Understanding, Choice]:
    """What an event in the question says about its time, looked up while the question is being embedded."""
    workspace, tx = asking.workspace, asking.tx
    domain = await workspace.domain(tx.context, tx)
    dated = await date_by_events(
        tx,
        asked,
        timezone=asking.request.timezone,
        scope_ids=asking.caller.scope_ids,
        ontology=None if domain is None else domain.ontology,
    )
    if dated.time_range == asked.time_range:
        return dated, choice
    choice = await workspace.strategies.strategy_for(tx, dated.type, dated.strategy, query_id)
    return replace(dated, strategy=choice.strategy), choice


async def understand_request(
    workspace: Workspace,
    tx: Transaction,
    request: SearchRequest,
    caller: Caller,
    query_id: UUID,
    *,
    date_events: bool = True,
) -> tuple[Understanding, Choice]:
    """What is asked, and the weights it is ranked by. `date_events`: see `understand`."""
    domain = await workspace.domain(tx.context, tx)
    asked = await understand(
        tx,
        request.query,
        now=request.now,
        timezone=request.timezone,
        scope_ids=caller.scope_ids,
        find_in_domain=None if domain is None else domain.find,
        ontology=None if domain is None else domain.ontology,
        date_events=date_events,
    )
    choice = await workspace.strategies.strategy_for(tx, asked.type, asked.strategy, query_id)
    return replace(asked, strategy=choice.strategy), choice


async def _ranked(
    asking: Look, asked: Understanding, vector: Awaitable[NDArray[np.float32]], notes: list[str]
) -> tuple[Pool, Ranking, Mapping[str, str]]:
    """The candidates and what they are worth, those included that the best of them lead to.

    And what the ontology says of the entities it led to, by their keys.
    """
    workspace, tx, request = asking.workspace, asking.tx, asking.request
    domain = await workspace.domain(tx.context, tx) if asked.entities else None
    expanding = asyncio.ensure_future(expand(domain, asked))
    try:
        wanted = Wanted(
            understanding=asked,
            expanding=expanding,
            conditions=Conditions(
                moment=Moment.as_of(request.as_of)
                if request.as_of
                else Moment.now(request.now, retired=asked.aim.past),
                types=request.types,
                filters=request.filters,
            ),
            space=asking.opened.space,
            breadth=await _breadth(asking, notes),
            limit=request.limit,
            without=request.without,
        )
        if asking.part.groups is not None:
            pool = await generate_grouped(
                tx,
                asking.caller,
                wanted,
                asking.part.groups.grouping,
                counts=workspace.term_counts,
                vector=vector,
                watch=asking.watch,
            )
            return pool, _weigh(asking, pool, asked), {}
        generated = await generate(
            tx, asking.caller, wanted, counts=workspace.term_counts, vector=vector, watch=asking.watch
        )
    finally:
        expanding.cancel()
    notes.extend(generated.expanded.notes)
    pool, ranking = generated.pool, _weigh(asking, generated.pool, asked)
    if "linked" not in request.without:
        with asking.watch.stage("generate"):
            further = await follow_links(
                tx,
                asking.caller,
                wanted,
                generated,
                first_hits(pool, ranking),
                answers=_replaceable(asking, asked, pool, ranking),
            )
        if further is not None:
            pool, ranking = further, _weigh(asking, further, asked)
    return pool, ranking, generated.expanded.relations


def _replaceable(asking: Look, asked: Understanding, pool: Pool, ranking: Ranking) -> list[UUID]:
    """The best so far, where something said later may have replaced them."""
    if asking.request.as_of is not None or not may_have_changed(asked.query, asked.aim):
        return []
    return [pool.ids[row] for row in best_first(pool, ranking)[:REPLACEABLE]]


def _weigh(asking: Look, pool: Pool, asked: Understanding) -> Ranking:
    with asking.watch.stage("rank"):
        return rank(pool, understanding=asked, calibration=asking.calibration, off=asking.request.without)


async def caller_of(tx: Transaction, request: SearchRequest) -> Caller:
    """Who asks, narrowed to the layers or the scope asked for."""
    if request.scope is None:
        return await scopes.describe_caller(tx, layers=request.layers)
    row = await scopes.find_scope(tx, request.scope)
    if row is None:
        await scopes.describe_caller(tx)  # a tenant that is not there says so first
        row = await scopes.get_scope(tx, request.scope)
    return await scopes.describe_caller(tx, layers=request.layers, scope=row["scope_id"])


def _other_words(caller: Caller) -> list[str]:
    """What to do about words that were read by other rules than a question's are now."""
    if caller.terms_version in (None, TERMS_VERSION):
        return []
    return [
        f"the words of this store were read by version {caller.terms_version} of the rules and questions by version "
        f"{TERMS_VERSION}: some are not found by their words; `recollect export` its memories and import them "
        "into a new home"
    ]


async def _breadth(asking: Look, notes: list[str]) -> int | None:
    """How widely the vector index looks around; None compares every visible vector: few, or without an index."""
    vectors = asking.caller.vectors
    if vectors <= spaces.EXACT_ROWS:
        return None
    indexed = await asking.workspace.indexed_rows(asking.tx, asking.opened.space)
    if indexed is not None:
        return spaces.breadth(vectors, indexed)
    notes.append(
        f"{vectors:,} vectors were compared one by one: their index is not built yet; run `recollect db index`"
    )
    return None

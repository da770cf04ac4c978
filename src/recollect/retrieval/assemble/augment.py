"""The whole way from a question to a context: `ContextAssembler`, and who finds what goes into it.

Current data never holds a context up for long or makes it fail: `domaindb` bounds its time, and what goes wrong
there becomes a note here.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Protocol
from uuid import UUID

from recollect import telemetry
from recollect.domain.context import AugmentedContext
from recollect.domain.ontology import DomainResults
from recollect.domain.query import Understanding
from recollect.domain.results import Hit, SearchResults
from recollect.domain.tenancy import TenantContext
from recollect.providers.tokens import load_encoding
from recollect.retrieval.assemble.recalled import Recalled
from recollect.retrieval.assemble.text import assemble, check_max_tokens
from recollect.retrieval.pipeline import SearchRequest, search
from recollect.runs.router import ComplexityRouter
from recollect.storage.reads import get_memories
from recollect.workspace import Workspace

_log = logging.getLogger(__name__)


class Find(Protocol):
    """Finds the memories for a request, and tells what is asked as soon as that is known."""

    async def __call__(
        self, request: SearchRequest, *, on_understood: Callable[[Understanding], None]
    ) -> SearchResults:
        """The results of the request."""
        ...


async def augmented_retrieval(
    workspace: Workspace,
    context: TenantContext,
    request: SearchRequest,
    *,
    max_tokens: int = 3000,
    domain: bool = True,
    find: Find | None = None,
) -> AugmentedContext:
    """The memories that answer a query and, where it needs them, current data, as one text within `max_tokens`.

    `find` is another way to find the memories than `search`.
    """
    check_max_tokens(max_tokens)
    vocabulary = asyncio.create_task(asyncio.to_thread(load_encoding))
    asked: list[Understanding] = []
    current: list[asyncio.Task[DomainResults | None]] = []

    def understood(understanding: Understanding) -> None:
        # A search that has to begin again, because the store was re-embedded, understands twice.
        if not asked and domain and understanding.type.requires_domain_db:
            current.append(asyncio.create_task(_current_data(workspace, context, understanding)))
        asked.append(understanding)

    try:
        find = find or partial(search, workspace, context)
        results = await find(request, on_understood=understood)
        recalled = await _load(workspace, context, results.hits)
        answer = await current[0] if current else None
        await vocabulary
    finally:
        for task in (vocabulary, *current):
            task.cancel()
    understanding = replace(asked[-1], now=asked[-1].now.astimezone(request.timezone))
    with telemetry.span("assemble"):
        made = await asyncio.to_thread(
            assemble, recalled, understanding, max_tokens=max_tokens, domain_results=answer
        )
    hits = tuple(item.hit for item in made.memories)
    _mark_used(workspace, context, results.query_id, hits)
    return AugmentedContext(
        text=made.text,
        memories=hits,
        tokens=made.tokens,
        max_tokens=max_tokens,
        query=results.query,
        query_id=results.query_id,
        query_type=asked[-1].type,
        time_range=asked[-1].time_range,
        domain_results=answer,
        # The search may have asked the same database in vain, and said so.
        notes=tuple(
            dict.fromkeys((*results.notes, *(answer.notes if answer is not None else ()), *made.notes))
        ),
        omitted=made.omitted,
    )


async def _load(workspace: Workspace, context: TenantContext, hits: Sequence[Hit]) -> list[Recalled]:
    """The memories behind hits; one that was deleted in this moment is left out."""
    if not hits:
        return []
    async with workspace.store.transaction(context) as tx:
        memories = {memory.id: memory for memory in await get_memories(tx, [hit.id for hit in hits])}
    return [Recalled(hit=hit, memory=memories[hit.id]) for hit in hits if hit.id in memories]


async def _current_data(
    workspace: Workspace, context: TenantContext, asked: Understanding
) -> DomainResults | None:
    try:
        database = await workspace.domain(context)
        if database is None:
            return None
        return await database.query(asked.query, entities=asked.entities or None, time_range=asked.time_range)
    except Exception as error:
        _log.warning("the domain database could not be asked: %s", type(error).__name__, exc_info=error)
        return DomainResults(notes=(f"the domain database could not be asked ({type(error).__name__})",))


def _mark_used(workspace: Workspace, context: TenantContext, query_id: UUID, hits: Sequence[Hit]) -> None:
    """What is in a context was of use: an outcome that rankings learn from."""
    if hits:
        workspace.events.mark_used(context, query_id, [hit.id for hit in hits])


class RlmAssemblyService(Protocol):
    """Finds what a complex question needs."""

    def should_use_rlm(self, query: str) -> bool:
        """Whether a question is complex enough to be decomposed."""
        ...

    def compute_complexity(self, query: str) -> float:
        """How complex a question is, from 0 to 1."""
        ...

    async def execute_assembly(
        self, request: SearchRequest, *, on_understood: Callable[[Understanding], None]
    ) -> SearchResults:
        """The memories for it. `on_understood` must hear what is asked before this returns."""
        ...


@dataclass(frozen=True, slots=True)
class RoutedSearch:
    """The handler of every assembler that is given no other: the search everybody uses, which routes by itself."""

    workspace: Workspace
    context: TenantContext

    def should_use_rlm(self, query: str) -> bool:
        """By the settings; a tenant's own threshold counts when the search runs."""
        settings = self.workspace.settings
        router = ComplexityRouter(settings.recursion_threshold)
        return router.should_route_to_rlm(query)

    def compute_complexity(self, query: str) -> float:
        """How complex a question is, from 0 to 1."""
        return ComplexityRouter().compute_complexity(query)

    async def execute_assembly(
        self, request: SearchRequest, *, on_understood: Callable[[Understanding], None]
    ) -> SearchResults:
        """Search, on whichever path the question takes."""
        return await search(self.workspace, self.context, request, on_understood=on_understood)


@dataclass(frozen=True, slots=True)
class ContextAssembler:
    """Assembles contexts for one caller."""

    workspace: Workspace
    context: TenantContext
    handler: RlmAssemblyService | None = None

    def with_rlm_handler(self, handler: RlmAssemblyService) -> ContextAssembler:
        """The same assembler with another way to find what complex questions need."""
        return replace(self, handler=handler)

    def should_use_rlm(self, query: str) -> bool:
        """Whether a question goes to the handler."""
        return self._handler.should_use_rlm(query)

    def compute_query_complexity(self, query: str) -> float:
        """How complex a question is, from 0 to 1."""
        return self._handler.compute_complexity(query)

    async def assemble(
        self, request: SearchRequest, *, max_tokens: int, domain: bool = True
    ) -> AugmentedContext:
        """A context within `max_tokens`, complex questions by the handler."""
        with telemetry.span("context"):
            if self.should_use_rlm(request.query):
                return await self.assemble_with_rlm(request, max_tokens=max_tokens, domain=domain)
            return await augmented_retrieval(
                self.workspace, self.context, request, max_tokens=max_tokens, domain=domain
            )

    async def assemble_with_rlm(
        self, request: SearchRequest, *, max_tokens: int, domain: bool = True
    ) -> AugmentedContext:
        """A context whose memories the handler finds."""
        return await augmented_retrieval(
            self.workspace,
            self.context,
            request,
            max_tokens=max_tokens,
            domain=domain,
            find=self._handler.execute_assembly,
        )

    @property
    def _handler(self) -> RlmAssemblyService:
        return self.handler or RoutedSearch(self.workspace, self.context)

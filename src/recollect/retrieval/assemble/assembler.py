"""`ContextAssembler`: a context for a question, simple or complex, and who finds what goes into it.

A complex question is found by the handler: the recursive search of `retrieval/recursive`, unless another one is given.
How hits become text is `text.py`; the whole way there is `augment.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Protocol

from recollect import telemetry
from recollect.domain.context import AugmentedContext
from recollect.domain.query import Understanding
from recollect.domain.results import SearchResults
from recollect.domain.tenancy import TenantContext
from recollect.retrieval.assemble.augment import augmented_retrieval
from recollect.retrieval.pipeline import SearchRequest, search
from recollect.runs.router import ComplexityRouter
from recollect.workspace import Workspace


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
        router = ComplexityRouter(settings.recursion_threshold, settings.recursion_enabled)
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
        with telemetry.traced("context", on=self.workspace.settings.telemetry):
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

"""The looks of one recursive search: who asks, on which ground, and what each look adds to the notes."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from uuid import UUID

from recollect.domain.layers import Layer
from recollect.domain.tenancy import TenantContext
from recollect.retrieval.look import EVERYTHING, Part, Stopwatch
from recollect.retrieval.pipeline import Found, look
from recollect.retrieval.recursive.decompose import Decomposition, ScopeNode
from recollect.retrieval.request import SearchRequest
from recollect.runs.router import ComplexityRouter
from recollect.workspace import Workspace


@dataclass(slots=True, kw_only=True)
class Looks:
    """Everything a look needs beside its question."""

    workspace: Workspace
    context: TenantContext
    request: SearchRequest
    query_id: UUID
    watch: Stopwatch
    scopes: Sequence[ScopeNode]
    max_depth: int
    notes: list[str] = field(default_factory=list)

    @property
    def ground(self) -> str:
        """Names what is looked at: one search of one caller. Nothing is kept for another."""
        return hashlib.blake2b(self.query_id.bytes, digest_size=16).hexdigest()

    async def look(
        self, query: str, *, part: Part = EVERYTHING, layers: Sequence[Layer] | None = None
    ) -> Found:
        """One look with another question, within what the caller asked for."""
        request = replace(self.request, query=query, diverse=False)
        if layers is not None:
            own = self.request.layers
            request = replace(request, layers=[layer for layer in layers if own is None or layer in own])
        result = await look(self.workspace, self.context, request, self.query_id, watch=self.watch, part=part)
        assert result is not None  # only a look that may leave comes back without anything
        self.notes.extend(note for note in result.notes if note not in self.notes)
        return result

    def part_of(self, query: str) -> Decomposition:
        """A question that another was split into: it is asked as it is, and followed where it leads."""
        signals = ComplexityRouter().signals(query)
        return Decomposition(query=query, topic=query, signals=signals)

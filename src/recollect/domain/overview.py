"""A tenant at a glance: `Overview`, as far as whoever asks may see it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from recollect.domain.layers import Layer
from recollect.domain.memory import MemoryType


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryCount:
    """How many memories of one type a layer holds."""

    layer: Layer
    type: MemoryType
    memories: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchMinute:
    """The searches of one minute; the percentiles are of what they took."""

    at: datetime
    searches: int
    p50_ms: float
    p95_ms: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Overview:
    """What a tenant holds, and how its searches went in the last `minutes`.

    Searches are the caller's own, or everybody's for an admin; minutes without one are left out of `searches`, and a
    percentile of nothing is None. `decomposed` of them took the recursive path. `tool_calls` are those of recursive
    searches and consultations, `cached_calls` the ones among them that a cache answered.
    """

    counted: tuple[MemoryCount, ...]
    documents: int
    minutes: int
    searched: int
    searches: tuple[SearchMinute, ...]
    p50_ms: float | None
    p95_ms: float | None
    p99_ms: float | None
    decomposed: int
    consultations: int
    tool_calls: int
    cached_calls: int

    @property
    def memories(self) -> int:
        """All memories that the caller may see."""
        return sum(one.memories for one in self.counted)

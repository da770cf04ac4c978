"""What goes on in a tenant: `Overview` at a glance, `Trace` of a search, `Happening` for whoever watches."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any
from uuid import UUID

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
        return sum(count.memories for count in self.counted)


@dataclass(frozen=True, slots=True, kw_only=True)
class TracedHit:
    """A memory that a search returned. `used` says whether it served an answer, None when nobody said."""

    memory_id: UUID
    score: float
    signals: Mapping[str, float]
    used: bool | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Trace:
    """One search. `question` is None unless the tenant keeps questions (`tenants.set_traces`).

    `stages` has the milliseconds of each stage, `latency_ms` those of the whole. `outcome` is what came of it, as far
    as anybody said (`OUTCOMES`). `returned` is filled by `traces.get` alone.
    """

    id: UUID
    at: datetime
    user: str
    session: str | None
    question: str | None
    category: str
    strategy: str
    entities: tuple[str, ...]
    hits: int
    latency_ms: float
    stages: Mapping[str, float]
    outcome: str | None
    returned: tuple[TracedHit, ...] = field(default=())


#: What can come of a search, from the weakest to the strongest; a stronger one replaces a weaker one.
OUTCOMES = ("ignored", "context", "refined", "feedback", "used")


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceFilter:
    """Which searches are wanted; None asks for nothing. `text` stands in the question, where that is kept."""

    user: str | None = None
    since: datetime | None = None
    before: datetime | None = None
    found: bool | None = None
    outcome: str | None = None
    min_ms: float | None = None
    text: str | None = None


class MemoryEvent(StrEnum):
    """What can happen to memories. Consultations have event types of their own (domain/oracle.py)."""

    ADDED = "memory_added"
    UPDATED = "memory_updated"
    SUPERSEDED = "memory_superseded"
    RESTORED = "memory_restored"
    DELETED = "memory_deleted"


class ExplorationEvent(StrEnum):
    """What an exploration of code tells while it goes on."""

    STARTED = "exploration_started"
    THINKING = "exploration_thinking"
    TOOL_CALL = "exploration_tool_call"
    FINDING = "exploration_finding"
    BUDGET = "exploration_budget"
    COMPLETED = "exploration_completed"
    FAILED = "exploration_failed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Happening:
    """One thing that happened. `detail` has ids and counts of memories, never their text; `scope` is where it was.

    Of a consultation or an exploration, `detail` is what it tells while it goes on, and only its user and admins hear
    of it.
    """

    id: UUID
    at: datetime
    type: str
    user: str
    scope: str | None
    detail: Mapping[str, Any]

"""What was asked of a tenant's memories: `Trace`, a search with what it found, how long it took, and whose it was."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from uuid import UUID


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
    as anybody said: used, context, refined, ignored or feedback. `returned` is filled by `traces.get` alone.
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

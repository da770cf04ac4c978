"""The record of a run: steps, the calls in them, what each cost. One JSON shape for database, file, page and training.

`document()` gives that shape, `Trajectory.read` takes it back; both ways lose nothing, so a recorded run can be
played again. Who makes the record is `recursion/engine.py`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID

from recollect.domain.findings import Finding

#: Why a run ended. `done`: the planner said so. The rest are limits and accidents; none of them loses what was found.
STOPPED_BY = (
    "done",
    "steps",
    "subcalls",
    "depth",
    "tokens",
    "usd",
    "timeout",
    "cancelled",
    "planner",
    "no_progress",
    "error",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """Why a learned planner did what it did: the template it drew, how likely that was, and the situation it saw.

    `options` are the templates that could be drawn, with the features of each. Off-policy evaluation needs all of it.
    """

    template: str
    probability: float
    features: Mapping[str, float]
    options: Mapping[str, Mapping[str, float]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class CallRecord:
    """One call of a tool. `result` is what it gave back as JSON, None when it failed; `child` is the run it started.

    `tokens` counts what was read (and, with a model, what the model read and wrote).
    """

    tool: str
    parameters: Mapping[str, Any]
    started_at: datetime
    duration_ms: float
    result: Any = None
    error: str | None = None
    cached: bool = False
    model_call: bool = False
    tokens: int = 0
    usd: float = 0.0
    child: Trajectory | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One round: what the planner thought, what was called, what was found by then, where it goes next."""

    iteration: int
    thought: str
    tool_calls: tuple[CallRecord, ...]
    findings: tuple[Finding, ...]
    next_direction: str
    started_at: datetime
    duration_ms: float
    done: bool = False
    planner_tokens: int = 0
    planner_usd: float = 0.0
    choice: Choice | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """What a run used, its children included. A sub-call is a call that was not answered from the cache."""

    subcalls: int = 0
    cached_subcalls: int = 0
    model_calls: int = 0
    tokens: int = 0
    usd: float = 0.0
    wall_time_ms: float = 0.0
    max_depth: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Trajectory:
    """A whole run. `environment` names the material (memory, library, codebase); `policy` says whose weights chose."""

    id: UUID
    environment: str
    planner: str
    query: str
    depth: int
    started_at: datetime
    ended_at: datetime
    steps: tuple[Step, ...]
    findings: tuple[Finding, ...]
    stopped_by: str
    usage: Usage
    error: str | None = None
    policy: str | None = None
    notes: tuple[str, ...] = ()

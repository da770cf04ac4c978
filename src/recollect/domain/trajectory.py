"""The record of a run: steps, the calls in them, what each cost. One JSON shape for database, file, page and training.

`document()` gives that shape, `Trajectory.read` takes it back; both ways lose nothing, so a recorded run can be
played again. Who makes the record is `runs/engine.py`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID

from recollect.domain.codec import Value, decode_fields, encode, encode_fields
from recollect.domain.findings import Finding

#: Of the JSON shape; a reader refuses what is newer than itself.
VERSION = 1

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

    `tokens` counts what was read (and, with a model, what the model read and wrote), without the child's. A `refused`
    call never ran, since a limit would have been passed; like a `cached` one it is no sub-call.
    """

    tool: str
    parameters: Mapping[str, Any]
    started_at: datetime
    duration_ms: float
    result: Any = None
    error: str | None = None
    cached: bool = False
    refused: bool = False
    model_call: bool = False
    tokens: int = 0
    usd: float = 0.0
    child: Trajectory | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One round: what the planner thought, what was called, what was found by then, where it goes next.

    `planner_calls` counts the requests that the planner made to a model.
    """

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
    planner_calls: int = 0
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
    """A whole run. `environment` names the material (memory, library, codebase); `policy` says whose weights chose.

    `limits` are those of its budget.
    """

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
    limits: Mapping[str, Any] = field(default_factory=dict)

    def calls(self) -> Iterator[CallRecord]:
        """Every call of the run, and of those that its calls started."""
        for call in (call for step in self.steps for call in step.tool_calls):
            yield call
            if call.child is not None:
                yield from call.child.calls()

    def spans(self) -> list[tuple[str, int, int]]:
        """The lines that calls gave back, as their results name them: document, first line, last line."""
        named = []
        for call in self.calls():
            spans = call.result.get("spans") if isinstance(call.result, Mapping) else None
            named += [(str(name), int(first), int(last)) for name, first, last in spans or ()]
        return named

    def document(self) -> dict[str, Any]:
        """As JSON. A step holds the findings that were new in it; those before it are in the steps before."""
        counts = (0, *(len(step.findings) for step in self.steps))
        steps = [
            {**encode_fields(step, without={"findings"}), "new_findings": encode(step.findings[count:])}
            for step, count in zip(self.steps, counts, strict=False)
        ]
        return {"version": VERSION, **encode_fields(self, without={"steps"}), "steps": steps}

    @classmethod
    def read(cls, document: Mapping[str, Any]) -> Trajectory:
        """From JSON. Of a damaged document it raises `KeyError`, `TypeError` or `ValueError`."""
        steps: list[Step] = []
        findings: tuple[Finding, ...] = ()
        for step in document["steps"]:
            findings += tuple(Finding.read(finding) for finding in step["new_findings"])
            steps.append(decode_fields(Step, step, findings=findings))
        usage = Usage(**document["usage"])  # a record of this version has no others
        trajectory: Trajectory = decode_fields(cls, document, steps=tuple(steps), usage=usage)
        return trajectory


@dataclass(frozen=True, slots=True, kw_only=True)
class RunPlan(Value):
    """What a run would do, worked out without asking anybody, and the most that it may take.

    Dollars are None when the model has no published price, 0.0 without a model. Tokens are those to the model and those
    that come from it.
    """

    model: str
    material_tokens: int
    max_model_calls: int
    max_input_tokens: int
    max_output_tokens: int
    max_usd: float | None
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class AskPlan(RunPlan):
    """What an answer may take at most, and of that each of its sources, by name."""

    question: str
    sources: Mapping[str, RunPlan]

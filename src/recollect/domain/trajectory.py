"""The record of a run: steps, the calls in them, what each cost. One JSON shape for database, file, page and training.

`document()` gives that shape, `Trajectory.read` takes it back; both ways lose nothing, so a recorded run can be
played again. Who makes the record is `runs/engine.py`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID

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

    def document(self) -> dict[str, Any]:
        """As JSON. A step holds the findings that were new in it; those before it are in the steps before."""
        return {
            "version": VERSION,
            "id": str(self.id),
            "environment": self.environment,
            "planner": self.planner,
            "policy": self.policy,
            "query": self.query,
            "depth": self.depth,
            "started_at": self.started_at.isoformat(),
            "ended_at": self.ended_at.isoformat(),
            "stopped_by": self.stopped_by,
            "error": self.error,
            "limits": dict(self.limits),
            "usage": asdict(self.usage),
            "steps": [
                _write_step(step, len(before.findings) if before else 0)
                for before, step in zip((None, *self.steps), self.steps, strict=False)
            ],
            "findings": [finding.document() for finding in self.findings],
            "notes": list(self.notes),
        }

    @classmethod
    def read(cls, document: Mapping[str, Any]) -> Trajectory:
        """From JSON. Of a damaged document it raises `KeyError`, `TypeError` or `ValueError`."""
        steps: list[Step] = []
        found: tuple[Finding, ...] = ()
        for one in document["steps"]:
            found += tuple(Finding.read(finding) for finding in one["new_findings"])
            steps.append(_read_step(one, found))
        return cls(
            id=UUID(document["id"]),
            environment=document["environment"],
            planner=document["planner"],
            policy=document.get("policy"),
            query=document["query"],
            depth=document["depth"],
            started_at=datetime.fromisoformat(document["started_at"]),
            ended_at=datetime.fromisoformat(document["ended_at"]),
            stopped_by=document["stopped_by"],
            error=document.get("error"),
            limits=dict(document.get("limits") or {}),
            usage=Usage(**document["usage"]),
            steps=tuple(steps),
            findings=tuple(Finding.read(finding) for finding in document["findings"]),
            notes=tuple(document.get("notes", ())),
        )


def _write_step(step: Step, found_before: int) -> dict[str, Any]:
    choice = step.choice
    return {
        "iteration": step.iteration,
        "thought": step.thought,
        "started_at": step.started_at.isoformat(),
        "duration_ms": step.duration_ms,
        "tool_calls": [_write_call(call) for call in step.tool_calls],
        "new_findings": [finding.document() for finding in step.findings[found_before:]],
        "next_direction": step.next_direction,
        "done": step.done,
        "planner_tokens": step.planner_tokens,
        "planner_usd": step.planner_usd,
        "planner_calls": step.planner_calls,
        "choice": None
        if choice is None
        else {
            "template": choice.template,
            "probability": choice.probability,
            "features": dict(choice.features),
            "options": {name: dict(features) for name, features in choice.options.items()},
        },
    }


def _read_step(document: Mapping[str, Any], found: tuple[Finding, ...]) -> Step:
    choice = document.get("choice")
    return Step(
        iteration=document["iteration"],
        thought=document["thought"],
        started_at=datetime.fromisoformat(document["started_at"]),
        duration_ms=document["duration_ms"],
        tool_calls=tuple(_read_call(call) for call in document["tool_calls"]),
        findings=found,
        next_direction=document["next_direction"],
        done=document["done"],
        planner_tokens=document["planner_tokens"],
        planner_usd=document["planner_usd"],
        planner_calls=document["planner_calls"],
        choice=None
        if choice is None
        else Choice(
            template=choice["template"],
            probability=choice["probability"],
            features=dict(choice["features"]),
            options={name: dict(features) for name, features in choice["options"].items()},
        ),
    )


def _write_call(call: CallRecord) -> dict[str, Any]:
    return {
        "tool": call.tool,
        "parameters": dict(call.parameters),
        "started_at": call.started_at.isoformat(),
        "duration_ms": call.duration_ms,
        "result": call.result,
        "error": call.error,
        "cached": call.cached,
        "refused": call.refused,
        "model_call": call.model_call,
        "tokens": call.tokens,
        "usd": call.usd,
        "child": call.child.document() if call.child else None,
    }


def _read_call(document: Mapping[str, Any]) -> CallRecord:
    child = document.get("child")
    return CallRecord(
        tool=document["tool"],
        parameters=dict(document["parameters"]),
        started_at=datetime.fromisoformat(document["started_at"]),
        duration_ms=document["duration_ms"],
        result=document["result"],
        error=document["error"],
        cached=document["cached"],
        refused=document["refused"],
        model_call=document["model_call"],
        tokens=document["tokens"],
        usd=document["usd"],
        child=Trajectory.read(child) if child else None,
    )

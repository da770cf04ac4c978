"""What an exploration of a codebase gives back: `RLMResult`, and the steps, calls and costs that led to it.

Findings and citations are those of every run (`findings.py`); the engine's own record, which can be played again, is
`trajectory.py`. `ExplorationTrajectory` is that record as people read it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from datetime import datetime
from typing import Any

from recollect.domain.findings import Citation, Finding
from recollect.domain.trajectory import CallRecord, Step, Trajectory

#: Of the JSON shape of a result.
VERSION = 1
#: What the document of a result calls itself.
KIND = "exploration"
#: Of a call's result, in the steps that people read.
_SUMMARY_CHARS = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCall:
    """A call of a tool. `summary` is the beginning of what it gave back; `child` is the exploration it started."""

    tool: str
    parameters: Mapping[str, Any]
    duration_ms: float
    summary: str = ""
    error: str | None = None
    cached: bool = False
    refused: bool = False
    model_call: bool = False
    tokens: int = 0
    child: ExplorationTrajectory | None = None

    @classmethod
    def of(cls, call: CallRecord) -> ToolCall:
        """From the engine's record."""
        return cls(
            tool=call.tool,
            parameters=call.parameters,
            duration_ms=call.duration_ms,
            summary=_summary(call.result),
            error=call.error,
            cached=call.cached,
            refused=call.refused,
            model_call=call.model_call,
            tokens=call.tokens,
            child=None if call.child is None else ExplorationTrajectory.of(call.child),
        )

    def document(self) -> dict[str, Any]:
        """As JSON."""
        return {
            "tool": self.tool,
            "parameters": dict(self.parameters),
            "duration_ms": self.duration_ms,
            "summary": self.summary,
            "error": self.error,
            "cached": self.cached,
            "refused": self.refused,
            "model_call": self.model_call,
            "tokens": self.tokens,
            "child": None if self.child is None else self.child.document(),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class ExplorationStep:
    """One round: what was thought, which tools were called, what was known by then, where it goes next."""

    iteration: int
    thought: str
    tool_calls: tuple[ToolCall, ...]
    findings_so_far: tuple[str, ...]
    next_direction: str

    @classmethod
    def of(cls, step: Step) -> ExplorationStep:
        """From the engine's record."""
        return cls(
            iteration=step.iteration,
            thought=step.thought,
            tool_calls=tuple(ToolCall.of(call) for call in step.tool_calls),
            findings_so_far=tuple(finding.description for finding in step.findings),
            next_direction=step.next_direction,
        )

    def document(self) -> dict[str, Any]:
        """As JSON."""
        return {
            "iteration": self.iteration,
            "thought": self.thought,
            "tool_calls": [call.document() for call in self.tool_calls],
            "findings_so_far": list(self.findings_so_far),
            "next_direction": self.next_direction,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class ExplorationTrajectory:
    """The whole path of an exploration."""

    steps: tuple[ExplorationStep, ...]
    start_time: datetime
    end_time: datetime
    total_subcalls: int
    cached_hits: int

    @classmethod
    def of(cls, record: Trajectory) -> ExplorationTrajectory:
        """From the engine's record."""
        return cls(
            steps=tuple(ExplorationStep.of(step) for step in record.steps),
            start_time=record.started_at,
            end_time=record.ended_at,
            total_subcalls=record.usage.subcalls,
            cached_hits=record.usage.cached_subcalls,
        )

    def document(self) -> dict[str, Any]:
        """As JSON."""
        return {
            "steps": [step.document() for step in self.steps],
            "start_time": self.start_time.isoformat(),
            "end_time": self.end_time.isoformat(),
            "total_subcalls": self.total_subcalls,
            "cached_hits": self.cached_hits,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class RLMUsage:
    """What an exploration used. A sub-call is a call of a tool that was not answered from the cache.

    `model_calls`, tokens and dollars are of every request that was sent, failed and repeated ones too; cached and
    reasoning tokens are among `total_tokens`.
    """

    subcall_count: int = 0
    cached_subcalls: int = 0
    total_tokens: int = 0
    wall_time_seconds: float = 0.0
    model_calls: int = 0
    usd: float = 0.0
    cached_tokens: int = 0
    reasoning_tokens: int = 0

    @property
    def cache_hit_rate(self) -> float:
        """The share of calls that the cache answered; 0 when nothing was called."""
        calls = self.subcall_count + self.cached_subcalls
        return self.cached_subcalls / calls if calls else 0.0

    def document(self) -> dict[str, Any]:
        """As JSON."""
        return {**asdict(self), "cache_hit_rate": round(self.cache_hit_rate, 4)}


@dataclass(frozen=True, slots=True, kw_only=True)
class RLMResult:
    """What an exploration found. The marks in `synthesis` stand for `citations`: the first is [1].

    `success`: something was found that stands in the tree. `stopped_by` says how the run ended (`STOPPED_BY`), `notes`
    what a reader should know, `capability_requests` what was missing (a grammar), `root` the folder that `file_path`s
    are relative to, and `record` is the engine's own record, from which the run can be played again.
    """

    task_id: str
    success: bool
    findings: tuple[Finding, ...]
    synthesis: str
    trajectory: ExplorationTrajectory
    usage: RLMUsage
    citations: tuple[Citation, ...]
    error: str | None = None
    query: str = ""
    root: str = ""
    stopped_by: str = "done"
    model: str = ""
    notes: tuple[str, ...] = ()
    capability_requests: tuple[Mapping[str, Any], ...] = ()
    audit_file: str | None = None
    record: Trajectory | None = field(default=None, repr=False, compare=False)

    @property
    def files(self) -> tuple[str, ...]:
        """The cited files, the likeliest first."""
        return tuple(dict.fromkeys(citation.file_path for citation in self.citations))

    def document(self) -> dict[str, Any]:
        """As JSON, for a file that `recollect verify` takes; without the engine's record, which the audit has."""
        return {
            "version": VERSION,
            "kind": KIND,
            "task_id": self.task_id,
            "success": self.success,
            "query": self.query,
            "root": self.root,
            "synthesis": self.synthesis,
            "findings": [one.document() for one in self.findings],
            "citations": [one.document() for one in self.citations],
            "trajectory": self.trajectory.document(),
            "usage": self.usage.document(),
            "stopped_by": self.stopped_by,
            "error": self.error,
            "model": self.model,
            "notes": list(self.notes),
            "capability_requests": [dict(one) for one in self.capability_requests],
            "audit_file": self.audit_file,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class ExplorePlan:
    """What an exploration would do, worked out without asking anybody: the most that it may take.

    `likely_files` are those it would begin with; dollars are None when the model has no published price.
    """

    query: str
    root: str
    files: int
    material_tokens: int
    likely_files: tuple[str, ...]
    reasons: tuple[str, ...]
    model: str
    max_subcalls: int
    max_subcalls_per_iteration: int
    timeout_seconds: float
    max_model_calls: int
    max_tokens: int
    max_usd: float | None
    audit_file: str
    notes: tuple[str, ...] = ()

    def document(self) -> dict[str, Any]:
        """As JSON."""
        return {
            name: list(value) if isinstance(value, tuple) else value for name, value in asdict(self).items()
        }


def _summary(result: Any) -> str:
    """The first words of a result; of one that is a table, how much of what."""
    if isinstance(result, Mapping):
        said = result.get("summary")
        if isinstance(said, str):
            return said[:_SUMMARY_CHARS]
        result = "; ".join(f"{name}: {_sized(value)}" for name, value in result.items() if name != "spans")
    text = " ".join(str(result if result is not None else "").split())
    return text if len(text) <= _SUMMARY_CHARS else f"{text[:_SUMMARY_CHARS]}…"


def _sized(value: Any) -> str:
    return str(len(value)) if isinstance(value, list | Mapping) else str(value)[:60]

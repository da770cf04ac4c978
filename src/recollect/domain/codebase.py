"""What an exploration of a codebase gives back: `RLMResult`, and the steps, calls and costs that led to it.

Findings and citations are those of every run (`findings.py`); the engine's own record, which can be played again, is
`trajectory.py`. `ExplorationTrajectory` is that record as people read it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from recollect.domain.codec import Value, encode_fields
from recollect.domain.findings import Citation, Finding
from recollect.domain.trajectory import CallRecord, RunPlan, Step, Trajectory

#: Of the JSON shape of a result.
VERSION = 1
#: What the document of a result calls itself.
KIND = "exploration"
#: Of a call's result, in the steps that people read.
_SUMMARY_CHARS = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCall(Value):
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
        same = ("tool", "parameters", "duration_ms", "error", "cached", "refused", "model_call", "tokens")
        child = None if call.child is None else ExplorationTrajectory.of(call.child)
        fields: Any = {name: getattr(call, name) for name in same}
        return cls(summary=_summary(call.result), child=child, **fields)


@dataclass(frozen=True, slots=True, kw_only=True)
class ExplorationStep(Value):
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


@dataclass(frozen=True, slots=True, kw_only=True)
class ExplorationTrajectory(Value):
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


@dataclass(frozen=True, slots=True, kw_only=True)
class RLMUsage(Value):
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
        """As JSON, with the rate."""
        return {**encode_fields(self), "cache_hit_rate": round(self.cache_hit_rate, 4)}


@dataclass(frozen=True, slots=True, kw_only=True)
class RLMResult(Value):
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
        return {"version": VERSION, "kind": KIND, **encode_fields(self, without={"record"})}


@dataclass(frozen=True, slots=True, kw_only=True)
class ExplorePlan(RunPlan):
    """What an exploration would do, and the most that it may take. `likely_files` are those it would begin with."""

    query: str
    root: str
    files: int
    likely_files: tuple[str, ...]
    reasons: tuple[str, ...]
    max_subcalls: int
    max_subcalls_per_iteration: int
    timeout_seconds: float
    max_tokens: int
    audit_file: str


def _summary(result: Any) -> str:
    """The first words of a result; of one that is a table, how much of what."""
    if isinstance(result, Mapping):
        summary = result.get("summary")
        if isinstance(summary, str):
            return summary[:_SUMMARY_CHARS]
        result = "; ".join(f"{name}: {_sized(value)}" for name, value in result.items() if name != "spans")
    text = " ".join(str(result if result is not None else "").split())
    return text if len(text) <= _SUMMARY_CHARS else f"{text[:_SUMMARY_CHARS]}…"


def _sized(value: Any) -> str:
    return str(len(value)) if isinstance(value, list | Mapping) else str(value)[:60]

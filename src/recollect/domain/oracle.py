"""A consultation as it is asked, answered and remembered: `OracleConsultation`, `OracleConsultResult` and their parts.

Each has one JSON shape (`document()` and `read`) for the store, a file, a page and `recollect verify`. Who answers is
`oracle/`; what a citation is stands in `findings.py`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any, Literal
from uuid import UUID

from recollect.domain.codec import Value, encode_fields
from recollect.domain.findings import Citation
from recollect.domain.trajectory import RunPlan

#: Of the JSON shape of a result.
VERSION = 1

DepthHint = Literal["quick", "thorough", "auto"]
ProcessingMode = Literal["direct", "rlm"]
MAX_PROBLEM_CHARS = 20_000
DEPTH_HINTS: tuple[DepthHint, ...] = ("quick", "thorough", "auto")

#: Said when nothing in the documents answers: an answer, not an error.
NOT_IN_DOCUMENTS = "not in the documents"


class EventType(StrEnum):
    """What a consultation tells while it goes on."""

    ORACLE_CONSULTATION_STARTED = "oracle_consultation_started"
    ORACLE_CONSULTATION_THINKING = "oracle_consultation_thinking"
    ORACLE_CONSULTATION_COMPLETED = "oracle_consultation_completed"
    ORACLE_CONSULTATION_FAILED = "oracle_consultation_failed"
    ORACLE_RLM_TOOL_CALL = "oracle_rlm_tool_call"
    ORACLE_CAPABILITY_REQUESTED = "oracle_capability_requested"


@dataclass(frozen=True, slots=True, kw_only=True)
class OracleEvent(Value):
    """One thing that happened in a consultation. `number` counts from 1 within it; `detail` is JSON."""

    type: EventType
    consultation_id: UUID
    session_id: str
    number: int
    at: datetime
    workflow: str | None = None
    agent: str | None = None
    detail: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class CapabilityRequest(Value):
    """Something that was missing. `raised_by` is `planner` or `engine`.

    `context` says for which problem and document, and which tools were tried.
    """

    id: UUID
    at: datetime
    description: str
    raised_by: str
    context: Mapping[str, Any] = field(default_factory=dict)
    consultation_id: UUID | None = None
    workflow: str | None = None
    agent: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CapabilityGroup:
    """Requests that ask for the same thing in whatever words; `description` is the one nearest to the others."""

    description: str
    count: int
    requests: tuple[CapabilityRequest, ...]

    @property
    def documents(self) -> tuple[str, ...]:
        """The documents that it was missed for."""
        named = (str(request.context["doc_id"]) for request in self.requests if request.context.get("doc_id"))
        return tuple(dict.fromkeys(named))


@dataclass(frozen=True, slots=True, kw_only=True)
class Skipped(Value):
    """Material that was not read, and why."""

    what: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Coverage(Value):
    """How much of the material was read, in tokens: `share` of what there was, from 0 to 1.

    `searched_tokens` is what was looked through by index; `read_tokens` is what was read word by word.
    """

    material_tokens: int
    searched_tokens: int
    read_tokens: int
    documents: int
    files: int
    skipped: tuple[Skipped, ...] = ()

    @property
    def share(self) -> float:
        """The share that was read word by word."""
        if self.material_tokens <= 0:
            return 0.0
        return round(min(self.read_tokens / self.material_tokens, 1.0), 4)

    def document(self) -> dict[str, Any]:
        """As JSON, with the share."""
        return {"share": self.share, **encode_fields(self)}


@dataclass(frozen=True, slots=True, kw_only=True)
class OracleConsultation(Value):
    """The record of one consultation. `advice` is the answer; `model` is empty when no model was used.

    `tokens` are those that models read and wrote, by `<model>:input` and `<model>:output`, and their sum as `total`;
    `cost_usd` is None when a model has no published price. `settings` is what it takes to ask the same again.
    `supported` says whether a citation was accepted as an answer; None with a model, which nobody checked.
    """

    id: UUID
    timestamp: datetime
    problem: str
    advice: str | None
    model: str
    session_id: str
    tokens: Mapping[str, int]
    cost_usd: float | None
    files_consulted: tuple[str, ...]
    outcome: Literal["success", "error"]
    error_message: str | None
    depth_hint: DepthHint
    processing_mode: ProcessingMode
    tools_used: tuple[str, ...] = ()
    recursive_calls: int = 0
    capability_requests: tuple[Mapping[str, Any], ...] = ()
    docs_consulted: tuple[str, ...] = ()
    workflow: str | None = None
    agent: str | None = None
    duration_ms: float = 0.0
    settings: Mapping[str, Any] = field(default_factory=dict)
    supported: bool | None = None

    @property
    def state(self) -> str:
        """What came of it, in words: a consultation that went well may have found nothing."""
        if self.outcome == "error":
            return "failed"
        if self.advice == NOT_IN_DOCUMENTS:
            return NOT_IN_DOCUMENTS
        return "nearest passages" if self.supported is False else "answered"


@dataclass(frozen=True, slots=True, kw_only=True)
class OracleConsultResult(Value):
    """What a consultation gives back. The marks in `answer` stand for `citations`: the first is [1].

    `stopped_by` is `done`, or the limit that ended it early; `found` is False when the documents don't say.
    """

    answer: str
    citations: tuple[Citation, ...]
    coverage: Coverage
    consultation: OracleConsultation
    session: str
    stopped_by: str
    notes: tuple[str, ...] = ()
    found: bool = True

    def document(self) -> dict[str, Any]:
        """As JSON, for a file that `recollect verify` takes."""
        return {"version": VERSION, "kind": "consultation", **encode_fields(self)}


@dataclass(frozen=True, slots=True, kw_only=True)
class DryRun(RunPlan):
    """What a consultation would do, and the most that it may take."""

    problem: str
    depth_hint: DepthHint
    processing_mode: ProcessingMode
    reason: str
    documents: tuple[Mapping[str, Any], ...]
    files: tuple[Mapping[str, Any], ...]
    skipped: tuple[Skipped, ...]
    max_tool_calls: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Verification(Value):
    """What reading every citation of a result again has shown."""

    citations: tuple[Citation, ...]
    quoted: int
    moved: int
    stale: int
    unsupported: int

    @classmethod
    def of(cls, citations: Iterable[Citation]) -> Verification:
        """Citations that were read again, counted by what that has shown."""
        checked = tuple(citations)
        counted = Counter(citation.status.value for citation in checked)
        return cls(
            citations=checked,
            **{name: counted[name] for name in ("quoted", "moved", "stale", "unsupported")},
        )

    @property
    def holds(self) -> bool:
        """Whether everything that is cited is still there, in its place or another."""
        return not (self.stale or self.unsupported)

    def document(self) -> dict[str, Any]:
        """As JSON, with the verdict."""
        return {"holds": self.holds, **encode_fields(self)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Advice(Value):
    """What to call (`oracle_consult` or `explore`) for which recipe or preset, with which arguments.

    `triggers` are those of the recipe or preset that hold, in its own words; `reasons` say what each saw in the task.
    """

    verb: str
    agent: str
    triggers: tuple[str, ...]
    reasons: tuple[str, ...]
    arguments: Mapping[str, Any]

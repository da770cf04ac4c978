"""What is kept of a run: what was chosen, how likely it was, what it cost. No word of a question, none of a memory.

`bare` takes the words out of a trajectory, `run_row` makes the row that `events.EventLog` writes in the background, and
`read_decisions` gives back what training needs. The shape is that of every trajectory (`domain/trajectory.py`), with
empty strings where words were.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any
from uuid import UUID

from recollect.domain.findings import Finding
from recollect.domain.learning import RunOutcome
from recollect.domain.trajectory import CallRecord, Choice, Step, Trajectory
from recollect.learning.rewards import Signal, TrainingOutcome

#: The material of runs that decompose a search.
MEMORY = "memory"
#: So many memories that served make a full success: a question that is decomposed asks for several.
FULL_USE = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """One choice of a planner: what it drew, how likely that was, and what else it could have drawn."""

    template: str
    probability: float
    options: Mapping[str, Mapping[str, float]]


def bare(trajectory: Trajectory) -> Trajectory:
    """The trajectory without any word that came from a question, a memory or an error; ids and numbers stay."""
    return replace(
        trajectory,
        query="",
        steps=tuple(_bare_step(step) for step in trajectory.steps),
        findings=_bare_findings(trajectory),
        error=None if trajectory.error is None else "failed",
        notes=(),
    )


def _bare_step(step: Step) -> Step:
    return replace(
        step,
        thought="",
        next_direction="" if step.choice is None else step.choice.template,
        findings=(),
        tool_calls=tuple(_bare_call(call) for call in step.tool_calls),
        choice=None if step.choice is None else _bare_choice(step.choice),
    )


def _bare_choice(choice: Choice) -> Choice:
    return replace(
        choice,
        features=_numbers(choice.features),
        options={name: _numbers(features) for name, features in choice.options.items()},
    )


def _numbers(features: Mapping[str, float]) -> dict[str, float]:
    """Four digits are all that a feature knows."""
    return {n: round(float(v), 4) if math.isfinite(v) else 0.0 for n, v in features.items()}


def _bare_call(call: CallRecord) -> CallRecord:
    return replace(
        call,
        parameters={},
        result=None,
        error=None if call.error is None else "failed",
        child=None if call.child is None else bare(call.child),
    )


def _bare_findings(trajectory: Trajectory) -> tuple[Finding, ...]:
    """Which memories were found, and how sure that was; an id in other material is no memory's."""
    return tuple(
        Finding(description="", evidence="", source_file=str(id), confidence=finding.confidence)
        for finding in trajectory.findings
        if trajectory.environment == MEMORY and (id := _as_id(finding.source_file)) is not None
    )


def _as_id(text: str | None) -> UUID | None:
    try:
        return UUID(text) if text else None
    except ValueError:
        return None


def found_ids(trajectory: Trajectory) -> set[UUID]:
    """The memories that a run and its children name as findings."""
    if trajectory.environment != MEMORY:
        return set()
    ids = {id for finding in trajectory.findings if (id := _as_id(finding.source_file)) is not None}
    for step in trajectory.steps:
        ids.update(id for finding in step.findings if (id := _as_id(finding.source_file)) is not None)
        for call in step.tool_calls:
            if call.child is not None:
                ids |= found_ids(call.child)
    return ids


def run_row(trajectory: Trajectory, *, query_id: UUID | None, memory_ids: Iterable[UUID]) -> dict[str, Any]:
    """A run as it is stored. `memory_ids` are all memories it met: when one of them is deleted, the run goes."""
    return {
        "run_id": trajectory.id,
        "query_id": query_id,
        "environment": trajectory.environment,
        "planner": trajectory.planner,
        "policy_id": _as_id(trajectory.policy),
        "started_at": trajectory.started_at,
        "stopped_by": trajectory.stopped_by,
        "subcalls": trajectory.usage.subcalls,
        "tokens": trajectory.usage.tokens,
        "memory_ids": sorted(found_ids(trajectory).union(memory_ids), key=str),
        "trajectory": bare(trajectory).document(),
    }


def decisions_of(trajectory: Trajectory) -> list[Decision]:
    """The choices of a run and its children, in the order they were made."""
    return list(_decisions(bare(trajectory).document()))


def read_decisions(document: Mapping[str, Any]) -> list[Decision]:
    """The choices in a stored trajectory; what can't be read is left out."""
    return list(_decisions(document))


def _decisions(document: Mapping[str, Any]) -> Iterator[Decision]:
    for step in document.get("steps") or ():
        choice = step.get("choice")
        if choice and _is_complete(choice):
            yield Decision(
                template=choice["template"], probability=choice["probability"], options=choice["options"]
            )
        for call in step.get("tool_calls") or ():
            if call.get("child"):
                yield from _decisions(call["child"])


def _is_complete(choice: Mapping[str, Any]) -> bool:
    return (
        choice.get("template") in (choice.get("options") or ())
        and 0.0 < choice.get("probability", 0.0) <= 1.0
    )


def outcome_of(row: RunOutcome) -> TrainingOutcome:
    """What came of a run, from what came of its search; what was said of the run itself comes first.

    One memory that served is a success, several are a fuller one. Having been put into a context counts half:
    nobody has judged it.
    """
    if row.outcome is not None:
        quality = 1.0 if row.quality is None else row.quality
        return TrainingOutcome(signal=Signal(row.outcome), quality_score=quality)
    served = 0.5 + 0.5 * min(row.used / FULL_USE, 1.0)
    match row.search_outcome:
        case "feedback":
            return TrainingOutcome(signal=Signal.RESULT_USED, quality_score=row.judged or 0.0)
        case "used":
            return TrainingOutcome(signal=Signal.RESULT_USED, quality_score=served)
        case "context":
            return TrainingOutcome(signal=Signal.RESULT_USED, quality_score=0.5 * served)
        case "refined":
            return TrainingOutcome(signal=Signal.QUERY_REFINED)
        case "ignored":
            return TrainingOutcome(signal=Signal.RESULT_IGNORED)
    return TrainingOutcome(signal=Signal.NO_SIGNAL)

"""The recursive way: the engine's loop over the library's tools, planned by a policy or by a model."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from recollect.domain.findings import Finding
from recollect.domain.rows import Rows
from recollect.domain.trajectory import Trajectory
from recollect.learning.policy import DecompositionPolicy
from recollect.library.environment import LibraryEnvironment
from recollect.library.leads import Leads
from recollect.library.material import Lead
from recollect.library.passages import MAX_TEXT_CHARS
from recollect.oracle.material import ConsultedMaterial
from recollect.runs.budget import ANSWER_TIMEOUT_S, Limits
from recollect.runs.cache import Cache
from recollect.runs.dense import wants_rows
from recollect.runs.engine import run
from recollect.runs.events import Subscriber
from recollect.runs.fan_out import rows_room
from recollect.runs.planners.claims import OBSERVATION
from recollect.runs.planners.contract import Planner
from recollect.runs.planners.learned import LearnedPlanner
from recollect.runs.planners.rows import RowsPlanner
from recollect.runs.quotes import locate

if TYPE_CHECKING:
    from recollect.config import Settings
    from recollect.providers.models import Profile
    from recollect.runs.models import Models

#: What a run without a model may do; its plan takes four steps and about ten calls.
MAX_SUBCALLS = 40
MAX_STEPS = 10
#: Documents that a planning model is told of before it asks.
_LISTED = 30


@dataclass(frozen=True, slots=True, kw_only=True)
class Explored:
    """What a run found, and its record. `unplaced` claims of a model quote what is in no document."""

    findings: tuple[Finding, ...]
    trajectory: Trajectory
    stopped_by: str
    error: str | None
    unplaced: int = 0
    #: Tables that belong into the answer, and those that questions to every section made.
    tables: tuple[Rows, ...] = ()
    mapped: tuple[Rows, ...] = ()


def max_subcalls(profile: Profile | None) -> int:
    """Tool calls of one consultation: four for each step that the model may plan."""
    return MAX_SUBCALLS if profile is None else max(MAX_SUBCALLS, 4 * profile.steps)


def limits_of(
    settings: Settings, profile: Profile | None, *, max_tokens: int | None, seconds: float | None = None
) -> Limits:
    """What one consultation may use: as the settings say, and as far as the planning model goes."""
    tool_s = settings.recursion_sub_call_timeout_s
    most_s = settings.rlm_timeout or ANSWER_TIMEOUT_S
    return Limits(
        max_subcalls=max_subcalls(profile),
        max_subcalls_per_step=12,
        max_steps=MAX_STEPS if profile is None else profile.steps,
        max_depth=settings.recursion_max_depth,
        max_tokens=max_tokens,
        timeout_s=min(most_s, most_s if seconds is None else seconds),
        sub_call_timeout_s=tool_s if profile is None else max(tool_s, settings.model_timeout_s),
    )


async def explore(
    problem: str,
    material: ConsultedMaterial,
    leads: Sequence[Lead],
    *,
    limits: Limits,
    cache: Cache,
    models: Models,
    guidance: str,
    max_rows_tokens: int,
    on_event: Subscriber,
    on_capability: Callable[[str, Mapping[str, Any]], None],
) -> Explored:
    """Run the question. It never raises for what a planner, a model or a tool does."""
    material_tokens = sum(entry.tokens for entry in material.entries.values())
    root_model = models.root
    environment = LibraryEnvironment(
        material,
        leads=Leads(known=tuple(leads)),
        model=models.sub_call,
        quotable=root_model is not None,
        room_chars=MAX_TEXT_CHARS if root_model is None else root_model.profile.result_chars,
        max_rows_tokens=rows_room(material_tokens, max_rows_tokens) if models.sub_call is not None else None,
        on_capability=on_capability,
    )
    planner: Planner
    by_rows = root_model is not None and root_model.profile.shape == "small" and wants_rows(problem)
    if root_model is None:
        # Weights of nought take the environment's actions in their order: the same question reads the same places.
        planner = LearnedPlanner(DecompositionPolicy(name="library"), explore=0.0)
    elif by_rows:
        planner = RowsPlanner()
    else:
        from recollect.runs.planners.model import ModelPlanner

        planner = ModelPlanner(root_model, sub_call_model=models.sub_call)
    ended = await run(
        problem if root_model is None or by_rows else _for_model(problem, material, guidance),
        environment=environment,
        planner=planner,
        limits=limits,
        cache=cache,
        on_event=on_event,
    )
    findings = [found for finding in ended.findings if (found := _anchored(finding, material)) is not None]
    claimed = sum(finding.confidence > 0 for finding in ended.findings)
    return Explored(
        findings=tuple(findings),
        trajectory=ended.trajectory,
        stopped_by=ended.stopped_by,
        error=ended.error,
        unplaced=claimed - sum(finding.confidence > 0 for finding in findings),
        tables=environment.book.answers,
        mapped=environment.book.sources,
    )


def _for_model(problem: str, material: ConsultedMaterial, guidance: str) -> str:
    """The problem with what a planning model needs beside it.

    It can call for documents only by their ids. Their titles are words of the documents, so they stay out.
    """
    entries = list(material.entries.values())
    listed = "\n".join(f"- {entry.doc_id} ({entry.tokens:,} tokens)" for entry in entries[:_LISTED])
    if listed:
        rest = f"\n{len(entries) - _LISTED} more: see list_documents" if len(entries) > _LISTED else ""
        others = ", or any other that list_documents shows" if material.whole_library else ""
        listed = f"The documents to begin with, by doc_id{others}:\n{listed}{rest}"
    parts = [problem, guidance, listed]
    return "\n\n".join(part for part in parts if part)


def _anchored(finding: Finding, material: ConsultedMaterial) -> Finding | None:
    """A claim that quotes an observation, at the lines it was observed from; None when they are nowhere."""
    real = tuple(citation for citation in finding.citations if citation.kind != OBSERVATION)
    if real:
        return _narrowed(replace(finding, citations=real), material)
    for volume in material.opened.values():
        placed = locate(finding.evidence, volume.lines)
        if placed is not None:
            return replace(
                finding, source_file=volume.doc_id, line_range=placed, citations=(volume.cite(*placed),)
            )
    return None


def _narrowed(finding: Finding, material: ConsultedMaterial) -> Finding:
    """A claim at the very lines it quotes, where the passage that was offered has more of them."""
    [cited, *rest] = finding.citations
    volume = material.opened.get(cited.file_path)
    if rest or volume is None or cited.line_start < 1:
        return finding
    placed = locate(
        finding.evidence, volume.lines[cited.line_start - 1 : cited.line_end], first=cited.line_start
    )
    if placed is None or placed == (cited.line_start, cited.line_end):
        return finding
    narrow = replace(volume.cite(*placed), supports=cited.supports)
    return replace(finding, line_range=placed, citations=(narrow,))

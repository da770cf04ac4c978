"""The recursive way: the engine's loop over the library's tools, planned by a policy or by a model."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from recollect.domain.findings import Finding
from recollect.domain.trajectory import Trajectory
from recollect.learning.policy import DecompositionPolicy
from recollect.library.environment import LibraryEnvironment
from recollect.library.extract import locate
from recollect.library.leads import Leads
from recollect.library.material import Lead
from recollect.oracle.material import ConsultedMaterial
from recollect.recursion.budget import Limits
from recollect.recursion.cache import Cache
from recollect.recursion.engine import run
from recollect.recursion.events import Event
from recollect.recursion.planners.claims import OBSERVATION
from recollect.recursion.planners.contract import Planner
from recollect.recursion.planners.learned import LearnedPlanner

if TYPE_CHECKING:
    from recollect.providers.models import ChatModel

#: What a run may do; a plan without a model takes four steps and about ten calls.
MAX_SUBCALLS = 40
MAX_STEPS = 10
TIMEOUT_S = 300.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Explored:
    """What a run found, and its record."""

    findings: tuple[Finding, ...]
    trajectory: Trajectory
    stopped_by: str
    error: str | None


def limits_of(*, max_tokens: int | None, max_depth: int, sub_call_timeout_s: float) -> Limits:
    """What one consultation may use."""
    return Limits(
        max_subcalls=MAX_SUBCALLS,
        max_subcalls_per_step=12,
        max_steps=MAX_STEPS,
        max_depth=max_depth,
        max_tokens=max_tokens,
        timeout_s=TIMEOUT_S,
        sub_call_timeout_s=sub_call_timeout_s,
    )


async def explore(
    problem: str,
    material: ConsultedMaterial,
    leads: Sequence[Lead],
    *,
    limits: Limits,
    cache: Cache,
    root_model: ChatModel | None,
    sub_call_model: ChatModel | None,
    guidance: str,
    on_event: Callable[[Event], None],
    on_capability: Callable[[str, Mapping[str, Any]], None],
) -> Explored:
    """Run the question. It never raises for what a planner, a model or a tool does."""
    environment = LibraryEnvironment(
        material,
        leads=Leads(known=tuple(leads)),
        model=sub_call_model,
        quotable=root_model is not None,
        on_capability=on_capability,
    )
    planner: Planner
    if root_model is None:
        # Weights of nought take the environment's actions in their order: the same question reads the same places.
        planner = LearnedPlanner(DecompositionPolicy(name="library"), explore=0.0)
    else:
        from recollect.recursion.planners.model import ModelPlanner

        planner = ModelPlanner(root_model, sub_call_model=sub_call_model)
    ended = await run(
        _for_model(problem, material, guidance) if root_model is not None else problem,
        environment=environment,
        planner=planner,
        limits=limits,
        cache=cache,
        on_event=on_event,
    )
    findings = [found for one in ended.findings if (found := _anchored(one, material)) is not None]
    return Explored(
        findings=tuple(findings),
        trajectory=ended.trajectory,
        stopped_by=ended.stopped_by,
        error=ended.error,
    )


def _for_model(problem: str, material: ConsultedMaterial, guidance: str) -> str:
    """The problem with what a planning model needs beside it.

    It can call for documents only by their ids. Their titles are words of the documents, so they stay out.
    """
    listed = "\n".join(
        f"- {one.doc_id} ({one.tokens:,} tokens)" for one in list(material.entries.values())[:30]
    )
    parts = [problem, guidance, f"The documents, by doc_id:\n{listed}" if listed else ""]
    return "\n\n".join(part for part in parts if part)


def _anchored(finding: Finding, material: ConsultedMaterial) -> Finding | None:
    """A claim that quotes an observation, at the lines it was observed from; None when they are nowhere."""
    real = tuple(one for one in finding.citations if one.kind != OBSERVATION)
    if real:
        return replace(finding, citations=real)
    for volume in material.opened.values():
        placed = locate(finding.evidence, volume.lines)
        if placed is not None:
            return replace(
                finding, source_file=volume.doc_id, line_range=placed, citations=(volume.cite(*placed),)
            )
    return None

"""What the loop of a consultation goes by: its limits, who plans it, and what a planning model is told."""

from __future__ import annotations

from typing import TYPE_CHECKING

from recollect.learning.policy import DecompositionPolicy
from recollect.oracle.material import ConsultedMaterial
from recollect.runs.budget import Limits
from recollect.runs.planners.contract import Planner
from recollect.runs.planners.learned import LearnedPlanner
from recollect.runs.planners.rows import RowsPlanner
from recollect.text.aim import wants_rows

if TYPE_CHECKING:
    from recollect.providers.models import Profile
    from recollect.runs.models import Models

#: What a run without a model may do; its plan takes four steps and about ten calls.
LIMITS = Limits(max_subcalls=40, max_subcalls_per_step=12, max_steps=10)
#: Documents that a planning model is told of before it asks.
_LISTED = 30


def max_subcalls(profile: Profile | None) -> int:
    """Tool calls of one consultation: four for each step that the model may plan."""
    return LIMITS.max_subcalls if profile is None else max(LIMITS.max_subcalls, 4 * profile.steps)


def own_planner(problem: str, models: Models) -> Planner | None:
    """The planner that asks no model; None where the model plans."""
    if models.profile is None:
        # Weights of nought take the environment's actions in their order: the same question reads the same places.
        return LearnedPlanner(DecompositionPolicy(name="library"), explore=0.0)
    return RowsPlanner() if models.profile.shape == "small" and wants_rows(problem) else None


def listed(material: ConsultedMaterial) -> str:
    """The documents that a planning model is told of: it can call for them only by their ids.

    Their titles are words of the documents, so they stay out.
    """
    entries = list(material.entries.values())
    if not entries:
        return ""
    lines = "\n".join(f"- {entry.doc_id} ({entry.tokens:,} tokens)" for entry in entries[:_LISTED])
    rest = f"\n{len(entries) - _LISTED} more: see list_documents" if len(entries) > _LISTED else ""
    others = ", or any other that list_documents shows" if material.whole_library else ""
    return f"The documents to begin with, by doc_id{others}:\n{lines}{rest}"

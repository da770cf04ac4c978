"""What a search would take at most of the model that plans it, without asking it: needs no key and writes nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from recollect.domain.trajectory import RunPlan
from recollect.retrieval.pipeline import caller_of
from recollect.retrieval.recursive.executor import MAX_SUBCALLS
from recollect.retrieval.request import Routing, SearchRequest
from recollect.runs.bounds import Bound, bound_of, bound_run
from recollect.runs.models import chosen_name
from recollect.runs.pieces import estimated_rows, rows_room
from recollect.storage import reads

if TYPE_CHECKING:
    from recollect.domain.tenancy import TenantContext
    from recollect.providers.models import Profile
    from recollect.workspace import Workspace


async def dry_run(workspace: Workspace, context: TenantContext, request: SearchRequest) -> RunPlan:
    """Nothing where one look answers, or where no `root_model` is set: then a search asks no model."""
    settings = workspace.settings
    async with workspace.store.transaction(context) as tx:
        caller = await caller_of(tx, request)
        tokens = await reads.memories_tokens(tx, now=request.now)
    planned = settings.root_model is not None and Routing.of(settings, request).leaves(caller)
    model = (chosen_name(settings) or "") if planned else ""

    def measure(planner: Profile, reader: Profile) -> Bound:
        run = bound_run(planner, reader, subcalls=MAX_SUBCALLS, material_tokens=tokens)
        return run + estimated_rows(reader, rows_room(tokens, settings.budget.rows_max_tokens))

    bound, notes = bound_of(model, settings, measure)
    return RunPlan(model=model, material_tokens=tokens, notes=tuple(notes), **bound.limits())

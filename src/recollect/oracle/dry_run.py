"""What a consultation would read and cost at most, without asking a model: needs no key and writes nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from recollect.domain.oracle import DryRun, ProcessingMode
from recollect.oracle.direct import PROMPT_TOKENS, direct_output, direct_room
from recollect.oracle.gather import decide, gather
from recollect.oracle.recursive import max_subcalls
from recollect.oracle.request import ConsultRequest
from recollect.oracle.shelves import Shelves
from recollect.providers.models import Profile, profile_of
from recollect.providers.tokens import count_tokens
from recollect.runs.bounds import Bound, bound_of, bound_run, priced
from recollect.runs.models import chosen_name
from recollect.runs.pieces import estimated_rows, rows_room
from recollect.text.aim import wants_rows

if TYPE_CHECKING:
    from recollect.domain.tenancy import TenantContext
    from recollect.workspace import Workspace

_SHOWN = 200


async def dry_run(workspace: Workspace, context: TenantContext, request: ConsultRequest) -> DryRun:
    """Gather and measure, then say what the rest may take."""
    settings = workspace.settings
    gathered = await gather(workspace, context, request, Shelves(workspace, context))
    mode, reason = decide(request, gathered.tokens, settings)
    model = chosen_name(settings, request.model) or ""
    most = settings.budget.rows_max_tokens
    bound, notes = bound_of(
        model,
        settings,
        lambda planner, reader: _bound(
            request, mode, gathered.tokens, planner, reader, rows_room(gathered.mapped_tokens(planner), most)
        ),
        given=request.model,
    )
    if request.doc_ids is None and not gathered.documents:
        notes.append("the library has nothing about it")
    return DryRun(
        problem=request.problem,
        depth_hint=request.depth_hint,
        processing_mode=mode,
        reason=reason,
        model=model,
        documents=tuple(
            {"doc_id": document.doc_id, "title": document.title, "tokens": document.tokens}
            for document in gathered.documents[:_SHOWN]
        ),
        files=tuple({"path": file.doc_id, "tokens": file.tokens} for file in gathered.files[:_SHOWN]),
        skipped=gathered.skipped,
        material_tokens=gathered.tokens,
        max_tool_calls=0
        if mode == "direct"
        else max_subcalls(profile_of(model, settings) if model else None),
        notes=tuple(notes),
        **bound.limits(),
    )


def _bound(
    request: ConsultRequest,
    mode: ProcessingMode,
    material_tokens: int,
    planner: Profile,
    reader: Profile,
    rows_tokens: int,
) -> Bound:
    """The most requests to a model, tokens to it and tokens from it."""
    if mode == "direct":
        room = min(direct_room(planner, request.max_input_tokens), max(material_tokens, 1))
        input_tokens = planner.counted(room + PROMPT_TOKENS + count_tokens(request.problem))
        return priced(planner, 1, input_tokens, planner.output_tokens(direct_output(planner)))
    run = bound_run(
        planner,
        reader,
        subcalls=max_subcalls(planner),
        material_tokens=material_tokens,
        max_tokens=request.max_input_tokens,
    )
    if not wants_rows(request.problem):
        return run
    # Every section is asked, as far as the limit goes; a model that plans badly does nothing else.
    rows = estimated_rows(reader, rows_tokens)
    return rows if planner.shape == "small" else run + rows

"""What a consultation would read and cost at most, without asking a model: needs no key and writes nothing."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from recollect.domain.oracle import DryRun, ProcessingMode
from recollect.library.asking import MAX_INPUT_TOKENS as PART_TOKENS
from recollect.library.asking import MAX_OUTPUT_TOKENS as PART_OUTPUT_TOKENS
from recollect.oracle.decide import DIRECT_TOKENS, decide
from recollect.oracle.direct import MAX_OUTPUT_TOKENS as DIRECT_OUTPUT_TOKENS
from recollect.oracle.direct import PROMPT_TOKENS
from recollect.oracle.gather import gather
from recollect.oracle.recursive import MAX_STEPS, MAX_SUBCALLS
from recollect.oracle.request import ConsultRequest
from recollect.oracle.shelves import Shelves
from recollect.providers.models.contract import MAX_OUTPUT_TOKENS
from recollect.providers.prices import cost_usd, find_price
from recollect.providers.tokens import count_tokens
from recollect.recursion.router import ComplexityRouter

if TYPE_CHECKING:
    from recollect.domain.tenancy import TenantContext
    from recollect.workspace import Workspace

#: A planner shows this much of the run in one request, and its instructions and tools come on top.
_PLAN_TOKENS = 6_000 + 2_000
#: A step whose answer can't be used is asked for again, twice.
_PLAN_ATTEMPTS = 3
#: Findings of the last request, forty of them.
_SYNTHESIS_TOKENS = 8_000
_SYNTHESIS_OUTPUT_TOKENS = 800
#: A model's own vocabulary cuts texts a little differently than ours.
_MARGIN = 1.25
_SHOWN = 200


async def dry_run(workspace: Workspace, context: TenantContext, request: ConsultRequest) -> DryRun:
    """Gather and measure, then say what the rest may take."""
    settings = workspace.settings
    embedder = None
    if request.working_dir is not None:
        embedder = (await workspace.open_space(context)).embedder
    gathered = await gather(
        request, Shelves(workspace, context), embedder=embedder, allowed_roots=settings.oracle_roots
    )
    mode, reason = decide(
        request.problem,
        depth_hint=request.depth_hint,
        tokens=gathered.tokens,
        router=ComplexityRouter(threshold=settings.recursion_threshold),
    )
    model = request.model or settings.root_model or settings.model or ""
    calls, asked, said = _bound(request, mode, gathered.tokens) if model else (0, 0, 0)
    notes = []
    usd: float | None = 0.0
    if model:
        usd = (
            None
            if find_price(model) is None
            else round(cost_usd(model, input_tokens=asked, output_tokens=said), 6)
        )
        if usd is None:
            notes.append(f"no price is published for {model!r}")
    if request.doc_ids is None and not gathered.documents:
        notes.append("the library has nothing about it")
    return DryRun(
        problem=request.problem,
        depth_hint=request.depth_hint,
        processing_mode=mode,
        reason=reason,
        model=model,
        documents=tuple(
            {"doc_id": one.doc_id, "title": one.title, "tokens": one.tokens}
            for one in gathered.documents[:_SHOWN]
        ),
        files=tuple({"path": one.doc_id, "tokens": one.tokens} for one in gathered.files[:_SHOWN]),
        skipped=gathered.skipped,
        material_tokens=gathered.tokens,
        max_tool_calls=0 if mode == "direct" else MAX_SUBCALLS,
        max_model_calls=calls,
        max_input_tokens=asked,
        max_output_tokens=said,
        max_usd=usd,
        notes=tuple(notes),
    )


def _bound(request: ConsultRequest, mode: ProcessingMode, material_tokens: int) -> tuple[int, int, int]:
    """The most calls of a model, tokens to it and tokens from it."""
    if mode == "direct":
        room = min(request.max_input_tokens or DIRECT_TOKENS, DIRECT_TOKENS, max(material_tokens, 1))
        asked = room + PROMPT_TOKENS + count_tokens(request.problem)
        return 1, math.ceil(asked * _MARGIN), DIRECT_OUTPUT_TOKENS
    plans = MAX_STEPS * _PLAN_ATTEMPTS
    asked = plans * _PLAN_TOKENS + MAX_SUBCALLS * PART_TOKENS
    said = plans * MAX_OUTPUT_TOKENS + MAX_SUBCALLS * PART_OUTPUT_TOKENS
    if request.max_input_tokens is not None:
        # The run's limit is of tokens to and from the model together.
        asked, said = min(asked, request.max_input_tokens), min(said, request.max_input_tokens)
    asked = math.ceil(asked * _MARGIN) + _SYNTHESIS_TOKENS
    return plans + MAX_SUBCALLS + 1, asked, said + _SYNTHESIS_OUTPUT_TOKENS

"""What an exploration would do and cost at most, without asking a model: needs no key and writes no record."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from recollect.codebase.asking import MAX_INPUT_TOKENS as PART_TOKENS
from recollect.codebase.audit import audit_path
from recollect.codebase.budget import MAX_STEPS
from recollect.codebase.mapping import outline
from recollect.codebase.models import chosen_name
from recollect.codebase.request import ExploreRequest
from recollect.codebase.tool_parameters import MAX_ANSWER_TOKENS, Outline
from recollect.codebase.tree import SourceTree, open_tree
from recollect.codebase.triggers import BYTES_PER_TOKEN, should_explore
from recollect.codebase.view import View
from recollect.domain.codebase import ExplorePlan
from recollect.providers.models.contract import MAX_OUTPUT_TOKENS
from recollect.providers.prices import TOKEN_MARGIN, cost_usd, find_price

if TYPE_CHECKING:
    from recollect.codebase.explore import RLMOrchestrator

#: A planner shows this much of the run in one request, and its instructions and tools come on top.
_PLAN_TOKENS = 6_000 + 2_500
#: A step whose answer can't be used is asked for again, twice.
_PLAN_ATTEMPTS = 3
#: Findings of the last request, and what it may say.
_SYNTHESIS_TOKENS = 8_000
_SYNTHESIS_OUTPUT_TOKENS = 800


async def dry_run(
    orchestrator: RLMOrchestrator, request: ExploreRequest, model: str | None = None
) -> ExplorePlan:
    """Look at the tree, then say what the rest may take."""
    settings = orchestrator.settings
    tree = await asyncio.to_thread(open_tree, orchestrator.root, allowed_roots=settings.oracle_roots)
    files = await asyncio.to_thread(tree.files)
    tokens = round(sum(file.size for file in files) / BYTES_PER_TOKEN)
    likely = await asyncio.to_thread(_likely, orchestrator, tree, request)
    name = chosen_name(settings, model) or ""
    notes = [] if files else ["the tree has no file that can be read"]
    calls, most = _bound(request) if name else (0, 0)
    usd: float | None = 0.0
    if name:
        usd = None if find_price(name) is None else _usd(name, most)
        if usd is None:
            notes.append(f"no price is published for {name!r}")
        elif request.max_usd is not None:
            usd = min(usd, request.max_usd)
    return ExplorePlan(
        query=request.query,
        root=str(tree.root),
        files=len(files),
        material_tokens=tokens,
        likely_files=likely,
        reasons=should_explore(request.query, context_tokens=tokens, files=likely[:0]).reasons,
        model=name,
        max_subcalls=request.max_subcalls,
        max_subcalls_per_iteration=request.max_subcalls_per_iteration,
        timeout_seconds=request.timeout_seconds,
        max_model_calls=calls,
        max_tokens=most,
        max_usd=usd,
        audit_file=str(audit_path(orchestrator.audit_dir, request.task_id)),
        notes=tuple(notes),
    )


def _likely(orchestrator: RLMOrchestrator, tree: SourceTree, request: ExploreRequest) -> tuple[str, ...]:
    from recollect.codebase.explore import index_dir
    from recollect.codebase.index import CodeIndex

    index = CodeIndex.open(tree, index_dir(orchestrator.settings), deadline_s=request.timeout_seconds)
    try:
        wanted = Outline(focus=request.query, hints=request.context_hints)
        return tuple(row["path"] for row in outline(View(tree, index), wanted).value["files"])
    finally:
        index.close()


def _bound(request: ExploreRequest) -> tuple[int, int]:
    """The most requests to a model, and tokens to and from it."""
    steps = min(MAX_STEPS, request.max_subcalls)
    plans = steps * _PLAN_ATTEMPTS
    asked = plans * _PLAN_TOKENS + request.max_subcalls * PART_TOKENS
    said = plans * MAX_OUTPUT_TOKENS + request.max_subcalls * MAX_ANSWER_TOKENS
    most = round(asked * TOKEN_MARGIN) + said
    if request.max_tokens is not None:
        most = min(most, request.max_tokens)
    return plans + request.max_subcalls + 1, most + _SYNTHESIS_TOKENS + _SYNTHESIS_OUTPUT_TOKENS


def _usd(name: str, tokens: int) -> float:
    """As if a tenth of all tokens were written: a planner's answer is short against what it reads."""
    written = tokens // 10
    return round(cost_usd(name, input_tokens=tokens - written, output_tokens=written), 6)

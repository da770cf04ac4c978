"""What an exploration would do and cost at most, without asking a model: needs no key and writes no record."""

from __future__ import annotations

import asyncio
import sqlite3
from typing import TYPE_CHECKING

from recollect.codebase.audit import audit_path
from recollect.codebase.outline import outline
from recollect.codebase.request import ExploreRequest
from recollect.codebase.tool_parameters import Outline
from recollect.codebase.tree import SourceTree, open_tree
from recollect.codebase.triggers import BYTES_PER_TOKEN, should_explore
from recollect.codebase.view import View
from recollect.domain.codebase import ExplorePlan
from recollect.runs.bounds import bound_of, bound_run
from recollect.runs.models import chosen_name

if TYPE_CHECKING:
    from recollect.codebase.explore import RLMOrchestrator


async def dry_run(
    orchestrator: RLMOrchestrator, request: ExploreRequest, model: str | None = None
) -> ExplorePlan:
    """Look at the tree, then say what the rest may take."""
    settings = orchestrator.settings
    tree = await asyncio.to_thread(open_tree, orchestrator.root, allowed_roots=settings.roots)
    files = await asyncio.to_thread(tree.files)
    tokens = round(sum(file.size for file in files) / BYTES_PER_TOKEN)
    name = chosen_name(settings, model) or ""
    bound, notes = bound_of(
        name,
        settings,
        lambda *profiles: bound_run(
            *profiles, subcalls=request.max_subcalls, material_tokens=tokens, max_tokens=request.max_tokens
        ),
        given=model,
        max_usd=request.max_usd,
    )
    likely = await asyncio.to_thread(_likely, orchestrator, tree, request, notes)
    if not files:
        notes.append("the tree has no file that can be read")
    most = bound.input_tokens + bound.output_tokens
    if request.max_tokens is not None:
        most = min(most, request.max_tokens)
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
        max_tokens=most,
        audit_file=str(audit_path(orchestrator.audit_dir, request.task_id)),
        notes=tuple(notes),
        **bound.limits(),
    )


def _likely(
    orchestrator: RLMOrchestrator, tree: SourceTree, request: ExploreRequest, notes: list[str]
) -> tuple[str, ...]:
    """The files an exploration would look at first; without its index they are not known, and a note says so."""
    from recollect.codebase.index import CodeIndex

    try:
        with CodeIndex.open(tree, orchestrator.index_dir, deadline_s=request.timeout_seconds) as index:
            wanted = Outline(focus=request.query, hints=request.context_hints)
            return tuple(row["path"] for row in outline(View(tree, index), wanted).value["files"])
    except (OSError, sqlite3.Error) as error:
        notes.append(f"the index can't be used ({error}); likely files are not known")
        return ()

"""What a consultation leaves: how much of the material was read, its record, and both in the database."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

from recollect.domain.oracle import Coverage, OracleConsultation, OracleConsultResult, Skipped
from recollect.domain.trajectory import Trajectory
from recollect.library.material import FILE
from recollect.oracle.gather import Gathered
from recollect.storage import oracle as storage

if TYPE_CHECKING:
    from recollect.oracle.consult import Consultation

#: Document, first line, last line.
Span = tuple[str, int, int]

_SKIPPED_SHOWN = 20
_READING_TOOLS = ("query_subset", "summarize")


def coverage_of(gathered: Gathered, spans: Sequence[Span]) -> Coverage:
    """The share of the tokens that was read, and what was not, with the reason. A line counts once."""
    material, consulted, tokens = gathered.material, gathered.documents, gathered.tokens
    by_document: dict[str, set[int]] = {}
    for doc_id, first, last in spans:
        by_document.setdefault(doc_id, set()).update(range(first, last + 1))
    read_tokens = 0
    for doc_id, lines in by_document.items():
        volume = material.opened.get(doc_id)
        if volume is not None:
            # Counting the tokens of every piece would take longer than reading it.
            chars = sum(len(volume.lines[line - 1]) + 1 for line in lines if line <= len(volume.lines))
            total = sum(len(line) + 1 for line in volume.lines)
            read_tokens += round(volume.tokens * chars / max(total, 1))
    unread = [entry for entry in material.entries.values() if entry.doc_id not in by_document]
    skipped = [*gathered.skipped]
    skipped += [
        Skipped(what=entry.doc_id, reason="searched, and nothing in it spoke about the problem")
        for entry in unread[:_SKIPPED_SHOWN]
    ]
    if len(unread) > _SKIPPED_SHOWN:
        more = f"{len(unread) - _SKIPPED_SHOWN} more"
        skipped.append(Skipped(what=more, reason="searched, like those above"))
    searched = tokens
    if gathered.library is not None:
        documents, all_tokens = gathered.library
        searched += max(all_tokens - sum(document.tokens for document in consulted), 0)
        if documents > len(consulted):
            what = f"{documents - len(consulted)} other documents of the library"
            skipped.append(Skipped(what=what, reason="searched, and others came nearer to the problem"))
    return Coverage(
        material_tokens=tokens,
        searched_tokens=searched,
        read_tokens=read_tokens,
        documents=len(consulted),
        files=len(gathered.files),
        skipped=tuple(skipped),
    )


def tools_used(trajectory: Trajectory | None) -> tuple[str, ...]:
    """The tools that a run called, each once."""
    calls = () if trajectory is None else trajectory.calls()
    return tuple(dict.fromkeys(call.tool for call in calls if not call.refused))


def record_of(
    run: Consultation,
    advice: str | None,
    error: BaseException | None = None,
    *,
    supported: bool | None = None,
) -> OracleConsultation:
    """The record of a consultation as far as it came."""
    request, spent = run.request, run.purse.spent
    consulted = list(dict.fromkeys(doc_id for doc_id, _, _ in run.spans))
    entries = run.gathered.material.entries if run.gathered else {}
    files = [name for name in consulted if name in entries and entries[name].kind == FILE]
    calls = list(run.trajectory.calls()) if run.trajectory else []
    return OracleConsultation(
        id=run.id,
        timestamp=run.at,
        problem=request.problem,
        advice=advice,
        model=run.models.name,
        session_id=request.session,
        tokens=run.purse.tokens_by_model(),
        cost_usd=None if spent.unpriced else spent.usd,
        files_consulted=tuple(files),
        outcome="success" if error is None else "error",
        error_message=None if error is None else str(error)[:1_000],
        depth_hint=request.depth_hint,
        processing_mode=run.mode,
        tools_used=tools_used(run.trajectory),
        recursive_calls=sum(call.tool in _READING_TOOLS and not call.refused for call in calls)
        + sum(call.child is not None for call in calls),
        capability_requests=tuple(request.document() for request in run.requests),
        docs_consulted=tuple(name for name in consulted if name not in files),
        workflow=request.workflow,
        agent=request.agent,
        duration_ms=round((time.monotonic() - run.began) * 1_000, 3),
        settings=request.settings(),
        supported=None if run.models.name else supported,
    )


async def store(
    run: Consultation, consultation: OracleConsultation, result: OracleConsultResult | None
) -> None:
    """Keep it, with what was told and what was missed."""
    entries = run.gathered.material.entries if run.gathered else {}
    await run.keep(
        lambda tx, user: storage.insert_consultation(
            tx,
            consultation,
            user=user,
            documents=[entries[name].key for name in consultation.docs_consulted if name in entries],
            result=result,
            events=run.announcer.said if run.announcer else (),
            requests=run.requests,
            answers=run.answers,
        )
    )

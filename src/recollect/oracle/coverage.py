"""How much of the material was read: from the lines that the calls of a run gave back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from recollect.domain.oracle import Coverage, Skipped
from recollect.domain.trajectory import CallRecord, Trajectory
from recollect.oracle.gather import Gathered

#: Document, first line, last line.
Span = tuple[str, int, int]

_SKIPPED_SHOWN = 20


def coverage_of(gathered: Gathered, spans: Sequence[Span]) -> Coverage:
    """The share of the tokens that was read, and what was not, with the reason. A line counts once."""
    material = gathered.material
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
        Skipped(what=one.doc_id, reason="searched, and nothing in it spoke about the problem")
        for one in unread[:_SKIPPED_SHOWN]
    ]
    if len(unread) > _SKIPPED_SHOWN:
        more = f"{len(unread) - _SKIPPED_SHOWN} more"
        skipped.append(Skipped(what=more, reason="searched, like those above"))
    searched = gathered.tokens
    if gathered.library is not None:
        documents, tokens = gathered.library
        found = sum(document.tokens for document in gathered.documents)
        searched += max(tokens - found, 0)
        if documents > len(gathered.documents):
            what = f"{documents - len(gathered.documents)} other documents of the library"
            skipped.append(Skipped(what=what, reason="searched, and others came nearer to the problem"))
    return Coverage(
        material_tokens=gathered.tokens,
        searched_tokens=searched,
        read_tokens=read_tokens,
        documents=len(gathered.documents),
        files=len(gathered.files),
        skipped=tuple(skipped),
    )


def spans_read(trajectory: Trajectory) -> list[Span]:
    """The lines that calls gave back, as their results name them."""
    spans = []
    for call in calls_of(trajectory):
        result: Any = call.result
        for span in result.get("spans", ()) if isinstance(result, Mapping) else ():
            spans.append((str(span[0]), int(span[1]), int(span[2])))
    return spans


def calls_of(trajectory: Trajectory) -> list[CallRecord]:
    """All calls of a run and of those it started."""
    calls = [call for step in trajectory.steps for call in step.tool_calls]
    return [*calls, *(below for call in calls if call.child for below in calls_of(call.child))]

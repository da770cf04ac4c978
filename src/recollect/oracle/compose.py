"""From findings to the answer: the distinct ones, in order, checked against the documents as they are now.

Nothing is returned that reading again does not confirm. When nothing found is good enough, the answer is that the
documents do not say.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from recollect.domain.context import quoted
from recollect.domain.findings import Citation, Finding
from recollect.domain.oracle import NOT_IN_DOCUMENTS
from recollect.domain.rows import Rows
from recollect.library.leads import parts_of
from recollect.library.material import FILE, Volume
from recollect.library.prose import answer_of
from recollect.runs.tables import write_tables
from recollect.text.sentences import split_sentences

if TYPE_CHECKING:
    from recollect.oracle.consult import Consultation

#: What an answer without a model says in its first lines, and what else it names; more is a search, not an answer.
MAX_ANSWERS, MAX_RELATED = 2, 3
MAX_FINDINGS = MAX_ANSWERS + MAX_RELATED
#: A second place is part of the answer when it is about as sure as the first.
_AS_SURE = 0.9
RELATED = "See also:"
#: Of the surest; what is further off is not named.
_FAR_OFF = 0.25


@dataclass(frozen=True, slots=True, kw_only=True)
class Answered:
    """The answer and what it rests on."""

    text: str
    citations: tuple[Citation, ...]
    found: bool


def distinct(findings: Sequence[Finding], *, limit: int | None = MAX_FINDINGS) -> tuple[Finding, ...]:
    """The surest first; one whose lines another one has is left out."""
    kept: list[Finding] = []
    for finding in sorted(findings, key=lambda one: -one.confidence):
        least = _FAR_OFF * kept[0].confidence if kept else 0.0
        if limit is not None and (len(kept) >= limit or finding.confidence < least):
            break
        if not any(_overlap(finding, other) for other in kept):
            kept.append(finding)
    return tuple(kept)


def with_tables(answered: Answered, tables: Sequence[Rows]) -> Answered:
    """An answer with tables below it; one that found nothing is the tables alone."""
    if not tables:
        return answered
    before = answered if answered.found else replace(answered, text="", citations=())
    text, citations = write_tables(tables, before.citations)
    return replace(
        before, text="\n\n".join(filter(None, [before.text, text])), citations=citations, found=True
    )


def texts_of(volumes: Mapping[str, Volume]) -> dict[tuple[str, str], str]:
    """The texts of documents, as citations name them."""
    return {(volume.kind, volume.doc_id): "\n".join(volume.lines) for volume in volumes.values()}


async def compose(asked: Consultation, findings: Sequence[Finding], *, threshold: float) -> Answered:
    """The answer of findings that stand.

    Without a model the best finding must reach the threshold, or the documents do not say.
    """
    model = asked.speaker()
    if not findings or (not asked.spoken and model is None and findings[0].confidence < threshold):
        asked.notes += _nearest(findings)
        return Answered(text=NOT_IN_DOCUMENTS, citations=(), found=False)
    if asked.spoken:
        return _spoken(findings)
    made = await asked.put_into_words(findings, model)
    if made is not None:
        return Answered(text=made.text, citations=made.citations, found=True)
    if model is None:
        # What is listed as it stands must answer by itself.
        findings = [finding for finding in findings if finding.confidence >= threshold]
    return _quoted(asked.question, findings)


def _spoken(findings: Sequence[Finding]) -> Answered:
    """The model's own passages, in its order, each with the marks of its citations."""
    citations: dict[Citation, int] = {}
    parts = []
    for finding in findings:
        numbers = [citations.setdefault(citation, len(citations) + 1) for citation in finding.citations]
        mark = "".join(f"[{number}]" for number in numbers)
        own_line = finding.description.endswith(("|", "```"))
        parts.append(f"{finding.description}{chr(10) if own_line else ' '}{mark}")
    return Answered(text="\n\n".join(parts), citations=tuple(citations), found=bool(parts))


def _quoted(problem: str, findings: Sequence[Finding]) -> Answered:
    """What the documents say in their own sentences: the answer, then what else bears on it and where."""
    sides = min(max(len(parts_of(problem)), 1), MAX_FINDINGS)
    lines: list[str] = []
    citations: list[Citation] = []
    answers = 0
    for finding in findings[:MAX_FINDINGS]:
        place, _, words = finding.description.partition(":\n")
        place, said = quoted(place), quoted(answer_of(problem, split_sentences(words or place)))
        if not said:
            continue
        sure = finding.confidence >= _AS_SURE * findings[0].confidence
        citations += finding.citations
        mark = "".join(f"[{len(citations) - left}]" for left in reversed(range(len(finding.citations))))
        if answers == len(lines) and (answers < sides or (sure and answers < MAX_ANSWERS)):
            answers += 1
            lines.append(f"{said} {mark}")
            continue
        if answers == len(lines):
            lines.append(RELATED)
        if len(lines) - answers > MAX_RELATED:
            del citations[-len(finding.citations) :]
            break
        lines.append(f"- {place}: {said} {mark}" if words else f"- {said} {mark}")
    return Answered(text="\n".join(lines), citations=tuple(citations), found=bool(lines))


def _nearest(findings: Sequence[Finding]) -> tuple[str, ...]:
    """Where a reader might look all the same."""
    places = []
    for finding in findings[:3]:
        first, last = finding.line_range or (0, 0)
        kind = "file" if finding.citations and finding.citations[0].kind == FILE else "document"
        places.append(f"{kind} {finding.source_file!r} lines {first} to {last}")
    return (f"the nearest places are {'; '.join(places)}",) if places else ()


def _overlap(one: Finding, other: Finding) -> bool:
    if one.source_file != other.source_file or one.line_range is None or other.line_range is None:
        return False
    if one.description != other.description and one.description not in other.description:
        inside = other.line_range[0] <= one.line_range[0] and one.line_range[1] <= other.line_range[1]
        around = one.line_range[0] <= other.line_range[0] and other.line_range[1] <= one.line_range[1]
        return inside or around
    return one.line_range[0] <= other.line_range[1] and other.line_range[0] <= one.line_range[1]

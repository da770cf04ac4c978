"""From findings to the answer: the distinct ones, in order, checked against the documents as they are now.

Nothing is returned that reading again does not confirm. When nothing found is good enough, the answer is that the
documents do not say.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from recollect.domain.findings import Citation, CitationStatus, Finding
from recollect.domain.oracle import NOT_IN_DOCUMENTS
from recollect.errors import ModelError
from recollect.library.extract import answering_lines
from recollect.library.material import FILE, Volume
from recollect.recursion.citations import verify_findings
from recollect.recursion.synthesis import synthesise, synthesise_with_model

if TYPE_CHECKING:
    from recollect.providers.models import ChatModel

#: What an answer without a model lists; more is a search, not an answer.
MAX_FINDINGS = 8
#: The first few are shown unless they are far off; those behind them must be nearly as good as the best.
_FIRST = 5
_FAR_OFF, _NEARLY = 0.25, 0.6
#: Of one finding in an answer without a model, and of the answer; eight findings fit.
_SHOWN_CHARS = 700
_SHOWN_SENTENCES = 3
_MAX_CHARS = 8_000
_HOLDS = frozenset({CitationStatus.VERIFIED, CitationStatus.MOVED})


@dataclass(frozen=True, slots=True, kw_only=True)
class Answered:
    """The answer and what it rests on."""

    text: str
    citations: tuple[Citation, ...]
    found: bool
    notes: tuple[str, ...] = ()


def distinct(findings: Sequence[Finding], *, limit: int | None = MAX_FINDINGS) -> tuple[Finding, ...]:
    """The surest first; one whose lines another one has is left out."""
    kept: list[Finding] = []
    for finding in sorted(findings, key=lambda one: -one.confidence):
        best = kept[0].confidence if kept else 0.0
        least = best * (_FAR_OFF if len(kept) < _FIRST else _NEARLY)
        if limit is not None and (len(kept) >= limit or finding.confidence < least):
            break
        if not any(_overlap(finding, other) for other in kept):
            kept.append(finding)
    return tuple(kept)


def checked(findings: Sequence[Finding], texts: Mapping[tuple[str, str], str]) -> tuple[Finding, ...]:
    """Those whose every citation stands in the documents, now."""
    read_again = verify_findings(findings, lambda kind, path: texts.get((kind, path)))
    return tuple(
        finding
        for finding in read_again
        if finding.citations and all(one.status in _HOLDS for one in finding.citations)
    )


def texts_of(volumes: Mapping[str, Volume]) -> dict[tuple[str, str], str]:
    """The texts of documents, as citations name them."""
    return {(one.kind, one.doc_id): "\n".join(one.lines) for one in volumes.values()}


async def compose(
    problem: str, findings: Sequence[Finding], *, threshold: float, model: ChatModel | None, spoken: bool
) -> Answered:
    """The answer. `spoken`: the findings are a model's sentences, made for this answer already.

    Without a model the best finding must reach the threshold, or the documents do not say.
    """
    if not findings or (not spoken and model is None and findings[0].confidence < threshold):
        return Answered(text=NOT_IN_DOCUMENTS, citations=(), found=False, notes=_nearest(findings))
    notes: tuple[str, ...] = ()
    if model is None and not spoken:
        # What is listed as it stands must answer by itself.
        findings = [one for one in findings if one.confidence >= threshold]
    if model is not None and not spoken:
        try:
            made = await synthesise_with_model(model, problem, findings)
            if made.text:
                return Answered(text=made.text, citations=made.citations, found=True)
        except ModelError as error:
            notes = (f"the model did not put the findings into words ({error}); they are listed as they are",)
    # Every citation has its line: a long paragraph is shown by the sentences that speak about the problem.
    made = synthesise([_shortened(one, problem) for one in findings], max_chars=_MAX_CHARS)
    return Answered(text=made.text, citations=made.citations, found=bool(made.text), notes=notes)


def _shortened(finding: Finding, problem: str) -> Finding:
    """A finding as an answer shows it; what it cites stays whole."""
    if len(finding.description) <= _SHOWN_CHARS:
        return finding
    place, _, words = finding.description.partition(": ")
    kept: list[str] = []
    room = max(_SHOWN_CHARS - len(place), _SHOWN_CHARS // 2)
    for sentence in answering_lines(problem, words, limit=_SHOWN_SENTENCES) or [words]:
        piece = sentence if len(sentence) <= room else f"{sentence[:room].rpartition(' ')[0]} ..."
        if kept and len(piece) > room:
            break
        kept.append(piece)
        room -= len(piece)
    return replace(finding, description=f"{place}: {' ... '.join(kept)}")


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

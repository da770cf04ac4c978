"""From findings to the answer: the distinct ones, in order, checked against the documents as they are now.

Nothing is returned that reading again does not confirm. When nothing found is good enough, the answer is that the
documents do not say.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from textwrap import indent
from typing import TYPE_CHECKING

from recollect.codebase.languages import language_of
from recollect.domain.context import guarded, quoted
from recollect.domain.findings import Finding
from recollect.domain.rows import Rows
from recollect.library.leads import parts_of, sides_of
from recollect.library.material import FILE, Volume
from recollect.library.prose import answer_in, answer_of, fenced_code
from recollect.runs.ask import CODE
from recollect.runs.synthesis import Marks, Synthesis, compare
from recollect.runs.tables import count_of, write_tables
from recollect.text.sentences import split_sentences
from recollect.text.terms import query_terms, terms

if TYPE_CHECKING:
    from recollect.oracle.consult import Consultation

#: Places that an answer without a model names; more is a search, not an answer.
MAX_FINDINGS = 5
RELATED = "See also:"
#: What stands between two blocks of Markdown, how those begin that are no paragraph, and files that are read as text.
NEXT = "\n\n"
_BLOCK = ("|", "```", "~~~")
_PROSE = (".md", ".markdown", ".rst", ".txt", ".adoc", ".html", ".org")
#: Of the surest; what is further off is not named.
_FAR_OFF = 0.25


def distinct(findings: Sequence[Finding]) -> tuple[Finding, ...]:
    """The surest first; one whose lines another one has is left out."""
    kept: list[Finding] = []
    for finding in sorted(findings, key=lambda finding: -finding.confidence):
        least = _FAR_OFF * kept[0].confidence if kept else 0.0
        if len(kept) >= MAX_FINDINGS or finding.confidence < least:
            break
        if not any(_overlap(finding, other) for other in kept):
            kept.append(finding)
    return tuple(kept)


def with_tables(answer: Synthesis, tables: Sequence[Rows], *, counted: bool = False) -> Synthesis:
    """An answer with tables below it; without one it is the tables alone. `counted`: their number is asked."""
    if not tables:
        return answer
    text, citations = write_tables(tables, answer.citations)
    if counted:
        text = f"{count_of(tables)}\n{text}"
    return Synthesis(text=NEXT.join(filter(None, [answer.text, text])), citations=citations)


def texts_of(volumes: Mapping[str, Volume]) -> dict[tuple[str, str], str]:
    """The texts of documents, as citations name them."""
    return {(volume.kind, volume.doc_id): "\n".join(volume.lines) for volume in volumes.values()}


async def compose(consultation: Consultation, findings: Sequence[Finding], *, threshold: float) -> Synthesis:
    """The answer of findings that stand; no words where the documents do not say.

    Without a model the best finding must reach the threshold, or they do not.
    """
    model = consultation.speaker()
    if not findings or (not consultation.spoken and model is None and findings[0].confidence < threshold):
        consultation.notes += _nearest(findings)
        return Synthesis(text="", citations=())
    if consultation.spoken:
        return _spoken(findings)
    made = await consultation.put_into_words(findings, model)
    if made is not None:
        return made
    if model is None:
        # What is listed as it stands must answer by itself.
        findings = [finding for finding in findings if finding.confidence >= threshold]
    return _compared(consultation, findings) or _quoted(consultation.question, findings, consultation.opened)


def _spoken(findings: Sequence[Finding]) -> Synthesis:
    """The model's own passages, in its order, each with the marks of its citations."""
    marks = Marks()
    parts = [marks.behind(finding.description, finding.citations) for finding in findings]
    return Synthesis(text=NEXT.join(parts), citations=marks.citations)


def _compared(consultation: Consultation, findings: Sequence[Finding]) -> Synthesis | None:
    """The sides of a comparison in a table, each by what is said of it; None where fewer than two are spoken of."""
    sides = sides_of(consultation.question)
    sides_said: dict[str, Finding] = {}
    for side in sides:
        wanted = set(query_terms(side))
        for finding in findings:
            volume, lines = consultation.opened.get(finding.source_file), finding.line_range
            if volume is None or lines is None or not wanted <= set(terms(volume.text_of(*lines))):
                continue
            words = _safe(answer_in(side, volume.lines, *lines))
            sides_said[side] = replace(finding, group=side, description=words, evidence=words)
            break
    if sides_said:
        consultation.notes += [
            f"nothing was found about {side!r}" for side in sides if side not in sides_said
        ]
    return compare(list(sides_said.values())) if len(sides_said) > 1 else None


def _quoted(problem: str, findings: Sequence[Finding], volumes: Mapping[str, Volume]) -> Synthesis:
    """What the documents say in their own sentences: the answer, then what else bears on it and where."""
    sides = min(max(len(parts_of(problem)), 1), MAX_FINDINGS)
    answers: list[str] = []
    related: list[str] = []
    marks = Marks()
    for finding in findings[:MAX_FINDINGS]:
        place = quoted(finding.description.partition(":\n")[0])
        words = _safe(_said(problem, finding, volumes.get(finding.source_file)))
        if not words:
            continue
        marked = marks.behind(words, finding.citations)
        # One answer to every part of the question: a second place may be as near, and is about something else.
        if not related and len(answers) < sides:
            answers.append(marked)
        else:
            named = ":\n" in finding.description
            before = f"{place}:{NEXT if words.startswith(_BLOCK) else ' '}" if named else ""
            related.append("- " + indent(f"{before}{marked}", "  ").lstrip())
    if related:
        answers.append("\n".join([RELATED, *related]))
    return Synthesis(text=NEXT.join(answers), citations=marks.citations)


def _said(problem: str, finding: Finding, volume: Volume | None) -> str:
    """The words of a finding that answer, in Markdown: code and tables of a document as they stand there."""
    _, _, words = finding.description.partition(":\n")
    if volume is None or finding.line_range is None:
        return answer_of(problem, split_sentences(words or finding.description))
    if volume.kind == FILE and not volume.doc_id.lower().endswith(_PROSE):
        code = volume.lines[finding.line_range[0] - 1 : finding.line_range[1]]
        return fenced_code(code, f"```{language_of(volume.doc_id) or ''}")
    return answer_in(problem, volume.lines, *finding.line_range)


def _safe(text: str) -> str:
    """A quoted text without marks of its own; in code a [7] is a [7], and nobody takes it for one."""
    parts = enumerate(CODE.split(text))
    return "".join(guarded(part) if place % 2 else quoted(part) for place, part in parts)


def _nearest(findings: Sequence[Finding]) -> tuple[str, ...]:
    """Where a reader might look all the same."""
    places = []
    for finding in findings[:3]:
        first, last = finding.line_range or (0, 0)
        kind = "file" if finding.citations and finding.citations[0].kind == FILE else "document"
        places.append(f"{kind} {finding.source_file!r} lines {first} to {last}")
    return (f"the nearest places are {'; '.join(places)}",) if places else ()


def _overlap(finding: Finding, other: Finding) -> bool:
    if finding.source_file != other.source_file or finding.line_range is None or other.line_range is None:
        return False
    if finding.description != other.description and finding.description not in other.description:
        inside = other.line_range[0] <= finding.line_range[0] and finding.line_range[1] <= other.line_range[1]
        around = finding.line_range[0] <= other.line_range[0] and other.line_range[1] <= finding.line_range[1]
        return inside or around
    return finding.line_range[0] <= other.line_range[1] and other.line_range[0] <= finding.line_range[1]

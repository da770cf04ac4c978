"""What a consultation reads, whatever it is made of: documents of the library and files of a working folder.

A `Volume` is one document with its lines; `Entry` is its line in the catalogue; `Lead` is a place that a search
by meaning found. `Material` is what the tools need of them. Where documents are stored is not known here
(`oracle/gather.py` brings them together).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from recollect.domain.findings import Citation, Finding, span_hash
from recollect.domain.library import Gap, PageSpan, Section, pages_of
from recollect.library.prose import passage_of

#: What a citation of a library document and one of a file are called.
DOCUMENT = "document"
FILE = "file"
#: Of a quote; the span's hash is of all of it.
_QUOTE_CHARS = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One document of the catalogue. `digest` changes with its text; `key` is what the store calls it."""

    doc_id: str
    kind: str
    title: str
    digest: str
    tokens: int
    key: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Volume:
    """A document, whole. Line n is `lines[n - 1]`."""

    doc_id: str
    kind: str
    title: str
    digest: str
    tokens: int
    lines: Sequence[str]
    sections: Sequence[Section]
    pages: tuple[PageSpan, ...] = ()
    gaps: tuple[Gap, ...] = ()

    def text_of(self, line_start: int, line_end: int) -> str:
        """The lines of a range, both ends included."""
        return "\n".join(self.lines[line_start - 1 : line_end])

    def section_at(self, line: int) -> Section | None:
        """The section that a line stands in."""
        return next(
            (section for section in self.sections if section.line_start <= line <= section.line_end), None
        )

    def body_of(self, section: Section) -> int:
        """The first line of a section behind its heading; its own first line when it has none, or nothing else."""
        first = self.lines[section.line_start - 1] if section.line_start <= len(self.lines) else ""
        titled = section.heading and " ".join(first.strip("#= \t").split()) == section.heading
        return (
            section.line_start + 1 if titled and section.line_end > section.line_start else section.line_start
        )

    def cite(self, line_start: int, line_end: int) -> Citation:
        """A citation of these lines as they are now."""
        text = self.text_of(line_start, line_end)
        return Citation(
            kind=self.kind,
            file_path=self.doc_id,
            line_start=line_start,
            line_end=line_end,
            content_hash=span_hash(text),
            quote=text[:_QUOTE_CHARS],
            pages=pages_of(self.pages, line_start, line_end) if self.pages else None,
        )

    def find(
        self, line_start: int, line_end: int, *, confidence: float = 1.0, group: str | None = None
    ) -> Finding:
        """These lines as a finding, under the headings they stand in; of a document, to the ends of their sentences."""
        section = self.section_at(line_start)
        place = section.path if section and section.path else self.title
        words = " ".join(self.text_of(line_start, line_end).split())
        if self.kind == DOCUMENT:
            before = self.body_of(section) - 1 if section else 0
            own = self.lines[before : section.line_end if section else None]
            first, last, said = passage_of(own, max(line_start - before, 1), max(line_end - before, 1))
            line_start, line_end = min(first + before, line_start), last + before
            words = "\n".join(said)
        return Finding(
            description=f"{place}:\n{words}" if place else words,
            evidence=self.text_of(line_start, line_end),
            source_file=self.doc_id,
            line_range=(line_start, line_end),
            confidence=min(max(confidence, 0.0), 1.0),
            group=group,
            citations=(self.cite(line_start, line_end),),
        )

    def find_lead(self, lead: Lead) -> Finding:
        """The lines of a lead as a finding, as sure as the lead is."""
        finding = self.find(lead.line_start, lead.line_end, confidence=lead.score)
        cited = tuple(replace(citation, supports=lead.supports) for citation in finding.citations)
        return replace(finding, citations=cited)


@dataclass(frozen=True, slots=True, kw_only=True)
class Lead:
    """Lines that a search by meaning found, and how surely they answer, from 0 to 1.

    `supports`: the judge read them and accepts them as an answer.
    """

    doc_id: str
    line_start: int
    line_end: int
    score: float
    path: str = ""
    supports: bool = False


class Material(Protocol):
    """Documents to consult. Reading one may fail with `NotFoundError`."""

    @property
    def entries(self) -> Mapping[str, Entry]:
        """The catalogue, by id."""
        ...

    @property
    def threshold(self) -> float:
        """The score from which a lead is an answer."""
        ...

    async def open(self, doc_id: str) -> Volume:
        """One document, whole."""
        ...

    async def catalogue(self) -> Sequence[Entry]:
        """Every document that can be opened, also those that no look has found yet."""
        ...

    async def look(
        self, question: str, *, doc_ids: Sequence[str] | None = None, limit: int = 10
    ) -> Sequence[Lead]:
        """Places that a question's meaning leads to, the best first; in these documents, else in all."""
        ...


def unknown_document(doc_id: str, known: Mapping[str, object] | Sequence[str]) -> str:
    """What to say of an id that nobody knows, with those that look like it."""
    from rapidfuzz import process

    names = list(known)
    near = [name for name, _, _ in process.extract(doc_id, names, limit=3, score_cutoff=50)]
    if near:
        return f"there is no document {doc_id!r}; did you mean {', '.join(map(repr, near))}?"
    listed = ", ".join(map(repr, names[:5]))
    return f"there is no document {doc_id!r}" + (f"; there are {listed}" if listed else "; there are none")

"""What a consultation reads, whatever it is made of: documents of the library and files of a working folder.

A `Volume` is one document with its lines; `Entry` is its line in the catalogue; `Lead` is a place that a search
by meaning found. `Material` is what the tools need of them. Where documents are stored is not known here
(`oracle/gather.py` brings them together). A part of the material has a name, so that nobody has to copy it into a call:
`*` is everything, `doc_id` a document, `doc_id#Section > Path` a section with those below it, `doc_id:10-80` a range of
lines; anything else is taken as the text itself.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from recollect.domain.findings import Citation, Finding, span_hash
from recollect.domain.library import PATH_SEPARATOR, Gap, PageSpan, Section, pages_of
from recollect.errors import InvalidInputError
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
class Volume(Entry):
    """A document, whole. Line n is `lines[n - 1]`."""

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
        return Finding.on(
            self.cite(line_start, line_end),
            description=f"{place}:\n{words}" if place else words,
            evidence=self.text_of(line_start, line_end),
            confidence=confidence,
            group=group,
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


EVERYTHING = "*"
_LINES = re.compile(r"^(?P<doc>.+):(?P<first>\d+)-(?P<last>\d+)$", re.DOTALL)
_NUMBERED = re.compile(
    r"^(?:(?:chapter|section|appendix|part)\s+)?(?:[0-9]+|[a-z])(?:\.[0-9]+)*[.:)]?\s+(?=\S)"
)
#: Longer is a text, not a name.
_MAX_REFERENCE_CHARS = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Reference:
    """A part of a document: a section by its path, a range of lines, or all of it."""

    doc_id: str
    path: str | None = None
    lines: tuple[int, int] | None = None


def parse_reference(content: str, entries: Mapping[str, Entry]) -> Reference | None:
    """What a content names; None when it is a text."""
    name = content.strip()
    if not name or len(name) > _MAX_REFERENCE_CHARS or "\n" in name:
        return None
    if name in entries:
        return Reference(doc_id=name)
    match = _LINES.match(name)
    if match and match["doc"] in entries:
        return Reference(doc_id=match["doc"], lines=(int(match["first"]), int(match["last"])))
    # A path of a file may hold the sign itself.
    at = name.find("#")
    while at > 0:
        if name[:at] in entries:
            return Reference(doc_id=name[:at], path=name[at + 1 :])
        at = name.find("#", at + 1)
    return None


def get_sections(volume: Volume, path: str) -> list[Section]:
    """The sections a path names, with those below them, in order; where there are none, an error with the nearest.

    The whole path is best; the last headings of one will do, also without their numbers, if only one section ends with
    them.
    """
    wanted = _plain(path)
    exact = [section for section in volume.sections if wanted and _plain(section.path) == wanted]
    for form in (_plain, _unnumbered):
        if not exact:
            ending = form(path)
            exact = [
                section
                for section in volume.sections
                if ending and f" > {form(section.path)}".endswith(f" > {ending}")
            ]
            if len({section.path for section in exact}) != 1:
                exact = []
    if not exact:
        near = "; ".join(_nearest(volume, path))
        raise InvalidInputError(
            f"{volume.doc_id!r} has no section {path!r}" + (f"; the nearest are: {near}" if near else "")
        )
    tops = {section.path for section in exact}
    below = tuple(f"{top}{PATH_SEPARATOR}" for top in tops)
    return [section for section in volume.sections if section.path in tops or section.path.startswith(below)]


def _nearest(volume: Volume, path: str, limit: int = 5) -> list[str]:
    """Paths that look like a path that is not there."""
    from rapidfuzz import fuzz, process

    paths = list(dict.fromkeys(section.path for section in volume.sections if section.path))
    ranked = process.extract(
        path, paths, scorer=fuzz.WRatio, processor=str.casefold, limit=limit, score_cutoff=45
    )
    return [name for name, _, _ in ranked] or paths[:limit]


def spans_of(sections: Sequence[Section]) -> list[tuple[int, int]]:
    """The line ranges of sections, those that follow on each other joined."""
    spans: list[tuple[int, int]] = []
    for section in sorted(sections, key=lambda section: section.line_start):
        if spans and section.line_start <= spans[-1][1] + 1:
            spans[-1] = (spans[-1][0], max(spans[-1][1], section.line_end))
        else:
            spans.append((section.line_start, section.line_end))
    return spans


def _plain(path: str) -> str:
    return PATH_SEPARATOR.join(" ".join(part.split()).casefold() for part in path.split(">")).strip()


def _unnumbered(path: str) -> str:
    """A path without the numbers before its headings: "4.2 Limits" is often asked for as "Limits"."""
    return PATH_SEPARATOR.join(_NUMBERED.sub("", part) for part in _plain(path).split(PATH_SEPARATOR))

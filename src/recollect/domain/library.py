"""What the library gives back: documents as they are kept, what an intake did, and the sections a search found.

Where documents are kept and how they are found is not known here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from uuid import UUID

from recollect.domain.codec import Value
from recollect.domain.findings import Citation
from recollect.domain.layers import Layer
from recollect.domain.tables import Tabular
from recollect.errors import RecollectError, error_class

#: Between the headings of a section's path.
PATH_SEPARATOR = " > "


@dataclass(frozen=True, slots=True, kw_only=True)
class Section(Value):
    """A heading and the lines up to the next heading: a parent does not hold the lines of its children.

    `number` counts in document order from 0 and is the section's identity within its document; two sections may
    have the same `path`. What stands before the first heading is a section too, of level 0, named by the title.
    """

    number: int
    parent: int | None
    level: int
    heading: str
    path: str
    line_start: int
    line_end: int
    pages: tuple[int, int] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PageSpan(Value):
    """The lines of one page, or of one slide. A page without text has none of its own and no span."""

    page: int
    line_start: int
    line_end: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Gap(Value):
    """Something in the file that is not in the text, and what would be needed to read it.

    `where` is for people ("page 7", "pages 3 to 9"); `page` is the first of them, when there are pages.
    """

    description: str
    where: str = ""
    page: int | None = None
    capability: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadDocument(Value):
    """A document after reading. There is always at least one section, even when there is no text.

    `notes` say what a user should know about the reading: a wrong extension, a guessed encoding, a file cut short.
    `tokens` is filled by whoever counts them.
    """

    title: str
    kind: str
    text: str
    sections: tuple[Section, ...]
    pages: tuple[PageSpan, ...] = ()
    gaps: tuple[Gap, ...] = ()
    notes: tuple[str, ...] = ()
    tokens: int | None = None

    @property
    def lines(self) -> list[str]:
        """The lines of the text; line n is at n - 1. An empty text has one empty line."""
        return self.text.split("\n")

    def text_of(self, section: Section) -> str:
        """The section's own lines. For all sections in turn, slice `lines` once instead."""
        return "\n".join(self.lines[section.line_start - 1 : section.line_end])


def pages_of(pages: tuple[PageSpan, ...], line_start: int, line_end: int) -> tuple[int, int] | None:
    """The first and the last page that hold some of these lines; None in a text without pages, or between them."""
    touched = [span.page for span in pages if span.line_start <= line_end and span.line_end >= line_start]
    return (min(touched), max(touched)) if touched else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """A document of the library, without its text.

    `name` is what people call it and is unique in its scope; `id` never changes. `state` is "indexing" (its text is
    kept, not all of it can be found yet), "ready" or "failed" (`error` says why; adding it again goes on). `digest`
    changes with the bytes it was read from.
    """

    id: UUID
    name: str
    title: str
    kind: str
    layer: Layer
    scope: str
    source: str | None
    tags: tuple[str, ...]
    lines: int
    tokens: int
    sections: int
    state: str
    error: str | None
    gaps: tuple[Gap, ...]
    notes: tuple[str, ...]
    by: str | None
    created_at: datetime
    updated_at: datetime
    digest: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentReport:
    """What adding one document did.

    `outcome` is "added", "updated", "unchanged", or "queued" (its text is kept and a worker indexes it).
    `embedded` counts the passages that were embedded now, `kept` the sections whose passages were there already.
    """

    document: Document
    outcome: str
    embedded: int = 0
    kept: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class FileError:
    """A file that could not be added, and why."""

    path: str
    code: str
    message: str

    def to_error(self) -> RecollectError:
        """The error as it would have been raised."""
        return error_class(self.code)(self.message)


@dataclass(frozen=True, slots=True, kw_only=True)
class FolderReport:
    """What adding a folder did: a report per document, the files that failed, and (path, reason) of those left out."""

    reports: tuple[DocumentReport, ...] = ()
    errors: tuple[FileError, ...] = ()
    left_out: tuple[tuple[str, str], ...] = ()

    @classmethod
    def joined(cls, reports: Sequence[FolderReport]) -> FolderReport:
        """Several reports as one."""
        return cls(
            reports=tuple(document for report in reports for document in report.reports),
            errors=tuple(error for report in reports for error in report.errors),
            left_out=tuple(file for report in reports for file in report.left_out),
        )

    @property
    def counts(self) -> Mapping[str, int]:
        """How many documents had which outcome."""
        counted: dict[str, int] = {}
        for report in self.reports:
            counted[report.outcome] = counted.get(report.outcome, 0) + 1
        return counted


@dataclass(frozen=True, slots=True, kw_only=True)
class SectionHit:
    """A section that answers a question. `lines` are the lines of the best evidence, which `quote` shows.

    `text` says the same to a reader: whole sentences without the marks of Markdown.

    `score` is from 0 to 1 and can be compared between questions; `citation` is of the quoted lines.
    """

    document: str
    title: str
    path: str
    score: float
    lines: tuple[int, int]
    section_lines: tuple[int, int]
    pages: tuple[int, int] | None
    quote: str
    citation: Citation
    text: str = ""
    signals: Mapping[str, float] = field(default_factory=dict, repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class SectionResults(Tabular[SectionHit]):
    """Sections, the best first. `answered` says whether they answer: if not, it is not in the documents.

    `notes` says what could not be looked through.
    `timings_ms` has how long each stage took, and `total`.
    """

    hits: tuple[SectionHit, ...]
    query: str
    answered: bool = False
    notes: tuple[str, ...] = ()
    timings_ms: Mapping[str, float] = field(default_factory=dict, compare=False, repr=False)

    def _columns(self) -> tuple[str, ...]:
        return ("score", "text", "section", "lines")

    def _rows(self) -> list[tuple[object, ...]]:
        return [
            (hit.score, hit.text, hit.path or hit.title, f"{hit.document}:{hit.lines[0]}-{hit.lines[1]}")
            for hit in self.hits
        ]

    def _empty(self) -> str:
        return "Nothing in the library answers that."

    def _remarks(self) -> tuple[str, ...]:
        unsure = "The documents do not seem to answer that; these sections come nearest."
        return ((unsure,) if self.hits and not self.answered else ()) + self.notes

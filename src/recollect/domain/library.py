"""What the library gives back: documents as they are kept, what an intake did, and the sections a search found.

The document as it was read is `documents.py`; where it is kept and how it is found is not known here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import overload
from uuid import UUID

from recollect.domain.documents import Gap
from recollect.domain.findings import Citation
from recollect.domain.layers import Layer
from recollect.domain.tables import Tabular
from recollect.errors import RecollectError, error_class


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
            reports=tuple(one for report in reports for one in report.reports),
            errors=tuple(error for report in reports for error in report.errors),
            left_out=tuple(one for report in reports for one in report.left_out),
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
class SectionResults(Tabular, Sequence[SectionHit]):
    """Sections, the best first. `answered` says whether they answer: if not, it is not in the documents.

    `notes` says what could not be looked through.
    `timings_ms` has how long each stage took, and `total`.
    """

    hits: tuple[SectionHit, ...]
    query: str
    answered: bool = False
    notes: tuple[str, ...] = ()
    timings_ms: Mapping[str, float] = field(default_factory=dict, compare=False, repr=False)

    @overload
    def __getitem__(self, index: int) -> SectionHit: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[SectionHit, ...]: ...
    def __getitem__(self, index: int | slice) -> SectionHit | tuple[SectionHit, ...]:
        return self.hits[index]

    def __len__(self) -> int:
        return len(self.hits)

    def __iter__(self) -> Iterator[SectionHit]:
        return iter(self.hits)

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

"""What a run found, and where that can be read again: `Finding` and `Citation`, whatever the material was.

Checking a citation against the material is `runs/citations.py`.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from enum import StrEnum

from recollect.domain.codec import Value


class CitationStatus(StrEnum):
    """What reading a cited span again has shown.

    `quoted` says that it stands there, not that it answers anything: that is `Citation.supports`.
    """

    UNCHECKED = "unchecked"
    QUOTED = "quoted"
    MOVED = "moved"
    STALE = "stale"
    UNSUPPORTED = "unsupported"


def span_hash(text: str) -> str:
    """The SHA-256 of a cited span, as text in UTF-8."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


@dataclass(frozen=True, slots=True, kw_only=True)
class Citation(Value):
    """A span of the material. `kind` says what `file_path` names: a file's path, a document's id, a memory's id.

    A memory has no lines: `line_start` and `line_end` are 0 there, and the span is its whole text. `supports` says that
    the judge read the span and accepted it as an answer; that holds for these words only and goes when they change.
    """

    kind: str
    file_path: str
    line_start: int
    line_end: int
    content_hash: str
    quote: str
    pages: tuple[int, int] | None = None
    status: CitationStatus = CitationStatus.UNCHECKED
    supports: bool = False

    @property
    def place(self) -> str:
        """Where it can be read, for people: a memory by its id, anything else with its lines and pages."""
        if not self.line_start:
            return f"{self.kind} {self.file_path}"
        pages = ""
        if self.pages:
            first, last = self.pages
            pages = f", page {first}" if first == last else f", pages {first}-{last}"
        return f"{self.file_path}:{self.line_start}-{self.line_end}{pages}"

    @property
    def standing(self) -> str:
        """What a reader is told of it in one word: its status, or `supports` where it stands there and answers."""
        return "supports" if self.supports and self.status is CitationStatus.QUOTED else self.status.value


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding(Value):
    """One thing that was found. `group` is the scope, entity, period or part of the material it speaks for."""

    description: str
    evidence: str
    source_file: str
    line_range: tuple[int, int] | None = None
    confidence: float = 1.0
    group: str | None = None
    citations: tuple[Citation, ...] = ()

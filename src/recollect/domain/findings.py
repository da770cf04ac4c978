"""What a run found and where that can be read again, and the `Answer` that `ask` gives back.

Checking a citation against the material is `runs/citations.py`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from recollect.domain.codec import Value
from recollect.domain.tables import Readable


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

    @classmethod
    def on(
        cls,
        *citations: Citation,
        description: str,
        confidence: float,
        evidence: str | None = None,
        group: str | None = None,
    ) -> Finding:
        """What rests on citations: it stands where the first does, and its evidence is what that quotes."""
        first = citations[0]
        return cls(
            description=description,
            evidence=first.quote if evidence is None else evidence,
            source_file=first.file_path,
            line_range=(first.line_start, first.line_end) if first.line_start else None,
            confidence=min(max(confidence, 0.0), 1.0),
            group=group,
            citations=citations,
        )


NOT_KNOWN = "Not known."


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerPart(Value):
    """What one source answered, told as soon as it has. Its marks are those of the whole answer.

    `first_mark` is the number of the first of `citations`, which are those that no part before has.
    """

    source: str
    text: str
    first_mark: int
    citations: tuple[Citation, ...] = ()
    type: str = "answer_part"


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer(Readable, Value):
    """An answer in Markdown. The marks in `text` stand for `citations`: the first is [1].

    `found` is False when no source answers. `sources` are those that did; `coverage` says of each that was asked how
    much of it was looked at. `cost_usd` is what models cost, None when one has no published price.
    """

    question: str
    text: str
    found: bool
    citations: tuple[Citation, ...] = ()
    sources: tuple[str, ...] = ()
    coverage: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    cost_usd: float | None = 0.0

    def __str__(self) -> str:
        """The text, as it is read."""
        return self.text

    def _remarks(self) -> list[str]:
        """What the marks stand for."""
        cited = [
            f"[{mark}] {citation.place} {citation.standing}"
            for mark, citation in enumerate(self.citations, 1)
        ]
        return [*cited, *self.notes]

r"""A document as it was read: its canonical text, the tree of its sections, its pages, and what could not be read.

Citations point to lines of the canonical text, so that text is kept as it is: `\n` is the only character in it that
ends a line for anybody, and the same bytes always give the same text. Lines are counted from 1 and ranges include
both ends. How bytes become such a document is `library/reading/`; where it is stored is not known here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

#: Between the headings of a section's path.
PATH_SEPARATOR = " > "


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
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

    def document(self) -> dict[str, Any]:
        """As JSON."""
        return {
            "number": self.number,
            "parent": self.parent,
            "level": self.level,
            "heading": self.heading,
            "path": self.path,
            "line_start": self.line_start,
            "line_end": self.line_end,
            "pages": list(self.pages) if self.pages else None,
        }

    @classmethod
    def read(cls, document: Mapping[str, Any]) -> Section:
        """From JSON."""
        pages = document.get("pages")
        return cls(
            number=document["number"],
            parent=document["parent"],
            level=document["level"],
            heading=document["heading"],
            path=document["path"],
            line_start=document["line_start"],
            line_end=document["line_end"],
            pages=(pages[0], pages[1]) if pages else None,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class PageSpan:
    """The lines of one page, or of one slide. A page without text has none of its own and no span."""

    page: int
    line_start: int
    line_end: int

    def document(self) -> dict[str, Any]:
        """As JSON."""
        return {"page": self.page, "line_start": self.line_start, "line_end": self.line_end}

    @classmethod
    def read(cls, document: Mapping[str, Any]) -> PageSpan:
        """From JSON."""
        return cls(page=document["page"], line_start=document["line_start"], line_end=document["line_end"])


@dataclass(frozen=True, slots=True, kw_only=True)
class Gap:
    """Something in the file that is not in the text, and what would be needed to read it.

    `where` is for people ("page 7", "pages 3 to 9"); `page` is the first of them, when there are pages.
    """

    description: str
    where: str = ""
    page: int | None = None
    capability: str = ""

    def document(self) -> dict[str, Any]:
        """As JSON."""
        return {
            "description": self.description,
            "where": self.where,
            "page": self.page,
            "capability": self.capability,
        }

    @classmethod
    def read(cls, document: Mapping[str, Any]) -> Gap:
        """From JSON."""
        return cls(
            description=document["description"],
            where=document.get("where", ""),
            page=document.get("page"),
            capability=document.get("capability", ""),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadDocument:
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

    def document(self) -> dict[str, Any]:
        """As JSON."""
        return {
            "title": self.title,
            "kind": self.kind,
            "text": self.text,
            "sections": [section.document() for section in self.sections],
            "pages": [page.document() for page in self.pages],
            "gaps": [gap.document() for gap in self.gaps],
            "notes": list(self.notes),
            "tokens": self.tokens,
        }

    @classmethod
    def read(cls, document: Mapping[str, Any]) -> ReadDocument:
        """From JSON."""
        return cls(
            title=document["title"],
            kind=document["kind"],
            text=document["text"],
            sections=tuple(Section.read(one) for one in document["sections"]),
            pages=tuple(PageSpan.read(one) for one in document.get("pages", ())),
            gaps=tuple(Gap.read(one) for one in document.get("gaps", ())),
            notes=tuple(document.get("notes", ())),
            tokens=document.get("tokens"),
        )


def pages_of(pages: tuple[PageSpan, ...], line_start: int, line_end: int) -> tuple[int, int] | None:
    """The first and the last page that hold some of these lines; None in a text without pages, or between them."""
    touched = [span.page for span in pages if span.line_start <= line_end and span.line_end >= line_start]
    return (min(touched), max(touched)) if touched else None

r"""A document as it was read: its canonical text, the tree of its sections, its pages, and what could not be read.

Citations point to lines of the canonical text, so that text is kept as it is: `\n` is the only character in it that
ends a line for anybody, and the same bytes always give the same text. Lines are counted from 1 and ranges include
both ends. How bytes become such a document is `library/reading/`; where it is stored is not known here.
"""

from __future__ import annotations

from dataclasses import dataclass

from recollect.domain.codec import Value

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

"""From the headings of a text to its tree of sections, and how much reading one file may cost.

Every reader finds headings in its own way and hands them over here, so that all documents have the same kind of tree:
each line that is not blank belongs to exactly one section, in order.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

from recollect.domain.library import PATH_SEPARATOR, Gap, PageSpan, ReadDocument, Section

#: Longer than headings are; what is longer is a paragraph that was marked up as one.
MAX_HEADING_CHARS = 300


@dataclass(frozen=True, slots=True, kw_only=True)
class Heading:
    """A heading and the line it starts on, counted from 1. Level 1 is the highest."""

    line: int
    level: int
    text: str


def make_document(
    kind: str,
    title: str,
    lines: Sequence[str],
    headings: Sequence[Heading] = (),
    *,
    pages: Sequence[PageSpan] = (),
    gaps: tuple[Gap, ...] = (),
    notes: tuple[str, ...] = (),
) -> ReadDocument:
    """What a reader gives: its lines as a text, with sections at the headings."""
    return ReadDocument(
        title=title,
        kind=kind,
        text="\n".join(lines),
        sections=build_sections(lines or [""], headings, title=title, pages=pages),
        pages=tuple(pages),
        gaps=gaps,
        notes=notes,
    )


def build_sections(
    lines: Sequence[str], headings: Sequence[Heading], *, title: str, pages: Sequence[PageSpan] = ()
) -> tuple[Section, ...]:
    """The sections of a text whose headings are given in the order of their lines, at most one a line.

    Blank lines between sections belong to none: adding one changes no section.
    """
    starts = list(headings)
    first = _first_filled(lines, 1)
    if not starts or first < starts[0].line:
        starts.insert(0, Heading(line=first, level=0, text=title))
    finder = _PageFinder(pages)
    sections: list[Section] = []
    open_sections: list[Section] = []
    for number, start in enumerate(starts):
        before = starts[number + 1].line if number + 1 < len(starts) else len(lines) + 1
        while open_sections and (open_sections[-1].level >= start.level or open_sections[-1].level == 0):
            open_sections.pop()
        parent = open_sections[-1] if open_sections else None
        heading = shorten(start.text) or title
        line_end = _last_filled(lines, start.line, before - 1)
        section = Section(
            number=number,
            parent=parent.number if parent else None,
            level=start.level,
            heading=heading,
            path=f"{parent.path}{PATH_SEPARATOR}{heading}" if parent else heading,
            line_start=start.line,
            line_end=line_end,
            pages=finder.pages(start.line, line_end),
        )
        sections.append(section)
        open_sections.append(section)
    return tuple(sections)


def fold(text: str) -> str:
    """One line, every run of white space one blank."""
    return " ".join(text.split())


def shorten(text: str) -> str:
    """A heading or title as one line of bounded length."""
    folded = fold(text)
    return folded if len(folded) <= MAX_HEADING_CHARS else f"{folded[: MAX_HEADING_CHARS - 1].rstrip()}…"


class _PageFinder:
    """Which pages a range of lines is on; spans are in order, and share a line that goes on over the page."""

    def __init__(self, pages: Sequence[PageSpan]) -> None:
        self._pages = pages
        self._starts = [span.line_start for span in pages]
        self._ends = [span.line_end for span in pages]

    def pages(self, line_start: int, line_end: int) -> tuple[int, int] | None:
        first = bisect_left(self._ends, line_start)
        last = bisect_right(self._starts, line_end) - 1
        return (self._pages[first].page, self._pages[last].page) if first <= last else None


def _first_filled(lines: Sequence[str], start: int) -> int:
    return next((number for number in range(start, len(lines) + 1) if lines[number - 1].strip()), 1)


def _last_filled(lines: Sequence[str], start: int, end: int) -> int:
    """The last line that is not blank; the first line of the range when all are."""
    while end > start and not lines[end - 1].strip():
        end -= 1
    return max(end, start)


def markdown_table(rows: Sequence[Sequence[str]], *, has_header: bool) -> list[str]:
    """The lines of a table. Short rows are filled up; without a header the header row stays empty."""
    width = max((len(row) for row in rows), default=0)
    if width == 0:
        return []
    header, body = (rows[0], rows[1:]) if has_header else ([""] * width, rows)
    return [_line(header, width), "|" + " --- |" * width, *(_line(row, width) for row in body)]


def _line(row: Sequence[str], width: int) -> str:
    cells = [fold(cell).replace("|", "\\|") for cell in row]
    return "| " + " | ".join([*cells, *[""] * (width - len(cells))]) + " |"


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadingLimits:
    """Beyond one of them a file is refused whole, with an error that names the limit: half a text would mislead.

    Time and memory bound the child process in which PDF and Office files are read; the other readers take time in
    proportion to the file.
    """

    #: A thousand pages of scanned paper.
    max_file_bytes: int = 100_000_000
    #: About five million tokens; the longest technical manuals have a tenth of it.
    max_text_chars: int = 20_000_000
    #: What an Office file unpacks to; XML is ten to twenty times its packed size.
    max_unpacked_bytes: int = 500_000_000
    #: A thousand pages with a ruled table on every third take about a minute on a slow core.
    timeout_s: float = 180.0
    #: Address space, not resident memory: the libraries alone reserve half a gigabyte.
    memory_bytes: int = 2_000_000_000


DEFAULT_LIMITS = ReadingLimits()

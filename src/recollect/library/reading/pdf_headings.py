"""Headings of a PDF: its bookmarks, when it has any, else the lines in larger letters.

A guess by size is made only where it is clear: few lines, short ones, clearly larger than the body of the text.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from recollect.domain.documents import PageSpan
from recollect.library.reading.pdf_lines import Line
from recollect.library.reading.sections import Heading, fold

_LARGER = 1.15
_MAX_HEADING_CHARS = 150
_MAX_HEADING_LINES = 3
#: When more lines than this are "headings", size means something else in this document.
_MAX_SHARE = 0.3
_MAX_LEVEL = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Bookmark:
    """An entry of the outline; pages count from 1."""

    level: int
    text: str
    page: int


def find_headings(
    lines: Sequence[Line], spans: Sequence[PageSpan], bookmarks: Sequence[Bookmark]
) -> list[Heading]:
    """The headings in the order of their lines."""
    if bookmarks:
        found = _by_bookmarks(lines, spans, bookmarks)
        if found:
            return found
    return _by_size(lines)


def largest_line(lines: Sequence[Line]) -> str:
    """The first of the lines in the largest letters; nothing when these are the usual ones."""
    sized = [line for line in lines if line.size and len(line.text) <= _MAX_HEADING_CHARS]
    if not sized:
        return ""
    largest = max(sized, key=lambda line: _rounded(line.size))
    usual = sorted(_rounded(line.size) for line in sized)[len(sized) // 2]
    return fold(largest.text) if _is_large(largest, usual) else ""


def _by_bookmarks(
    lines: Sequence[Line], spans: Sequence[PageSpan], bookmarks: Sequence[Bookmark]
) -> list[Heading]:
    """A bookmark names a page; its heading is the line there with its words, else the first free line of the page."""
    by_page = {span.page: span for span in spans}
    found: dict[int, Heading] = {}
    for mark in bookmarks:
        span = by_page.get(mark.page)
        if span is None:
            continue
        wanted = _key(mark.text)
        numbers = [number for number in range(span.line_start, span.line_end + 1) if number not in found]
        filled = [number for number in numbers if lines[number - 1].text.strip()]
        keys = {number: _key(lines[number - 1].text) for number in filled}
        line = next((number for number in filled if keys[number] == wanted), None)
        if line is None and len(wanted) >= 4:
            line = next((n for n in filled if keys[n].startswith(wanted) or keys[n].endswith(wanted)), None)
        if line is None:
            line = span.line_start if span.line_start not in found else None
        if line is not None:
            found[line] = Heading(line=line, level=mark.level, text=mark.text)
    return [found[line] for line in sorted(found)]


def _key(text: str) -> str:
    return "".join(letter for letter in text.casefold() if letter.isalnum())


def _by_size(lines: Sequence[Line]) -> list[Heading]:
    weights: Counter[float] = Counter()
    for line in lines:
        if line.size:
            weights[_rounded(line.size)] += len(line.text)
    if not weights:
        return []
    body = max(weights, key=lambda size: (weights[size], -size))
    large = [index for index, line in enumerate(lines) if _is_large(line, body)]
    filled = sum(1 for line in lines if line.text.strip())
    if not large or len(large) > max(1, filled * _MAX_SHARE):
        return []
    sizes = sorted({_rounded(lines[index].size) for index in large}, reverse=True)
    levels = {size: min(rank, _MAX_LEVEL) for rank, size in enumerate(sizes, start=1)}
    headings: list[Heading] = []
    joined = 0  # lines of the heading before this one, which this line may continue
    previous = -2
    for index in large:
        line = lines[index]
        level = levels[_rounded(line.size)]
        if index == previous + 1 and headings[-1].level == level and joined < _MAX_HEADING_LINES:
            last = headings.pop()
            headings.append(Heading(line=last.line, level=level, text=fold(f"{last.text} {line.text}")))
            joined += 1
        else:
            headings.append(Heading(line=index + 1, level=level, text=fold(line.text)))
            joined = 1
        previous = index
    return headings


def _is_large(line: Line, body: float) -> bool:
    return (
        _rounded(line.size) >= body * _LARGER
        and len(line.text) <= _MAX_HEADING_CHARS
        and any(letter.isalpha() for letter in line.text)
    )


def _rounded(size: float) -> float:
    return round(size * 2) / 2

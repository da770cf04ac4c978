"""Headings of a PDF: lines in larger or bolder letters, their level by size and number; bookmarks know better.

A line is taken for a heading only where it is clear: a short one that stands alone, in letters that the text is not
set in. Bookmarks give levels and the headings that do not look like one; smaller headings than they name are kept.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from recollect.library.reading.pdf_blocks import Blocks, Line, letters_of
from recollect.library.reading.sections import Heading, fold

_LARGER = 1.12
#: The smallest headings of a browser are smaller than the text, but bold.
_SMALLEST = 0.65
_MAX_HEADING_CHARS = 150
#: When more of the letters than this are in headings, size or weight means something else in this document.
_MAX_SHARE = 0.3
_MAX_LEVEL = 6
_NUMBERED = re.compile(
    r"(?:(?:chapter|part|section)\s+)?(\d{1,3}(?:\.\d{1,3})*)[.)]?\s+(?=\S)", re.IGNORECASE
)
#: A sentence, a list item, or what is printed over a box.
_NO_HEADING = re.compile(
    r".*[.,;:](?<!\.\.\.)$|[-•*▪◦○●]\s|(?:note|tip|hint|warning|caution|important)$", re.IGNORECASE
)

#: Signatures of functions are bold or large, too.
_SIGNATURE = re.compile(r"(?:\w+ )?[\w.]+\(.*\)$|.*=|.*,.*\)$")

#: Size and weight.
Style = tuple[float, bool]


@dataclass(frozen=True, slots=True, kw_only=True)
class Bookmark:
    """An entry of the outline; pages count from 1."""

    level: int
    text: str
    page: int


def find_headings(blocks: Blocks, bookmarks: Sequence[Bookmark]) -> list[Heading]:
    """The headings in the order of their lines."""
    body = _body_size(blocks.lines)
    candidates = {
        number: line
        for number, line in enumerate(blocks.lines, 1)
        if _stands_out(line, body) and (line.size >= body * _LARGER or _stands_alone(blocks, number))
    }
    letters = sum(len(line.text) for line in blocks.lines)
    if sum(len(line.text) for line in candidates.values()) > max(_MAX_SHARE * letters, _MAX_HEADING_CHARS):
        candidates = {}
    marked = _by_bookmarks(blocks, bookmarks)
    if marked:
        return _below_bookmarks(marked, candidates, blocks.lines)
    levels = _levels(candidates)
    return [
        Heading(line=number, level=levels[number], text=fold(line.text))
        for number, line in candidates.items()
    ]


def largest_line(lines: Sequence[Line]) -> str:
    """The first of the lines in the largest letters; nothing when these are the usual ones."""
    sized = [line for line in lines if line.size and len(line.text) <= _MAX_HEADING_CHARS]
    if not sized:
        return ""
    largest = max(sized, key=lambda line: line.size)
    usual = sorted(line.size for line in sized)[len(sized) // 2]
    return fold(largest.text) if largest.size >= usual * _LARGER else ""


def _body_size(lines: Sequence[Line]) -> float:
    """The size that most of the text is in; of code only when there is nothing else."""
    sized = [line for line in lines if line.size]
    weights: Counter[float] = Counter()
    for line in [line for line in sized if not line.mono] or sized:
        weights[line.size] += len(line.text)
    return max(weights, key=lambda size: (weights[size], -size), default=0.0)


def _stands_out(line: Line, body: float) -> bool:
    return (
        bool(line.size)
        and not line.spread
        and (
            line.size >= body * _LARGER
            or (line.bold and not line.mono and line.size >= body * _SMALLEST)
            or (line.size > body and _NUMBERED.match(line.text) is not None)
        )
        and len(line.text) <= _MAX_HEADING_CHARS
        and _NO_HEADING.match(line.text) is None
        and _SIGNATURE.match(line.text) is None
        and any(letter.isalpha() for letter in line.text)
    )


def _stands_alone(blocks: Blocks, number: int) -> bool:
    """Of a line that is hardly larger than the text: it is apart from what is above, and no table is below."""
    below = next((line for line in blocks.lines[number : number + 2] if line.text.strip()), None)
    return number in blocks.apart and below is not None and bool(below.size)


def _levels(candidates: Mapping[int, Line]) -> dict[int, int]:
    """By number where headings have one ("2.3.1" is two below "2"), else by size, the bold ones first."""
    styles = sorted({_style(line) for line in candidates.values()}, reverse=True)
    rank = {style: min(place, _MAX_LEVEL) for place, style in enumerate(styles, 1)}
    depths = {
        number: match[1].count(".")
        for number, line in candidates.items()
        if (match := _NUMBERED.match(line.text)) is not None
    }
    if 2 * len(depths) < len(candidates) or len(set(depths.values())) < 2:
        return {number: rank[_style(line)] for number, line in candidates.items()}
    top = min(
        rank[_style(candidates[number])] for number, depth in depths.items() if depth == min(depths.values())
    )
    levels = {number: min(top + depth - min(depths.values()), _MAX_LEVEL) for number, depth in depths.items()}
    of_style: dict[Style, Counter[int]] = {}
    for number, level in levels.items():
        of_style.setdefault(_style(candidates[number]), Counter())[level] += 1
    for number, line in candidates.items():
        usual = of_style.get(_style(line))
        levels.setdefault(number, usual.most_common(1)[0][0] if usual else rank[_style(line)])
    return levels


def _style(line: Line) -> Style:
    return line.size, line.bold


# ---------------------------------------------------------------- bookmarks


def _by_bookmarks(blocks: Blocks, bookmarks: Sequence[Bookmark]) -> dict[int, Heading]:
    """A bookmark names a page; its heading is the line there with its words, else the first free line of the page."""
    by_page = {span.page: span for span in blocks.spans}
    found: dict[int, Heading] = {}
    for mark in bookmarks:
        span = by_page.get(mark.page)
        if span is None:
            continue
        wanted = letters_of(mark.text)
        filled = [
            (number, letters_of(blocks.lines[number - 1].text))
            for number in range(span.line_start, span.line_end + 1)
            if number not in found and blocks.lines[number - 1].text.strip()
        ]
        line = next((number for number, key in filled if key == wanted), None)
        if line is None and len(wanted) >= 4:
            line = next((n for n, key in filled if key.startswith(wanted) or key.endswith(wanted)), None)
        if line is None:
            line = span.line_start if span.line_start not in found else None
        if line is not None:
            found[line] = Heading(line=line, level=mark.level, text=mark.text)
    return dict(sorted(found.items()))


def _below_bookmarks(
    marked: Mapping[int, Heading], candidates: Mapping[int, Line], lines: Sequence[Line]
) -> list[Heading]:
    """The marked headings, and those that look smaller than any of them, one level further down each."""
    smallest = min((_style(lines[number - 1]) for number in marked), default=(0.0, False))
    deepest = max(heading.level for heading in marked.values())
    below = sorted({_style(line) for line in candidates.values() if _style(line) < smallest}, reverse=True)
    found = dict(marked)
    for number, line in candidates.items():
        if number not in found and _style(line) in below:
            level = min(deepest + 1 + below.index(_style(line)), max(_MAX_LEVEL, deepest + 1))
            found[number] = Heading(line=number, level=level, text=fold(line.text))
    return [found[number] for number in sorted(found)]

"""From the lines of PDF pages to paragraphs: without running heads and page numbers, each sentence whole.

A printed line ends where the page does, so it says nothing; a line of the canonical text is a paragraph, a list item,
a heading, a row of a table or a line of code. Two printed lines are one when the second could not have begun on the
first, and nothing else (a gap, an indent, another size, a bullet) sets them apart.
"""

from __future__ import annotations

import ctypes
import re
from collections import Counter
from collections.abc import Sequence, Set
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

from recollect.domain.library import PageSpan
from recollect.files.decode import canonical
from recollect.library.reading.sections import fold

#: What pdfium writes for a hyphen at the end of a line; it joins the two halves of the word itself.
_HYPHEN = "\ufffe"
#: As fonts of the usual programs are named; "Medi" and "BX" are the bold ones of PostScript and TeX.
_BOLD = re.compile(rb"bold|black|heavy|demi|medi(?!um)|CMBX|SFBX", re.IGNORECASE)
_MONO = re.compile(rb"mono|courier|consol|menlo|CMTT|SFTT", re.IGNORECASE)
_FIXED_PITCH = 1
_NAME_BYTES = 128


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """A line of a page, in points from the lower left corner; places and `size` are 0 when unknown.

    `y` is its base line, `size` that of its largest letters. It is `bold` or `mono` when all of it is: the first and
    last letter and two between are looked at, which is enough and costs little. `spread`: its words stand side by side
    as in a row of a table.
    """

    text: str
    left: float = 0.0
    right: float = 0.0
    y: float = 0.0
    size: float = 0.0
    bold: bool = False
    mono: bool = False
    spread: bool = False


def page_lines(textpage: Any) -> list[Line]:
    """The lines of a page in reading order, without empty ones at its ends."""
    text: str = textpage.get_text_range()
    # Letters outside the basic plane count twice in pdfium; then places can't be told.
    look = _Letters(textpage) if len(text) == textpage.count_chars() else None
    lines: list[Line] = []
    position = 0
    for raw in text.split("\n"):
        written = canonical(raw.replace(_HYPHEN, ""))[0].replace("\f", " ").replace("\n", " ")
        first, last = len(raw) - len(raw.lstrip()), len(raw.rstrip()) - 1
        if look is None or last < first:
            lines.append(Line(text=written))
        else:
            lines.append(look.line(written, position + first, position + last))
        position += len(raw) + 1
    while lines and not lines[-1].text.strip():
        lines.pop()
    while lines and not lines[0].text.strip():
        lines.pop(0)
    return lines


@cache
def _look(font: bytes) -> tuple[bool, bool]:
    """Whether a font is bold, and whether all its letters have one width."""
    return _BOLD.search(font) is not None, _MONO.search(font) is not None


class _Letters:
    """Where letters of a page stand and how they look. The places for answers are made once: this runs often."""

    def __init__(self, textpage: Any) -> None:
        import pypdfium2.raw as raw  # type: ignore[import-untyped]

        self._raw = raw
        self._page = textpage.raw
        self._x, self._y = ctypes.c_double(), ctypes.c_double()
        self._box = [ctypes.c_double() for _ in range(4)]
        self._matrix = raw.FS_MATRIX()
        self._name = ctypes.create_string_buffer(_NAME_BYTES)
        self._flags = ctypes.c_int()

    def line(self, text: str, first: int, last: int) -> Line:
        """The line from one letter to another."""
        raw, page = self._raw, self._page
        raw.FPDFText_GetCharOrigin(page, first, self._x, self._y)
        raw.FPDFText_GetMatrix(page, first, self._matrix)
        scale = (self._matrix.c**2 + self._matrix.d**2) ** 0.5
        left, y = self._x.value, self._y.value
        raw.FPDFText_GetCharBox(page, last, *self._box)
        step = (last - first) // 3
        size, bold, mono = 0.0, True, True
        for at in {first, first + step, last - step, last}:
            size = max(size, raw.FPDFText_GetFontSize(page, at))
            if raw.FPDFText_GetFontInfo(page, at, self._name, _NAME_BYTES, self._flags):
                is_bold, is_mono = _look(self._name.value)
                bold = bold and is_bold
                mono = mono and (is_mono or bool(self._flags.value & _FIXED_PITCH))
        return Line(
            text=text,
            left=left,
            right=self._box[1].value,
            y=y,
            size=round(size * scale * 2) / 2,
            bold=bold,
            mono=mono,
        )


#: Running heads and page numbers stand in this share of the page at its top and bottom.
_MARGIN = 0.1
_SAME_PLACE = 3.0
#: A line is in the same paragraph up to this many times the usual distance of lines, and starts one when indented so
#: many times its size.
_NEXT_LINE = 1.25
_INDENT = 0.8
#: Lines that begin within so many sizes of each other share a right edge: lists do, columns don't.
_SAME_COLUMN = 6.0
_SIZES_APART = 0.12

_ITEM = re.compile(r"(?:[-–—*+•▪▸◦○●■‣∙·]|\(?(?:\d{1,3}|[a-z]|[ivx]{1,4})[.)])\s+\S")
_ENDS = re.compile(r"[.!?:;。！？]['\"”’)\]]*$")
_NUMBER = re.compile(r"\d+")
_LEADING_NUMBER = re.compile(r"\s*\d+(?:\.\d+)*[.)]?\s+")
_PAGE_OF = re.compile(r"(\d+)\s*(?:/|of|von|de|sur)\s*(\d+)$", re.IGNORECASE)
_HYPHENATED = re.compile(r"[^\W\d_]-$")


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """A page as it was read: its number, how high it is, and its lines."""

    number: int
    height: float
    lines: list[Line]


@dataclass(slots=True)
class Blocks:
    """The canonical lines, and which of them are on which page; one that goes on is on both.

    `apart` are the numbers of the lines with more than the usual distance to the one before.
    """

    lines: list[Line]
    spans: list[PageSpan]
    apart: set[int]


def build_blocks(pages: Sequence[Page], titles: Set[tuple[int, str]] = frozenset()) -> Blocks:
    """The paragraphs of all pages, in order. A line that is a title (page, `letters_of`) ends where it ends."""
    kept = _without_running(pages)
    leading = _leading(kept)
    blocks = Blocks(lines=[], spans=[], apart=set())
    previous, previous_edge = Line(text=""), 0.0
    for page in kept:
        start = 0
        for line, edge in zip(page.lines, _right_edges(page.lines), strict=True):
            usual = leading.get(line.size, 1.5 * line.size)
            is_title = (page.number, letters_of(previous.text)) in titles
            if not is_title and _goes_on(
                previous, line, edge=previous_edge, leading=usual if start else None
            ):
                blocks.lines[-1] = _joined(blocks.lines[-1], line)
            else:
                if blocks.lines and not start:
                    blocks.lines.append(Line(text=""))
                blocks.lines.append(line)
                if not start or not 0 < previous.y - line.y <= usual * _NEXT_LINE:
                    blocks.apart.add(len(blocks.lines))
            start = start or len(blocks.lines)
            previous, previous_edge = line, edge
        if start:
            blocks.spans.append(PageSpan(page=page.number, line_start=start, line_end=len(blocks.lines)))
    return blocks


def letters_of(text: str) -> str:
    """A title as it is compared: without its number, white space and marks."""
    return "".join(letter for letter in _LEADING_NUMBER.sub("", text).casefold() if letter.isalnum())


def _goes_on(line: Line, following: Line, *, edge: float, leading: float | None) -> bool:
    """Whether a printed line goes on in the next one. `leading` is None from one page to the next."""
    if (
        not (line.size and following.size)
        or (line.mono and following.mono)
        or line.spread
        or following.spread
    ):
        return False
    if _ITEM.match(following.text):
        return False
    if abs(line.size - following.size) > _SIZES_APART * max(line.size, following.size):
        return False
    drop = line.y - following.y
    word = following.text.lstrip().split(" ", 1)[0]
    letter = (following.right - following.left) / max(len(following.text), 1)
    is_full = line.right + letter * (len(word) + 1) > edge - 1.0
    ended = _ENDS.search(line.text.rstrip()) is not None
    mid_sentence = not ended and following.text.lstrip()[:1].islower()
    if leading is None or drop <= 0:
        return is_full and not ended and line.bold == following.bold and (mid_sentence or not line.bold)
    if drop > leading * _NEXT_LINE:
        return False
    if line.bold != following.bold and not is_full:
        return False
    hangs = _ITEM.match(line.text) is not None
    if following.left > line.left + _INDENT * line.size and not hangs and not mid_sentence:
        return False
    return is_full or mid_sentence or (line.bold and following.bold and _is_centred(line, following))


def _is_centred(line: Line, following: Line) -> bool:
    """A title on two lines, neither of them full."""
    middle = (line.left + line.right) / 2 - (following.left + following.right) / 2
    return abs(middle) < line.size / 2 and abs(line.left - following.left) > 1.0


def _joined(line: Line, following: Line) -> Line:
    text, more = line.text.rstrip(), following.text.strip()
    hyphenated = _HYPHENATED.search(text) and more[:1].islower()
    text = f"{text[:-1]}{more}" if hyphenated else f"{text} {more}"
    # A paragraph is bold when all of it is.
    return replace(
        line,
        text=text,
        bold=line.bold and following.bold,
        mono=line.mono and following.mono,
        right=following.right,
    )


def _right_edges(lines: Sequence[Line]) -> list[float]:
    """How far each line could have gone: as far as the longest of those that begin about there."""
    longest: dict[int, float] = {}
    for line in lines:
        if line.size and not line.mono:
            longest[int(line.left)] = max(longest.get(int(line.left), 0.0), line.right)
    return [
        max(
            (edge for left, edge in longest.items() if abs(left - line.left) <= _SAME_COLUMN * line.size),
            default=line.right,
        )
        for line in lines
    ]


def _leading(pages: Sequence[Page]) -> dict[float, float]:
    """The usual distance of lines, by the size of their letters."""
    drops: dict[float, Counter[float]] = {}
    for page in pages:
        for above, line in zip(page.lines, page.lines[1:], strict=False):
            drop = round(above.y - line.y, 0)
            if line.size and line.size == above.size and 0 < drop <= 2.2 * line.size:
                drops.setdefault(line.size, Counter())[drop] += 1
    # Of distances that are about as common, the least: paragraphs of one line are apart by more than lines.
    return {
        size: min(drop for drop, times in counted.items() if 3 * times >= max(counted.values()))
        for size, counted in drops.items()
    }


# ---------------------------------------------------------------- running heads


def _without_running(pages: Sequence[Page]) -> list[Page]:
    """Pages without what is printed at the edge of each: title, date, address, number."""
    places: dict[tuple[str, int], set[int]] = {}
    for page in pages:
        for line in _at_edges(page):
            for key in _keys(line):
                places.setdefault(key, set()).add(page.number)
    enough = 3 if len(pages) > 3 else 2
    kept = []
    for page in pages:
        edges = _at_edges(page)
        body = {line.size for line in page.lines} - {line.size for line in edges}
        numbered = {line.size for line in edges if _says_page(line, page, len(pages))} - body
        # On a page that is alone the head is known by having the letters of the foot.
        running = {
            id(line)
            for line in edges
            if line.size in numbered or any(len(places[key]) >= enough for key in _keys(line))
        }
        kept.append(replace(page, lines=[line for line in page.lines if id(line) not in running]))
    return kept


def _at_edges(page: Page) -> list[Line]:
    low, high = _MARGIN * page.height, (1.0 - _MARGIN) * page.height
    return [line for line in page.lines if line.size and not low < line.y < high]


def _keys(line: Line) -> list[tuple[str, int]]:
    """What a running head has in common on all pages: its words without numbers, at its height."""
    words = _NUMBER.sub("#", fold(line.text))
    at = int(line.y // _SAME_PLACE)
    return [(words, at), (words, at + 1)]


def _says_page(line: Line, page: Page, pages: int) -> bool:
    match = _PAGE_OF.search(line.text.strip())
    return match is not None and (int(match[1]), int(match[2])) == (page.number, pages)

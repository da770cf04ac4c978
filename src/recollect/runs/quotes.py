"""Where quoted words stand in lines: models copy what they were shown, not quite what is there.

They copy the `path:line:` that a search puts before a line, change white space and capitals, quote one cell of a table
or drop the stars of bold text. All of that is placed; words that are not there are not.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence

#: Fewer characters stand in any text, so they prove nothing.
MIN_QUOTE_CHARS = 3
#: What tools put before a line: `src/a.py:12: `, `a.md:12-40 `, `12: `, `12| `, `12- `, `12 [Section > Path] `.
_BEFORE = re.compile(
    r"^[ \t]*(?:(?P<path>[^\s:|\[\]]+):)?(?P<line>\d+)(?:-\d+)?"
    r"(?:[ ]?[:|]|-(?=[ ])|\t|[ ]{2,}|[ ](?=\[))[ \t]?(?:\[[^\]]*\][ \t])?",
    re.MULTILINE,
)
_DECORATION = re.compile(r"[|*`]")


def plain(text: str) -> str:
    """Words alone, for comparing: one blank between them, no capitals, no signs of Markdown."""
    return " ".join(_DECORATION.sub(" ", text).split()).casefold()


def cleaned(quote: str) -> str:
    """A quote without what a tool put before its lines."""
    return _BEFORE.sub("", quote).strip()


def line_hint(quote: str) -> int | None:
    """The number of the line that a quote begins with, if a tool put one there."""
    match = _BEFORE.match(quote)
    return int(match["line"]) if match else None


def spellings(quote: str) -> Iterator[str]:
    """A quote as it is, and without what a tool put before its lines."""
    yield quote
    bare = cleaned(quote)
    if bare and bare != quote.strip():
        yield bare


def locate(quote: str, lines: Sequence[str], *, first: int = 1) -> tuple[int, int] | None:
    """The first and last line of a quote; None when it is not there. `first` is the number of the first of `lines`.

    Of several places the one nearest to the line that the quote itself names, else the first.
    """
    hint = line_hint(quote)
    for form in (_squeezed, _folded, _bare):
        ends: list[int] = []
        pieces: list[str] = []
        total = 0
        for line in lines:
            pieces.append(form(line))
            total += len(pieces[-1])
            ends.append(total)
        text = "".join(pieces)
        for spelling in spellings(quote):
            wanted = form(spelling)
            if len(wanted) < MIN_QUOTE_CHARS:
                continue
            at = text.find(wanted)
            best: tuple[int, int] | None = None
            while at >= 0:
                place = (bisect_right(ends, at) + first, bisect_right(ends, at + len(wanted) - 1) + first)
                if hint is None:
                    return place
                if best is None or abs(place[0] - hint) < abs(best[0] - hint):
                    best = place
                at = text.find(wanted, at + 1)
            if best is not None:
                return best
    return None


def _squeezed(text: str) -> str:
    return "".join(text.split())


def _folded(text: str) -> str:
    return _squeezed(text).casefold()


def _bare(text: str) -> str:
    return _folded(_DECORATION.sub("", text))

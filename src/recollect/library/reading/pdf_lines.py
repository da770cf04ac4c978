"""The lines of a PDF page, and where and how large they stand there."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from recollect.files.decode import canonical

#: What pdfium writes for a hyphen at the end of a line; it joins the two halves of the word itself.
_HYPHEN = "\ufffe"


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """A line of a page, and where it stands; places and sizes are 0 when unknown.

    `x` and `y` are the middle of its first letter, from the lower left corner; `size` is the height of its letters.
    """

    text: str
    x: float = 0.0
    y: float = 0.0
    size: float = 0.0


def page_lines(textpage: Any) -> list[Line]:
    """The lines of a page in reading order, without empty ones at its ends."""
    text = textpage.get_text_range()
    # Letters outside the basic plane count twice in pdfium; then places can't be told.
    placed = len(text) == textpage.count_chars()
    lines: list[Line] = []
    position = 0
    for raw in text.split("\n"):
        written = canonical(raw.replace(_HYPHEN, ""))[0].replace("\f", " ").replace("\n", " ")
        x = y = size = 0.0
        if placed and written:
            first = position + len(raw) - len(raw.lstrip())
            left, bottom, right, top = textpage.get_charbox(first, loose=True)
            x, y, size = (left + right) / 2, (bottom + top) / 2, abs(top - bottom)
        lines.append(Line(text=written, x=x, y=y, size=size))
        position += len(raw) + 1
    while lines and not lines[-1].text.strip():
        lines.pop()
    while lines and not lines[0].text.strip():
        lines.pop(0)
    return lines

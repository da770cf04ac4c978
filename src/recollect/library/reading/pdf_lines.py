"""The lines of a PDF page: their words, where they stand, and in which letters."""

from __future__ import annotations

import ctypes
import re
from dataclasses import dataclass
from functools import cache
from typing import Any

from recollect.files.decode import canonical

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

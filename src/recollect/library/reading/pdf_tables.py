"""Tables of a PDF page: those drawn with lines are read, those without are noticed.

pdfplumber is slow, so it looks only at pages that draw what could be the rules of a table.
"""

from __future__ import annotations

import io
import itertools
from collections.abc import Sequence
from typing import Any

from recollect.library.reading.pdf_lines import Line
from recollect.library.reading.sections import fold
from recollect.library.reading.tables import markdown_table

Box = tuple[float, float, float, float]  # left, bottom, right, top; from the lower left corner

#: A page that draws more than this is a figure or a map.
_MAX_PATHS = 10_000
_THIN = 4.0
_LONG = 20.0
#: Columns are apart by more than a blank: 1.2 times the height of the letters, and at least this many points.
_MIN_COLUMN_GAP = 12.0
_MIN_ROWS = 3
_MIN_COLUMNS = 3
_ALIGNED = 4.0


class TableReader:
    """Reads the ruled tables of single pages; opens the file for it when the first page needs it."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._pdf: Any = None
        self.pages_read = 0

    def replace_tables(self, lines: list[Line], page: Any, index: int) -> tuple[list[Line], list[Box]]:
        """The lines with each table in place of its words, and where the tables stand."""
        import pdfplumber

        self.pages_read += 1
        if self._pdf is None:
            self._pdf = pdfplumber.open(io.BytesIO(self._data))
        plumbed = self._pdf.pages[index]
        found: list[tuple[Box, list[str]]] = []
        for table in plumbed.find_tables():
            written = _written(table.extract())
            if written:
                left, top, right, bottom = table.bbox
                height = float(plumbed.height)
                found.append(((left, height - bottom, right, height - top), written))
        plumbed.close()
        # A turned page, or one with an odd origin, has other coordinates: its tables follow its text.
        straight = page.get_rotation() == 0 and all(abs(edge) < 1 for edge in page.get_mediabox()[:2])
        for box, written in found:
            lines = _replaced(lines, box if straight else None, written)
        return lines, [box for box, _ in found]


def draws_rules(page: Any) -> bool:
    """Whether the page draws at least two lines each way, or a box."""
    import pypdfium2.raw as raw  # type: ignore[import-untyped]

    across: set[int] = set()
    down: set[int] = set()
    boxes = 0
    for number, path in enumerate(page.get_objects(filter=[raw.FPDF_PAGEOBJ_PATH])):
        if number >= _MAX_PATHS:
            return False
        left, bottom, right, top = path.get_bounds()
        width, height = right - left, top - bottom
        if height <= _THIN and width >= _LONG:
            across.add(round(bottom))
        elif width <= _THIN and height >= _THIN:
            down.add(round(left))
        elif width >= _LONG and height >= _THIN:
            boxes += 1
    return boxes >= 1 or (len(across) >= 2 and len(down) >= 2)


def has_columns(textpage: Any, page_width: float, known: Sequence[Box]) -> bool:
    """Whether at least three rows of short words stand in three or more columns, outside the tables already read."""
    rows = _rows(textpage, known)
    run = 1
    for above, row in itertools.pairwise(rows):
        run = run + 1 if _same_columns(above, row, page_width) else 1
        if run >= _MIN_ROWS:
            return True
    return False


def _rows(textpage: Any, known: Sequence[Box]) -> list[list[Box]]:
    """The pieces of text on the page, row by row from the top, each row from the left."""
    pieces: list[Box] = [textpage.get_rect(number) for number in range(min(textpage.count_rects(), 5_000))]
    pieces = [piece for piece in pieces if not any(_inside(piece, box) for box in known)]
    pieces.sort(key=lambda piece: (-(piece[1] + piece[3]), piece[0]))
    rows: list[list[Box]] = []
    for piece in pieces:
        middle = (piece[1] + piece[3]) / 2
        if rows and rows[-1][0][1] <= middle <= rows[-1][0][3]:
            rows[-1].append(piece)
        else:
            rows.append([piece])
    return [_cells(sorted(row)) for row in rows]


def _cells(row: Sequence[Box]) -> list[Box]:
    """Pieces that stand close together are one cell."""
    cells: list[Box] = []
    for piece in row:
        gap = max(_MIN_COLUMN_GAP, 1.2 * (piece[3] - piece[1]))
        if cells and piece[0] - cells[-1][2] < gap:
            last = cells[-1]
            cells[-1] = (last[0], min(last[1], piece[1]), max(last[2], piece[2]), max(last[3], piece[3]))
        else:
            cells.append(piece)
    return cells


def _same_columns(above: Sequence[Box], row: Sequence[Box], page_width: float) -> bool:
    if len(above) < _MIN_COLUMNS or len(above) != len(row):
        return False
    aligned = sum(
        1
        for one, other in zip(above, row, strict=True)
        if abs(one[0] - other[0]) <= _ALIGNED or abs(one[2] - other[2]) <= _ALIGNED
    )
    # Columns of a newspaper are filled to the next one; cells of a table are not.
    pitch = [after[0] - cell[0] for cell, after in itertools.pairwise(row)]
    filled = sum((cell[2] - cell[0]) / max(step, 1.0) for cell, step in zip(row, pitch, strict=False))
    return aligned >= len(row) - 1 and filled / len(pitch) < 0.75


def _written(rows: Sequence[Sequence[str | None]]) -> list[str]:
    """A table as lines; nothing of a box around a paragraph."""
    filled = [[fold(cell or "") for cell in row] for row in rows]
    filled = [row for row in filled if any(row)]
    if len(filled) < 2 or max(map(len, filled)) < 2:
        return []
    return markdown_table(filled, has_header=True)


def _replaced(lines: list[Line], box: Box | None, written: Sequence[str]) -> list[Line]:
    table = [Line(text=""), *(Line(text=text) for text in written), Line(text="")]
    inside = [index for index, line in enumerate(lines) if box is not None and _holds(box, line)]
    if not inside:
        return [*lines, *table[:-1]]
    first = inside[0]
    gone = set(inside)
    result: list[Line] = []
    for index, line in enumerate(lines):
        if index == first:
            result += table if result else table[1:]
        if index not in gone:
            result.append(line)
    while result and not result[-1].text:
        result.pop()
    return result


def _holds(box: Box, line: Line) -> bool:
    return bool(line.size) and box[0] <= line.x <= box[2] and box[1] <= line.y <= box[3]


def _inside(piece: Box, box: Box) -> bool:
    x, y = (piece[0] + piece[2]) / 2, (piece[1] + piece[3]) / 2
    return box[0] <= x <= box[2] and box[1] <= y <= box[3]

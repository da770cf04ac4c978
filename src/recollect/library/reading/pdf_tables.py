"""Tables of a PDF page: those that are tagged or drawn with lines are read, the others are noticed.

Browsers and office programs write down which words make a cell (tags); for other files pdfplumber looks
at the rules. Both are slow, so only pages that draw rules or set words in columns are looked at.
"""

from __future__ import annotations

import ctypes
import io
import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from recollect.library.reading.pdf_blocks import Line
from recollect.library.reading.sections import fold, markdown_table

#: Left, bottom, right, top; from the lower left corner.
Box = tuple[float, float, float, float]

_MAX_DEPTH = 40
_NAME_BYTES = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class TaggedTable:
    """The texts of a table's cells, and where its words stand. `has_head`: its first row is named as such."""

    rows: list[list[str]]
    boxes: list[Box]
    has_head: bool


@dataclass(slots=True)
class _Tag:
    name: str
    marks: list[int]
    children: list[_Tag]

    def find(self, *names: str) -> Iterator[_Tag]:
        """The nearest tags of these names below, in order."""
        for child in self.children:
            if child.name in names:
                yield child
            else:
                yield from child.find(*names)

    def all_marks(self) -> list[int]:
        """Its own marks and those of everything in it."""
        return [*self.marks, *(mark for child in self.children for mark in child.all_marks())]


def tagged_tables(page: Any, textpage: Any) -> list[TaggedTable]:
    """The tables of a page, in its order."""
    tables = list(_read_tags(page).find("Table"))
    boxes = _boxes(page) if tables else {}
    tagged = []
    for table in tables:
        rows: list[list[str]] = []
        places: list[Box] = []
        has_head = False
        for row in table.find("TR"):
            cells = list(row.find("TH", "TD"))
            placed = [[box for mark in cell.all_marks() for box in boxes.get(mark, ())] for cell in cells]
            if not any(placed):
                continue
            has_head = has_head or (not rows and all(cell.name == "TH" for cell in cells))
            rows.append([" ".join(textpage.get_text_bounded(*box) for box in cell) for cell in placed])
            places += [box for cell in placed for box in cell]
        if rows:
            tagged.append(TaggedTable(rows=rows, boxes=places, has_head=has_head))
    return tagged


def _read_tags(page: Any) -> _Tag:
    import pypdfium2.raw as raw  # type: ignore[import-untyped]

    name = ctypes.create_string_buffer(_NAME_BYTES)

    def read(element: Any, depth: int) -> _Tag:
        length = raw.FPDF_StructElement_GetType(element, name, _NAME_BYTES)
        tag = _Tag(name.raw[: max(length - 2, 0)].decode("utf-16-le", "replace"), [], [])
        for number in range(raw.FPDF_StructElement_CountChildren(element) if depth < _MAX_DEPTH else 0):
            mark = raw.FPDF_StructElement_GetChildMarkedContentID(element, number)
            child = None if mark >= 0 else raw.FPDF_StructElement_GetChildAtIndex(element, number)
            if mark >= 0:
                tag.marks.append(mark)
            elif child:
                tag.children.append(read(child, depth + 1))
        return tag

    root = _Tag("", [], [])
    tree = raw.FPDF_StructTree_GetForPage(page)
    if tree:
        try:
            for number in range(raw.FPDF_StructTree_CountChildren(tree)):
                root.children.append(read(raw.FPDF_StructTree_GetChildAtIndex(tree, number), 0))
        finally:
            raw.FPDF_StructTree_Close(tree)
    return root


def _boxes(page: Any) -> dict[int, list[Box]]:
    """Where the words of each mark stand, line by line."""
    import pypdfium2.raw as raw

    boxes: dict[int, list[Box]] = {}
    for piece, box in _objects(page, raw.FPDF_PAGEOBJ_TEXT):
        mark = raw.FPDFPageObj_GetMarkedContentID(piece)
        if mark < 0:
            continue
        line = boxes.setdefault(mark, [])
        if line and line[-1][1] < (box[1] + box[3]) / 2 < line[-1][3] and box[0] >= line[-1][0]:
            box = _around(line.pop(), box)
        line.append(box)
    return boxes


def _objects(page: Any, kind: int) -> Iterator[tuple[Any, Box]]:
    """What a page draws of a kind, and where."""
    import pypdfium2.raw as raw

    left, bottom, right, top = (ctypes.c_float() for _ in range(4))
    # Asked of pdfium itself: wrapping every object of a page would take longer than reading its text.
    for number in range(raw.FPDFPage_CountObjects(page)):
        piece = raw.FPDFPage_GetObject(page, number)
        if raw.FPDFPageObj_GetType(piece) == kind:
            raw.FPDFPageObj_GetBounds(piece, left, bottom, right, top)
            yield piece, (left.value, bottom.value, right.value, top.value)


def _around(box: Box, following: Box) -> Box:
    """A box and the one to the right of it as one."""
    return box[0], min(box[1], following[1]), max(box[2], following[2]), max(box[3], following[3])


#: A page that draws more than this is a figure or a map.
_MAX_PATHS = 10_000
_THIN = 4.0
_LONG = 20.0
#: Columns are apart by more than a blank: 1.2 times the height of the letters, and at least this many points.
_MIN_COLUMN_GAP = 12.0
_MIN_ROWS = 3
_MIN_COLUMNS = 3
#: A first column narrower than this is bullets or numbers of a list.
_BULLET = 15.0
_FILLED = 0.75
#: A line with more ink than this is a sentence with wide blanks.
_JUSTIFIED = 0.9
_ALIGNED = 4.0


class TableReader:
    """Reads the tables of single pages; opens the file for it when the first page needs it."""

    def __init__(self, data: bytes, *, tagged: bool) -> None:
        self._data = data
        self._pdf: Any = None
        self._head: list[str] = []
        self.tagged = tagged
        self.pages_read = 0

    def replace_tables(
        self, lines: list[Line], page: Any, textpage: Any, index: int
    ) -> tuple[list[Line], list[Box]]:
        """The lines with each table in place of its words, and where the tables stand."""
        self.pages_read += 1
        tables = self._tagged(page, textpage) if self.tagged else self._ruled(index)
        # A turned page, or one with an odd origin, has other coordinates: its tables follow its text.
        turned = page.get_rotation() != 0 or any(abs(edge) >= 1 for edge in page.get_mediabox()[:2])
        straight = self.tagged or not turned
        for boxes, written in tables:
            lines = _replaced(lines, boxes if straight else (), written)
        return lines, [box for boxes, _ in tables for box in boxes]

    def _tagged(self, page: Any, textpage: Any) -> list[tuple[list[Box], list[str]]]:
        tables = []
        for table in tagged_tables(page, textpage):
            rows = [list(row) for row in table.rows]
            if table.has_head:
                self._head = rows[0]
            elif len(self._head) == max(map(len, rows)):
                # It goes on from the page before.
                rows.insert(0, self._head)
            if written := _written(rows):
                tables.append((table.boxes, written))
        return tables

    def _ruled(self, index: int) -> list[tuple[list[Box], list[str]]]:
        import pdfplumber

        if self._pdf is None:
            self._pdf = pdfplumber.open(io.BytesIO(self._data))
        plumbed = self._pdf.pages[index]
        tables = []
        for table in plumbed.find_tables():
            if written := _written(table.extract()):
                left, top, right, bottom = table.bbox
                height = float(plumbed.height)
                tables.append(([(left, height - bottom, right, height - top)], written))
        plumbed.close()
        return tables


def draws_rules(page: Any) -> bool:
    """Whether the page draws at least two lines each way, or a box."""
    import pypdfium2.raw as raw

    across: set[int] = set()
    down: set[int] = set()
    boxes = 0
    for paths, (_, (left, bottom, right, top)) in enumerate(_objects(page, raw.FPDF_PAGEOBJ_PATH), 1):
        if paths > _MAX_PATHS:
            return False
        width, height = right - left, top - bottom
        if height <= _THIN and width >= _LONG:
            across.add(round(bottom))
        elif width <= _THIN and height >= _THIN:
            down.add(round(left))
        elif width >= _LONG and height >= _THIN:
            boxes += 1
    return boxes >= 1 or (len(across) >= 2 and len(down) >= 2)


def has_columns(rows: Sequence[Sequence[Box]], *, known: Sequence[Box] = ()) -> bool:
    """Whether at least three rows of short words stand in three or more columns, outside the tables already read."""
    outside = [[cell for cell in row if not any(_inside(cell, box) for box in known)] for row in rows]
    run = 1
    for above, row in itertools.pairwise(outside):
        run = run + 1 if _same_columns(above, row) else 1
        if run >= _MIN_ROWS:
            return True
    return False


def spread_rows(rows: Sequence[Sequence[Box]]) -> list[Sequence[Box]]:
    """The rows whose words stand side by side, as in a table; nothing of a page that has just one."""
    spread = [
        row for row in rows if len(row) > 1 and row[0][2] - row[0][0] >= _BULLET and not _is_filled(row)
    ]
    return spread if len(spread) > 1 else []


def mark_spread(lines: Sequence[Line], rows: Sequence[Sequence[Box]]) -> list[Line]:
    """The lines, those over several cells of such a row marked: they are no headings, and end where they end."""
    return [
        replace(line, spread=True) if any(_is_over(line, row) for row in rows) else line for line in lines
    ]


def _is_over(line: Line, row: Sequence[Box]) -> bool:
    middle = line.y + line.size / 4
    cells = [cell for cell in row if cell[1] <= middle <= cell[3] and line.left - 2 <= cell[0] < line.right]
    width = sum(cell[2] - cell[0] for cell in cells)
    return len(cells) > 1 and width < _JUSTIFIED * (line.right - line.left)


def rows_of(textpage: Any) -> list[list[Box]]:
    """Where the words of the page stand, row by row from the top; those close together are one cell."""
    import pypdfium2.raw as raw

    left, top, right, bottom = (ctypes.c_double() for _ in range(4))
    pieces: list[Box] = []
    for number in range(min(textpage.count_rects(), 5_000)):
        raw.FPDFText_GetRect(textpage, number, left, top, right, bottom)
        pieces.append((left.value, bottom.value, right.value, top.value))
    pieces.sort(key=lambda piece: (-(piece[1] + piece[3]), piece[0]))
    rows: list[list[Box]] = []
    floor = 0.0
    for piece in pieces:
        # By the lowest ink of the row: a word without descenders stands higher than its neighbours.
        if rows and (piece[1] + piece[3]) / 2 >= floor:
            rows[-1].append(piece)
            floor = min(floor, piece[1])
        else:
            rows.append([piece])
            floor = piece[1]
    return [_cells(sorted(row)) for row in rows]


def _cells(row: Sequence[Box]) -> list[Box]:
    """Pieces that stand close together are one cell."""
    cells: list[Box] = []
    for piece in row:
        gap = max(_MIN_COLUMN_GAP, 1.2 * (piece[3] - piece[1]))
        if cells and piece[0] - cells[-1][2] < gap:
            cells[-1] = _around(cells[-1], piece)
        else:
            cells.append(piece)
    return cells


def _same_columns(above: Sequence[Box], row: Sequence[Box]) -> bool:
    if len(above) < _MIN_COLUMNS or len(above) != len(row):
        return False
    aligned = sum(
        1
        for cell, below in zip(above, row, strict=True)
        if abs(cell[0] - below[0]) <= _ALIGNED or abs(cell[2] - below[2]) <= _ALIGNED
    )
    return aligned >= len(row) - 1 and not _is_filled(row)


def _is_filled(row: Sequence[Box]) -> bool:
    """Columns of a newspaper are filled to the next one; cells of a table are not."""
    pitch = [after[0] - cell[0] for cell, after in itertools.pairwise(row)]
    filled = sum((cell[2] - cell[0]) / max(step, 1.0) for cell, step in zip(row, pitch, strict=False))
    return filled / len(pitch) >= _FILLED


def _written(rows: Sequence[Sequence[str | None]]) -> list[str]:
    """A table as lines; nothing of a box around a paragraph."""
    filled = [[fold(cell or "") for cell in row] for row in rows]
    filled = [row for row in filled if any(row)]
    if len(filled) < 2 or max(map(len, filled)) < 2:
        return []
    return markdown_table(filled, has_header=True)


def _replaced(lines: list[Line], boxes: Sequence[Box], written: Sequence[str]) -> list[Line]:
    table = [Line(text=""), *(Line(text=text) for text in written), Line(text="")]
    inside = [index for index, line in enumerate(lines) if any(_holds(box, line) for box in boxes)]
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
    # A letter may begin a little before its ink, and end below its base line.
    near = _THIN / 2
    return (
        bool(line.size)
        and box[0] - near <= line.left <= box[2] + near
        and box[1] - near <= line.y <= box[3] + near
    )


def _inside(piece: Box, box: Box) -> bool:
    x, y = (piece[0] + piece[2]) / 2, (piece[1] + piece[3]) / 2
    return box[0] <= x <= box[2] and box[1] <= y <= box[3]

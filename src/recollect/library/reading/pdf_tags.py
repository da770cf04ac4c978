"""Tables as a PDF's tags tell them: which marked pieces of a page are the cells of which row.

Asking pdfium for the tags of a page takes long in a long document, so callers ask for pages that may have a table.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

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
    found = []
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
            found.append(TaggedTable(rows=rows, boxes=places, has_head=has_head))
    return found


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

    left, bottom, right, top = (ctypes.c_float() for _ in range(4))
    boxes: dict[int, list[Box]] = {}
    for number in range(raw.FPDFPage_CountObjects(page)):
        piece = raw.FPDFPage_GetObject(page, number)
        mark = raw.FPDFPageObj_GetMarkedContentID(piece)
        if mark < 0 or raw.FPDFPageObj_GetType(piece) != raw.FPDF_PAGEOBJ_TEXT:
            continue
        raw.FPDFPageObj_GetBounds(piece, left, bottom, right, top)
        box = (left.value, bottom.value, right.value, top.value)
        line = boxes.setdefault(mark, [])
        if line and line[-1][1] < (box[1] + box[3]) / 2 < line[-1][3] and box[0] >= line[-1][0]:
            last = line.pop()
            box = (last[0], min(last[1], box[1]), max(last[2], box[2]), max(last[3], box[3]))
        line.append(box)
    return boxes

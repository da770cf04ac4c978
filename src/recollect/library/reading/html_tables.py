"""Tables of a page: which of them hold data, and their rows.

Many pages lay themselves out with tables. One that holds another table, a heading or a single column is no table to a
reader, and its cells are read as blocks.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from recollect.library.reading.html_tokens import End, Start, Token
from recollect.library.reading.sections import fold, markdown_table

#: No table is wider; a span beyond it is a mistake, or an attempt to fill the memory.
_MAX_COLUMNS = 200
_MAX_SPANNED_ROWS = 1_000
_LAYOUT_CONTENT = frozenset({"h1", "h2", "h3", "pre"})


@dataclass(slots=True)
class _Seen:
    index: int
    columns: int = 0
    cells: int = 0
    layout: bool = False


def plain_tables(tokens: Sequence[Token]) -> set[int]:
    """Where tables start that hold no data to lay out in columns, by their position among the tokens."""
    plain: set[int] = set()
    stack: list[_Seen] = []
    for index, token in enumerate(tokens):
        if isinstance(token, Start):
            if token.name == "table":
                if stack:
                    stack[-1].layout = True
                stack.append(_Seen(index, layout=token.attributes.get("role") in {"presentation", "none"}))
            elif stack:
                _see(stack[-1], token)
        elif isinstance(token, End) and token.name == "table":
            _judge(stack.pop(), plain)
    return plain


def _see(table: _Seen, token: Start) -> None:
    if token.name == "tr":
        table.cells = 0
    elif token.name in {"td", "th"}:
        table.cells += 1
        table.columns = max(table.columns, table.cells)
    elif token.name in _LAYOUT_CONTENT:
        table.layout = True


def _judge(table: _Seen, plain: set[int]) -> None:
    if table.layout or table.columns <= 1:
        plain.add(table.index)


class GridTable:
    """The rows of a table that is open; cells that span several keep their text in the first."""

    def __init__(self) -> None:
        self._rows: list[list[str]] = []
        self._row: list[str] | None = None
        self._cell: list[str] | None = None
        self._caption: list[str] | None = None
        self._captions: list[str] = []
        self._spanned: dict[int, int] = {}
        self._heads = 0
        self._head_row = False

    def opened(self, tag: Start) -> None:
        """An element inside the table starts."""
        if tag.name == "tr":
            self._finish_row()
            self._row, self._head_row = [], True
        elif tag.name in {"td", "th"}:
            self._start_cell(tag)
        elif tag.name == "caption":
            self._caption = []

    def closed(self, name: str) -> None:
        """An element inside the table, or the table itself, ends."""
        if name in {"td", "th"}:
            self._finish_cell()
        elif name in {"tr", "table"}:
            self._finish_row()
        elif name == "caption" and self._caption is not None:
            self._captions += [fold(" ".join(self._caption))]
            self._caption = None

    def add(self, text: str) -> None:
        """Text of one block, for the place that is open."""
        into = self._cell if self._cell is not None else self._caption
        if text.strip():
            (self._captions if into is None else into).append(text)

    def lines(self) -> list[str]:
        """The caption, and the table as Markdown."""
        self._finish_row()
        lines = [fold(line) for line in self._captions if line.strip()]
        rows = [row for row in self._rows if any(row)]
        return [*lines, *([""] if lines else []), *markdown_table(rows, has_header=self._heads > 0)]

    def _start_cell(self, tag: Start) -> None:
        self._finish_cell()
        if self._row is None:
            self._row, self._head_row = [], True
        self._skip_spanned()
        wide = _span(tag.attributes.get("colspan", "1"), _MAX_COLUMNS - len(self._row))
        high = _span(tag.attributes.get("rowspan", "1"), _MAX_SPANNED_ROWS)
        if high > 1:
            for column in range(len(self._row), len(self._row) + wide):
                self._spanned[column] = high
        self._row += [""] * (wide - 1)
        self._cell = []
        self._head_row = self._head_row and tag.name == "th"

    def _skip_spanned(self) -> None:
        assert self._row is not None
        while self._spanned.get(len(self._row), 0) > 0 and len(self._row) < _MAX_COLUMNS:
            self._row.append("")

    def _finish_cell(self) -> None:
        if self._cell is None or self._row is None:
            return
        self._row.append(fold(" ".join(self._cell)))
        self._cell = None

    def _finish_row(self) -> None:
        self._finish_cell()
        if self._row is None:
            return
        if not self._rows and self._head_row and self._row:
            self._heads = 1
        self._rows.append(self._row)
        self._row = None
        self._spanned = {column: left - 1 for column, left in self._spanned.items() if left > 1}


def _span(value: str, limit: int) -> int:
    number = int(value) if value.isascii() and value.isdigit() and len(value) < 8 else 1
    return max(1, min(number, limit))

"""Tables as Markdown, the form every reader writes them in."""

from __future__ import annotations

from collections.abc import Sequence

from recollect.library.reading.sections import fold


def markdown_table(rows: Sequence[Sequence[str]], *, has_header: bool) -> list[str]:
    """The lines of a table. Short rows are filled up; without a header the header row stays empty."""
    width = max((len(row) for row in rows), default=0)
    if width == 0:
        return []
    header, body = (rows[0], rows[1:]) if has_header else ([""] * width, rows)
    return [_line(header, width), "|" + " --- |" * width, *(_line(row, width) for row in body)]


def _line(row: Sequence[str], width: int) -> str:
    cells = [fold(cell).replace("|", "\\|") for cell in row]
    return "| " + " | ".join([*cells, *[""] * (width - len(cells))]) + " |"

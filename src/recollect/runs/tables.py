"""Tables in an answer, written by the engine: rows as a list or in Markdown, each with the marks of its sources."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from recollect.domain.context import quoted
from recollect.domain.findings import Citation
from recollect.domain.rows import Rows, write
from recollect.runs.citations import Read, reread
from recollect.runs.synthesis import Marks

#: More rows than this nobody reads in an answer; the citations have all of them.
MAX_ROWS = 500


def write_tables(
    tables: Sequence[Rows], citations: Sequence[Citation] = ()
) -> tuple[str, tuple[Citation, ...]]:
    """Tables one below the other, and what all marks stand for: those of the text before them first."""
    marks = Marks({citation: number for number, citation in enumerate(citations, 1)})
    return "\n\n".join(_written(table, marks) for table in tables), marks.citations


def count_of(tables: Sequence[Rows]) -> str:
    """How many rows there are; at least so many where not everything was looked at."""
    parts = any(table.looked < table.total for table in tables)
    return f"{'at least ' if parts else ''}{sum(len(table.rows) for table in tables)}:"


def standing_tables(tables: Sequence[Rows], read: Read) -> tuple[tuple[Rows, ...], list[str]]:
    """Tables with the rows whose every citation stands where it is read now, and a note of those that do not."""
    made, lost = [], 0
    for table in tables:
        kept = []
        for row, citations in zip(
            table.rows, reread([row.citations for row in table.rows], read), strict=True
        ):
            if citations:
                kept.append(replace(row, citations=citations))
        lost += len(table.rows) - len(kept)
        made.append(replace(table, rows=tuple(kept)))
    notes = [f"{lost} rows did not hold when read again and were dropped"] if lost else []
    return tuple(table for table in made if table.rows), notes


def _written(table: Rows, marks: Marks) -> str:
    listed, rest = table.rows[:MAX_ROWS], table.rows[MAX_ROWS:]
    if len(table.columns) == 1:
        name = table.columns[0].name
        texts = [row.quote if row.values.get(name) is None else write(row.values[name]) for row in listed]
        lines = [f"- {_cell(text)}{marks.of(row.citations)}" for text, row in zip(texts, listed, strict=True)]
    else:
        lines = [f"| {' | '.join(table.names)} | source |", f"|{'---|' * (len(table.columns) + 1)}"]
        for row in listed:
            cells = " | ".join(_cell(write(row.values.get(name))) for name in table.names)
            lines.append(f"| {cells} |{marks.of(row.citations)} |")
    if rest:
        lines.append(
            f"\nand {len(rest):,} more{marks.of([citation for row in rest for citation in row.citations])}"
        )
    return "\n".join(lines)


def _cell(text: str) -> str:
    return " ".join(quoted(text).split()).replace("|", "\\|")

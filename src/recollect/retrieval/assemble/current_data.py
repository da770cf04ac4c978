"""What the user's own database answered, as Markdown tables that fit into a number of tokens."""

from __future__ import annotations

from datetime import date, datetime
from decimal import Decimal

from recollect.domain.answers import Cell, DomainResults, DomainTable
from recollect.providers.tokens import count_tokens
from recollect.retrieval.assemble.recalled import one_line, table_cell

#: A cell is a value; what is longer is a document, and belongs elsewhere.
MAX_CELL_CHARS = 300


def format_domain_results(results: DomainResults, *, max_tokens: int | None = None) -> str:
    """The tables and notes of an answer; whole rows are left out from the end until it fits, and it says so."""
    notes = "".join(f"({one_line(note)})\n" for note in results.notes)
    whole = "\n".join([*(format_table(table) for table in results.tables), notes]).strip("\n")
    if max_tokens is None or count_tokens(whole) <= max_tokens:
        return whole
    parts, left = [], max_tokens - count_tokens(notes)
    for table in results.tables:
        if not (shown := _shortened(table, left)):
            break
        parts.append(shown)
        left -= count_tokens(shown) + 1
    missing = len(results.tables) - len(parts)
    if missing:
        parts.append(f"({missing} more {'table' if missing == 1 else 'tables'} did not fit)\n")
    text = "\n".join([*parts, notes]).strip("\n")
    # The line about what is missing may be the one too many.
    while parts and count_tokens(text) > max_tokens:
        parts.pop()
        text = "\n".join([*parts, notes]).strip("\n")
    return text if count_tokens(text) <= max_tokens else ""


def format_table(table: DomainTable, rows: int | None = None) -> str:
    """One table: its title, its columns and the first `rows` of its rows."""
    shown = table.rows if rows is None else table.rows[:rows]
    lines = [one_line(table.title), "", _row(table.columns), _row(("---",) * len(table.columns), plain=True)]
    lines += [_row(row) for row in shown]
    if hidden := len(table.rows) - len(shown):
        lines.append(f"({hidden}{' or more' if table.truncated else ''} more rows)")
    elif table.truncated:
        lines.append("(there are more rows)")
    return "\n".join(lines) + "\n"


def _shortened(table: DomainTable, max_tokens: int) -> str:
    """As many rows as fit, found by halving; empty when not even one does."""
    if count_tokens(format_table(table)) <= max_tokens:
        return format_table(table)
    low, high = 0, len(table.rows)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (
            (middle, high) if count_tokens(format_table(table, middle)) <= max_tokens else (low, middle)
        )
    return format_table(table, low) if low else ""


def _row(cells: tuple[Cell, ...], *, plain: bool = False) -> str:
    return f"| {' | '.join(str(cell) if plain else table_cell(_shown(cell)) for cell in cells)} |"


def _shown(cell: Cell) -> str:
    if cell is None:
        return ""
    if isinstance(cell, bool):
        return "yes" if cell else "no"
    if isinstance(cell, datetime):
        midnight = (cell.hour, cell.minute, cell.second) == (0, 0, 0)
        return f"{cell:%Y-%m-%d}" if midnight else f"{cell:%Y-%m-%d %H:%M}"
    if isinstance(cell, date):
        return cell.isoformat()
    if isinstance(cell, Decimal):
        return f"{cell:f}"
    if isinstance(cell, float):
        return f"{cell:.15g}"
    text = str(cell)
    return text if len(text) <= MAX_CELL_CHARS else f"{text[:MAX_CELL_CHARS]}…"

"""What a person sees of a benchmark: progress on standard error, tables at the end.

With `--json` there is one document on standard output and nothing else there. Knows the results' shapes only as far
as `tables` draws them; the same tables, as Markdown, are the report.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from recollect_bench.result import Result
from recollect_bench.tables import Table, bar_table, environment_line, tables_of

Progress = Callable[[int, int | None], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Show:
    """Where progress goes. `quiet` says nothing at all, for tests and `--json` in a pipe."""

    quiet: bool = False

    def say(self, line: str) -> None:
        """A remark on standard error."""
        if not self.quiet:
            print(line, file=sys.stderr, flush=True)

    @contextmanager
    def stage(self, what: str, total: int) -> Iterator[Progress]:
        """A progress bar on a terminal, a line in a log."""
        if self.quiet or not sys.stderr.isatty():
            self.say(f"{what} ({total:,})")
            yield lambda done, known_total: None
            return
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
        with Progress(*columns, console=Console(stderr=True)) as drawn:
            task = drawn.add_task(what, total=total)
            yield lambda done, known_total: drawn.update(task, completed=done)


def show_result(result: Result) -> None:
    """The measures, the bars and what they were measured on."""
    from rich.console import Console

    console = Console(highlight=False, markup=False, emoji=False)
    for table in [*tables_of(result), bar_table(result)]:
        if table.rows:
            console.print(_drawn(table))
    console.print(environment_line(result), style="dim", soft_wrap=True)


def _drawn(table: Table) -> object:
    from rich import box
    from rich.table import Table as RichTable
    from rich.text import Text

    drawn = RichTable(
        title=table.title, title_justify="left", title_style="bold", box=box.SIMPLE_HEAD, pad_edge=False
    )
    for number, column in enumerate(table.columns):
        drawn.add_column(column, justify="left" if number == 0 else "right")
    styles = {"reached": "green", "missed": "bold red"}
    for row in table.rows:
        drawn.add_row(*(Text(cell, style=styles.get(cell, "")) for cell in row))
    return drawn

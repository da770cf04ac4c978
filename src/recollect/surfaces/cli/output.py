"""What commands print: one JSON document, a table a person likes to read, plain lines for a pipe, or what went wrong.

Three readers, three forms. `--json` prints exactly one document. On a terminal there are rich tables, whose
cells are `Text`, never markup, so that `[bold]` in a memory stays `[bold]`. In a pipe each row is one line
with tabs between fixed columns and no colours. A failed command is one line on standard error (with `--json` a
document) and an exit code that means something; a traceback is printed only with `RECOLLECT_DEBUG=1`.
"""

from __future__ import annotations

import dataclasses
import json
import os
import re
import sys
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from recollect import errors
from recollect.domain.codec import encode
from recollect.errors import RecollectError, error_tree

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text


#: Control characters, and the marks that reorder text on a screen; tab and newline are handled apart.
_UNSAFE = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")
_UNSAFE_IN_JSON = re.compile(r"[\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")
#: Below this a table can't hold a sentence; narrower terminals scroll.
MIN_WIDTH = 40

Progress = Callable[[int, int | None], None]


def visible(text: str) -> str:
    """The text with control characters spelled out, so that a terminal shows them instead of obeying."""
    return _UNSAFE.sub(lambda match: _spelled(match.group()), text.replace("\r\n", "\n"))


def one_line(text: str) -> str:
    """The text as one line: line breaks and tabs spelled out as well."""
    return visible(text).replace("\n", "\\n").replace("\t", "\\t")


def _spelled(letter: str) -> str:
    number = ord(letter)
    return f"\\x{number:02x}" if number < 0x100 else f"\\u{number:04x}"


def to_json(value: object, *, indent: int | None = None) -> str:
    """A JSON document, readable where the output's encoding allows, safe on a terminal."""
    encoding = (getattr(sys.stdout, "encoding", None) or "ascii").lower().replace("-", "")
    text = json.dumps(encode(value), ensure_ascii=encoding != "utf8", indent=indent)
    return _UNSAFE_IN_JSON.sub(lambda match: f"\\u{ord(match.group()):04x}", text)


def moment(value: datetime | None) -> str:
    """A point in time as people read it; the zone is UTC throughout."""
    if value is None:
        return ""
    value = value.astimezone(UTC)
    if (value.hour, value.minute, value.second) == (0, 0, 0):
        return f"{value:%Y-%m-%d}"
    return f"{value:%Y-%m-%d %H:%M}"


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """A column of a table. `style` is rich's; `wide` marks the one that takes the room that is left."""

    name: str
    style: str = ""
    wide: bool = False
    right: bool = False


def _columns(header: str) -> list[Column]:
    """Columns from a line as "when:dim, memory*, score>": a style behind the colon, `*` is wide, `>` to the right."""
    parts = [re.fullmatch(r"([^:*>]*):?([^*>]*)(\*?)(>?)", part) for part in header.split(", ")]
    return [Column(name=m[1], style=m[2], wide=bool(m[3]), right=bool(m[4])) for m in parts if m]


class Output:
    """Where a command prints. `as_json` may be switched on by an option after the command."""

    def __init__(self, *, as_json: bool = False) -> None:
        self.as_json = as_json

    @property
    def on_terminal(self) -> bool:
        """Whether a person looks at standard output (and did not ask for JSON)."""
        return not self.as_json and sys.stdout.isatty()

    def document(self, value: object) -> None:
        """The one JSON document of this command."""
        print(to_json(value, indent=2 if sys.stdout.isatty() else None))

    def result(self, value: object) -> None:
        """What a command has to say: the document where JSON was asked for, and no line or table follows it."""
        if self.as_json:
            self.document(value)

    def line(self, text: str, *, style: str = "", whole: bool = False) -> None:
        """A sentence for a person; text from the store in it is made safe.

        What is to be copied stays `whole`: a terminal may fold it, but no line break gets into the copy.
        """
        if self.as_json:
            return
        if self.on_terminal:
            self.console().print(self.text(text, style), soft_wrap=whole)
        else:
            print(one_line(text))

    def aside(self, text: str, *, style: str = "dim") -> None:
        """A remark that is not part of the result: on standard error when the result goes into a pipe."""
        if self.as_json:
            return
        if self.on_terminal:
            self.console().print(self.text(text, style))
        else:
            print(one_line(text), file=sys.stderr)

    def table(
        self, columns: str | Sequence[Column], rows: Sequence[Sequence[object]], *, header: bool = True
    ) -> None:
        """Rows as a table on a terminal, as lines with tabs in a pipe. A line names the columns: `_columns`."""
        if self.as_json:
            return
        if not self.on_terminal:
            for row in rows:
                print("\t".join(one_line(_cell(value)) for value in row))
            return
        from rich import box
        from rich.table import Table
        from rich.text import Text

        table = Table(box=box.SIMPLE_HEAD if header else None, show_header=header, pad_edge=False)
        for column in _columns(columns) if isinstance(columns, str) else columns:
            table.add_column(
                column.name,
                style=column.style,
                justify="right" if column.right else "left",
                overflow="fold",
                ratio=1 if column.wide else None,
                no_wrap=not column.wide,
            )
        for row in rows:
            table.add_row(
                *(value if isinstance(value, Text) else Text(visible(_cell(value))) for value in row)
            )
        self.console().print(table)

    def show(
        self, value: Any, columns: str, row: Callable[[Any], Sequence[object]], *, none: str = ""
    ) -> None:
        """One thing or a list of them: the document, or a table with a row for each.

        `none` says what it means that there is nothing, and what to do about it.
        """
        self.result(value)
        items = value if isinstance(value, list | tuple) else [value]
        if not items and none:
            self.aside(none)
        else:
            self.table(columns, [row(item) for item in items])

    def pairs(self, rows: Sequence[tuple[str, object]]) -> None:
        """Names and values of one thing; empty ones are left out."""
        if self.as_json:
            return
        filled = [(name, value) for name, value in rows if value not in (None, "", (), {}, [])]
        if not self.on_terminal:
            for name, value in filled:
                print(f"{name}\t{one_line(_cell(value))}")
            return
        from rich.table import Table

        grid = Table.grid(padding=(0, 2))
        grid.add_column(style="dim", no_wrap=True)
        grid.add_column(overflow="fold")
        for name, value in filled:
            grid.add_row(self.text(name), self.text(_cell(value)))
        self.console().print(grid)

    def console(self) -> Console:
        """A rich console on standard output that interprets nothing."""
        from rich.console import Console

        # A width of 0 happens on pseudo-terminals nobody has sized.
        console = Console(highlight=False, markup=False, emoji=False)
        if console.width < MIN_WIDTH:
            console.width = MIN_WIDTH
        return console

    @staticmethod
    def text(value: str, style: str = "") -> Text:
        """Safe text for rich."""
        from rich.text import Text

        return Text(visible(value), style=style)

    @contextmanager
    def progress(self, what: str, *, total: int | None = None) -> Iterator[Progress | None]:
        """A progress bar on standard error, or None when nobody is there to watch it."""
        if self.as_json or not sys.stderr.isatty():
            yield None
            return
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
        with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
            task = bar.add_task(what, total=total)
            yield lambda done, known_total: bar.update(task, completed=done, total=known_total or total)


def _cell(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, str):
        return str(value)
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, datetime):
        return moment(value)
    if isinstance(value, float):
        return f"{value:.2f}"
    if isinstance(value, tuple):
        return ", ".join(map(str, value))
    return json.dumps(encode(value), ensure_ascii=False) if isinstance(value, dict | list) else str(value)


UNEXPECTED = 1
USAGE = 2
NOT_FOUND = 3
FORBIDDEN = 4
CONFLICT = 5
EMBEDDER = 6
STORE = 7
#: Some items were stored and some were not, and the report says which.
PARTLY_STORED = 8
#: The command ran, and what it examined is not well.
CHECK_FAILED = 9
MODEL = 10
#: 128 + SIGINT, as shells report it.
INTERRUPTED = 130
#: 128 + SIGPIPE: what other tools give when `| head` has seen enough.
READER_GONE = 141

#: The nearest class of an error decides.
_FAMILIES: Mapping[type[RecollectError], int] = {
    errors.InvalidInputError: USAGE,
    errors.NotFoundError: NOT_FOUND,
    errors.UnauthorizedError: FORBIDDEN,
    errors.ForbiddenError: FORBIDDEN,
    errors.ConflictError: CONFLICT,
    errors.EmbedderError: EMBEDDER,
    errors.ModelError: MODEL,
    errors.RunInterruptedError: STORE,
    errors.BudgetExhaustedError: USAGE,
    errors.DepthLimitError: USAGE,
    errors.PlannerError: MODEL,
    errors.StoreError: STORE,
    RecollectError: UNEXPECTED,
}
#: A stable error code -> the exit code of its family; last what is no error of the tree.
EXIT_CODES: Mapping[str, int] = {
    **{cls.code: next(_FAMILIES[base] for base in cls.__mro__ if base in _FAMILIES) for cls in error_tree()},
    "unexpected": UNEXPECTED,
    "usage": USAGE,
    "partly_stored": PARTLY_STORED,
    "check_failed": CHECK_FAILED,
    "interrupted": INTERRUPTED,
}


def exit_code(code: str) -> int:
    """The exit code of an error code; one that is not in the table counts as unexpected."""
    return EXIT_CODES.get(code, UNEXPECTED)


def report_error(error: BaseException, *, as_json: bool) -> int:
    """Say what went wrong on standard error, and give the exit code."""
    if os.environ.get("RECOLLECT_DEBUG", "") not in {"", "0"}:
        traceback.print_exception(error)
    if isinstance(error, RecollectError):
        code, message = error.code, str(error)
    else:
        code = "unexpected"
        message = f"unexpected {type(error).__name__}: {error}; RECOLLECT_DEBUG=1 shows where"
    return report(code, message, as_json=as_json)


def report(code: str, message: str, *, as_json: bool) -> int:
    """Print one line (or one JSON document) on standard error, and give the exit code."""
    document = {"error": {"code": code, "message": message}}
    print(to_json(document) if as_json else f"recollect: {one_line(message)}", file=sys.stderr)
    return exit_code(code)

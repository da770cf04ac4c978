"""The tables of one run: `RowBook` names them, so that a planner can filter, group, count and join what was found.

An environment that can put a question to all of its material makes a book and offers its `tools`.
What a table shows it also offers as findings: a row with its place, a count with the places of all rows in it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from recollect.domain.findings import Finding
from recollect.domain.rows import Column, Condition, Row, Rows
from recollect.errors import InvalidInputError
from recollect.runs.bounds import Bound
from recollect.runs.environment import CallContext, Observation, Tool
from recollect.runs.fan_out import FanOut, Mapped
from recollect.runs.match import Match
from recollect.runs.pieces import Piece, bound_rows
from recollect.runs.readings import worst_reading

if TYPE_CHECKING:
    from recollect.providers.models import ChatModel

#: The column of a table that nobody named columns for.
ITEM = Column(name="item", about="what the question asks for, in a few words")
#: Rows that are offered as findings of their own; a larger table is counted or grouped, not told row by row.
_OFFERED = 1_000


IN_ANSWER: bool = Field(
    default=False, description="put this table into the answer as it is, every row with its source"
)


class Parameters(BaseModel):
    """Of a tool: what is not among them is an error."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class ColumnForm(Parameters):
    """A column as a planner names it."""

    name: str = Field(min_length=1, max_length=40, pattern=r"^[A-Za-z][A-Za-z0-9_]*$")
    kind: Literal["text", "number", "boolean", "date"] = "text"
    about: str = Field(default="", max_length=500, description="what it holds")
    one_of: tuple[str, ...] = Field(
        default=(), max_length=100, description="the only values, if they are known"
    )

    def column(self) -> Column:
        """The column itself."""
        return Column(name=self.name, kind=self.kind, about=self.about, one_of=self.one_of)


class MapParameters(Parameters):
    """What every tool that maps a question is asked with."""

    question: str = Field(min_length=1, max_length=4_000, description="what to write down of each")
    columns: tuple[ColumnForm, ...] = Field(
        default=(), max_length=12, description="one column `item` without any; the quote is there anyway"
    )
    dry_run: bool = Field(default=False, description="only say how many there are and what it would take")
    in_answer: bool = IN_ANSWER

    def wanted(self) -> tuple[Column, ...]:
        """The columns, or the one that is there without any."""
        return tuple(column.column() for column in self.columns) or (ITEM,)


class ConditionForm(Parameters):
    """A test of one column."""

    column: str
    test: Literal["=", "!=", "<", "<=", ">", ">=", "contains", "empty", "not empty"] = "="
    value: str | float | bool | None = None


class QueryRows(Parameters):
    """Parameters of `query_rows`."""

    rows: str = Field(description="the table, such as r1")
    where: tuple[ConditionForm, ...] = Field(default=(), description="all of them must hold")
    join: str = Field(default="", description="a second table, or the same for pairs within it")
    on: tuple[str, ...] = Field(default=(), description="columns that must be equal for a join")
    group_by: tuple[str, ...] = Field(default=(), description="one row for each value, with its count")
    total: str = Field(default="", description="a column of numbers to add up in each group")
    order_by: str = ""
    descending: bool = False
    limit: int | None = Field(default=None, ge=1)
    skip: int = Field(default=0, ge=0, description="rows of the result to pass over when it is shown")
    in_answer: bool = IN_ANSWER


class RowBook:
    """The tables of one run, by name; `room_chars` is what one look at a table shows."""

    def __init__(self, *, model: ChatModel | None, room_chars: int, max_tokens: int | None) -> None:
        self._model = model
        self._room_chars = room_chars
        #: What questions to every piece may still read; None without a limit.
        self._room = max_tokens
        self._tables: dict[str, Rows] = {}
        self._names: dict[str, str] = {}
        self._answers: dict[str, None] = {}
        #: The documents that questions were put to.
        self.documents: set[str] = set()

    @property
    def answers(self) -> tuple[Rows, ...]:
        """The tables that belong into the answer as they are."""
        return tuple(self._tables[name] for name in self._answers)

    @property
    def sources(self) -> tuple[Rows, ...]:
        """The tables that questions to the material made, with how much was looked at for each."""
        return tuple(table for table in self._tables.values() if table.total)

    def tools(
        self,
        name: str,
        description: str,
        parameters: type[MapParameters],
        run: Callable[[Any, CallContext], Awaitable[Observation]],
    ) -> list[Tool]:
        """A tool that maps questions over some material (`run` calls `map`), and `query_rows`."""
        return [
            Tool(
                name,
                f"{description} Gives a table for query_rows.",
                parameters,
                run,
                model_call=self._model is not None,
                cacheable=False,
                lasts=True,
                worst=lambda wanted: worst_reading(self._model, 500),
            ),
            Tool(
                "query_rows",
                "Filter, join, group, count and order a table of rows, exactly; gives a new table. "
                "Its counts cite every row that was counted.",
                QueryRows,
                self._query,
                cacheable=False,
                max_output_chars=2 * self._room_chars + 10_000,
            ),
        ]

    async def map(
        self,
        wanted: MapParameters,
        pieces: Sequence[Piece],
        call: CallContext,
        *,
        what: str,
        match: Match,
        missing: Sequence[str] = (),
    ) -> Observation:
        """Put a question to pieces and keep the rows. `what` the pieces are is said in plural, as in "sections".

        `match` finds rows without a model; `missing` says what else was not looked at.
        """
        columns = wanted.wanted()
        if wanted.dry_run:
            bound = None if self._model is None else bound_rows(self._model.profile, pieces)
            units = len({piece.unit for piece in pieces})
            return Observation(value={"total": units, "spans": []}, text=_would(units, what, bound))
        mapped = Mapped(rows=Rows(columns=columns, rows=()), spans=[])
        if self._model is not None:
            mapped = await FanOut(
                wanted.question, columns, pieces, model=self._model, call=call, max_tokens=self._room
            ).go()
            if self._room is not None:
                self._room = max(self._room - mapped.room, 0)
        rows = mapped.rows
        if not rows.looked and pieces:
            # Without a model, or with one that is gone: that is no reason to say nothing.
            rows = await asyncio.to_thread(match, wanted.question, columns, pieces)
            rows = replace(rows, notes=(*mapped.rows.notes, *rows.notes))
            mapped.spans = [piece.span for piece in pieces if piece.span]
        rows = replace(rows, notes=(*rows.notes, *missing))
        self.documents.update(document for document, _, _ in mapped.spans)
        name = self._keep(wanted.model_dump_json(exclude={"in_answer"}), rows, wanted.in_answer)
        return Observation(
            value={**_record(name, rows), "spans": joined_spans(mapped.spans)},
            text=self._shown(name, rows, f"{len(rows.rows):,} rows; {what}: {rows.coverage}"),
            tokens=0 if call.purse.spent.tokens else sum(len(piece.text) for piece in pieces) // 4,
            findings=findings_of(rows),
            passing=mapped.passing,
        )

    async def _query(self, wanted: QueryRows, call: CallContext) -> Observation:
        made = self._made(wanted)
        name = self._keep(wanted.model_dump_json(exclude={"skip", "in_answer"}), made, wanted.in_answer)
        return Observation(
            value={**_record(name, made), "spans": []},
            text=self._shown(name, made, f"{len(made.rows):,} rows, from {wanted.rows}", skip=wanted.skip),
            findings=findings_of(made),
        )

    def _made(self, wanted: QueryRows) -> Rows:
        rows = self._table(wanted.rows)
        if wanted.join:
            rows = rows.joined(self._table(wanted.join), wanted.on)
        rows = rows.where(
            Condition(column=condition.column, test=condition.test, value=condition.value)
            for condition in wanted.where
        )
        if wanted.group_by or wanted.total:
            rows = rows.grouped(wanted.group_by, total=wanted.total or None)
        if wanted.order_by:
            rows = rows.ordered(wanted.order_by, descending=wanted.descending)
        # How much was looked at is said of the table that asked.
        rows = replace(rows, looked=0, total=0)
        return rows if wanted.limit is None else rows.first(wanted.limit)

    def _table(self, name: str) -> Rows:
        if name not in self._tables:
            known = ", ".join(self._tables) or "none yet"
            raise InvalidInputError(f"there is no table {name!r}; there are {known}")
        return self._tables[name]

    def _keep(self, made_by: str, rows: Rows, in_answer: bool) -> str:
        name = self._names.setdefault(made_by, f"r{len(self._names) + 1}")
        self._tables[name] = rows
        if in_answer:
            self._answers[name] = None
        return name

    def _shown(self, name: str, rows: Rows, headline: str, *, skip: int = 0) -> str:
        lines = [f"{name}: {headline}", *(f"note: {note}" for note in rows.notes)]
        lines.append(f"count: {len(rows.rows):,}")
        room = self._room_chars - sum(map(len, lines))
        for place, row in enumerate(rows.rows[skip:], skip + 1):
            line = f"- {row.written()}{_rests_on(row)}"
            room -= len(line) + 1
            if room < 0:
                left = len(rows.rows) - place + 1
                lines.append(
                    f"[{left:,} more rows; query_rows with skip={place - 1} shows them, or count and group]"
                )
                break
            lines.append(line)
        return "\n".join(lines)


def findings_of(rows: Rows) -> tuple[Finding, ...]:
    """The rows as findings, in their order, and how many there are as one that cites them all."""
    made = [_finding(row.written(), row) for row in rows.rows[:_OFFERED]]
    if not rows.rows:
        return ()
    cited = tuple(dict.fromkeys(citation for row in rows.rows for citation in row.citations))
    counted = Row(values={}, quote="", citations=cited)
    return (*made, _finding(f"count: {len(rows.rows):,}", counted))


def _finding(words: str, row: Row) -> Finding:
    evidence = "\n".join(filter(None, [words, row.quote]))
    return Finding.on(*row.citations, description=words, evidence=evidence, confidence=0.9)


def _rests_on(row: Row) -> str:
    places = len(row.citations)
    where = row.citations[0].place if places == 1 else f"{places} places"
    quote = "" if row.quote in row.values.values() else f' "{row.quote[:300]}"'
    return f" |{quote if places == 1 else ''} ({where})"


def _record(name: str, rows: Rows) -> dict[str, Any]:
    return {
        "rows": name,
        "columns": list(rows.names),
        "count": len(rows.rows),
        "looked": rows.looked,
        "total": rows.total,
        "notes": list(rows.notes),
        "first": [dict(row.values) for row in rows.rows[:100]],
    }


def _would(units: int, what: str, bound: Bound | None) -> str:
    if bound is None:
        return f"{units:,} {what}; no model is asked"
    usd = "an unknown price" if bound.usd is None else f"{bound.usd:.4f} USD"
    return (
        f"{units:,} {what}; at most {bound.requests:,} requests, {bound.input_tokens:,} tokens to the model and "
        f"{bound.output_tokens:,} from it, {usd}"
    )


def joined_spans(spans: Sequence[tuple[str, int, int]]) -> list[list[Any]]:
    """Ranges of lines with those that touch made one."""
    joined: list[list[Any]] = []
    for doc_id, first, last in sorted(set(spans)):
        if joined and joined[-1][0] == doc_id and first <= joined[-1][2] + 1:
            joined[-1][2] = max(joined[-1][2], last)
        else:
            joined.append([doc_id, first, last])
    return joined

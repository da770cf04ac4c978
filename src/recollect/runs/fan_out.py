"""One question put to every piece of some material, and the rows that come back: `fan_out`.

As many pieces as fit into one small request go together (`pieces.py`), requests run side by side, what was asked
before comes from the cache, and a row whose words are not in the text is dropped and counted. `bound` says before what
it takes at most, and its own purse holds it to that. The result says how much was looked at. Without a model it is
`match.py`.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache as kept
from typing import TYPE_CHECKING, Annotated, Any

from recollect.domain.findings import Citation
from recollect.domain.rows import Column, Row, Rows
from recollect.errors import ModelBudgetError, ModelError, ModelOutputError
from recollect.providers.tokens import first_tokens
from recollect.runs.cache import CacheKey, canonical
from recollect.runs.environment import CallContext, Observation
from recollect.runs.fences import fence, new_boundary, preface, read_prompt
from recollect.runs.pieces import (
    AROUND_TOKENS,
    Piece,
    batch_tokens,
    batches,
    bound_rows,
    check_columns,
    fitting,
    halved,
    rows_output,
    size_of,
)
from recollect.runs.quotes import locate

if TYPE_CHECKING:
    from recollect.providers.models import ChatModel

#: Requests under way at a time: what hosted models take without turning any away; a local server queues them.
PARALLEL = 8
#: Failures in a row after which the server is taken for gone.
_GIVE_UP = 3
#: A quote may begin on the named line and end a few lines on.
_QUOTE_LINES = 6


@dataclass(slots=True, kw_only=True)
class Mapped:
    """The rows, and what was read for them."""

    rows: Rows
    spans: list[tuple[str, int, int]]
    #: It did not end as it would have: another time it may.
    passing: bool = False
    #: What it took of the room that such questions have.
    room: int = 0


class FanOut:
    """One question on its way through the pieces, for a `call` of a run or within `seconds` for itself. `go` asks."""

    def __init__(
        self,
        question: str,
        columns: Sequence[Column],
        pieces: Sequence[Piece],
        *,
        model: ChatModel,
        call: CallContext | None = None,
        max_tokens: int | None = None,
        seconds: float | None = None,
    ) -> None:
        check_columns(columns)
        profile, self._seconds = model.profile, seconds
        self._question, self._columns, self._model = question, tuple(columns), model
        self._call, self._cache = call, call.cache if call is not None else None
        taken, left_off = fitting(pieces, max_tokens)
        self._tokens = sum(map(size_of, taken))
        self._units = {piece.unit for piece in pieces}
        self._batches = batches(taken, batch_tokens(profile))
        bound = bound_rows(profile, taken)
        # What was said before it began is what it may use.
        account = model.purse if call is None else call.purse
        self._purse = account.child(max_usd=bound.usd, max_tokens=bound.input_tokens + bound.output_tokens)
        self._found: dict[int, list[Row]] = {}
        self._missed = {piece.unit for piece in left_off}
        self._spans: list[tuple[str, int, int]] = []
        self._unquoted = self._unfit = self._failed_in_a_row = 0
        self._stopped = self._failure = ""

    async def go(self) -> Mapped:
        """Ask about all pieces, several at a time; what came back by then when the call, or the time, is ended."""
        slots = asyncio.Semaphore(PARALLEL)

        async def ask(place: int, batch: list[Piece]) -> None:
            async with slots:
                if not self._stopped:
                    self._found[place] = await self._ask(batch)

        try:
            async with asyncio.timeout(self._seconds), asyncio.TaskGroup() as group:
                for place, batch in enumerate(self._batches):
                    group.create_task(ask(place, batch))
        except (asyncio.CancelledError, TimeoutError) as error:
            if self._call is None and isinstance(error, asyncio.CancelledError):
                raise
            self._stopped = "time ran out"
        return self._result()

    def _result(self) -> Mapped:
        """The rows in the order of the material, each once."""
        rows: dict[tuple[Any, ...], Row] = {}
        for place in sorted(self._found):
            for row in self._found[place]:
                cited = row.citations[0]
                key = (cited.file_path, cited.line_start, cited.line_end, *map(str, row.values.values()))
                rows.setdefault(key if cited.line_start else (*key, row.quote), row)
        unasked = [batch for place, batch in enumerate(self._batches) if place not in self._found]
        missed = self._missed | {piece.unit for batch in unasked for piece in batch}
        looked = len(self._units - missed)
        return Mapped(
            rows=Rows(
                columns=self._columns,
                rows=tuple(rows.values()),
                looked=looked,
                total=len(self._units),
                notes=tuple(self._notes(looked)),
            ),
            spans=self._spans,
            passing=bool(self._stopped or self._failure),
            room=self._tokens,
        )

    def _notes(self, looked: int) -> Iterator[str]:
        if self._unquoted:
            yield f"{self._unquoted} rows quoted words that are not in the text and were dropped"
        if self._unfit:
            yield f"{self._unfit} rows had values that are not of their column and were dropped"
        if looked < len(self._units):
            why = self._stopped or (f"the model did not answer ({self._failure})" if self._failure else "")
            why = why or "rows_max_tokens, the most that one question reads, cut them off"
            yield f"{len(self._units) - looked:,} of {len(self._units):,} were not read by the model: {why}"

    async def _ask(self, batch: list[Piece]) -> list[Row]:
        key = self._key(batch)
        seen = self._cache.find(key) if self._cache is not None else None
        try:
            seen = seen or await self._request(batch, key)
        except ModelOutputError as error:
            # Cut off, or of no form: half of the text may go well.
            halves = halved(batch)
            if halves:
                return [row for half in halves for row in await self._ask(half)]
            self._fail(error)
        if seen is None:
            self._missed.update(piece.unit for piece in batch)
            return []
        self._spans += [piece.span for piece in batch if piece.span]
        return self._read(seen.value["rows"], batch)

    def _key(self, batch: Sequence[Piece]) -> CacheKey:
        key = {"question": self._question, "columns": [_asked(column) for column in self._columns]}
        text = "\0".join([self._model.name, *(f"{piece.label}\0{piece.text}" for piece in batch)])
        digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
        return CacheKey("rows", "map_rows", canonical(key), digest)

    async def _request(self, batch: list[Piece], key: CacheKey) -> Observation | None:
        profile = self._model.profile
        worst = profile.worst(
            sum(map(size_of, batch)) + AROUND_TOKENS, profile.output_tokens(rows_output(profile))
        )
        if self._call is not None and self._call.purse.refusal(*worst):
            self._stopped = self._stopped or "the budget of the run is used up"
            return None
        try:
            instructions = read_prompt(__package__, "fan_out.md")
            answer = await self._model.charged_to(self._purse).answer(
                instructions, self._text(batch), _form(self._columns), max_tokens=rows_output(profile)
            )
        except ModelBudgetError:
            self._stopped = self._stopped or "the cost that was said before is used up"
            return None
        except ModelOutputError:
            raise
        except ModelError as error:
            self._fail(error)
            return None
        self._failed_in_a_row = 0
        spans = [list(piece.span) for piece in batch if piece.span]
        made = Observation(value={"rows": [row.model_dump() for row in answer.value.rows], "spans": spans})
        if self._cache is not None:
            self._cache.put(key, made)
        return made

    def _fail(self, error: ModelError) -> None:
        self._failure = str(error)
        self._failed_in_a_row += 1
        if self._failed_in_a_row >= _GIVE_UP:
            self._stopped = self._stopped or f"the model did not answer ({error})"

    def _text(self, batch: Sequence[Piece]) -> str:
        boundary = new_boundary()
        columns = "\n".join(_described(column) for column in self._columns)
        texts: list[str] = []
        number = 0
        for piece in batch:
            texts.append(f"[{piece.label}]")
            for line in piece.lines:
                number += 1
                texts.append(f"{number}: {line}")
        return "\n\n".join(
            [
                preface(boundary),
                fence("question", first_tokens(self._question, 1_000), boundary),
                fence("columns", columns, boundary),
                fence("pieces", "\n".join(texts), boundary),
            ]
        )

    def _read(self, values_of: Sequence[Mapping[str, Any]], batch: Sequence[Piece]) -> list[Row]:
        rows = []
        for row_read in values_of:
            placed = _place(str(row_read.get("quote") or ""), int(row_read.get("line") or 0), batch)
            if placed is None:
                self._unquoted += 1
                continue
            try:
                values = {column.name: column.read(row_read.get(column.name)) for column in self._columns}
            except ValueError:
                self._unfit += 1
                continue
            rows.append(Row(values=values, quote=str(row_read["quote"]).strip(), citations=(placed,)))
        return rows


def _place(quote: str, line: int, batch: Sequence[Piece]) -> Citation | None:
    """Where the words stand: on the named line if they do, else anywhere in the batch."""
    before = 0
    for piece in batch:
        at = line - before
        if 1 <= at <= len(piece.lines):
            place = locate(quote, piece.lines[at - 1 : at - 1 + _QUOTE_LINES], first=at)
            if place is not None:
                return piece.cite(*place)
        before += len(piece.lines)
    for piece in batch:
        place = locate(quote, piece.lines)
        if place is not None:
            return piece.cite(*place)
    return None


def _asked(column: Column) -> dict[str, Any]:
    return {"name": column.name, "kind": column.kind, "about": column.about, "one_of": list(column.one_of)}


def _described(column: Column) -> str:
    about = f": {column.about}" if column.about else ""
    values = f"; one of {', '.join(column.one_of)}" if column.one_of else ""
    return f"- {column.name} ({column.kind}){about}{values}"


@kept
def _form(columns: tuple[Column, ...]) -> Any:
    """What the model is asked for. A value that is not of its column costs that row alone, not the whole answer."""
    from pydantic import BaseModel, WithJsonSchema, create_model

    schemas: dict[str, Any] = {
        "text": {"type": ["string", "null"]},
        "number": {"type": ["number", "null"]},
        "boolean": {"type": ["boolean", "null"]},
        "date": {"type": ["string", "null"], "description": "as 2026-05-17, 2026-05 or 2026"},
    }
    fields: dict[str, Any] = {"line": (int, ...), "quote": (str, ...)}
    for column in columns:
        schema = {"type": "string", "enum": list(column.one_of)} if column.one_of else schemas[column.kind]
        fields[column.name] = (Annotated[Any, WithJsonSchema(schema)], ...)
    row: type[BaseModel] = create_model("Row", **fields)
    return create_model("RowsFound", rows=(list[row], ...))  # type: ignore[valid-type]

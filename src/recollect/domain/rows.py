"""Rows: what a question found in every section or memory, as typed values with the words they rest on.

`Rows` is a table whose rows cite the material; `where`, `grouped`, `joined` and `ordered` make new ones of it, and what
they make cites all rows that went in, so a count can be checked by reading them. Where rows come from is
`runs/fan_out.py`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime
from typing import Any, Literal

from recollect.domain.findings import Citation
from recollect.errors import InvalidInputError

Kind = Literal["text", "number", "boolean", "date"]
Value = str | float | bool | None
COUNT = "count"

_NUMBER = re.compile(r"[-+]?\d[\d,_  ]*(?:\.\d+)?")
_WORDS: Mapping[str, bool] = {"yes": True, "true": True, "no": False, "false": False}


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """What is asked of every row: a name, its kind, and where given the only values it may have."""

    name: str
    kind: Kind = "text"
    about: str = ""
    one_of: tuple[str, ...] = ()

    def read(self, value: Any) -> Value:
        """A value of this column; `ValueError` for one that is none. Nothing is None."""
        if value is None or (isinstance(value, str) and not value.strip()):
            return None
        if self.kind == "number":
            return _number(value)
        if self.kind == "boolean":
            truth = value if isinstance(value, bool) else _WORDS.get(str(value).strip().casefold())
            if truth is None:
                raise ValueError(f"{value!r} is neither yes nor no")
            return truth
        text = " ".join(str(value).split())
        if self.kind == "date":
            return datetime.fromisoformat(text).date().isoformat() if "T" in text else _day(text)
        if self.one_of:
            allowed = {choice.casefold(): choice for choice in self.one_of}
            if text.casefold() not in allowed:
                raise ValueError(f"{text!r} is none of {', '.join(self.one_of)}")
            return allowed[text.casefold()]
        return text


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """Values by column, the words they rest on, and where those stand; a counted row has many places."""

    values: Mapping[str, Value]
    quote: str
    citations: tuple[Citation, ...]

    def written(self) -> str:
        """The row in one line."""
        return "; ".join(f"{name}: {write(value)}" for name, value in self.values.items())


@dataclass(frozen=True, slots=True, kw_only=True)
class Condition:
    """A test of one column."""

    column: str
    test: Literal["=", "!=", "<", "<=", ">", ">=", "contains", "empty", "not empty"] = "="
    value: Value = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Rows:
    """A table. `looked` of `total` sections or memories were looked at for it; `notes` say what is missing."""

    columns: tuple[Column, ...]
    rows: tuple[Row, ...]
    looked: int = 0
    total: int = 0
    notes: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """The columns' names."""
        return tuple(column.name for column in self.columns)

    def column(self, name: str) -> Column:
        """A column by its name; an unknown one is an error that names those there are."""
        named = next((column for column in self.columns if column.name == name), None)
        if named is None:
            raise InvalidInputError(f"there is no column {name!r}; there are {', '.join(self.names)}")
        return named

    def where(self, conditions: Iterable[Condition]) -> Rows:
        """The rows that meet all conditions."""
        tests = [_test(self.column(condition.column), condition) for condition in conditions]
        kept = tuple(row for row in self.rows if all(test(row) for test in tests))
        return replace(self, rows=kept)

    def grouped(self, by: Sequence[str], *, total: str | None = None) -> Rows:
        """A row for each different value of these columns, with how many there are; the most frequent first.

        `total` sums a column of numbers for each. Without columns all rows are one group.
        """
        kept = [self.column(name) for name in by]
        summed = None if total is None else self.column(total)
        if summed is not None and summed.kind != "number":
            raise InvalidInputError(f"{total!r} has no numbers to add up")
        groups: dict[tuple[Value, ...], list[Row]] = {}
        spelled: dict[tuple[Value, ...], tuple[Value, ...]] = {}
        for row in self.rows:
            key = _key(row, by)
            spelled.setdefault(key, tuple(row.values.get(name) for name in by))
            groups.setdefault(key, []).append(row)
        made = []
        for key, members in groups.items():
            values: dict[str, Value] = dict(zip(by, spelled[key], strict=True))
            values[COUNT] = float(len(members))
            if summed is not None:
                values[f"total_{summed.name}"] = sum(
                    value for member in members if isinstance(value := member.values.get(summed.name), float)
                )
            cited = tuple(dict.fromkeys(citation for row in members for citation in row.citations))
            made.append(Row(values=values, quote=members[0].quote, citations=cited))
        columns = (*kept, Column(name=COUNT, kind="number"))
        if summed is not None:
            columns = (*columns, Column(name=f"total_{summed.name}", kind="number"))
        made.sort(
            key=lambda row: (-_as_number(row.values[COUNT]), _sortable(row.values.get(by[0]) if by else None))
        )
        return replace(self, columns=columns, rows=tuple(made))

    def joined(self, other: Rows, on: Sequence[str]) -> Rows:
        """Pairs of rows with equal values in these columns; of a table with itself each pair of two rows once."""
        for name in on:
            self.column(name), other.column(name)
        if not on:
            raise InvalidInputError("a join needs the columns that must be equal")
        own = other is self
        rest = [column for column in other.columns if column.name not in on]
        taken = {
            column.name: f"{column.name}_2" if column.name in self.names else column.name for column in rest
        }
        behind: dict[tuple[Value, ...], list[tuple[int, Row]]] = {}
        for place, row in enumerate(other.rows):
            behind.setdefault(_key(row, on), []).append((place, row))
        made = []
        for place, row in enumerate(self.rows):
            for at, match in behind.get(_key(row, on), ()):
                if (own and at <= place) or None in _key(row, on):
                    continue
                values = dict(row.values) | {
                    taken[column.name]: match.values.get(column.name) for column in rest
                }
                cited = tuple(dict.fromkeys((*row.citations, *match.citations)))
                made.append(Row(values=values, quote=f"{row.quote} / {match.quote}", citations=cited))
        columns = (*self.columns, *(replace(column, name=taken[column.name]) for column in rest))
        notes = tuple(dict.fromkeys((*self.notes, *other.notes)))
        return replace(self, columns=columns, rows=tuple(made), notes=notes)

    def ordered(self, by: str, *, descending: bool = False) -> Rows:
        """Sorted by a column; rows without a value last."""
        self.column(by)
        known = [row for row in self.rows if row.values.get(by) is not None]
        known.sort(key=lambda row: _sortable(row.values[by]), reverse=descending)
        return replace(self, rows=(*known, *(row for row in self.rows if row.values.get(by) is None)))

    def first(self, most: int) -> Rows:
        """The first rows."""
        return replace(self, rows=self.rows[:most])

    @property
    def coverage(self) -> str:
        """How much was looked at, in words."""
        return f"{self.looked:,} of {self.total:,} looked at"


def write(value: Value) -> str:
    """A value for a reader."""
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:,.0f}" if value == int(value) else f"{value:g}"
    return value


def _number(value: Any) -> float:
    if isinstance(value, bool):
        raise ValueError(f"{value!r} is no number")
    if isinstance(value, (int, float)):
        return float(value)
    match = _NUMBER.fullmatch(str(value).strip())
    if match is None:
        raise ValueError(f"{value!r} is no number")
    return float(re.sub(r"[,_  ]", "", match[0]))


def _day(text: str) -> str:
    """A date as far as it is known: 2026, 2026-05 or 2026-05-17."""
    if re.fullmatch(r"\d{4}(?:-(?:0[1-9]|1[0-2]))?", text):
        return text
    return date.fromisoformat(text[:10]).isoformat()


def _as_number(value: Value) -> float:
    return float(value) if isinstance(value, (int, float)) else 0.0


def _sortable(value: Value) -> tuple[int, float, str]:
    if isinstance(value, (bool, int, float)):
        return (0, float(value), "")
    return (1, 0.0, "" if value is None else value.casefold())


def _key(row: Row, on: Sequence[str]) -> tuple[Value, ...]:
    values = (row.values.get(name) for name in on)
    return tuple(value.casefold() if isinstance(value, str) else value for value in values)


def _test(column: Column, condition: Condition) -> Callable[[Row], bool]:
    name, test = column.name, condition.test
    if test in ("empty", "not empty"):
        return lambda row: (row.values.get(name) is None) == (test == "empty")
    if test == "contains":
        part = write(condition.value).casefold()
        return lambda row: part in write(row.values.get(name)).casefold()
    try:
        wanted = replace(column, one_of=()).read(condition.value)
    except ValueError as error:
        raise InvalidInputError(f"{condition.value!r} can't be compared with {name!r}: {error}") from error
    right = _sortable(wanted)

    def met(row: Row) -> bool:
        value = row.values.get(name)
        left = _sortable(value)
        if test in ("=", "!="):
            return (left == right and (value is None) == (wanted is None)) == (test == "=")
        if value is None or wanted is None:
            return False
        return {"<": left < right, "<=": left <= right, ">": left > right, ">=": left >= right}[test]

    return met

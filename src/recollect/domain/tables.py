"""How results show themselves: as a table or a text in a notebook and in `rich`, and as a DataFrame.

A result says what its columns are, or is read as it stands; the rest is here. Nothing is imported before somebody
looks: rich and pandas are asked for by the methods that need them.
"""

from __future__ import annotations

import dataclasses
import enum
import importlib
from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from html import escape
from typing import Any, TypeVar, overload
from uuid import UUID

from recollect.errors import IntegrationMissingError

#: How a cell looks in a notebook, whose own style may be anything.
_CELL = "padding:2px 12px 2px 0;text-align:left;vertical-align:top"


T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)


class Listed(Sequence[T_co]):
    """A result that is a sequence: of what its first field holds."""

    __slots__ = ()

    def _items(self) -> tuple[T_co, ...]:
        items: tuple[T_co, ...] = getattr(self, next(iter(self.__dataclass_fields__)))  # type: ignore[attr-defined]
        return items

    @overload
    def __getitem__(self, index: int) -> T_co: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[T_co, ...]: ...
    def __getitem__(self, index: int | slice) -> T_co | tuple[T_co, ...]:
        return self._items()[index]

    def __len__(self) -> int:
        return len(self._items())

    def __iter__(self) -> Iterator[T_co]:
        return iter(self._items())


class Tabular(Listed[T_co]):
    """Shows itself as a table, wherever there is one to show it in."""

    __slots__ = ()

    @abstractmethod
    def _columns(self) -> tuple[str, ...]:
        """The names over the columns."""

    @abstractmethod
    def _rows(self) -> Sequence[Sequence[object]]:
        """The cells of each row."""

    @abstractmethod
    def _empty(self) -> str:
        """What is said when there is nothing."""

    def _remarks(self) -> Sequence[str]:
        """What stands below the table."""
        return ()

    def __str__(self) -> str:
        """What `print` shows: a line for each."""
        lines = ["  ".join(_text(cell) for cell in row) for row in self._rows()]
        return "\n".join([*(lines or [self._empty()]), *self._remarks()])

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        rows = [[_text(cell) for cell in row] for row in self._rows()]
        below = "".join(f"<p><small>{escape(remark)}</small></p>" for remark in self._remarks())
        if not rows:
            return f"<p><em>{escape(self._empty())}</em></p>{below}"
        head = "".join(f'<th style="{_CELL}">{escape(name)}</th>' for name in self._columns())
        body = "".join(
            "<tr>" + "".join(f'<td style="{_CELL}">{escape(cell)}</td>' for cell in row) + "</tr>"
            for row in rows
        )
        return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{below}"

    def __rich__(self) -> Any:
        """What `rich.print` shows."""
        text = importlib.import_module("rich.text").Text
        rows = self._rows()
        if not rows:
            return text("\n".join([self._empty(), *self._remarks()]), style="italic")
        caption = text("\n".join(self._remarks())) if self._remarks() else None
        table = importlib.import_module("rich.table").Table(box=None, pad_edge=False, caption=caption)
        for name in self._columns():
            table.add_column(name, overflow="fold")
        for row in rows:
            # What was stored is text, whatever marks are in it.
            table.add_row(*(text(_text(cell)) for cell in row))
        return table

    def to_pandas(self) -> Any:
        """A DataFrame with a row for each, and every field as a column. Needs pandas."""
        try:
            pandas = importlib.import_module("pandas")
        except ModuleNotFoundError as error:
            raise IntegrationMissingError("to_pandas needs pandas: pip install pandas") from error
        return pandas.DataFrame([_record(item) for item in self])


class Rows(list[T], Tabular[T]):  # type: ignore[misc]  # a slice of a list is a list
    """A list of results, with a column for each field that says something."""

    def _columns(self) -> tuple[str, ...]:
        names = (field.name for field in dataclasses.fields(self[0]))  # type: ignore[arg-type]
        return tuple(name for name in names if any(getattr(result, name) for result in self))

    def _rows(self) -> Sequence[Sequence[object]]:
        return [[getattr(result, name) for name in self._columns()] for result in self]

    def _empty(self) -> str:
        return "There is nothing."


def displayable(result: Any) -> Any:
    """A result as it is, or, if it is a plain list of results, as one that shows itself."""
    plain = type(result) in (list, tuple)
    return Rows(result) if plain and all(map(dataclasses.is_dataclass, result)) else result


class Readable:
    """Shows its words, and not its fields. They are text, whatever marks are in them: nothing is loaded or run."""

    __slots__ = ()

    def _remarks(self) -> Sequence[str]:
        """What stands below the words."""
        return ()

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        below = "".join(f"<p><small>{escape(remark)}</small></p>" for remark in self._remarks())
        return f'<div style="white-space:pre-wrap">{escape(str(self))}</div>{below}'

    def __rich__(self) -> Any:
        """What `rich.print` shows."""
        return importlib.import_module("rich.text").Text("\n".join([str(self), *self._remarks()]))


def _text(cell: object) -> str:
    if isinstance(cell, datetime):
        return cell.strftime("%Y-%m-%d %H:%M")
    if isinstance(cell, float):
        return f"{cell:.2f}"
    if isinstance(cell, Mapping):
        return ", ".join(f"{name}: {_text(value)}" for name, value in cell.items())
    if isinstance(cell, tuple | list):
        return ", ".join(map(_text, cell))
    return "" if cell is None else str(cell)


def _record(item: Any) -> dict[str, Any]:
    """The fields of one result; ids and names of kinds as text, which is what a DataFrame compares and groups by."""
    return {field.name: _plain(getattr(item, field.name)) for field in dataclasses.fields(item)}


def _plain(value: object) -> object:
    if isinstance(value, enum.Enum):
        return value.value
    return str(value) if isinstance(value, UUID) else value

"""The declared tables as the database really has them: which columns there are, and of which kind.

Kinds decide how a value from a question is compared (text "123" with an integer key, a period with a date) and how
a cell is shown. They are read from the database's catalogue once and kept until a statement says they are out of
date. Names of tables and columns come from the ontology alone and are quoted by SQLAlchemy.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time
from decimal import Decimal, InvalidOperation
from enum import StrEnum
from typing import TYPE_CHECKING, Any
from uuid import UUID

from recollect.domaindb.connection import DomainFault, Session

if TYPE_CHECKING:
    from sqlalchemy import ColumnElement, TableClause
    from sqlalchemy.types import TypeEngine

    from recollect.domain.ontology import Cell, Condition, EntityType
    from recollect.domain.query import TimeRange

#: A cell is for reading along, not for reading books.
MAX_CELL_CHARS = 300


class Kind(StrEnum):
    """What can be done with a column."""

    TEXT = "text"
    INTEGER = "integer"
    NUMBER = "number"
    YES_NO = "yes or no"
    DATE = "date"
    MOMENT = "timestamp"
    MOMENT_ZONED = "timestamp with time zone"
    UUID = "uuid"
    BYTES = "bytes"
    OTHER = "other"


@dataclass(frozen=True, slots=True, kw_only=True)
class TableColumn:
    """A column that is really there."""

    name: str
    kind: Kind
    type: TypeEngine[Any]
    dialect: str


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownTable:
    """A declared table and the columns it really has."""

    type: EntityType
    columns: Mapping[str, TableColumn]
    dialect: str

    def clause(self, alias: str | None = None) -> Any:
        """The table for a statement."""
        import sqlalchemy as sa

        known = [sa.column(name, column.type) for name, column in self.columns.items()]
        table: TableClause = sa.table(self.type.table, *known, schema=self.type.schema)
        return table.alias(alias) if alias else table

    def get(self, column: str) -> TableColumn:
        """A column by name; a fault that names both when it is not there."""
        known = self.columns.get(column)
        if known is None:
            raise DomainFault("missing", f"table {self.type.full_table!r} has no column {column!r}")
        return known

    def has(self, column: str | None) -> bool:
        """Whether there is such a column."""
        return column is not None and column in self.columns


class Catalogue:
    """What is known of the tables, for as long as it holds."""

    def __init__(self) -> None:
        self._known: dict[tuple[str | None, str], tuple[Mapping[str, TableColumn], str]] = {}

    def forget(self) -> None:
        """Look again: the tables have changed."""
        self._known.clear()

    def get(self, session: Session, declared: EntityType) -> KnownTable:
        """The table of a type; a fault that names it when it is not there."""
        place = (declared.schema, declared.table)
        if place not in self._known:
            self._known[place] = (_read_columns(session, declared), session.dialect)
        columns, dialect = self._known[place]
        return KnownTable(type=declared, columns=columns, dialect=dialect)


def _read_columns(session: Session, declared: EntityType) -> Mapping[str, TableColumn]:
    import sqlalchemy as sa
    from sqlalchemy.exc import NoSuchTableError

    with session.guarded() as connection:
        try:
            columns = sa.inspect(connection).get_columns(declared.table, schema=declared.schema)
        except NoSuchTableError:
            columns = []
    if not columns:
        raise DomainFault(
            "missing", f"the domain database has no table {declared.full_table!r} (type {declared.name!r})"
        )
    return {
        column["name"]: TableColumn(
            name=column["name"], kind=_kind(column["type"]), type=column["type"], dialect=session.dialect
        )
        for column in columns
    }


def _kind(type_: TypeEngine[Any]) -> Kind:
    import sqlalchemy as sa

    known: tuple[tuple[type[Any], Kind], ...] = (
        (sa.Boolean, Kind.YES_NO),
        (sa.Integer, Kind.INTEGER),
        (sa.Numeric, Kind.NUMBER),
        (sa.Date, Kind.DATE),
        (sa.Uuid, Kind.UUID),
        (sa.String, Kind.TEXT),
        (sa.LargeBinary, Kind.BYTES),
    )
    if isinstance(type_, sa.DateTime):
        return Kind.MOMENT_ZONED if type_.timezone else Kind.MOMENT
    return next((kind for cls, kind in known if isinstance(type_, cls)), Kind.OTHER)


def coerce(column: TableColumn, value: object) -> list[Any]:
    """What a value may look like in a column: nothing when it can't stand there, so that no statement is sent."""
    text = str(value).strip()
    try:
        if column.kind is Kind.INTEGER:
            number = (
                int(value) if isinstance(value, bool | int | float) else int(text) if text.isascii() else None
            )
            return [number] if number is not None and -(2**63) <= number < 2**63 else []
        if column.kind is Kind.NUMBER:
            amount = Decimal(text)
            return [amount] if amount.is_finite() else []
        if column.kind is Kind.UUID:
            return [UUID(text)]
        if column.kind is Kind.YES_NO:
            return [value] if isinstance(value, bool) else [bool(int(text))]
        if column.kind is Kind.BYTES:
            return [bytes.fromhex(text)]
        if column.kind is Kind.DATE:
            return [date.fromisoformat(text[:10])]
        if column.kind in {Kind.MOMENT, Kind.MOMENT_ZONED}:
            return [_in_zone(datetime.fromisoformat(text), column.kind)]
    except (ValueError, InvalidOperation, OverflowError):
        # SQLite's columns hold what they are given: a key of "UUID" type, say, is text.
        return [text] if column.dialect == "sqlite" and "\0" not in text else []
    if column.kind is Kind.OTHER and column.dialect == "sqlite":
        # A column without a type holds numbers and texts alike, and SQLite tells them apart.
        return [text, int(text)] if text.isascii() and text.isdigit() and len(text) < 19 else [text]
    return [text] if "\0" not in text else []


def equals(
    column: TableColumn, element: ColumnElement[Any], values: Sequence[object]
) -> ColumnElement[bool] | None:
    """The column has one of the values; None when it can have none of them."""
    import sqlalchemy as sa

    wanted = [form for value in values for form in coerce(column, value)]
    if not wanted:
        return None
    if column.dialect == "sqlite" and any(isinstance(form, str) for form in wanted):
        element = sa.type_coerce(element, sa.String())
    return element == wanted[0] if len(wanted) == 1 else element.in_(wanted)


def meets(table: KnownTable, clause: Any, conditions: Sequence[Condition]) -> list[ColumnElement[bool]]:
    """Declared conditions as SQL; a value that can't stand in its column is a fault that says so."""
    clauses: list[ColumnElement[bool]] = []
    for condition in conditions:
        column, element = table.get(condition.column), clause.c[condition.column]
        if not condition.values:
            clauses.append(element.is_(None) if condition.null else element.is_not(None))
            continue
        matched = equals(column, element, condition.values)
        if matched is None:
            raise DomainFault(
                "refused",
                f"the condition {condition.column} = {condition.values!r} of type {table.type.name!r} "
                f"does not fit a column of kind {column.kind.value!r}",
            )
        clauses.append(matched)
    return clauses


def within(column: TableColumn, element: ColumnElement[Any], period: TimeRange) -> list[ColumnElement[bool]]:
    """The column lies in a period, compared as the column holds its times."""
    import sqlalchemy as sa

    if column.dialect == "sqlite":
        # SQLite keeps times as text in several spellings or as numbers; its own function makes them one.
        plain = sa.type_coerce(element, sa.String())
        numeric = sa.func.typeof(plain).in_(("integer", "real"))
        element = sa.case((numeric, sa.func.datetime(plain, "unixepoch")), else_=sa.func.datetime(plain))
    ends: list[ColumnElement[bool]] = []
    if period.start is not None:
        ends.append(element >= _bound(column, period.start))
    if period.end is not None:
        end = period.end
        if (
            column.kind is Kind.DATE
            and column.dialect != "sqlite"
            and end.timetz().replace(tzinfo=None) != time()
        ):
            ends.append(element <= _bound(column, end))  # a day that is partly in the period counts
        else:
            ends.append(element < _bound(column, end))
    return ends


def _bound(column: TableColumn, moment: datetime) -> Any:
    if column.dialect == "sqlite":
        # A date has no zone: it is the day it was where the question was asked.
        wall = moment if column.kind is Kind.DATE else moment.astimezone(UTC)
        return wall.strftime("%Y-%m-%d %H:%M:%S")
    if column.kind in {Kind.INTEGER, Kind.NUMBER}:
        return int(moment.timestamp())
    if column.kind is Kind.DATE:
        return moment.date()
    if column.kind in {Kind.MOMENT, Kind.MOMENT_ZONED}:
        return _in_zone(moment, column.kind)
    return moment.strftime("%Y-%m-%d") if moment.time() == time() else moment.strftime("%Y-%m-%d %H:%M:%S")


def _in_zone(moment: datetime, kind: Kind) -> datetime:
    aware = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return aware if kind is Kind.MOMENT_ZONED else aware.astimezone(UTC).replace(tzinfo=None)


def displayed(column: TableColumn, element: ColumnElement[Any]) -> ColumnElement[Any]:
    """A column in a select list: as the driver gives it, long texts cut before they travel."""
    import sqlalchemy as sa
    from sqlalchemy.types import NullType

    if column.kind is Kind.TEXT and not isinstance(column.type, sa.Enum):
        cut = sa.func.substr if column.dialect in {"sqlite", "oracle"} else sa.func.substring
        element = cut(element, 1, MAX_CELL_CHARS + 1)
    # SQLAlchemy's own reading of results refuses what databases with loose types may hold.
    return sa.type_coerce(element, NullType()).label(column.name)


def to_cell(value: Any, column: TableColumn | None = None) -> Cell:
    """A driver's value as something a person can read."""
    if isinstance(value, str):
        return _dated(_cut(value), column)
    if value is None or isinstance(value, bool | int | Decimal | date | time):
        return value
    if isinstance(value, float):
        return round(value, 10)  # sums of binary fractions end in noise
    if isinstance(value, bytes | memoryview):
        return f"({len(bytes(value))} bytes)"
    if isinstance(value, dict | list):
        return _cut(json.dumps(value, ensure_ascii=False, default=str))
    return _cut(str(value))


def _dated(text: str, column: TableColumn | None) -> Cell:
    try:
        if column is not None and column.kind is Kind.DATE:
            return date.fromisoformat(text)
        if column is not None and column.kind in {Kind.MOMENT, Kind.MOMENT_ZONED}:
            return datetime.fromisoformat(text)
    except ValueError:
        return text
    return text


def _cut(text: str) -> str:
    clean = text.replace("\0", "")
    return clean if len(clean) <= MAX_CELL_CHARS else clean[: MAX_CELL_CHARS - 1] + "…"


def key_text(value: Any) -> str:
    """A key as it stands in a canonical id."""
    return bytes(value).hex() if isinstance(value, bytes | memoryview) else str(value)

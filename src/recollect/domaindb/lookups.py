"""Statements over the declared tables: rows by number or name, related rows, measures.

Every statement is built with SQLAlchemy from the ontology's own names, with values as bound parameters, a limit and
no way to write. They run in a `Session`, one after another, and raise `DomainFault` with the sentence to show.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from recollect.domain.ontology import DomainTable
from recollect.domaindb.connection import DomainFault, Session
from recollect.domaindb.tables import (
    Catalogue,
    Kind,
    KnownTable,
    TableColumn,
    displayed,
    equals,
    key_text,
    meets,
    to_cell,
    within,
)

if TYPE_CHECKING:
    from sqlalchemy import ColumnElement

    from recollect.domain.ontology import Cell, Condition, EntityType, Measure, Ontology, Relation
    from recollect.domain.query import TimeRange

#: So many rows of the same name are told apart; more would only say that the name means nothing.
MAX_RIVALS = 5
_PREFIX_ROWS = 20
#: Shorter beginnings match half the table.
_MIN_PREFIX_CHARS = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundRow:
    """A row of a declared type: its key as text, and its label."""

    type: EntityType
    key: str
    label: str

    @property
    def id(self) -> str:
        """The canonical id, as "customer:a1b2c3d4"."""
        return f"{self.type.name}:{self.key}"


class Lookups:
    """What can be asked in one session."""

    def __init__(self, session: Session, ontology: Ontology, catalogue: Catalogue, *, max_rows: int) -> None:
        self._session = session
        self._ontology = ontology
        self._catalogue = catalogue
        self._max_rows = max_rows
        self._clauses: dict[tuple[str, str | None], Any] = {}
        #: What was left out, in the order in which it was noticed.
        self.notes: dict[str, None] = {}

    def hurried(self) -> AbstractContextManager[None]:
        """Look-ups in here leave time for others."""
        return self._session.hurried()

    # Rows -----------------------------------------------------------------------------------------

    def by_number(self, declared: EntityType, number: str) -> list[FoundRow]:
        """Rows whose key or number is this."""
        import sqlalchemy as sa

        table, clause = self._table(declared)
        matches = [
            matched
            for name in dict.fromkeys((declared.key, declared.number, declared.label))
            if name is not None and table.has(name)
            for matched in [equals(table.get(name), clause.c[name], [number])]
            if matched is not None
        ]
        table.get(declared.key)
        return self._rows(declared, sa.or_(*matches), limit=MAX_RIVALS) if matches else []

    def by_key(self, declared: EntityType, key: str) -> FoundRow | None:
        """The row of a canonical id."""
        table, clause = self._table(declared)
        matched = equals(table.get(declared.key), clause.c[declared.key], [key])
        rows = [] if matched is None else self._rows(declared, matched, limit=1)
        return rows[0] if rows else None

    def by_labels(self, declared: EntityType, names: Sequence[str]) -> list[FoundRow]:
        """Rows whose whole label, in lower case, is one of the names."""
        import sqlalchemy as sa

        table, clause = self._table(declared)
        if not table.has(declared.label) or table.columns[declared.label or ""].kind is not Kind.TEXT:
            return []
        label = sa.type_coerce(clause.c[declared.label], sa.String())
        return self._rows(declared, sa.func.lower(label).in_(names), limit=MAX_RIVALS)

    def by_label(self, declared: EntityType, name: str, *, exact: bool) -> list[FoundRow]:
        """Rows of this name, whatever its case; or (not `exact`) rows whose name begins with it."""
        import sqlalchemy as sa

        if declared.label is None or not name or (not exact and len(name) < _MIN_PREFIX_CHARS):
            return []
        table, clause = self._table(declared)
        if table.get(declared.label).kind is not Kind.TEXT and table.dialect != "sqlite":
            return []
        label = sa.type_coerce(clause.c[declared.label], sa.String())
        folded = sa.func.lower(label)
        if exact:
            # Databases lower only some scripts; the usual spellings are tried as they are.
            spellings = (name, name.lower(), name.upper(), name.title(), name.capitalize())
            same = sa.or_(label.in_(list(dict.fromkeys(spellings))), folded == name.lower())
            return self._rows(declared, same, limit=MAX_RIVALS)
        begins = sa.or_(
            label.startswith(name, autoescape=True), folded.startswith(name.lower(), autoescape=True)
        )
        rows = self._rows(declared, begins, limit=_PREFIX_ROWS, order=[label])
        whole_words = [row for row in rows if not row.label[len(name) : len(name) + 1].isalnum()]
        return (whole_words or rows)[:MAX_RIVALS]

    def _rows(
        self,
        declared: EntityType,
        condition: ColumnElement[bool],
        *,
        limit: int,
        order: Sequence[ColumnElement[Any]] | None = None,
    ) -> list[FoundRow]:
        """Key and label (or number, or nothing) of rows; by key where no other order is given."""
        import sqlalchemy as sa
        from sqlalchemy.types import NullType

        table, clause = self._table(declared)
        table.get(declared.key)
        name = next((c for c in (declared.label, declared.number) if table.has(c)), None)
        key = sa.type_coerce(clause.c[declared.key], NullType()).label("key_")
        label = sa.null() if name is None else displayed(table.get(name), clause.c[name])
        statement = (
            sa.select(key, label.label("label_"))
            .select_from(clause)
            .where(condition, *meets(table, clause, declared.where))
            .order_by(*([clause.c[declared.key]] if order is None else order))
            .limit(limit)
        )
        return [_found(declared, row) for row in self._session.fetch(statement, max_rows=limit)]

    # Related rows ---------------------------------------------------------------------------------

    def related(self, declared: EntityType, key: str, relation: Relation, *, limit: int) -> list[FoundRow]:
        """The rows one relation leads to from a row, the newest first."""
        target = self._ontology.types[relation.to_type]
        table, clause = self._table(target)
        reached = self._reached(declared, key, (relation,), clause)
        if reached is None:
            return []
        return self._rows(target, reached, limit=limit, order=_newest(table, clause))

    def _reached(
        self, declared: EntityType, key: str, path: Sequence[Relation], clause: Any
    ) -> ColumnElement[bool] | None:
        """The condition that a row of the path's last type belongs to the given row; None if it can't."""
        import sqlalchemy as sa

        table, here = self._table(declared, "t0")
        matched = equals(table.get(declared.key), here.c[declared.key], [key])
        for number, relation in enumerate(path, 1):
            if matched is None:
                return None
            table.get(relation.from_column)
            sources = sa.select(here.c[relation.from_column]).where(matched)
            last = number == len(path)
            table, here = self._table(self._ontology.types[relation.to_type], None if last else f"t{number}")
            table.get(relation.to_column)
            matched = (clause if last else here).c[relation.to_column].in_(sources)
        return matched

    # Tables that answer ---------------------------------------------------------------------------

    def row_table(self, row: FoundRow) -> DomainTable | None:
        """A table that has one row and nothing else."""
        declared = row.type
        table, clause = self._table(declared)
        matched = equals(table.get(declared.key), clause.c[declared.key], [row.key])
        if matched is None:
            return None
        conditions = [matched, *meets(table, clause, declared.where)]
        title = f"{declared.name.replace('_', ' ')} {_named(row)}"
        return self._listing(table, clause, conditions, limit=1, title=title, entity=row.id)

    def related_table(
        self,
        row: FoundRow,
        path: Sequence[Relation],
        *,
        period: TimeRange | None,
        filters: Sequence[str] = (),
        limit: int,
    ) -> DomainTable | None:
        """The rows a path leads to from a row, in a period, the newest first."""
        target = self._ontology.types[path[-1].to_type]
        table, clause = self._table(target)
        reached = self._reached(row.type, row.key, path, clause)
        if reached is None:
            return None
        restricted, words = self._restricted(table, clause, target.time_column, period, filters)
        title = _title(target, words, of=_named(row))
        return self._listing(table, clause, [reached, *restricted], limit=limit, title=title, entity=row.id)

    def list_table(
        self, declared: EntityType, *, period: TimeRange | None, filters: Sequence[str], limit: int
    ) -> DomainTable:
        """The rows of a type, in a period, the newest first."""
        table, clause = self._table(declared)
        restricted, words = self._restricted(table, clause, declared.time_column, period, filters)
        return self._listing(table, clause, restricted, limit=limit, title=_title(declared, words))

    def measure_table(
        self,
        measure: Measure,
        *,
        group_by: Sequence[str] = (),
        row: FoundRow | None = None,
        path: Sequence[Relation] = (),
        period: TimeRange | None,
        filters: Sequence[str] = (),
    ) -> DomainTable | None:
        """A measure over all rows of its type, or over those that belong to a row."""
        import sqlalchemy as sa
        from sqlalchemy.types import NullType

        declared = self._ontology.types[measure.type]
        table, clause = self._table(declared)
        conditions = meets(table, clause, measure.where)
        if row is not None:
            reached = self._reached(row.type, row.key, path, clause)
            if reached is None:
                return None
            conditions.append(reached)
        time_column = measure.time_column or declared.time_column
        restricted, words = self._restricted(table, clause, time_column, period, filters)
        if measure.column is not None:
            table.get(measure.column)
            number = getattr(sa.func, measure.aggregate)(clause.c[measure.column])
        else:
            number = sa.func.count()
        number = sa.type_coerce(number, NullType()).label("measure_")
        groups = [displayed(table.get(column), clause.c[column]) for column in group_by]
        statement = sa.select(*groups, number).select_from(clause).where(*conditions, *restricted)
        if groups:
            columns = [clause.c[column] for column in group_by]
            statement = statement.group_by(*columns).order_by(*columns)
        limit = self._max_rows
        rows = self._session.fetch(statement.limit(limit + 1) if groups else statement, max_rows=limit + 1)
        kinds = [*(table.get(column) for column in group_by), table.columns.get(measure.column or "")]
        parts = [*([f"of {_named(row)}"] if row else []), *words]
        return DomainTable(
            title=", ".join([measure.title, *parts]) if parts else measure.title,
            columns=(*group_by, measure.title),
            rows=_cells(rows[:limit], kinds),
            truncated=len(rows) > limit,
            entity=row.id if row else None,
        )

    # Parts of statements --------------------------------------------------------------------------

    def _table(self, declared: EntityType, alias: str | None = None) -> tuple[KnownTable, Any]:
        table = self._catalogue.get(self._session, declared)
        # One object per place in a statement: SQLAlchemy tells tables apart by identity, not by name.
        clause = self._clauses.setdefault((declared.name, alias), table.clause(alias))
        return table, clause

    def _restricted(
        self,
        table: KnownTable,
        clause: Any,
        time_column: str | None,
        period: TimeRange | None,
        filters: Sequence[str],
    ) -> tuple[list[ColumnElement[bool]], list[str]]:
        """What always holds for a type, adjectives of the question, and its period; and the words for a title."""
        conditions: list[Condition] = list(table.type.where)
        for word in filters:
            conditions += table.type.filters[word]
        clauses = meets(table, clause, conditions)
        words = list(filters)
        if period is not None and time_column is not None:
            clauses += within(table.get(time_column), clause.c[time_column], period)
            words.append(period.phrase)
        elif period is not None:
            words.append(f"not limited to {period.phrase}: no time column is declared")
        return clauses, words

    def _listing(
        self,
        table: KnownTable,
        clause: Any,
        conditions: Sequence[ColumnElement[bool]],
        *,
        limit: int,
        title: str,
        entity: str | None = None,
    ) -> DomainTable:
        """The rows that meet conditions, the newest first, in the columns that are to be shown."""
        import sqlalchemy as sa

        names = tuple(name for name in table.type.display_columns if table.has(name))
        for name in table.type.display_columns:
            if not table.has(name):
                self.notes[f"table {table.type.full_table!r} has no column {name!r}"] = None
        if not names:
            raise DomainFault("missing", f"table {table.type.full_table!r} has none of the columns to show")
        columns = [table.get(name) for name in names]
        statement = (
            sa.select(*(displayed(column, clause.c[column.name]) for column in columns))
            .select_from(clause)
            .where(*conditions)
            .order_by(*_newest(table, clause))
            .limit(limit + 1)
        )
        rows = self._session.fetch(statement, max_rows=limit + 1)
        return DomainTable(
            title=title,
            columns=names,
            rows=_cells(rows[:limit], columns),
            truncated=len(rows) > limit,
            entity=entity,
        )


def _cells(rows: Sequence[Any], columns: Sequence[TableColumn | None]) -> tuple[tuple[Cell, ...], ...]:
    return tuple(tuple(map(to_cell, row, columns)) for row in rows)


def _found(declared: EntityType, row: Any) -> FoundRow:
    key = key_text(row[0])
    label = to_cell(row[1])
    return FoundRow(type=declared, key=key, label=key if label is None else str(label))


def _newest(table: KnownTable, clause: Any) -> list[Any]:
    """The order of rows: by time, the newest first, then by key; without either as the database likes."""
    order = []
    if table.has(table.type.time_column):
        import sqlalchemy as sa

        time = clause.c[table.type.time_column]
        # Not "nulls last", which some databases lack.
        order += [sa.case((time.is_(None), 1), else_=0), time.desc()]
    if table.has(table.type.key):
        order.append(clause.c[table.type.key].desc())
    return order


def _named(row: FoundRow) -> str:
    return row.id if row.label == row.key else f"{row.label} ({row.id})"


def _title(declared: EntityType, words: Sequence[str], *, of: str | None = None) -> str:
    return ", ".join([f"{declared.plural} of {of}" if of else declared.plural, *words])

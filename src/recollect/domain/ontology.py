"""What a tenant's own database is about (entity types, relations, measures), and what it answered.

An ontology is declared, never guessed: it is the whole list of tables and columns that questions can reach. It is
read in `ontology_document.py`. This module knows no SQL; whether the tables are really there is found in `domaindb`,
which also asks the questions.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime, time
from decimal import Decimal
from typing import Any

Scalar = str | int | float | bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Condition:
    """A column equals one of the values; with no values, it is null (or, with `null` False, is not)."""

    column: str
    values: tuple[Scalar, ...] = ()
    null: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class EntityType:
    """A kind of thing and the table its rows stand in.

    `label` is the column with the name people use; `number` the column with the number they use, when it is not
    the key. `plural` and `words` are other names of the type in questions. `where` holds for every row; `filters`
    are adjectives such as "active" that stand for conditions. `columns` are shown, in this order.
    """

    name: str
    table: str
    schema: str | None = None
    key: str = "id"
    label: str | None = None
    number: str | None = None
    plural: str
    words: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()
    time_column: str | None = None
    where: tuple[Condition, ...] = ()
    filters: Mapping[str, tuple[Condition, ...]]

    @property
    def full_table(self) -> str:
        """The table as it was declared, with its schema."""
        return f"{self.schema}.{self.table}" if self.schema else self.table

    @property
    def display_columns(self) -> tuple[str, ...]:
        """The columns of a row as people see it: those declared, else what identifies it."""
        named = (self.key, self.number, self.label, self.time_column)
        return self.columns or tuple(dict.fromkeys(column for column in named if column))


@dataclass(frozen=True, slots=True, kw_only=True)
class Relation:
    """Rows of one type lead to rows of another: where `to_column` has what `from_column` has."""

    name: str
    from_type: str
    to_type: str
    from_column: str
    to_column: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Measure:
    """A number that can be asked for by its words: an aggregate over the rows of a type."""

    name: str
    type: str
    aggregate: str
    column: str | None = None
    words: tuple[str, ...] = ()
    where: tuple[Condition, ...] = ()
    time_column: str | None = None
    group_by: tuple[str, ...] = ()

    @property
    def title(self) -> str:
        """The measure's name as people read it."""
        return self.name.replace("_", " ")


@dataclass(frozen=True, slots=True, kw_only=True)
class Ontology:
    """Everything a tenant has declared about its database."""

    types: Mapping[str, EntityType]
    relations: tuple[Relation, ...] = ()
    measures: Mapping[str, Measure]

    def __bool__(self) -> bool:
        return bool(self.types)

    def relations_from(self, type_name: str) -> tuple[Relation, ...]:
        """The relations that start at a type, in the order of declaration."""
        return tuple(relation for relation in self.relations if relation.from_type == type_name)

    def path(self, from_type: str, to_type: str, *, max_depth: int = 3) -> tuple[Relation, ...] | None:
        """The shortest chain of relations from one type to another; None if there is none that short."""
        paths: dict[str, tuple[Relation, ...]] = {from_type: ()}
        frontier = [from_type]
        for _ in range(max_depth):
            reached = []
            for here in frontier:
                for relation in self.relations_from(here):
                    if relation.to_type not in paths:
                        paths[relation.to_type] = (*paths[here], relation)
                        reached.append(relation.to_type)
            if to_type in paths:
                return paths[to_type]
            frontier = reached
        return paths.get(to_type)

    def split_id(self, canonical_id: str) -> tuple[EntityType, str] | None:
        """The type and key of an id such as "customer:a1b2c3d4"; None for what is not an id of a declared type."""
        name, colon, key = canonical_id.partition(":")
        declared = self.types.get(name)
        return (declared, key) if declared and colon and key else None


EMPTY = Ontology(types={}, measures={})


@dataclass(frozen=True, slots=True, kw_only=True)
class DeclaredOntology:
    """A tenant's ontology and where it was declared: "stored" (through the API), "file", or "none"."""

    ontology: Ontology
    document: Mapping[str, Any]
    source: str
    updated_at: datetime | None = None
    by: str | None = None
    notes: tuple[str, ...] = ()


#: What a cell may hold; everything else a database knows arrives here as text.
Cell = str | int | float | bool | Decimal | date | datetime | time | None


@dataclass(frozen=True, slots=True, kw_only=True)
class DomainTable:
    """Rows that answer a part of a question. `truncated` says that there are more of them.

    `entity` is the canonical id of the row the table is about, if it is about one.
    """

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    truncated: bool = False
    entity: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DomainResults:
    """The tables of one question. `notes` says what was not answered, and why; it never holds a secret."""

    tables: tuple[DomainTable, ...] = ()
    notes: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.tables)


@dataclass(frozen=True, slots=True, kw_only=True)
class RelatedEntity:
    """A row that the ontology leads to: its canonical id, its label, and the way there."""

    id: str
    label: str
    type: str
    relation: str
    source: str
    depth: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Expansion:
    """Entities with those that the ontology relates to them. `ids` has the given ones first."""

    ids: tuple[str, ...]
    related: tuple[RelatedEntity, ...] = ()
    notes: tuple[str, ...] = ()

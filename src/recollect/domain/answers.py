"""What the user's own database answered: tables for people and models to read, and what could not be had.

Values only. They are made in `domaindb` and shown by `context()` and `recollect ontology query`.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime, time
from decimal import Decimal

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

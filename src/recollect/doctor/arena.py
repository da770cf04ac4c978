"""What every attack works with: a connection as the application role, the tables there are, and a tally of leaks.

Whatever an attacker does happens in a transaction that is rolled back, so that even an attack that succeeds
changes nothing.
"""

# ruff: noqa: S608 - statements are put together here on purpose; none of their parts comes from a caller.

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import wraps
from typing import Any
from uuid import UUID

import psycopg
from psycopg import sql

from recollect.doctor import rules
from recollect.doctor.world import World
from recollect.domain.results import Check
from recollect.domain.tenancy import TenantContext
from recollect.storage.store import caller_settings

#: Store-wide tables: readable by every caller, and no row of theirs names a tenant.
GLOBAL_TABLES = frozenset({"store", "space", "migration"})
#: Tables that only a tenant's admins may read.
ADMINS_ONLY = frozenset({"api_key"})
#: Tables whose rows belong to a tenant as a whole; every caller of the tenant reads them.
TENANT_WIDE = frozenset({"tenant", "retention", "ontology", "experiment"})
_ADVICE = (
    "let one tenant at a time use the store until this is mended; schema.sql has the rights and policies"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """A table, partition or view of the schema as the catalogue knows it."""

    name: str
    parent: str
    kind: str
    columns: frozenset[str]
    enabled: bool
    forced: bool

    @property
    def identifier(self) -> sql.Identifier:
        """Its name, for SQL."""
        return sql.Identifier("recollect", self.name)

    @property
    def is_global(self) -> bool:
        """Whether it is one of the few that hold no tenant's data."""
        return self.parent in GLOBAL_TABLES


def read_tables(connection: psycopg.Connection[Any]) -> tuple[Table, ...]:
    """Everything in the schema that rows can be read from, found in the catalogue and not in a list."""
    rows = connection.execute(
        "select c.relname, coalesce(p.relname, c.relname), c.relkind::text, c.relrowsecurity, c.relforcerowsecurity,"
        " array(select a.attname::text from pg_attribute a"
        "   where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped)"
        " from pg_class c join pg_namespace n on n.oid = c.relnamespace"
        " left join pg_inherits i on i.inhrelid = c.oid left join pg_class p on p.oid = i.inhparent"
        " where n.nspname = 'recollect' and c.relkind in ('r', 'p', 'v', 'm', 'f') order by c.relname"
    ).fetchall()
    return tuple(
        Table(name=name, parent=parent, kind=kind, enabled=enabled, forced=forced, columns=frozenset(columns))
        for name, parent, kind, enabled, forced, columns in rows
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Arena:
    """Two tenants, and the way into the database. `mine` attacks `theirs`."""

    app: str
    mine: World
    theirs: World
    tables: tuple[Table, ...]

    @contextmanager
    def attacker(self) -> Iterator[Attacker]:
        """A fresh connection as the application role."""
        with psycopg.connect(self.app, autocommit=True, prepare_threshold=None) as connection:
            connection.execute("set statement_timeout = '60s'; set lock_timeout = '2s'")
            yield Attacker(connection)

    @property
    def protected(self) -> list[Table]:
        """Everything but the store-wide tables."""
        return [table for table in self.tables if not table.is_global]

    @property
    def scoped(self) -> list[Table]:
        """Tables whose rows live in a scope."""
        return [table for table in self.protected if {"tenant_id", "scope_id"} <= table.columns]


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What came of one statement: how many rows it gave or changed, or the error that refused it."""

    rows: int
    values: Sequence[tuple[Any, ...]] = ()
    sqlstate: str | None = None
    message: str = ""

    @property
    def refused(self) -> bool:
        """Whether the database said no."""
        return self.sqlstate is not None


@dataclass(frozen=True, slots=True)
class Attacker:
    """One connection as the application role."""

    connection: psycopg.Connection[tuple[Any, ...]]

    @contextmanager
    def posing_as(self, context: TenantContext | None) -> Iterator[None]:
        """A transaction on behalf of a caller, or of nobody; it is always rolled back."""
        with self.connection.transaction(force_rollback=True):
            if context is not None:
                self.connection.execute(caller_settings(context))
            yield

    def attempt(
        self, statement: str | sql.SQL | sql.Composed, values: Any = None, *, keep: bool = False
    ) -> Outcome:
        """Run one statement in a savepoint of its own; `keep` lets its effects last until the transaction ends."""
        try:
            with self.connection.transaction(force_rollback=not keep):
                cursor = self.connection.execute(statement, values)
                rows = cursor.fetchall() if cursor.description else []
                return Outcome(rows=len(rows) if cursor.description else max(cursor.rowcount, 0), values=rows)
        except psycopg.Error as error:
            if self.connection.broken:
                raise
            state = error.sqlstate or type(error).__name__
            return Outcome(rows=0, sqlstate=state, message=error.diag.message_primary or str(error))

    def count(self, table: Table, condition: str = "true", values: Sequence[Any] = ()) -> int:
        """How many rows of a table the caller gets to see; a refused query shows none."""
        return self.counts([table], condition, values)[table.name]

    def counts(
        self, tables: Sequence[Table], condition: str = "true", values: Sequence[Any] = ()
    ) -> dict[str, int]:
        """The same for many tables in one statement; when it is refused, each table is asked for itself."""
        query = "select {}, count(*) from {} where " + condition
        parts = [sql.SQL(query).format(sql.Literal(table.name), table.identifier) for table in tables]
        outcome = self.attempt(sql.SQL(" union all ").join(parts), [*values] * len(tables))
        if outcome.refused and len(tables) > 1:
            return {table.name: self.count(table, condition, values) for table in tables}
        return {table.name: 0 for table in tables} | {name: int(rows) for name, rows in outcome.values}


@dataclass(slots=True)
class Tally:
    """Attempts and what leaked through them, on the way to one Check."""

    name: str
    advice: str = _ADVICE
    tried: int = 0
    leaked: int = 0
    leaks: list[str] = field(default_factory=list)

    def note(self, what: str, rows: int) -> None:
        """One attempt; any row at all is a leak."""
        self.tried += 1
        if rows:
            self.leaked += rows
            self.leaks.append(f"{what} ({rows})")

    def expect(self, what: str, holds: bool) -> None:
        """One attempt that either holds or counts as one row leaked."""
        self.note(what, 0 if holds else 1)

    def check(self) -> Check:
        """What the attempts have shown, as one check."""
        if not self.leaks:
            ok, detail = self.tried > 0, f"0 rows leaked in {self.tried} attempts"
        else:
            examples = "; ".join(self.leaks[:5]) + ("; ..." if len(self.leaks) > 5 else "")
            ok, detail = (
                False,
                f"{self.leaked} rows leaked in {len(self.leaks)} of {self.tried} attempts: {examples}",
            )
        return Check(name=f"isolation: {self.name}", ok=ok, detail=detail, advice="" if ok else self.advice)


Attack = Callable[[Arena], Check]


def attack(
    title: str, group: list[Attack] | None = None
) -> Callable[[Callable[[Arena, Attacker, Tally], None]], Attack]:
    """Makes an attack of a function that notes its attempts in a tally, and adds it to a group of them."""

    def make(attempts: Callable[[Arena, Attacker, Tally], None]) -> Attack:
        @wraps(attempts)
        def carry_out(arena: Arena) -> Check:
            tally = Tally(title)
            with arena.attacker() as attacker:
                attempts(arena, attacker, tally)
            return tally.check()

        if group is not None:
            group.append(carry_out)
        return carry_out

    return make


def readable_scopes(world: World, context: TenantContext) -> set[UUID]:
    """What a caller may see, by the rules."""
    return rules.visible(world.places, world.belongings, context)


def writable_scopes(world: World, context: TenantContext) -> set[UUID]:
    """What a caller may change, by the rules."""
    return rules.writable(world.places, world.belongings, context)


def describe(context: TenantContext | None) -> str:
    """A caller in a few words."""
    if context is None:
        return "nobody"
    parts = [f"{name} {getattr(context, f'{name}_id')}" for name in ("user", "agent", "session")
             if getattr(context, f"{name}_id")]  # fmt: skip
    return " ".join([*parts, *context.roles]) or "a caller without a name"

"""Connections as the application role, and transactions that say who is asking.

Every transaction begins with `recollect.enter()`, which sets the tenant and the caller until it ends, so a pooled
connection carries nothing from one caller to the next. On a cluster it sets the caller's scopes, too (sql/cluster.sql),
and is called again when they change. Work that only the owner may do (vacuum, indexes, tenants) goes through `owner()`.
"""

from __future__ import annotations

import asyncio
import json
import re
import struct
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from datetime import datetime
from functools import cache, lru_cache
from pathlib import Path
from typing import Any, TypeVar
from uuid import UUID

from pgvector.psycopg import register_vector_async
from psycopg import AsyncCursor, AsyncRawCursor, sql
from psycopg.abc import Buffer
from psycopg.adapt import Dumper
from psycopg.pq import Format, PipelineStatus
from psycopg.rows import dict_row, namedtuple_row
from psycopg.types.json import JsonbDumper

from recollect.domain.layers import ScopeName
from recollect.domain.tenancy import TenantContext
from recollect.errors import ConflictError, StoreBusyError
from recollect.storage.connections import Connection, Connections, break_reported, try_twice
from recollect.storage.endpoint import Connector, Door, open_door
from recollect.storage.faults import translated
from recollect.storage.sql import compose, plain

Row = dict[str, Any]
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Claim:
    """The key that a request came with, as its user took it at a moment (see `replies`)."""

    user: str
    key: str
    at: datetime


#: That of the request which is being carried out.
request_claim: ContextVar[Claim | None] = ContextVar("request_claim", default=None)


class Ids(list[UUID]):
    """Ids on their way to the database, as many at once as the driver would take one by one."""


class Texts(list[str]):
    """Texts on their way to the database, as `Ids`."""


class Numbers(list[float | None]):
    """Numbers on their way to the database, as `Ids`."""


class _ArrayDumper(Dumper):
    """A list as PostgreSQL receives an array: dimensions, nulls, the elements' type, length, first index, elements."""

    format = Format.BINARY
    element: int

    def parts(self, obj: Any) -> list[bytes]:
        """Each element with its length before it."""
        raise NotImplementedError

    def dump(self, obj: Any) -> Buffer:
        if not obj:
            return struct.pack("!iiI", 0, 0, self.element)
        parts = self.parts(obj)
        return struct.pack("!iiIii", 1, _NULL in parts, self.element, len(obj), 1) + b"".join(parts)


class _IdsDumper(_ArrayDumper):
    oid, element = 2951, 2950

    def parts(self, obj: Ids) -> list[bytes]:
        return [b"\x00\x00\x00\x10" + id.bytes for id in obj]


class _TextsDumper(_ArrayDumper):
    oid, element = 1009, 25

    def parts(self, obj: Texts) -> list[bytes]:
        return [struct.pack("!i", len(text)) + text for text in map(str.encode, obj)]


class _NumbersDumper(_ArrayDumper):
    oid, element = 1022, 701

    def parts(self, obj: Numbers) -> list[bytes]:
        return [_NULL if number is None else struct.pack("!id", 8, number) for number in obj]


#: In place of an element's length.
_NULL = b"\xff\xff\xff\xff"


@dataclass(frozen=True, slots=True)
class Transaction:
    """A database transaction in which the tenant and the caller are set."""

    connection: Connection
    context: TenantContext
    partitions: dict[str, int] = field(default_factory=dict)

    async def partition(self) -> int | None:
        """The number of the partition that the tenant's memories, postings and vectors live in; a cluster has none."""
        if self.connection.on_cluster:
            return None
        tenant = self.context.tenant_id
        if tenant not in self.partitions:
            row = await self.get_row("partition_of", parent="recollect.memory")
            self.partitions[tenant] = int(row["name"].rpartition("_")[2])
        return self.partitions[tenant]

    async def fetch(
        self, name: str, /, slots: Mapping[str, sql.Composable] | None = None, **values: Any
    ) -> list[Row]:
        """Run a named query and return its rows; `tenant` is filled in."""
        # Binary rows: reading vectors, ids and times from text costs more than finding them.
        cursor = await self._run(name, slots, values, binary=True)
        # In a pipeline nothing is known of the rows before they are asked for.
        has_rows = self.is_pipelined or (cursor.pgresult is not None and cursor.pgresult.nfields > 0)
        return await cursor.fetchall() if has_rows else []

    @property
    def is_pipelined(self) -> bool:
        """Whether statements are sent without waiting for the answers to those before."""
        return self.connection.pgconn.pipeline_status != PipelineStatus.OFF

    @asynccontextmanager
    async def pipeline(self, *, when: bool = True) -> AsyncIterator[None]:
        """Send statements at once, up to the next whose rows are fetched: one round trip for several of them.

        Inside, `execute` does not know how many rows it changed, and nothing can be copied.
        """
        if not when:
            yield
            return
        async with self.connection.pipeline():
            yield

    async def fetch_statement(self, statement: str, values: Mapping[str, Any]) -> list[Row]:
        """Run a statement that was composed from named queries before, and kept."""
        rows: list[Row] = await self._fetch_kept(statement, values, dict_row)
        return rows

    async def fetch_records(self, statement: str, values: Mapping[str, Any]) -> list[Any]:
        """As `fetch_statement`, as named tuples: of many wide rows, dictionaries take longer to make than to use."""
        return await self._fetch_kept(statement, values, namedtuple_row)

    async def _fetch_kept(self, statement: str, values: Mapping[str, Any], rows: Any) -> list[Any]:
        parameters = {"tenant": self.context.tenant_id, **values}
        cursor = await self._run_numbered(statement, parameters, binary=True, prepare=True)
        cursor.row_factory = rows
        return await cursor.fetchall()

    async def fetch_one(
        self, name: str, /, slots: Mapping[str, sql.Composable] | None = None, **values: Any
    ) -> Row | None:
        """The first row of a named query."""
        rows = await self.fetch(name, slots, **values)
        return rows[0] if rows else None

    async def get_row(
        self, name: str, /, slots: Mapping[str, sql.Composable] | None = None, **values: Any
    ) -> Row:
        """The row of a named query that always gives one."""
        [row] = await self.fetch(name, slots, **values)
        return row

    async def execute(
        self, name: str, /, slots: Mapping[str, sql.Composable] | None = None, **values: Any
    ) -> int:
        """Run a named query and return how many rows it changed."""
        return (await self._run(name, slots, values)).rowcount

    async def _run(
        self,
        name: str,
        slots: Mapping[str, sql.Composable] | None,
        values: Mapping[str, Any],
        *,
        binary: bool = False,
    ) -> AsyncCursor[Row]:
        parameters = {"tenant": self.context.tenant_id, **values}
        if not self.connection.on_cluster:
            text = compose(name, slots).as_string(None) if slots else _plain_text(name)
            return await self._run_numbered(text, parameters, binary=binary)
        statement = compose(name, slots) if slots else plain(name)
        if name in _SELECTED:
            statement += _INSERT
        if name in _FOR_ALL_USERS:
            await self.connection.execute("set local recollect.rights = 'admin'")
        cursor = await self.connection.execute(statement, parameters, binary=binary)
        if name in _CHANGE_RIGHTS or name in _FOR_ALL_USERS:
            await self.connection.execute(enter_statement(self.context))
        return cursor

    async def _run_numbered(
        self, statement: str, values: Mapping[str, Any], *, binary: bool, prepare: bool | None = None
    ) -> AsyncCursor[Row]:
        text, names = numbered(statement)
        cursor = AsyncRawCursor(self.connection)
        await cursor.execute(text, [values[name] for name in names], prepare=prepare, binary=binary)
        return cursor

    async def make_staging(self) -> None:
        """Make the tables that COPY lands in, when a session first writes: reading must not need room on the disk."""
        if not self.connection.has_staging:
            await self.connection.fetch("create_staging")
            self.connection.has_staging = True

    async def copy(self, name: str, types: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
        """Binary COPY of rows through a named `copy ... from stdin` into a staging table."""
        await self.make_staging()
        async with self.connection.cursor() as cursor, cursor.copy(compose(name)) as copy:
            copy.set_types(types)
            for row in rows:
                await copy.write_row(row)


@cache
def _plain_text(name: str) -> str:
    """The text of a named query without slots."""
    return plain(name).as_string(None)


@lru_cache(maxsize=1_024)
def numbered(statement: str) -> tuple[bytes, tuple[str, ...]]:
    """A statement with `$1` for its first parameter and so on, and the parameters' names in that order.

    The driver would look for `%(name)s` in a text of several thousand characters whenever it runs.
    """
    names: dict[str, int] = {}

    def number(match: re.Match[str]) -> str:
        name = match["name"]
        return "%" if name is None else f"${names.setdefault(name, len(names) + 1)}"

    return _PLACEHOLDER.sub(number, statement).encode(), tuple(names)


#: How widely the HNSW index looks around: more finds more and takes longer.
_EF_SEARCH = 100
#: Queries after which the caller may see other scopes: a cluster keeps them in a setting.
_CHANGE_RIGHTS = frozenset(
    {"insert_scope", "move_scope", "delete_scopes", "upsert_member", "delete_members", "delete_members_of"}
)
#: Queries that insert what they select. Citus would COPY it to the shards, which policies forbid; where a conflict is
#: possible it inserts. None is: their keys were made for these rows.
_SELECTED = frozenset(
    "insert_staged_postings archive_memory insert_postings_of share_mentions insert_sources insert_sections"
    " insert_consultation insert_consultation_events insert_capability_requests tell_all".split()
)
_INSERT = sql.SQL(" on conflict do nothing")
#: Queries that reach rows of all users of a tenant: on one machine by a function with its owner's rights.
_FOR_ALL_USERS = frozenset({"forget_traces", "forget_consultations", "key_context"})
#: Whether a transaction has written, on one machine and on a cluster, where the tenant's shard knows.
WRITTEN = (
    sql.SQL("pg_current_xact_id_if_assigned() is not null"),
    sql.SQL("(pg_current_xact_id_if_assigned() is not null or recollect.has_written(r.key))"),
)
_PLACEHOLDER = re.compile(r"%(?:%|\((?P<name>\w+)\)s)")
_BEGIN = sql.SQL("begin; ")
_KEEP_PLANS = sql.SQL("; set local plan_cache_mode = force_generic_plan")
_PLAN_ANEW = sql.SQL("")


def caller_settings(context: TenantContext) -> sql.Composed:
    """The statements that begin a transaction and say who is asking."""
    return _BEGIN + enter_statement(context)


@lru_cache(maxsize=1_024)
def enter_statement(context: TenantContext) -> sql.Composed:
    """The statement that says in a transaction who is asking."""
    leads = [
        ScopeName.parse(role.removeprefix("lead:")) for role in context.roles if role.startswith("lead:")
    ]
    caller = {
        "user": context.user_id,
        "agent": context.agent_id,
        "session": context.session_id,
        "admin": context.is_admin,
        "leads": [[scope.layer.precedence, scope.name] for scope in leads],
    }
    return sql.SQL("select recollect.enter({}, {})").format(
        sql.Literal(context.tenant_id), sql.Literal(json.dumps(caller))
    )


class Store:
    """The connections to one database."""

    def __init__(self, connector: Connector, connections: Connections) -> None:
        self.connector = connector
        self._connections = connections
        self._partitions: dict[str, int] = {}

    @classmethod
    async def open(
        cls,
        home: Path,
        database_url: str | None,
        *,
        pool_size: int,
        statement_timeout_s: float,
    ) -> Store:
        """Start or join the database and migrate it."""
        door = await asyncio.to_thread(open_door, home, database_url)
        settings = {
            # Plans depend on the caller's scopes and on the partition: a cached generic plan fits none.
            "plan_cache_mode": "force_custom_plan",
            "hnsw.ef_search": str(_EF_SEARCH),
            "hnsw.iterative_scan": "relaxed_order",
            "statement_timeout": str(int(statement_timeout_s * 1000)),
            "jit": "off",
            "timezone": "UTC",
            "client_min_messages": "warning",
        }

        connector = Connector(door, home)

        async def connect() -> Connection:
            connection = await connector.connect()
            try:
                with break_reported(connection, undone=True):
                    await _configure(connection, settings)
            except BaseException:
                await connection.close()
                raise
            return connection

        return cls(connector, Connections(connect, size=pool_size))

    @property
    def door(self) -> Door:
        """How the database is reached."""
        return self.connector.door

    async def close(self) -> None:
        """Give the connections back; the server runs on."""
        await self._connections.close()

    @asynccontextmanager
    async def transaction(
        self, context: TenantContext, *, keep_plans: bool = False
    ) -> AsyncIterator[Transaction]:
        """One transaction on behalf of a caller; it ends with the block, undone if the block raised.

        `keep_plans` is for statements whose best plan depends on no value: they are planned once per connection,
        which takes as long as running them.
        """
        enter = caller_settings(context)

        def begin(connection: Connection) -> sql.Composed:
            # Beginning and saying who asks are one message. Citus plans for the values that are there.
            return enter + (_KEEP_PLANS if keep_plans and not connection.on_cluster else _PLAN_ANEW)

        with translated():
            async with self._connections.transaction(begin) as connection:
                tx = Transaction(connection, context, self._partitions)
                yield tx
                if (claim := request_claim.get()) is not None:
                    await _mark(tx, claim)

    async def read(self, context: TenantContext, look: Callable[[Transaction], Awaitable[T]]) -> T:
        """What one transaction that only reads finds; looked for again, once, if the connection breaks under it."""

        async def one_look() -> T:
            async with self.transaction(context) as tx:
                return await look(tx)

        return await try_twice(one_look, only_reads=True)

    @asynccontextmanager
    async def owner(self) -> AsyncIterator[Connection]:
        """A connection with the owner's rights, outside any transaction."""
        with translated():
            connection = await self.connector.connect(owner=True)
            with break_reported(connection, undone=False):
                async with connection:
                    yield connection

    async def owner_fetch(
        self, name: str, /, slots: Mapping[str, sql.Composable] | None = None, **values: Any
    ) -> list[Row]:
        """Run a named query with the owner's rights."""
        async with self.owner() as connection:
            return await connection.fetch(name, slots, **values)


def refuse_half_distributed(form: str | None) -> None:
    """A store on its way to many machines is nobody's until it has arrived."""
    if form == "distributing":
        raise StoreBusyError(
            "this store is being spread over many machines, and can't be used until that is done; "
            "if nothing is at work, `recollect db distribute` goes on where it stopped"
        )


async def _mark(tx: Transaction, claim: Claim) -> None:
    """Note that a request was carried out; one that was taken for lost, and begun again by another, is undone."""
    slots = {"written": WRITTEN[tx.connection.on_cluster]}
    row = await tx.fetch_one("mark_reply", slots, user=claim.user, key=claim.key, at=claim.at)
    if row is not None and row["lost"]:
        raise ConflictError("this request was sent again meanwhile, and the second is carried out")


async def _configure(connection: Connection, settings: Mapping[str, str]) -> None:
    """Make a new connection ready for transactions."""
    await register_vector_async(connection)
    connection.adapters.register_dumper(dict, JsonbDumper)
    for kind, dumper in ((Ids, _IdsDumper), (Texts, _TextsDumper), (Numbers, _NumbersDumper)):
        connection.adapters.register_dumper(kind, dumper)
    cursor = await connection.execute(
        sql.SQL("; ").join(
            [
                sql.SQL("select form from recollect.store"),
                *(
                    sql.SQL("set {} = {}").format(sql.SQL(name), sql.Literal(value))
                    for name, value in settings.items()
                ),
            ]
        )
    )
    store = await cursor.fetchone()
    refuse_half_distributed(store["form"] if store else None)
    connection.on_cluster = store is not None and store["form"] == "cluster"

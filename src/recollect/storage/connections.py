"""The connections of one process: a few, opened when they are needed and kept for the next transaction.

Whoever needs a connection opens it, so what went wrong is raised to the caller at once and as it is: a wrong
password, a server that recovers, no room. Waiting is only for connections that others use, and ends in
`StoreBusyError`. A connection that died while nobody used it is found out when a transaction begins on it; nothing
was sent by then, and another takes its place.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from typing import Any, TypeVar

import psycopg
from psycopg import AsyncConnection, sql
from psycopg.pq import TransactionStatus
from psycopg.rows import DictRow

from recollect.errors import StoreBusyError, StoreError, StoreUnreachableError
from recollect.storage.faults import is_starting
from recollect.storage.sql import compose

#: So long a call waits while all connections are in use: most HTTP clients have given up by then.
WAIT_S = 30.0
#: So long a connection is kept that nobody needs; the last one stays.
_IDLE_S = 600.0
#: After so long a connection is replaced: a server process that lives for days holds memory for all it ever did.
_LIFETIME_S = 3600.0
_log = logging.getLogger(__name__)
T = TypeVar("T")


#: For a server that does not even refuse; one on this machine answers within milliseconds.
CONNECT_TIMEOUT_S = 10
_POLL_S = 0.05
#: What a newcomer hears whose session was not open yet when the server's processes crashed.
_CUT_OFF = "server closed the connection unexpectedly"


def connect(conninfo: str, *, deadline: float) -> psycopg.Connection[tuple[Any, ...]]:
    """A connection outside any transaction.

    A server that starts, or recovers from a crash, turns everybody away: it is waited for until `deadline`, a moment
    of the monotonic clock.
    """
    while True:
        try:
            return psycopg.connect(conninfo, connect_timeout=CONNECT_TIMEOUT_S, autocommit=True)
        except psycopg.OperationalError as error:
            passing = is_starting(error) or _CUT_OFF in str(error)
            if not passing or time.monotonic() > deadline:
                raise
        time.sleep(_POLL_S)


class BrokenConnectionError(StoreUnreachableError):
    """The connection broke in the middle of a transaction; `undone` if nothing of it can have been stored."""

    def __init__(self, message: str, *, undone: bool) -> None:
        super().__init__(message)
        self.undone = undone


async def try_twice(work: Callable[[], Awaitable[T]], *, only_reads: bool = False) -> T:
    """Run work that has no effect but its one transaction, and again if the connection broke before it was stored.

    For work that is often under way: a server that dies and is started again is not noticed then. Work that
    `only_reads` may be run again whenever it broke off.
    """
    try:
        return await work()
    except BrokenConnectionError as error:
        if not (error.undone or only_reads):
            raise
        _log.warning("tried once more: %s", error)
    return await work()


class Connection(AsyncConnection[DictRow]):
    """A connection of this program."""

    opened_at: float
    released_at: float
    #: Whether this session has its staging tables for sure. Made in a transaction, they go if it is undone.
    has_staging: bool = False
    #: Whether the store behind it is spread over many machines.
    on_cluster: bool = False

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.opened_at = self.released_at = time.monotonic()

    async def fetch(
        self, name: str, /, slots: Mapping[str, sql.Composable] | None = None, **values: Any
    ) -> list[DictRow]:
        """Run a named query and return its rows."""
        cursor = await self.execute(compose(name, slots), values or None)
        return await cursor.fetchall() if cursor.description else []

    async def __aexit__(self, *reason: Any) -> None:
        """Close it, also when committing or undoing at the end is broken off: psycopg leaves it open then."""
        try:
            await super().__aexit__(*reason)
        finally:
            await self.close()


class Connections:
    """At most `size` connections at a time, each made by `connect`; one that nobody needed for `idle_s` is closed."""

    def __init__(
        self,
        connect: Callable[[], Awaitable[Connection]],
        *,
        size: int,
        timeout_s: float | None = None,
        idle_s: float = _IDLE_S,
    ) -> None:
        self._connect = connect
        self._idle_s = idle_s
        self._size = size
        self._timeout_s = WAIT_S if timeout_s is None else timeout_s
        self._turns = asyncio.Semaphore(size)
        #: The one that was used last is at the end and used next: the others grow old and are closed.
        self._idle: list[Connection] = []
        self._closed = False
        self._trimming: asyncio.Task[None] | None = None

    @asynccontextmanager
    async def transaction(self, begin: Callable[[Connection], sql.Composed]) -> AsyncIterator[Connection]:
        """A connection on which what `begin` says was executed; committed at the end, undone if the block raised."""
        async with self._turn():
            connection = await self._begin(begin)
            committed = False
            try:
                with break_reported(connection, undone=True):
                    yield connection
                with break_reported(connection, undone=False):
                    committed = await _commit(connection)
            finally:
                await self._release(connection, committed)

    async def close(self) -> None:
        """Close what is idle now, and the others when their transactions end."""
        self._closed = True
        if self._trimming is not None:
            self._trimming.cancel()
        while self._idle:
            await self._idle.pop().close()

    @asynccontextmanager
    async def _turn(self) -> AsyncIterator[None]:
        try:
            async with asyncio.timeout(self._timeout_s):
                await self._turns.acquire()
        except TimeoutError as error:
            raise StoreBusyError(
                f"all {self._size} connections to the database were in use, or waited for it, "
                f"for {self._timeout_s:g} s; try again, or raise pool_size"
            ) from error
        try:
            yield
        finally:
            self._turns.release()

    async def _begin(self, begin: Callable[[Connection], sql.Composed]) -> Connection:
        if self._closed:
            raise StoreError("the store was closed; open another client")
        while self._idle:
            connection = self._idle.pop()
            try:
                await connection.execute(begin(connection))
            except psycopg.OperationalError:
                await connection.close()
                # It died while it lay here, and so may have the others.
            except BaseException:
                await connection.close()
                raise
            else:
                return connection
        connection = await self._connect()
        try:
            with break_reported(connection, undone=True):
                await connection.execute(begin(connection))
        except BaseException:
            await connection.close()
            raise
        return connection

    async def _release(self, connection: Connection, committed: bool) -> None:
        """Undo what was not committed, and keep the connection if it is good for more."""
        connection.has_staging &= committed
        try:
            if connection.pgconn.transaction_status in (TransactionStatus.INTRANS, TransactionStatus.INERROR):
                await connection.rollback()
        except psycopg.Error as error:
            _log.warning("a connection that can't be rolled back is closed: %s", _message(error))
        finally:
            now = connection.released_at = time.monotonic()
            is_free = connection.pgconn.transaction_status == TransactionStatus.IDLE
            if is_free and not self._closed and now - connection.opened_at < _LIFETIME_S:
                self._idle.append(connection)
                self._trim_later()
            else:
                await connection.close()

    def _trim_later(self) -> None:
        if len(self._idle) > 1 and self._trimming is None:
            self._trimming = asyncio.create_task(self._trim())

    async def _trim(self) -> None:
        """Close connections as they grow old, until one is left."""
        while len(self._idle) > 1:
            spare_s = self._idle[0].released_at + self._idle_s - time.monotonic()
            if spare_s > 0:
                await asyncio.sleep(spare_s)
            else:
                await self._idle.pop(0).close()
        self._trimming = None


async def _commit(connection: Connection) -> bool:
    """Whether anything was: after an error that the block kept to itself, the server undoes instead."""
    is_sound = connection.pgconn.transaction_status == TransactionStatus.INTRANS
    await connection.commit()
    return is_sound


@contextmanager
def break_reported(connection: Connection, *, undone: bool) -> Iterator[None]:
    """Run work on a connection; an error with which it broke says whether what was under way is `undone`."""
    try:
        yield
    except psycopg.OperationalError as error:
        if not connection.broken:
            raise
        if undone:
            advice = "what was under way is undone, try again"
        else:
            advice = "look whether the change is there before you try again"
        raise BrokenConnectionError(
            f"the connection to the database broke ({_message(error)}); {advice}", undone=undone
        ) from error


def _message(error: Exception) -> str:
    return " ".join(str(error).split())[:300]

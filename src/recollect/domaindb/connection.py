"""Reading a database that is not ours: bounded in time, in rows and in threads, and never written to.

Statements run on a synchronous SQLAlchemy engine, because most databases have only such drivers, in daemon threads:
one that hangs in a dead network must neither hold up the caller nor the end of the process. There are few of them;
while all are stuck, questions are answered at once with "busy". A database that could not be reached is left alone
for a moment. Faults become sentences without secrets (`DomainFault`).

This module knows no ontology; statements are built in `lookups.py`.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import quote, quote_plus

if TYPE_CHECKING:
    import sqlite3

    from sqlalchemy import Connection, Engine, Executable, Row
    from sqlalchemy.engine import URL

T = TypeVar("T")
logger = logging.getLogger(__name__)

#: Connections held open, and questions that may be under way at a time.
POOL_SIZE = 2
MAX_THREADS = 4
#: For so long a database that could not be reached is not tried again: a search must not wait for it every time.
RETRY_AFTER_S = 5.0
#: A statement is ended by the database first; the caller stops waiting this much later.
GRACE_S = 0.5
#: SQLite looks at the clock after so many of its instructions, about every tenth of a millisecond.
_SQLITE_STEPS = 10_000


class DomainFault(Exception):  # noqa: N818 - it never leaves domaindb; callers get its sentence as a note
    """The database did not answer, in a sentence. `kind` is unreachable, slow, busy, missing or refused."""

    def __init__(self, kind: str, sentence: str) -> None:
        super().__init__(sentence)
        self.kind = kind


class Session:
    """One connection in one read-only transaction, with a deadline that all its statements share."""

    def __init__(
        self, connection: Connection, deadline: float, describe: Callable[[Exception], DomainFault]
    ) -> None:
        self.connection = connection
        self.dialect: str = connection.dialect.name
        self._deadline = deadline
        self._describe = describe

    @property
    def remaining_s(self) -> float:
        """What is left of the time."""
        return self._deadline - time.monotonic()

    @contextmanager
    def hurried(self, share: float = 0.5) -> Iterator[None]:
        """What is done in here may take a share of what is left of the time, so that something is left after it."""
        whole = self._deadline
        self._deadline = time.monotonic() + self.remaining_s * share
        try:
            yield
        finally:
            self._deadline = whole

    def fetch(self, statement: Executable, *, max_rows: int) -> Sequence[Row[Any]]:
        """At most so many rows of a statement; a fault leaves the session usable."""
        with self.guarded():
            result = self.connection.execute(statement)
            rows = result.fetchmany(max_rows)
            result.close()
            return rows

    @contextmanager
    def guarded(self) -> Iterator[Connection]:
        """Work on the connection within what is left of the time; a fault rolls back."""
        remaining_ms = int(self.remaining_s * 1000)
        if remaining_ms <= 0:
            raise _slow()
        try:
            if self.dialect == "postgresql":
                self.connection.exec_driver_sql(f"set local statement_timeout = {remaining_ms}")
            yield self.connection
        except Exception as error:
            with contextlib.suppress(Exception):
                self.connection.rollback()
            raise (_slow() if self.remaining_s <= 0 else self._describe(error)) from error


class DomainConnections:
    """The way into one tenant's own database. Opened with the first question, closed with the workspace."""

    def __init__(self, url: str, *, timeout_s: float, retry_after_s: float = RETRY_AFTER_S) -> None:
        self.timeout_s = timeout_s
        self.retry_after_s = retry_after_s
        self._url = url
        self._engine: Engine | None = None
        self._lock = threading.Lock()
        self._threads: set[threading.Thread] = set()
        self._unreachable_until = 0.0
        self._slow_until = 0.0
        self._secrets = _secrets(url)
        self._closed = False

    async def run_on_the_side(self, work: Callable[[Session], T]) -> T:
        """Work that only helps a search along: not tried for a while after some of it was too slow.

        A search looks up several names one after another; it must not wait for each of them.
        """
        if time.monotonic() < self._slow_until:
            raise DomainFault("slow", "the domain database was not asked: it took too long a moment ago")

        def watched(session: Session) -> T:
            try:
                return work(session)
            finally:
                if session.remaining_s <= 0:
                    self._slow_until = time.monotonic() + self.retry_after_s

        return await self.run(watched)

    async def run(self, work: Callable[[Session], T]) -> T:
        """Do work in a session of its own; raises `DomainFault` and nothing else when the database fails."""
        if time.monotonic() < self._unreachable_until:
            raise DomainFault(
                "unreachable", "the domain database was not asked: it could not be reached a moment ago"
            )
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[T] = loop.create_future()

        def settle(result: T | None, error: BaseException | None) -> None:
            if answer.done():
                return
            if error is not None:
                answer.set_exception(error)
            else:
                answer.set_result(result)  # type: ignore[arg-type]

        def body() -> None:
            result: T | None = None
            error: BaseException | None = None
            try:
                result = self._work(work)
            except BaseException as caught:
                error = caught
            finally:
                with self._lock:
                    self._threads.discard(threading.current_thread())
            with contextlib.suppress(RuntimeError):  # the loop is gone, and nobody waits any more
                loop.call_soon_threadsafe(settle, result, error)

        self._start(body)
        try:
            return await asyncio.wait_for(answer, self.timeout_s + GRACE_S)
        except TimeoutError:
            self._leave_alone()
            raise _slow() from None
        except DomainFault as fault:
            if fault.kind == "unreachable":
                self._leave_alone()
            raise

    def _start(self, body: Callable[[], None]) -> None:
        thread = threading.Thread(target=body, name="recollect-domain", daemon=True)
        with self._lock:
            if self._closed:
                raise DomainFault("unreachable", "the domain database is closed")
            if len(self._threads) >= MAX_THREADS:
                raise DomainFault(
                    "busy",
                    f"the domain database is busy: {MAX_THREADS} earlier questions are still waiting for it",
                )
            self._threads.add(thread)
        thread.start()

    def _leave_alone(self) -> None:
        self._unreachable_until = time.monotonic() + self.retry_after_s

    def _work(self, work: Callable[[Session], T]) -> T:
        deadline = time.monotonic() + self.timeout_s
        engine = self._open()
        try:
            connection = engine.connect()
        except Exception as error:
            raise self._connect_fault(error) from error
        try:
            session = Session(connection, deadline, self._describe)
            if engine.dialect.name == "sqlite":
                driver: Any = connection.connection.dbapi_connection
                driver.set_progress_handler(lambda: session.remaining_s <= 0, _SQLITE_STEPS)
            return work(session)
        except DomainFault:
            raise
        except Exception as error:
            # Ours or the driver's mistake: a search must survive it, and the log must tell.
            logger.warning("a question to the domain database failed", exc_info=error)
            raise self._describe(error) from error
        finally:
            with contextlib.suppress(Exception):
                connection.rollback()
            if self._closed:
                with contextlib.suppress(Exception):
                    connection.detach()
            with contextlib.suppress(Exception):
                connection.close()

    def _open(self) -> Engine:
        with self._lock:
            if self._engine is None:
                self._engine = open_engine(self._url, timeout_s=self.timeout_s)
            return self._engine

    async def close(self) -> None:
        """End the connections; work under way gets its time to finish, and what hangs is left behind."""
        with self._lock:
            self._closed = True
            waiting = list(self._threads)
        deadline = time.monotonic() + self.timeout_s
        for thread in waiting:
            await asyncio.to_thread(thread.join, max(0.0, deadline - time.monotonic()))
        if self._engine is not None:
            await asyncio.to_thread(self._engine.dispose)

    def _connect_fault(self, error: Exception) -> DomainFault:
        if isinstance(error, DomainFault):
            return error
        return DomainFault("unreachable", f"the domain database can't be reached: {self._reason(error)}")

    def _describe(self, error: Exception) -> DomainFault:
        """What went wrong with a statement."""
        from sqlalchemy.exc import DBAPIError, NoSuchTableError

        if isinstance(error, DomainFault):
            return error
        cause = error.orig if isinstance(error, DBAPIError) else error
        reason = self._reason(error)
        state = getattr(cause, "sqlstate", None) or ""
        if state == "57014" or "interrupted" in reason:
            return _slow()
        if isinstance(error, DBAPIError) and (
            error.connection_invalidated or state.startswith(("08", "57P"))
        ):
            return DomainFault("unreachable", f"the domain database went away: {reason}")
        missing = isinstance(error, NoSuchTableError) or state in {"42P01", "42703", "3F000"}
        if missing or reason.startswith(("no such table", "no such column")):
            return DomainFault("missing", f"the domain database has changed: {reason}")
        return DomainFault("refused", f"the domain database refused: {reason}")

    def _reason(self, error: BaseException) -> str:
        """The driver's own words in one line, without what must not be shown."""
        cause = getattr(error, "orig", None) or error
        lines = str(cause).strip().splitlines()
        reason = lines[0].strip() if lines else type(cause).__name__
        for secret in self._secrets:
            reason = reason.replace(secret, "***")
        return reason[:200]


def open_engine(url: str, *, timeout_s: float) -> Engine:
    """An engine that only reads; `DomainFault` says what is wrong with a URL."""
    from sqlalchemy import create_engine
    from sqlalchemy.exc import ArgumentError, NoSuchModuleError

    try:
        parsed = parse_url(url)
        if parsed.get_dialect().is_async:
            raise DomainFault(
                "unreachable",
                f"the domain database's URL names the asynchronous driver {parsed.drivername!r}; use a plain one, "
                "as 'postgresql+psycopg://...' or 'sqlite:///file.db'",
            )
        return create_engine(parsed, **_engine_options(parsed, timeout_s))
    except NoSuchModuleError as error:
        raise DomainFault(
            "unreachable",
            f"SQLAlchemy knows no database {parsed.drivername!r}; check the domain database's URL",
        ) from error
    except (ArgumentError, ValueError) as error:
        raise DomainFault(
            "unreachable",
            "the domain database's URL can't be read; write it as 'postgresql://user:password@host/db'",
        ) from error
    except ModuleNotFoundError as error:
        raise DomainFault(
            "unreachable",
            f"the driver {error.name!r} of the domain database is not installed; install it, or name another one, "
            "as in 'postgresql+psycopg://...'",
        ) from error


def parse_url(url: str) -> URL:
    """SQLAlchemy's URL; the short scheme that libpq also takes is understood."""
    from sqlalchemy.engine import make_url

    return make_url(url.replace("postgres://", "postgresql://", 1) if url.startswith("postgres://") else url)


def _engine_options(url: URL, timeout_s: float) -> dict[str, Any]:
    options: dict[str, Any] = {
        "hide_parameters": True,  # what was asked does not belong into logs of errors
        "pool_pre_ping": True,
        "pool_size": POOL_SIZE,
        "max_overflow": MAX_THREADS - POOL_SIZE,
        "pool_timeout": timeout_s,
    }
    if url.get_backend_name() == "sqlite":
        from sqlalchemy.pool import QueuePool

        return {**options, "creator": _sqlite_opener(url, timeout_s), "poolclass": QueuePool}
    options["pool_recycle"] = 300
    if url.get_backend_name() == "postgresql":
        # Every transaction begins read only; so the server refuses writes whatever the statement says.
        options["execution_options"] = {"postgresql_readonly": True}
    if url.get_driver_name() in {"psycopg", "psycopg2"}:
        whole_s = max(1, round(timeout_s))
        given = {
            # libpq counts in whole seconds and takes 1 for 2; the caller stops waiting earlier anyway.
            "connect_timeout": max(2, whole_s),
            # A network that swallows packets ends the connection instead of a thread.
            "tcp_user_timeout": whole_s * 2000,
            "application_name": "recollect (read only)",
        }
        options["connect_args"] = {name: value for name, value in given.items() if name not in url.query}
    return options


def _sqlite_opener(url: URL, timeout_s: float) -> Callable[[], sqlite3.Connection]:
    import sqlite3

    path = url.database
    if not path or path == ":memory:" or "mode=memory" in path:
        raise DomainFault(
            "unreachable", "an SQLite in memory holds nothing for us; give a file, as 'sqlite:///shop.db'"
        )
    uri = path if path.startswith("file:") else f"file:{quote(str(Path(path).expanduser()))}?mode=ro"

    def connect() -> sqlite3.Connection:
        # Read only twice: the file is opened so, and the connection refuses to write (also to attached files).
        connection = sqlite3.connect(uri, uri=True, timeout=timeout_s, check_same_thread=False)
        connection.execute("pragma query_only = on")
        return connection

    return connect


def _secrets(url: str) -> tuple[str, ...]:
    """Pieces of a URL that no message may hold."""
    try:
        parsed = parse_url(url)
    except Exception:
        return (url,)
    secrets = [parsed.password] if parsed.password else []
    secrets += [str(value) for name, value in parsed.query.items() if "pass" in name or "key" in name]
    spelled = {
        form for secret in secrets for form in (str(secret), quote(str(secret)), quote_plus(str(secret)))
    }
    return (url, *sorted(spelled, key=len, reverse=True))


def _slow() -> DomainFault:
    return DomainFault("slow", "the domain database took too long; what is missing was not waited for")

"""Driver errors become ours, in one place. The driver's error survives as `__cause__`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
from psycopg import errors as pg

from recollect.errors import (
    ConflictError,
    ForbiddenError,
    InvalidInputError,
    RecollectError,
    StoreBusyError,
    StoreCorruptedError,
    StoreError,
    StoreFullError,
    StoreUnreachableError,
    StoreUnsupportedError,
)

_FAULTS: tuple[tuple[type[psycopg.Error], type[RecollectError], str], ...] = (
    (
        pg.DiskFull,
        StoreFullError,
        "no space left for the database; free some and try again, nothing was stored",
    ),
    (pg.InsufficientPrivilege, ForbiddenError, "the database refused: not allowed for this caller"),
    (pg.UniqueViolation, ConflictError, "it exists already"),
    (pg.ForeignKeyViolation, ConflictError, "what it belongs to was removed meanwhile; try again"),
    (pg.CheckViolation, InvalidInputError, "the database refuses a value"),
    (pg.NotNullViolation, InvalidInputError, "a value is missing"),
    (pg.ProgramLimitExceeded, InvalidInputError, "a value is too large for the database"),
    (
        pg.DataCorrupted,
        StoreCorruptedError,
        "the database is damaged; restore a backup with `recollect db restore`",
    ),
    (
        pg.IndexCorrupted,
        StoreCorruptedError,
        "an index is damaged; run `reindex database` or restore a backup",
    ),
    (pg.QueryCanceled, StoreBusyError, "the database took too long; try again, or raise statement_timeout_s"),
    (pg.LockNotAvailable, StoreBusyError, "a lock was not to be had; try again"),
    (pg.DeadlockDetected, StoreBusyError, "two writers blocked each other; try again"),
    (pg.SerializationFailure, StoreBusyError, "the data changed meanwhile; try again"),
    (
        pg.ReadOnlySqlTransaction,
        StoreUnsupportedError,
        "the database is read-only; use the primary server's URL",
    ),
    (pg.DataError, InvalidInputError, "the database can't hold a value"),
    (pg.UndefinedTable, StoreCorruptedError, "a table is missing; run `recollect db migrate`"),
)

# A server that turns a newcomer away says why only in words: the driver keeps no SQLSTATE of a failed connection.
# Another language than English is not understood; such a server counts as unreachable.
_STARTING = re.compile(
    r"the database system is (starting up|in recovery mode|not (yet )?accepting connections)"
)
_CROWDED = re.compile(r"too many (clients|connections)|remaining connection slots")


@contextmanager
def translated() -> Iterator[None]:
    """Run database work; what the driver raises comes out as one of our errors."""
    try:
        yield
    except psycopg.Error as error:
        raise translate(error) from error


def translate(error: psycopg.Error) -> RecollectError:
    """Our error for a driver's."""
    text = " ".join(str(error).split()) or type(error).__name__
    for kind, ours, advice in _FAULTS:
        if isinstance(error, kind):
            return ours(f"{advice} ({_brief(error)})")
    if "No space left on device" in text:
        return StoreFullError("no space left for the database; free some and try again, nothing was stored")
    if is_crowded(error):
        return StoreBusyError(
            f"the database takes no more connections; try again, or close some programs ({text[:300]})"
        )
    if is_starting(error):
        return StoreBusyError(
            f"the database is starting, or recovering from a crash; try again soon ({text[:300]})"
        )
    if isinstance(error, psycopg.OperationalError):
        return StoreUnreachableError(f"can't reach the database: {text[:300]}; check `recollect db status`")
    return StoreError(f"the database failed: {_brief(error)}")


def is_starting(error: psycopg.Error) -> bool:
    """Whether a server refused a connection because it starts or recovers; soon it will take one."""
    return isinstance(error, psycopg.OperationalError) and bool(_STARTING.search(str(error)))


def is_crowded(error: psycopg.Error) -> bool:
    """Whether a server refused a connection because it has as many as it may."""
    return isinstance(error, psycopg.OperationalError) and bool(_CROWDED.search(str(error)))


def _brief(error: psycopg.Error) -> str:
    """The server's primary message, without the row's values that DETAIL would show."""
    return (error.diag.message_primary or " ".join(str(error).split()))[:300]


def is_row_fault(error: RecollectError) -> bool:
    """Whether one row's values were refused, so that others of its batch may still be stored."""
    return isinstance(error.__cause__, psycopg.DataError | psycopg.IntegrityError)


def is_lost_race(error: RecollectError) -> bool:
    """Whether another writer was first; nothing was stored, and a second attempt usually is."""
    return isinstance(error.__cause__, pg.DeadlockDetected | pg.SerializationFailure)

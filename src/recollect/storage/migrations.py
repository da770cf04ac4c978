"""Bring a database to this program's schema.

A new store is written by `sql/schema.sql`, in one transaction. An older one gets the migrations that it lacks:
`sql/migrations/NNNN_name.pre.sql` is what an old process survives (new tables, new nullable columns);
`NNNN_name.post.sql` is what may run only when no old process is left. Both run in order, each in its own
transaction. All of it happens under one advisory lock, so that two processes that migrate at once take turns.
Released files are frozen by checksum in `sql/migrations/CHECKSUMS`; `sql/schema.sql` is what they arrive at.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from importlib import resources

import psycopg
from psycopg import sql
from psycopg.rows import tuple_row

from recollect.errors import StoreCorruptedError, StoreNewerError, StoreUnsupportedError
from recollect.storage.faults import translated

#: Any fixed number will do; it names the lock that migrating processes take turns on.
_LOCK = 0x5EC0_11EC
_FILE = re.compile(r"^(\d{4})_(\w+)\.(pre|post)\.sql$")
_SQL = resources.files("recollect.storage.sql")


@dataclass(frozen=True, slots=True, kw_only=True)
class Migration:
    """One file of `sql/migrations`."""

    version: int
    phase: str
    name: str
    text: str

    @property
    def checksum(self) -> str:
        """What freezes the file once it is released."""
        return hashlib.sha256(self.text.encode()).hexdigest()


@cache
def migrations() -> tuple[Migration, ...]:
    """All migrations in the order they run."""
    files = []
    for entry in _SQL.joinpath("migrations").iterdir():
        if match := _FILE.match(entry.name):
            files.append(
                Migration(
                    version=int(match[1]),
                    name=match[2],
                    phase=match[3],
                    text=entry.read_text(encoding="utf-8"),
                )
            )
    return tuple(sorted(files, key=lambda m: (m.version, m.phase == "post")))


def newest_version() -> int:
    """The schema version this program was written for."""
    return migrations()[-1].version


def oldest_version() -> int:
    """The schema version that the first migration starts from."""
    return migrations()[0].version - 1


def schema_version(connection: psycopg.Connection[object]) -> int | None:
    """The version a database is at; None when Recollect has never been there."""
    with connection.cursor(row_factory=tuple_row) as cursor:
        exists = cursor.execute("select to_regclass('recollect.migration') is not null").fetchone()
        if exists is None or not exists[0]:
            return None
        row = cursor.execute("select max(version) from recollect.migration").fetchone()
        return None if row is None else row[0]


def migrate(owner: str) -> list[str]:
    """Apply what is missing, as the schema's owner. Returns the names of what was applied."""
    with translated(), psycopg.connect(owner, autocommit=True) as connection:
        connection.execute("select pg_advisory_lock(%s)", [_LOCK])
        try:
            check_server(connection)
            version = schema_version(connection)
            check_version(version)
            if version is None:
                return [_create(connection)]
            applied = [_apply(connection, migration) for migration in _pending(connection)]
            if applied:
                _refresh_cluster(owner)
            return applied
        finally:
            connection.execute("select pg_advisory_unlock(%s)", [_LOCK])


def _refresh_cluster(owner: str) -> None:
    """A migration writes functions and policies as one machine has them."""
    from recollect.storage.cluster.distribute import refresh
    from recollect.storage.cluster.session import form_of, one_by_one, session

    with session(owner) as connection:
        if form_of(connection) == "cluster":
            with one_by_one(connection):
                refresh(connection)


def check_version(version: int | None) -> None:
    """An old program must not touch what a newer one understands better, nor guess at what came before its time."""
    if version is None:
        return
    if version > newest_version():
        raise StoreNewerError(
            f"the store is at schema version {version}, this program knows {newest_version()}; "
            "upgrade recollect (pip install --upgrade recollect)"
        )
    if version < oldest_version():
        raise StoreUnsupportedError(
            f"the store is at schema version {version}, this program upgrades from {oldest_version()} on; "
            "`recollect export` it with the version that made it, then `recollect import` that into a new home"
        )


def check_server(connection: psycopg.Connection[object]) -> None:
    """PostgreSQL 15 and pgvector 0.8 are the least that works; the extension is created when it can be."""
    version = connection.info.server_version
    if version < 150000:
        raise StoreUnsupportedError(f"PostgreSQL {version // 10000} is too old; recollect needs 15 or newer")
    with connection.cursor(row_factory=tuple_row) as cursor:
        row = cursor.execute(
            "select default_version, installed_version from pg_available_extensions where name = 'vector'"
        ).fetchone()
        if row is None:
            raise StoreUnsupportedError(
                "this PostgreSQL has no pgvector; install pgvector 0.8 or newer on the server"
            )
        if row[1] is None:
            cursor.execute("create extension if not exists vector with schema public")
        vector_version = row[1] or row[0]
        if tuple(int(part) for part in vector_version.split(".")[:2]) < (0, 8):
            raise StoreUnsupportedError(
                f"pgvector {vector_version} is too old; recollect needs 0.8 (alter extension vector update)"
            )


def _pending(connection: psycopg.Connection[object]) -> list[Migration]:
    with connection.cursor(row_factory=tuple_row) as cursor:
        rows = cursor.execute("select version, phase, checksum from recollect.migration").fetchall()
    applied = {(version, phase): checksum for version, phase, checksum in rows}
    for migration in migrations():
        checksum = applied.get((migration.version, migration.phase))
        if checksum is not None and checksum != migration.checksum:
            raise StoreCorruptedError(
                f"migration {migration.version:04} ({migration.name}) was applied in another form than this program "
                "has; the database was made by a different build: restore a backup or use that build"
            )
    return [m for m in migrations() if (m.version, m.phase) not in applied]


def _create(connection: psycopg.Connection[object]) -> str:
    """Write a new store, which has all that the migrations would bring."""
    _run(connection, _SQL.joinpath("schema.sql").read_text(encoding="utf-8"), migrations())
    return "schema"


def _apply(connection: psycopg.Connection[object], migration: Migration) -> str:
    _run(connection, migration.text, [migration])
    return f"{migration.version:04}_{migration.name}.{migration.phase}"


def _run(connection: psycopg.Connection[object], text: str, brought: Iterable[Migration]) -> None:
    """Carry a script out and note down what it brought, both or neither."""
    with connection.transaction():
        # On a cluster: one connection to each node. Elsewhere nobody reads it.
        connection.execute("set local citus.multi_shard_modify_mode = 'sequential'")
        connection.execute(sql.SQL(text))
        for migration in brought:
            connection.execute(
                "insert into recollect.migration (version, phase, name, checksum) values (%s, %s, %s, %s)",
                [migration.version, migration.phase, migration.name, migration.checksum],
            )

"""Bring a database to this program's schema.

`sql/migrations/NNNN_name.pre.sql` is what an old process survives (new tables, new nullable columns);
`NNNN_name.post.sql` is what may run only when no old process is left. Both run in order, each in its own
transaction, under one advisory lock, so that two processes that migrate at once take turns. Released files
are frozen by checksum in `sql/migrations/CHECKSUMS`; `sql/schema.sql` is what they add up to.
"""

from __future__ import annotations

import hashlib
import re
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

_LEDGER = """
create schema if not exists recollect;
create table if not exists recollect.migration (
    version integer not null,
    phase text not null check (phase in ('pre', 'post')),
    name text not null,
    checksum text not null,
    applied_at timestamptz not null default now(),
    primary key (version, phase)
);
revoke all on schema recollect from public;
grant usage on schema recollect to recollect_app;
grant select on recollect.migration to recollect_app;
do $$ begin
    execute format('grant connect, temporary on database %I to recollect_app', current_database());
end $$;
"""


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
    found = []
    for entry in resources.files("recollect.storage.sql").joinpath("migrations").iterdir():
        if match := _FILE.match(entry.name):
            found.append(
                Migration(
                    version=int(match[1]),
                    name=match[2],
                    phase=match[3],
                    text=entry.read_text(encoding="utf-8"),
                )
            )
    return tuple(sorted(found, key=lambda m: (m.version, m.phase == "post")))


def newest_version() -> int:
    """The schema version this program was written for."""
    return migrations()[-1].version


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
            refuse_newer(version)
            if version is None:
                with connection.transaction():
                    connection.execute(_LEDGER)
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


def refuse_newer(version: int | None) -> None:
    """An old program must not touch what a newer one understands better."""
    if version is not None and version > newest_version():
        raise StoreNewerError(
            f"the database is at schema version {version}, this program knows {newest_version()}; "
            "upgrade recollect (pip install --upgrade recollect)"
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
        found = row[1] or row[0]
        if tuple(int(part) for part in found.split(".")[:2]) < (0, 8):
            raise StoreUnsupportedError(
                f"pgvector {found} is too old; recollect needs 0.8 (alter extension vector update)"
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


def _apply(connection: psycopg.Connection[object], migration: Migration) -> str:
    with connection.transaction():
        # On a cluster: one connection to each node. Elsewhere nobody reads it.
        connection.execute("set local citus.multi_shard_modify_mode = 'sequential'")
        connection.execute(sql.SQL(migration.text))
        connection.execute(
            "insert into recollect.migration (version, phase, name, checksum) values (%s, %s, %s, %s)",
            [migration.version, migration.phase, migration.name, migration.checksum],
        )
    return f"{migration.version:04}_{migration.name}.{migration.phase}"

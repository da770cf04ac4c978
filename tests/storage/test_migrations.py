"""Migrations: they add up to schema.sql, are frozen, take turns, and refuse what they do not know."""

from __future__ import annotations

import hashlib
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import resources
from types import SimpleNamespace
from typing import Any
from urllib.parse import quote, urlsplit, urlunsplit
from uuid import uuid4

import psycopg
import pytest
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from recollect import Recollect, Settings
from recollect.errors import StoreCorruptedError, StoreNewerError, StoreUnsupportedError
from recollect.storage import migrations
from recollect.storage.embedded import ensure_running, temporary_home

FILES = resources.files("recollect.storage.sql")

#: Everything that makes two schemas equal, as rows of text. Names of tables stand in for their oids.
CATALOGUE = {
    "tables": """
        select c.relname, c.relkind, c.relrowsecurity, c.relforcerowsecurity, c.relispartition,
            pg_get_expr(c.relpartbound, c.oid), pg_get_partkeydef(c.oid), c.relreplident, c.relacl::text, c.reloptions
        from pg_class c where c.relnamespace = 'recollect'::regnamespace""",
    "columns": """
        select c.relname, a.attnum, a.attname, format_type(a.atttypid, a.atttypmod), a.attnotnull, a.attstattarget,
            a.attcollation::regcollation::text, pg_get_expr(d.adbin, d.adrelid), a.attgenerated, a.attidentity,
            a.attacl::text
        from pg_attribute a join pg_class c on c.oid = a.attrelid
        left join pg_attrdef d on d.adrelid = a.attrelid and d.adnum = a.attnum
        where c.relnamespace = 'recollect'::regnamespace and a.attnum > 0 and not a.attisdropped""",
    "constraints": """
        select conrelid::regclass::text, conname, contype, pg_get_constraintdef(oid), convalidated, condeferrable
        from pg_constraint where connamespace = 'recollect'::regnamespace""",
    "indexes": """
        select tablename, indexname, indexdef from pg_indexes where schemaname = 'recollect'""",
    "policies": """
        select tablename, policyname, permissive, roles::text, cmd, qual, with_check from pg_policies
        where schemaname = 'recollect'""",
    "functions": """
        select p.proname, pg_get_function_identity_arguments(p.oid), pg_get_functiondef(p.oid), p.proacl::text
        from pg_proc p where p.pronamespace = 'recollect'::regnamespace""",
    "triggers": """
        select tgrelid::regclass::text, tgname, pg_get_triggerdef(t.oid) from pg_trigger t
        join pg_class c on c.oid = t.tgrelid
        where c.relnamespace = 'recollect'::regnamespace and not t.tgisinternal""",
    "types": """
        select typname, typtype from pg_type where typnamespace = 'recollect'::regnamespace""",
    "schema": "select nspname, nspacl::text from pg_namespace where nspname = 'recollect'",
    "rows": "select 'store', count(*) from recollect.store union all select 'space', count(*) from recollect.space",
}


@pytest.fixture(scope="module")
def server(database_url: str | None) -> Iterator[str]:
    """The URL of a server that is reached by URL: the tester's own, or a second one of ours over TCP."""
    if database_url is not None:
        yield database_url
        return
    with temporary_home() as home:
        parts = conninfo_to_dict(ensure_running(home, listen="127.0.0.1", sync=False).owner)
        user, password = quote(str(parts["user"]), safe=""), quote(str(parts["password"]), safe="")
        yield f"postgresql://{user}:{password}@{parts['host']}:{parts['port']}/{parts['dbname']}"


@pytest.fixture
def scratch(server: str) -> Iterator[Callable[[], str]]:
    """Makes empty databases on that server and gives their URLs; they are dropped at the end."""
    made: list[str] = []

    def make() -> str:
        name = f"scratch_{uuid4().hex[:12]}"
        with psycopg.connect(server, autocommit=True) as connection:
            connection.execute(sql.SQL("create database {}").format(sql.Identifier(name)))
        made.append(name)
        return urlunsplit(urlsplit(server)._replace(path=f"/{name}"))

    yield make
    with psycopg.connect(server, autocommit=True) as connection:
        for name in made:
            connection.execute(sql.SQL("drop database {} with (force)").format(sql.Identifier(name)))


def catalogue(conninfo: str) -> dict[str, list[tuple[Any, ...]]]:
    with psycopg.connect(conninfo) as connection:
        # A different path would print the same definition in another way.
        connection.execute("set search_path = pg_catalog")
        return {
            name: sorted(connection.execute(query).fetchall(), key=repr)  # type: ignore[call-overload]
            for name, query in CATALOGUE.items()
        }


def test_the_schema_file_is_what_the_migrations_add_up_to(scratch: Callable[[], str]) -> None:
    migrated, direct = scratch(), scratch()
    applied = migrations.migrate(migrated)
    assert applied == [f"{m.version:04}_{m.name}.{m.phase}" for m in migrations.migrations()]
    with psycopg.connect(direct, autocommit=True) as connection:
        migrations.check_server(connection)
        connection.execute(migrations._LEDGER)
        connection.execute((FILES / "schema.sql").read_text(encoding="utf-8"))  # type: ignore[call-overload]
    left, right = catalogue(migrated), catalogue(direct)
    for part in CATALOGUE:
        assert left[part] == right[part], part
    assert len(left["tables"]) > 50
    assert len(left["policies"]) > 100


def test_migrating_twice_changes_nothing(scratch: Callable[[], str]) -> None:
    database = scratch()
    migrations.migrate(database)
    before = catalogue(database)
    assert migrations.migrate(database) == []
    assert catalogue(database) == before


def test_released_migrations_are_frozen() -> None:
    lines = (FILES / "migrations" / "CHECKSUMS").read_text(encoding="ascii").splitlines()
    frozen = dict(reversed(line.split("  ")) for line in lines)
    present = {
        entry.name: hashlib.sha256(entry.read_bytes()).hexdigest()
        for entry in (FILES / "migrations").iterdir()
        if entry.name.endswith(".sql")
    }
    assert present == frozen, (
        "a migration differs from its checksum: once released it must stay as it is, write a new one instead; "
        "for one that is new, run `sha256sum *.sql > CHECKSUMS` in its folder"
    )
    numbers = sorted({m.version for m in migrations.migrations()})
    assert numbers == list(range(1, len(numbers) + 1))


MIGRATE = """
import sys
from recollect.storage import migrations
print(*migrations.migrate(sys.argv[1]))
"""


@pytest.mark.system
def test_processes_that_migrate_at_once_take_turns(scratch: Callable[[], str]) -> None:
    database = scratch()
    processes = [
        subprocess.Popen([sys.executable, "-c", MIGRATE, database], stdout=subprocess.PIPE, text=True)
        for _ in range(4)
    ]
    outputs = [process.communicate()[0].split() for process in processes]
    assert [process.returncode for process in processes] == [0] * 4
    done = [name for output in outputs for name in output]
    assert done == [f"{m.version:04}_{m.name}.{m.phase}" for m in migrations.migrations()]


@pytest.mark.system
def test_clients_that_open_a_new_database_at_once_all_get_in(
    scratch: Callable[[], str], settings: Settings
) -> None:
    from concurrent.futures import ThreadPoolExecutor

    url = scratch()

    def use(number: int) -> int:
        with Recollect(settings=settings.replace(database_url=url)) as client:
            client.add(f"from client {number}")
            return client.status().schema_version

    with ThreadPoolExecutor(3) as pool:
        assert list(pool.map(use, range(3))) == [migrations.newest_version()] * 3
    with Recollect(settings=settings.replace(database_url=url)) as client:
        assert len(client.list()) == 3


@pytest.mark.system
def test_databases_of_one_server_that_are_opened_at_once_share_its_role(settings: Settings) -> None:
    from concurrent.futures import ThreadPoolExecutor

    from recollect.storage.endpoint import open_door

    with temporary_home() as home:
        first = conninfo_to_dict(ensure_running(home, listen="127.0.0.1", sync=False).owner)
        urls = [make_conninfo("", **{**first, "dbname": f"copy_{number}"}) for number in range(8)]
        open_door(settings.home, make_conninfo("", **first))
        with psycopg.connect(
            make_conninfo("", **{**first, "dbname": "postgres"}), autocommit=True
        ) as connection:
            for number in range(8):
                connection.execute(f"create database copy_{number} template {first['dbname']}".encode())
            for _ in range(5):
                connection.execute("alter role recollect_app password 'changed by somebody'")
                with ThreadPoolExecutor(16) as pool:
                    doors = list(pool.map(lambda url: open_door(settings.home, url), urls * 2))
                for door in doors:
                    psycopg.connect(door.app).close()


def test_a_database_of_a_newer_program_is_left_alone(scratch: Callable[[], str], settings: Settings) -> None:
    database = scratch()
    with Recollect(settings=settings.replace(database_url=database)) as client:
        client.add("written by this version")
    with psycopg.connect(database, autocommit=True) as connection:
        connection.execute("insert into recollect.migration values (999, 'pre', 'future', 'x')")
    before = catalogue(database)
    with pytest.raises(StoreNewerError, match=r"schema version 999.*upgrade recollect") as caught:
        Recollect(settings=settings.replace(database_url=database)).open()
    assert caught.value.code == "store_newer"
    with pytest.raises(StoreNewerError):
        migrations.migrate(database)
    assert catalogue(database) == before
    with psycopg.connect(database, autocommit=True) as connection:
        connection.execute("delete from recollect.migration where version = 999")
    with Recollect(settings=settings.replace(database_url=database)) as client:
        assert [memory.text for memory in client.list()] == ["written by this version"]


def test_a_migration_that_was_applied_in_another_form_is_refused(scratch: Callable[[], str]) -> None:
    database = scratch()
    migrations.migrate(database)
    with psycopg.connect(database, autocommit=True) as connection:
        connection.execute("update recollect.migration set checksum = 'other'")
    with pytest.raises(StoreCorruptedError, match=r"0001 .* in another form"):
        migrations.migrate(database)


@contextmanager
def pretending(
    conninfo: str, default: str | None, installed: str | None
) -> Iterator[psycopg.Connection[Any]]:
    """A session in which the server says it has another pgvector: a temporary view hides the catalogue's."""
    with psycopg.connect(conninfo) as connection:
        connection.execute(
            sql.SQL(
                "create temporary view pg_available_extensions as"
                " select 'vector' as name, {}::text as default_version, {}::text as installed_version where {}"
            ).format(sql.Literal(default), sql.Literal(installed), sql.Literal(default is not None))
        )
        yield connection
        connection.rollback()


def test_a_server_without_pgvector_is_refused(owner_conninfo: str) -> None:
    with (
        pretending(owner_conninfo, None, None) as connection,
        pytest.raises(StoreUnsupportedError, match="no pgvector; install pgvector"),
    ):
        migrations.check_server(connection)


@pytest.mark.parametrize("found", ["0.7.4", "0.5.1"])
def test_an_old_pgvector_is_refused(owner_conninfo: str, found: str) -> None:
    with (
        pretending(owner_conninfo, "0.8.1", found) as connection,
        pytest.raises(
            StoreUnsupportedError, match=f"pgvector {found} is too old.*alter extension vector update"
        ),
    ):
        migrations.check_server(connection)


def test_an_old_postgresql_is_refused() -> None:
    # Nobody has one at hand; what the driver would say about it stands in for the server.
    old: Any = SimpleNamespace(info=SimpleNamespace(server_version=140012))
    with pytest.raises(StoreUnsupportedError, match="PostgreSQL 14 is too old; recollect needs 15"):
        migrations.check_server(old)


def test_the_application_role_alone_can_not_migrate_and_says_who_can(
    scratch: Callable[[], str], settings: Settings
) -> None:
    from recollect.storage.endpoint import APP_ROLE, open_door

    database = scratch()
    door = open_door(settings.home, database)
    with psycopg.connect(database, autocommit=True) as connection:
        connection.execute("drop schema recollect cascade")
    assert conninfo_to_dict(door.app)["user"] == APP_ROLE
    with pytest.raises(StoreUnsupportedError, match="recollect db migrate"):
        open_door(settings.home, door.app)
    assert open_door(settings.home, database).owner is not None
    assert open_door(settings.home, door.app).owner is None

"""Migrations: they are frozen, take turns, and refuse what they do not know; `test_upgrades` has where they arrive."""

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
from tests.storage.catalogue import catalogue

from recollect import Recollect, Settings
from recollect.errors import StoreCorruptedError, StoreNewerError, StoreUnsupportedError
from recollect.storage import migrations
from recollect.storage.embedded import ensure_running, temporary_home

FILES = resources.files("recollect.storage.sql")


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


def test_a_new_store_is_written_at_once_and_has_every_migration(scratch: Callable[[], str]) -> None:
    database = scratch()
    assert migrations.migrate(database) == ["schema"]
    with psycopg.connect(database) as connection:
        rows = connection.execute("select version, phase, name, checksum from recollect.migration").fetchall()
    assert sorted(rows) == [(m.version, m.phase, m.name, m.checksum) for m in migrations.migrations()]
    written = catalogue(database)
    assert len(written["tables"]) > 50
    assert len(written["policies"]) > 100


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
    assert numbers == list(range(numbers[0], migrations.newest_version() + 1))


MIGRATE = """
import sys
from recollect.storage import migrations
print(*migrations.migrate(sys.argv[1]))
"""


def migrate_at_once(database: str) -> list[list[str]]:
    """Four processes migrate a database; what each of them applied, those that did nothing first."""
    processes = [
        subprocess.Popen([sys.executable, "-c", MIGRATE, database], stdout=subprocess.PIPE, text=True)
        for _ in range(4)
    ]
    outputs = [process.communicate()[0].split() for process in processes]
    assert [process.returncode for process in processes] == [0] * 4
    return sorted(outputs)


@pytest.mark.system
def test_processes_that_make_a_store_at_once_take_turns(scratch: Callable[[], str]) -> None:
    assert migrate_at_once(scratch()) == [[], [], [], ["schema"]]


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


def test_a_store_from_before_the_first_migration_is_left_alone_and_told_how_to_move(
    scratch: Callable[[], str], settings: Settings
) -> None:
    database = scratch()
    migrations.migrate(database)
    oldest = migrations.oldest_version()
    with psycopg.connect(database, autocommit=True) as connection:
        connection.execute("delete from recollect.migration")
        connection.execute("insert into recollect.migration values (%s, 'pre', 'older', 'x')", [oldest - 1])
    before = catalogue(database)
    told = rf"schema version {oldest - 1}, this program upgrades from {oldest} on; `recollect export`"
    with pytest.raises(StoreUnsupportedError, match=told):
        Recollect(settings=settings.replace(database_url=database)).open()
    with pytest.raises(StoreUnsupportedError, match=told):
        migrations.migrate(database)
    assert catalogue(database) == before


def test_a_migration_that_was_applied_in_another_form_is_refused(scratch: Callable[[], str]) -> None:
    database = scratch()
    migrations.migrate(database)
    with psycopg.connect(database, autocommit=True) as connection:
        connection.execute("update recollect.migration set checksum = 'other'")
    with pytest.raises(StoreCorruptedError, match=r"0010 .* in another form"):
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

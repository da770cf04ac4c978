"""Faults of the outside world: no server, no room, a damaged folder. Each has a code, and nothing is lost."""

from __future__ import annotations

import asyncio
import os
import shutil
import socket
import subprocess
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext, suppress
from pathlib import Path
from urllib.parse import quote
from uuid import UUID

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict

from recollect import AsyncRecollect, Memory, Recollect, Settings
from recollect.errors import (
    ConfigurationError,
    RecollectError,
    StoreCorruptedError,
    StoreFullError,
    StoreUnreachableError,
)
from recollect.storage.embedded import ensure_running, stop, temporary_home

NewHome = Callable[[], AbstractContextManager[Path]]


@pytest.fixture(scope="module")
def server() -> Iterator[dict[str, str]]:
    """A server over TCP, as somebody else would run it."""
    with temporary_home() as home:
        parts = conninfo_to_dict(ensure_running(home, listen="127.0.0.1", sync=False).owner)
        yield {name: quote(str(value), safe="") for name, value in parts.items()}


def opened(tmp_path: Path, url: str) -> Recollect:
    settings = Settings(home=tmp_path, database_url=url, embedder="wordllama")
    return Recollect(settings=settings).open()


@pytest.mark.parametrize("url", ["mysql://ana:geheim@localhost/x", "not a url", "http://localhost"])
def test_a_url_that_is_none_is_a_configuration_error(tmp_path: Path, url: str) -> None:
    with pytest.raises(ConfigurationError, match="postgresql://") as caught:
        opened(tmp_path, url)
    assert "geheim" not in str(caught.value)


def test_a_server_that_is_not_there_is_unreachable(tmp_path: Path) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with pytest.raises(StoreUnreachableError, match="can't reach the database") as caught:
        opened(tmp_path, f"postgresql://ana:geheim@127.0.0.1:{port}/x")
    assert caught.value.code == "store_unreachable"
    assert "geheim" not in str(caught.value)


def test_a_host_without_an_address_is_unreachable(tmp_path: Path) -> None:
    with pytest.raises(StoreUnreachableError, match="can't reach the database"):
        opened(tmp_path, "postgresql://ana@host.invalid/x")


@pytest.mark.system
def test_a_wrong_password_is_said_to_be_one(tmp_path: Path, server: dict[str, str]) -> None:
    url = f"postgresql://{server['user']}:geheim@{server['host']}:{server['port']}/{server['dbname']}"
    with pytest.raises(StoreUnreachableError, match="password authentication failed") as caught:
        opened(tmp_path, url)
    assert "geheim" not in str(caught.value)


@pytest.mark.system
def test_a_database_that_does_not_exist_is_named(tmp_path: Path, server: dict[str, str]) -> None:
    url = f"postgresql://{server['user']}:{server['password']}@{server['host']}:{server['port']}/nowhere"
    with pytest.raises(StoreUnreachableError, match="nowhere"):
        opened(tmp_path, url)


@pytest.mark.system
def test_the_right_url_works_beside_the_wrong_ones(tmp_path: Path, server: dict[str, str]) -> None:
    url = f"postgresql://{server['user']}:{server['password']}@{server['host']}:{server['port']}/{server['dbname']}"
    with opened(tmp_path, url) as client:
        client.add("by url")
        assert not client.status().embedded
    with opened(tmp_path, url) as client:
        assert [memory.text for memory in client.list()] == ["by url"]


# A session whose first write fails --------------------------------------------------------------


@pytest.mark.parametrize("is_told", [True, False])
def test_a_session_whose_first_write_fails_writes_the_next(
    client: Recollect, settings: Settings, is_told: bool
) -> None:
    async def fail_first(session: AsyncRecollect) -> None:
        store = (await session._workspace()).store
        async with store.transaction(session.tenant_context) as tx:
            await tx.make_staging()
            with nullcontext() if is_told else suppress(psycopg.DataError):
                await tx.connection.execute("select 1 / 0")

    async def write() -> None:
        narrow = settings.replace(pool_size=1)
        async with AsyncRecollect(settings=narrow, context=client.tenant_context) as session:
            with suppress(RecollectError):
                await fail_first(session)
            await session.add("stored after")

    asyncio.run(write())
    assert [memory.text for memory in client.list()] == ["stored after"]


# A full disk --------------------------------------------------------------------------------------


@pytest.fixture
def small_disk(blank_home: Path) -> Iterator[Path]:
    """A file system with little room, mounted for real; only root can, and not everywhere."""
    with temporary_home() as place:
        mounted = subprocess.run(
            ["mount", "-t", "tmpfs", "-o", "size=160m,mode=0755", "tmpfs", str(place)],
            capture_output=True,
            check=False,
        )
        if mounted.returncode != 0:
            pytest.skip("mounting a small file system is not allowed here")
        try:
            subprocess.run(["cp", "-a", str(blank_home), str(place / "home")], check=True)
            yield place
        finally:
            stop(place / "home")
            subprocess.run(["umount", "-l", str(place)], check=True)


def add_until_it_fails(client: Recollect) -> None:
    for number in range(200):
        report = client.add_many([{"text": f"{number} {n} {os.urandom(300).hex()}"} for n in range(50)])
        assert report.errors == ()


def add_one_by_one(client: Recollect) -> Iterator[UUID]:
    """A short memory may fit into pages that are there; this many random bytes soon need new ones."""
    for number in range(50):
        added = client.add(f"Kiln {number} has the seal {os.urandom(2_000).hex()}.")
        assert isinstance(added, Memory)
        yield added.id


def test_reading_needs_no_room_on_the_disk(small_disk: Path) -> None:
    settings = Settings(home=small_disk / "home", embedder="wordllama")
    with Recollect(settings=settings) as client:
        kept = client.add("The kiln is hot on Fridays.")
        assert isinstance(kept, Memory)
    with (small_disk / "ballast").open("wb", buffering=0) as ballast, suppress(OSError):
        while ballast.write(b"\0" * 4096):
            pass
    with Recollect(settings=settings) as newcomer:
        assert newcomer.get(kept.id) == kept
        assert [hit.id for hit in newcomer.search("When is the kiln hot?", threshold=0)] == [kept.id]
        acknowledged = [kept.id]
        with pytest.raises(StoreFullError, match="no space left"):
            acknowledged.extend(add_one_by_one(newcomer))
        assert {memory.id for memory in newcomer.list()} == set(acknowledged)
        assert newcomer.get(kept.id) == kept
        (small_disk / "ballast").unlink()
        newcomer.add("The kiln is cold on Sundays.")


def test_a_full_disk_is_an_error_that_loses_nothing(small_disk: Path) -> None:
    home = small_disk / "home"
    with Recollect(settings=Settings(home=home, embedder="wordllama")) as client:
        kept = client.add("stored while there was room")
        assert isinstance(kept, Memory)
        # Fresh log segments first: it is the data that must find no room. (Without room for its log PostgreSQL
        # stops as a whole, and starts again when there is some.)
        with psycopg.connect(ensure_running(home).owner, autocommit=True) as connection:
            for _ in range(3):
                connection.execute("select pg_switch_wal()")
                connection.execute("checkpoint")
        ballast = small_disk / "ballast"
        ballast.write_bytes(b"\0" * (shutil.disk_usage(small_disk).free - 500_000))
        with pytest.raises(RecollectError) as caught:
            add_until_it_fails(client)
        assert isinstance(caught.value, StoreFullError), caught.value
        assert caught.value.code == "store_full"
        # The log may need a segment at this moment all the same: then the server is gone until there is room.
        with suppress(StoreFullError):
            assert client.get(kept.id).text == "stored while there was room"
        ballast.unlink()
        assert client.get(kept.id).text == "stored while there was room"
        counted = sum(scope.memories for scope in client.scopes.list())
        assert isinstance(client.add("stored when there was room again"), Memory)
        assert sum(scope.memories for scope in client.scopes.list()) == counted + 1
        assert client.search("room", threshold=0)


@pytest.mark.one_machine
def test_a_server_that_refuses_for_lack_of_room_is_a_full_store(
    client: Recollect, owner_conninfo: str
) -> None:
    """Where nothing can be mounted: PostgreSQL's own error of a full disk, raised by the server for a write."""
    kept = client.add("stored before")
    with psycopg.connect(owner_conninfo, autocommit=True) as connection:
        connection.execute(
            "create or replace function public.no_room() returns trigger language plpgsql as $$"
            " begin if new.tenant_id = tg_argv[0] then"
            " raise exception 'could not extend file: No space left on device' using errcode = 'disk_full';"
            " end if; return new; end $$"
        )
        trigger = f"no_room_{client.tenant_context.tenant_id.replace('-', '_')}"
        connection.execute(
            f"create trigger {trigger} before insert on recollect.memory for each row"  # type: ignore[arg-type]
            f" execute function public.no_room('{client.tenant_context.tenant_id}')"
        )
        try:
            with pytest.raises(StoreFullError, match="no space left"):
                client.add("one too many")
            with pytest.raises(StoreFullError):
                client.add_many([{"text": f"many {n}"} for n in range(300)])
        finally:
            connection.execute(f"drop trigger {trigger} on recollect.memory")  # type: ignore[arg-type]
    assert [memory for memory in client.list()] == [kept]
    client.add("stored after")


# A damaged folder ---------------------------------------------------------------------------------


def test_a_damaged_data_folder_is_said_to_be_damaged_and_left_alone(new_home: NewHome) -> None:
    with new_home() as home:
        with Recollect(settings=Settings(home=home, embedder="wordllama")) as client:
            client.add("hello")
        stop(home)
        control = home / "postgres" / "global" / "pg_control"
        whole = control.read_bytes()
        control.write_bytes(b"\0" * len(whole))
        with pytest.raises(StoreCorruptedError) as caught:
            Recollect(settings=Settings(home=home, embedder="wordllama")).open()
        assert caught.value.code == "store_corrupted"
        assert control.read_bytes() == b"\0" * len(whole)
        control.write_bytes(whole)
        with Recollect(settings=Settings(home=home, embedder="wordllama")) as client:
            assert [memory.text for memory in client.list()] == ["hello"]


def test_a_store_without_its_tables_is_said_to_be_damaged(new_home: NewHome) -> None:
    with new_home() as home, Recollect(settings=Settings(home=home, embedder="wordllama")) as client:
        client.add("hello")
        owner = ensure_running(home).owner
        with psycopg.connect(owner, autocommit=True) as connection:
            connection.execute("alter table recollect.posting rename to gone")
        with pytest.raises(StoreCorruptedError, match="recollect db migrate"):
            client.add("another")
        assert [memory.text for memory in client.list()] == ["hello"]
        with psycopg.connect(owner, autocommit=True) as connection:
            connection.execute("alter table recollect.gone rename to posting")
        client.add("another")
        assert len(client.list()) == 2

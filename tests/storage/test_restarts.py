"""A server that dies, recovers or has no room, under programs that go on: real servers, killed for real."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, AsyncExitStack, ExitStack, closing, contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx
import psycopg
import pytest
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict
from tests.reliability import faults
from tests.reliability.faults import BY_NAME, Fault
from tests.surfaces.serving import serving

from recollect import AsyncRecollect, Memory, Recollect, Settings
from recollect.errors import StoreBusyError, StoreCorruptedError, StoreUnreachableError
from recollect.storage import connections, embedded, happenings
from recollect.storage.connections import Connections
from recollect.storage.embedded.folder import Folder, start_lock
from recollect.storage.endpoint import Connector, open_door

pytestmark = pytest.mark.system  # servers are killed

NewHome = Callable[[], AbstractContextManager[Path]]


@pytest.fixture
def home(new_home: NewHome) -> Iterator[Path]:
    """A store of its own, whose server may die."""
    with new_home() as folder:
        yield folder


def settings_of(home: Path, **changes: object) -> Settings:
    return Settings(home=home, embedder="wordllama").replace(**changes)


def environ_of(home: Path) -> dict[str, str]:
    return {**os.environ, "RECOLLECT_HOME": str(home), "RECOLLECT_EMBEDDER": "wordllama"}


# ---------------------------------------------------------------- opening while it recovers


@contextmanager
def recovering(owner: str) -> Iterator[None]:
    """A crash of one process, and one that will not go: for five seconds the server turns everybody away."""
    with psycopg.connect(owner) as stuck, psycopg.connect(owner) as crashing:
        os.kill(stuck.info.backend_pid, signal.SIGSTOP)
        os.kill(crashing.info.backend_pid, signal.SIGKILL)
        while True:
            try:
                psycopg.connect(owner).close()
            except psycopg.OperationalError as error:
                if "in recovery mode" in str(error):
                    break
        yield


def test_opening_waits_for_a_server_that_recovers_from_a_crash(home: Path) -> None:
    with Recollect(settings=settings_of(home)) as client:
        client.add("Kept before the crash.")
    with recovering(embedded.ensure_running(home).owner), Recollect(settings=settings_of(home)) as client:
        assert [memory.text for memory in client.list()] == ["Kept before the crash."]


def test_opening_gives_up_on_a_recovery_when_its_time_is_over(home: Path) -> None:
    owner = embedded.ensure_running(home).owner
    # Whoever waits longer gets in, as above.
    with recovering(owner), pytest.raises(StoreBusyError, match="recovering from a crash"):
        open_door(home, None, start_timeout_s=0.5)


# ---------------------------------------------------------------- refusals of a server that runs


@contextmanager
def quickly() -> Iterator[None]:
    """What has a known cause is said at once, not when a wait for connections is over."""
    began = time.monotonic()
    yield
    assert time.monotonic() - began < connections.WAIT_S


def cut_off(owner: str) -> None:
    """End the sessions of the application, as a server that is restarted does."""
    with psycopg.connect(owner, autocommit=True) as connection:
        connection.execute(
            "select pg_terminate_backend(pid, 5000) from pg_stat_activity where usename = 'recollect_app'"
        )


def take_all(conninfo: str, sessions: ExitStack) -> None:
    while True:
        sessions.enter_context(psycopg.connect(conninfo))


def test_a_server_without_a_free_connection_is_busy_and_says_so(home: Path) -> None:
    few = {"max_connections": "8", "superuser_reserved_connections": "2"}
    endpoint = embedded.ensure_running(home, settings=few)
    with Recollect(settings=settings_of(home)) as client, ExitStack() as others:
        client.add("Kept.")
        cut_off(endpoint.owner)
        with pytest.raises(psycopg.OperationalError, match="connection slots"):
            take_all(endpoint.app, others)
        with quickly(), pytest.raises(StoreBusyError, match="takes no more connections"):
            client.list()
        others.close()
        assert [memory.text for memory in client.list()] == ["Kept."]


def url_of(owner: str) -> str:
    """How somebody else reaches a server that listens."""
    parts = {name: quote(str(value), safe="") for name, value in conninfo_to_dict(owner).items()}
    return "postgresql://{user}:{password}@{host}:{port}/{dbname}".format(**parts)


def test_a_password_that_is_wrong_by_now_is_said_at_once(home: Path, tmp_path: Path) -> None:
    owner = embedded.ensure_running(home, listen="127.0.0.1").owner
    with Recollect(settings=settings_of(tmp_path, database_url=url_of(owner))) as client:
        client.add("Kept.")
        with psycopg.connect(owner, autocommit=True) as connection:
            connection.execute("alter role recollect_app password 'another'")
        cut_off(owner)
        with quickly(), pytest.raises(StoreUnreachableError, match="password authentication failed"):
            client.list()


def test_sessions_that_were_ended_are_renewed_unnoticed(home: Path) -> None:
    with Recollect(settings=settings_of(home)) as client:
        client.add("Kept.")
        cut_off(embedded.ensure_running(home).owner)
        assert [memory.text for memory in client.list()] == ["Kept."]


def test_connections_that_others_use_for_too_long_are_named_as_the_reason(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("recollect.storage.connections.WAIT_S", 0.2)

    async def wait_in_vain() -> None:
        narrow = settings_of(home, pool_size=1)
        async with AsyncRecollect(settings=narrow) as client:
            await client.add("Kept.")
            store = (await client._workspace()).store
            async with store.transaction(client.tenant_context):
                with pytest.raises(StoreBusyError, match="all 1 connections to the database were in use"):
                    await client.list()
            assert [memory.text for memory in await client.list()] == ["Kept."]

    asyncio.run(wait_in_vain())


def test_connections_that_nobody_needs_are_closed_but_for_one(home: Path) -> None:
    async def use_three() -> None:
        connector = Connector(open_door(home, None), home)
        connections = Connections(connector.connect, size=3, timeout_s=10, idle_s=0.3)
        async with AsyncExitStack() as together:
            used = [
                await together.enter_async_context(
                    connections.transaction(lambda _: sql.SQL("begin").format())
                )
                for _ in range(3)
            ]
        assert [connection.closed for connection in used] == [False] * 3
        for _ in range(1_200):
            if sum(connection.closed for connection in used) >= 2:
                break
            await asyncio.sleep(0.05)
        await asyncio.sleep(0.6)  # twice as long as one may be idle: the last one stays
        assert sorted(connection.closed for connection in used) == [False, True, True]
        await connections.close()
        assert all(connection.closed for connection in used)

    asyncio.run(use_three())


def test_a_connection_whose_end_is_broken_off_is_closed(home: Path) -> None:
    async def break_off() -> None:
        connector = Connector(open_door(home, None), home)
        connection = await connector.connect()

        async def use() -> None:
            async with connection:
                await connection.execute("begin")
                using.cancel()  # heard where the end of the block waits for the commit

        using = asyncio.create_task(use())
        await asyncio.wait([using])
        assert using.cancelled()
        assert connection.closed

    asyncio.run(break_off())


def test_what_a_session_did_not_commit_is_undone_when_it_breaks(home: Path) -> None:
    async def break_off() -> None:
        async with AsyncRecollect(settings=settings_of(home)) as client:
            kept = await client.add("Kept.")
            assert isinstance(kept, Memory)
            store = (await client._workspace()).store
            owner = embedded.ensure_running(home).owner

            async def write_half() -> None:
                async with store.transaction(client.tenant_context) as tx:
                    await tx.connection.execute("update recollect.memory set importance = 0.9")
                    await asyncio.to_thread(cut_off, owner)
                    await tx.connection.execute("select 1")

            with pytest.raises(StoreUnreachableError, match="what was under way is undone"):
                await write_half()
            assert (await client.get(kept.id)).importance == kept.importance

    asyncio.run(break_off())


# ---------------------------------------------------------------- the server dies


def kill(home: Path) -> int:
    """Kill the server that this home's programs started, and wait until it is gone; gives its process id.

    Its sessions outlive it by a moment, on a busy machine long enough to answer once more.
    """
    pid = embedded.status(home).pid
    assert pid is not None
    listed = Path(f"/proc/{pid}/task/{pid}/children")
    sessions = listed.read_text().split() if listed.exists() else []
    os.kill(pid, signal.SIGKILL)
    while embedded.status(home).pid == pid and not embedded.has_crashed(home):
        time.sleep(0.01)
    while any(Path(f"/proc/{session}").exists() for session in sessions):
        time.sleep(0.01)
    return pid


def test_an_open_client_starts_a_server_that_was_killed_and_loses_nothing(home: Path) -> None:
    with Recollect(settings=settings_of(home)) as client:
        kept = [client.add(f"Crate {number} went to Gera.") for number in range(3)]
        dead = kill(home)
        added = client.add("Crate 3 went to Jena.")
        assert embedded.status(home).pid != dead
        kill(home)
        hits = client.search("Which crates went to Gera?", threshold=0)
        assert {memory.id for memory in kept} <= {hit.id for hit in hits}  # type: ignore[union-attr]
        kill(home)
        assert {memory.id for memory in client.list()} == {memory.id for memory in [*kept, added]}  # type: ignore[union-attr]


def test_callers_of_one_client_start_the_server_once(home: Path) -> None:
    def starts() -> int:
        return (home / "postgres.log").read_text().count("ready to accept connections")

    async def ask_all_at_once() -> None:
        async with AsyncRecollect(settings=settings_of(home)) as client:
            await client.add("Kept.")
            await asyncio.gather(*(client.list() for _ in range(8)))  # every connection is in use for once
            await asyncio.to_thread(kill, home)
            before = starts()
            lists = await asyncio.gather(*(client.list() for _ in range(20)))
            assert [[memory.text for memory in memories] for memories in lists] == [["Kept."]] * 20
            assert starts() == before + 1

    asyncio.run(ask_all_at_once())


def test_calls_under_way_when_the_server_dies_are_tried_once_more(home: Path) -> None:
    """Both wait for a lock, so their transactions have begun, when the server is killed."""

    async def ask_while_it_dies() -> None:
        async with AsyncRecollect(settings=settings_of(home)) as client:
            await client.add("Crate 1 went to Gera.")
            owner = embedded.ensure_running(home).owner
            with closing(psycopg.connect(owner)) as holding:
                holding.execute("lock table recollect.memory")
                calls = [
                    asyncio.create_task(client.add("Crate 2 went to Gera.")),
                    asyncio.create_task(client.search("Which crates went to Gera?", threshold=0)),
                ]
                await asyncio.to_thread(wait_for_waiting, owner, len(calls))
                await asyncio.to_thread(kill, home)
                added, found = await asyncio.gather(*calls)
            assert isinstance(added, Memory)
            assert "Crate 1 went to Gera." in [hit.text for hit in found]  # type: ignore[union-attr]
            texts = sorted(memory.text for memory in await client.list())
            assert texts == ["Crate 1 went to Gera.", "Crate 2 went to Gera."]

    asyncio.run(ask_while_it_dies())


def wait_for_waiting(owner: str, sessions: int) -> None:
    """Until so many sessions wait for a lock."""
    waiting = 0
    with psycopg.connect(owner, autocommit=True) as connection:
        while waiting < sessions:
            row = connection.execute(
                "select count(*) from pg_stat_activity where wait_event_type = 'Lock'"
            ).fetchone()
            assert row is not None
            waiting = row[0]


def test_clients_of_several_processes_find_one_server_again(home: Path) -> None:
    program = """
import sys
from recollect import Recollect
with Recollect() as client:
    client.add(f"Kept by {sys.argv[1]}.")
    print("open", flush=True)
    sys.stdin.readline()
    client.add(f"Added by {sys.argv[1]}.")
"""
    environ = environ_of(home)
    names = ["ana", "ben", "eva"]
    pipe = subprocess.PIPE
    others = [
        subprocess.Popen(
            [sys.executable, "-c", program, name],
            env=environ,
            stdin=pipe,
            stdout=pipe,
            stderr=pipe,
            text=True,
        )
        for name in names
    ]
    for other in others:
        assert other.stdout is not None
        assert other.stdout.readline() == "open\n"
    kill(home)
    for other in others:
        assert other.stdin is not None
        other.stdin.write("\n")
        other.stdin.flush()
    outcomes = [other.communicate(timeout=90) for other in others]
    assert [other.returncode for other in others] == [0, 0, 0], outcomes
    with Recollect(settings=settings_of(home)) as client:
        texts = {memory.text for memory in client.list()}
    assert texts == {f"{verb} by {name}." for verb in ("Kept", "Added") for name in names}


def test_work_of_the_owner_starts_a_server_that_was_killed(home: Path) -> None:
    with Recollect(settings=settings_of(home)) as client:
        client.add("Kept.")
        kill(home)
        client.tenants.create("another")
        assert "another" in [tenant.id for tenant in client.tenants.list()]


def test_a_server_that_can_t_start_again_says_why_and_is_started_when_it_can(home: Path) -> None:
    with Recollect(settings=settings_of(home)) as client:
        client.add("Kept.")
        kill(home)
        control = home / "postgres" / "global" / "pg_control"
        control.rename(home / "aside")
        with quickly(), pytest.raises(StoreCorruptedError, match="pg_control"):
            client.list()
        (home / "aside").rename(control)
        assert [memory.text for memory in client.list()] == ["Kept."]


def test_a_client_goes_on_after_the_passwords_were_set_anew(home: Path) -> None:
    with Recollect(settings=settings_of(home)) as client:
        client.add("Kept.")
        embedded.reset_passwords(home)
        embedded.ensure_running(home)
        assert [memory.text for memory in client.list()] == ["Kept."]


async def next_of(tenants: AsyncIterator[str]) -> str:
    return await asyncio.wait_for(anext(tenants), 60)


def test_a_listener_starts_a_server_that_was_killed_and_hears_what_happens_then(home: Path) -> None:
    async def hear() -> None:
        async with AsyncRecollect(settings=settings_of(home)) as client:
            await client.add("Kept.")
            heard = happenings.listen((await client._workspace()).store)
            assert await next_of(heard) == ""
            await asyncio.to_thread(kill, home)
            assert await next_of(heard) == ""
            await client.add("Added.")
            assert await next_of(heard) == client.tenant_context.tenant_id
            await heard.aclose()  # type: ignore[attr-defined]

    asyncio.run(hear())


def test_a_listener_lets_a_server_rest_that_was_stopped_on_purpose(home: Path) -> None:
    async def hear() -> None:
        async with AsyncRecollect(settings=settings_of(home)) as client:
            await client.add("Kept.")
            heard = happenings.listen((await client._workspace()).store)
            assert await next_of(heard) == ""
            await asyncio.to_thread(embedded.stop, home)
            waiting = asyncio.create_task(next_of(heard))
            await asyncio.wait({waiting}, timeout=3)
            assert not waiting.done()
            assert not embedded.status(home).running
            await client.add("Added.")  # whoever asks for something starts it
            assert await waiting == ""
            await heard.aclose()  # type: ignore[attr-defined]

    asyncio.run(hear())


# ---------------------------------------------------------------- programs that run for weeks


def test_a_running_server_answers_after_its_database_was_killed_and_tells_the_truth_meanwhile(
    home: Path,
) -> None:
    with Recollect(settings=settings_of(home)) as client:
        token = client.keys.create("bot", user="ana").token
    asking = {"headers": {"Authorization": f"Bearer {token}"}, "trust_env": False, "timeout": 60.0}
    with serving(environ_of(home)) as (_, url), httpx.Client(base_url=url, **asking) as http:  # type: ignore[arg-type]
        kept = http.post("/v1/memories", json={"text": "The kiln is hot on Fridays."}).json()
        assert [http.get(path).status_code for path in ("/healthz", "/readyz")] == [200, 200]
        # Whoever holds the lock keeps the server from being started again.
        with start_lock(Folder(home), time.monotonic() + 10):
            kill(home)
            for path in ("/healthz", "/readyz"):
                answer = http.get(path)
                assert answer.status_code == 503
                assert answer.json() == {"status": "unavailable", "code": "store_unreachable"}
        found = http.post("/v1/search", json={"query": "When is the kiln hot?", "threshold": 0}).json()
        assert [hit["id"] for hit in found["hits"]] == [kept["id"]]
        assert http.post("/v1/memories", json={"text": "It is cold on Sundays."}).status_code == 201
        assert [http.get(path).status_code for path in ("/healthz", "/readyz")] == [200, 200]


def test_a_running_server_whose_connections_are_all_in_use_is_alive_and_not_ready(home: Path) -> None:
    with Recollect(settings=settings_of(home)) as client:
        token = client.keys.create("bot", user="ana").token
        client.add("The kiln is hot on Fridays.")
    owner = embedded.ensure_running(home).owner
    environ = {**environ_of(home), "RECOLLECT_POOL_SIZE": "1"}
    asking = {"headers": {"Authorization": f"Bearer {token}"}, "trust_env": False, "timeout": 60.0}
    with (
        serving(environ) as (_, url),
        httpx.Client(base_url=url, **asking) as http,  # type: ignore[arg-type]
        ThreadPoolExecutor() as others,
        psycopg.connect(owner) as blocker,
    ):
        assert http.get("/readyz").json() == {"status": "ready"}
        blocker.execute("lock table recollect.memory in access exclusive mode")
        waiting = others.submit(http.get, "/v1/memories")
        while not blocker.execute("select 1 from pg_locks where not granted").fetchone():
            assert not waiting.done()
        answer = http.get("/readyz")
        assert (answer.status_code, answer.json()["code"]) == (503, "store_busy")
        assert http.get("/healthz").status_code == 200
        blocker.rollback()
        assert waiting.result().status_code == 200
        assert http.get("/readyz").status_code == 200


def test_a_server_whose_database_elsewhere_is_down_is_alive_and_not_ready(home: Path, tmp_path: Path) -> None:
    """Starting it anew would not help, so it does not ask for that; nobody sends it requests meanwhile."""
    owner = embedded.ensure_running(home, listen="127.0.0.1").owner
    environ = {**environ_of(tmp_path), "RECOLLECT_DATABASE_URL": url_of(owner)}
    with serving(environ) as (_, url), httpx.Client(base_url=url, trust_env=False, timeout=60) as http:
        assert [http.get(path).status_code for path in ("/healthz", "/readyz")] == [200, 200]
        kill(home)
        answer = http.get("/readyz")
        assert (answer.status_code, answer.json()["code"]) == (503, "store_unreachable")
        assert http.get("/healthz").json() == {"status": "ok"}


def wait_until_it_runs(home: Path) -> None:
    """Without asking for anything: somebody else has to start it."""
    deadline = time.monotonic() + 60
    while not embedded.status(home).running:
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_a_running_server_starts_its_database_also_when_nobody_asks(home: Path) -> None:
    with serving(environ_of(home)) as (_, url):
        kill(home)
        wait_until_it_runs(home)
        deadline = time.monotonic() + 60
        while httpx.get(f"{url}/healthz", trust_env=False, timeout=60).status_code != 200:
            # It runs, and may still be recovering.
            assert time.monotonic() < deadline
            time.sleep(0.05)


def test_a_worker_goes_on_after_its_database_was_killed(home: Path) -> None:
    environ = environ_of(home)
    command = [sys.executable, "-m", "recollect.surfaces.cli.main", "worker"]
    subprocess.run([*command, "--once"], env=environ, check=True, capture_output=True)
    with (
        Recollect(settings=settings_of(home)) as client,
        subprocess.Popen(
            command, env=environ, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, text=True
        ) as worker,
    ):
        try:
            for number in range(3):
                texts = [f"Plant {n} shipped {n * 7} crates to hall {number}." for n in range(20)]
                client.add_many([{"text": text} for text in texts])
                wait_for_an_empty_queue(home, worker)
                kill(home)
                wait_until_it_runs(home)
            assert client.list(types=["summary"])
            worker.send_signal(signal.SIGTERM)
            assert worker.wait(60) == 0
        finally:
            worker.kill()


def wait_for_an_empty_queue(home: Path, worker: subprocess.Popen[str]) -> None:
    deadline = time.monotonic() + 90
    jobs = 1
    while jobs:
        assert worker.poll() is None, "the worker ended"
        assert time.monotonic() < deadline, "the job was not done"
        with psycopg.connect(embedded.ensure_running(home).owner) as connection:
            row = connection.execute("select count(*) from recollect_jobs.procrastinate_jobs").fetchone()
            assert row is not None
            jobs = row[0]


@pytest.mark.parametrize("verb", ["get", "list", "history", "entities.list", "keys.list", "library.list"])
def test_a_read_whose_connection_breaks_under_it_is_asked_again(home: Path, verb: str) -> None:
    async def read() -> object:
        async with AsyncRecollect(settings=settings_of(home)) as client:
            memory = await client.add("Kept.")
            assert isinstance(memory, Memory)
            given = {} if verb.endswith("list") else {"id": memory.id}
            # The second exchange is the first inside of the transaction.
            return await under(Fault("lost before", 2), BY_NAME[verb].bind(client)(**given))

    async def under(fault: Fault, call: Coroutine[Any, Any, object]) -> object:
        faults._active.set(fault)
        try:
            return await call
        finally:
            faults._active.set(None)
            assert fault.calls >= 2

    with faults.injection():
        assert asyncio.run(read()) is not None

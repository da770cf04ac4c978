"""Workers as processes of their own: what they do, share, leave behind when they die, and never disturb."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote
from uuid import uuid4

import psycopg
import pytest
from psycopg import conninfo

from recollect import Memory, Recollect, Settings, TenantContext
from recollect.storage import embedded
from recollect.storage.endpoint import open_door

PATIENCE_S = 90.0
#: As `recollect worker`, with a heart that beats fast enough for a test to wait for its silence.
RESTLESS = """
import asyncio, os
from recollect import Settings
from recollect.jobs import work
print(asyncio.run(work(Settings.load(), rounds=False, heartbeat_s=0.5, stalled_s=2.0)).rescued)
"""


NewHome = Callable[[], AbstractContextManager[Path]]


@pytest.fixture(scope="module")
def home(new_home: NewHome) -> Iterator[Path]:
    """A store of its own: a queue, once made, is there for everybody."""
    with new_home() as folder:
        embedded.ensure_running(folder, sync=False, settings={"fsync": "off", "full_page_writes": "off"})
        yield folder


@pytest.fixture(scope="module")
def owner(home: Path) -> str:
    door = open_door(home, None)
    assert door.owner is not None
    return door.owner


@pytest.fixture(scope="module")
def environ(home: Path) -> dict[str, str]:
    return {**os.environ, "RECOLLECT_HOME": str(home), "RECOLLECT_EMBEDDER": "wordllama"}


@pytest.fixture(scope="module")
def queue(environ: dict[str, str]) -> None:
    """A worker has run once."""
    assert run_once(environ) == {}


@pytest.fixture
def client(home: Path, queue: None, owner: str) -> Iterator[Recollect]:
    """A tenant of its own and an empty queue, in a client that has not looked for the queue yet."""
    tenant = f"t-{uuid4().hex[:12]}"
    edit_queue(owner, "delete from procrastinate_jobs")
    settings = Settings(home=home, embedder="wordllama")
    with Recollect(settings=settings) as operator:
        operator.tenants.create(tenant)
        yield operator.for_context(TenantContext(tenant_id=tenant, user_id="ana"))


def run_once(environ: dict[str, str]) -> dict[str, int]:
    """Run a worker until the queue is empty; what it did, by task."""
    done = subprocess.run(
        [sys.executable, "-m", "recollect.surfaces.cli.main", "worker", "--once", "--json"],
        env=environ,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    jobs: dict[str, int] = json.loads(done.stdout)["jobs"]
    return jobs


@contextmanager
def worker(environ: dict[str, str], program: str = RESTLESS) -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen(
        [sys.executable, "-c", program],
        env=environ,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def fill(client: Recollect, count: int = 20, word: str = "crates") -> list[Memory]:
    client.add_many(
        [{"text": f"Plant {n} shipped {n * 7} {word} to Gera on {n + 1} March."} for n in range(count)]
    )
    return list(client.list(limit=100))


def jobs(owner: str) -> list[dict[str, Any]]:
    with psycopg.connect(owner, row_factory=psycopg.rows.dict_row) as connection:
        return connection.execute(
            "select id, task_name, status::text, attempts, args, lock from recollect_jobs.procrastinate_jobs"
            " where task_name = 'recollect.consolidate' order by id"
        ).fetchall()


def edit_queue(owner: str, statement: str) -> None:
    with psycopg.connect(owner, options="-c search_path=recollect_jobs") as connection:
        connection.execute(statement.encode())


def wait_until(condition: Callable[[], object], process: subprocess.Popen[str] | None = None) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not condition():
        assert process is None or process.poll() is None, process.communicate()
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.05)


def summaries(client: Recollect) -> list[Memory]:
    return list(client.list(types=["summary"], limit=100))


def hold_all(connection: psycopg.Connection[Any], tenant: str) -> None:
    connection.execute("select from recollect.memory where tenant_id = %s for update", [tenant])


def waits_for_a_lock(owner: str) -> bool:
    with psycopg.connect(owner) as connection:
        row = connection.execute(
            "select count(*) from pg_stat_activity where wait_event_type = 'Lock' and query ilike '%%for share%%'",
            [],
        ).fetchone()
    return bool(row and row[0])


def test_enough_new_memories_are_summarised_by_the_next_worker(
    client: Recollect, environ: dict[str, str], owner: str
) -> None:
    memories = fill(client)
    [job] = jobs(owner)
    # Ids only: nothing that was said.
    assert set(job["args"]) == {"tenant", "scope"}
    assert job["args"]["tenant"] == memories[0].tenant_id
    assert run_once(environ) == {"recollect.consolidate": 1}
    assert [m.metadata["summary"]["kind"] for m in summaries(client)].count("scope") == 1
    assert jobs(owner) == []


def test_the_same_job_waits_only_once_and_a_few_memories_hand_none_over(
    client: Recollect, environ: dict[str, str], owner: str
) -> None:
    fill(client, 19)
    assert jobs(owner) == []
    client.add("One more and it is enough.")
    fill(client, word="barrels")
    fill(client, word="pallets")
    assert len(jobs(owner)) == 1
    assert run_once(environ) == {"recollect.consolidate": 1}


def test_two_workers_share_the_jobs(client: Recollect, environ: dict[str, str], owner: str) -> None:
    admin = client.for_context(client.tenant_context.replace(user_id="root", roles=("admin",)))
    for number in range(8):
        admin.scopes.create(f"team/t{number}")
        admin.add_many(
            [
                {"text": f"Team {number} fixed ticket {n} in hall {n}.", "scope": f"team/t{number}"}
                for n in range(20)
            ]
        )
    assert len(jobs(owner)) == 8
    command = [sys.executable, "-m", "recollect.surfaces.cli.main", "worker", "--once", "--json"]
    both = [
        subprocess.Popen(command, env=environ, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for _ in range(2)
    ]
    outcomes = [process.communicate(timeout=PATIENCE_S) for process in both]
    done = [json.loads(out)["jobs"].get("recollect.consolidate", 0) for out, _ in outcomes]
    assert sum(done) == 8
    made = [m for m in admin.list(types=["summary"], limit=200) if m.metadata["summary"]["kind"] == "scope"]
    assert len(made) == 8
    assert jobs(owner) == []


def test_the_job_of_a_worker_that_was_killed_is_done_by_another(
    client: Recollect, environ: dict[str, str], owner: str
) -> None:
    tenant = fill(client)[0].tenant_id
    with psycopg.connect(owner) as holding:
        hold_all(holding, tenant)
        with worker(environ) as victim:
            wait_until(lambda: waits_for_a_lock(owner), victim)
            victim.send_signal(signal.SIGKILL)
            victim.wait()
        assert [job["status"] for job in jobs(owner)] == ["doing"]
    assert summaries(client) == []
    with worker(environ) as rescuer:
        wait_until(lambda: jobs(owner) == [], rescuer)
        assert "scope" in [m.metadata["summary"]["kind"] for m in summaries(client)]
        rescuer.send_signal(signal.SIGTERM)
        out, err = rescuer.communicate(timeout=PATIENCE_S)
    assert (rescuer.returncode, out) == (0, "1\n"), err


@pytest.mark.parametrize("name", ["SIGTERM", "SIGINT"])
def test_a_worker_that_is_told_to_stop_ends_its_job_first(
    client: Recollect, environ: dict[str, str], owner: str, name: str
) -> None:
    tenant = fill(client)[0].tenant_id
    with psycopg.connect(owner) as holding:
        hold_all(holding, tenant)
        with worker(environ) as process:
            wait_until(lambda: waits_for_a_lock(owner), process)
            process.send_signal(getattr(signal, name))
            holding.rollback()
            _, err = process.communicate(timeout=PATIENCE_S)
            assert process.returncode == 0, err
    assert jobs(owner) == []
    assert summaries(client)


def test_a_worker_whose_connections_are_cut_goes_on(
    client: Recollect, environ: dict[str, str], owner: str
) -> None:
    with worker(environ) as process, psycopg.connect(owner, autocommit=True) as connection:

        def cut() -> bool:
            """Whether somebody who listens for jobs was cut off."""
            rows = connection.execute(
                "select pg_terminate_backend(pid) from pg_stat_activity where query ilike 'listen%%'", []
            ).fetchall()
            return bool(rows)

        wait_until(cut, process)
        fill(client)
        wait_until(lambda: jobs(owner) == [], process)
    assert summaries(client)


def test_a_worker_that_can_not_say_that_it_lives_ends_with_an_error(
    client: Recollect, environ: dict[str, str], owner: str
) -> None:
    beat = "procrastinate_update_heartbeat_v1"
    edit_queue(owner, f"alter function {beat}(bigint) rename to gone")
    try:
        with worker(environ, RESTLESS.replace("rounds=False, ", "")) as process:
            _, err = process.communicate(timeout=PATIENCE_S)
    finally:
        edit_queue(owner, f"alter function gone(bigint) rename to {beat}")
    assert process.returncode != 0
    assert "StoreUnreachableError: the worker lost its queue" in err


def test_a_job_that_kills_its_workers_is_given_up(
    client: Recollect, environ: dict[str, str], owner: str
) -> None:
    fill(client)
    edit_queue(owner, "update procrastinate_jobs set status = 'doing', attempts = 4")
    assert run_once(environ) == {}
    assert [job["status"] for job in jobs(owner)] == ["failed"]


def test_forgetting_a_tenant_drops_its_jobs(client: Recollect, owner: str) -> None:
    tenant = fill(client)[0].tenant_id
    assert len(jobs(owner)) == 1
    operator = client.for_context(client.tenant_context.replace(roles=("operator", "admin")))
    operator.tenants.forget(tenant)
    assert jobs(owner) == []


def test_an_add_does_not_notice_a_broken_queue(
    client: Recollect, owner: str, caplog: pytest.LogCaptureFixture
) -> None:
    with psycopg.connect(owner, autocommit=True) as connection:
        connection.execute("alter table recollect_jobs.procrastinate_jobs rename column lock to locked")
        try:
            assert len(fill(client)) == 20
        finally:
            connection.execute("alter table recollect_jobs.procrastinate_jobs rename column locked to lock")
    assert "no job was handed to the workers" in caplog.text
    client.add("The next memory tries again.")
    assert len(jobs(owner)) == 1


def test_the_rounds_of_the_hour_and_of_the_night_reach_every_tenant(
    client: Recollect, environ: dict[str, str], home: Path, owner: str
) -> None:
    """The rounds are due, as the clock of a worker finds them."""
    from procrastinate.periodic import PeriodicDeferrer

    from recollect.jobs import connect, make_app

    client.add("The visitor's badge is 4711.", expires_at="2026-01-02", created_at="2026-01-01")
    fill(client)
    edit_queue(owner, "delete from procrastinate_jobs")

    async def ring() -> None:
        async with make_app(connect(open_door(home, None).app)).open_async() as app:
            rounds = list(app.periodic_registry.periodic_tasks.values())
            await PeriodicDeferrer(registry=app.periodic_registry).defer_jobs(
                [(task, int(time.time())) for task in rounds]
            )

    asyncio.run(ring())
    with psycopg.connect(owner) as connection:
        row = connection.execute("select count(*) from recollect.tenant").fetchone()
    assert row is not None
    done = run_once(environ)
    assert done["recollect.hourly"] == done["recollect.daily"] == 1
    assert done["recollect.consolidate"] == done["recollect.sweep"] == done["recollect.train"] == row[0]
    assert summaries(client)
    everything = client.list(include_superseded=True, limit=100)
    assert not [memory for memory in everything if "4711" in memory.text]


def url_of(dsn: str) -> str:
    parts = conninfo.conninfo_to_dict(dsn)
    login = f"{quote(str(parts['user']))}:{quote(str(parts['password']))}"
    return f"postgresql://{login}@/{parts['dbname']}?host={quote(str(parts['host']), safe='')}&port={parts['port']}"


def test_a_worker_needs_no_more_than_the_application_role(
    client: Recollect, environ: dict[str, str], home: Path
) -> None:
    fill(client)
    app = {**environ, "RECOLLECT_DATABASE_URL": url_of(open_door(home, None).app)}
    assert run_once(app) == {"recollect.consolidate": 1}
    assert summaries(client)


def test_without_a_queue_the_application_role_is_told_who_makes_one(
    tmp_path: Path, new_home: NewHome
) -> None:
    with new_home() as fresh:
        embedded.ensure_running(fresh, sync=False, settings={"fsync": "off", "full_page_writes": "off"})
        with Recollect(settings=Settings(home=fresh, embedder="wordllama")) as newcomer:
            fill(newcomer)  # no queue, no job, no complaint
            assert summaries(newcomer) == []
        app = {
            **os.environ,
            "RECOLLECT_DATABASE_URL": url_of(open_door(fresh, None).app),
            "RECOLLECT_HOME": str(fresh),
        }
        done = subprocess.run(
            [sys.executable, "-m", "recollect.surfaces.cli.main", "worker", "--once"],
            env=app,
            capture_output=True,
            text=True,
            check=False,
        )
    assert done.returncode != 0
    assert "run `recollect worker --once` with the owner's URL first" in done.stderr


def test_a_backup_takes_the_queue_along(
    client: Recollect, environ: dict[str, str], owner: str, tmp_path: Path
) -> None:
    from recollect.storage.backup import backup, restore

    fill(client)
    waiting = jobs(owner)
    backup(owner, tmp_path / "store.backup")
    restore(owner, tmp_path / "store.backup", replace=True)
    assert jobs(owner) == waiting
    assert run_once(environ) == {"recollect.consolidate": 1}

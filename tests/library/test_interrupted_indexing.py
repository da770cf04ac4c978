"""Indexing that is cut short: by a kill, by a removal, by a worker's turn. Nothing is lost and nothing done twice."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from uuid import uuid4

import psycopg
import pytest

from recollect import Recollect, Settings, TenantContext
from recollect.errors import ConfigurationError, DocumentNotFoundError
from recollect.library import indexing, intake
from recollect.storage import embedded
from recollect.storage.endpoint import open_door

PATIENCE_S = 90.0
NewHome = Callable[[], AbstractContextManager[Path]]
LONG = "\n\n".join(
    f"# Chapter {n}\n\n"
    + " ".join([f"Chapter {n} tells how valve {n} of hall {n % 9} is opened and closed."] * 30)
    for n in range(120)
)
#: Indexes a document whose every batch takes a while, and says when the first one is stored.
SLOW = """
import sys, time
from recollect import Recollect, Settings, TenantContext
settings = Settings.load()
context = TenantContext(tenant_id=sys.argv[1], user_id="root", roles=("admin", "operator"))
def said(done, total):
    print(done, total, flush=True)
    time.sleep(600)
with Recollect(settings=settings, context=context) as client:
    client.library.add(sys.argv[2], progress=said)
"""


def passages(conninfo: str, tenant: str) -> int:
    with psycopg.connect(conninfo) as connection:
        [count] = connection.execute(
            "select count(*) from recollect.passage where tenant_id = %s", [tenant]
        ).fetchone()  # type: ignore[misc]
    return int(count)


@pytest.fixture
def long_file(tmp_path: Path) -> Path:
    file = tmp_path / "long.md"
    file.write_text(LONG, encoding="utf-8")
    return file


@pytest.mark.system
def test_a_killed_indexing_loses_nothing_and_goes_on_where_it_was(
    client: Recollect, settings: Settings, tenant_id: str, owner_conninfo: str, long_file: Path
) -> None:
    environ = {**os.environ, "RECOLLECT_HOME": str(settings.home), "RECOLLECT_EMBEDDER": "wordllama"}
    if settings.database_url:
        environ["RECOLLECT_DATABASE_URL"] = settings.database_url
    command = [sys.executable, "-c", SLOW, tenant_id, str(long_file)]
    with subprocess.Popen(command, env=environ, stdout=subprocess.PIPE, text=True) as victim:
        try:
            assert victim.stdout is not None
            done, total = map(int, victim.stdout.readline().split())
            assert 0 < done < total
        finally:
            victim.send_signal(signal.SIGKILL)
    # Its text is whole, and what was committed can be found.
    assert client.library.get("long.md").state == "indexing"
    assert client.library.text("long.md") == LONG
    found = client.library.search("opening valve 1")
    assert found
    assert "still being indexed" in found.notes[0]
    stored = passages(owner_conninfo, tenant_id)
    embedded_now = client.library.resume()
    everything = passages(owner_conninfo, tenant_id)
    assert 0 < embedded_now == everything - stored
    assert client.library.get("long.md").state == "ready"
    assert client.library.search("opening valve 119", limit=3).notes == ()
    # As if it had never been interrupted.
    other = client.library.add(long_file, id="again.md")
    assert other.embedded == everything
    assert client.library.resume() == 0


def test_adding_the_same_file_again_goes_on_too(client: Recollect, long_file: Path) -> None:
    def stop(done: int, total: int | None) -> None:
        raise RuntimeError("the program that shows progress has a fault")

    with pytest.raises(RuntimeError):
        client.library.add(long_file, progress=stop)
    assert client.library.get("long.md").state == "indexing"
    report = client.library.add(long_file)
    assert (report.outcome, report.document.state) == ("unchanged", "ready")
    assert 0 < report.embedded < client.library.add(long_file, id="whole.md").embedded


def test_a_document_removed_while_it_is_indexed_stays_removed(
    client: Recollect, long_file: Path, owner_conninfo: str, tenant_id: str
) -> None:
    def remove(done: int, total: int | None) -> None:
        with psycopg.connect(owner_conninfo) as connection:
            for table in ("passage_posting", "passage", "section", "document"):
                connection.execute(f"delete from recollect.{table} where tenant_id = %s", [tenant_id])

    with pytest.raises(DocumentNotFoundError, match="was removed while it was being indexed"):
        client.library.add(long_file, progress=remove)
    assert client.library.list() == []
    assert passages(owner_conninfo, tenant_id) == 0


def test_two_that_index_one_document_at_once_store_it_once(
    client: Recollect, long_file: Path, owner_conninfo: str, tenant_id: str
) -> None:
    async def both() -> list[object]:
        face = client._async
        return await asyncio.gather(
            face.library.add(long_file), face.library.add(long_file), return_exceptions=True
        )

    reports = client._portal.run(both())
    assert [type(one).__name__ for one in reports] == ["DocumentReport"] * 2
    assert client.library.get("long.md").state == "ready"
    once = passages(owner_conninfo, tenant_id)
    assert client.library.add(long_file, id="alone.md").embedded == once


def test_an_embedder_that_is_missing_leaves_the_text_and_a_reason(
    settings: Settings, store: Recollect
) -> None:
    tenant = f"t-{uuid4().hex[:12]}"
    store.tenants.create(tenant)
    context = TenantContext(tenant_id=tenant, user_id="root", roles=("admin", "operator"))
    broken_settings = settings.replace(embedder="openai:none")
    with Recollect(settings=broken_settings, context=context) as broken, pytest.raises(ConfigurationError):
        broken.library.add(b"# A\n\nText.", name="a.md")
    client = store.for_context(context)
    document = client.library.get("a.md")
    assert (document.state, client.library.text("a.md")) == ("failed", "# A\n\nText.")
    assert document.error
    assert client.library.add(b"# A\n\nText.", name="a.md").document.state == "ready"


@pytest.fixture(scope="module")
def queued_home(new_home: NewHome) -> Iterator[Path]:
    """A store of its own: a queue, once made, is there for everybody."""
    with new_home() as folder:
        embedded.ensure_running(folder, sync=False, settings={"fsync": "off", "full_page_writes": "off"})
        run_worker(folder)
        yield folder


def run_worker(home: Path) -> dict[str, int]:
    environ = {**os.environ, "RECOLLECT_HOME": str(home), "RECOLLECT_EMBEDDER": "wordllama"}
    done = subprocess.run(
        [sys.executable, "-m", "recollect.surfaces.cli.main", "worker", "--once", "--json"],
        env=environ,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
    )
    assert done.returncode == 0, done.stderr
    jobs: dict[str, int] = json.loads(done.stdout)["jobs"]
    return jobs


@pytest.fixture
def few_tokens(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(intake, "QUEUE_TOKENS", 1_000)


def test_a_large_document_is_left_to_a_worker_and_its_job_holds_no_text(
    queued_home: Path, long_file: Path, few_tokens: None
) -> None:
    settings = Settings(home=queued_home, embedder="wordllama")
    with Recollect(settings=settings) as client:
        report = client.library.add(long_file)
        assert (report.outcome, report.embedded, report.document.state) == ("queued", 0, "indexing")
        owner = open_door(queued_home, None).owner
        assert owner is not None
        with psycopg.connect(owner) as connection:
            rows = connection.execute(
                "select args from recollect_jobs.procrastinate_jobs where task_name = 'recollect.index'"
            ).fetchall()
        # Others may wait in the queue too: tests share it.
        assert ({"tenant": "local", "document": str(report.document.id)},) in rows
        assert all(set(args) == {"tenant", "document"} for (args,) in rows)
        # Small ones are not worth the way.
        assert client.library.add(b"# Small\n\nText.", name="small.md").outcome == "added"
        assert run_worker(queued_home)["recollect.index"] >= 1
        assert client.library.get("long.md").state == "ready"
        assert client.library.search("opening valve 119")


def test_waiting_follows_the_worker(queued_home: Path, long_file: Path, few_tokens: None) -> None:
    settings = Settings(home=queued_home, embedder="wordllama")
    environ = {**os.environ, "RECOLLECT_HOME": str(queued_home), "RECOLLECT_EMBEDDER": "wordllama"}
    worker = subprocess.Popen(
        [sys.executable, "-m", "recollect.surfaces.cli.main", "worker"],
        env=environ,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        with Recollect(settings=settings) as client:
            deadline = time.monotonic() + PATIENCE_S
            report = client.library.add(long_file, id="followed.md", wait=True)
            assert time.monotonic() < deadline
            assert (report.outcome, report.document.state) == ("added", "ready")
    finally:
        worker.terminate()
        worker.wait(timeout=PATIENCE_S)


def test_waiting_does_the_work_itself_when_no_worker_comes(
    queued_home: Path, long_file: Path, few_tokens: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(indexing, "_PATIENCE_S", 0.5)
    settings = Settings(home=queued_home, embedder="wordllama")
    with Recollect(settings=settings) as client:
        report = client.library.add(long_file, id="alone.md", wait=True)
        assert (report.outcome, report.document.state) == ("added", "ready")
        assert report.embedded > 0
        # The job that nobody took finds nothing left to do.
        assert run_worker(queued_home)["recollect.index"] >= 1
        assert client.library.get("alone.md").state == "ready"

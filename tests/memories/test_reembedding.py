"""Embedding a store anew: online, interrupted, resumed, and opened with the wrong embedder."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path

import psycopg
import pytest

from recollect import Recollect, Settings
from recollect.errors import ConflictError, EmbedderMismatchError, ForbiddenError
from recollect.storage.embedded import ensure_running
from recollect.storage.endpoint import open_door

REEMBED = """
import sys, time
from recollect import Recollect, Settings
def wait_for_the_end(done, total):
    print(done, total, flush=True)
    time.sleep(600)
with Recollect(settings=Settings(home=sys.argv[1], embedder="wordllama")) as client:
    client.reembed("minilm", progress=wait_for_the_end)
"""


@pytest.fixture
def home(new_home: Callable[[], AbstractContextManager[Path]]) -> Iterator[Path]:
    with new_home() as folder:
        ensure_running(folder, sync=False)
        yield folder


def open_store(home: Path, embedder: str) -> Recollect:
    return Recollect(settings=Settings(home=home, embedder=embedder))


def vectors(home: Path) -> list[tuple[str, str, int]]:
    """(name, state, vectors) of each space."""
    owner = open_door(home, None).owner
    assert owner is not None
    with psycopg.connect(owner) as connection:
        return connection.execute(
            "select s.name, s.state, (select count(*) from recollect.embedding e where e.space_id = s.space_id)"
            " from recollect.space s order by s.space_id"
        ).fetchall()


def counted_vectors(home: Path) -> int:
    owner = open_door(home, None).owner
    assert owner is not None
    with psycopg.connect(owner) as connection:
        row = connection.execute("select sum(vectors)::int from recollect.tally").fetchone()
        assert row is not None
        return int(row[0])


def test_a_store_answers_and_grows_while_it_is_embedded_anew(home: Path) -> None:
    stop = threading.Event()
    failures: list[BaseException] = []
    added: list[str] = []

    def use(client: Recollect) -> None:
        number = 0
        while not stop.is_set():
            try:
                added.append(f"added meanwhile {number}")
                client.add(added[-1])
                client.update(changing.id, text=f"changing {number}")  # type: ignore[union-attr]
                assert any("parrot" in hit.text for hit in client.search("the parrot Humphrey", threshold=0))
                assert len(client.list(limit=5)) == 5
                number += 1
            except BaseException as error:
                failures.append(error)
                return

    with open_store(home, "wordllama") as first:
        first.tenants.create("second")
        first.add_many([{"text": f"memory number {n} of the first store"} for n in range(400)])
        first.add("the parrot is called Humphrey")
        changing = first.add("changing")
        first.for_context(first.tenant_context.replace(tenant_id="second")).add("in another tenant")
        first.library.add(b"# Birds\n\nA parrot may live for eighty years.\n", name="birds.md")
    with open_store(home, "auto") as user, open_store(home, "auto") as operator:
        thread = threading.Thread(target=use, args=[user])
        thread.start()
        steps: list[tuple[int, int | None]] = []
        try:
            report = operator.reembed("minilm", progress=lambda *step: steps.append(step))
        finally:
            # The other process notices the switch by itself: let it work in the new space, too.
            seen = len(added)
            while len(added) < seen + 3 and not failures and thread.is_alive():
                thread.join(0.05)
            stop.set()
            thread.join()
        assert failures == []
        assert report.space == operator.status().embedder
        assert report.embedded >= 403
        assert steps[0] == (128, steps[-1][1])
        assert [done for done, _ in steps] == sorted(done for done, _ in steps)
        texts = {memory.text for memory in user.list(limit=1000)}
        assert texts >= set(added)
        [(name, state, rows)] = vectors(home)
        assert (name, state) == (report.space, "active")
        assert rows == counted_vectors(home)
        assert rows >= 403 + len(added)
        hits = operator.search("what is the bird's name", threshold=0, limit=3)
        assert "the parrot is called Humphrey" in [hit.text for hit in hits]
        [found] = operator.library.search("how old does a parrot get?")
        assert (found.document, found.lines) == ("birds.md", (3, 3))
        again = operator.reembed("minilm")
        assert again.embedded == 0


def test_reembedding_survives_a_kill_and_goes_on_where_it_stopped(home: Path) -> None:
    with open_store(home, "wordllama") as client:
        client.add_many([{"text": f"memory number {n}"} for n in range(300)])
    process = subprocess.Popen(
        [sys.executable, "-c", REEMBED, str(home)], stdout=subprocess.PIPE, text=True, env=dict(os.environ)
    )
    assert process.stdout is not None
    first = process.stdout.readline().split()
    process.send_signal(signal.SIGKILL)
    process.wait()
    process.stdout.close()
    assert first == ["128", "300"]
    states = {state: rows for _, state, rows in vectors(home)}
    assert states["active"] == 300
    assert 128 <= states["building"] < 300, "the kill came in the middle"
    with open_store(home, "wordllama") as client:
        assert len(client.search("memory number 3", threshold=0)) == 10
        client.add("added between the two runs")
        client.delete(client.list(filters={"type": "episodic"}, limit=1)[0].id)
        client.add("added between the two runs, again")
        report = client.reembed("minilm")
        assert report.embedded <= 301 - 128
        client.add("and this client goes on in the new space")
        assert client.search("this client goes on", threshold=0)[0].text.startswith("and this client")
    [(_, state, rows)] = vectors(home)
    assert (state, rows) == ("active", 302)
    assert counted_vectors(home) == 302


def test_another_embedder_is_refused_and_the_way_out_is_named(home: Path) -> None:
    with open_store(home, "wordllama") as client:
        client.add("hello")
        recorded = client.status().embedder
    with open_store(home, "minilm") as client:
        with pytest.raises(EmbedderMismatchError, match="recollect reembed") as caught:
            client.add("hello again")
        assert str(recorded) in str(caught.value)
        with pytest.raises(EmbedderMismatchError, match="recollect reembed"):
            client.search("hello")
        assert [memory.text for memory in client.list()] == ["hello"]
    with open_store(home, "auto") as client:
        client.add("auto follows the store")
        assert client.status().embedder == recorded
        assert len(client.list()) == 2
    assert [(name, rows) for name, _, rows in vectors(home)] == [(recorded, 2)]


def test_only_an_operator_embeds_anew(home: Path) -> None:
    with open_store(home, "wordllama") as client:
        client.add("x")
        with pytest.raises(ForbiddenError, match="operator"):
            client.for_context(client.tenant_context.replace(roles=("admin",))).reembed("minilm")


def test_a_second_target_waits_for_the_first(home: Path) -> None:
    with open_store(home, "wordllama") as client:
        client.add("x")
        owner = open_door(home, None).owner
        assert owner is not None
        with psycopg.connect(owner, autocommit=True) as connection:
            connection.execute(
                "insert into recollect.space (space_id, name, dimensions, fingerprint, state)"
                " values (9, 'openai:begun', 8, 'f', 'building')"
            )
        with pytest.raises(ConflictError, match="openai:begun"):
            client.reembed("minilm")
        assert len(client.search("x", threshold=0)) == 1

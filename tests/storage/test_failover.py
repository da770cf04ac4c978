"""A worker of a cluster dies while clients write, and its streaming replica takes its place.

Only where `tools/with_cluster.py` runs, since it takes servers of its own to break.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from itertools import count
from pathlib import Path
from uuid import UUID

import psycopg
import pytest
from tests.conftest import CLUSTER

from recollect import Memory, Recollect, Settings
from recollect.errors import RecollectError
from recollect.storage.cluster import nodes
from recollect.storage.cluster.distribute import distribute
from recollect.storage.endpoint import open_door
from recollect_bench.citus import find_binaries, local_cluster

pytestmark = pytest.mark.skipif(
    CLUSTER not in os.environ or find_binaries() is None, reason="there is no PostgreSQL with Citus"
)
WRITERS = 3
#: Memories that must be acknowledged before the worker dies, and after.
ENOUGH = 12
PATIENCE_S = 240


class Writers:
    """Threads that add one memory after another, and what was acknowledged to them."""

    def __init__(self, client: Recollect) -> None:
        self.acknowledged: dict[str, UUID] = {}
        self.errors: list[RecollectError] = []
        self._client = client
        self._stopped = threading.Event()
        self._threads = [threading.Thread(target=self._write, args=[name]) for name in range(WRITERS)]

    def __enter__(self) -> Writers:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *reason: object) -> None:
        self._stopped.set()
        for thread in self._threads:
            thread.join()

    def _write(self, name: int) -> None:
        for number in count():
            if self._stopped.is_set():
                return
            text = f"Writer {name} says the number {number}."
            try:
                memory = self._client.add(text)
                assert isinstance(memory, Memory)
                self.acknowledged[text] = memory.id
            except RecollectError as error:
                self.errors.append(error)
                self._stopped.wait(0.05)

    def wait_for(self, more: int) -> None:
        """Until so many more were acknowledged."""
        wanted = len(self.acknowledged) + more
        self.wait_until(lambda: len(self.acknowledged) >= wanted)

    def wait_until(self, holds: Callable[[], object]) -> None:
        ends = time.monotonic() + PATIENCE_S
        while not holds():
            assert time.monotonic() < ends, f"nothing comes any more: {self.errors[-1:]}"
            self._stopped.wait(0.05)


def test_a_replica_takes_the_place_of_a_worker_and_nothing_acknowledged_is_lost(tmp_path: Path) -> None:
    with local_cluster(1) as cluster:
        settings = Settings(
            home=tmp_path, database_url=cluster.coordinator.url, embedder="wordllama", user="ana"
        )
        with Recollect(settings=settings) as client:
            client.add("The bakery opens at seven.")
        owner = open_door(tmp_path, cluster.coordinator.url).owner
        assert owner is not None
        distribute(owner, shards=4)
        [worker] = cluster.workers
        replica = worker.make_replica()
        with Recollect(settings=settings) as client:
            with Writers(client) as writers:
                writers.wait_for(ENOUGH)
                worker.kill()
                writers.wait_until(lambda: writers.errors)
                replica.promote()
                with psycopg.connect(owner, autocommit=True) as connection:
                    connection.execute(
                        "select citus_update_node(nodeid, '127.0.0.1', %s) from pg_dist_node where nodeport = %s",
                        [replica.port, worker.port],
                    )
                # The same client goes on by itself.
                writers.wait_for(ENOUGH)
            for text, memory in writers.acknowledged.items():
                assert client.get(memory).text == text
            stored = [memory.text for memory in client.list(limit=1000)]
            assert len(stored) == len(set(stored))
            hits = client.search("When does the bakery open?").hits
            assert hits[0].text == "The bakery opens at seven."
        status = nodes.status(owner)
        assert status is not None
        assert [node.name for node in status.nodes if not node.coordinator] == [replica.address]
        assert all(node.answers for node in status.nodes)

"""One store on one machine and the same store on many: first one worker, then more of them, and one that dies.

The store is filled on one machine, backed up and restored on the cluster's coordinator; `db distribute` spreads it.
Both stay, and whatever is asked of one is asked of the other in the next moment: the ratio says what the way through a
coordinator costs. The judge is left out: it reads in the client's own process, whatever the database is. Servers that
run on one computer share its cores, so more of them can't be faster there.
"""

from __future__ import annotations

import asyncio
import random
import statistics
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from itertools import count, islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any
from uuid import UUID

from recollect import AsyncRecollect, Memory, Settings, TenantContext
from recollect.errors import InvalidInputError, RecollectError
from recollect.retrieval.pipeline import SearchRequest, search
from recollect.storage.backup import backup, restore
from recollect.storage.cluster import nodes
from recollect.storage.cluster.distribute import distribute, plan
from recollect.storage.endpoint import open_door
from recollect_bench.citus import Cluster, local_cluster
from recollect_bench.result import Bar, Result, describe_environment
from recollect_bench.texts import make_language, make_queries, make_texts
from recollect_bench.vectors import bench_embedder

if TYPE_CHECKING:
    from recollect_bench.show import Show

#: Of ten calls of a client so many search; the others add.
_SEARCHES_OF_TEN = 8
#: Searches and adds of one client at a time, on either store.
_SEQUENTIAL = 60
_UNJUDGED = frozenset({"judge"})


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterPlan:
    """How much is measured."""

    tenants: int
    memories: int
    clients: int
    seconds: float
    shards: int
    workers: int


@dataclass(slots=True)
class Client:
    """Somebody who searches and adds as one tenant after another, the same ones on every store."""

    store: AsyncRecollect
    tenants: Sequence[str]
    questions: Sequence[str]
    texts: Iterator[str]
    dice: random.Random = field(default_factory=lambda: random.Random(11))  # noqa: S311
    #: What the store said it has, and whose it is.
    acknowledged: list[tuple[str, UUID]] = field(default_factory=list)

    @classmethod
    @asynccontextmanager
    async def opened(cls, settings: Settings, tenants: Sequence[str]) -> AsyncIterator[Client]:
        """With connections, plans and the model warm."""
        questions = make_queries(make_language(), 200, seed=5)
        texts = (f"{text} {number}" for number, text in enumerate(make_texts(make_language(), 10**6, seed=7)))
        async with AsyncRecollect(settings=settings) as store:
            client = cls(store, tenants, questions, texts)
            for _ in range(10):
                await client.search()
            yield client

    async def search(self) -> None:
        """A question to some tenant's memories."""
        caller = _caller(self.store, self.dice.choice(self.tenants))
        workspace = await caller._workspace()
        request = SearchRequest.check(
            workspace.settings,
            query=self.dice.choice(self.questions),
            clock=workspace.clock(),
            threshold=0,
            without=_UNJUDGED,
        )
        await search(workspace, caller.tenant_context, request)

    async def add(self) -> None:
        """A memory for some tenant."""
        tenant = self.dice.choice(self.tenants)
        memory = await _caller(self.store, tenant).add(next(self.texts))
        assert isinstance(memory, Memory)
        self.acknowledged.append((tenant, memory.id))

    async def lost(self) -> int:
        """How many memories that were acknowledged are not there."""
        missing = 0
        for tenant, id in self.acknowledged:
            try:
                await _caller(self.store, tenant).get(id)
            except RecollectError:
                missing += 1
        return missing


def _caller(store: AsyncRecollect, tenant: str) -> AsyncRecollect:
    return store.for_context(TenantContext(tenant_id=tenant, user_id="ana"))


def run_cluster(what: ClusterPlan, *, embedder: str, show: Show) -> Result:
    """Fill a store, spread a copy of it, measure both; with one worker, then with one more at a time."""
    environment = describe_environment()
    with (
        TemporaryDirectory() as home,
        # The last of them stays alone: the one machine.
        local_cluster(what.workers + 1, joined=False) as cluster,
        bench_embedder(embedder) as model,
    ):
        settings = [
            Settings(
                home=Path(home),
                database_url=server.url,
                embedder=model.space.name,
                pool_size=min(what.clients, 32),
            )
            for server in (cluster.workers[-1], cluster.coordinator)
        ]
        measures = asyncio.run(_run(what, settings, cluster, Path(home), show))
    arguments = {
        "tenants": what.tenants, "memories": what.memories, "clients": what.clients, "seconds": what.seconds,
        "shards": what.shards, "workers": what.workers, "embedder": embedder,
    }  # fmt: skip
    ratios = [
        point["cluster"]["alone"]["search_ms"]["p50"] / point["one"]["alone"]["search_ms"]["p50"]
        for point in measures["sizes"]
    ]
    return Result(
        bench="cluster",
        arguments=arguments,
        measures=measures,
        bars=[
            Bar(
                name="one tenant's search, cluster / one machine, the worst of all sizes",
                value=max(ratios),
                bar=1.5,
                at_most=True,
            ),
            Bar(
                name="acknowledged memories lost with a worker",
                value=measures["outage"]["lost"],
                bar=0,
                at_most=True,
            ),
        ],
        environment=environment | {"embedder": embedder},
    )


async def _run(
    what: ClusterPlan, settings: Sequence[Settings], cluster: Cluster, home: Path, show: Show
) -> dict[str, Any]:
    tenants = [f"tenant-{number}" for number in range(what.tenants)]
    alone, spread = settings
    steps: dict[str, float] = {}
    await _fill(alone, tenants, what.memories, show)
    file = home / "store.backup"
    steps["backup_s"] = await _seconds(lambda: backup(_owner(alone), file))
    steps["restore_s"] = await _seconds(lambda: restore(_owner(spread), file, replace=True))
    owner = _owner(spread)
    first, *others = cluster.workers[: what.workers]
    nodes.add_node(owner, first.address)
    moved = plan(owner, shards=what.shards).bytes
    steps["distribute_s"] = await _seconds(lambda: distribute(owner, shards=what.shards))
    sizes = []
    async with AsyncExitStack() as stack:
        pair = [await stack.enter_async_context(Client.opened(each, tenants)) for each in settings]
        for number, worker in enumerate([None, *others], 1):
            if worker is not None:
                nodes.add_node(owner, worker.address)
                steps[f"rebalance_{number}_s"] = await _seconds(lambda: nodes.rebalance(owner))
            status = nodes.status(owner)
            assert status is not None
            measured = await _measure(pair, what, show, f"{number} workers")
            sizes.append({"workers": number, "balance": status.balance, **measured})
        outage = await _outage(pair[1], cluster, what, show)
    return {"bytes": moved, "steps": steps, "sizes": sizes, "outage": outage}


def _owner(settings: Settings) -> str:
    owner = open_door(settings.home, settings.database_url).owner
    assert owner is not None, "the servers of the benchmark have an owner"
    return owner


async def _seconds(work: Callable[[], object]) -> float:
    started = time.perf_counter()
    await asyncio.to_thread(work)
    return time.perf_counter() - started


async def _fill(settings: Settings, names: Sequence[str], memories: int, show: Show) -> None:
    texts = make_texts(make_language(), len(names) * memories, seed=3)
    async with AsyncRecollect(settings=settings) as store:
        with show.stage("storing", len(names)) as progress:
            for number, name in enumerate(names):
                await store.tenants.create(name)
                await _caller(store, name).add_many([{"text": text} for text in islice(texts, memories)])
                progress(number + 1, None)


async def _measure(pair: Sequence[Client], what: ClusterPlan, show: Show, where: str) -> dict[str, Any]:
    """Both stores: one client in turns, then many clients, on one store and on the other, twice."""
    alone: list[dict[str, list[float]]] = [{"search_ms": [], "add_ms": []} for _ in pair]
    with show.stage(f"one client, {where}", _SEQUENTIAL) as progress:
        for turn in range(_SEQUENTIAL):
            for client, times in list(zip(pair, alone, strict=True))[:: 1 if turn % 2 else -1]:
                times["search_ms"].append(await _timed(client.search))
                times["add_ms"].append(await _timed(client.add))
            progress(turn + 1, None)
    crowds = [Crowd() for _ in pair]
    with show.stage(f"{what.clients} clients, {where}", 4):
        for order in (1, -1):
            for client, crowd in list(zip(pair, crowds, strict=True))[::order]:
                await crowd.run(client, what.clients, what.seconds / 2)
    return {
        name: {
            "alone": {verb: _percentiles(taken) for verb, taken in times.items()},
            "crowd": crowd.measures(),
        }
        for name, times, crowd in zip(("one", "cluster"), alone, crowds, strict=True)
    }


@dataclass(slots=True)
class Crowd:
    """Clients that search and add at once, and what became of their calls."""

    search_ms: list[float] = field(default_factory=list)
    add_ms: list[float] = field(default_factory=list)
    #: When a call failed, and with which error.
    failures: list[tuple[float, str]] = field(default_factory=list)
    seconds: float = 0.0

    async def run(self, client: Client, clients: int, seconds: float) -> None:
        """Let so many clients go on for so long."""
        started = time.perf_counter()

        async def go_on(first: int) -> None:
            for turn in count(first):
                if time.perf_counter() - started > seconds:
                    return
                searches = turn % 10 < _SEARCHES_OF_TEN
                try:
                    taken = await _timed(client.search if searches else client.add)
                except RecollectError as error:
                    self.failures.append((time.perf_counter(), error.code))
                    await asyncio.sleep(0.05)  # a program would wait a little, too
                else:
                    (self.search_ms if searches else self.add_ms).append(taken)

        await asyncio.gather(*(go_on(number) for number in range(clients)))
        self.seconds += time.perf_counter() - started

    def measures(self) -> dict[str, Any]:
        """Calls that succeeded, by second and by percentile; and how many failed."""
        return {
            "searches_s": len(self.search_ms) / self.seconds,
            "adds_s": len(self.add_ms) / self.seconds,
            "search_ms": _percentiles(self.search_ms),
            "add_ms": _percentiles(self.add_ms),
            "failed": dict(Counter(code for _, code in self.failures)),
        }


async def _outage(client: Client, cluster: Cluster, what: ClusterPlan, show: Show) -> dict[str, Any]:
    """A worker is killed while clients go on, and comes back after a third of the time."""
    worker, third = cluster.workers[0], what.seconds / 3
    crowd = Crowd()
    with show.stage("a worker dies and comes back", 1):
        running = asyncio.create_task(crowd.run(client, what.clients, what.seconds))
        await asyncio.sleep(third)
        before = len(crowd.search_ms)
        await asyncio.to_thread(worker.kill)
        await asyncio.sleep(third)
        during = len(crowd.search_ms) - before
        back = time.perf_counter()
        await asyncio.to_thread(worker.start)
        await running
    lost = await client.lost()
    last = max((at for at, _ in crowd.failures), default=back)
    return {
        "searches_s": {"before": before / third, "without the worker": during / third},
        "failed": dict(Counter(code for _, code in crowd.failures)),
        "recovered_s": max(last - back, 0.0),
        "acknowledged": len(client.acknowledged),
        "lost": lost,
    }


async def _timed(work: Callable[[], Awaitable[None]]) -> float:
    begun = time.perf_counter()
    await work()
    return (time.perf_counter() - begun) * 1000


def _percentiles(times: Sequence[float]) -> dict[str, float]:
    if len(times) < 2:
        raise InvalidInputError("too few calls were made in the time; give more --seconds")
    cuts = statistics.quantiles(times, n=20)
    return {"p50": cuts[9], "p95": cuts[18]}

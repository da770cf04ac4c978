"""A store on one machine and on many: the same tenants, clients and questions, before and after `db distribute`.

The URL is that of a Citus coordinator with workers and a database that holds no store yet. What is measured is whatever
those servers are: on one computer they share its cores, and the ratio is the price of going through a coordinator.
"""

from __future__ import annotations

import asyncio
import random
import statistics
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from itertools import count, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from recollect import AsyncRecollect, Settings, TenantContext
from recollect.errors import InvalidInputError
from recollect.storage.cluster import nodes
from recollect.storage.cluster.distribute import distribute, plan
from recollect.storage.endpoint import open_door
from recollect_bench.result import Bar, Result, describe_environment
from recollect_bench.texts import make_language, make_queries, make_texts

if TYPE_CHECKING:
    from recollect_bench.show import Show

#: Of ten calls of a client so many search; the others add.
_SEARCHES_OF_TEN = 8
_SEQUENTIAL = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterPlan:
    """How much is measured."""

    tenants: int
    memories: int
    clients: int
    seconds: float
    shards: int


def run_cluster(what: ClusterPlan, *, url: str, home: Path, embedder: str, show: Show) -> Result:
    """Fill a store, measure it, spread it, measure it again."""
    settings = Settings(home=home, database_url=url, embedder=embedder, pool_size=min(what.clients, 32))
    owner = open_door(home, url).owner
    if owner is None:
        raise InvalidInputError("the benchmark spreads the store; give the owner's URL")
    workers = plan(owner, shards=what.shards).nodes
    measures: dict[str, Any] = {"nodes": len(workers)}
    names = [f"tenant-{number}" for number in range(what.tenants)]
    asyncio.run(_fill(settings, names, what.memories, show))
    measures["one"] = asyncio.run(_measure(settings, names, what, show, "on one machine"))
    measures["bytes"] = plan(owner, shards=what.shards).bytes
    begun = time.perf_counter()
    distribute(owner, shards=what.shards)
    measures["distribute_s"] = time.perf_counter() - begun
    measures["cluster"] = asyncio.run(_measure(settings, names, what, show, "on the cluster"))
    status = nodes.status(owner)
    measures["balance"] = status.balance if status else None
    one, many = measures["one"]["alone"]["search_ms"]["p50"], measures["cluster"]["alone"]["search_ms"]["p50"]
    arguments = {
        "tenants": what.tenants, "memories": what.memories, "clients": what.clients, "seconds": what.seconds,
        "shards": what.shards, "embedder": embedder,
    }  # fmt: skip
    return Result(
        bench="cluster",
        arguments=arguments,
        measures=measures,
        bars=[
            Bar(name="one tenant's search, cluster / one machine", value=many / one, bar=1.5, at_most=True)
        ],
        environment=describe_environment() | {"embedder": embedder},
    )


async def _fill(settings: Settings, names: Sequence[str], memories: int, show: Show) -> None:
    texts = make_texts(make_language(), len(names) * memories, seed=3)
    async with AsyncRecollect(settings=settings) as store:
        with show.stage("storing", len(names)) as progress:
            for number, name in enumerate(names):
                await store.tenants.create(name)
                await _caller(store, name).add_many([{"text": text} for text in islice(texts, memories)])
                progress(number + 1, None)


def _caller(store: AsyncRecollect, tenant: str) -> AsyncRecollect:
    return store.for_context(TenantContext(tenant_id=tenant, user_id="ana"))


async def _measure(
    settings: Settings, names: Sequence[str], what: ClusterPlan, show: Show, where: str
) -> dict[str, Any]:
    questions = make_queries(make_language(), 200, seed=5)
    fresh = (f"{text} {where}" for text in make_texts(make_language(), 1_000_000, seed=7))
    async with AsyncRecollect(settings=settings) as store:
        dice = random.Random(11)  # noqa: S311  the same tenants for both forms

        async def search() -> None:
            await _caller(store, dice.choice(names)).search(dice.choice(questions))

        async def add() -> None:
            await _caller(store, dice.choice(names)).add(next(fresh))

        for _ in range(10):  # connections, plans and the model are warm
            await search()
        with show.stage(f"asking alone, {where}", _SEQUENTIAL):
            alone = {
                "search_ms": _percentiles([await _timed(search) for _ in range(_SEQUENTIAL)]),
                "add_ms": _percentiles([await _timed(add) for _ in range(_SEQUENTIAL)]),
            }
        with show.stage(f"{what.clients} clients, {where}", 1):
            crowd = await _crowd(search, add, what)
    return {"alone": alone, "crowd": crowd}


async def _crowd(
    search: Callable[[], Awaitable[None]], add: Callable[[], Awaitable[None]], what: ClusterPlan
) -> dict[str, Any]:
    ends = time.perf_counter() + what.seconds
    searches: list[float] = []
    adds: list[float] = []

    async def client(first: int) -> None:
        for turn in count(first):
            if time.perf_counter() > ends:
                return
            if turn % 10 < _SEARCHES_OF_TEN:
                searches.append(await _timed(search))
            else:
                adds.append(await _timed(add))

    begun = time.perf_counter()
    await asyncio.gather(*(client(number) for number in range(what.clients)))
    seconds = time.perf_counter() - begun
    return {
        "searches_s": len(searches) / seconds,
        "adds_s": len(adds) / seconds,
        "search_ms": _percentiles(searches),
        "add_ms": _percentiles(adds),
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

"""A server under load: `recollect serve` in a process of its own, clients in another, on loopback.

    base     one client per core: what the machine gives when nobody waits for anybody
    load     many clients for a minute, ninety reads to ten writes; memory is looked at twice a second
    curve    other numbers of clients, for a moment each
    sockets  idle WebSockets at `/v1/events`, what they cost, and whether all hear of one memory

The store is that of `scale`: synthetic texts and vectors, questions embedded by the real model. What clients send is in
`load.py`; what they have added is taken away again.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from recollect.errors import InvalidInputError, StoreError
from recollect.providers.runtime import usable_cores
from recollect_bench.floor import connect_owner, names_sharing_a_partition, settle
from recollect_bench.load import SOURCE, WRITES, Order
from recollect_bench.peak import family_mb
from recollect_bench.questions import percentile
from recollect_bench.result import Bar, Result, describe_environment, describe_store
from recollect_bench.start import plain_environment
from recollect_bench.texts import Language, make_language, make_queries, make_texts
from recollect_bench.trial import ASKER, ensure_tenant, trial_store
from recollect_bench.vectors import bench_embedder

if TYPE_CHECKING:
    from recollect.client.sync_client import Recollect
    from recollect_bench.show import Show

#: Different questions; more than one run asks, so that nothing is asked often.
QUERIES, TEXTS, KNOWN = 2_000, 500, 1_000
_SETTLED_S = 3.0
_LOOK_S = 0.5
#: Of the load's time, what is not counted as growth: pools, caches and arenas fill.
_FILLING = 0.25


@dataclass(frozen=True, slots=True, kw_only=True)
class ServePlan:
    """How large the store is, how many clients there are, and for how long."""

    rows: int = 100_000
    clients: int = 64
    seconds: float = 60.0
    sockets: int = 500
    workers: int = 1
    #: Other numbers of clients, for the picture.
    curve: Sequence[int] = (1, 8, 16, 32)

    def check(self) -> None:
        """Refuse what can't be measured."""
        if self.rows < 100 or self.clients < 1 or self.seconds < 1:
            raise InvalidInputError("a load needs 100 rows, one client and one second at least")


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """The server under load: where it listens, what it is known as to the system, and who may ask."""

    port: int
    pid: int
    token: str
    queries: Sequence[str]
    texts: Sequence[str]
    ids: Sequence[str]

    def order(self, clients: int, seconds: float, seed: int, *, sockets: int = 0) -> Order:
        """What a process of clients is told."""
        return Order(
            port=self.port,
            token=self.token,
            clients=clients,
            seconds=seconds,
            seed=seed,
            queries=self.queries,
            texts=self.texts,
            ids=self.ids,
            sockets=sockets,
        )


def run_serve(plan: ServePlan, *, embedder: str, home: Path | None, show: Show) -> Result:
    """Everything, on one server."""
    plan.check()
    environment = describe_environment()
    language = make_language()
    with (
        bench_embedder(embedder) as model,
        trial_store(model.space.name, home) as store,
        _filled(store, plan, language, show) as inside,
        _serving(inside, plan, language) as target,
    ):
        measures = _measured(target, inside, plan, show)
        environment |= describe_store(store)
    return Result(
        bench="serve",
        arguments={
            "n": plan.rows,
            "clients": plan.clients,
            "seconds": plan.seconds,
            "workers": plan.workers,
            "embedder": embedder,
        },
        measures=measures,
        bars=bars_of(measures),
        environment=environment,
    )


def _measured(target: Target, inside: Recollect, plan: ServePlan, show: Show) -> dict[str, Any]:
    cores, brief_s = usable_cores(), max(plan.seconds / 4, 1.0)
    total_s = brief_s * (2 + len(plan.curve)) + plan.seconds
    with show.stage("asking the server, seconds", round(total_s)) as progress:
        # Connections, threads, plans, caches and the model are there after that.
        _load(target, plan.clients, brief_s, seed=1)
        base = summary(_load(target, cores, brief_s, seed=2))
        progress(round(brief_s * 2), None)
        with _watched(target.pid) as looks:
            seen = _load(target, plan.clients, plan.seconds, seed=3)
        load = summary(seen)
        progress(round(brief_s * 2 + plan.seconds), None)
        points = {cores: base, plan.clients: load}
        for number, clients in enumerate(plan.curve):
            points.setdefault(clients, summary(_load(target, clients, brief_s, seed=10 + number)))
    return {
        "cores": cores,
        "base": base,
        "load": load,
        "ratio": load["per_s"] / base["per_s"],
        "spread": load["ms"]["p99"] / load["ms"]["p50"],
        "memory": growth(looks, plan.seconds),
        "curve": [{"clients": clients, **points[clients]} for clients in sorted(points)],
        "sockets": _sockets(target, inside, plan, show),
    }


def bars_of(measures: Mapping[str, Any]) -> list[Bar]:
    """What is to be reached, of what was measured."""
    load, memory, sockets = measures["load"], measures["memory"], measures["sockets"]
    return [
        Bar(name="requests that failed", value=load["failed"], bar=0, at_most=True),
        Bar(name="throughput / that of one client per core", value=measures["ratio"], bar=0.70),
        Bar(name="p99 / p50", value=measures["spread"], bar=3.0, at_most=True),
        Bar(
            name="memory at the end / after the first quarter", value=memory["ratio"], bar=1.05, at_most=True
        ),
        Bar(name="idle WebSockets, MB", value=sockets["mb"], bar=200.0, at_most=True),
        Bar(name="idle WebSockets that hear an event", value=sockets["heard"] / sockets["number"], bar=1.0),
    ]


# ---------------------------------------------------------------- the store and the server


@contextmanager
def _filled(store: Recollect, plan: ServePlan, language: Language, show: Show) -> Iterator[Recollect]:
    """The tenant that holds everything, as `scale` makes it; what clients add is erased in the end."""
    with connect_owner(store.settings.home) as owner:
        inside, there = ensure_tenant(store, names_sharing_a_partition(owner, 1)[0])
        if there < plan.rows:
            items = [{"text": text} for text in make_texts(language, plan.rows, seed=3)]
            with show.stage("storing", len(items)) as progress:
                inside.add_many(items, progress=progress)
            inside.build_index()
            settle(owner)
    try:
        yield inside
    finally:
        inside.delete(filters={"source": SOURCE})


@contextmanager
def _serving(inside: Recollect, plan: ServePlan, language: Language) -> Iterator[Target]:
    """A server on the same store, stopped in the end as an operator stops it."""
    settings = inside.settings
    environ = plain_environment(settings.home, settings.embedder)
    made = inside.keys.create("bench-load", user=ASKER)
    ids = [str(one.id) for one in inside.list(limit=KNOWN)]
    process = subprocess.Popen(
        [sys.executable, "-m", "recollect_bench.served", "serve", "--port", "0"]
        + (["--workers", str(plan.workers)] if plan.workers > 1 else []),
        stdout=subprocess.PIPE,
        text=True,
        env=environ,
        cwd=settings.home,  # so that no recollect.toml of the current folder is read
    )
    try:
        assert process.stdout is not None
        said = next((line for line in process.stdout if "answers at" in line), "")
        found = re.search(r"answers at http://[^/]*:(\d+)", said)
        if found is None:
            raise StoreError("`recollect serve` did not start in the benchmark; its errors are above")
        yield Target(
            port=int(found[1]),
            pid=process.pid,
            token=made.token,
            queries=make_queries(language, QUERIES, seed=21),
            texts=list(make_texts(language, TEXTS, seed=22)),
            ids=ids,
        )
    finally:
        process.terminate()
        process.communicate()
        inside.keys.revoke(made.key.id)


# ---------------------------------------------------------------- measuring


def _start(order: Order) -> subprocess.Popen[str]:
    process = subprocess.Popen(
        [sys.executable, "-m", "recollect_bench.load"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdin is not None
    process.stdin.write(json.dumps(asdict(order)) + "\n")
    process.stdin.flush()
    return process


def _load(target: Target, clients: int, seconds: float, *, seed: int) -> dict[str, Any]:
    """What so many clients have seen."""
    told, _ = _start(target.order(clients, seconds, seed)).communicate()
    seen: dict[str, Any] = json.loads(told)
    return {**seen, "clients": clients}


def summary(seen: Mapping[str, Any]) -> dict[str, Any]:
    """Throughput, percentiles of all requests and of each kind, and what the clients themselves cost."""
    samples = seen["samples"]
    if not samples:
        raise StoreError(f"no request was answered in the benchmark: {seen['errors'][:1]}")
    kinds = Counter(kind for kind, _, _ in samples)
    return {
        "requests": len(samples),
        "writes": sum(count for kind, count in kinds.items() if kind in WRITES),
        "failed": seen["failed"],
        "errors": list(seen["errors"]),
        "per_s": len(samples) / seen["seconds"],
        "ms": percentiles([ms for _, _, ms in samples]),
        "kinds": {
            kind: {"requests": kinds[kind], **percentiles([ms for one, _, ms in samples if one == kind])}
            for kind in sorted(kinds)
        },
        "clients_cpu": seen["cpu_s"] / seen["seconds"],
    }


def percentiles(values: Sequence[float]) -> dict[str, float]:
    """Milliseconds: the middle, and how far out the slow ones are."""
    return {f"p{share}": percentile(values, share) for share in (50, 95, 99)}


@contextmanager
def _watched(pid: int) -> Iterator[list[tuple[float, float]]]:
    """The server's memory as time goes by: (seconds, megabytes) of it and the workers it has started."""
    looks: list[tuple[float, float]] = []
    ended = threading.Event()
    began = time.perf_counter()

    def look() -> None:
        while not ended.wait(_LOOK_S):
            looks.append((time.perf_counter() - began, family_mb(pid)))

    watcher = threading.Thread(target=look, name="memory", daemon=True)
    watcher.start()
    try:
        yield looks
    finally:
        ended.set()
        watcher.join()


def growth(looks: Sequence[tuple[float, float]], seconds: float) -> dict[str, Any]:
    """Whether memory is flat: the last tenth of the time beside the tenth after the first quarter, and the slope."""
    later = [(at, mb) for at, mb in looks if at >= seconds * _FILLING]
    if len(later) < 2 or not later[0][1]:
        return {"looks": [], "ratio": 1.0, "mb": 0.0, "mb_per_minute": 0.0}
    share = max(len(later) // 8, 1)
    first, last = (sum(mb for _, mb in part) / len(part) for part in (later[:share], later[-share:]))
    middle_s = sum(at for at, _ in later) / len(later)
    middle_mb = sum(mb for _, mb in later) / len(later)
    across = sum((at - middle_s) * (mb - middle_mb) for at, mb in later)
    along = sum((at - middle_s) ** 2 for at, _ in later)
    return {
        "looks": [[at, mb] for at, mb in looks],
        "ratio": last / first,
        "mb": last,
        "mb_per_minute": 60 * across / along,
    }


def _sockets(target: Target, inside: Recollect, plan: ServePlan, show: Show) -> dict[str, Any]:
    """What idle sockets cost, and whether each hears what happens."""
    with show.stage("opening WebSockets", plan.sockets) as progress:
        before = family_mb(target.pid)
        process = _start(target.order(0, 0, 0, sockets=plan.sockets))
        assert process.stdin is not None
        assert process.stdout is not None
        said = process.stdout.readline()
        if said.strip() != "open":
            raise StoreError("the benchmark's WebSockets did not open; its errors are above")
        time.sleep(_SETTLED_S)
        after = family_mb(target.pid)
        process.stdin.write("listen\n")
        process.stdin.flush()
        inside.add("Something happens while many listen.", source=SOURCE)
        told, _ = process.communicate()
        progress(plan.sockets, None)
    seen = json.loads(told)
    heard = [ms for _, _, ms in seen["samples"]]
    return {
        "number": plan.sockets,
        "mb": max(after - before, 0.0),
        "heard": len(heard),
        "errors": seen["errors"],
        "last_heard_ms": max(heard, default=0.0),
    }

"""Where the time of one search goes: statements, round trips, the database's work, our own, waiting.

Times on a busy machine say little, counts and processor time say the same there as on a quiet one. A *round trip* is
one wait for the database, named by the statement it is for as in `sql/`. The database's work is the processor time of
the server process meanwhile, ours that of this process (embedding and judging included). What is noted for learning is
written behind the answer's back, for several searches at once: it is counted under a name of its own.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from recollect.learning.events import EventLog
from recollect.storage.connections import Connection
from recollect.storage.sql import queries, query
from recollect.storage.store import Transaction
from recollect_bench.questions import latency
from recollect_bench.result import Bar, Result, describe_environment, describe_store
from recollect_bench.scale import LIMIT, Plan, World, one_tenant
from recollect_bench.show import Show
from recollect_bench.texts import make_language
from recollect_bench.vectors import bench_embedder

#: Searches that are not counted: they open connections and plan statements.
WARM_UP = 20
#: Round trips that one search may take, at the median.
ROUND_TRIPS = 8
#: What is written after the answer was given.
NOTES = "notes for learning"
_statement: ContextVar[str] = ContextVar("statement", default="transaction")


@dataclass(slots=True, kw_only=True)
class Counts:
    """What was counted while searches ran."""

    trips: dict[str, int] = field(default_factory=lambda: defaultdict(int))
    waited_ms: dict[str, float] = field(default_factory=lambda: defaultdict(float))
    #: Processor time of the server process that answered.
    worked_ms: dict[str, float] = field(default_factory=lambda: defaultdict(float))

    def clear(self) -> None:
        """Begin again."""
        for counted in (self.trips, self.waited_ms, self.worked_ms):
            counted.clear()


def run_profile(rows: int, questions: int, *, embedder: str, keep: Path | None, show: Show) -> Result:
    """A store of `rows` memories of one tenant, asked `questions` one after another."""
    environment = describe_environment()
    plan = Plan(rows=rows, tenants=3, queries=questions + WARM_UP, sample=2)
    plan.check()
    with bench_embedder(embedder) as model:
        world = World(plan=plan, language=make_language(), model=model, show=show, keep=keep)
        home = None if keep is None else keep / f"{rows}"
        with one_tenant(world, rows, home) as case, counted() as counts:
            measured = _profile(case.client, world.queries(seed=11), counts)
            environment |= describe_store(case.client)
    trips = sum(number for name, number in measured["round_trips"].items() if name != NOTES)
    return Result(
        bench="profile",
        arguments={"n": rows, "queries": questions, "embedder": embedder},
        measures=measured,
        bars=[Bar(name="round trips of one search, mean", value=trips, bar=ROUND_TRIPS, at_most=True)],
        environment=environment,
    )


def _profile(client: Any, questions: Sequence[str], counts: Counts) -> dict[str, Any]:
    for question in questions[:WARM_UP]:
        client.search(question, threshold=0, limit=LIMIT)
    counts.clear()
    taken, stages = [], defaultdict(list)
    ours = time.process_time()
    for question in questions[WARM_UP:]:
        started = time.perf_counter()
        found = client.search(question, threshold=0, limit=LIMIT)
        taken.append((time.perf_counter() - started) * 1000)
        for stage, ms in found.timings_ms.items():
            stages[stage].append(ms)
    asked = len(taken)
    return {
        "search_ms": latency(taken),
        "stages_ms": {stage: latency(ms) for stage, ms in stages.items()},
        "round_trips": {name: number / asked for name, number in counts.trips.items()},
        "waited_ms": {name: ms / asked for name, ms in counts.waited_ms.items()},
        "database_cpu_ms": {name: ms / asked for name, ms in counts.worked_ms.items()},
        "our_cpu_ms": (time.process_time() - ours) * 1000 / asked,
    }


@contextmanager
def counted() -> Iterator[Counts]:
    """While it lasts, every wait for the database in this process is counted, by the statement it is for."""
    counts = Counts()
    wait, fetch, run = Connection.wait, Transaction._fetch_kept, Transaction._run
    flush = EventLog.flush

    async def counted_wait(self: Connection, *arguments: Any, **options: Any) -> Any:
        name, process = _statement.get(), self.pgconn.backend_pid
        worked, started = _processor_ms(process), time.perf_counter()
        try:
            return await wait(self, *arguments, **options)
        finally:
            counts.trips[name] += 1
            counts.waited_ms[name] += (time.perf_counter() - started) * 1000
            counts.worked_ms[name] += _processor_ms(process) - worked

    async def named_fetch(self: Transaction, statement: str, *arguments: Any) -> Any:
        with _named(_name_of(statement)):
            return await fetch(self, statement, *arguments)

    async def named_run(self: Transaction, name: str, *arguments: Any, **options: Any) -> Any:
        with _named(name):
            return await run(self, name, *arguments, **options)

    async def named_flush(self: EventLog) -> None:
        with _named(NOTES):
            await flush(self)

    Connection.wait, Transaction._fetch_kept, Transaction._run = counted_wait, named_fetch, named_run  # type: ignore[method-assign, assignment]
    EventLog.flush = named_flush  # type: ignore[method-assign]
    try:
        yield counts
    finally:
        EventLog.flush = flush  # type: ignore[method-assign]
        Connection.wait, Transaction._fetch_kept, Transaction._run = wait, fetch, run  # type: ignore[method-assign]


@contextmanager
def _named(name: str) -> Iterator[None]:
    token = _statement.set(NOTES if _statement.get() == NOTES else name)
    try:
        yield
    finally:
        _statement.reset(token)


@cache
def _name_of(statement: str) -> str:
    """The named query that a composed statement was made from: the one that shares its longest beginning."""

    def shared(name: str) -> int:
        pairs = zip(query(name), statement, strict=False)
        return next((place for place, (one, other) in enumerate(pairs) if one != other), len(statement))

    return max(queries(), key=shared)


def _processor_ms(process: int) -> float:
    """What a process of this machine has had of the processor; nothing where the system does not tell."""
    try:
        return int(Path(f"/proc/{process}/schedstat").read_text(encoding="ascii").split()[0]) / 1e6
    except (OSError, IndexError):
        return 0.0

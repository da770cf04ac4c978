"""Speed and completeness as a store grows, each beside the floor measured in the same moments.

    embedding     add_many against the embedder alone, on the same texts
    one tenant    all rows are one tenant's; also with fewer rows, to see how search grows
    small tenant  the same number of rows over many tenants, and the caller's is a small one that shares its partition
                  with one that holds half of everything
    many teams    the same number of rows over forty teams of one tenant, asked what is too big for one look
    crowd         very many tenants with ten memories each

Searches and floors take turns question by question, so that whatever else the machine does meets all of them. A
search pays for embedding its question with the real model, and so does the floor (see `vectors`). Each search says
how long its stages took; the judge's reading depends on no store's size, so its time is taken off and reported apart.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from recollect.domain.results import SearchResults
from recollect.domain.tenancy import TenantContext
from recollect.errors import InvalidInputError
from recollect.retrieval import generate
from recollect.runs.router import ComplexityRouter
from recollect.storage import embedded, scopes, spaces
from recollect.storage.filters import Moment
from recollect.storage.search import NO_MATCHES, Conditions, DenseRequest, fetch_candidates
from recollect.workspace import Workspace
from recollect_bench.floor import (
    Connection,
    Floor,
    connect_owner,
    names_sharing_a_partition,
    settle,
    stored_bytes,
)
from recollect_bench.peak import family_mb
from recollect_bench.questions import latency, mean
from recollect_bench.result import Bar, Result, describe_environment, describe_store
from recollect_bench.texts import Language, make_language, make_queries, make_texts
from recollect_bench.trial import as_admin, ensure_tenant, trial_store
from recollect_bench.vectors import BenchEmbedder, bench_embedder

if TYPE_CHECKING:
    from recollect.client.sync_client import Recollect
    from recollect_bench.show import Progress, Show

LIMIT = 10
#: Shares of the rows: the tenant that is in everybody's way, and the small one that is measured.
BIG, SMALL = 0.5, 0.025
#: Questions right after an intake, before anything has settled.
FIRST = 20
ROUNDS = 2
#: What each stage may take at the 95th percentile, with 100,000 memories.
STAGE_BARS_MS = {"understand": 5.0, "generate": 50.0, "rank": 20.0}
#: What makes a question too big for one look, and what such a search may take with as many memories.
TEAMS = 40
TOO_BIG = {
    "teams": "Compare {0} across all teams",
    "periods": "Trace the evolution of {0} since last year",
    "sides": "Compare {0} and {1}",
}
ROUTED_BAR_MS = 200.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """How large everything is."""

    rows: int
    tenants: int
    queries: int
    sample: int
    #: Tenants with a handful of memories each, in a store of their own.
    crowd: int = 0

    def check(self) -> None:
        """Refuse what can't be measured."""
        if self.tenants < 3:
            raise InvalidInputError(
                f"{self.tenants} tenants are too few; there is a big one, a small one and others"
            )
        if self.rows < 10 * LIMIT:
            raise InvalidInputError(f"{self.rows} rows are too few to share; give {10 * LIMIT} or more")


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One tenant under measurement; `stored` is how its intake went, `first_ms` the searches right after it."""

    client: Recollect
    floor: Floor
    rows: int
    stored: Mapping[str, float]
    first_ms: Mapping[str, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """What all cases share."""

    plan: Plan
    language: Language
    model: BenchEmbedder
    show: Show
    #: Where grown stores are kept for the next time.
    keep: Path | None = None

    def queries(self, *, seed: int) -> list[str]:
        """Questions for one measurement; no two measurements share any."""
        return make_queries(self.language, self.plan.queries, seed=seed)


def run_scale(plan: Plan, *, embedder: str, show: Show) -> Result:
    """One tenant, a small one beside a big one, many teams, very many tenants."""
    plan.check()
    environment = describe_environment()
    language = make_language()
    embedding = measure_embedding(language, plan.sample, embedder, show)
    with bench_embedder(embedder) as model:
        world = World(plan=plan, language=language, model=model, show=show)
        with one_tenant(world, plan.rows) as one, small_tenant(world) as small:
            queries = world.queries(seed=10)
            measured = measure(world, [one, small], queries)
            for case, found in zip([one, small], measured, strict=True):
                found["overlap"] = overlap(case, queries, model)
                found |= measure_costs(world, case)
            environment |= describe_store(one.client)
        with many_teams(world) as inside:
            routed = measure_routed(world, inside)
        crowd = measure_crowd(world) if plan.crowd else None
    measures = {
        "embedding": embedding,
        "ingest": one.stored,
        "one_tenant": measured[0],
        "small_tenant": measured[1],
        "routed_ms": routed,
        "crowd": crowd,
    }
    return Result(
        bench="scale",
        arguments={"n": plan.rows, "tenants": plan.tenants, "queries": plan.queries, "embedder": embedder},
        measures=measures,
        bars=_bars(measures),
        environment=environment,
    )


def _bars(measures: Mapping[str, Any]) -> list[Bar]:
    one, small, embedding = measures["one_tenant"], measures["small_tenant"], measures["embedding"]
    whole = one["search_ms"]["p50"]
    routed = max(taken["p95"] for taken in measures["routed_ms"].values())
    most = [
        ("search p50 / floor, one tenant", whole / one["floor_ms"]["p50"], 2.5),
        ("search p50, small tenant / one tenant", small["search_ms"]["p50"] / whole, 1.5),
        *(
            (f"{stage} p95, one tenant, ms", one["stages_ms"][stage]["p95"], bar)
            for stage, bar in STAGE_BARS_MS.items()
        ),
        ("search p95, one tenant, ms", one["search_ms"]["p95"], 100.0),
        ("routed search p95, the slowest kind, ms", routed, ROUTED_BAR_MS),
    ]
    least = [
        ("results of 10 asked for, small tenant, fewest", small["fewest"], LIMIT),
        ("dense top 10 overlap with exact, small tenant", small["overlap"], 0.97),
        ("dense top 10 overlap with exact, one tenant", one["overlap"], 0.97),
        ("add_many, vectors at hand, per second", measures["ingest"]["rows_per_s"], 5_000),
        ("add_many / the embedder's own rate", embedding["ratio"], 0.70),
        ("a text's vector alone and in a batch, cosine", embedding["self_cosine"], 0.9999),
    ]
    return [
        *(Bar(name=name, value=value, bar=bar, at_most=True) for name, value, bar in most),
        *(Bar(name=name, value=value, bar=bar) for name, value, bar in least),
    ]


def run_growth(
    sizes: Sequence[int], *, queries: int, embedder: str, show: Show, keep: Path | None = None
) -> Result:
    """One tenant after another that holds everything, each larger than the last."""
    if any(size < 10 * LIMIT for size in sizes) or not sizes:
        raise InvalidInputError(f"sizes {list(sizes)!r} must be {10 * LIMIT} or more each")
    environment = describe_environment()
    plan = Plan(rows=max(sizes), tenants=3, queries=queries, sample=2)
    with bench_embedder(embedder) as model:
        world = World(plan=plan, language=make_language(), model=model, show=show, keep=keep)
        growth = []
        for rows in sorted(set(sizes)):
            with one_tenant(world, rows, None if keep is None else keep / f"{rows}") as case:
                asked = world.queries(seed=rows)
                [found] = measure(world, [case], asked)
                found["overlap"] = overlap(case, asked, model)
                growth.append(found | measure_costs(world, case) | {"ingest": case.stored})
                environment |= describe_store(case.client)
    first, last = growth[0], growth[-1]
    at = f"at {last['rows']:,}"
    p50 = last["search_ms"]["p50"] / first["search_ms"]["p50"]
    return Result(
        bench="growth",
        arguments={"sizes": sorted(set(sizes)), "queries": queries, "embedder": embedder},
        measures={"growth": growth},
        bars=[
            Bar(name=f"search p95 {at}, ms", value=last["search_ms"]["p95"], bar=100.0, at_most=True),
            Bar(name=f"growth of p50 from {first['rows']:,}", value=p50, bar=2.5, at_most=True),
            Bar(name=f"dense top 10 overlap with exact {at}", value=last["overlap"], bar=0.97),
            Bar(name=f"memory of the server {at}, MB", value=last["server_mb"], bar=2_000, at_most=True),
        ],
        environment=environment,
    )


def measure_embedding(language: Language, sample: int, embedder: str, show: Show) -> dict[str, Any]:
    """add_many and the embedder alone on the same texts, in turns; and whether a batch changes a vector."""
    import numpy as np

    from recollect.providers.embedders import open_embedder

    texts = list(make_texts(language, sample, seed=2))
    share = -(-len(texts) // ROUNDS)
    alone_s = stored_s = 0.0
    with trial_store(embedder) as client, show.stage("embedding and storing", 2 * sample) as progress:
        model = open_embedder(embedder, cache_dir=client.settings.home / "models")
        client.add("The embedder is loaded.")
        model.embed(texts[:8])
        for start in range(0, len(texts), share):
            part = texts[start : start + share]
            before = time.perf_counter()
            vectors = model.embed(part)
            between = time.perf_counter()
            client.add_many([{"text": text} for text in part])
            stored_s += time.perf_counter() - between
            alone_s += between - before
            progress(2 * (start + len(part)), None)
        some = part[:: max(len(part) // 64, 1)]
        alone = np.stack([model.embed([text])[0] for text in some])
        cosine = (alone * vectors[:: max(len(part) // 64, 1)]).sum(axis=1)
    return {
        "texts": sample,
        "embedder_per_s": sample / alone_s,
        "add_many_per_s": sample / stored_s,
        "ratio": alone_s / stored_s,
        "self_cosine": float(cosine.min()),
    }


@contextmanager
def one_tenant(world: World, rows: int, home: Path | None = None) -> Iterator[Case]:
    """A store in which one tenant holds everything; one that is kept in `home` is used again."""
    with _store(world, home) as (store, owner):
        name = names_sharing_a_partition(owner, 1)[0]
        inside, there = ensure_tenant(store, name)
        stored: Mapping[str, float] = {}
        if there < rows:
            texts = list(make_texts(world.language, rows, seed=3))
            with world.show.stage("storing for one tenant", rows) as progress:
                stored = _add(inside, texts, progress)
        inside.build_index()
        yield _case(world, inside, owner, name, rows=rows, stored=stored)


@contextmanager
def small_tenant(world: World) -> Iterator[Case]:
    """A store that many tenants share; the small one that is measured lives beside the big one."""
    plan = world.plan
    with _store(world) as (store, owner):
        big, small = names_sharing_a_partition(owner, 2)
        others = [f"bench-other-{number}" for number in range(plan.tenants - 2)]
        # In a trial with few rows the small tenant still holds as many as are asked for.
        counts = {big: round(plan.rows * BIG), small: max(round(plan.rows * SMALL), LIMIT)}
        left = plan.rows - sum(counts.values())
        for number, name in enumerate(others):
            counts[name] = left * (number + 1) // len(others) - left * number // len(others)
        # The small one comes last, when the others are in its way already.
        order = [big, *others, small]
        stored: Mapping[str, float] = {}
        with world.show.stage("storing for many tenants", plan.rows) as progress:
            for number, name in enumerate(order):
                inside, _ = ensure_tenant(store, name)
                stored = _add(inside, list(make_texts(world.language, counts[name], seed=100 + number)))
                progress(sum(counts[done] for done in order[: number + 1]), None)
        yield _case(world, inside, owner, small, rows=counts[small], stored=stored)


@contextmanager
def many_teams(world: World) -> Iterator[Recollect]:
    """A store in which the teams of one tenant hold everything, settled."""
    with _store(world) as (store, owner):
        inside, _ = ensure_tenant(store, names_sharing_a_partition(owner, 1)[0])
        teams = [f"team/bench-{number}" for number in range(TEAMS)]
        for team in teams:
            inside.scopes.create(team)
        texts = make_texts(world.language, world.plan.rows, seed=4)
        items = [{"text": text, "scope": teams[number % TEAMS]} for number, text in enumerate(texts)]
        with world.show.stage("storing for many teams", len(items)) as progress:
            inside.add_many(items, progress=progress)
        settle(owner)
        yield inside


def measure_routed(world: World, inside: Recollect) -> dict[str, dict[str, float]]:
    """Searches that are decomposed, by what makes them too big; no model is asked."""
    topics = [" ".join(words[:3]) for words in world.language.topics[: world.plan.queries]]
    others = [*topics[1:], *topics[:1]]
    router, measured = ComplexityRouter(), {}
    for kind, form in TOO_BIG.items():
        taken = []
        with world.show.stage(f"asking of {kind}", len(topics)) as progress:
            for number, (topic, other) in enumerate(zip(topics, others, strict=True), 1):
                question = form.format(topic, other)
                assert router.should_route_to_rlm(question), f"{question!r} stays on the standard path"
                started = time.perf_counter()
                judge_ms = inside.search(question, threshold=0, limit=LIMIT).timings_ms.get("judge", 0.0)
                taken.append((time.perf_counter() - started) * 1000 - judge_ms)
                progress(number, None)
        measured[kind] = latency(taken)
    return measured


@contextmanager
def _store(world: World, home: Path | None = None) -> Iterator[tuple[Recollect, Connection]]:
    """An empty store, or one that is kept, and its owner's connection."""
    with trial_store(world.model.space.name, home) as store, connect_owner(store.settings.home) as owner:
        yield store, owner


def _add(client: Recollect, texts: Sequence[str], progress: Progress | None = None) -> dict[str, float]:
    """Add texts; what follows the last batch is the building of the vector index."""
    times: list[float] = []

    def note(done: int, total: int | None) -> None:
        times.append(time.perf_counter())
        if progress is not None:
            progress(done, total)

    started = time.perf_counter()
    client.add_many([{"text": text} for text in texts], progress=note)
    ended = time.perf_counter()
    return {"rows_per_s": len(texts) / (times[-1] - started), "index_s": ended - times[-1]}


def _case(
    world: World, client: Recollect, owner: Connection, name: str, *, rows: int, stored: Mapping[str, float]
) -> Case:
    """A filled tenant, searched at once and then settled, as autovacuum settles it within minutes."""
    first_ms = latency(_first_searches(world, client))
    settle(owner)
    floor = Floor(owner, world.model, name, limit=LIMIT)
    floor.prepare()
    return Case(client=client, floor=floor, rows=rows, stored=stored, first_ms=first_ms)


def measure(world: World, cases: Sequence[Case], queries: Sequence[str]) -> list[dict[str, Any]]:
    """Searches and floors of all cases in turns, in another order for each question."""
    steps = [step for case in cases for step in ((case, True), (case, False))]
    times: dict[tuple[int, bool], list[float]] = {(id(case), which): [] for case, which in steps}
    results: dict[int, list[int]] = {id(case): [] for case in cases}
    stages: dict[int, dict[str, list[float]]] = {id(case): {} for case in cases}
    with world.show.stage("searching", len(queries)) as progress:
        for number, query in enumerate(queries):
            turn = number % len(steps)
            for case, through_client in [*steps[turn:], *steps[:turn]]:
                started = time.perf_counter()
                found = (
                    case.client.search(query, threshold=0, limit=LIMIT)
                    if through_client
                    else case.floor.search(query)
                )
                taken_ms = (time.perf_counter() - started) * 1000
                if isinstance(found, SearchResults):
                    taken_ms -= found.timings_ms.get("judge", 0.0)
                    results[id(case)].append(len(found))
                    for stage, ms in found.timings_ms.items():
                        stages[id(case)].setdefault(stage, []).append(ms)
                times[id(case), through_client].append(taken_ms)
            progress(number + 1, None)
    return [
        {
            "rows": case.rows,
            "first_ms": case.first_ms,
            "search_ms": latency(times[id(case), True]),
            "floor_ms": latency(times[id(case), False]),
            "stages_ms": {stage: latency(taken) for stage, taken in stages[id(case)].items()},
            "results": mean(results[id(case)]),
            "fewest": min(results[id(case)]),
        }
        for case in cases
    ]


def measure_costs(world: World, case: Case) -> dict[str, Any]:
    """What a memory costs to add by itself and to keep, and what the first searches of a server cost."""
    client, home = case.client, case.client.settings.home
    texts = list(make_texts(world.language, world.plan.queries + 1, seed=8))
    adds = []
    with world.show.stage("adding one by one", len(texts)) as progress:
        for number, text in enumerate(texts, 1):
            started = time.perf_counter()
            client.add(f"{text} {number}")
            adds.append((time.perf_counter() - started) * 1000)
            progress(number, None)
    server = embedded.status(home)
    found = {
        "add_ms": latency(adds[1:]),
        "server_mb": family_mb(server.pid) if server.pid else 0.0,
        "bytes_per_memory": case.floor.stored_bytes() / case.rows,
    }
    # The next search starts the server again. What the operating system has in its cache stays there.
    embedded.stop(home)
    found["cold_ms"] = latency(_first_searches(world, client))
    return found


def _first_searches(world: World, client: Recollect) -> list[float]:
    """Searches, but for the very first, which also opens connections."""
    times = []
    for query in make_queries(world.language, FIRST + 1, seed=9):
        started = time.perf_counter()
        judge_ms = client.search(query, threshold=0, limit=LIMIT).timings_ms.get("judge", 0.0)
        times.append((time.perf_counter() - started) * 1000 - judge_ms)
    return times[1:]


def measure_crowd(world: World) -> dict[str, Any]:
    """Very many tenants with a handful of memories each, asked in turns."""
    names = [f"bench-crowd-{number}" for number in range(world.plan.crowd)]
    texts = make_texts(world.language, LIMIT * len(names), seed=6)
    with _store(world) as (store, owner):
        started = time.perf_counter()
        with world.show.stage("storing for very many tenants", len(names)) as progress:
            for number, name in enumerate(names, 1):
                inside, _ = ensure_tenant(store, name)
                inside.add_many([{"text": text} for text in islice(texts, LIMIT)])
                progress(number, None)
        filled_s = time.perf_counter() - started
        settle(owner)
        taken, adds = [], []
        for number, query in enumerate(world.queries(seed=14)):
            inside = as_admin(store, names[number * 37 % len(names)])
            started = time.perf_counter()
            judge_ms = inside.search(query, threshold=0, limit=LIMIT).timings_ms.get("judge", 0.0)
            between = time.perf_counter()
            taken.append((between - started) * 1000 - judge_ms)
            inside.add(f"{query} {number}")
            adds.append((time.perf_counter() - between) * 1000)
        server = embedded.status(store.settings.home)
        return {
            "tenants": len(names),
            "rows": LIMIT * len(names),
            "search_ms": latency(taken),
            "add_ms": latency(adds),
            "tenants_per_s": len(names) / filled_s,
            "server_mb": family_mb(server.pid) if server.pid else 0.0,
            "bytes_per_memory": stored_bytes(owner) / (LIMIT * len(names)),
        }


def overlap(case: Case, queries: Sequence[str], model: BenchEmbedder) -> float:
    """The share of an exact scan's top 10 that is among the dense candidates' top 10, as search gets them."""
    dense = asyncio.run(_dense_candidates(case, queries, model))
    return mean(
        len(set(found).intersection(case.floor.exact(query))) / LIMIT
        for query, found in zip(queries, dense, strict=True)
    )


async def _dense_candidates(case: Case, queries: Sequence[str], model: BenchEmbedder) -> list[list[Any]]:
    context: TenantContext = case.client.tenant_context
    workspace = await Workspace.open(case.client.settings)
    found = []
    try:
        opened = await workspace.open_space(context)
        for query in queries:
            async with workspace.store.transaction(context) as tx:
                caller = await scopes.describe_caller(tx)
                indexed = await workspace.indexed_rows(tx, opened.space)
                dense = DenseRequest(
                    vector=model.vector(query),
                    space_id=opened.space.id,
                    dimensions=opened.space.dimensions,
                    breadth=None if indexed is None else spaces.breadth(caller.vectors, indexed),
                    limit=generate.DENSE,
                    anchors=generate.ANCHORS,
                    reach=generate.REACH,
                )
                conditions = Conditions(moment=Moment.now(workspace.clock()))
                pool = await fetch_candidates(tx, caller, NO_MATCHES, dense, conditions)
                rows = [row for row in pool if row.by_dense]
            nearest = sorted(rows, key=lambda row: row.distance)
            found.append([row.memory_id for row in nearest[:LIMIT]])
    finally:
        await workspace.close()
    return found

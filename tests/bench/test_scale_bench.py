"""The synthetic world of the scale benchmark, and a small run through it."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import numpy as np
import pytest

from recollect.errors import InvalidInputError
from recollect.providers.embedders import available_embedders, open_embedder
from recollect.storage import embedded
from recollect.storage.connections import Connection
from recollect_bench.floor import names_sharing_a_partition, partition_of
from recollect_bench.profile import NOTES, run_profile
from recollect_bench.scale import Plan, run_growth, run_scale
from recollect_bench.show import Show
from recollect_bench.tables import bar_table, tables_of
from recollect_bench.texts import make_language, make_queries, make_texts
from recollect_bench.vectors import bench_embedder


@pytest.fixture(scope="module")
def language() -> object:
    return make_language()


def test_texts_are_the_same_in_every_run_and_different_from_each_other(language) -> None:  # type: ignore[no-untyped-def]
    texts = list(make_texts(language, 500, seed=3))
    assert texts == list(make_texts(make_language(), 500, seed=3))
    assert len(set(texts)) == 500
    assert texts != list(make_texts(language, 500, seed=4))
    assert {len(text.split()) for text in texts} == {30}


def test_words_are_few_common_and_many_rare(language) -> None:  # type: ignore[no-untyped-def]
    texts = [set(text.split()) for text in make_texts(language, 3_000, seed=3)]
    share = {word: sum(word in text for text in texts) / len(texts) for word in language.words[:1]}
    assert 0.02 < share[language.words[0]] < 0.2
    queries = make_queries(language, 200, seed=1)
    assert len(set(queries)) == 200
    assert {len(query.split()) for query in queries} <= set(range(8, 14))


def test_texts_of_one_topic_are_nearer_than_others(language, tmp_path) -> None:  # type: ignore[no-untyped-def]
    with bench_embedder("wordllama") as model:
        texts = list(make_texts(language, 400, seed=5))
        vectors = model.embed(texts)
        assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)
        assert np.array_equal(model.embed(texts[:1])[0], vectors[0])
        assert np.array_equal(model.embed_query(texts[0]), vectors[0])
        named = [{word for word in text.split() if word[0].isupper()} for text in texts]
        same, other = [], []
        for one, two in itertools.combinations(range(400), 2):
            (same if named[one] & named[two] else other).append(vectors[one] @ vectors[two])
        assert np.mean(same) > np.mean(other) + 0.3
        assert open_embedder("bench:wordllama", cache_dir=tmp_path) is model
    assert not any(info.name.startswith("bench") for info in available_embedders())


@pytest.fixture
def _quick_homes(
    new_home: Callable[[], AbstractContextManager[Path]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The five stores of a run come from a copy and do not wait for the disk: nobody reads the numbers here."""

    @contextmanager
    def running() -> Iterator[Path]:
        with new_home() as home:
            embedded.ensure_running(home, sync=False)
            yield home

    monkeypatch.setattr(embedded, "temporary_home", running)


@pytest.mark.usefixtures("_quick_homes")
def test_a_small_run_measures_both_cases_and_finds_everything() -> None:
    plan = Plan(rows=300, tenants=4, queries=6, sample=40, crowd=3)
    result = run_scale(plan, embedder="wordllama", show=Show(quiet=True))
    one, small = result.measures["one_tenant"], result.measures["small_tenant"]
    assert (one["rows"], small["rows"]) == (300, 10)
    assert result.measures["crowd"]["rows"] == 30
    for case in (one, small):
        assert case["fewest"] == 10
        # So few rows are compared exactly: nothing may be missed.
        assert case["overlap"] == 1.0
        assert 0 < case["search_ms"]["p50"] <= case["search_ms"]["p95"]
        assert 0 < case["floor_ms"]["p50"] < case["search_ms"]["p95"]
    assert result.measures["embedding"]["self_cosine"] > 0.9999
    assert result.measures["ingest"]["rows_per_s"] > 0
    assert len(bar_table(result).rows) == len(result.bars) == 13
    assert one["stages_ms"]["judge"]["p50"] > 0
    assert [table.title for table in tables_of(result)] == [
        "Search",
        "Texts per second",
        "Stages of one tenant's searches, p50 / p95 ms",
        "Searches that are decomposed",
        "3 tenants with ten memories",
    ]
    assert {"understand", "generate", "rank", "total"} <= set(one["stages_ms"])


@pytest.mark.usefixtures("_quick_homes")
def test_a_tenant_that_grows_is_measured_at_every_size() -> None:
    result = run_growth([300, 100], queries=6, embedder="wordllama", show=Show(quiet=True))
    assert [point["rows"] for point in result.measures["growth"]] == [100, 300]
    for point in result.measures["growth"]:
        assert point["overlap"] == 1.0
        assert point["server_mb"] > 10
        assert point["bytes_per_memory"] > 1_000
        assert 0 < point["add_ms"]["p50"] <= point["add_ms"]["p95"]
        assert point["cold_ms"]["p50"] > 0
    assert [table.title for table in tables_of(result)] == [
        "One tenant",
        "Stages of one tenant's searches, p50 / p95 ms",
    ]
    with pytest.raises(InvalidInputError, match="or more each"):
        run_growth([3], queries=6, embedder="wordllama", show=Show(quiet=True))


@pytest.mark.usefixtures("_quick_homes")
def test_a_profile_counts_every_wait_for_the_database_by_its_statement() -> None:
    wait = Connection.wait
    result = run_profile(200, 4, embedder="wordllama", keep=None, show=Show(quiet=True))
    assert Connection.wait is wait
    trips, waited = result.measures["round_trips"], result.measures["waited_ms"]
    # Each search looks its words up once, brings its candidates together once and follows them once.
    assert [trips[name] for name in ("lexical", "candidates", "linked")] == [1.0, 1.0, 1.0]
    # It begins and commits.
    assert trips["transaction"] >= 2.0
    assert waited.keys() == trips.keys()
    assert result.measures["our_cpu_ms"] > 0
    [bar] = result.bars
    assert bar.value == sum(number for name, number in trips.items() if name != NOTES)
    assert [table.title for table in tables_of(result)] == [
        "Round trips of one search",
        "One search",
        "Its stages",
    ]


def test_tenants_can_be_named_into_one_partition(owner_conninfo: str) -> None:
    import psycopg

    with psycopg.connect(owner_conninfo) as connection:
        names = names_sharing_a_partition(connection, 3)
        assert len(set(names)) == 3
        assert len({partition_of(connection, name) for name in names}) == 1
        assert len({partition_of(connection, f"any-{number}") for number in range(60)}) > 1


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [({"tenants": 2}, "too few"), ({"rows": 50}, "too few")],
)
def test_plans_that_measure_nothing_are_refused(changes: dict[str, object], complaint: str) -> None:
    plan = Plan(**{"rows": 300, "tenants": 4, "queries": 5, "sample": 10, **changes})  # type: ignore[arg-type]
    with pytest.raises(InvalidInputError, match=complaint):
        run_scale(plan, embedder="wordllama", show=Show(quiet=True))

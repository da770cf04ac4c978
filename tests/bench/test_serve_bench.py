"""The server benchmark: what it makes of what clients saw, and a small run against a real server."""

from __future__ import annotations

from pathlib import Path

import pytest

from recollect.errors import InvalidInputError, StoreError
from recollect_bench.load import MIX, WRITES
from recollect_bench.plots import write_plot
from recollect_bench.serve import ServePlan, bars_of, growth, run_serve, summary
from recollect_bench.show import Show
from recollect_bench.tables import tables_of


def test_nine_of_ten_requests_read() -> None:
    assert sum(MIX.values()) == 100
    assert sum(MIX[kind] for kind in WRITES) == 10


def test_memory_is_flat_or_it_is_not() -> None:
    flat = [(second / 2, 300.0 if second > 10 else 200.0) for second in range(120)]
    assert growth(flat, 60)["ratio"] == 1.0
    leaking = [(second / 2, 300.0 + second) for second in range(120)]
    found = growth(leaking, 60)
    assert found["ratio"] > 1.1
    assert found["mb_per_minute"] == pytest.approx(120)
    assert growth([], 60)["ratio"] == 1.0, "where nobody can look, nothing is said"


def test_what_was_seen_is_counted_by_kind() -> None:
    seen = {
        "samples": [["search", 0.0, 10.0], ["add", 0.1, 30.0], ["search", 0.2, 20.0]],
        "errors": ["add: 500"],
        "failed": 1,
        "seconds": 2.0,
        "cpu_s": 0.5,
    }
    found = summary(seen)
    assert (found["requests"], found["writes"], found["failed"], found["per_s"]) == (3, 1, 1, 1.5)
    assert found["kinds"]["search"]["p50"] == 15.0
    assert found["ms"]["p50"] == 20.0
    with pytest.raises(StoreError, match="no request was answered"):
        summary({**seen, "samples": []})


def test_a_load_of_nothing_is_refused() -> None:
    with pytest.raises(InvalidInputError, match="one client"):
        ServePlan(clients=0).check()


def test_a_small_load_on_a_real_server(tmp_path: Path, bench_home: Path) -> None:
    plan = ServePlan(rows=300, clients=4, seconds=1, sockets=5, curve=(1,))
    result = run_serve(plan, embedder="wordllama", home=bench_home, show=Show(quiet=True))
    load = result.measures["load"]
    assert load["failed"] == 0, load["errors"]
    assert load["requests"] >= 4, "each client asks at least once, however slow the machine"
    assert result.measures["sockets"]["heard"] == 5, result.measures["sockets"]["errors"]
    assert [one["clients"] for one in result.measures["curve"]] == sorted({1, 4, result.measures["cores"]})
    assert len(bars_of(result.measures)) == 6
    assert write_plot(result, tmp_path).exists()
    assert tables_of(result)[0].rows

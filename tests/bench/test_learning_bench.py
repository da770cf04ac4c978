"""The learning benchmark: the same company for the same seed, an interval that says what it should, tables and plot."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from uuid import uuid4

import numpy as np
import pytest

from recollect.learning.bootstrap import Trial
from recollect.learning.bootstrap_tasks import BootstrapTask, Expected
from recollect.learning.gradient import Episode
from recollect.learning.policy import PRIOR
from recollect_bench.learning import interval, mean_policy, measure
from recollect_bench.learning_world import NOW, make_world
from recollect_bench.plots import write_plot
from recollect_bench.result import Result, describe_environment
from recollect_bench.tables import tables_of


def test_a_seed_always_makes_the_same_company_and_another_one_another() -> None:
    world = make_world(3)
    assert make_world(3) == world
    assert make_world(4).items != world.items
    assert all(item["created_at"] < NOW.isoformat() for item in world.items)
    names = {name for name, _ in world.scopes}
    assert {item["scope"] for item in world.items} <= names
    assert all(parent is None or parent in names for _, parent in world.scopes)


def trials(template: str, rewards: list[float], subcalls: int) -> list[Trial]:
    expected = (Expected(ids=frozenset({uuid4()})),)
    return [
        Trial(
            task=BootstrapTask(template=template, query=f"{template} {number}", expected=expected),
            quality=reward,
            reward=reward,
            subcalls=subcalls,
            tokens=100 * subcalls,
            episode=Episode(decisions=(), reward=reward),
        )
        for number, reward in enumerate(rewards)
    ]


def test_the_gain_is_of_the_same_tasks_and_its_interval_excludes_zero_only_when_it_should() -> None:
    steady = np.full((5, 40), 0.02)
    low, high = interval(steady)
    assert (low, high) == (pytest.approx(0.02), pytest.approx(0.02))
    noisy = np.random.default_rng(1).normal(0.0, 0.1, (5, 40))
    low, high = interval(noisy)
    assert low < 0 < high


def test_measures_compare_every_seed_with_the_untrained_policy(tmp_path: Path) -> None:
    found = measure(
        {
            "untrained": trials("recap", [0.5, 0.6], 6),
            "seed 0": trials("recap", [0.7, 0.8], 3),
            "seed 1": trials("recap", [0.6, 0.9], 3),
            "base": trials("recap", [0.8, 0.8], 3),
        },
        [[0.5, 0.6], [0.4, 0.8]],
    )
    assert found["gain"]["mean"] == pytest.approx(0.2)
    assert found["policies"]["trained"]["subcalls"] == 3
    assert found["policies"]["untrained"]["reward"] == pytest.approx(0.55)
    assert set(found["seeds"]) == {"seed 0", "seed 1"}
    result = Result(
        bench="learning",
        arguments={"embedder": "arctic"},
        measures=found,
        bars=[],
        environment=describe_environment(),
    )
    assert next(table.title for table in tables_of(result)) == "Policies"
    assert write_plot(result, tmp_path).read_bytes().startswith(b"\x89PNG")


def test_the_base_is_the_mean_of_the_policies() -> None:
    other = replace(PRIOR, weights={"search": {"bias": 2.0}, "new": {"cost": -1.0}})
    base = mean_policy([PRIOR, other])
    assert base.name == "base"
    assert base.weights["search"]["bias"] == pytest.approx(3.0)
    assert base.weights["new"]["cost"] == pytest.approx(-0.5)
    assert base.exploration == 0.0

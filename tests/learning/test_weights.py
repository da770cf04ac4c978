"""Fitting weights: always weights, better where there is something to learn, refused where there is not."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from tests.profiles import examples

from recollect.domain.query import SIGNALS
from recollect.learning.rewards import JudgedList, split
from recollect.learning.weights import (
    HIGH,
    LOW,
    ArmOutcome,
    SignalWeightTrainer,
    explored_gain,
    project,
    to_array,
    to_weights,
)

TABLE = {
    "semantic_similarity": 0.35,
    "entity_overlap": 0.25,
    "temporal_relevance": 0.15,
    "importance": 0.20,
    "reinforcement": 0.05,
}
TEMPORAL = SIGNALS.index("temporal_relevance")
TRAINER = SignalWeightTrainer()

anything = arrays(np.float64, 5, elements=st.floats(-10, 10))


@given(anything)
def test_projected_weights_are_weights(values: np.ndarray) -> None:
    found = project(values)
    assert found.sum() == pytest.approx(1.0, abs=1e-9)
    assert np.all((found >= LOW - 1e-12) & (found <= HIGH + 1e-12))
    assert np.allclose(project(found), found, atol=1e-9)


@given(anything, anything)
def test_no_other_weights_are_nearer_than_the_projection(values: np.ndarray, other: np.ndarray) -> None:
    found, rival = project(values), project(other)
    assert np.square(found - values).sum() <= np.square(rival - values).sum() + 1e-9


@given(anything)
def test_rounded_weights_still_add_up_to_one(values: np.ndarray) -> None:
    found = to_weights(project(values))
    assert sum(found.values()) == pytest.approx(1.0, abs=1e-9)
    assert list(found) == list(SIGNALS)


@settings(max_examples=examples(50), deadline=None)
@given(st.integers(0, 2**31), st.integers(1, 30))
def test_whatever_was_logged_the_fit_stays_within_bounds(seed: int, count: int) -> None:
    rng = np.random.default_rng(seed)
    lists = [
        JudgedList(rng.random((4, 5)), np.arange(1.0, 5.0), rng.uniform(-1, 1, 4), number)
        for number in range(count)
    ]
    found = SignalWeightTrainer(prior_lists=0.0).fit(lists, to_array(TABLE))
    assert found.sum() == pytest.approx(1.0)
    assert np.all((found >= LOW - 1e-9) & (found <= HIGH + 1e-9))


def simulate(
    count: int, seed: int, *, matters: int | None, shown: int = 8, places: bool = True
) -> list[JudgedList]:
    """Lists shown by the table's weights; what is used depends on one signal, or (None) on nothing."""
    rng = np.random.default_rng(seed)
    lists = []
    while len(lists) < count:
        pool = rng.random((40, 5))
        signals = pool[np.argsort(-(pool @ to_array(TABLE)))][:shown]
        chance = np.full(shown, 0.2) if matters is None else 0.6 * signals[:, matters] ** 2
        seen = rng.random(shown) < (np.arange(1.0, shown + 1) ** -0.5 if places else 1.0)
        grades = ((rng.random(shown) < chance) & seen).astype(float)
        if grades.max() > grades.min():
            lists.append(JudgedList(signals, np.arange(1.0, shown + 1), grades, len(lists) // 3))
    return lists


def test_the_signal_that_decides_is_found_and_adopted() -> None:
    verdict = TRAINER.learn(simulate(1_000, 1, matters=TEMPORAL), TABLE)
    assert verdict.adopted, verdict.reason
    assert verdict.weights["temporal_relevance"] > 0.3 > TABLE["temporal_relevance"]
    assert verdict.low > 0
    assert verdict.value > verdict.current_value


@pytest.mark.system
def test_noise_teaches_nothing_whatever_the_luck() -> None:
    adopted = [TRAINER.learn(simulate(600, seed, matters=None), TABLE).adopted for seed in range(60)]
    assert sum(adopted) <= 3


def test_weights_that_are_worse_are_refused_with_the_numbers() -> None:
    lists = simulate(500, 2, matters=TEMPORAL)
    worse = to_array({**dict.fromkeys(SIGNALS, 0.05), "importance": 0.8})
    verdict = TRAINER.judge(lists, worse, to_array(TABLE), trained_on=0)
    assert not verdict.adopted
    assert verdict.gain.value < 0
    assert verdict.document()["gain"] == pytest.approx(verdict.gain.value, abs=1e-5)


def test_a_gain_that_may_be_chance_is_refused() -> None:
    verdict = TRAINER.learn(simulate(40, 3, matters=TEMPORAL), TABLE)
    assert not verdict.adopted


def test_with_few_lists_the_fit_stays_near_the_weights_in_use() -> None:
    few = TRAINER.fit(simulate(20, 4, matters=TEMPORAL), to_array(TABLE))
    many = TRAINER.fit(simulate(2_000, 4, matters=TEMPORAL), to_array(TABLE))
    start = to_array(TABLE)
    assert np.abs(few - start).max() < 0.5 * np.abs(many - start).max()


def test_lists_without_a_difference_change_nothing() -> None:
    lists = [JudgedList(np.ones((3, 5)), np.arange(1.0, 4.0), np.ones(3), n) for n in range(50)]
    assert np.allclose(TRAINER.fit(lists, to_array(TABLE)), to_array(TABLE), atol=1e-6)


def test_no_session_both_trains_and_proves() -> None:
    train, test = split(simulate(300, 5, matters=TEMPORAL), TRAINER.held_out)
    assert len(train) + len(test) == 300
    assert not {one.cluster for one in train} & {one.cluster for one in test}
    assert 60 <= len(test) <= 90


def outcomes(rates: dict[str | None, float], seed: int, size: int = 4_000) -> list[ArmOutcome]:
    rng = np.random.default_rng(seed)
    found = []
    for number in range(size):
        explored = rng.random() < 0.3
        signal = SIGNALS[rng.integers(5)] if explored else None
        found.append(
            ArmOutcome(
                signal=signal,
                propensity=0.06 if explored else 0.7,
                served=bool(rng.random() < rates.get(signal, rates[None])),
                cluster=number // 2,
            )
        )
    return found


def test_randomised_rankings_can_veto_weights_that_replay_likes() -> None:
    lists = simulate(1_000, 1, matters=TEMPORAL)
    bad = outcomes({None: 0.6, "temporal_relevance": 0.2}, 6)
    verdict = TRAINER.learn(lists, TABLE, bad)
    assert not verdict.adopted
    assert "randomised" in verdict.reason
    good = outcomes({None: 0.4, "temporal_relevance": 0.6}, 6)
    assert TRAINER.learn(lists, TABLE, good).adopted


def test_too_little_exploring_says_nothing() -> None:
    candidate = to_array({**dict.fromkeys(SIGNALS, 0.1), "temporal_relevance": 0.6})
    assert explored_gain(outcomes({None: 0.6}, 7, size=200), candidate, to_array(TABLE)) is None
    assert explored_gain([], candidate, to_array(TABLE)) is None


def test_exploring_measures_a_gain_that_is_there() -> None:
    candidate = to_array({**TABLE, "temporal_relevance": 0.35, "entity_overlap": 0.05})
    found = explored_gain(
        outcomes({None: 0.4, "temporal_relevance": 0.5}, 8, size=20_000), candidate, to_array(TABLE)
    )
    assert found is not None
    assert found.value == pytest.approx(0.1, abs=0.04)

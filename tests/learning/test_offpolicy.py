"""Estimators on synthetic logs whose truth is known; seeded, so that a failure is a fault and not bad luck."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.learning.rewards import (
    JudgedList,
    compare_rankings,
    examination,
    mean,
    ranking_values,
    snips,
    student,
)

TRUTH = np.array([0.2, 0.5, 0.8])
LOGGED = np.array([0.7, 0.2, 0.1])
TARGET = np.array([0.1, 0.3, 0.6])
VALUE = float(TRUTH @ TARGET)


def log_of(size: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Arms drawn by the logging policy, and what each of them brought."""
    rng = np.random.default_rng(seed)
    arms = rng.choice(3, size=size, p=LOGGED)
    return arms, (rng.random(size) < TRUTH[arms]).astype(float)


def test_the_estimate_is_right_on_average() -> None:
    values = []
    for seed in range(300):
        arms, rewards = log_of(400, seed)
        values.append(snips(rewards, LOGGED[arms], TARGET[arms]).value)
    error = np.std(values) / math.sqrt(len(values))
    assert abs(np.mean(values) - VALUE) < 3.5 * error + 0.005


def test_the_plain_mean_of_the_log_is_not_the_targets_value() -> None:
    arms, rewards = log_of(50_000, 1)
    assert abs(mean(rewards).value - VALUE) > 0.2
    assert abs(snips(rewards, LOGGED[arms], TARGET[arms]).value - VALUE) < 0.03


def test_intervals_cover_the_truth_as_often_as_they_say() -> None:
    covered = 0
    for seed in range(400):
        arms, rewards = log_of(600, seed)
        low, high = snips(rewards, LOGGED[arms], TARGET[arms]).interval()
        covered += low <= VALUE <= high
    assert 0.90 <= covered / 400 <= 0.99


def test_a_propensity_of_zero_is_refused() -> None:
    with pytest.raises(ValueError, match="propensity"):
        snips(np.ones(2), np.array([0.5, 0.0]), np.ones(2))


def test_repeats_of_one_session_do_not_make_an_estimate_surer() -> None:
    values = np.array([1.0, 0.0, 1.0, 1.0])
    alone = mean(values)
    repeated = mean(np.repeat(values, 50), [number for number in range(4) for _ in range(50)])
    assert repeated.value == alone.value
    assert repeated.error == pytest.approx(alone.error)
    assert repeated.clusters == 4


def test_one_cluster_proves_nothing() -> None:
    assert mean(np.ones(1000), ["s"] * 1000).interval() == (-math.inf, math.inf)
    assert mean(np.zeros(0)).count == 0


def test_students_quantiles_are_those_of_the_tables() -> None:
    assert student(1.96, 4) == pytest.approx(2.776, rel=0.01)
    assert student(1.96, 10) == pytest.approx(2.228, rel=0.005)
    assert student(1.96, 1000) == pytest.approx(1.962, rel=0.001)


def judged(signals: list[list[float]], grades: list[float], cluster: object = None) -> JudgedList:
    return JudgedList(
        np.array(signals), np.arange(1.0, len(grades) + 1), np.array(grades), cluster or object()
    )


def test_a_used_memory_is_worth_most_in_the_first_place() -> None:
    lists = [judged([[0.9, 0.1], [0.5, 0.5], [0.1, 0.9]], [0.0, 0.0, 1.0])]
    assert ranking_values(lists, np.array([0.0, 1.0]))[0] == pytest.approx(1.0)
    assert ranking_values(lists, np.array([1.0, 0.0]))[0] == pytest.approx(0.5)


def test_a_memory_found_wrong_is_worth_least_in_the_first_place() -> None:
    lists = [judged([[0.9, 0.1], [0.1, 0.9]], [-1.0, 0.0])]
    assert ranking_values(lists, np.array([1.0, 0.0]))[0] < ranking_values(lists, np.array([0.0, 1.0]))[0] < 0


def test_the_same_weights_gain_nothing() -> None:
    lists = [judged([[0.9, 0.1], [0.1, 0.9]], [1.0, 0.0]) for _ in range(10)]
    gain = compare_rankings(lists, np.array([0.3, 0.7]), np.array([0.3, 0.7]))
    assert (gain.value, gain.error) == (0.0, 0.0)


def test_reading_from_the_top_is_corrected_for() -> None:
    """The order shown decides what is seen; weighting by attention finds the value of another order again."""
    rng = np.random.default_rng(5)
    lists, full = [], []
    for _ in range(4_000):
        signals = rng.random((6, 2))
        order = np.argsort(-signals[:, 0])
        signals = signals[order]
        places = np.arange(1.0, 7.0)
        useful = rng.random(6) < signals[:, 1] * 0.5
        seen = rng.random(6) < examination(places)
        grades = (useful & seen).astype(float)
        lists.append(JudgedList(signals, places, grades, object()))
        full.append(JudgedList(signals, np.ones(6), useful.astype(float), object()))
    right = np.array([0.0, 1.0])
    corrected = sum(float(one.gains @ _discounts(one, right)) for one in lists)
    naive = sum(float(one.grades @ _discounts(one, right)) for one in lists)
    truth = sum(float(one.grades @ _discounts(one, right)) for one in full)
    assert abs(corrected / truth - 1) < 0.06 < abs(naive / truth - 1)


def _discounts(one: JudgedList, weights: np.ndarray) -> np.ndarray:
    ranks = np.argsort(np.argsort(-(one.signals @ weights)))
    return 1.0 / np.log2(ranks + 2.0)


@given(st.lists(st.floats(0, 100), min_size=1, max_size=20))
def test_attention_never_rises_with_the_place_and_never_vanishes(places: list[float]) -> None:
    seen = examination(np.sort(np.array(places)))
    assert np.all(np.diff(seen) <= 0)
    assert np.all((seen > 0) & (seen <= 1))

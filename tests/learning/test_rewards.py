"""What outcomes are worth."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.learning.rewards import (
    UTILITY_REWARDS,
    BaselineEMA,
    RewardConfig,
    Signal,
    TrainingOutcome,
    clamp,
)


@pytest.mark.parametrize(
    ("signal", "quality", "tokens", "reward"),
    [
        (Signal.RESULT_USED, 0.5, 0, 0.8),
        (Signal.RESULT_USED, 0.5, 50_000, 0.65),
        (Signal.RESULT_USED, 0.5, 10**9, 0.5),
        (Signal.RESULT_USED, 1.0, 0, 1.0),
        (Signal.QUERY_REFINED, 1.0, 100_000, 0.3),
        (Signal.RESULT_IGNORED, 1.0, 100_000, -0.5),
        (Signal.NO_SIGNAL, 1.0, 100_000, 0.0),
    ],
)
def test_success_and_cost_add_up_within_bounds(
    signal: Signal, quality: float, tokens: int, reward: float
) -> None:
    outcome = TrainingOutcome(signal=signal, quality_score=quality)
    assert RewardConfig().compute(outcome, tokens_used=tokens) == pytest.approx(reward)


def test_an_outcome_without_a_signal_trains_nothing() -> None:
    assert [TrainingOutcome(signal=signal).trains for signal in Signal] == [True, True, True, False]


@given(st.lists(st.floats(-1, 1), max_size=50))
def test_the_baseline_follows_rewards_and_stays_within_its_limit(rewards: list[float]) -> None:
    baseline = BaselineEMA()
    for reward in rewards:
        baseline = baseline.update(reward)
        assert -0.5 <= baseline.value <= 0.5
    assert baseline.count == len(rewards)


def test_the_baseline_comes_to_what_is_usual() -> None:
    baseline = BaselineEMA()
    for _ in range(100):
        baseline = baseline.update(0.1)
    assert baseline.value == pytest.approx(0.1)
    assert UTILITY_REWARDS.step(UTILITY_REWARDS.assembled, baseline) == pytest.approx(0, abs=1e-9)
    assert UTILITY_REWARDS.step(UTILITY_REWARDS.reported, baseline) > 0


@given(st.floats(-1, 1), st.floats(-0.5, 0.5))
def test_praise_never_lowers_and_blame_never_raises(reward: float, usual: float) -> None:
    step = UTILITY_REWARDS.step(reward, BaselineEMA(value=usual, count=9))
    assert step * reward >= 0
    assert abs(step) <= UTILITY_REWARDS.learning_rate * 1.5


@given(st.floats(allow_nan=False))
def test_clamping_keeps_a_value_within_minus_one_and_one(value: float) -> None:
    assert -1 <= clamp(value) <= 1

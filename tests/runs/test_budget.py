"""The tree of budgets: what is reserved, spent and given back, and that no limit is ever passed."""

from __future__ import annotations

import math
from dataclasses import fields

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.profiles import examples

from recollect.errors import DepthLimitError, InvalidInputError
from recollect.runs.budget import Budget, Limits, Reservation


class Clock:
    def __init__(self) -> None:
        self.seconds = 1_000.0

    def __call__(self) -> float:
        return self.seconds


@pytest.mark.parametrize("name", [limit.name for limit in fields(Limits)])
@pytest.mark.parametrize("value", [-1, math.nan, "many", True])
def test_a_limit_that_makes_no_sense_is_refused_by_name(name: str, value: object) -> None:
    with pytest.raises(InvalidInputError, match=name):
        Limits(**{name: value})  # type: ignore[arg-type]


@pytest.mark.parametrize("name", [limit.name for limit in fields(Limits)])
def test_zero_is_a_limit_like_any_other(name: str) -> None:
    assert getattr(Limits(**{name: 0}), name) == 0


@pytest.mark.parametrize(
    ("limits", "word"),
    [
        (Limits(max_subcalls=0), "subcalls"),
        (Limits(max_subcalls_per_step=0), "subcalls"),
        (Limits(max_steps=0), "steps"),
        (Limits(max_tokens=0), "tokens"),
        (Limits(max_usd=0), "usd"),
        (Limits(timeout_s=0), "timeout"),
    ],
)
def test_a_limit_of_zero_lets_nothing_begin(limits: Limits, word: str) -> None:
    assert Budget(limits).exhausted() == word


def test_the_worst_case_is_held_and_the_rest_given_back() -> None:
    budget = Budget(Limits(max_tokens=100, max_usd=1.0))
    held = budget.reserve(tokens=80, usd=0.6)
    assert held is not None
    assert budget.remaining().tokens == 20
    assert budget.reserve(tokens=21) is None
    assert budget.refusal(tokens=21) == "tokens"
    assert budget.refusal(usd=0.5) == "usd"
    held.settle(tokens=10, usd=0.1)

    assert budget.remaining().tokens == 90
    assert budget.remaining().usd == pytest.approx(0.9)
    assert (budget.spent_subcalls, budget.purse.spent.tokens) == (1, 10)


def test_a_call_that_never_ran_gives_everything_back() -> None:
    budget = Budget(Limits(max_subcalls=1, max_subcalls_per_step=1))
    budget.start_step()
    held = budget.reserve(tokens=5)
    assert held is not None
    held.release()
    assert (budget.spent_subcalls, budget.purse.spent.tokens) == (0, 0)
    assert budget.remaining().subcalls_this_step == 1


def test_settling_with_nonsense_keeps_the_worst_case() -> None:
    budget = Budget(Limits(max_tokens=10))
    held = budget.reserve(tokens=7)
    assert held is not None
    with pytest.raises(InvalidInputError):
        held.settle(tokens=-5)
    assert budget.remaining().tokens == 3
    assert budget.remaining().subcalls == 49


def test_a_step_has_its_own_allowance() -> None:
    budget = Budget(Limits(max_subcalls=10, max_subcalls_per_step=2))
    budget.start_step()
    assert [budget.reserve() is not None for _ in range(3)] == [True, True, False]
    budget.start_step()
    assert budget.remaining().subcalls_this_step == 2


def test_children_spend_their_parent_s_budget_and_narrow_only_their_own() -> None:
    root = Budget(Limits(max_subcalls=3, max_tokens=100))
    child = root.child(Limits(max_subcalls=2, max_tokens=1_000))
    for _ in range(2):
        held = child.reserve(tokens=10)
        assert held is not None
        held.settle(tokens=10)
    assert child.reserve() is None
    assert root.purse.spent.tokens == 20
    assert root.remaining().subcalls == 1
    assert child.remaining().tokens == 80


def test_depth_is_refused_beyond_the_limit_and_only_there() -> None:
    root = Budget(Limits(max_depth=2))
    deep = root.child().child()
    assert deep.depth == 2
    assert deep.remaining().depth == 0
    with pytest.raises(DepthLimitError, match=r"depth 3 is beyond the limit of 2"):
        deep.child()
    assert root.child().depth == 1


def test_a_child_can_t_raise_the_depth_limit() -> None:
    child = Budget(Limits(max_depth=1)).child(Limits(max_depth=9))
    with pytest.raises(DepthLimitError):
        child.child()


def test_time_runs_by_the_given_clock_and_a_child_has_no_more_than_its_parent() -> None:
    clock = Clock()
    root = Budget(Limits(timeout_s=10), clock=clock)
    clock.seconds += 7
    child = root.child(Limits(timeout_s=60))
    assert child.remaining().seconds == pytest.approx(3)
    clock.seconds += 3
    assert child.exhausted() == "timeout"


def test_money_does_not_drift_across_its_limit() -> None:
    budget = Budget(Limits(max_usd=0.3))
    for _ in range(3):
        held = budget.reserve(usd=0.1)
        assert held is not None, "0.1 + 0.1 + 0.1 is 0.3"
        held.settle(usd=0.1)
    assert budget.reserve(usd=0.000_000_001) is None


LIMITS = st.builds(
    Limits,
    max_subcalls=st.integers(0, 12),
    max_subcalls_per_step=st.integers(0, 6),
    max_depth=st.integers(0, 3),
    max_tokens=st.none() | st.integers(0, 300),
    max_usd=st.none() | st.integers(0, 30).map(lambda cents: cents / 100),
)
ACTIONS = st.lists(
    st.tuples(
        st.sampled_from(["reserve", "settle", "release", "extend", "child", "step", "drop"]),
        st.integers(0, 7),
        st.integers(0, 120),
        st.integers(0, 12).map(lambda cents: cents / 100),
        st.floats(0, 1),
    ),
    max_size=40,
)


@settings(
    max_examples=examples(1_000),
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow],
)
@given(LIMITS, LIMITS, ACTIONS)
def test_no_limit_is_ever_passed_whatever_is_tried(
    limits: Limits, narrower: Limits, actions: list[tuple[str, int, int, float, float]]
) -> None:
    budgets = [Budget(limits)]
    held: list[tuple[Reservation, Budget]] = []
    for what, which, tokens, usd, share in actions:
        budget = budgets[which % len(budgets)]
        if what == "reserve":
            got = budget.reserve(tokens=tokens, usd=usd)
            assert (got is None) == (budget.refusal(tokens=tokens, usd=usd) is not None) or got is not None
            if got is not None:
                held.append((got, budget))
        elif what == "child":
            try:
                budgets.append(budget.child(narrower if share < 0.5 else None))
            except DepthLimitError:
                assert budget.remaining().depth == 0
        elif what == "step":
            budget.start_step()
        elif held:
            one, _ = held[which % len(held)]
            if what == "settle":
                one.settle(tokens=int(one.tokens * share), usd=one.usd * share)
                held.remove(held[which % len(held)])
            elif what == "release":
                one.release()
                held.remove(held[which % len(held)])
            elif what == "extend":
                one.extend(tokens=tokens, usd=usd)
            else:
                one.settle(tokens=one.tokens, usd=one.usd)
                held.remove(held[which % len(held)])
        for node in budget._chain():
            check(node)
    for node in budgets:
        check(node)


def check(budget: Budget) -> None:
    assert 0 <= budget.spent_subcalls <= budget.limits.max_subcalls
    assert budget._this_step <= max(budget.limits.max_subcalls_per_step, 0)
    assert min(budget.purse._left()) >= 0
    assert min(budget.purse._reserved) >= 0

"""The tree of budgets: what is reserved, spent and given back, and that no limit is ever passed."""

from __future__ import annotations

import math
from dataclasses import fields
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from rooms import pay
from tests.profiles import examples

from recollect.errors import DepthLimitError, InvalidInputError
from recollect.providers.models.purse import Purse, Spent
from recollect.runs.budget import Budget, Limits


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
    pay(held, 10, 0.1)
    held.close()

    assert budget.remaining().tokens == 90
    assert budget.remaining().usd == pytest.approx(0.9)
    assert (budget.spent_subcalls, budget.purse.spent.tokens) == (1, 10)


def test_a_call_that_never_ran_gives_everything_back() -> None:
    budget = Budget(Limits(max_subcalls=1, max_subcalls_per_step=1))
    budget.start_step()
    held = budget.reserve(tokens=5)
    assert held is not None
    held.close()
    budget.release()
    assert (budget.spent_subcalls, budget.purse.spent.tokens) == (0, 0)
    assert budget.remaining().subcalls_this_step == 1


@pytest.mark.parametrize("cost", [{"tokens": -5}, {"usd": math.nan}, {"usd": -0.1}])
def test_a_cost_that_makes_no_sense_holds_nothing(cost: dict[str, Any]) -> None:
    budget = Budget(Limits(max_tokens=10))
    with pytest.raises(InvalidInputError):
        budget.reserve(**cost)
    assert budget.remaining().tokens == 10
    assert budget.remaining().subcalls == 50


def test_a_call_may_use_what_is_kept_for_it_and_what_others_leave() -> None:
    budget = Budget(Limits(max_tokens=100))
    first, second = budget.reserve(tokens=40), budget.reserve(tokens=30)
    assert first is not None
    assert second is not None
    assert (first.tokens_left(), second.tokens_left(), budget.remaining().tokens) == (70, 60, 30)
    first.hold(60, 0.0)
    assert (first.tokens_left(), second.tokens_left(), budget.remaining().tokens) == (10, 40, 10)
    assert first.used() == (60, 0.0, 0), "what is under way counts as its worst case"
    second.close(read_tokens=10)
    assert (first.tokens_left(), budget.remaining().tokens) == (30, 30)


def test_what_a_run_uses_is_on_the_account_of_who_asks_and_counted_once() -> None:
    account = Purse(max_usd=1.0)
    budget = Budget(Limits(max_usd=5.0), purse=account)
    call = budget.child().reserve(usd=0.5)
    assert call is not None
    pay(call, 10, 0.25)
    call.close(read_tokens=1_000)
    assert (account.spent.usd, account.spent.requests) == (0.25, 1)
    assert account.tokens_by_model()["total"] == 10, "what was read without a model is no model's"
    assert (account.usd_left(), budget.remaining().usd) == (0.75, 4.75)
    next_call = budget.reserve()
    assert next_call is not None
    assert (next_call.usd_left(), next_call.refusal(0, 0.8)) == (0.75, "usd")


def test_a_run_goes_on_without_a_model_when_whoever_asks_has_nothing_left() -> None:
    account = Purse(max_usd=0.1)
    budget = Budget(Limits(max_usd=5.0), purse=account)
    pay(account, 10, 0.2)
    assert budget.exhausted() is None
    call = budget.reserve()
    assert call is not None
    assert call.refusal(1, 0.001) == "usd"


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
        pay(held, 10)
        held.close()
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
        pay(held, 0, 0.1)
        held.close()
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
        st.sampled_from(["reserve", "settle", "release", "ask", "child", "step", "drop"]),
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
    held: list[tuple[Purse, Budget, tuple[int, float]]] = []
    for what, which, tokens, usd, share in actions:
        budget = budgets[which % len(budgets)]
        if what == "reserve":
            got = budget.reserve(tokens=tokens, usd=usd)
            assert (got is None) == (budget.refusal(tokens=tokens, usd=usd) is not None) or got is not None
            if got is not None:
                held.append((got, budget, (tokens, usd)))
        elif what == "child":
            try:
                budgets.append(budget.child(narrower if share < 0.5 else None))
            except DepthLimitError:
                assert budget.remaining().depth == 0
        elif what == "step":
            budget.start_step()
        elif held:
            one, above, worst = held[which % len(held)]
            assert one.used()[0] or one.used()[1] or one.refusal(*worst) is None, "it was set aside"
            if what == "ask":
                # Beyond what is kept for it, too, as far as there is room.
                if one.refusal(tokens, usd) is None:
                    pay(one, tokens, usd)
            else:
                part = (int(worst[0] * share), worst[1] * share)
                if what == "release":
                    above.release()
                elif one.refusal(*worst) is None:
                    one.hold(*worst)
                    spent = worst if what == "drop" else part
                    one.settle("a model", worst, Spent(input_tokens=spent[0], usd=spent[1]))
                one.close()
                del held[which % len(held)]
        for node in budget._chain():
            check(node)
    for node in budgets:
        check(node)


def check(budget: Budget) -> None:
    assert 0 <= budget.spent_subcalls <= budget.limits.max_subcalls
    assert budget._this_step <= max(budget.limits.max_subcalls_per_step, 0)
    assert min(budget.purse._left()) >= 0
    assert min(budget.purse._used) >= 0

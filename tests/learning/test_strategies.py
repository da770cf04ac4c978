"""Which weights a search gets: the experiment's, the user's, the tenant's, or the table's."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import psycopg
import pytest
from tests.learning.conftest import NOON, Bench, who

from recollect import Recollect, TenantContext
from recollect.domain.ids import new_id
from recollect.domain.learning import Choice, Policy
from recollect.domain.query import SIGNALS, Category, QueryType, Strategy
from recollect.errors import ConflictError, InvalidInputError, NotFoundError
from recollect.learning.strategies import TTL_S, StrategyBook, assign, tilted
from recollect.retrieval.understand import STRATEGY_WEIGHTS
from recollect.storage import learning as storage

KIND = QueryType(category=Category.EXPLORATORY)
DEFAULT = Strategy(name="exploratory", weights=STRATEGY_WEIGHTS["exploratory"])
RECENT = {name: 0.6 if name == "temporal_relevance" else 0.1 for name in SIGNALS}
IMPORTANT = {name: 0.6 if name == "importance" else 0.1 for name in SIGNALS}


def choose(bench: Bench, context: TenantContext, book: StrategyBook | None = None) -> Choice:
    async def go() -> Choice:
        async with bench.workspace.store.transaction(context) as tx:
            return await (book or bench.workspace.strategies).strategy_for(tx, KIND, DEFAULT, new_id())

    return bench.run(go())


def save(
    bench: Bench, tenant_id: str, user: str | None, weights: dict[str, float], state: str = "active"
) -> None:
    policy = Policy(
        id=new_id(),
        user_id=user,
        strategy="exploratory",
        weights=weights,
        state=state,
        events=1000,
        evaluation={},
        created_at=NOON,
    )

    async def go() -> None:
        async with bench.workspace.store.transaction(who(tenant_id, "root", roles=("admin",))) as tx:
            await storage.save_policy(tx, policy)

    bench.run(go())
    bench.workspace.strategies.forget(tenant_id)


def test_without_anything_learned_the_table_rules(bench: Bench, tenant_id: str) -> None:
    choice = choose(bench, who(tenant_id))
    assert choice == Choice(strategy=DEFAULT)


def test_the_users_weights_come_before_the_tenants(bench: Bench, tenant_id: str) -> None:
    save(bench, tenant_id, None, RECENT)
    save(bench, tenant_id, "ana", IMPORTANT)
    ana, bob = choose(bench, who(tenant_id, "ana")), choose(bench, who(tenant_id, "bob"))
    assert (ana.strategy.weights, ana.strategy.source, ana.strategy.name) == (
        IMPORTANT,
        "learned",
        "exploratory",
    )
    assert bob.strategy.weights == RECENT
    assert choose(bench, who(tenant_id, None, agent_id="bot")).strategy.weights == RECENT


def test_one_users_weights_do_not_reach_another(bench: Bench, tenant_id: str) -> None:
    save(bench, tenant_id, "ana", IMPORTANT)
    assert choose(bench, who(tenant_id, "bob")).strategy == DEFAULT


def test_a_candidate_is_not_used(bench: Bench, tenant_id: str) -> None:
    save(bench, tenant_id, "ana", IMPORTANT, state="candidate")
    assert choose(bench, who(tenant_id, "ana")).strategy == DEFAULT


def test_what_was_read_is_kept_for_a_while(bench: Bench, tenant_id: str) -> None:
    now = [0.0]
    book = StrategyBook(timer=lambda: now[0])
    assert choose(bench, who(tenant_id), book).strategy == DEFAULT
    save(bench, tenant_id, "ana", IMPORTANT)
    now[0] = TTL_S - 1
    assert choose(bench, who(tenant_id), book).strategy == DEFAULT
    now[0] = TTL_S + 1
    assert choose(bench, who(tenant_id), book).strategy.weights == IMPORTANT


def test_switched_off_only_the_table_counts(bench: Bench, tenant_id: str) -> None:
    save(bench, tenant_id, "ana", IMPORTANT)
    assert choose(bench, who(tenant_id), StrategyBook(enabled=False)).strategy == DEFAULT


def test_exploring_says_with_which_probability_it_drew(bench: Bench, tenant_id: str) -> None:
    draws = iter([0.05, 0.099, 0.5])
    book = StrategyBook(explore=0.1, draw=lambda: next(draws))
    first, second, usual = (choose(bench, who(tenant_id), book) for _ in range(3))
    assert first.arm == f"explore/{SIGNALS[2]}"
    assert second.arm == f"explore/{SIGNALS[4]}"
    assert first.propensity == pytest.approx(0.02)
    assert first.strategy.weights == tilted(DEFAULT.weights, SIGNALS[2])
    assert sum(first.strategy.weights.values()) == pytest.approx(1.0)
    assert (usual.arm, usual.strategy) == (None, DEFAULT)
    assert usual.propensity == pytest.approx(0.9)


def test_shares_are_kept_and_the_same_user_always_gets_the_same_arm() -> None:
    plan = {"unit": "user", "order": ["a", "b"], "shares": {"a": 0.6, "b": 0.2}}
    callers = [TenantContext(tenant_id="acme", user_id=f"u{n}") for n in range(5_000)]
    first = [assign("x", plan, caller, new_id()) for caller in callers]
    assert first == [assign("x", plan, caller, new_id()) for caller in callers]
    counts = Counter(arm for arm, _ in first)
    assert counts["a"] / 5_000 == pytest.approx(0.6, abs=0.03)
    assert counts["b"] / 5_000 == pytest.approx(0.2, abs=0.03)
    assert dict(first) == {"a": 0.6, "b": 0.2, None: pytest.approx(0.2)}
    other = [assign("y", plan, caller, new_id())[0] for caller in callers]
    assert other != [arm for arm, _ in first]


@pytest.mark.parametrize("unit", ["session", "query"])
def test_a_lot_may_be_drawn_per_session_or_question(unit: str) -> None:
    plan = {"unit": unit, "order": ["a", "b"], "shares": {"a": 0.5, "b": 0.5}}
    arms = {
        assign("x", plan, TenantContext(tenant_id="acme", user_id="ana", session_id=f"s{n}"), new_id())[0]
        for n in range(50)
    }
    assert arms == {"a", "b"}


def test_an_experiments_arms_rank_the_searches(client: Recollect, bench: Bench, tenant_id: str) -> None:
    client.learning.start_experiment(
        "recency", {"usual": {}, "recent": {"temporal_relevance": 3, "importance": 1}}
    )
    seen = {}
    for number in range(40):
        choice = choose(bench, who(tenant_id, f"u{number}"))
        seen[choice.arm] = choice
    assert set(seen) == {"recency/usual", "recency/recent"}
    assert seen["recency/usual"].strategy == DEFAULT
    assert seen["recency/recent"].strategy.weights["temporal_relevance"] == 0.75
    assert seen["recency/recent"].strategy.source == "experiment"
    assert {choice.propensity for choice in seen.values()} == {0.5}
    client.learning.stop_experiment("recency")
    bench.workspace.strategies.forget(tenant_id)
    assert choose(bench, who(tenant_id)).arm is None


def test_rows_that_can_not_be_read_break_no_search(bench: Bench, tenant_id: str, owner_conninfo: str) -> None:
    save(bench, tenant_id, None, {"importance": 1.0})
    with psycopg.connect(owner_conninfo) as connection:
        connection.execute(
            "insert into recollect.experiment (tenant_id, name, arms, state) values (%s, 'odd', '{}', 'running')",
            [tenant_id],
        )
    assert choose(bench, who(tenant_id)) == Choice(strategy=DEFAULT)


def test_an_arm_may_change_one_kind_of_question_only(client: Recollect, bench: Bench, tenant_id: str) -> None:
    weights = {"procedural": {"reinforcement": 1}}
    client.learning.start_experiment("p", {"usual": {}, "proven": weights})
    assert {choose(bench, who(tenant_id, f"u{n}")).strategy.source for n in range(20)} == {"table"}


@pytest.mark.parametrize(
    ("arms", "shares", "unit", "complaint"),
    [
        ({"a": {}}, None, "user", "2 to 10"),
        ({"a": {}, "b": {"luck": 1}}, None, "user", "unknown signal 'luck'"),
        ({"a": {}, "b": {"importance": -1}}, None, "user", "0 or more"),
        ({"a": {}, "b": {"importance": 0}}, None, "user", "above 0"),
        ({"a": {}, "b": {"importance": float("nan")}}, None, "user", "0 or more"),
        ({"a": {}, "b": {"dreamy": {"importance": 1}}}, None, "user", "no known strategy"),
        ({"a": {}, "b/c": {}}, None, "user", "'/'"),
        ({"a": {}, "b": 7}, None, "user", r"arms\['b'\] must be a dict, not 7"),
        ({"a": {}, "b": {}}, {"a": 1.0}, "user", "each arm"),
        ({"a": {}, "b": {}}, {"a": 0.9, "b": 0.2}, "user", "more than 1"),
        ({"a": {}, "b": {}}, {"a": 0.5, "b": 0}, "user", "above 0"),
        ({"a": {}, "b": {}}, None, "moon", "unknown unit"),
        (["a", "b"], None, "user", "arms must be a dict, not list"),
    ],
)
def test_a_plan_that_makes_no_sense_is_refused(
    client: Recollect, rows: Callable[..., Any], arms: Any, shares: Any, unit: str, complaint: str
) -> None:
    with pytest.raises(InvalidInputError, match=complaint):
        client.learning.start_experiment("x", arms, shares=shares, unit=unit)
    assert rows("experiment") == []


def test_one_experiment_runs_at_a_time_and_a_name_is_used_once(client: Recollect) -> None:
    arms: dict[str, Any] = {"a": {}, "b": {"importance": 1}}
    client.learning.start_experiment("first", arms)
    with pytest.raises(ConflictError, match="'first' is running"):
        client.learning.start_experiment("second", arms)
    assert client.learning.stop_experiment("first").state == "stopped"
    with pytest.raises(ConflictError, match="stopped already"):
        client.learning.stop_experiment("first")
    with pytest.raises(ConflictError, match="another name"):
        client.learning.start_experiment("first", arms)
    with pytest.raises(NotFoundError, match="no experiment 'third'"):
        client.learning.report("third")

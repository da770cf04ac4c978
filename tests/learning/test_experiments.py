"""What an experiment proves, from searches that were recorded."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from tests.learning.conftest import Bench, event, who

from recollect import Recollect
from recollect.domain.ids import new_id
from recollect.errors import NotFoundError
from recollect.learning.experiments import decide
from recollect.learning.rewards import Measured
from recollect.learning.strategies import assign


def run(
    bench: Bench, client: Recollect, tenant_id: str, rates: dict[str, float], *, users: int, each: int
) -> None:
    """Searches of many users under an experiment; an arm's rate says how often its hits are used.

    Who gets which arm depends on the tenant's id, which no test chooses. So the uses are spread by
    count, one user of an arm a little above its rate and the next a little below, and not by chance.
    """
    seen: Counter[str] = Counter()
    memory = client.add("the launch is on Friday", layer="company")
    client.scopes.create("team/all")
    experiment = client.learning.start_experiment(
        "recency", {"usual": {}, "recent": {"temporal_relevance": 1}}
    )
    plan: dict[str, Any] = {"unit": "user", "order": ["usual", "recent"], "shares": dict(experiment.shares)}

    def record() -> None:
        for number in range(users):
            context = who(tenant_id, f"u{number}", roles=("lead:team/all",))
            arm, share = assign("recency", plan, context, new_id())
            uses = round(rates[str(arm)] * each) + (1, -1)[seen[str(arm)] % 2]
            seen[str(arm)] += 1
            for turn in range(each):
                search = event(
                    [memory.id], at=bench.workspace.clock(), arm=f"recency/{arm}", propensity=share
                )
                bench.workspace.events.record(context, search)
                if turn < uses:
                    bench.workspace.events.mark_used(context, search.query_id, [memory.id], reported=True)

    bench.call(record)
    bench.flush()


def test_the_better_arm_is_named_with_its_numbers(bench: Bench, client: Recollect, tenant_id: str) -> None:
    run(bench, client, tenant_id, {"usual": 0.2, "recent": 0.6}, users=40, each=12)
    report = client.learning.report()
    by_arm = {arm.arm: arm for arm in report.arms}
    assert report.winner == "recent"
    assert report.verdict.startswith("'recent' does better than 'usual'")
    assert by_arm["recent"].queries + by_arm["usual"].queries == 480
    used = by_arm["recent"].used
    assert used.low is not None
    assert used.high is not None
    assert used.low < 0.6 < used.high
    assert by_arm["usual"].feedback.value is None


def test_arms_that_serve_alike_are_not_told_apart(bench: Bench, client: Recollect, tenant_id: str) -> None:
    # Of 30 users an arm had fewer than the ten it needs in one run of twenty-three; of 45 in one of ten thousand.
    run(bench, client, tenant_id, {"usual": 0.4, "recent": 0.4}, users=45, each=10)
    report = client.learning.report("recency")
    assert report.winner is None
    assert "can't be told" in report.verdict


def test_a_few_searches_prove_nothing(bench: Bench, client: Recollect, tenant_id: str) -> None:
    run(bench, client, tenant_id, {"usual": 0.0, "recent": 1.0}, users=6, each=2)
    report = client.learning.report()
    assert report.winner is None
    assert "too early" in report.verdict


def test_without_an_experiment_there_is_no_report(client: Recollect) -> None:
    with pytest.raises(NotFoundError, match="no experiment yet"):
        client.learning.report()


def test_the_first_arm_wins_when_all_others_are_worse() -> None:
    def measured(value: float) -> Measured:
        return Measured(value=value, error=0.01, count=1000, clusters=50)

    verdict, winner = decide({"a": measured(0.5), "b": measured(0.3), "c": measured(0.4)})
    assert winner == "a"
    assert verdict.count("does worse than 'a'") == 2


def test_more_comparisons_need_clearer_differences() -> None:
    base = Measured(value=0.5, error=0.02, count=1000, clusters=500)
    better = Measured(value=0.56, error=0.02, count=1000, clusters=500)
    assert decide({"a": base, "b": better})[1] == "b"
    assert decide({"a": base, "b": better} | {f"c{n}": base for n in range(8)})[1] is None

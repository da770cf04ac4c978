"""Training before anybody asks: tasks from what memories name, a policy that must not be worse, and no trace."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any
from uuid import UUID, uuid4

import pytest
from tests.learning.conftest import NOON, Bench, who
from tests.learning.toy import run_toy

from recollect import Recollect
from recollect.domain.trajectory import Trajectory
from recollect.errors import InvalidInputError, TenantNotFoundError
from recollect.learning.bootstrap import BootstrapConfig, BootstrapTaskTemplate, BootstrapTrainer
from recollect.learning.bootstrap_tasks import KINDS, TEMPLATES, BootstrapTask, Expected
from recollect.learning.decomposition import DecompositionConfig
from recollect.learning.policy import PRIOR, DecompositionPolicy, base_policy
from recollect.retrieval.training import bootstrap_tenant

Fill = dict[str, list[UUID]]


@pytest.fixture
def company(client: Recollect) -> Fill:
    """Three teams that speak of Acme, one of which speaks of Borealis, and what leads from Zelda to Kestrel."""
    labels: list[str] = []
    items: list[dict[str, Any]] = []
    for team in ("api", "web", "sea"):
        client.scopes.create(f"team/{team}")

    def add(label: str, text: str, *entities: str, scope: str = "team/api", month: int = 1) -> None:
        labels.append(label)
        when = f"2025-{month:02}-03T10:00:00Z"
        items.append({"text": text, "scope": scope, "entities": list(entities), "created_at": when})

    for number, team in enumerate(("api", "web", "sea")):
        for month in (1, 4, 7, 10):
            add(f"acme-{team}", f"ours is {month} and {number}", "Acme", scope=f"team/{team}", month=month)
    add("borealis", "it was slow at first", "Borealis")
    add("borealis", "it is fast by now", "Borealis")
    add("first", "she picked it from the three", "Zelda", "Kestrel")
    add("second", "it broke down on Monday", "Kestrel")
    made: Fill = {}
    for label, id in zip(labels, client.add_many(items).ids, strict=True):
        assert id is not None
        made.setdefault(label, []).append(id)
    return made


def trainer(bench: Bench, execute: Any, **parts: Any) -> BootstrapTrainer:
    return BootstrapTrainer(bench.workspace.store, execute, clock=lambda: NOON, **parts)


def tasks_of(bench: Bench, tenant_id: str, kind: str, multiplier: int = 20) -> list[BootstrapTask]:
    templates = [template for template in TEMPLATES if template.kind == kind][:1]
    made = trainer(bench, None).generate_bootstrap_tasks(
        templates, who(tenant_id, "root", roles=("admin",)), multiplier
    )
    return bench.run(made)


def test_a_task_across_scopes_expects_a_memory_of_every_scope_that_speaks_of_it(
    bench: Bench, tenant_id: str, company: Fill
) -> None:
    [task] = tasks_of(bench, tenant_id, "scopes")
    assert task.query == "compare Acme across all teams"
    assert {one.ids for one in task.expected} == {
        frozenset(company[f"acme-{team}"]) for team in ("api", "web", "sea")
    }
    assert task.quality([company["acme-api"][0]]) == pytest.approx(1 / 3)
    assert task.quality([company[f"acme-{team}"][1] for team in ("api", "web", "sea")]) == 1.0


def test_a_task_over_time_expects_a_memory_of_every_quarter(
    bench: Bench, tenant_id: str, company: Fill
) -> None:
    [task] = tasks_of(bench, tenant_id, "periods")
    assert task.query == "trace the history of Acme since January 2025"
    assert len(task.expected) == 4
    assert all(len(one.ids) == 3 for one in task.expected)


def test_a_task_over_a_bridge_expects_what_only_the_bridge_names(
    bench: Bench, tenant_id: str, company: Fill
) -> None:
    [task] = [task for task in tasks_of(bench, tenant_id, "bridge") if "Zelda" in task.query]
    assert "Kestrel" not in task.query
    assert [one.ids for one in task.expected] == [frozenset(company["first"]), frozenset(company["second"])]


def test_a_task_about_two_things_gives_each_half_of_the_list(
    bench: Bench, tenant_id: str, company: Fill
) -> None:
    tasks = tasks_of(bench, tenant_id, "pair")
    assert tasks
    for task in tasks:
        assert len(task.expected) == 2
        assert all(1 <= one.wanted <= 5 for one in task.expected)


def test_quality_counts_only_the_first_ten_and_no_more_than_is_wanted() -> None:
    ids = [uuid4() for _ in range(20)]
    everything = BootstrapTask(template="x", query="x", expected=(Expected(ids=frozenset(ids), wanted=10),))
    assert everything.quality(ids) == 1.0
    assert everything.quality(ids[:5]) == 0.5
    assert everything.quality([uuid4() for _ in range(10)] + ids) == 0.0


def test_the_same_seed_makes_the_same_tasks(bench: Bench, tenant_id: str, company: Fill) -> None:
    admin = who(tenant_id, "root", roles=("admin",))

    def queries(seed: int) -> list[str]:
        made = trainer(bench, None, seed=seed).generate_bootstrap_tasks(TEMPLATES, admin, 3)
        return [task.query for task in bench.run(made)]

    assert queries(4) == queries(4)


def test_some_templates_of_every_kind_train_and_others_are_held_out() -> None:
    for held_out in (False, True):
        assert {one.kind for one in TEMPLATES if one.held_out is held_out} == set(KINDS)
    assert len({one.name for one in TEMPLATES}) == len({one.text for one in TEMPLATES}) == len(TEMPLATES)


@pytest.mark.parametrize(
    ("template", "multiplier"),
    [
        (BootstrapTaskTemplate(name="x", kind="nothing", text="{entity}"), 1),
        (BootstrapTaskTemplate(name="x", kind="entity", text="{nothing}"), 1),
        (BootstrapTaskTemplate(name="x", kind="entity", text="{entity"), 1),
        (TEMPLATES[0], 0),
    ],
)
def test_templates_that_make_no_sense_are_refused(
    bench: Bench, tenant_id: str, company: Fill, template: BootstrapTaskTemplate, multiplier: int
) -> None:
    made = trainer(bench, None).generate_bootstrap_tasks(
        [template], who(tenant_id, "root", roles=("admin",)), multiplier
    )
    with pytest.raises(InvalidInputError):
        bench.run(made)


def toy_execute(all_ids: Sequence[UUID]) -> Any:
    """Answers comparisons of scopes by scope, everything else by a bridge; a toy in place of the search."""

    async def execute(
        query: str, policy: DecompositionPolicy, rng: random.Random
    ) -> tuple[Sequence[UUID], Trajectory]:
        answered, trajectory = run_toy("compare" if "teams" in query else "follow", policy, rng)
        return (all_ids if answered else ()), trajectory

    return execute


def test_a_policy_that_gains_on_other_templates_is_used_from_then_on(
    bench: Bench, tenant_id: str, company: Fill, rows: Callable[..., list[dict[str, Any]]]
) -> None:
    # One memory of each is enough for all that is expected here but lists.
    ids = [some[0] for some in company.values()]
    config = BootstrapConfig(multiplier=4, tasks=10, rollouts=4)
    training = trainer(bench, toy_execute(ids), config=config, seed=1)
    admin = who(tenant_id, "root", roles=("admin",))
    result = bench.run(training.bootstrap(admin, 25))
    assert result.adopted, result
    assert result.gain_low > 0
    assert result.reward_after > result.reward_before
    assert result.subcalls_after <= result.subcalls_before
    assert len(result.curve) == 25
    [policy] = [row for row in rows("policy") if row["kind"] == "decomposition"]
    assert policy["state"] == "active"
    assert rows("run") == [], "nobody asked these questions"


def test_a_policy_that_loses_on_other_templates_is_not_used(
    bench: Bench, tenant_id: str, company: Fill
) -> None:
    ids = [some[0] for some in company.values()]

    async def execute(
        query: str, policy: DecompositionPolicy, rng: random.Random
    ) -> tuple[Sequence[UUID], Trajectory]:
        answered, trajectory = run_toy("compare", policy, rng)
        # Held-out questions are asked with the best choices, and only the untrained ones serve there.
        serves = answered if policy.exploration else policy.weights == base_policy().weights
        return (ids if serves else ()), trajectory

    config = BootstrapConfig(multiplier=3, tasks=10, rollouts=4)
    result = bench.run(
        trainer(bench, execute, config=config).bootstrap(who(tenant_id, "root", roles=("admin",)), 3)
    )
    assert not result.adopted
    assert result.gain < 0

    async def used() -> DecompositionPolicy:
        async with bench.workspace.store.transaction(who(tenant_id)) as tx:
            return await bench.workspace.policies.policy_for(tx)

    assert bench.run(used()) == base_policy()


def test_a_tenant_without_memories_learns_nothing_and_is_told_so(client: Recollect) -> None:
    result = client.learning.bootstrap(iterations=2)
    assert (result.tasks, result.iterations, result.adopted) == (0, 0, False)
    assert "too little" in result.reason


def test_a_tenant_that_is_gone_learns_nothing(bench: Bench) -> None:
    with pytest.raises(TenantNotFoundError):
        bench.run(trainer(bench, None).bootstrap(who("nobody-here", "root", roles=("admin",)), 1))


@pytest.mark.parametrize(
    "bad", [{"iterations": 0}, {"iterations": "many"}, {"seed": -1}, {"iterations": True}]
)
def test_bad_input_to_bootstrap_is_refused(client: Recollect, bad: dict[str, Any]) -> None:
    with pytest.raises(InvalidInputError):
        client.learning.bootstrap(**bad)


def test_what_one_tenant_learned_from_real_searches_no_other_one_uses(
    bench: Bench, store: Recollect, client: Recollect, tenant_id: str, company: Fill, rows: Callable[..., Any]
) -> None:
    config = BootstrapConfig(
        multiplier=2, tasks=5, rollouts=4, decomposition=DecompositionConfig(min_batch=20)
    )
    admin = who(tenant_id, "root", roles=("admin",))
    bench.run(bootstrap_tenant(bench.workspace, admin, iterations=1, config=config))
    assert rows("run") == [], "synthetic questions leave no trace"

    async def adopt() -> None:
        from recollect.learning.utility import CombinedMemoryTrainer

        async with bench.workspace.store.transaction(admin) as tx:
            combined = CombinedMemoryTrainer()
            state = await combined.load_policy_state(tx)
            state.decomposition.policy = replace(PRIOR, weights={"search": {"bias": 2.0}})
            await combined.save_policy_state(tx, state, NOON)

    bench.run(adopt())
    other = f"t-{uuid4().hex[:12]}"
    store.tenants.create(other)
    there = store.for_context(who(other, "root", roles=("admin",)))
    for team in ("api", "web"):
        there.scopes.create(f"team/{team}")
        there.add(f"The {team} team uses Acme.", scope=f"team/{team}")
    for asker in (client, there):
        asker.search("Compare Acme across all teams", threshold=0.0)
    [own], [others] = client.learning.runs(), there.learning.runs()
    active = [row for row in rows("policy") if row["kind"] == "decomposition" and row["state"] == "active"]
    assert own.policy_id == active[0]["policy_id"]
    assert others.policy_id is None
    assert (own.environment, own.user_id) == ("memory", "root")
    assert there.learning.status().decomposition == ()

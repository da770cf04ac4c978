"""Learning how to decompose: from toy runs, and from stored ones through the store and the public door."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any
from uuid import UUID, uuid4

import psycopg
import pytest
from tests.learning.conftest import NOON, Bench, event, who
from tests.learning.toy import LOOK_TOKENS, run_toy

from recollect import Recollect
from recollect.domain.findings import Finding
from recollect.domain.learning import RunOutcome
from recollect.domain.trajectory import Trajectory
from recollect.errors import ForbiddenError, NotFoundError
from recollect.learning.decomposition import (
    DecompositionConfig,
    DecompositionTrainer,
    TrainingState,
    record_outcome,
)
from recollect.learning.gradient import Episode, advantages, judge
from recollect.learning.policy import MAX_WEIGHT, PRIOR, DecompositionPolicy, base_policy
from recollect.learning.rewards import RewardConfig, Signal, TrainingOutcome, split
from recollect.learning.runs import bare, decisions_of, outcome_of
from recollect.learning.strategies import TTL_S, PolicyBook
from recollect.learning.utility import CombinedMemoryTrainer, CombinedTrainer

GOOD = TrainingOutcome(signal=Signal.RESULT_USED, quality_score=1.0)
BAD = TrainingOutcome(signal=Signal.RESULT_IGNORED)
#: Three looks waste all there is to waste, and a full success is not cut off.
CONFIG = DecompositionConfig(
    reward=RewardConfig(success_weight=0.7, efficiency_weight=0.3, token_ceiling=3 * LOOK_TOKENS)
)


def practise(trainer: DecompositionTrainer, rounds: int, seed: int = 3) -> list[float]:
    """Train on toy questions of both kinds, drawn by lot."""
    rng = random.Random(seed)
    rewards = []
    for _ in range(rounds):
        runs: list[Trajectory] = []
        groups: dict[UUID, object] = {}
        for number in range(40):
            kind = "compare" if number % 2 else "follow"
            answered, run = run_toy(kind, trainer.policy.exploring(1.0), rng)
            trainer.record_outcome(run.id, GOOD if answered else BAD)
            runs.append(run)
            groups[run.id] = kind
        rewards.append(trainer.train(runs, groups=groups).mean_reward)
    return rewards


def path(kind: str, policy: DecompositionPolicy) -> list[str]:
    _, run = run_toy(kind, policy.exploring(0.0), random.Random(0))
    return [step.choice.template for step in run.steps if step.choice]


# Without a store ----------------------------------------------------------------------------------


def test_training_finds_the_split_that_answers_each_kind_of_question_and_leaves_out_the_rest() -> None:
    trainer = DecompositionTrainer(PRIOR, config=CONFIG)
    rewards = practise(trainer, 30)
    assert path("compare", trainer.policy) == ["by_scope", "stop"]
    assert path("follow", trainer.policy) == ["bridge", "stop"]
    assert rewards[-1] > rewards[0] + 0.1
    assert trainer.state.trainings == 30
    assert trainer.state.runs == 30 * 40
    assert 0.05 <= trainer.state.exploration_rate < 1.0
    assert all(abs(w) <= MAX_WEIGHT for known in trainer.policy.weights.values() for w in known.values())


def toy_runs(count: int, policy: DecompositionPolicy = PRIOR, seed: int = 1) -> list[tuple[bool, Trajectory]]:
    rng = random.Random(seed)
    return [
        run_toy("compare" if n % 2 else "follow", policy.exploring(1.0), rng, number=n) for n in range(count)
    ]


def test_fewer_than_twenty_runs_with_a_signal_train_nothing() -> None:
    trainer = DecompositionTrainer(PRIOR)
    runs = toy_runs(30)
    for answered, run in runs[:19]:
        trainer.record_outcome(run.id, GOOD if answered else BAD)
    step = trainer.train([run for _, run in runs])
    assert (step.trained, step.runs) == (False, 19)
    assert trainer.policy == PRIOR
    assert trainer.state == TrainingState()
    trainer.record_outcome(runs[19][1].id, GOOD)
    assert trainer.train([run for _, run in runs]).trained
    assert trainer.policy != PRIOR
    assert trainer.train([run for _, run in runs]).runs == 0, "an outcome trains once"


def test_outcomes_without_a_signal_train_nothing() -> None:
    trainer = DecompositionTrainer(PRIOR)
    runs = [run for _, run in toy_runs(40)]
    for run in runs:
        trainer.record_outcome(run.id, TrainingOutcome(signal=Signal.NO_SIGNAL))
    assert trainer.train(runs).runs == 0
    assert trainer.policy == PRIOR


def test_runs_of_one_task_are_compared_with_each_other() -> None:
    episodes = [
        Episode(decisions=(), reward=r, group=g) for r, g in [(1.0, "easy"), (0.8, "easy"), (0.2, "hard")]
    ]
    found = advantages([*episodes, Episode(decisions=(), reward=0.0, group="hard")], baseline=0.9)
    assert found[0] > 0 > found[1]
    assert found[2] > 0 > found[3], "better than the other run of a hard task, whatever is usual elsewhere"


def test_an_action_is_drawn_with_the_probability_it_had() -> None:
    trainer = DecompositionTrainer(PRIOR, TrainingState(exploration_rate=0.4))
    options = decisions_of(toy_runs(1)[0][1])[0].options
    name, chance = trainer.select_action(options, random.Random(4))
    assert chance == PRIOR.exploring(0.4).probabilities(options)[name]


def episodes_of(runs: Sequence[tuple[bool, Trajectory]]) -> list[Episode]:
    reward = CONFIG.reward
    return [
        Episode(
            decisions=tuple(decisions_of(run)),
            reward=reward.compute(GOOD if answered else BAD, tokens_used=run.usage.tokens),
        )
        for answered, run in runs
    ]


def test_the_gate_lets_a_better_policy_pass_and_stops_a_worse_one() -> None:
    better = DecompositionTrainer(PRIOR, config=CONFIG)
    practise(better, 10)
    worse = replace(PRIOR, weights={**PRIOR.weights, "stop": {"bias": 5.0}, "search": {"bias": 0.0}})
    logged = episodes_of(toy_runs(600, seed=9))
    mixed = PRIOR.exploring(1.0)
    assert judge(logged, better.policy.exploring(1.0), mixed).adopted
    verdict = judge(logged, worse.exploring(1.0), mixed)
    assert not verdict.adopted
    assert "worse" in verdict.reason


def test_the_gate_stops_a_policy_that_would_do_what_was_never_tried() -> None:
    always = [run_toy("compare", PRIOR, random.Random(n)) for n in range(60)]
    other = replace(PRIOR, weights={**PRIOR.weights, "by_scope": {"bias": 5.0}, "search": {"bias": -5.0}})
    verdict = judge(episodes_of(always), other, PRIOR)
    assert not verdict.adopted
    assert verdict.effective_runs == 0.0
    assert judge(episodes_of(always), PRIOR, PRIOR).adopted, "the same choices can't be worse"


def test_no_session_is_both_in_training_and_in_the_proof() -> None:
    episodes = [Episode(decisions=(), reward=0.0, cluster=n // 7) for n in range(40)]
    train, test = split(episodes, 0.4)
    assert len(train) + len(test) == 40
    assert not {one.cluster for one in train} & {one.cluster for one in test}
    assert test


def test_a_state_survives_json_and_one_from_before_has_defaults() -> None:
    state = TrainingState(exploration_rate=0.3, trainings=4, runs=99, mean_reward=0.5, turned_down_at=21)
    assert TrainingState.read(state.document()) == state
    assert TrainingState.read({}) == TrainingState()


def test_both_names_of_the_combined_trainer_are_one() -> None:
    assert CombinedTrainer is CombinedMemoryTrainer


@pytest.mark.parametrize(
    ("known", "signal", "quality"),
    [
        (RunOutcome(search_outcome="used", used=1), Signal.RESULT_USED, 0.6),
        (RunOutcome(search_outcome="used", used=9), Signal.RESULT_USED, 1.0),
        (RunOutcome(search_outcome="context", used=5), Signal.RESULT_USED, 0.5),
        (RunOutcome(search_outcome="feedback", judged=-0.5), Signal.RESULT_USED, -0.5),
        (RunOutcome(search_outcome="refined"), Signal.QUERY_REFINED, 1.0),
        (RunOutcome(search_outcome="ignored"), Signal.RESULT_IGNORED, 1.0),
        (RunOutcome(), Signal.NO_SIGNAL, 1.0),
        (RunOutcome(outcome="result_ignored", search_outcome="used", used=3), Signal.RESULT_IGNORED, 1.0),
        (RunOutcome(outcome="result_used", quality=0.25), Signal.RESULT_USED, 0.25),
    ],
)
def test_a_run_is_worth_what_came_of_its_search(known: RunOutcome, signal: Signal, quality: float) -> None:
    assert outcome_of(known) == TrainingOutcome(signal=signal, quality_score=quality)


# With a store -------------------------------------------------------------------------------------


def log_toy_runs(bench: Bench, context: Any, runs: Sequence[tuple[bool, Trajectory]]) -> None:
    """Runs of searches that went as their answers deserve, in sessions of five."""
    for number, (answered, run) in enumerate(runs):
        caller = replace(context, session_id=f"s{number // 5}")
        search = event(at=NOON, terms=(f"word{number}",))
        bench.call(bench.workspace.events.record, caller, search)
        bench.call(bench.workspace.events.record_run, caller, run, query_id=search.query_id)
        bench.run(bench.workspace.events.flush())
        outcome = GOOD if answered else BAD

        async def say(
            caller: Any = caller, run: Trajectory = run, outcome: TrainingOutcome = outcome
        ) -> None:
            async with bench.workspace.store.transaction(caller) as tx:
                await record_outcome(tx, run.id, outcome)

        bench.run(say())


def train_stored(bench: Bench, tenant_id: str, config: DecompositionConfig = CONFIG) -> Any:
    async def go() -> Any:
        async with bench.workspace.store.transaction(who(tenant_id, "root", roles=("admin",))) as tx:
            return await CombinedMemoryTrainer(decomposition=config).train(tx, NOON + timedelta(days=1))

    return bench.run(go())


async def _policy(bench: Bench, tenant_id: str, book: PolicyBook) -> DecompositionPolicy:
    async with bench.workspace.store.transaction(who(tenant_id)) as tx:
        return await book.policy_for(tx)


def adopt(
    bench: Bench, tenant_id: str, policy: DecompositionPolicy, state: TrainingState | None = None
) -> None:
    """Let a tenant use a policy, as another process's training would."""

    async def go() -> None:
        async with bench.workspace.store.transaction(who(tenant_id, "root", roles=("admin",))) as tx:
            combined = CombinedMemoryTrainer()
            found = await combined.load_policy_state(tx)
            found.decomposition.policy = policy
            found.decomposition.state = state or TrainingState()
            await combined.save_policy_state(tx, found, NOON)

    bench.run(go())


def test_a_stored_run_holds_no_word_of_the_question_nor_of_a_memory(
    bench: Bench, tenant_id: str, rows: Callable[..., list[dict[str, Any]]]
) -> None:
    _, run = toy_runs(1)[0]
    bench.call(bench.workspace.events.record_run, who(tenant_id), run)
    bench.flush()
    [stored] = rows("run")
    assert "secret" not in str(stored)
    assert stored["subcalls"] == run.usage.subcalls
    assert stored["user_id"] == "ana"
    assert Trajectory.read(stored["trajectory"]) == bare(run)
    assert decisions_of(Trajectory.read(stored["trajectory"])) == decisions_of(run)


def test_a_run_over_documents_meets_no_memory(
    bench: Bench, tenant_id: str, rows: Callable[..., list[dict[str, Any]]]
) -> None:
    _, run = toy_runs(1)[0]
    by_id = Finding(description="", evidence="", source_file=str(uuid4()))
    over_documents = replace(run, environment="library", findings=(by_id,))
    bench.call(bench.workspace.events.record_run, who(tenant_id), over_documents)
    bench.flush()
    [stored] = rows("run")
    assert (stored["memory_ids"], stored["trajectory"]["findings"]) == ([], [])


def test_nobody_s_runs_are_kept_and_none_when_learning_is_off(
    bench: Bench, tenant_id: str, rows: Callable[..., list[dict[str, Any]]]
) -> None:
    _, run = toy_runs(1)[0]
    bench.call(bench.workspace.events.record_run, who(tenant_id, None), run)
    bench.workspace.events.enabled = False
    bench.call(bench.workspace.events.record_run, who(tenant_id), run)
    bench.flush()
    assert rows("run") == []


def test_deleting_a_memory_erases_the_runs_that_met_it(
    bench: Bench, client: Recollect, tenant_id: str, rows: Callable[..., list[dict[str, Any]]]
) -> None:
    met, other = client.add("The launch is in May."), client.add("The door is green.")
    (_, first), (_, second), (_, late) = toy_runs(3)
    log = bench.workspace.events
    root, bob = who(tenant_id, "root", roles=("admin",)), who(tenant_id, "bob", roles=("admin",))
    bench.call(log.record_run, root, first, memory_ids=[met.id, other.id])
    bench.call(log.record_run, bob, second, memory_ids=[other.id])
    bench.flush()
    assert len(rows("run")) == 2
    receipt = client.delete(met.id)
    assert receipt.rows["run"] == 1
    assert [row["run_id"] for row in rows("run")] == [second.id]
    bench.call(log.record_run, root, late, memory_ids=[met.id])
    bench.flush()
    assert len(rows("run")) == 1, "a run that is written after the memory is gone leaves no trace"


def test_forgetting_a_user_and_sweeping_erase_runs(
    bench: Bench, client: Recollect, tenant_id: str, rows: Callable[..., list[dict[str, Any]]]
) -> None:
    (_, anas), (_, bobs) = toy_runs(2)
    bench.call(bench.workspace.events.record_run, who(tenant_id), anas)
    bench.call(bench.workspace.events.record_run, who(tenant_id, "bob"), replace(bobs, started_at=NOON))
    bench.flush()
    assert client.forget_user("ana").rows["run"] == 1
    assert [row["user_id"] for row in rows("run")] == ["bob"]
    old = replace(bobs, id=uuid4(), started_at=NOON - timedelta(days=4_000))
    bench.call(bench.workspace.events.record_run, who(tenant_id, "bob"), old)
    bench.flush()
    assert client.sweep().rows["run"] >= 1
    assert old.id not in [row["run_id"] for row in rows("run")]


def test_stored_runs_train_a_policy_that_this_tenant_uses_and_no_other(
    bench: Bench,
    client: Recollect,
    store: Recollect,
    tenant_id: str,
    rows: Callable[..., list[dict[str, Any]]],
) -> None:
    other = f"t-{uuid4().hex[:12]}"
    store.tenants.create(other)
    assert bench.run(_policy(bench, tenant_id, PolicyBook())) == base_policy()
    adopt(bench, tenant_id, PRIOR)
    book = PolicyBook(timer=lambda: 0.0)
    before = bench.run(_policy(bench, tenant_id, book))
    assert before.weights == PRIOR.weights
    log_toy_runs(bench, who(tenant_id), toy_runs(200, seed=8))
    report = train_stored(bench, tenant_id).decomposition
    assert report.runs == 200
    assert report.adopted, report.reason
    assert all(row["trained"] and row["reward"] is not None for row in rows("run"))
    assert bench.run(_policy(bench, tenant_id, book)) == before, "kept for a while"
    book.forget(tenant_id)
    learned = bench.run(_policy(bench, tenant_id, book))
    assert learned.weights != before.weights
    assert UUID(learned.name) in [row["policy_id"] for row in rows("policy")]
    assert bench.run(_policy(bench, other, book)) == base_policy()

    async def restored() -> DecompositionTrainer:
        async with bench.workspace.store.transaction(who(tenant_id, "root", roles=("admin",))) as tx:
            return (await CombinedMemoryTrainer().load_policy_state(tx)).decomposition

    trainer = bench.run(restored())
    assert trainer.policy == learned
    assert (trainer.state.trainings, trainer.state.runs) == (1, 200)
    assert trainer.state.exploration_rate < 1.0
    assert client.learning.reset()["policy"] >= 2
    book.forget(tenant_id)
    assert bench.run(_policy(bench, tenant_id, book)) == base_policy()


def test_runs_take_the_outcome_of_their_search_and_those_without_one_wait(
    bench: Bench, client: Recollect, tenant_id: str, rows: Callable[..., list[dict[str, Any]]]
) -> None:
    served = client.add("The launch is in May.").id
    root = who(tenant_id, "root", roles=("admin",), session_id="one")
    log = bench.workspace.events
    searches = {
        name: event([served], terms=(name, "word"), at=NOON - timedelta(minutes=number))
        for number, name in enumerate(("used", "judged", "refined", "silent"))
    }
    runs = dict(zip(searches, [run for _, run in toy_runs(4)], strict=True))
    # "refined" is asked again in other words; "silent" is somebody's whose sessions never say what they use.
    silent = replace(root, user_id="bob", session_id="quiet")
    for name, search in searches.items():
        caller = silent if name == "silent" else root
        bench.call(log.record, caller, search)
        bench.call(log.record_run, caller, runs[name], query_id=search.query_id, memory_ids=[served])
    again = event([served], terms=("refined", "phrase"), at=NOON + timedelta(seconds=1))
    bench.call(log.record, root, again)
    bench.call(log.mark_used, root, searches["used"].query_id, [served], reported=True)
    bench.flush()
    client.feedback(served, "irrelevant", query_id=str(searches["judged"].query_id))
    train_stored(bench, tenant_id, replace(CONFIG, min_batch=3))
    rewards = {row["run_id"]: row["reward"] for row in rows("run")}
    expected = {
        "used": TrainingOutcome(signal=Signal.RESULT_USED, quality_score=0.6),
        "judged": TrainingOutcome(signal=Signal.RESULT_USED, quality_score=-0.5),
        "refined": TrainingOutcome(signal=Signal.QUERY_REFINED),
    }
    for name, outcome in expected.items():
        tokens = runs[name].usage.tokens
        assert rewards[runs[name].id] == pytest.approx(CONFIG.reward.compute(outcome, tokens_used=tokens)), (
            name
        )
    assert rewards[runs["silent"].id] is None


def test_a_policy_that_can_not_prove_itself_is_a_candidate_and_its_runs_wait_for_more(
    bench: Bench, client: Recollect, tenant_id: str, rows: Callable[..., list[dict[str, Any]]]
) -> None:
    adopt(bench, tenant_id, PRIOR)
    log_toy_runs(bench, who(tenant_id), toy_runs(20, seed=2))
    report = train_stored(bench, tenant_id).decomposition
    assert (report.adopted, report.runs) == (False, 20)
    assert not any(row["trained"] for row in rows("run"))
    assert bench.run(_policy(bench, tenant_id, PolicyBook())).weights == PRIOR.weights
    assert [one.state for one in client.learning.status().decomposition] == ["active", "candidate"]
    again = train_stored(bench, tenant_id).decomposition
    assert again.needed == 22, "the same runs are not tried again"


def test_another_process_s_policy_is_noticed_after_a_while(bench: Bench, tenant_id: str) -> None:
    clock = [0.0]
    book = PolicyBook(explore=0.5, timer=lambda: clock[0])
    assert bench.run(_policy(bench, tenant_id, book)).exploration == 0.5
    tilted = replace(PRIOR, weights={"search": {"bias": 3.0}})

    adopt(bench, tenant_id, tilted, TrainingState(exploration_rate=0.1))
    assert bench.run(_policy(bench, tenant_id, book)).weights != tilted.weights
    clock[0] = TTL_S + 1
    noticed = bench.run(_policy(bench, tenant_id, book))
    assert noticed.weights == tilted.weights
    assert noticed.exploration == 0.1, "it draws less the further training has come"


def test_a_broken_policy_in_the_store_does_not_break_searches(
    bench: Bench, tenant_id: str, owner_conninfo: str
) -> None:
    with psycopg.connect(owner_conninfo) as connection:
        connection.execute(
            "insert into recollect.policy (tenant_id, policy_id, kind, category, weights, state)"
            " values (%s, %s, 'decomposition', 'memory', '{\"version\": 7}', 'active')",
            [tenant_id, uuid4()],
        )
    assert bench.run(_policy(bench, tenant_id, PolicyBook())) == base_policy()


def test_only_somebody_who_may_know_a_run_says_what_came_of_it(bench: Bench, tenant_id: str) -> None:
    _, run = toy_runs(1)[0]
    bench.call(bench.workspace.events.record_run, who(tenant_id), run)
    bench.flush()

    async def say(user: str) -> None:
        async with bench.workspace.store.transaction(who(tenant_id, user)) as tx:
            await record_outcome(tx, run.id, GOOD)

    with pytest.raises(NotFoundError):
        bench.run(say("bob"))
    bench.run(say("ana"))


@pytest.mark.parametrize("what", ["runs", "bootstrap", "status", "train"])
def test_users_see_nothing_of_it(as_user: Callable[..., Recollect], what: str) -> None:
    with pytest.raises(ForbiddenError):
        getattr(as_user("ana").learning, what)()

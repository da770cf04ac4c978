"""Training runs on recorded outcomes: utility, weights per user and tenant, and who may see what."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import numpy as np
import pytest
from tests.learning.conftest import Bench, event, who

from recollect import Recollect
from recollect.domain.learning import TrainReport
from recollect.domain.query import SIGNALS
from recollect.errors import ForbiddenError, TenantNotFoundError
from recollect.retrieval.training import train_tenant
from recollect.retrieval.understand import STRATEGY_WEIGHTS

Rows = Callable[..., list[dict[str, Any]]]
Views = Callable[..., Recollect]
TABLE = np.array([STRATEGY_WEIGHTS["exploratory"][name] for name in SIGNALS])


def teach(
    bench: Bench, views: Views, tenant_id: str, user: str, *, matters: str | None, count: int, seed: int
) -> None:
    """Searches of a user over own memories; what is used depends on one signal, or (None) on nothing."""
    rng = np.random.default_rng(seed)
    items = [{"text": f"note number {number} of {user}"} for number in range(6)]
    ids = [id for id in views(user).add_many(items).ids if id is not None]
    now = bench.workspace.clock()

    def record() -> None:
        for number in range(count):
            pool = rng.random((30, 5))
            signals = pool[np.argsort(-(pool @ TABLE))][:6]
            strength = rng.random(6) if matters is None else signals[:, SIGNALS.index(matters)]
            search = event(
                [ids[n] for n in rng.permutation(6)],
                at=now - timedelta(minutes=count - number),
                terms=(f"t{number}",),
                signals=[dict(zip(SIGNALS, map(float, row), strict=True)) for row in signals],
            )
            context = who(tenant_id, user, session_id=f"s{number // 5}")
            bench.workspace.events.record(context, search)
            best = search.hits[int(np.argmax(strength))].id
            bench.workspace.events.mark_used(context, search.query_id, [best], reported=True)

    bench.call(record)
    bench.flush()


def train(bench: Bench, tenant_id: str) -> TrainReport:
    return bench.run(train_tenant(bench.workspace, who(tenant_id, "root", roles=("admin",))))


def test_users_who_want_different_things_get_different_weights(
    bench: Bench, as_user: Views, tenant_id: str
) -> None:
    teach(bench, as_user, tenant_id, "ana", matters="temporal_relevance", count=130, seed=1)
    teach(bench, as_user, tenant_id, "bob", matters="importance", count=130, seed=2)
    found = {policy.user_id: policy for policy in train(bench, tenant_id).policies}
    assert set(found) == {None, "ana", "bob"}
    assert (found["ana"].state, found["bob"].state) == ("active", "active")
    assert found["ana"].weights["temporal_relevance"] > found["bob"].weights["temporal_relevance"] + 0.1
    assert found["bob"].weights["importance"] > found["ana"].weights["importance"] + 0.1
    for policy in found.values():
        assert sum(policy.weights.values()) == pytest.approx(1.0)
        assert policy.evaluation["tested_on"] > 30


def test_a_user_without_enough_searches_gets_none(bench: Bench, as_user: Views, tenant_id: str) -> None:
    teach(bench, as_user, tenant_id, "ana", matters="temporal_relevance", count=70, seed=1)
    teach(bench, as_user, tenant_id, "bob", matters="temporal_relevance", count=70, seed=2)
    assert {policy.user_id for policy in train(bench, tenant_id).policies} == {None}


def test_noise_becomes_a_candidate_that_ranks_nothing(
    bench: Bench, as_user: Views, tenant_id: str, rows: Rows
) -> None:
    teach(bench, as_user, tenant_id, "ana", matters=None, count=130, seed=3)
    report = train(bench, tenant_id)
    assert [policy.state for policy in report.policies] == ["candidate", "candidate"]
    assert {row["state"] for row in rows("policy") if row["kind"] == "signals"} == {"candidate"}


def test_training_again_without_news_changes_nothing(
    bench: Bench, as_user: Views, tenant_id: str, rows: Rows
) -> None:
    teach(bench, as_user, tenant_id, "ana", matters="importance", count=130, seed=4)
    train(bench, tenant_id)
    before = rows("policy", "policy_id")
    again = train(bench, tenant_id)
    assert again.policies == ()
    assert len(again.skipped) == 2
    assert [row["policy_id"] for row in rows("policy", "policy_id")] == [row["policy_id"] for row in before]


def test_what_is_learned_anew_replaces_what_was(
    bench: Bench, as_user: Views, tenant_id: str, rows: Rows
) -> None:
    teach(bench, as_user, tenant_id, "ana", matters="importance", count=130, seed=5)
    train(bench, tenant_id)
    teach(bench, as_user, tenant_id, "ana", matters="importance", count=60, seed=6)
    report = train(bench, tenant_id)
    assert {policy.user_id for policy in report.policies} == {None, "ana"}
    assert {policy.events for policy in report.policies} == {190}
    current = [
        (row["user_id"], row["state"])
        for row in rows("policy")
        if row["kind"] == "signals" and row["state"] != "retired"
    ]
    assert len(current) == len(set(current))


def test_another_tenants_searches_teach_nothing_here(
    bench: Bench, store: Recollect, as_user: Views, tenant_id: str
) -> None:
    teach(bench, as_user, tenant_id, "ana", matters="importance", count=130, seed=7)
    store.tenants.create(f"{tenant_id}-b")
    report = train(bench, f"{tenant_id}-b")
    assert (report.policies, report.rewarded) == ((), 0)
    other = store.for_context(who(f"{tenant_id}-b", "root", roles=("admin",)))
    assert other.learning.status().events == 0


def test_a_tenant_that_is_gone_is_not_trained(bench: Bench) -> None:
    with pytest.raises(TenantNotFoundError):
        train(bench, "nobody-was-ever-here")


def test_only_admins_train(bench: Bench, tenant_id: str) -> None:
    with pytest.raises(ForbiddenError):
        bench.run(train_tenant(bench.workspace, who(tenant_id, "ana", roles=("lead:team/api",))))


def searched(
    bench: Bench, tenant_id: str, ids: list[Any], session: str, *, ago: timedelta, terms: tuple[str, ...]
) -> Any:
    search = event(ids, at=bench.workspace.clock() - ago, terms=terms)
    bench.call(bench.workspace.events.record, who(tenant_id, "ana", session_id=session), search)
    bench.flush()
    return search.query_id


def test_memories_shown_before_a_better_question_lose_a_little(
    bench: Bench, as_user: Views, tenant_id: str
) -> None:
    memory, used = as_user("ana").add("old plan"), as_user("ana").add("new plan")
    query = searched(bench, tenant_id, [memory.id, used.id], "s", ago=timedelta(minutes=5), terms=("a", "b"))
    bench.call(bench.workspace.events.mark_used, who(tenant_id, "ana", session_id="s"), query, [used.id])
    searched(bench, tenant_id, [], "s", ago=timedelta(minutes=4), terms=("a", "b", "c"))
    train(bench, tenant_id)
    assert -0.1 < as_user("ana").get(memory.id).utility < 0
    assert as_user("ana").get(used.id).utility > 0
    lost = as_user("ana").get(memory.id).utility
    train(bench, tenant_id)
    assert as_user("ana").get(memory.id).utility == lost


def test_being_returned_or_ignored_moves_nothing(
    bench: Bench, as_user: Views, tenant_id: str, rows: Rows
) -> None:
    memory, other = as_user("ana").add("old plan"), as_user("ana").add("new plan")
    silent = searched(bench, tenant_id, [memory.id], "quiet", ago=timedelta(hours=3), terms=("x",))
    ignored = searched(bench, tenant_id, [memory.id], "s", ago=timedelta(hours=3), terms=("y",))
    query = searched(bench, tenant_id, [other.id], "s", ago=timedelta(hours=2), terms=("z",))
    context = who(tenant_id, "ana", session_id="s")
    bench.call(bench.workspace.events.mark_used, context, query, [other.id], reported=True)
    bench.flush()
    assert train(bench, tenant_id).ignored == 1
    outcomes = {row["query_id"]: row["outcome"] for row in rows("retrieval_event")}
    assert outcomes == {silent: None, ignored: "ignored", query: "used"}
    assert as_user("ana").get(memory.id).utility == 0
    assert as_user("ana").get(memory.id).use_count == 0


def test_the_baseline_is_kept_between_runs(bench: Bench, as_user: Views, tenant_id: str) -> None:
    memory = as_user("ana").add("plan")
    for number in range(5):
        query = searched(bench, tenant_id, [memory.id], f"s{number}", ago=timedelta(0), terms=("x",))
        context = who(tenant_id, "ana", session_id=f"s{number}")
        bench.call(bench.workspace.events.mark_used, context, query, [memory.id], reported=True)
    bench.flush()
    first = train(bench, tenant_id).baseline
    assert first == pytest.approx(0.5)
    assert train(bench, tenant_id).baseline == first


def test_a_reader_uses_and_the_admin_counts(bench: Bench, client: Recollect, tenant_id: str) -> None:
    client.scopes.create("team/api")
    client.members.add("ana", "team/api")
    memory = client.add("our office is in Ghent", layer="company")
    query = searched(bench, tenant_id, [memory.id], "s", ago=timedelta(0), terms=("x",))
    bench.call(bench.workspace.events.mark_used, who(tenant_id, "ana"), query, [memory.id], reported=True)
    bench.flush()
    assert client.get(memory.id).use_count == 0
    assert train(bench, tenant_id).rewarded == 1
    assert client.get(memory.id).use_count == 1
    assert client.get(memory.id).utility > 0

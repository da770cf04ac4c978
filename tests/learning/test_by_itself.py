"""Learning with nobody doing anything for it: no session named, no training asked for, the settings as they come."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from uuid import UUID, uuid4

import pytest
from tests.learning.conftest import NOON, Bench, event, who

from recollect import Recollect, TenantContext


@pytest.fixture(scope="module")
def tenant() -> str:
    return f"learner-{uuid4().hex[:12]}"  # a worker may run this module in two parts


@pytest.fixture(scope="module")
def shop(default_store: Recollect, tenant: str) -> Recollect:
    default_store.tenants.create(tenant)
    admin = default_store.for_context(TenantContext(tenant_id=tenant, user_id="root", roles=("admin",)))
    admin.scopes.create("team/api")
    admin.members.add("ana", "team/api")
    return admin


def outcomes(client: Recollect, rows: Callable[..., list[dict[str, object]]]) -> dict[UUID, object]:
    client._portal.run(flushed(client))
    return {UUID(str(row["query_id"])): row["outcome"] for row in rows("retrieval_event")}


async def flushed(client: Recollect) -> None:
    await (await client._async._workspace()).events.flush()


def test_asking_again_in_other_words_refines_without_a_session(
    as_user: Callable[..., Recollect], rows: Callable[..., list[dict[str, object]]]
) -> None:
    ana = as_user("ana")
    ana.add("Atlas is launched on 3 May.")
    first = ana.search("When is the launch of Atlas?")
    second = ana.search("Which day does Atlas have its launch?")
    found = outcomes(ana, rows)
    assert (found[first.query_id], found[second.query_id]) == ("refined", None)


@pytest.mark.parametrize(
    ("earlier", "later"),
    [
        (("deadlin", "across", "team"), ("pizza", "across", "team")),
        (("latest", "invoic", "project"), ("latest", "holiday", "project")),
    ],
)
def test_words_that_say_where_to_look_do_not_make_two_questions_one(
    bench: Bench,
    tenant_id: str,
    rows: Callable[..., list[dict[str, object]]],
    earlier: tuple[str, ...],
    later: tuple[str, ...],
) -> None:
    for number, terms in enumerate((earlier, later)):
        asked = event(terms=terms, at=NOON + timedelta(minutes=number))
        bench.call(bench.workspace.events.record, who(tenant_id), asked)
    bench.flush()
    assert [row["refines"] for row in rows("retrieval_event")] == [None, None]


def test_what_was_not_used_is_ignored_where_the_caller_says_what_is(
    bench: Bench,
    client: Recollect,
    as_user: Callable[..., Recollect],
    tenant_id: str,
    rows: Callable[..., list[dict[str, object]]],
) -> None:
    memory = as_user("ana").add("Atlas is launched on 3 May.")
    then = (bench.workspace.clock() - timedelta(hours=3)).replace(minute=10)
    served, silent = (
        event([memory.id], terms=(word,), at=then + timedelta(minutes=at))
        for at, word in enumerate(("launch", "pizza"))
    )
    for asked in (served, silent):
        bench.call(bench.workspace.events.record, who(tenant_id), asked)
    bench.call(bench.workspace.events.mark_used, who(tenant_id), served.query_id, [memory.id], reported=True)
    bench.flush()
    client.learning.train()
    assert outcomes(client, rows) == {served.query_id: "used", silent.query_id: "ignored"}


def test_what_a_reader_found_useful_counts_without_anybody_training(
    shop: Recollect, monkeypatch: pytest.MonkeyPatch, tenant: str
) -> None:
    monkeypatch.setattr("recollect.retrieval.training.LEARN_AFTER_S", 0.0)
    ana = shop.for_context(TenantContext(tenant_id=tenant, user_id="ana"))
    memory = shop.add("Our office is in Ghent.", layer="company")
    found = ana.search("Where is our office?")
    assert [hit.id for hit in found] == [memory.id]
    ana.learning.log_retrieval_event(found.query_id, [memory.id])

    learner = shop._async._shared.learner
    assert learner is not None
    shop._portal.run(learner.wait())
    assert shop.get(memory.id).use_count == 1
    assert shop.get(memory.id).utility > 0

"""What searches left behind goes with the memory, the user, the tenant, and time; and nobody reads another's."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import timedelta
from typing import Any
from uuid import UUID

import psycopg
import pytest
from psycopg import sql
from tests.learning.conftest import Bench, event, who

from recollect import Recollect, Settings, TenantContext
from recollect.errors import InvalidInputError, NotFoundError
from recollect.memories.deletion import delete_one
from recollect.storage.endpoint import open_door
from recollect.storage.erase import Erasure
from recollect.storage.store import caller_settings

Rows = Callable[..., list[dict[str, Any]]]
Views = Callable[..., Recollect]


def search(client: Recollect, query: str) -> tuple[UUID, list[UUID]]:
    results = client.search(query, threshold=0.0)
    return results.query_id, [hit.id for hit in results]


def test_a_search_through_the_door_is_recorded_and_can_be_judged(as_user: Views, rows: Rows) -> None:
    ana = as_user("ana", session_id="s1")
    memory = ana.add("the launch is on Friday")
    query, found = search(ana, "when is the launch")
    assert found == [memory.id]
    given = ana.feedback(memory.id, "helpful", query_id=query)
    assert given.query_id == query
    [stored] = rows("retrieval_event")
    assert (stored["query_id"], stored["outcome"], stored["session"]) == (query, "feedback", "s1")
    assert stored["propensity"] == 1
    assert set(rows("retrieval_hit")[0]["signals"]) >= {"semantic_similarity", "importance"}
    assert "launch" not in str({**stored, "entities": None})


def test_only_a_hit_of_the_search_can_be_judged_as_one(as_user: Views) -> None:
    ana = as_user("ana")
    memory = ana.add("the launch is on Friday")
    query, _ = search(ana, "when is the launch")
    other = ana.add("pizza is on Monday")
    with pytest.raises(InvalidInputError, match="did not return"):
        ana.feedback(other.id, "helpful", query_id=query)
    with pytest.raises(InvalidInputError, match="did not return"):
        ana.learning.log_retrieval_event(query, [memory.id, other.id])


def test_nobody_judges_another_users_search(as_user: Views, client: Recollect) -> None:
    client.scopes.create("team/api")
    for name in ("ana", "bob"):
        client.members.add(name, "team/api")
    memory = client.add("the launch is on Friday", scope="team/api")
    query, _ = search(as_user("ana"), "when is the launch")
    with pytest.raises(NotFoundError, match="no search"):
        as_user("bob").feedback(memory.id, "helpful", query_id=query)
    with pytest.raises(NotFoundError, match="no search"):
        as_user("bob").learning.log_retrieval_event(query, [memory.id])
    assert client.feedback(memory.id, "helpful", query_id=query).query_id == query


def test_saying_what_served_needs_no_role(as_user: Views, rows: Rows) -> None:
    ana = as_user("ana")
    memory = ana.add("the launch is on Friday")
    query, _ = search(ana, "when is the launch")
    ana.learning.log_retrieval_event(str(query), [str(memory.id)])
    assert [row["outcome"] for row in rows("retrieval_event")] == ["used"]
    assert ana.get(memory.id).use_count == 1
    for wrong in ("abc", [3], None):
        with pytest.raises(InvalidInputError):
            ana.learning.log_retrieval_event(query, wrong)  # type: ignore[arg-type]


def test_deleting_a_shared_memory_erases_it_from_everybodys_searches(
    as_user: Views, client: Recollect, rows: Rows
) -> None:
    client.scopes.create("team/api")
    for name in ("ana", "bob"):
        client.members.add(name, "team/api")
    memory = client.add("Zyxco launches on Friday", scope="team/api", entities=["Zyxco"])
    kept = client.add("lunch is at noon", scope="team/api")
    for name in ("ana", "bob"):
        search(as_user(name), "when does Zyxco launch")
    client.learning.status()  # writes what waits
    assert {row["memory_id"] for row in rows("retrieval_hit")} == {memory.id, kept.id}
    receipt = as_user("ana").delete(memory.id, vacuum=False)
    assert receipt.rows["retrieval_hit"] == 2
    assert {row["memory_id"] for row in rows("retrieval_hit")} == {kept.id}
    assert "zyxco" not in str(rows("retrieval_event")).lower()


def test_names_that_other_memories_still_speak_of_stay(
    as_user: Views, bench: Bench, tenant_id: str, rows: Rows
) -> None:
    ana = as_user("ana")
    one = ana.add("Acme pays late", entities=["Acme"])
    ana.add("Acme moved to Ghent", entities=["Acme"])
    bench.call(bench.workspace.events.record, who(tenant_id), event([one.id], entities=("acme", "gone")))
    bench.flush()
    ana.delete(one.id, vacuum=False)
    assert rows("retrieval_event")[0]["entities"] == ["acme"]


def test_a_search_written_while_its_memory_is_erased_keeps_no_name(
    as_user: Views, bench: Bench, tenant_id: str, rows: Rows, owner_conninfo: str
) -> None:
    memory = as_user("ana").add("Zyxco pays late", entities=["Zyxco"])
    log, store = bench.workspace.events, bench.workspace.store

    async def erase_slowly() -> None:
        async with store.transaction(who(tenant_id)) as tx:
            erasure = Erasure(tx)
            await erasure.memories([memory.id])
            await erasure.traces()
            log.record(who(tenant_id), event([memory.id], entities=("zyxco",)))
            writing = asyncio.ensure_future(log.flush())
            await until_waiting(owner_conninfo, tenant_id, writing)
        await writing

    bench.run(erase_slowly())
    assert log.counts.written == 1
    assert rows("retrieval_hit") == []
    assert rows("retrieval_event")[0]["entities"] == []


def test_erasing_a_memory_waits_for_searches_that_are_being_written(
    as_user: Views, bench: Bench, tenant_id: str, rows: Rows, owner_conninfo: str
) -> None:
    memory = as_user("ana").add("Zyxco pays late", entities=["Zyxco"])
    log, workspace = bench.workspace.events, bench.workspace

    async def write_slowly() -> None:
        async with workspace.store.transaction(who(tenant_id)) as tx:
            await log._write_made(tx, [event([memory.id], entities=("zyxco",))])
            erasing = asyncio.ensure_future(delete_one(workspace, who(tenant_id), memory.id, vacuum=False))
            await until_waiting(owner_conninfo, tenant_id, erasing)
        await erasing

    bench.run(write_slowly())
    assert rows("retrieval_hit") == []
    assert rows("retrieval_event")[0]["entities"] == []


def test_erasing_a_memory_and_noting_its_use_do_not_block_each_other(
    as_user: Views, bench: Bench, tenant_id: str, rows: Rows, owner_conninfo: str
) -> None:
    memory = as_user("ana").add("Zyxco pays late")
    log, store = bench.workspace.events, bench.workspace.store
    search = event([memory.id])
    bench.call(log.record, who(tenant_id), search)
    bench.flush()

    async def erase_slowly() -> None:
        async with (
            store.transaction(who(tenant_id)) as tx,
            await psycopg.AsyncConnection.connect(owner_conninfo, autocommit=True) as look,
        ):
            erasure = Erasure(tx)
            await erasure.memories([memory.id])
            log.mark_used(who(tenant_id), search.query_id, [memory.id], reported=True)
            writing = asyncio.ensure_future(log.flush())
            waits = "select 1 from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()"
            while not writing.done():
                if await (await look.execute(waits)).fetchone():
                    break
                await asyncio.sleep(0.01)
            await erasure.traces()
        await writing

    bench.run(erase_slowly())
    assert log.counts.failed == 0
    assert rows("retrieval_hit") == []


async def until_waiting(owner: str, tenant_id: str, work: asyncio.Future[Any]) -> None:
    """Until the work waits for the tenant's lock on traces, or is done without having waited."""
    statement = (
        "select 1 from pg_locks where locktype = 'advisory' and not granted"
        " and ((classid::bigint << 32) | objid::bigint) = hashtextextended('recollect.traces ' || %s, 0)"
    )
    async with await psycopg.AsyncConnection.connect(owner, autocommit=True) as connection:
        while not work.done():
            if await (await connection.execute(statement, [tenant_id])).fetchone():
                return
            await asyncio.sleep(0.01)


def test_who_only_spoke_is_forgotten_with_the_last_turn(
    as_user: Views, bench: Bench, tenant_id: str, rows: Rows
) -> None:
    ana = as_user("ana")
    turn = ana.add("see you at noon", conversation="c1", speaker="Zyxine")
    bench.call(bench.workspace.events.record, who(tenant_id), event([turn.id], entities=("zyxine",)))
    bench.flush()
    assert rows("retrieval_event")[0]["entities"] == ["zyxine"]
    ana.delete(turn.id, vacuum=False)
    assert rows("retrieval_event")[0]["entities"] == []


def test_forgetting_a_user_erases_their_searches_and_what_was_learned_from_them(
    as_user: Views, client: Recollect, rows: Rows, bench: Bench, tenant_id: str, owner_conninfo: str
) -> None:
    for name in ("ana", "bob"):
        as_user(name).add("the launch is on Friday")
        search(as_user(name), "when is the launch")
    with psycopg.connect(owner_conninfo) as connection:
        for user in ("ana", "bob", ""):
            connection.execute(
                "insert into recollect.policy (tenant_id, policy_id, kind, user_id, category, weights, state)"
                " values (%s, gen_random_uuid(), 'signals', %s, 'procedural', '{}', 'active')",
                [tenant_id, user],
            )
    receipt = as_user("ana").forget_user("ana")
    assert receipt.rows["retrieval_event"] == 1
    assert receipt.rows["policy"] == 1
    client.learning.status()
    assert {row["user_id"] for row in rows("retrieval_event")} == {"bob"}
    assert {row["user_id"] for row in rows("retrieval_hit")} == {"bob"}
    assert {row["user_id"] for row in rows("policy")} == {"bob", ""}


def test_forgetting_a_tenant_erases_all_of_it(
    store: Recollect, client: Recollect, tenant_id: str, rows: Rows
) -> None:
    memory = client.add("the launch is on Friday")
    query, _ = search(client, "when is the launch")
    client.feedback(memory.id, "helpful", query_id=query)
    client.learning.train()
    client.learning.start_experiment("x", {"a": {}, "b": {"importance": 1}})
    search(client, "when is the launch of the app")
    store.tenants.forget(tenant_id)
    store.learning.status()  # writes what waits: a search made just before must not come back
    for table in ("retrieval_event", "retrieval_hit", "feedback", "policy", "experiment"):
        assert rows(table) == []


def test_sweeping_erases_what_is_older_than_it_is_kept(
    bench: Bench, client: Recollect, tenant_id: str, rows: Rows
) -> None:
    memory = client.add("the launch is on Friday")
    now = bench.workspace.clock()
    root = who(tenant_id, "root", roles=("admin",))
    fresh = event([memory.id], at=now - timedelta(days=89))
    for one in (event([memory.id], at=now - timedelta(days=91)), fresh):
        bench.call(bench.workspace.events.record, root, one)
    bench.flush()
    receipt = client.sweep()
    assert receipt.rows["retrieval_event"] == 1
    assert [row["query_id"] for row in rows("retrieval_event")] == [fresh.query_id]
    assert [row["query_id"] for row in rows("retrieval_hit")] == [fresh.query_id]


@pytest.mark.parametrize("table", ["retrieval_event", "retrieval_hit", "feedback"])
def test_a_users_searches_are_between_them_and_the_admin(
    table: str, as_user: Views, client: Recollect, settings: Settings, tenant_id: str
) -> None:
    ana = as_user("ana")
    memory = ana.add("the launch is on Friday")
    query, _ = search(ana, "when is the launch")
    ana.feedback(memory.id, "helpful", query_id=query)

    def count(context: TenantContext) -> int:
        door = open_door(settings.home, settings.database_url)
        with psycopg.connect(door.app, autocommit=True) as connection:
            connection.execute(caller_settings(context))
            statement = sql.SQL("select count(*) from {}").format(sql.Identifier("recollect", table))
            row = connection.execute(statement).fetchone()
            connection.execute("rollback")
        assert row is not None
        return int(row[0])

    assert count(who(tenant_id, "ana")) == 1
    assert count(who(tenant_id, "root", roles=("admin",))) == 1
    assert count(who(tenant_id, "bob")) == 0
    assert count(who(tenant_id, "lea", roles=("lead:team/api", "operator"))) == 0
    assert count(who(f"{tenant_id}-x", "ana", roles=("admin",))) == 0

"""Deleting: what goes, what the receipt says, and that nothing is left: in no table, in no file."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any
from uuid import uuid4

import psycopg
import pytest
from psycopg import sql
from tests.conftest import ON_CLUSTER

from recollect import Memory, Recollect, Settings
from recollect.errors import (
    ConflictError,
    ForbiddenError,
    InvalidInputError,
    MemoryNotFoundError,
    ScopeNotFoundError,
    TenantNotFoundError,
)
from recollect.storage.embedded import ensure_running
from recollect.storage.endpoint import open_door


def one(memory: Memory | list[Memory]) -> Memory:
    assert isinstance(memory, Memory)
    return memory


def tables_with(owner: str, *needles: str) -> list[tuple[str, str]]:
    """Every (table, needle) where some value of some row, of whatever type, contains the needle."""
    found = []
    with psycopg.connect(owner) as connection:
        tables = connection.execute(
            "select c.oid::regclass::text from pg_class c join pg_namespace n on n.oid = c.relnamespace"
            " where n.nspname = 'recollect' and c.relkind in ('r', 'm')"
        ).fetchall()
        assert len(tables) > (30 if ON_CLUSTER else 50)
        tables += [("pg_catalog.pg_statistic",)]
        for (table,) in tables:
            for needle in needles:
                # bytea prints as hex: look for both forms.
                query = sql.SQL(
                    "select count(*) from {} t where strpos(t::text, %s) > 0 or strpos(t::text, %s) > 0"
                )
                hit = connection.execute(
                    query.format(sql.SQL(table)), [needle, needle.encode().hex()]
                ).fetchone()
                if hit is not None and hit[0]:
                    found.append((table, needle))
    return found


def count(owner: str, tenant: str) -> dict[str, int]:
    tables = [
        "memory",
        "embedding",
        "posting",
        "mention",
        "entity",
        "entity_key",
        "history",
        "conversation",
        "membership",
        "scope",
        "tally",
    ]
    with psycopg.connect(owner) as connection:
        counted = {}
        for table in tables:
            query = sql.SQL("select count(*) from recollect.{} where tenant_id = %s").format(
                sql.Identifier(table)
            )
            row = connection.execute(query, [tenant]).fetchone()
            assert row is not None
            counted[table] = row[0]
    return counted


def lost(before: dict[str, int], after: dict[str, int]) -> dict[str, int]:
    return {name: before[name] - after[name] for name in before if before[name] != after[name]}


def plant(client: Recollect, mark: str) -> Memory:
    """A memory with the mark in every place that holds a caller's words, and a past full of it."""
    memory = one(
        client.add(
            f"first text {mark}a",
            type="semantic",
            subject=f"{mark}b",
            predicate=f"{mark}c",
            object=f"{mark}d",
            trigger=f"{mark}e",
            action=f"{mark}f",
            entities=[f"{mark}g"],
            metadata={f"{mark}h": [f"{mark}i"]},
            source=f"{mark}j",
            conversation=f"{mark}k",
            speaker=f"{mark}l",
        )
    )
    client.update(memory.id, text=f"second text {mark}m", metadata={"x": f"{mark}n"}, entities=[f"{mark}o"])
    client.update(memory.id, text=f"third text {mark}p", subject=f"{mark}q", source=None)
    other = one(client.add("an innocent bystander"))
    client.supersede(other.id, by=memory.id)
    client.restore(other.id)
    client.supersede(other.id, by=memory.id)
    return memory


def test_a_deleted_memory_is_in_no_table(client: Recollect, owner_conninfo: str) -> None:
    mark = f"zq{uuid4().hex[:10]}"
    memory = plant(client, mark)
    with psycopg.connect(owner_conninfo, autocommit=True) as connection:
        connection.execute("analyze")
    versions = [str(m.id) for m in client.list(include_superseded=True) if mark in m.text]
    assert len(versions) == 3
    assert tables_with(owner_conninfo, mark, str(memory.id))
    before = count(owner_conninfo, client.tenant_context.tenant_id)

    receipt = client.delete(memory.id)

    assert tables_with(owner_conninfo, mark, *versions) == []
    assert set(map(str, receipt.memory_ids)) == set(versions)
    after = count(owner_conninfo, client.tenant_context.tenant_id)
    assert {name: rows for name, rows in receipt.rows.items() if rows} == lost(before, after)
    assert receipt.memories == 3
    assert [m.text for m in client.list(include_superseded=True)] == ["an innocent bystander"]
    with pytest.raises(MemoryNotFoundError):
        client.get(memory.id)
    with pytest.raises(MemoryNotFoundError):
        client.delete(memory.id)
    with pytest.raises(MemoryNotFoundError):
        client.history(memory.id)
    assert client.restore(client.list(include_superseded=True)[0].id).superseded_by is None


def test_a_receipt_says_when_whose_and_what_it_can_not_reach(client: Recollect) -> None:
    receipt = client.delete(one(client.add("x")).id)
    assert receipt.tenant_id == client.tenant_context.tenant_id
    assert receipt.vacuum == "rewritten"
    assert any("write-ahead log" in item for item in receipt.unreachable)
    assert any("backups" in item for item in receipt.unreachable)
    assert any("exported" in item for item in receipt.unreachable)
    quick = client.delete(one(client.add("x")).id, vacuum=False)
    assert quick.vacuum == "none"
    assert any("until the next vacuum" in item for item in quick.unreachable)


def test_a_former_version_can_be_erased_alone(client: Recollect, owner_conninfo: str) -> None:
    mark = f"zq{uuid4().hex[:10]}"
    memory = one(client.add(f"{mark} old"))
    client.update(memory.id, text="harmless")
    [version] = [m for m in client.list(include_superseded=True) if mark in m.text]
    client.delete(version.id)
    assert tables_with(owner_conninfo, mark, str(version.id)) == []
    assert client.get(memory.id).text == "harmless"
    assert [event.event for event in client.history(memory.id)] == ["added", "updated"]


@pytest.fixture
def world(client: Recollect) -> Recollect:
    client.scopes.create("team/api")
    client.add("own")
    client.add("own tagged", metadata={"tag": "x"})
    client.add("team fact", layer="team", scope="team/api", type="semantic")
    client.add("team tagged", layer="team", scope="team/api", metadata={"tag": "x"})
    client.add([{"content": "turn one"}, {"content": "turn two"}], conversation="c1")
    return client


@pytest.mark.parametrize(
    ("conditions", "gone"),
    [
        ({"filters": {"tag": "x"}}, {"own tagged", "team tagged"}),
        ({"filters": {"tag": "x"}, "layers": ["team"]}, {"team tagged"}),
        ({"scope": "team/api"}, {"team fact", "team tagged"}),
        ({"types": ["semantic"]}, {"team fact"}),
        ({"conversation": "c1"}, {"turn one", "turn two"}),
        ({"layers": ["user"]}, {"own", "own tagged", "turn one", "turn two"}),
        ({"layers": []}, set()),
        ({"filters": {"tag": "none"}}, set()),
    ],
    # Workers must agree on the names of tests, and a set has no order.
    ids=lambda part: repr(sorted(part)) if isinstance(part, set) else repr(part),
)
def test_conditions_erase_what_meets_all_of_them(
    world: Recollect, owner_conninfo: str, conditions: dict[str, Any], gone: set[str]
) -> None:
    everything = {m.text for m in world.list()}
    before = count(owner_conninfo, world.tenant_context.tenant_id)
    receipt = world.delete(**conditions)
    assert {m.text for m in world.list()} == everything - gone
    assert receipt.memories == len(receipt.memory_ids) == len(gone)
    after = count(owner_conninfo, world.tenant_context.tenant_id)
    assert {name: rows for name, rows in receipt.rows.items() if rows} == lost(before, after)


@pytest.mark.parametrize(
    "conditions",
    [{}, {"filters": {}}, {"filters": {"$and": []}}, {"filters": {"$and": [{}, {"$or": [{}, {"a": 1}]}]}},
     {"filters": {"$not": {"$or": []}}}],
    ids=repr,
)  # fmt: skip
def test_deleting_without_a_condition_is_refused(world: Recollect, conditions: dict[str, Any]) -> None:
    with pytest.raises(InvalidInputError, match="needs an id or a condition"):
        world.delete(**conditions)
    assert len(world.list()) == 6


def test_an_id_and_conditions_together_are_refused(world: Recollect) -> None:
    memory = world.list()[0]
    with pytest.raises(InvalidInputError, match="not both"):
        world.delete(memory.id, layers=["user"])
    assert len(world.list()) == 6


def test_deleting_reaches_superseded_and_expired_memories(client: Recollect) -> None:
    old, new = one(client.add("old")), one(client.add("new", metadata={"keep": 1}))
    client.supersede(old.id, by=new.id)
    receipt = client.delete(filters={"$not": {"keep": 1}})
    assert receipt.memory_ids == (old.id,)


def test_more_than_a_batch_is_erased_in_one_go(client: Recollect) -> None:
    client.add_many([{"text": f"bulk {n}", "metadata": {"n": n}} for n in range(2_300)])
    assert client.delete(filters={"n": {"$gte": 100}}).memories == 2_200
    assert len(client.list(limit=1000)) == 100


def test_a_caller_erases_only_what_the_caller_may_change(
    client: Recollect, as_user: Callable[..., Recollect]
) -> None:
    client.scopes.create("team/api")
    client.members.add("ana", "team/api")
    rule = one(client.add("a rule", layer="company", metadata={"tag": 1}))
    hidden = one(client.add("hidden", metadata={"tag": 1}))
    ana = as_user("ana")
    ana.add("mine", metadata={"tag": 1})
    ana.add("ours", layer="team", scope="team/api", metadata={"tag": 1})
    with pytest.raises(ForbiddenError):
        ana.delete(rule.id)
    with pytest.raises(MemoryNotFoundError):
        ana.delete(hidden.id)
    assert ana.delete(filters={"tag": 1}).memories == 2
    assert {m.id for m in client.list()} == {rule.id, hidden.id}


def test_the_terms_of_a_deleted_memory_no_longer_count(client: Recollect, owner_conninfo: str) -> None:
    client.delete(one(client.add("sesquipedalian words")).id, vacuum=False)
    assert all(scope.memories == 0 for scope in client.scopes.list())
    with psycopg.connect(owner_conninfo) as connection:
        row = connection.execute(
            "select memories, vectors, terms from recollect.tally where tenant_id = %s",
            [client.tenant_context.tenant_id],
        ).fetchone()
    assert row == (0, 0, 0)


# Scopes, users, tenants ----------------------------------------------------------------------------


def test_deleting_a_scope_erases_its_memories_members_and_name(
    client: Recollect, owner_conninfo: str
) -> None:
    mark = f"zq{uuid4().hex[:10]}"
    client.scopes.create(f"team/{mark}")
    client.scopes.create("project/x", parent=f"team/{mark}")
    client.members.add("ana", f"team/{mark}")
    client.add("team fact", layer="team", scope=f"team/{mark}", conversation="c1")
    client.add("stays")
    with pytest.raises(ConflictError, match="scopes below it"):
        client.scopes.delete(f"team/{mark}")
    client.scopes.delete("project/x")
    before = count(owner_conninfo, client.tenant_context.tenant_id)
    receipt = client.scopes.delete(f"team/{mark}")
    after = count(owner_conninfo, client.tenant_context.tenant_id)
    assert {name: rows for name, rows in receipt.rows.items() if rows} == lost(before, after)
    assert (receipt.rows["membership"], receipt.rows["scope"], receipt.memories) == (1, 1, 1)
    assert tables_with(owner_conninfo, mark) == []
    assert [m.text for m in client.list()] == ["stays"]
    with pytest.raises(ScopeNotFoundError):
        client.scopes.delete(f"team/{mark}")
    with pytest.raises(InvalidInputError, match="goes with its tenant"):
        client.scopes.delete(f"company/{client.tenant_context.tenant_id}")


def test_a_user_scope_with_sessions_goes_with_the_user(
    client: Recollect, as_user: Callable[..., Recollect]
) -> None:
    as_user("ana", session_id="s1").add("x", layer="session")
    with pytest.raises(ConflictError, match="forget-user ana"):
        client.scopes.delete("user/ana")


def test_forgetting_a_user_leaves_nothing_of_them_and_all_of_others(
    client: Recollect, as_user: Callable[..., Recollect], owner_conninfo: str
) -> None:
    name = f"zq{uuid4().hex[:10]}"
    client.scopes.create("team/api")
    for user in (name, "ben"):
        client.members.add(user, "team/api", role="lead" if user == name else "member")
        person = as_user(user, agent_id=f"{user}-bot", session_id=f"{user}-session")
        for layer in ("user", "agent", "session"):
            person.add(f"{layer} memory", layer=layer, conversation=f"{user} talks")
    shared = one(client.add("shared", layer="team", scope="team/api"))
    as_user(name).update(shared.id, importance=0.9)
    as_user("ben").update(shared.id, importance=0.8)
    before = count(owner_conninfo, client.tenant_context.tenant_id)

    receipt = client.forget_user(name)

    after = count(owner_conninfo, client.tenant_context.tenant_id)
    assert receipt.memories == len(receipt.memory_ids) == 3
    assert lost(before, after) == {
        "memory": 3, "embedding": 3, "posting": before["posting"] - after["posting"], "conversation": 3,
        "membership": 1, "scope": 3, "tally": 3,
    }  # fmt: skip
    for table in ("memory", "embedding", "posting", "conversation", "membership", "scope", "tally"):
        assert receipt.rows[table] == before[table] - after[table], table
    assert receipt.rows["history"] == 1, "one line of history named the user"
    assert tables_with(owner_conninfo, name) == []
    assert [event.by for event in client.history(shared.id)] == [None, None, "ben"]
    ben = as_user("ben", agent_id="ben-bot", session_id="ben-session")
    assert len(ben.list()) == 4
    assert client.forget_user(name).memories == 0


def test_users_may_forget_themselves_and_learn_what_stays(
    client: Recollect, as_user: Callable[..., Recollect], owner_conninfo: str
) -> None:
    name = f"zq{uuid4().hex[:10]}"
    client.scopes.create("team/api")
    client.members.add(name, "team/api")
    ana = as_user(name)
    ana.add("mine")
    ana.add("ours", layer="team", scope="team/api")
    with pytest.raises(ForbiddenError):
        ana.forget_user("root")
    receipt = ana.forget_user(name)
    assert receipt.memories == 1
    assert any("team/api" in item for item in receipt.unreachable)
    assert [m.text for m in client.list()] == ["ours"]
    # Only who leads a team ends a membership; what stays in it no longer says who told it.
    assert {"recollect.memory", "recollect.event"}.isdisjoint(dict(tables_with(owner_conninfo, name)))


def test_forgetting_a_tenant_leaves_nothing_of_it_and_all_of_others(
    store: Recollect, client: Recollect, as_user: Callable[..., Recollect], owner_conninfo: str
) -> None:
    mark = f"zq{uuid4().hex[:10]}"
    store.tenants.create(mark, name=f"{mark} Inc.")
    doomed = store.for_context(client.tenant_context.replace(tenant_id=mark))
    doomed.scopes.create("team/api")
    doomed.members.add("ana", "team/api")
    doomed.tenants.set_retention("user", 10)
    plant(doomed, f"{mark}x")
    client.add("stays")
    before = count(owner_conninfo, mark)
    untouched = count(owner_conninfo, client.tenant_context.tenant_id)
    with pytest.raises(ForbiddenError):
        as_user("ana", roles=("admin",)).tenants.forget(mark)

    receipt = store.tenants.forget(mark)

    for table, rows in before.items():
        assert receipt.rows[table] == rows, table
    assert receipt.memories == before["memory"]
    assert (receipt.rows["tenant"], receipt.rows["retention"], receipt.tenant_id) == (1, 1, mark)
    assert tables_with(owner_conninfo, mark) == []
    assert count(owner_conninfo, client.tenant_context.tenant_id) == untouched
    with pytest.raises(TenantNotFoundError):
        store.tenants.forget(mark)
    with pytest.raises(TenantNotFoundError):
        doomed.add("too late")
    assert mark not in {tenant.id for tenant in store.tenants.list()}


# The files ---------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def own_home(new_home: Callable[[], AbstractContextManager[Path]]) -> Iterator[Path]:
    """A home of its own, run as users run it: synced, logged, with every setting as shipped."""
    with new_home() as home:
        ensure_running(home)
        yield home


def files_with(home: Path, *needles: bytes) -> list[str]:
    found = []
    for path in sorted(home.rglob("*")):
        try:
            content = path.read_bytes() if path.is_file() and not path.is_socket() else b""
        except FileNotFoundError:
            continue  # the server removed it meanwhile
        found += [f"{path.relative_to(home)}: {needle!r}" for needle in needles if needle in content]
    return found


def test_after_the_vacuum_no_file_of_the_home_holds_a_byte_of_it(own_home: Path) -> None:
    mark = f"zq{uuid4().hex[:10]}"
    with Recollect(settings=Settings(home=own_home, embedder="wordllama")) as client:
        client.add_many([{"text": f"some other memory, number {n}"} for n in range(300)])
        memory = plant(client, mark)
        ids = [m.id for m in client.list(include_superseded=True, limit=1000) if mark in m.text]
        client.search(f"{mark}p", threshold=0)
        owner = open_door(own_home, None).owner
        assert owner is not None
        with psycopg.connect(owner, autocommit=True) as connection:
            connection.execute("analyze")
            connection.execute("checkpoint")
        planted = files_with(own_home, mark.encode(), *(id.bytes for id in ids))
        assert any(place.startswith("postgres/base/") for place in planted)
        assert any(place.startswith("postgres/pg_wal/") for place in planted)

        receipt = client.delete(memory.id)

        assert receipt.vacuum == "rewritten"
        needles = [
            mark.encode(),
            mark.encode("utf-16-le"),
            *(id.bytes for id in ids),
            *(str(id).encode() for id in ids),
        ]
        assert files_with(own_home, *needles) == []
        assert len(client.list(limit=1000)) == 300


def test_a_forgotten_tenant_is_in_no_file(own_home: Path) -> None:
    mark = f"zq{uuid4().hex[:10]}"
    with Recollect(settings=Settings(home=own_home, embedder="wordllama")) as client:
        client.tenants.create(mark)
        doomed = client.for_context(client.tenant_context.replace(tenant_id=mark, user_id=f"{mark}-user"))
        doomed.add_many([{"text": f"{mark} {n}", "entities": [f"{mark} {n}"]} for n in range(600)])
        owner = open_door(own_home, None).owner
        assert owner is not None
        with psycopg.connect(owner, autocommit=True) as connection:
            connection.execute("analyze")
            connection.execute("checkpoint")
        assert files_with(own_home, mark.encode())
        client.tenants.forget(mark)
        assert files_with(own_home, mark.encode()) == []

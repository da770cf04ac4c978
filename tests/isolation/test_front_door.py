"""Isolation through the public client: what one caller can't get at with the calls everybody has."""

from __future__ import annotations

import asyncio
import io
import json
import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from uuid import UUID, uuid4

import psycopg
import pytest

from recollect import AsyncRecollect, Recollect, Settings, TenantContext
from recollect.doctor.front_door import HOSTILE
from recollect.errors import ForbiddenError, InvalidInputError, NotFoundError, RecollectError

AsUser = Callable[..., Recollect]


@pytest.fixture
def other(store: Recollect) -> Recollect:
    """The administrator of another tenant."""
    name = f"t-{uuid4().hex[:12]}"
    store.tenants.create(name)
    return store.for_context(TenantContext(tenant_id=name, user_id="root", roles=("admin",)))


def answer(call: Callable[[], object]) -> tuple[str, str]:
    with pytest.raises(RecollectError) as caught:
        call()
    return caught.value.code, re.sub(r"[0-9a-f]{8}-[0-9a-f-]{27}", "?", str(caught.value))


VERBS: dict[str, Callable[[Recollect, UUID, UUID], object]] = {
    "get": lambda r, id, own: r.get(id),
    "history": lambda r, id, own: r.history(id),
    "update": lambda r, id, own: r.update(id, importance=1.0),
    "update text": lambda r, id, own: r.update(id, text="taken over"),
    "update metadata": lambda r, id, own: r.update(id, metadata={"a": 1}),
    "delete": lambda r, id, own: r.delete(id, vacuum=False),
    "supersede": lambda r, id, own: r.supersede(id, by=own),
    "supersede by": lambda r, id, own: r.supersede(own, by=id),
    "restore": lambda r, id, own: r.restore(id),
}


@pytest.mark.parametrize("verb", VERBS)
def test_a_hidden_memory_and_no_memory_get_the_same_answer(
    verb: str, as_user: AsUser, other: Recollect
) -> None:
    foreign = other.add("the other tenant's plan")
    hidden = as_user("bob").add("bob's diary")
    ana = as_user("ana")
    own = ana.add("ana's own")
    call = VERBS[verb]
    none = answer(lambda: call(ana, uuid4(), own.id))
    assert none[0] == "memory_not_found"
    assert answer(lambda: call(ana, foreign.id, own.id)) == none
    assert answer(lambda: call(ana, hidden.id, own.id)) == none
    assert other.get(foreign.id).text == "the other tenant's plan"
    assert as_user("bob").get(hidden.id).text == "bob's diary"


def test_a_filter_by_id_reaches_nothing_hidden(as_user: AsUser, other: Recollect) -> None:
    foreign, hidden = other.add("x marks the spot"), as_user("bob").add("x in bob's diary")
    ana = as_user("ana")
    ana.add("x of ana")
    for id in (foreign.id, hidden.id):
        assert len(ana.list(filters={"id": str(id)})) == 0
        assert ana.delete(filters={"id": str(id)}, vacuum=False).memories == 0
    assert {m.text for m in ana.list(filters={"$not": {"id": str(uuid4())}})} == {"x of ana"}


def test_deleting_by_condition_erases_only_what_the_caller_may_change(
    client: Recollect, as_user: AsUser
) -> None:
    client.scopes.create("team/api")
    client.members.add("ana", "team/api")
    company = client.add("readable by all members", layer="company")
    bob = as_user("bob").add("bob's")
    ana = as_user("ana")
    ana.add("ana's")
    receipt = ana.delete(types=["episodic"], vacuum=False)
    assert receipt.memories == 1
    assert client.get(company.id).text == "readable by all members"
    assert as_user("bob").get(bob.id).text == "bob's"


def test_a_sweep_by_a_member_leaves_the_expired_memories_of_others(
    as_user: AsUser, owner_conninfo: str, tenant_id: str
) -> None:
    past = datetime.now(UTC) - timedelta(days=1)
    for name in ("ana", "bob"):
        as_user(name).add(f"{name}'s", created_at=past - timedelta(days=1), expires_at=past)
    assert as_user("ana").sweep().memories == 1
    with psycopg.connect(owner_conninfo) as connection:
        left = connection.execute(
            "select text from recollect.memory where tenant_id = %s", [tenant_id]
        ).fetchall()
    assert left == [("bob's",)]


def test_importing_a_line_with_a_hidden_id_changes_nothing_of_it(as_user: AsUser, other: Recollect) -> None:
    hidden, foreign = as_user("bob").add("bob's diary"), other.add("theirs")
    lines = [json.dumps({"id": str(id), "text": "planted"}) for id in (hidden.id, foreign.id)]
    as_user("ana").import_jsonl(io.StringIO("\n".join(lines)))
    assert as_user("bob").get(hidden.id).text == "bob's diary"
    assert len(as_user("bob").history(hidden.id)) == 1
    assert other.get(foreign.id).text == "theirs"


def test_importing_a_line_that_names_another_tenant_stores_it_in_ones_own(
    as_user: AsUser, other: Recollect
) -> None:
    line = json.dumps({"text": "smuggled", "tenant_id": other.tenant_context.tenant_id, "scope": "user/ana"})
    as_user("ana").import_jsonl(io.StringIO(line))
    assert [m.tenant_id for m in as_user("ana").list()] == [as_user("ana").tenant_context.tenant_id]
    assert len(other.list()) == 0


def test_an_export_of_one_tenant_says_nothing_of_another(as_user: AsUser, other: Recollect) -> None:
    other.add("the other tenant's plan", entities=["Zanzibar"], metadata={"k": "v"})
    as_user("ana").add("mine")
    target = io.StringIO()
    assert as_user("root", roles=("admin",)).export_jsonl(target) == 1
    assert "plan" not in target.getvalue()
    assert other.tenant_context.tenant_id not in target.getvalue()


def test_sessions_and_agents_of_the_same_name_are_two(as_user: AsUser) -> None:
    for layer in ("session", "agent"):
        for user in ("ana", "bob"):
            as_user(user, session_id="s1", agent_id="s1").add(f"{layer} of {user}", layer=layer)
    for user in ("ana", "bob"):
        seen = {m.text for m in as_user(user, session_id="s1", agent_id="s1").list()}
        assert seen == {f"session of {user}", f"agent of {user}"}


def test_a_lead_sees_below_but_neither_beside_nor_into_private_scopes(
    client: Recollect, as_user: AsUser
) -> None:
    for scope, parent in (("org/west", None), ("org/east", None), ("team/api", "org/west"), ("team/sea", "org/east"),
                          ("project/pay", "team/api")):  # fmt: skip
        client.scopes.create(scope, parent=parent)
        client.add(f"about {scope}", layer=scope.partition("/")[0], scope=scope)
    client.members.add("lea", "org/west", role="lead")
    client.members.add("ana", "team/api")
    as_user("ana").add("ana's private note")
    as_user("ana", session_id="s").add("ana's session", layer="session")
    client.add("company news", layer="company")
    lea = as_user("lea")
    assert {m.text for m in lea.list()} == {
        "about org/west",
        "about team/api",
        "about project/pay",
        "company news",
    }
    assert {hit.text for hit in lea.search("about private note session news", threshold=0, limit=50)} <= {
        m.text for m in lea.list()
    }
    with pytest.raises(ForbiddenError):
        lea.add("from below", layer="company")
    with pytest.raises(NotFoundError):
        lea.add("across", layer="team", scope="team/sea")
    with pytest.raises(RecollectError):
        lea.members.add("lea", "org/east", role="lead")


def test_a_membership_counts_at_once_and_ends_at_once(client: Recollect, as_user: AsUser) -> None:
    client.scopes.create("team/api")
    memory = client.add("the team's secret", layer="team", scope="team/api")
    ana = as_user("ana")
    with pytest.raises(NotFoundError):
        ana.get(memory.id)
    client.members.add("ana", "team/api")
    assert ana.get(memory.id).text == "the team's secret"
    client.members.remove("ana", "team/api")
    with pytest.raises(NotFoundError):
        ana.get(memory.id)
    assert len(ana.search("the team's secret", threshold=0)) == 0


def test_standing_in_a_team_grants_nothing(client: Recollect, as_user: AsUser) -> None:
    client.scopes.create("team/api")
    client.add("the team's secret", layer="team", scope="team/api")
    zoe = as_user("zoe", team_id="api")
    assert len(zoe.list()) == 0
    with pytest.raises(NotFoundError):
        zoe.add("planted", layer="team")


def test_a_lead_can_not_make_a_scope_in_a_colleagues_name(client: Recollect, as_user: AsUser) -> None:
    client.scopes.create("team/api")
    client.members.add("lea", "team/api", role="lead")
    lea = as_user("lea")
    for scope in ("user/ana", "session/s1"):
        with pytest.raises(InvalidInputError):
            lea.scopes.create(scope, parent="team/api")
    with pytest.raises(ForbiddenError):
        lea.scopes.create("user/ana")


def test_rights_over_tenants_and_people_are_not_for_everybody(as_user: AsUser, other: Recollect) -> None:
    ana, admin = as_user("ana"), as_user("root", roles=("admin",))
    theirs = other.tenant_context.tenant_id
    for call in (
        lambda: ana.tenants.create("x"),
        lambda: admin.tenants.create("x"),
        lambda: admin.tenants.list(),
        lambda: admin.tenants.forget(theirs),
        lambda: ana.tenants.forget(ana.tenant_context.tenant_id),
        lambda: ana.tenants.set_retention("user", 1),
        lambda: ana.tenants.set_recursion(enabled=False),
        lambda: ana.forget_user("bob"),
        lambda: ana.reembed(),
        lambda: ana.members.add("ana", f"company/{ana.tenant_context.tenant_id}", role="lead"),
    ):
        with pytest.raises((ForbiddenError, NotFoundError)):
            call()
    assert other.tenants.get().id == theirs


def test_an_operator_is_no_admin(as_user: AsUser) -> None:
    as_user("ana").add("ana's")
    assert len(as_user("ops", roles=("operator",)).list()) == 0


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_names_of_tenants_users_and_scopes_are_only_names(
    text: str, store: Recollect, other: Recollect
) -> None:
    other.add("untouched")
    tenant = f"{text} {uuid4().hex[:8]}"
    store.tenants.create(tenant, name=text)
    try:
        admin = store.for_context(TenantContext(tenant_id=tenant, user_id=text, roles=("admin",)))
        admin.scopes.create(f"team/{text}")
        admin.members.add(text, f"team/{text}", role="lead")
        lead = admin.for_context(
            TenantContext(tenant_id=tenant, user_id=text, agent_id=text, session_id=text)
        )
        lead.add(
            text,
            layer="team",
            scope=f"team/{text}",
            metadata={text: text},
            entities=[text],
            conversation=text,
        )
        assert [m.text for m in lead.list(scope=f"team/{text}", conversation=text)] == [text]
        assert [m.text for m in lead.list(filters={"entity": text, "conversation": text})] == [text]
        assert {hit.scope for hit in lead.search(text, threshold=0)} <= {f"team/{text}"}
        assert [member.user_id for member in admin.members.list(f"team/{text}")] == [text]
        stranger = admin.for_context(
            TenantContext(tenant_id=tenant, user_id="zoe", roles=(f"lead:team/{text} x",))
        )
        assert len(stranger.list()) == 0
    finally:
        store.tenants.forget(tenant)
    assert [m.text for m in other.list()] == ["untouched"]


def test_many_callers_at_once_on_one_connection_get_their_own(
    settings: Settings, store: Recollect, tenant_id: str, other: Recollect
) -> None:
    tenants = [tenant_id, other.tenant_context.tenant_id]
    people = [TenantContext(tenant_id=t, user_id=u) for t in tenants for u in ("ana", "bob", "cleo")]
    for context in people:
        store.for_context(context).add(f"{context.tenant_id} {context.user_id}")

    async def look(client: AsyncRecollect, context: TenantContext) -> bool:
        listed = await client.for_context(context).list()
        found = await client.for_context(context).search("ana bob cleo", threshold=0)
        expected = {f"{context.tenant_id} {context.user_id}"}
        return {m.text for m in listed} == expected and {hit.text for hit in found} <= expected

    async def rush() -> list[bool]:
        async with AsyncRecollect(settings=settings.replace(pool_size=1)) as client:
            return await asyncio.gather(*(look(client, context) for context in people * 6))

    assert all(asyncio.run(rush()))

"""What a caller sees and may write, compared with the rules, in random trees of scopes."""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID, uuid4

import psycopg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.profiles import examples

from recollect import Recollect, TenantContext
from recollect.doctor import rules
from recollect.doctor.arena import Arena
from recollect.doctor.rules import Belonging, Place
from recollect.doctor.world import World, forget_world, store_world
from recollect.domain.ids import new_id
from recollect.domain.layers import Layer, ScopeName
from recollect.storage.endpoint import Door
from recollect.storage.store import caller_settings

USERS = ["ana", "bob", "cleo"]
NAMES = ["x", "y", "z"]
SHARED = [Layer.ORG, Layer.TEAM, Layer.PROJECT]


@dataclass(frozen=True)
class Case:
    places: tuple[Place, ...]
    belongings: tuple[Belonging, ...]
    callers: tuple[TenantContext, ...]


@st.composite
def cases(draw: st.DrawFn) -> Case:
    tenant = "t-" + uuid4().hex[:12]
    places = [Place(id=new_id(), layer=Layer.COMPANY, name=tenant)]
    taken = set()
    for _ in range(draw(st.integers(0, 8))):
        layer, name = draw(st.sampled_from(SHARED)), draw(st.sampled_from(NAMES))
        if (layer, name) in taken:
            continue
        taken.add((layer, name))
        # A parent of any shared layer, or none: a scope that lost its place must not open anything.
        parent = draw(st.sampled_from([None, *[p.id for p in places if p.layer.precedence > 3]]))
        places.append(Place(id=new_id(), layer=layer, name=name, parent_id=parent))
    shared = [place.id for place in places]
    for user in draw(st.sets(st.sampled_from(USERS))):
        places.append(Place(id=new_id(), layer=Layer.USER, name=user))
    owners = [place.name for place in places if place.layer is Layer.USER] + [""]
    personal = st.tuples(
        st.sampled_from([Layer.AGENT, Layer.SESSION]), st.sampled_from(NAMES), st.sampled_from(owners)
    )
    for layer, name, owner in draw(st.sets(personal, max_size=6)):
        parent = next((p.id for p in places if p.layer is Layer.USER and p.name == owner), None)
        places.append(Place(id=new_id(), layer=layer, name=name, owner=owner, parent_id=parent))
    joined = st.tuples(st.sampled_from(USERS), st.sampled_from(shared))
    pairs = draw(st.dictionaries(joined, st.sampled_from(["member", "lead"]), max_size=6))
    belongings = tuple(Belonging(user_id=u, scope_id=s, role=r) for (u, s), r in pairs.items())
    claims = [str(ScopeName(p.layer, p.name)) for p in places if not p.owner] + ["team/nowhere"]
    roles = st.sets(
        st.sampled_from(["admin", "operator", *[f"lead:{claim}" for claim in claims]]), max_size=2
    )
    named = st.none() | st.sampled_from(NAMES)
    callers = draw(
        st.lists(
            st.builds(
                TenantContext,
                tenant_id=st.just(tenant),
                user_id=st.none() | st.sampled_from([*USERS, "zoe"]),
                agent_id=named,
                session_id=named,
                team_id=named,
                roles=roles.map(tuple),
            ),
            min_size=1,
            max_size=5,
        )
    )
    return Case(places=tuple(places), belongings=belongings, callers=tuple(callers))


def build(case: Case) -> World:
    return World(
        tenant_id=case.callers[0].tenant_id,
        token=uuid4().hex,
        places=case.places,
        belongings=case.belongings,
        memories={place.id: new_id() for place in case.places},
        conversations={place.id: new_id() for place in case.places},
    )


INSERT = "insert into recollect.mention (tenant_id, entity, memory_id, scope_id) values (%s, 'x', %s, %s)"


def raw_scopes(app: psycopg.Connection[tuple[object, ...]], context: TenantContext) -> set[object]:
    with app.transaction():
        app.execute(caller_settings(context))
        return {row[0] for row in app.execute("select scope_id from recollect.memory")}


def raw_writable(
    app: psycopg.Connection[tuple[object, ...]], context: TenantContext, world: World
) -> set[UUID]:
    accepted = set()
    with app.transaction(force_rollback=True):
        app.execute(caller_settings(context))
        for place in world.places:
            try:
                with app.transaction():
                    app.execute(INSERT, [context.tenant_id, world.memories[place.id], place.id])
                accepted.add(place.id)
            except psycopg.errors.InsufficientPrivilege:
                continue
    return accepted


@settings(
    max_examples=examples(40), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(case=cases())
def test_callers_see_and_write_exactly_what_the_rules_allow(case: Case, store: Recollect, door: Door) -> None:
    assert door.owner is not None
    world = build(case)
    try:
        store_world(door.owner, world)
        with psycopg.connect(door.app, autocommit=True) as app:
            for context in case.callers:
                seen = rules.visible(case.places, case.belongings, context)
                listed = {memory.id for memory in store.for_context(context).list(limit=1000)}
                assert listed & set(world.memories.values()) == {world.memories[scope] for scope in seen}
                assert raw_scopes(app, context) == seen
                assert raw_writable(app, context, world) == rules.writable(
                    case.places, case.belongings, context
                )
    finally:
        forget_world(door.owner, world)


def names(arena: Arena, scopes: set[UUID]) -> set[str]:
    found = [place for place in arena.mine.places if place.id in scopes]
    return {
        "company" if p.layer is Layer.COMPANY else f"{p.owner}:{p.layer.value}/{p.name}".lstrip(":")
        for p in found
    }


WEST = {"org/west", "company"}
OF_ANA = {"user/ana", "ana:session/s1", "ana:session/s2", "ana:agent/bot"}


@pytest.mark.parametrize(
    ("caller", "reads", "writes"),
    [
        ({}, set(), set()),
        ({"user_id": "zoe"}, set(), set()),
        ({"user_id": "zoe", "team_id": "api", "org_id": "west"}, set(), set()),
        ({"user_id": "ana"}, OF_ANA | {"team/api"} | WEST, OF_ANA | {"team/api"}),
        (
            {"user_id": "ana", "session_id": "s1", "agent_id": "bot"},
            {"user/ana", "ana:session/s1", "ana:agent/bot", "team/api"} | WEST,
            {"user/ana", "ana:session/s1", "ana:agent/bot", "team/api"},
        ),
        ({"agent_id": "crawler"}, {"agent/crawler"}, {"agent/crawler"}),
        ({"agent_id": "bot"}, set(), set()),
        ({"session_id": "night"}, {"session/night"}, {"session/night"}),
        (
            {"user_id": "cleo"},
            {"user/cleo", "team/api", "team/web", "project/checkout", "project/site"} | WEST,
            {"user/cleo", "team/api", "team/web", "project/checkout", "project/site", "org/west"},
        ),
        (
            {"user_id": "dan"},
            {"user/dan", "project/site", "team/web", "team/sea", "org/east"} | WEST,
            {"user/dan", "project/site", "team/sea"},
        ),
        (
            {"user_id": "zoe", "roles": ("lead:team/api",)},
            {"team/api", "project/checkout"} | WEST,
            {"team/api", "project/checkout"},
        ),
    ],
)  # fmt: skip
def test_the_rules_themselves_agree_with_answers_worked_out_by_hand(
    arena: Arena, caller: dict[str, str], reads: set[str], writes: set[str]
) -> None:
    context = arena.mine.as_user(**caller)  # type: ignore[arg-type]
    world = arena.mine
    assert names(arena, rules.visible(world.places, world.belongings, context)) == reads
    assert names(arena, rules.writable(world.places, world.belongings, context)) == writes


def test_an_admin_sees_all_of_the_tenant_and_nothing_else(arena: Arena) -> None:
    world = arena.mine
    everything = {place.id for place in world.places}
    assert rules.visible(world.places, world.belongings, world.admin) == everything
    with psycopg.connect(arena.app, autocommit=True) as app:
        assert raw_scopes(app, world.admin) == everything

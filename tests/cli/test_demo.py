"""The demo world: complete, coherent, and its questions answered from what was stored."""

from __future__ import annotations

import json
import subprocess
import sys
from types import SimpleNamespace
from typing import Any
from uuid import uuid4

import pytest
from tests.cli.test_terminal import STYLE, on_terminal

from recollect import Recollect, TenantContext
from recollect.contrib.demo.world import DEMO_TENANT, World, load_world, store_world
from recollect.domain.layers import Layer, ScopeName


@pytest.fixture(scope="module")
def world() -> World:
    return load_world()


@pytest.fixture(scope="module")
def shown(newcomer: dict[str, str]) -> Any:
    """What the first `recollect demo` on a new machine reports."""
    command = [sys.executable, "-m", "recollect.surfaces.cli.main", "demo", "--json"]
    done = subprocess.run(command, capture_output=True, text=True, env=newcomer, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return json.loads(done.stdout)


def test_the_world_is_coherent(world: World) -> None:
    keys = [memory["key"] for memory in world.memories]
    people = {person.id for person in world.people}
    scopes = {scope for scope, _ in world.scopes} | {"company"}
    assert len(keys) == len(set(keys))
    assert {memory["supersedes"] for memory in world.memories if "supersedes" in memory} <= set(keys)
    assert {memory["by"] for memory in world.memories if "by" in memory} <= people
    assert {scope for person in world.people for scope in (*person.lead, *person.member)} <= scopes
    assert {question.asked_by for question in world.questions} <= people
    assert {key for question in world.questions for key in question.expect} <= set(keys)
    for memory in world.memories:
        scope = memory["scope"]
        personal = scope != "company" and ScopeName.parse(scope).layer in {
            Layer.USER,
            Layer.SESSION,
            Layer.AGENT,
        }
        assert personal or scope in scopes, scope
        assert memory["created_at"] <= world.now


def test_the_world_is_large_and_varied_enough(world: World) -> None:
    by_hand = [memory for memory in world.memories if memory.get("metadata", {}).get("kind") != "everyday"]
    assert 600 <= len(world.memories) <= 900
    assert len(by_hand) >= 150
    assert len({memory.get("type", "episodic") for memory in by_hand}) == 4
    assert sum(scope.startswith("team/") for scope, _ in world.scopes) >= 6
    assert sum(scope.startswith("org/") for scope, _ in world.scopes) >= 2
    assert len({memory["text"] for memory in world.memories}) > 0.9 * len(world.memories)
    assert len(world.questions) >= 12


def test_the_demo_tells_its_story_and_every_answer_is_right(shown: Any, world: World) -> None:
    assert shown["stored"] is True
    assert shown["memories"] == len(world.memories)
    assert [answer["ask"] for answer in shown["answers"]] == [q.ask for q in world.questions if q.told]
    for answer in shown["answers"]:
        first = [hit["metadata"]["key"] for hit in answer["hits"][: len(answer["expected"])]]
        assert sorted(first) == sorted(answer["expected"]), answer["ask"]


def test_what_is_forgotten_was_known_before_and_is_not_known_after(shown: Any) -> None:
    told = shown["forgotten"]
    assert told["before"]["hits"][0]["text"] == "The code of the side door at the Ghent depot is 4711."
    assert told["receipt"]["memories"] == 1
    assert told["after"]["hits"] == []


def test_the_first_answer_to_every_question_about_the_world_is_the_right_one(
    shown: Any, newcomer: dict[str, str], world: World
) -> None:
    wrong, missed = [], []
    with Recollect(home=newcomer["RECOLLECT_HOME"]) as client:
        for question in world.questions:
            asker = client.for_context(world.context(question.asked_by))
            hits = asker.search(question.ask, limit=5, now=world.now, as_of=question.as_of)
            keys = [hit.metadata.get("key") for hit in hits]
            missed += [(question.ask, key) for key in question.expect if key not in keys]
            # What Jonas suggests about the battery stands behind what he says and hears about it.
            if not set(keys[:1]) & set(question.expect) and "battery" not in question.ask:
                wrong.append((question.ask, [hit.text for hit in hits[:1]]))
    assert not wrong
    # The one that is missed is a reason told apart from its decision.
    assert len(missed) <= 1, missed


def test_what_a_project_keeps_to_itself_is_not_found_outside(shown: Any) -> None:
    assert [answer["found"] for answer in shown["secret"]] == [["orvo-floor"], [], []]


def test_nobody_is_shown_what_they_may_not_see(shown: Any, world: World) -> None:
    parents = dict(world.scopes)
    places = {person.id: {*person.lead, *person.member} for person in world.people}
    for answer in shown["answers"] + shown["secret"]:
        allowed = {f"company/{DEMO_TENANT}", f"user/{answer['asked_by']}"}
        below = set(places[answer["asked_by"]])
        while further := {child for child, parent in world.scopes if parent in below} - below:
            below |= further
        allowed |= below
        for scope in below:
            while scope in parents:
                allowed.add(scope)
                scope = parents[scope]
        assert {hit["scope"] for hit in answer["hits"]} <= allowed


def test_a_second_demo_reuses_the_world_and_a_person_can_read_it(
    shown: Any, newcomer: dict[str, str], world: World
) -> None:
    command = [sys.executable, "-m", "recollect.surfaces.cli.main", "demo"]
    done = subprocess.run(command, capture_output=True, text=True, env=newcomer, check=False)
    assert done.returncode == 0, done.stderr
    assert "Already stored" in done.stdout
    for question in world.questions:
        assert (question.ask in done.stdout) is question.told
    assert len(done.stdout.splitlines()) <= 45
    assert "Try next" in done.stdout
    assert "\x1b" not in done.stdout


def test_the_commands_to_try_next_work(shown: Any, newcomer: dict[str, str]) -> None:
    assert len(shown["next"]) == 3
    for command in shown["next"]:
        done = subprocess.run(
            ["sh", "-c", command], capture_output=True, text=True, env=newcomer, check=False
        )
        assert done.returncode == 0, (command, done.stderr)
        assert done.stdout, command
        assert "nothing scores" not in done.stderr, command


def test_the_commands_to_try_next_can_be_copied_from_a_narrow_terminal(
    shown: Any, newcomer: dict[str, str]
) -> None:
    code, screen = on_terminal(SimpleNamespace(environ=newcomer), "demo", columns=60)
    told = STYLE.sub("", screen).partition("Try next\n")[2].replace("uv run ", "")
    assert code == 0
    assert [line.strip() for line in told.splitlines()] == shown["next"]


def test_a_tenant_of_that_name_that_is_not_the_demo_is_left_alone(
    shown: Any, newcomer: dict[str, str]
) -> None:
    with Recollect(home=newcomer["RECOLLECT_HOME"]) as client:
        client.tenants.create("acme", name="Acme Ltd")
        acme = client.for_context(TenantContext(tenant_id="acme", user_id="ana"))
        memory = acme.add("precious")
        command = [sys.executable, "-m", "recollect.surfaces.cli.main", "--tenant", "acme", "demo", "--fresh"]
        done = subprocess.run(command, capture_output=True, text=True, env=newcomer, check=False)
        assert done.returncode == 5
        assert "not the demo world" in done.stderr
        assert acme.get(memory.id).text == "precious"


def test_an_incomplete_world_is_stored_again(store: Recollect, world: World) -> None:
    tenant = f"demo-{uuid4().hex[:8]}"
    seen: list[tuple[int, int | None]] = []
    assert (
        store_world(store, world, tenant=tenant, progress=lambda done, total: seen.append((done, total)))
        is True
    )
    assert seen[-1] == (len(world.memories), len(world.memories))
    assert store_world(store, world, tenant=tenant) is False
    quinn = store.for_context(TenantContext(tenant_id=tenant, user_id="quinn", roles=("admin",)))
    quinn.delete(conversation="inc31-call", vacuum=False)
    assert store_world(store, world, tenant=tenant) is True
    assert len(quinn.list(conversation="inc31-call")) == 8

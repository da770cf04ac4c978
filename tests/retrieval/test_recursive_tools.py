"""The tools over memories, called by a planner that follows a list."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from tests.retrieval.test_recursive_decompose import split as decomposed

from recollect import AsyncRecollect, Settings, TenantContext
from recollect.domain.ids import new_id
from recollect.domain.layers import Layer
from recollect.domain.learning import ShownHit
from recollect.domain.memory import MemoryType
from recollect.domain.results import Hit
from recollect.domain.trajectory import CallRecord, Trajectory
from recollect.retrieval.recursive.executor import RlmExecutor
from recollect.retrieval.recursive.gathered import Gathered
from recollect.retrieval.recursive.templates import Progress, propose
from recollect.retrieval.request import SearchRequest
from recollect.runs.environment import Action
from recollect.runs.planners.contract import Call, Plan, Situation

NOW = datetime(2026, 11, 15, 12, tzinfo=UTC)


class Listed:
    """Plans what it was given, for the root and for questions below it."""

    name = "listed"

    def __init__(self, root: Sequence[Call], below: Sequence[Call]) -> None:
        self._steps = {0: list(root), 1: list(below)}

    async def plan(self, situation: Situation) -> Plan:
        steps = self._steps[situation.depth]
        if len(situation.steps) >= len(steps):
            return Plan(done=True)
        return Plan(calls=(steps[len(situation.steps)],))


def call(tool: str, **parameters: Any) -> Call:
    return Call(tool=tool, parameters=parameters)


@pytest.fixture
def context(tenant_id: str) -> TenantContext:
    return TenantContext(tenant_id=tenant_id, user_id="root", roles=("admin", "operator"))


def run(
    settings: Settings,
    context: TenantContext,
    planner: Listed | None,
    *,
    memories: Sequence[Mapping[str, Any]],
    query: str = "how are errors handled",
) -> Trajectory:
    """The record of one search."""

    async def search() -> Trajectory:
        async with AsyncRecollect(settings=settings, context=context) as client:
            await client.scopes.create("team/parser")
            await client.add_many(memories)
            workspace = await client._workspace()
            request = SearchRequest.check(settings, query=query, clock=NOW, limit=5)
            _, trajectory = await RlmExecutor(workspace, context, planner=planner).execute(request, new_id())
            assert trajectory is not None
            return trajectory

    return asyncio.run(search())


def calls(trajectory: Trajectory) -> list[CallRecord]:
    return [one for step in trajectory.steps for one in step.tool_calls]


ERRORS = [{"text": f"Errors are handled by policy {number}, says the handbook."} for number in range(3)]


def test_what_a_sub_question_found_reaches_who_asked_it(settings: Settings, context: TenantContext) -> None:
    look = call("search_layer", query="how errors are handled")
    ask = call("recursive_call", sub_query="errors handled by policy")
    made = calls(run(settings, context, Listed([look, ask], [look]), memories=ERRORS))
    # The look before it has found the same: it is the answer to the sub-question all the same.
    assert made[0].result
    assert {hit["id"] for hit in made[1].result["hits"]} == {hit["id"] for hit in made[0].result}


def test_an_unknown_scope_is_an_error_and_not_a_wider_search(
    settings: Settings, context: TenantContext
) -> None:
    looks = [
        call("search_layer", query="errors", scopes=["team/nobody"]),
        call("search_layer", query="errors", scopes=["team/parser"]),
    ]
    memories = [*ERRORS, {"text": "Errors are handled by the parser team.", "scope": "team/parser"}]
    unknown, known = calls(run(settings, context, Listed(looks, []), memories=memories))
    assert unknown.error is not None
    assert "there is no scope 'team/nobody'" in unknown.error
    assert known.error is None
    assert [hit["group"] for hit in known.result] == ["team/parser"]


def offers(query: str) -> dict[str, Action]:
    """What can be chosen when a look has found thirty memories and five are wanted."""
    gathered, progress = Gathered(), Progress()
    for number in range(30):
        hit = Hit(
            id=new_id(), text=f"Release {number} went out.", score=0.8, layer=Layer.USER, scope="user/root",
            created_at=NOW - timedelta(days=10 * number), type=MemoryType.EPISODIC, group="user/root", metadata={},
        )  # fmt: skip
        gathered.add([hit], [ShownHit(id=hit.id, place=1, score=0.8, signals={})], {})
    progress.used.add("search")
    progress.note(new=30, hits=30)
    split = decomposed(query)
    made = propose(split, progress, gathered, depth=0, step=1, limit=5, now=NOW, max_depth=2)
    return {action.template: action for action in made}


def test_a_question_about_the_latest_may_let_go_of_what_is_old() -> None:
    [(tool, parameters)] = offers("what are the latest releases")["filter_recency"].calls
    assert tool == "filter_by_recency"
    # As old as the fifth of them.
    assert 40 < parameters["max_age_days"] < 41
    assert "filter_recency" not in offers("what are the releases")

"""The six tools as a toolset of the real pydantic-ai: agents with models that answer by rule, and no network."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from pydantic_ai import Agent, DeferredToolRequests, UnexpectedModelBehavior, models
from pydantic_ai.messages import (
    ModelMessage,
    ModelResponse,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
)
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.models.test import TestModel

from recollect import AsyncRecollect, Recollect, Settings, TenantContext
from recollect.contrib.pydantic_ai import RecollectToolset
from recollect.errors import InvalidInputError, StoreUnreachableError
from recollect.surfaces.tools import INSTRUCTIONS, TOOLS


@pytest.fixture(autouse=True)
def _no_real_model() -> Iterator[None]:
    before, models.ALLOW_MODEL_REQUESTS = models.ALLOW_MODEL_REQUESTS, False
    yield
    models.ALLOW_MODEL_REQUESTS = before


def scripted(*calls: tuple[str, dict[str, Any]]) -> FunctionModel:
    """A model that makes these calls one after another, then says what the last one returned."""

    def answer(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        done = sum(isinstance(part, ToolReturnPart) for message in messages for part in message.parts)
        if done < len(calls):
            return ModelResponse(parts=[ToolCallPart(*calls[done])])
        [*_, last] = messages[-1].parts
        return ModelResponse(parts=[TextPart(str(getattr(last, "content", "")))])

    return FunctionModel(answer)


def run(agent: Agent[None, Any]) -> Any:
    """One run, on a loop that is closed afterwards."""
    return asyncio.run(agent.run("Go on."))


def _returns(result: Any, outcome: str) -> list[ToolReturnPart]:
    return [
        part
        for message in result.all_messages()
        for part in message.parts
        if isinstance(part, ToolReturnPart) and part.outcome == outcome
    ]


def returned(result: Any) -> list[Any]:
    """What the tools of a run returned, whole."""
    return [part.metadata for part in _returns(result, "success")]


def refused(result: Any) -> list[str]:
    """What tools of a run asked the model to mend."""
    return [str(part.content) for part in _returns(result, "retried")]


def test_the_tools_are_those_of_mcp_with_the_same_words(client: Recollect) -> None:
    model = TestModel(call_tools=[])
    agent = Agent(model, toolsets=[RecollectToolset(client)])
    run(agent)
    asked = model.last_model_request_parameters
    assert asked is not None
    offered = {tool.name: tool for tool in asked.function_tools}
    assert list(offered) == [tool.name for tool in TOOLS]
    for tool in TOOLS:
        assert offered[tool.name].description == tool.told
    search = offered["memory_search"].parameters_json_schema
    assert search["properties"]["threshold"]["default"] == 0.7
    assert search["additionalProperties"] is False


def test_the_parameters_are_those_of_mcp(client: Recollect) -> None:
    from recollect.surfaces.mcp.server import local_server

    async def of_mcp() -> dict[str, Any]:
        return {tool.name: tool.input_schema for tool in await local_server(client._async).list_tools()}

    theirs = asyncio.run(of_mcp())
    for name, tool in RecollectToolset(client).tools.items():
        ours = tool.function_schema.json_schema
        assert ours == theirs[name], name


def test_an_agent_remembers_recalls_judges_and_forgets(client: Recollect) -> None:
    toolset = RecollectToolset(client)

    def play(*calls: tuple[str, dict[str, Any]]) -> Any:
        return run(Agent(scripted(*calls), toolsets=[toolset]))

    added = play(("memory_add", {"text": "Ana keeps bees behind the house.", "metadata": {"n": 1}}))
    [memory] = returned(added)
    assert client.get(memory["id"]).metadata == {"n": 1}
    found = play(("memory_search", {"query": "Who keeps bees?", "threshold": 0}))
    [results] = returned(found)
    assert results["hits"][0]["text"] == "Ana keeps bees behind the house."
    assert "1. Ana keeps bees behind the house." in found.output
    assert f"query_id {results['query_id']}" in found.output
    id = results["hits"][0]["id"]
    play(("memory_feedback", {"memory_id": id, "kind": "helpful", "query_id": results["query_id"]}))
    [receipt] = returned(play(("memory_delete", {"memory_id": id})))
    assert receipt["memories"] == 1
    assert len(client.list()) == 0


def test_an_agent_reads_documents_and_code(client: Recollect, tmp_path: Path) -> None:
    (tmp_path / "limits.py").write_text(
        "MAX_RETRIES = 7\n\n\ndef retry(times: int = MAX_RETRIES) -> int:\n    return times\n"
    )
    guide = tmp_path / "guide.md"
    guide.write_text("# Guide\n\n## Tokens\n\nA token expires after 15 minutes.\n", encoding="utf-8")
    client.library.add(guide)
    agent = Agent(
        scripted(
            ("oracle_consult", {"problem": "When does a token expire?"}),
            ("codebase_explore", {"path": str(tmp_path), "query": "where is MAX_RETRIES defined"}),
        ),
        toolsets=[RecollectToolset(client, roots=[tmp_path])],
    )
    consulted, explored = returned(run(agent))
    assert "15 minutes" in consulted["answer"]
    assert any("limits.py" in one["file_path"] for one in explored["citations"])


def test_what_a_model_did_wrong_is_told_to_it(client: Recollect, tmp_path: Path) -> None:
    agent = Agent(
        scripted(
            ("memory_add", {"text": ""}),
            ("memory_add", {"text": "Fine.", "colour": "red"}),
            ("memory_feedback", {"kind": "helpful"}),
            ("memory_delete", {"memory_id": "not-an-id"}),
            ("codebase_explore", {"path": "/", "query": "secrets"}),
            ("memory_add", {"text": "Fine."}),
        ),
        toolsets=[RecollectToolset(client, roots=[tmp_path], max_retries=5)],
    )
    result = run(agent)
    words = refused(result)
    assert [word.split(":")[0] for word in words] == [
        "invalid_text", "invalid_input", "invalid_input", "invalid_input", "forbidden",
    ]  # fmt: skip
    assert "colour" in words[1]
    assert "memory_id" in words[2]
    assert [memory.text for memory in client.list()] == ["Fine."]


def test_a_model_that_goes_on_doing_wrong_is_stopped(client: Recollect) -> None:
    calls = [("memory_add", {"text": ""})] * 9
    agent = Agent(scripted(*calls), toolsets=[RecollectToolset(client, max_retries=1)])
    with pytest.raises(UnexpectedModelBehavior):
        run(agent)


def test_what_a_model_can_not_mend_is_the_applications() -> None:
    with Recollect(url="http://127.0.0.1:9", api_key=None) as nowhere:
        agent = Agent(scripted(("memory_search", {"query": "bees"})), toolsets=[RecollectToolset(nowhere)])
        with pytest.raises(StoreUnreachableError):
            run(agent)


def test_tools_can_be_chosen_and_deleting_needs_approval_on_request(client: Recollect) -> None:
    assert list(RecollectToolset(client, tools=["memory_search"]).tools) == ["memory_search"]
    with pytest.raises(InvalidInputError, match="unknown tool 'search'"):
        RecollectToolset(client, tools=["search"])
    with pytest.raises(InvalidInputError, match="list of names"):
        RecollectToolset(client, tools="memory_search")
    kept = client.add("Precious.")
    agent = Agent(
        scripted(("memory_delete", {"memory_id": str(kept.id)})),
        toolsets=[RecollectToolset(client, approve_deletes=True)],
        output_type=[str, DeferredToolRequests],
    )
    asked = run(agent).output
    assert isinstance(asked, DeferredToolRequests)
    assert [call.tool_name for call in asked.approvals] == ["memory_delete"]
    assert client.get(kept.id).text == "Precious."


def test_the_agent_is_told_what_the_tools_are_for(client: Recollect) -> None:
    result = run(Agent(TestModel(call_tools=[]), toolsets=[RecollectToolset(client)]))
    assert INSTRUCTIONS in json.dumps([str(getattr(m, "instructions", "")) for m in result.all_messages()])


def test_an_asynchronous_client_and_a_server_do_as_well(
    settings: Settings, tenant_id: str, remote_of: Callable[..., Recollect]
) -> None:
    async def play() -> None:
        context = TenantContext(tenant_id=tenant_id, user_id="ana")
        async with AsyncRecollect(settings=settings, context=context) as client:
            agent = Agent(
                scripted(("memory_add", {"text": "Ana rows."})), toolsets=[RecollectToolset(client)]
            )
            await agent.run("Go on.")

    asyncio.run(play())
    agent = Agent(
        scripted(("memory_search", {"query": "Who rows?", "threshold": 0})),
        toolsets=[RecollectToolset(remote_of("ana"))],
    )
    assert "Ana rows." in run(agent).output

"""The MCP surface through the official client: in memory, over stdio and over streamable HTTP."""

from __future__ import annotations

import asyncio
import json
import os
import re
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client

from recollect import AsyncRecollect, Recollect, Settings, TenantContext
from recollect.client.verbs import BY_NAME, parameters
from recollect.providers.tokens import count_tokens
from recollect.surfaces.mcp.server import RESULT, local_server
from recollect.surfaces.tools import INSTRUCTIONS, TOOLS

PAGE = Path(__file__).parents[3] / "docs" / "mcp.md"
#: What the page tells a client to be set up with: a command, and an address.
COMMAND, ADDRESS = (
    json.loads(block)["mcpServers"]["recollect"]
    for block in re.findall(
        r"^```json\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL
    )
)
NOBODY = "01890000-0000-7000-8000-000000000000"

NAMES = [
    "codebase_explore",
    "memory_add",
    "memory_delete",
    "memory_feedback",
    "memory_search",
    "oracle_consult",
]


@pytest.fixture
def talk(settings: Settings, tenant_id: str) -> Callable[..., Any]:
    """Run a conversation with a server for user `ana` of the test's tenant."""

    def run(conversation: Callable[[Any], Awaitable[Any]], **parts: Any) -> Any:
        async def main() -> Any:
            context = TenantContext(tenant_id=tenant_id, **{"user_id": "ana", **parts})
            async with (
                AsyncRecollect(settings=settings, context=context) as client,
                Client(local_server(client)) as agent,
            ):
                return await conversation(agent)

        return asyncio.run(main())

    return run


def test_there_are_six_tools_that_say_what_they_do(talk: Callable[..., Any]) -> None:
    async def ask(agent: Any) -> Any:
        return (await agent.list_tools()).tools

    tools = {tool.name: tool for tool in talk(ask)}
    assert sorted(tools) == NAMES
    assert all(len(tool.description) > 80 for tool in tools.values())
    hints = {name: tool.annotations for name, tool in tools.items()}
    assert [name for name in NAMES if hints[name].read_only_hint] == [
        "codebase_explore",
        "memory_search",
        "oracle_consult",
    ]
    assert [name for name in NAMES if hints[name].destructive_hint] == ["memory_delete"]
    schema = tools["memory_search"].input_schema
    assert schema["additionalProperties"] is False
    assert (schema["properties"]["limit"]["default"], schema["properties"]["threshold"]["default"]) == (
        10,
        0.7,
    )


def test_the_tools_cost_a_model_little(talk: Callable[..., Any]) -> None:
    """With every request a model pays for the list as clients send it on, and for the server's instructions."""

    async def ask(agent: Any) -> Any:
        return (await agent.list_tools()).model_dump(by_alias=True, exclude_none=True, mode="json")["tools"]

    assert count_tokens(json.dumps(talk(ask))) + count_tokens(INSTRUCTIONS) <= 2_500


def test_every_parameter_is_one_of_the_verbs_that_may_be_asked_for() -> None:
    """A tool promises nothing that the client does not take: names and defaults are its own."""
    verbs = {
        "memory_add": ("add", "update"),
        "memory_search": ("search", "context", "get", "list"),
        "memory_delete": ("delete",),
        "memory_feedback": ("feedback",),
        "oracle_consult": ("oracle_consult",),
        "codebase_explore": ("explore",),
    }
    for tool in TOOLS:
        known = {one.name: one for name in verbs[tool.name] for one in parameters(BY_NAME[name])}
        renamed = {"memory_id": "memory_id" if "memory_id" in known else "id"}
        assert {renamed.get(name, name) for name in tool.takes} <= set(known), tool.name
        for name in tool.required:
            assert known[name].required
    search = {one.name: one.default for one in parameters(BY_NAME["search"])}
    takes = next(tool.takes for tool in TOOLS if tool.name == "memory_search")
    assert {name: schema["default"] for name, schema in takes.items() if "default" in schema} == {
        name: search[name] for name in ("limit", "threshold")
    }


def test_an_agent_remembers_recalls_judges_and_forgets(talk: Callable[..., Any]) -> None:
    async def live(agent: Any) -> None:
        added = await agent.call_tool("memory_add", {"text": "Ana is allergic to nuts.", "entities": ["Ana"]})
        memory = added.meta[RESULT]
        id = memory["id"]
        assert added.content[0].text == f"Remembered in user/ana.\nmemory_id {id}"
        found = await agent.call_tool("memory_search", {"query": "What is Ana allergic to?", "threshold": 0})
        query = found.meta[RESULT]["query_id"]
        score, day = found.meta[RESULT]["hits"][0]["score"], memory["created_at"][:10]
        assert found.content[0].text == (
            f"1. Ana is allergic to nuts. ({score:.2f}, user/ana, {day}, memory_id {id})\nquery_id {query}"
        )
        judged = await agent.call_tool(
            "memory_feedback", {"memory_id": id, "kind": "helpful", "query_id": query}
        )
        assert judged.content[0].text == f"Noted: helpful.\nmemory_id {id}"
        read = await agent.read_resource(f"recollect://memories/{id}")
        assert "allergic" in read.contents[0].text
        erased = await agent.call_tool("memory_delete", {"memory_id": id})
        assert erased.content[0].text.startswith("Erased for good: 1 memory. Receipt ")
        empty = await agent.call_tool("memory_search", {"query": "What is Ana allergic to?"})
        assert empty.content[0].text.startswith("Nothing remembered answers that.")

    talk(live)


def test_an_agent_corrects_reads_and_lists_memories(talk: Callable[..., Any]) -> None:
    async def live(agent: Any) -> None:
        async def ask(tool: str, **given: Any) -> str:
            answer = await agent.call_tool(tool, given)
            assert not answer.is_error, answer.content[0].text
            assert "null" not in answer.content[0].text
            assert "None" not in answer.content[0].text
            return str(answer.content[0].text)

        assert await ask("memory_search") == "Nothing is remembered here yet."
        stored = await ask("memory_add", text="The review is on Monday.", metadata={"topic": "review"})
        id = stored.rsplit(" ", 1)[1]
        changed = await ask("memory_add", memory_id=id, text="The review is on Friday.", importance=0.9)
        assert changed == f"Changed: The review is on Friday.\nmemory_id {id}"
        shown = await ask("memory_search", memory_id=id)
        assert shown.splitlines()[:3] == ["The review is on Friday.", f"memory_id: {id}", "scope: user/ana"]
        assert "importance: 0.9" in shown
        assert "The review is on Friday." in await ask("memory_search", limit="1")
        context = await ask("memory_search", query="When is the review?", max_tokens=400, threshold=0)
        assert "- The review is on Friday." in context
        assert f"memory_ids {id}" in context
        turns = [{"role": "user", "content": "I row."}, {"role": "assistant", "content": "Nice."}]
        talked = await ask("memory_add", messages=turns, conversation="c1")
        assert talked.startswith("Remembered 2 turns of conversation c1 in user/ana.\n1. memory_id ")
        assert "memory_id" in await ask("memory_add", messages=json.dumps(turns))

    talk(live)


def test_questions_of_one_connection_are_one_session(
    talk: Callable[..., Any], as_user: Callable[..., Recollect]
) -> None:
    """A question that is asked again in other words says that the first answer did not help."""

    async def live(agent: Any) -> None:
        await agent.call_tool("memory_add", {"text": "Ana keeps bees behind the house."})
        for question in ("Who keeps bees?", "Who keeps bees behind the house?"):
            await agent.call_tool("memory_search", {"query": question, "threshold": 0})

    talk(live)
    status = as_user("root", roles=("admin",)).learning.status()
    assert status.outcomes.get("refined", 0) == 1, status


@pytest.mark.parametrize(
    ("tool", "arguments", "said"),
    [
        ("memory_search", {"query": "x", "limit": 0}, "invalid_input: limit"),
        ("memory_search", {"query": "x", "scope": "team/none"}, "scope_not_found"),
        ("memory_add", {}, "invalid_"),
        ("memory_add", {"text": "a", "messages": [{"role": "user", "content": "b"}]}, "not both"),
        (
            "memory_add",
            {"text": "a", "colour": "red"},
            "invalid_input: memory_add takes no 'colour'; it takes text,",
        ),
        ("memory_add", {"text": "a", "scope": "team"}, "invalid_input: scope 'team' is a layer"),
        ("memory_add", {"memory_id": NOBODY, "scope": "team/api"}, "invalid_input: 'scope' can't be changed"),
        ("memory_search", {"query": "x", "limit": "many"}, "invalid_input: limit must be a whole number"),
        ("memory_search", {"query": "x", "memory_id": NOBODY}, "either memory_id or 'query', not both"),
        ("memory_search", {"threshold": 0.5}, "invalid_input: 'threshold' needs a query"),
        ("memory_feedback", {"kind": "helpful"}, "invalid_input: memory_feedback needs 'memory_id'"),
        ("memory_delete", {}, "invalid_input"),
        (
            "memory_feedback",
            {"memory_id": NOBODY, "kind": "helpful"},
            "not_found",
        ),
    ],
)
def test_what_makes_no_sense_is_said_with_its_code(
    talk: Callable[..., Any], tool: str, arguments: dict[str, Any], said: str
) -> None:
    async def ask(agent: Any) -> Any:
        return await agent.call_tool(tool, arguments)

    result = talk(ask)
    assert result.is_error
    assert said in result.content[0].text
    assert "pydantic" not in result.content[0].text


def test_documents_are_consulted_with_progress_and_read_as_resources(
    talk: Callable[..., Any], as_user: Callable[..., Recollect]
) -> None:
    guide = "# Guide\n\n## Tokens\n\nA token expires after 15 minutes.\n"
    document = as_user("ana").library.add(guide.encode(), name="guide.md").document
    heard: list[str] = []

    async def hear(progress: float, total: float | None, message: str | None) -> None:
        heard.append(message or "")

    async def ask(agent: Any) -> Any:
        result = await agent.call_tool(
            "oracle_consult", {"problem": "When does a token expire?"}, progress_callback=hear
        )
        text = await agent.read_resource(f"recollect://documents/{document.id}")
        return result, text.contents[0].text

    result, text = talk(ask)
    assert "15 minutes" in result.content[0].text
    assert result.meta[RESULT]["citations"][0]["status"] == "quoted"
    assert heard
    assert text == guide.strip()


def test_code_is_explored(talk: Callable[..., Any], tmp_path: Path) -> None:
    (tmp_path / "billing.py").write_text("def charge_card(amount):\n    return amount\n", encoding="utf-8")

    async def ask(agent: Any) -> Any:
        return await agent.call_tool(
            "codebase_explore", {"path": str(tmp_path), "query": "where is charge_card"}
        )

    result = talk(ask)
    assert not result.is_error, result.content[0].text
    assert "[1] billing.py:1-2" in result.content[0].text


@pytest.mark.system
def test_the_command_of_the_page_is_a_server_that_answers(settings: Settings, tenant_id: str) -> None:
    environ = {
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "RECOLLECT_HOME": str(settings.home),
        "RECOLLECT_EMBEDDER": "wordllama",
        "RECOLLECT_TENANT": tenant_id,
        "RECOLLECT_USER": "ana",
    }
    if settings.database_url:
        environ["RECOLLECT_DATABASE_URL"] = settings.database_url
    process = StdioServerParameters(**COMMAND, env=environ)
    assert f"-- {' '.join([process.command, *process.args])}\n" in PAGE.read_text(encoding="utf-8")

    async def main() -> Any:
        async with Client(stdio_client(process)) as agent:
            await agent.call_tool("memory_add", {"text": "The server room is cold."})
            return await agent.call_tool("memory_search", {"query": "Is the server room cold?"})

    found = asyncio.run(main())
    assert found.content[0].text.startswith("1. The server room is cold. (")


def test_at_the_address_of_the_page_a_key_says_who_asks(server: Any, client: Recollect) -> None:
    assert ADDRESS["type"] == "http"
    url = ADDRESS["url"].replace("http://127.0.0.1:8484", server.url)
    token = client.keys.create("agent", user="ben").token

    async def main(headers: dict[str, str]) -> Any:
        import httpx2
        from mcp.client.streamable_http import streamable_http_client

        async with (
            httpx2.AsyncClient(headers=headers, trust_env=False, follow_redirects=True) as transport,
            Client(streamable_http_client(url, http_client=transport)) as agent,
        ):
            return await agent.call_tool("memory_add", {"text": "Ben likes tea."})

    added = asyncio.run(
        main({name: value.replace("rcl_...", token) for name, value in ADDRESS["headers"].items()})
    )
    assert added.content[0].text.startswith("Remembered in user/ben.")
    import httpx

    hello = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    refused = httpx.post(url, json=hello, trust_env=False, timeout=60)
    assert (refused.status_code, refused.json()["code"]) == (401, "unauthorized")

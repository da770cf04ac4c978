"""The MCP surface through the official client: in memory, over stdio and over streamable HTTP."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client

from recollect import AsyncRecollect, Recollect, Settings, TenantContext
from recollect.surfaces.mcp.server import local_server

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
    assert all(tool.output_schema for tool in tools.values())
    hints = {name: tool.annotations for name, tool in tools.items()}
    assert [name for name in NAMES if hints[name].read_only_hint] == [
        "codebase_explore",
        "memory_search",
        "oracle_consult",
    ]
    assert [name for name in NAMES if hints[name].destructive_hint] == ["memory_delete"]
    schema = tools["memory_search"].input_schema
    assert schema["required"] == ["query"]
    assert (schema["properties"]["limit"]["default"], schema["properties"]["threshold"]["default"]) == (
        10,
        0.7,
    )


def test_an_agent_remembers_recalls_judges_and_forgets(talk: Callable[..., Any]) -> None:
    async def live(agent: Any) -> None:
        added = await agent.call_tool("memory_add", {"text": "Ana is allergic to nuts.", "entities": ["Ana"]})
        memory = added.structured_content["result"]
        assert memory["scope"] == "user/ana"
        found = await agent.call_tool("memory_search", {"query": "What is Ana allergic to?", "threshold": 0})
        assert [hit["id"] for hit in found.structured_content["hits"]] == [memory["id"]]
        assert "Ana is allergic to nuts." in found.content[0].text
        judged = await agent.call_tool(
            "memory_feedback",
            {"memory_id": memory["id"], "kind": "helpful", "query_id": found.structured_content["query_id"]},
        )
        assert judged.structured_content["kind"] == "helpful"
        read = await agent.read_resource(f"recollect://memories/{memory['id']}")
        assert "allergic" in read.contents[0].text
        receipt = await agent.call_tool("memory_delete", {"id": memory["id"]})
        assert receipt.structured_content["rows"]["memory"] == 1
        empty = await agent.call_tool("memory_search", {"query": "What is Ana allergic to?"})
        assert "Nothing relevant" in empty.content[0].text

    talk(live)


@pytest.mark.parametrize(
    ("tool", "arguments", "said"),
    [
        ("memory_search", {"query": "x", "limit": 0}, "invalid_input: limit"),
        ("memory_search", {"query": "x", "scope": "team/none"}, "scope_not_found"),
        ("memory_add", {}, "invalid_"),
        ("memory_add", {"text": "a", "messages": [{"role": "user", "content": "b"}]}, "not both"),
        ("memory_delete", {}, "invalid_input"),
        (
            "memory_feedback",
            {"memory_id": "01890000-0000-7000-8000-000000000000", "kind": "helpful"},
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
    assert "15 minutes" in result.structured_content["answer"]
    assert result.structured_content["citations"][0]["status"] == "quoted"
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
    assert result.structured_content["citations"][0]["file_path"] == "billing.py"


@pytest.mark.system
def test_over_stdio_a_process_of_its_own_answers(settings: Settings, tenant_id: str) -> None:
    environ = {
        "RECOLLECT_HOME": str(settings.home),
        "RECOLLECT_EMBEDDER": "wordllama",
        "RECOLLECT_TENANT": tenant_id,
        "RECOLLECT_USER": "ana",
    }
    if settings.database_url:
        environ["RECOLLECT_DATABASE_URL"] = settings.database_url
    process = StdioServerParameters(
        command=sys.executable, args=["-m", "recollect.surfaces.cli.main", "mcp"], env=environ
    )

    async def main() -> Any:
        async with Client(stdio_client(process)) as agent:
            await agent.call_tool("memory_add", {"text": "The server room is cold."})
            return await agent.call_tool(
                "memory_search", {"query": "Is the server room cold?", "threshold": 0}
            )

    found = asyncio.run(main())
    assert [hit["text"] for hit in found.structured_content["hits"]] == ["The server room is cold."]


def test_over_http_a_key_says_who_asks(server: Any, client: Recollect) -> None:
    token = client.keys.create("agent", user="ben").token

    async def main(headers: dict[str, str]) -> Any:
        import httpx2
        from mcp.client.streamable_http import streamable_http_client

        async with (
            httpx2.AsyncClient(headers=headers, trust_env=False, follow_redirects=True) as transport,
            Client(streamable_http_client(f"{server.url}/mcp/", http_client=transport)) as agent,
        ):
            return await agent.call_tool("memory_add", {"text": "Ben likes tea."})

    added = asyncio.run(main({"Authorization": f"Bearer {token}"}))
    assert added.structured_content["result"]["scope"] == "user/ben"
    import httpx

    hello = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    refused = httpx.post(f"{server.url}/mcp/", json=hello, trust_env=False, timeout=60)
    assert (refused.status_code, refused.json()["code"]) == (401, "unauthorized")

"""What a new user does with a server: over HTTP, from another process, and as a model does by MCP."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import httpx

from recollect import Recollect
from recollect.providers.tokens import count_tokens


def test_key(http: Callable[..., httpx.Client]) -> None:
    """Make a key, and store and search with plain requests."""
    ana = http(user="ana")
    assert ana.post("/v1/memories", json={"text": "Ana keeps bees."}).status_code == 201
    found = ana.post("/v1/search", json={"query": "Who keeps bees?"}).json()
    assert found["hits"][0]["text"] == "Ana keeps bees."


def test_revoked(server: Any, client: Recollect) -> None:
    """Revoke a key: it is refused from then on, on a server within seconds."""
    made = client.keys.create("old", user="ana")
    with httpx.Client(
        base_url=server.url, headers={"Authorization": f"Bearer {made.token}"}, trust_env=False, timeout=60
    ) as ana:
        assert ana.get("/v1/memories").status_code == 200
        client.keys.revoke(made.key.id)
        while ana.get("/v1/memories").status_code != 401:
            pass  # what a key opens is remembered for some seconds


def test_retry(http: Callable[..., httpx.Client]) -> None:
    """Send a write twice after a broken connection, and store it once."""
    ana, headers = http(user="ana"), {"Idempotency-Key": "order-17"}
    first = ana.post("/v1/memories", json={"text": "Order 17 was paid."}, headers=headers).json()
    again = ana.post("/v1/memories", json={"text": "Order 17 was paid."}, headers=headers)
    assert again.json()["id"] == first["id"]
    assert len(ana.get("/v1/memories").json()["items"]) == 1


def test_offline_docs(server: Any) -> None:
    """Read the API's page without the internet."""
    page = httpx.get(f"{server.url}/v1/docs", trust_env=False, timeout=60).text
    assert "/v1/search" in page or "openapi" in page
    assert "https://cdn" not in page
    document = httpx.get(f"{server.url}/v1/openapi.json", trust_env=False, timeout=60).json()
    assert "/v1/memories" in document["paths"]


def test_remote(server: Any, client: Recollect) -> None:
    """Point the same Python code at a server."""
    token = client.keys.create("app", user="ana").token
    with Recollect(url=server.url, api_key=token) as memory:
        memory.add("Ana keeps bees.")
        assert memory.search("Who keeps bees?")[0].text == "Ana keeps bees."


def test_tool_list(talk: Callable[..., Any]) -> None:
    """Connect a model's client by MCP: its tools cost at most 2,500 tokens."""

    async def ask(agent: Any) -> Any:
        return (await agent.list_tools()).model_dump(by_alias=True, exclude_none=True, mode="json")["tools"]

    assert count_tokens(json.dumps(talk(ask))) <= 2_500


def test_tools(talk: Callable[..., Any]) -> None:
    """Let a model remember by MCP, search, and get a context to read."""

    async def ask(agent: Any) -> Any:
        await agent.call_tool("memory_add", {"text": "Ana keeps goats."})
        await agent.call_tool("memory_add", {"text": "Ana no longer keeps goats, she keeps bees now."})
        question = {"query": "Which animals does Ana keep now?"}
        listed = await agent.call_tool("memory_search", question)
        return listed, await agent.call_tool("memory_search", {**question, "max_tokens": 300})

    listed, context = talk(ask)
    assert "keeps bees now" in listed.content[0].text.splitlines()[0]
    assert "keeps bees now" in context.content[0].text
    assert "<retrieved_context>" in context.content[0].text


def test_replace(talk: Callable[..., Any], as_user: Callable[..., Recollect]) -> None:
    """Let a model correct by MCP what it remembered."""
    kept = as_user("ana").add("Ana keeps bees.")

    async def ask(agent: Any) -> Any:
        return await agent.call_tool("memory_add", {"memory_id": str(kept.id), "text": "Ana keeps goats."})

    talk(ask)
    assert as_user("ana").get(kept.id).text == "Ana keeps goats."

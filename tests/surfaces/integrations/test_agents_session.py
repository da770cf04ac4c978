"""Items of the OpenAI Agents SDK come back as they were, in order, and their words are found like any memory's."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from recollect import AsyncRecollect, Recollect, Settings, TenantContext
from recollect.contrib.openai_agents import RecollectSession

ITEMS: list[dict[str, Any]] = [
    {"role": "user", "content": "Which gate does the train to Porto leave from?"},
    {"type": "function_call", "call_id": "c1", "name": "timetable", "arguments": '{"to": "Porto"}'},
    {"type": "function_call_output", "call_id": "c1", "output": "gate 7"},
    {
        "type": "message",
        "id": "m1",
        "role": "assistant",
        "status": "completed",
        "content": [
            {"type": "output_text", "text": "The train to Porto leaves from gate 7.", "annotations": []}
        ],
    },
]


def run(client: Recollect | AsyncRecollect) -> None:
    async def live() -> None:
        session = RecollectSession("trip", client)
        assert await session.get_items() == []
        assert await session.pop_item() is None
        await session.add_items([])
        await session.add_items(ITEMS[:2])
        await session.add_items(ITEMS[2:])
        assert await session.get_items() == ITEMS
        assert await session.get_items(limit=2) == ITEMS[2:]
        assert await RecollectSession("other", client).get_items() == []
        assert await session.pop_item() == ITEMS[3]
        assert await session.get_items() == ITEMS[:3]
        await session.add_items(ITEMS[3:])
        assert await session.get_items() == ITEMS

    asyncio.run(live())


def test_items_come_back_as_they_were_and_are_found_by_their_words(client: Recollect) -> None:
    run(client)
    found = client.search("Which gate does the train to Porto leave from?", threshold=0)
    assert any(hit.text == "The train to Porto leaves from gate 7." for hit in found)
    assert client.list(conversation="trip")[0].speaker == "assistant"


def test_a_cleared_session_is_gone_and_others_stay(client: Recollect) -> None:
    async def live() -> None:
        trip, other = RecollectSession("trip", client), RecollectSession("other", client)
        await trip.add_items(ITEMS)
        await other.add_items(ITEMS[:1])
        await trip.clear_session()
        assert await trip.get_items() == []
        assert await other.get_items() == ITEMS[:1]

    asyncio.run(live())


def test_an_asynchronous_client_does_as_well(settings: Settings, tenant_id: str) -> None:
    async def live() -> None:
        async with AsyncRecollect(
            settings=settings, context=TenantContext(tenant_id=tenant_id, user_id="ana")
        ) as client:
            session = RecollectSession("trip", client)
            await session.add_items(ITEMS)
            assert await session.get_items() == ITEMS

    asyncio.run(live())


def test_the_real_sdk_takes_it_for_a_session(client: Recollect) -> None:
    agents = pytest.importorskip("agents", reason="needs openai-agents")
    assert isinstance(RecollectSession("trip", client), agents.Session)

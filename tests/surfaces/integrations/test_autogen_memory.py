"""A memory for AutoGen's agents, through the real autogen-core."""

from __future__ import annotations

import asyncio

import pytest

from recollect import Recollect
from recollect.errors import InvalidInputError

pytest.importorskip("autogen_core", reason="autogen-core is not installed")


def test_what_is_added_is_found_and_put_before_the_model(client: Recollect) -> None:
    from autogen_core.memory import MemoryContent, MemoryMimeType
    from autogen_core.model_context import BufferedChatCompletionContext
    from autogen_core.models import SystemMessage, UserMessage

    from recollect.contrib.autogen import RecollectMemory

    async def live() -> None:
        memory = RecollectMemory(client)
        await memory.add(MemoryContent(content="Ana keeps bees.", mime_type=MemoryMimeType.TEXT))
        [found] = (await memory.query("Who keeps bees?")).results
        assert found.content == "Ana keeps bees."
        assert found.metadata is not None
        assert found.metadata["scope"] == "user/root"
        context = BufferedChatCompletionContext(buffer_size=5)
        await context.add_message(UserMessage(content="Who keeps bees?", source="user"))
        assert len((await memory.update_context(context)).memories.results) == 1
        told = (await context.get_messages())[-1]
        assert isinstance(told, SystemMessage)
        assert "Ana keeps bees." in told.content
        silent = BufferedChatCompletionContext(buffer_size=5)
        await silent.add_message(UserMessage(content="What is the capital of Peru?", source="user"))
        await memory.update_context(silent)
        assert len(await silent.get_messages()) == 1

    asyncio.run(live())


def test_a_scope_is_cleared_and_nothing_beside_it(client: Recollect) -> None:
    from autogen_core.memory import MemoryContent, MemoryMimeType

    from recollect.contrib.autogen import RecollectMemory

    async def live() -> None:
        client.scopes.create("team/garden")
        client.add("My own note.")
        memory = RecollectMemory(client, scope="team/garden")
        await memory.add(MemoryContent(content={"bees": 3}, mime_type=MemoryMimeType.JSON))
        await memory.clear()
        with pytest.raises(InvalidInputError, match="scope"):
            await RecollectMemory(client).clear()
        with pytest.raises(InvalidInputError, match="bytes"):
            await memory.add(MemoryContent(content=b"x", mime_type=MemoryMimeType.BINARY))

    asyncio.run(live())
    assert [memory.text for memory in client.list()] == ["My own note."]

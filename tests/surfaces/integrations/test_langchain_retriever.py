"""The retriever through the real langchain-core: memories and sections as documents, alone and in a chain."""

from __future__ import annotations

import asyncio

import pytest
from langchain_core.runnables import RunnableLambda

from recollect import AsyncRecollect, Recollect, Settings, TenantContext
from recollect.contrib.langchain import RecollectRetriever
from recollect.errors import InvalidInputError

ALL = {"threshold": 0.0}


def test_memories_are_documents_with_where_they_come_from(client: Recollect) -> None:
    kept = client.add("Ana keeps bees.", metadata={"topic": "garden"})
    [found] = RecollectRetriever(client=client, options=ALL).invoke("Who keeps bees?")
    assert (found.id, found.page_content) == (str(kept.id), "Ana keeps bees.")  # type: ignore[union-attr]
    assert found.metadata["topic"] == "garden"
    assert found.metadata["scope"] == "user/root"
    assert 0 <= found.metadata["score"] <= 1


def test_options_go_to_the_search_and_the_limit_holds(client: Recollect) -> None:
    for number in range(4):
        client.add(f"Ticket {number}: the box was wet.", metadata={"number": number})
    retriever = RecollectRetriever(client=client, limit=2, options=ALL)
    assert len(retriever.invoke("Which box was wet?")) == 2
    narrow = RecollectRetriever(client=client, options={**ALL, "filters": {"number": 3}})
    assert [found.metadata["number"] for found in narrow.invoke("Which box was wet?")] == [3]


def test_sections_of_the_library_are_documents_as_well(client: Recollect) -> None:
    client.library.add(b"# Guide\n\n## Tokens\n\nA token expires after 15 minutes.\n", name="guide.md")
    found = RecollectRetriever(client=client, library=True).invoke("When does a token expire?")[0]
    assert "15 minutes" in found.page_content
    assert (found.metadata["document"], found.metadata["lines"]) == ("guide.md", [5, 5])


def test_it_is_a_part_of_a_chain(client: Recollect) -> None:
    client.add("Ana keeps bees.")
    chain = RecollectRetriever(client=client, options=ALL) | RunnableLambda(
        lambda found: found[0].page_content
    )
    assert chain.invoke("Who keeps bees?") == "Ana keeps bees."
    assert asyncio.run(chain.ainvoke("Who keeps bees?")) == "Ana keeps bees."


def test_an_asynchronous_client_is_asked_asynchronously(settings: Settings, tenant_id: str) -> None:
    async def play() -> None:
        async with AsyncRecollect(
            settings=settings, context=TenantContext(tenant_id=tenant_id, user_id="ana")
        ) as client:
            await client.add("Ana keeps bees.")
            retriever = RecollectRetriever(client=client, options=ALL)
            [found] = await retriever.ainvoke("Who keeps bees?")
            assert found.page_content == "Ana keeps bees."
            with pytest.raises(InvalidInputError, match="ainvoke"):
                retriever.invoke("Who keeps bees?")

    asyncio.run(play())

"""The retriever through the real LlamaIndex, where that is installed."""

from __future__ import annotations

import asyncio

import pytest

from recollect import Recollect

pytest.importorskip("llama_index.core", reason="needs llama-index-core")


def test_memories_and_sections_are_nodes(client: Recollect) -> None:
    from recollect.contrib.llama_index import RecollectRetriever

    kept = client.add("Ana keeps bees.", metadata={"topic": "garden"})
    client.library.add(b"# Guide\n\n## Tokens\n\nA token expires after 15 minutes.\n", name="guide.md")
    retriever = RecollectRetriever(client, threshold=0.0)
    [found] = retriever.retrieve("Who keeps bees?")
    assert (found.node.node_id, found.text) == (str(kept.id), "Ana keeps bees.")  # type: ignore[union-attr]
    assert found.metadata["topic"] == "garden"
    assert [node.text for node in asyncio.run(retriever.aretrieve("Who keeps bees?"))] == ["Ana keeps bees."]
    section = RecollectRetriever(client, library=True).retrieve("When does a token expire?")[0]
    assert (section.metadata["document"], section.metadata["lines"]) == ("guide.md", [5, 5])

"""Exports of Graphiti and Zep, Letta and LangMem, made by their own packages where those are installed."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pytest
from langgraph.store.memory import InMemoryStore

from recollect import Recollect
from recollect.contrib.importers import import_from

MAY = datetime(2025, 5, 1, tzinfo=UTC)
JUNE = datetime(2025, 6, 1, tzinfo=UTC)


def brought(client: Recollect, package: str, document: Any) -> list[Any]:
    """What is there after importing it twice."""
    for _ in range(2):
        report = import_from(client, package, json.dumps(document).encode())
        assert report.errors == ()
    assert (report.added, report.unchanged) == (0, len(report.ids))
    return list(client.list(include_superseded=True))


def test_facts_of_a_graph_keep_when_they_were_true(client: Recollect) -> None:
    edges = pytest.importorskip("graphiti_core.edges", reason="graphiti-core is not installed")
    edge = edges.EntityEdge(
        group_id="g",
        source_node_uuid="a",
        target_node_uuid="b",
        created_at=MAY,
        name="LIVES_IN",
        fact="Ana lives in Porto.",
        valid_at=MAY,
        invalid_at=JUNE,
    )
    [memory] = brought(client, "graphiti", [edge.model_dump(mode="json")])
    assert (memory.text, memory.valid_from, memory.valid_to) == ("Ana lives in Porto.", MAY, JUNE)
    assert memory.metadata["name"] == "LIVES_IN"


def test_facts_of_zep_are_read_in_the_same_way(client: Recollect) -> None:
    edge = {
        "uuid": "e1",
        "fact": "Ana lives in Porto.",
        "fact_name": "LIVES_IN",
        "valid_at": "2025-05-01T00:00:00Z",
    }
    [memory] = brought(client, "zep", {"edges": [edge]})
    assert (memory.text, memory.valid_from) == ("Ana lives in Porto.", MAY)


def test_passages_and_blocks_of_letta(client: Recollect) -> None:
    types = pytest.importorskip("letta_client.types", reason="letta-client is not installed")
    passage = types.Passage(
        id="passage-1",
        text="Ana keeps bees.",
        created_at=MAY,
        tags=["garden"],
        metadata={"by": "ana"},
        embedding=None,
        embedding_config=None,
    )
    block = {"id": "block-1", "label": "human", "value": "The user is called Ana."}
    found = brought(client, "letta", [passage.model_dump(mode="json"), block])
    assert {memory.text for memory in found} == {"Ana keeps bees.", "human: The user is called Ana."}
    assert [memory.metadata for memory in found if memory.metadata] == [{"by": "ana", "tags": ["garden"]}]


def test_items_of_langmem(client: Recollect) -> None:
    store = InMemoryStore()
    value = {"kind": "Memory", "content": {"content": "Ana keeps bees."}}
    store.put(("memories", "ana"), "m1", value)
    found = brought(client, "langmem", [item.dict() for item in store.search(("memories",))])
    assert [memory.text for memory in found] == ["Ana keeps bees."]
    assert found[0].metadata == {"namespace": ["memories", "ana"], "kind": "Memory"}


def test_what_is_no_export_is_refused_and_stores_nothing(client: Recollect) -> None:
    report = import_from(client, "graphiti", json.dumps([{"uuid": "e1"}, 7]).encode())
    assert [error.index for error in report.errors] == [1, 2]
    assert client.count() == 0

"""What a new user does with packages that they already use."""

from __future__ import annotations

import json
from pathlib import Path

from langchain_core.documents import Document
from tests.cli.conftest import Shell

from recollect import Recollect
from recollect.contrib.langchain import RecollectRetriever
from recollect.contrib.mem0 import Memory


def test_mem0(client: Recollect) -> None:
    """Run mem0's quickstart unchanged: what is told anew comes first, and the old is retired."""
    memory = Memory(client=client)
    memory.add("I live in Porto and I love basketball.", user_id="alex")
    memory.add("I moved to Berlin last week.", user_id="alex")
    found = memory.search("Where do I live?", filters={"user_id": "alex"})["results"]
    assert "Berlin" in found[0]["memory"]
    everything = [item["memory"] for item in memory.get_all(filters={"user_id": "alex"})["results"]]
    assert not [said for said in everything if said.startswith("alex lives in Porto")]
    hobbies = memory.search("What sport do I love?", filters={"user_id": "alex"})["results"]
    assert "basketball" in hobbies[0]["memory"]


def test_langchain(client: Recollect) -> None:
    """Give a LangChain chain its memories by a retriever."""
    client.add("Ana keeps bees.")
    [found] = RecollectRetriever(client=client).invoke("Who keeps bees?")
    assert isinstance(found, Document)
    assert found.page_content == "Ana keeps bees."


def test_import(cli: Shell, tmp_path: Path) -> None:
    """Bring memories along from another product's export."""
    file = tmp_path / "mem0.json"
    item = {
        "id": "m1",
        "memory": "Alex loves basketball",
        "user_id": "tess",
        "created_at": "2025-01-01T00:00:00Z",
    }
    file.write_text(json.dumps({"results": [item]}))
    cli("import", "--from", "mem0", str(file))
    assert "basketball" in cli("search", "What does Alex love?").out

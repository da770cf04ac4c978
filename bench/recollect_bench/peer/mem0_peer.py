"""mem0 over Qdrant, its default, texts stored as they are (`infer=False`), so that no language model is asked."""

from __future__ import annotations

import os
from pathlib import Path

from wire import Item, Known, serve

os.environ.update(OPENAI_API_KEY="unused", MEM0_TELEMETRY="False", ANONYMIZED_TELEMETRY="False")
from mem0 import Memory


class Mem0Peer:
    package = "mem0ai"

    def __init__(self, folder: Path, url: str, dimensions: int) -> None:
        os.environ["MEM0_DIR"] = str(folder)
        self._known = Known()
        self._memory = Memory.from_config(
            {
                "vector_store": {
                    "provider": "qdrant",
                    "config": {
                        "path": str(folder / "qdrant"),
                        "on_disk": True,
                        "embedding_model_dims": dimensions,
                    },
                },
                "history_db_path": str(folder / "history.db"),
            }
        )
        self._memory.embedding_model = self

    def embed(self, text: str, memory_action: str | None = None) -> list[float]:
        return self._known.vectors[text]

    def embed_batch(self, texts: list[str], memory_action: str | None = None) -> list[list[float]]:
        return self._known.of(texts)

    def add(self, items: list[Item]) -> None:
        self._known.learn(items)
        for item in items:
            self._memory.add(item["text"], user_id=item["tenant"], metadata={"item": item["id"]}, infer=False)

    def settle(self) -> None:
        pass

    def search(self, tenant: str, question: str, vector: list[float], limit: int) -> list[str]:
        self._known.vectors[question] = vector
        found = self._memory.search(question, filters={"user_id": tenant}, top_k=limit)
        return [hit["metadata"]["item"] for hit in found["results"]]


if __name__ == "__main__":
    serve(Mem0Peer)

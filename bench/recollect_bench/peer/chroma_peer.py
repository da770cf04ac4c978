"""Chroma, persistent, with its own HNSW index and a filter on metadata."""

from __future__ import annotations

from pathlib import Path

import chromadb
from wire import Item, serve


class ChromaPeer:
    package = "chromadb"

    def __init__(self, folder: Path, url: str, dimensions: int) -> None:
        client = chromadb.PersistentClient(
            path=str(folder), settings=chromadb.Settings(anonymized_telemetry=False)
        )
        self._memories = client.create_collection("memories", configuration={"hnsw": {"space": "cosine"}})

    def add(self, items: list[Item]) -> None:
        self._memories.add(
            ids=[item["id"] for item in items],
            embeddings=[item["vector"] for item in items],
            documents=[item["text"] for item in items],
            metadatas=[{"tenant": item["tenant"]} for item in items],
        )

    def settle(self) -> None:
        pass

    def search(self, tenant: str, question: str, vector: list[float], limit: int) -> list[str]:
        found = self._memories.query(query_embeddings=[vector], n_results=limit, where={"tenant": tenant})
        return list(found["ids"][0])


if __name__ == "__main__":
    serve(ChromaPeer)

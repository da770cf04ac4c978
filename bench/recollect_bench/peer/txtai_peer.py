"""txtai with its content store, asked in its SQL with a filter on a column, vectors given from outside."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from txtai import Embeddings
from wire import Item, Known, serve


class TxtaiPeer:
    package = "txtai"

    def __init__(self, folder: Path, url: str, dimensions: int) -> None:
        self._folder = folder
        self._known = Known()

        def transform(texts: list[str]) -> np.ndarray:
            return np.array(self._known.of(list(texts)), dtype=np.float32)

        self._embeddings = Embeddings(
            {"method": "external", "transform": transform, "content": True, "backend": "faiss"}
        )

    def add(self, items: list[Item]) -> None:
        self._known.learn(items)
        rows = [(item["id"], {"text": item["text"], "tenant": item["tenant"]}, None) for item in items]
        self._embeddings.upsert(rows)

    def settle(self) -> None:
        self._embeddings.save(str(self._folder / "index"))

    def search(self, tenant: str, question: str, vector: list[float], limit: int) -> list[str]:
        self._known.vectors[question] = vector
        asked = "select id from txtai where similar(:question) and tenant = :tenant"
        values = {"question": question, "tenant": tenant}
        return [row["id"] for row in self._embeddings.search(asked, limit, parameters=values)]


if __name__ == "__main__":
    serve(TxtaiPeer)

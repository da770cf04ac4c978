"""LanceDB, a table on disk; so few rows are searched without an index, as its documentation advises."""

from __future__ import annotations

from pathlib import Path

import lancedb
from wire import Item, serve


class LancePeer:
    package = "lancedb"

    def __init__(self, folder: Path, url: str, dimensions: int) -> None:
        self._database = lancedb.connect(str(folder))
        self._memories = None

    def add(self, items: list[Item]) -> None:
        if self._memories is None:
            self._memories = self._database.create_table("memories", data=items)
        else:
            self._memories.add(items)

    def settle(self) -> None:
        self._memories.create_scalar_index("tenant")
        self._memories.optimize()

    def search(self, tenant: str, question: str, vector: list[float], limit: int) -> list[str]:
        nearest = self._memories.search(vector).distance_type("cosine").where(f"tenant = '{tenant}'")
        return [row["id"] for row in nearest.select(["id", "_distance"]).limit(limit).to_list()]


if __name__ == "__main__":
    serve(LancePeer)

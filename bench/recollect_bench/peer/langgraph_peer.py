"""LangGraph's PostgreSQL store with its vector index (HNSW of pgvector), a namespace for each tenant."""

from __future__ import annotations

from pathlib import Path

from langgraph.store.base import PutOp
from langgraph.store.postgres import PostgresStore
from wire import Item, Known, serve


class LangGraphPeer:
    package = "langgraph-checkpoint-postgres"

    def __init__(self, folder: Path, url: str, dimensions: int) -> None:
        self._known = Known()
        index = {"dims": dimensions, "embed": self._known.of, "fields": ["text"]}
        self._open = PostgresStore.from_conn_string(url, index=index)
        self._store = self._open.__enter__()
        self._store.setup()

    def add(self, items: list[Item]) -> None:
        self._known.learn(items)
        self._store.batch([PutOp((item["tenant"],), item["id"], {"text": item["text"]}) for item in items])

    def settle(self) -> None:
        pass

    def search(self, tenant: str, question: str, vector: list[float], limit: int) -> list[str]:
        self._known.vectors[question] = vector
        return [item.key for item in self._store.search((tenant,), query=question, limit=limit)]


if __name__ == "__main__":
    serve(LangGraphPeer)

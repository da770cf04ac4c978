"""pgvector alone: a table, an HNSW index, a condition on the tenant, everything else at its default."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import psycopg
from pgvector.psycopg import register_vector
from wire import Item, serve


class PgvectorPeer:
    package = "pgvector"

    def __init__(self, folder: Path, url: str, dimensions: int) -> None:
        self._connection = psycopg.connect(url, autocommit=True)
        register_vector(self._connection)
        self._connection.execute(
            f"create table memories (id text primary key, tenant text, text text, embedding vector({dimensions}))"
        )
        self._connection.execute("create index on memories (tenant)")
        self._connection.execute("create index on memories using hnsw (embedding vector_cosine_ops)")

    def add(self, items: list[Item]) -> None:
        with self._connection.cursor() as cursor, cursor.copy("copy memories from stdin") as copy:
            for item in items:
                copy.write_row((item["id"], item["tenant"], item["text"], str(item["vector"])))

    def settle(self) -> None:
        self._connection.execute("vacuum analyze memories")

    def search(self, tenant: str, question: str, vector: list[float], limit: int) -> list[str]:
        rows = self._connection.execute(
            "select id from memories where tenant = %s order by embedding <=> %s limit %s",
            [tenant, np.array(vector), limit],
        )
        return [row[0] for row in rows.fetchall()]


if __name__ == "__main__":
    serve(PgvectorPeer)

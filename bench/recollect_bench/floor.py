"""Behind the curtain of a store under measurement: its tables, as the owner sees them.

`Floor` is what a search can't be faster than: one question embedded, one raw pgvector query on the index, no
row-level security, no words, no ranking. It also knows the truth that candidates are compared with, an exact scan.
"""

from __future__ import annotations

from itertools import count
from pathlib import Path
from typing import Any, LiteralString
from uuid import UUID

import psycopg
from pgvector import HalfVector
from pgvector.psycopg import register_vector
from psycopg import sql

from recollect.storage.endpoint import open_door
from recollect.storage.sql import compose
from recollect_bench.vectors import BenchEmbedder

Connection = psycopg.Connection[Any]
_INDEX = "bench_floor"
#: The number a new store gives to its first embedding space.
_SPACE = 1


def connect_owner(home: Path) -> Connection:
    """A connection past row-level security, with pgvector's own defaults (ef_search 40)."""
    owner = open_door(home, None).owner
    assert owner is not None, "the embedded database always has an owner"
    connection = psycopg.connect(owner, autocommit=True)
    register_vector(connection)
    return connection


def partition_of(connection: Connection, tenant: str) -> str:
    """The partition of the vectors' table that holds a tenant."""
    values = {"parent": "recollect.embedding", "tenant": tenant}
    row = connection.execute(compose("partition_of").as_bytes(connection), values).fetchone()
    assert row is not None
    return str(row[0]).removeprefix("recollect.")


def names_sharing_a_partition(connection: Connection, how_many: int) -> list[str]:
    """Names for tenants that will live in one partition: neighbours that could be in each other's way."""
    names: list[str] = []
    wanted = None
    for number in count():
        name = f"bench-{number}"
        found = partition_of(connection, name)
        wanted = wanted or found
        if found == wanted:
            names.append(name)
        if len(names) == how_many:
            return names
    raise AssertionError("count() never ends")


def settle(connection: Connection) -> None:
    """What autovacuum does within minutes of a large intake."""
    for table in ("memory", "embedding", "posting", "tally"):
        connection.execute(sql.SQL("vacuum (analyze) {}").format(sql.Identifier("recollect", table)))


def stored_bytes(connection: Connection) -> int:
    """What the whole store takes on the disk."""
    row = connection.execute("select pg_database_size(current_database())").fetchone()
    assert row is not None
    return int(row[0])


class Floor:
    """Raw queries on the partition of one tenant."""

    def __init__(self, connection: Connection, model: BenchEmbedder, tenant: str, *, limit: int) -> None:
        self._connection = connection
        self._model = model
        self._partition = partition_of(connection, tenant)
        dimensions = sql.Literal(model.space.dimensions)
        self._parts = {
            "table": sql.Identifier("recollect", self._partition),
            "index": sql.Identifier(_INDEX),
            # In the form of the store's own index, which serves these queries.
            "vector": sql.SQL("embedding::halfvec({})").format(dimensions),
            "asked": sql.SQL("%s::halfvec({})").format(dimensions),
            "tenant": sql.Literal(tenant),
            "space": sql.Literal(_SPACE),
            "limit": sql.Literal(limit),
        }
        # As text, once: composing takes a while, and a floor has nothing on top.
        self._nearest = self._composed(
            "select memory_id from {table} where space_id = {space} order by {vector} <=> {asked} limit {limit}"
        )
        self._exact = self._composed(
            "select memory_id from {table} where tenant_id = {tenant} and space_id = {space}"
            " order by ({vector} <=> {asked}) + 0 limit {limit}"
        )

    def _composed(self, statement: LiteralString) -> bytes:
        return sql.SQL(statement).format(**self._parts).as_bytes(self._connection)

    def prepare(self) -> None:
        """Make sure that the raw query has an index, also where the store is too small to need one."""
        found = self._connection.execute(
            "select from pg_indexes where schemaname = 'recollect' and tablename = %s and indexdef like %s",
            [self._partition, "% USING hnsw %"],
        ).fetchone()
        if found is None:
            self._connection.execute(
                self._composed(
                    "create index {index} on {table} using hnsw (({vector}) halfvec_cosine_ops)"
                    " where space_id = {space}"
                )
            )

    def search(self, query: str) -> list[UUID]:
        """Embed, then the nearest rows of the partition, whosever they are."""
        vector = HalfVector(self._model.embed_query(query))
        return [row[0] for row in self._connection.execute(self._nearest, [vector]).fetchall()]

    def stored_bytes(self) -> int:
        """What the whole store takes on the disk."""
        return stored_bytes(self._connection)

    def exact(self, query: str) -> list[UUID]:
        """The truth: every vector of the tenant compared."""
        vector = HalfVector(self._model.vector(query))
        return [row[0] for row in self._connection.execute(self._exact, [vector]).fetchall()]

"""Embedding spaces: which vectors a store holds, and the indexes over them.

A store is searched in one active space. `reembed` fills a second one beside it and switches under an advisory
lock that writers share: a writer that embedded for the old space sees that it lost, and embeds again.
Vector indexes are built per partition once a tenant has more vectors than exact search is meant for.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any
from uuid import UUID

import numpy as np
from numpy.typing import NDArray
from pgvector import HalfVector
from pgvector.psycopg import register_vector_async
from psycopg import sql

from recollect.storage.connections import Connection
from recollect.storage.embedded.server_settings import memory_bytes
from recollect.storage.rows import from_row
from recollect.storage.store import Row, Store, Transaction

#: The lock between writers (shared) and the switch of spaces (exclusive).
_SWITCH_LOCK = 0x5EC0_0001
_MIB = 1024 * 1024
#: What one vector takes in the graph beside itself while it is built, with neighbours; measured from above.
_GRAPH_BYTES = 900
#: Memory for building an index: at least, and at most on a server whose size is not known.
_LEAST_MB, _ELSEWHERE_MB = 256, 1024
#: How widely a build looks for a vector's neighbours. With pgvector's default of 64 the nearest ten of 100,000 were
#: 0.95 of the true ones, with this 0.99; searches take as long, the build half as long again.
_EF_CONSTRUCTION = 128
#: The lock that lets one process at a time build a vector index.
_INDEX_LOCK = 0x5EC0_0002
NIL = UUID(int=0)
#: Up to so many vectors a tenant has no HNSW index: an exact scan of them takes about 5 ms.
EXACT_ROWS = 5_000
#: An index finds a caller's nearest among everybody's of a partition: for fifty of them it looks at fifty times as many
#: rows as the caller's share is small, and one costs as much as eight compared in a scan. See `breadth`.
_SHARE_COST = 400
#: How widely an index over 100,000 rows looks around: more finds more and takes longer. See `breadth`.
_BREADTH = 120


@dataclass(frozen=True, slots=True, kw_only=True)
class Space:
    """One embedding space as the store records it."""

    id: int
    name: str
    dimensions: int
    fingerprint: str
    state: str


def _to_space(row: Row) -> Space:
    return from_row(Space, row, id=row["space_id"])


async def list_spaces(tx: Transaction) -> list[Space]:
    """All spaces, the active one first."""
    return [_to_space(row) for row in await tx.fetch("list_spaces")]


async def share_switch_lock(tx: Transaction) -> int | None:
    """Hold off a switch of spaces until this transaction ends; returns the active space's id."""
    await tx.connection.execute("select pg_advisory_xact_lock_shared(%s)", [_SWITCH_LOCK])
    spaces = await list_spaces(tx)
    return spaces[0].id if spaces and spaces[0].state == "active" else None


async def record_space(store: Store, name: str, dimensions: int, fingerprint: str, *, state: str) -> Space:
    """Write a new space down; of two processes that record the first one, one wins and both use it."""
    async with store.owner() as connection, connection.transaction():
        await connection.execute("select pg_advisory_xact_lock(%s)", [_SWITCH_LOCK])
        rows = await connection.fetch("list_spaces")
        for row in rows:
            if row["state"] == state:
                return _to_space(row)
        number = max((row["space_id"] for row in rows), default=0) + 1
        space = Space(id=number, name=name, dimensions=dimensions, fingerprint=fingerprint, state=state)
        await connection.fetch("insert_space", **asdict(space))
    return space


async def tenant_ids(store: Store) -> list[str]:
    """All tenants, for work on the whole store."""
    return [row["tenant_id"] for row in await store.owner_fetch("tenants_by_name", tenant="")]


async def count_missing(store: Store, tenant: str, space: Space) -> int:
    """How many of a tenant's memories have no vector in a space."""
    rows = await store.owner_fetch("count_missing_embeddings", tenant=tenant, space=space.id)
    missing: int = rows[0]["missing"]
    return missing


async def missing(connection: Connection, tenant: str, space: Space, *, after: UUID, limit: int) -> list[Row]:
    """The next memories that have no vector in a space."""
    return await connection.fetch(
        "missing_embeddings", tenant=tenant, space=space.id, after=after, limit=limit
    )


async def fill(
    connection: Connection,
    tenant: str,
    space: Space,
    vectors: Sequence[tuple[UUID, int, NDArray[Any]]],
) -> None:
    """Store vectors (memory, part, vector) of memories that still exist."""
    await register_vector_async(connection)
    ids, parts, values = zip(*vectors, strict=True)
    await connection.fetch(
        "insert_embeddings",
        tenant=tenant,
        space=space.id,
        ids=list(ids),
        parts=list(parts),
        embeddings=[HalfVector(np.asarray(value)) for value in values],
    )


async def begin_switch(connection: Connection) -> None:
    """Inside a transaction: wait for writers, keep new ones waiting."""
    await connection.execute("select pg_advisory_xact_lock(%s)", [_SWITCH_LOCK])


async def finish_switch(connection: Connection, space: Space, tenants: Sequence[str]) -> None:
    """Inside the same transaction: make a filled space the active one and count its vectors."""
    await connection.fetch("retire_space", space=space.id)
    await connection.fetch("activate_space", space=space.id)
    for tenant in tenants:
        await connection.fetch("recount_vectors", tenant=tenant, space=space.id)


async def drop_retired(store: Store, tenants: Sequence[str]) -> None:
    """Erase the vectors and indexes of spaces that are no longer searched."""
    async with store.owner() as connection:
        rows = await connection.fetch("list_spaces")
        for row in rows:
            if row["state"] != "retired":
                continue
            for name in await vector_indexes(connection):
                if name.endswith(f"_hnsw_{row['space_id']}"):
                    await connection.execute(
                        sql.SQL("drop index if exists {}").format(sql.Identifier("recollect", name))
                    )
            for tenant in tenants:
                await connection.fetch("delete_space_embeddings", tenant=tenant, space=row["space_id"])
                await connection.fetch("delete_space_passages", tenant=tenant, space=row["space_id"])
            await connection.fetch("delete_space", space=row["space_id"])


def breadth(vectors: int, indexed: int) -> int | None:
    """How widely an index over so many rows of a partition looks around for a caller who sees so many vectors.

    None where comparing every one of them takes no longer. The nearest hide better in a crowd: of the first ten of a
    million, 94 in a hundred were found with 400, 95 with 600, 98 with 900.
    """
    if vectors <= EXACT_ROWS or vectors**2 <= _SHARE_COST * indexed:
        return None
    return min(round(_BREADTH * math.pow(max(indexed / 100_000, 1), 0.875)), 1_000)


async def vector_indexes(connection: Connection) -> dict[str, int]:
    """The vector indexes that are whole and usable, and about how many rows each has."""
    rows = await connection.fetch("vector_indexes")
    return {row["indexname"]: row["rows"] for row in rows if row["usable"]}


async def indexed_rows(tx: Transaction, space: Space) -> int | None:
    """About how many rows the vector index of the tenant's partition has; None where there is none."""
    partition = await _partition(tx.connection, tx.context.tenant_id)
    return (await vector_indexes(tx.connection)).get(_index_name(partition, space))


async def build_index(store: Store, tenant: str, space: Space) -> bool:
    """Build the vector index of a tenant's partition without blocking writers; False when it is there."""
    async with store.owner() as connection:
        partition = await _partition(connection, tenant)
        name = _index_name(partition, space)
        await connection.execute("select pg_advisory_lock(%s)", [_INDEX_LOCK])
        try:
            if name in await vector_indexes(connection):
                return False
            # A build that was interrupted leaves an unusable index of this name.
            await connection.execute(
                sql.SQL("drop index if exists {}").format(sql.Identifier("recollect", name))
            )
            memory_mb = await _build_memory_mb(connection, store, partition, space)
            await connection.execute(
                sql.SQL("set maintenance_work_mem = {}; set statement_timeout = 0").format(
                    sql.Literal(f"{memory_mb}MB")
                )
            )
            await connection.execute(
                sql.SQL(
                    "create index concurrently {} on {} using hnsw ((embedding::halfvec({})) halfvec_cosine_ops)"
                    " with (ef_construction = {}) where space_id = {}"
                ).format(
                    sql.Identifier(name),
                    sql.Identifier("recollect", partition),
                    sql.Literal(space.dimensions),
                    sql.Literal(_EF_CONSTRUCTION),
                    sql.Literal(space.id),
                )
            )
            await connection.execute(sql.SQL("analyze {}").format(sql.Identifier("recollect", partition)))
            return True
        finally:
            await connection.execute("select pg_advisory_unlock(%s)", [_INDEX_LOCK])


async def _build_memory_mb(connection: Connection, store: Store, partition: str, space: Space) -> int:
    """Memory for a build: a graph that fits is built ten times as fast as one that does not.

    Of the machine of an embedded server a quarter may be used; of another one nobody knows.
    """
    count = sql.SQL("select count(*) as rows from {} where space_id = {}").format(
        sql.Identifier("recollect", partition), sql.Literal(space.id)
    )
    row = await (await connection.execute(count)).fetchone()
    assert row is not None
    needed = row["rows"] * (2 * space.dimensions + _GRAPH_BYTES) // _MIB
    most = memory_bytes() // 4 // _MIB if store.door.embedded else _ELSEWHERE_MB
    return int(min(max(needed, _LEAST_MB), max(most, _LEAST_MB)))


async def _partition(connection: Connection, tenant: str) -> str:
    [row] = await connection.fetch("partition_of", parent="recollect.embedding", tenant=tenant)
    name: str = row["name"]
    return name.removeprefix("recollect.")


def _index_name(partition: str, space: Space) -> str:
    return f"{partition}_hnsw_{space.id}"

"""Whether every index leads to the rows that its table has: what `amcheck` is for, which the bundled server lacks.

Each B-tree is read from end to end and compared with the table read row by row, in one snapshot. Vector indexes answer
by likeness, not by key, so there is nothing to compare them with.
"""

from __future__ import annotations

from typing import Any, LiteralString

from psycopg import AsyncConnection, sql
from psycopg.rows import DictRow

from recollect.doctor.health import doctor_queries, sees_all, skipped
from recollect.domain.results import Check
from recollect.domain.tenancy import TenantContext
from recollect.workspace import Workspace

_SAME_SNAPSHOT = "begin isolation level repeatable read read only; set local row_security = off;"
_BY_TABLE: LiteralString = (
    "set local enable_seqscan = on; set local enable_indexscan = off; set local enable_indexonlyscan = off;"
    " set local enable_bitmapscan = off"
)
_BY_INDEX: LiteralString = (
    "set local enable_seqscan = off; set local enable_indexscan = on; set local enable_indexonlyscan = on;"
    " set local enable_bitmapscan = off; set local enable_sort = off; set local enable_incremental_sort = off"
)


async def examine_indexes(workspace: Workspace, context: TenantContext) -> Check:
    """Compare all indexes with their tables, as the database's owner."""
    if not sees_all(workspace, context):
        return skipped("indexes")
    async with workspace.store.owner() as connection:
        return await compare_indexes(connection)


async def compare_indexes(connection: AsyncConnection[DictRow]) -> Check:
    """Read every index from end to end, and its table row by row."""
    damaged: list[str] = []
    compared = unused = 0
    async with connection.cursor() as cursor:
        await cursor.execute(_SAME_SNAPSHOT)
        try:
            await cursor.execute(sql.SQL(doctor_queries()["indexes"]))
            for index in await cursor.fetchall():
                rows = sql.SQL(index["rows"])
                await cursor.execute(_BY_INDEX)
                await cursor.execute(sql.SQL("explain (format json) ") + rows)
                if index["name"] not in str(await cursor.fetchone()):
                    unused += 1
                    continue
                reached = await _sums(cursor, rows)
                await cursor.execute(_BY_TABLE)
                there = await _sums(cursor, sql.SQL(index["table_rows"]))
                compared += 1
                if reached != there:
                    damaged.append(f"{index['name']} ({reached[0]} of {there[0]} rows)")
        finally:
            await cursor.execute("rollback")
    detail = f"{compared} indexes lead to the rows of their tables"
    if unused:
        detail += f"; {unused} were not compared, another is read in their place"
    return Check(
        name="indexes",
        ok=not damaged,
        detail=f"damaged: {', '.join(damaged)}" if damaged else detail,
        advice="run `reindex database` as the owner, and look after the disk" if damaged else "",
    )


async def _sums(cursor: Any, rows: sql.Composable) -> tuple[int, int]:
    """How many rows, and a number that depends on which."""
    await cursor.execute(
        sql.SQL(
            "select count(*) as n, coalesce(sum(hashtid(ctid)::bigint), 0)::bigint as which from ({}) x"
        ).format(rows)
    )
    row = await cursor.fetchone()
    return row["n"], row["which"]

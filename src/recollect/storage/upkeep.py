"""The store as a whole: its state, and what to do for it now and then."""

from __future__ import annotations

from psycopg import sql

from recollect.domain.results import StoreStatus
from recollect.domain.tenancy import TenantContext
from recollect.storage import spaces
from recollect.storage.rows import from_row
from recollect.storage.store import Store, compose


async def store_status(store: Store, context: TenantContext) -> StoreStatus:
    """Versions, embedder and size; counts are those of the caller's view, of the whole store for its owner."""
    async with store.transaction(context) as tx:
        known = await spaces.list_spaces(tx)
        row = await tx.fetch_one("store_facts")
    assert row is not None
    active = next((space for space in known if space.state == "active"), None)
    tenants, memories = row["tenants"], row["memories"]
    if store.door.owner is not None and context.is_operator:
        everything = await store.owner_fetch("list_tenants")
        tenants, memories = len(everything), sum(entry["memories"] for entry in everything)
    return from_row(
        StoreStatus,
        row,
        embedded=store.door.embedded,
        embedder=active.name if active else None,
        dimensions=active.dimensions if active else None,
        tenants=tenants,
        memories=memories,
    )


async def analyze(store: Store, tenant_id: str) -> None:
    """Tell the planner how large a tenant's tables have become; autovacuum would, within a minute or so."""
    async with store.owner() as connection:
        for table in ("memory", "embedding", "posting"):
            values = {"parent": f"recollect.{table}", "tenant": tenant_id}
            row = await (await connection.execute(compose("partition_of"), values)).fetchone()
            assert row is not None
            await connection.execute(sql.SQL("analyze {}").format(sql.SQL(row["name"])))
        # Without statistics of these, a name in a question is looked for in all of them.
        for table in ("mention", "entity", "entity_key"):
            await connection.execute(sql.SQL("analyze {}").format(sql.Identifier("recollect", table)))


async def analyze_library(store: Store) -> None:
    """The same for the tables of the library."""
    async with store.owner() as connection:
        for table in ("document", "section", "passage", "passage_posting"):
            await connection.execute(sql.SQL("analyze {}").format(sql.Identifier("recollect", table)))


async def compact(store: Store) -> int:
    """Rewrite every table, so that nothing erased is left in any page, and count anew; returns the bytes freed."""
    async with store.owner() as connection:
        row = await (await connection.execute(compose("database_size"))).fetchone()
        assert row is not None
        before: int = row["bytes"]
        await connection.execute("set statement_timeout = 0")
        rows = await (await connection.execute(compose("all_tables"))).fetchall()
        for table in rows:
            await connection.execute(
                sql.SQL("vacuum (full, analyze) {}").format(sql.Identifier("recollect", table["name"]))
            )
        for tenant in await (await connection.execute(compose("tenants_by_name"), {"tenant": ""})).fetchall():
            await connection.execute(compose("mend_tallies"), {"tenant": tenant["tenant_id"]})
        await connection.execute("select pg_switch_wal()")
        await connection.execute("checkpoint")
        row = await (await connection.execute(compose("database_size"))).fetchone()
        assert row is not None
        return max(before - int(row["bytes"]), 0)

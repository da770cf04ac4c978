"""The store as a whole: its state, what to do for it now and then, and the way to the workers who do it.

The queue is procrastinate's, on the same PostgreSQL, in a schema of its own that the owner makes when a worker
first runs. Until then there is no queue, nothing is handed over, and nothing else is different. Jobs name a tenant
and ids, never a text: the queue has no row-level security, and deleting a memory does not look there. What the
tasks do is in the package `jobs`.
"""

from __future__ import annotations

import json
import logging
import time
from collections import Counter
from collections.abc import Mapping
from uuid import UUID

from psycopg import sql

from recollect.domain.results import StoreStatus
from recollect.domain.tenancy import TenantContext
from recollect.errors import StoreUnsupportedError
from recollect.storage import spaces
from recollect.storage.endpoint import APP_ROLE
from recollect.storage.rows import from_row
from recollect.storage.store import Store, Transaction


async def store_status(store: Store, context: TenantContext) -> StoreStatus:
    """Versions, embedder and size; counts are those of the caller's view, of the whole store for its owner."""
    async with store.transaction(context) as tx:
        known = await spaces.list_spaces(tx)
        row = await tx.get_row("store_facts")
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
            [row] = await connection.fetch("partition_of", parent=f"recollect.{table}", tenant=tenant_id)
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
        [before] = await connection.fetch("database_size")
        await connection.execute("set statement_timeout = 0")
        for table in await connection.fetch("all_tables"):
            await connection.execute(
                sql.SQL("vacuum (full, analyze) {}").format(sql.Identifier("recollect", table["name"]))
            )
        for tenant in await connection.fetch("tenants_by_name", tenant=""):
            await connection.fetch("mend_tallies", tenant=tenant["tenant_id"])
        await connection.execute("select pg_switch_wal()")
        await connection.execute("checkpoint")
        [after] = await connection.fetch("database_size")
        return max(int(before["bytes"]) - int(after["bytes"]), 0)


SCHEMA = "recollect_jobs"
#: New memories of a scope that are worth looking at its summaries again; fewer wait for the hourly round.
ENOUGH = 20
#: Whether there is a queue by now is asked again after so long.
_RECHECK_S = 60.0
_LOCK = 0x5EC0_10B5
_log = logging.getLogger(__name__)


async def make_queue(store: Store, tables: str) -> bool:
    """Make the queue's tables, as `tables` says, where there are none yet; True when they were made now."""
    if store.door.owner is None:
        async with store.transaction(TenantContext(tenant_id="-")) as tx:
            row = await tx.fetch_one("find_queue")
        if row is None or not row["found"]:
            raise StoreUnsupportedError(
                f"there is no job queue yet, and {APP_ROLE!r} may not make one; "
                "run `recollect worker --once` with the owner's URL first"
            )
        return False
    async with store.owner() as connection, connection.transaction():
        # Two workers that start at once take turns.
        await connection.execute("select pg_advisory_xact_lock(%s)", [_LOCK])
        cursor = await connection.execute("select to_regclass(%s)", [f"{SCHEMA}.procrastinate_jobs"])
        if await cursor.fetchone() != {"to_regclass": None}:
            return False
        schema, role = sql.Identifier(SCHEMA), sql.Identifier(APP_ROLE)
        # A cluster's queue is the coordinator's alone; where there is no Citus the setting means nothing.
        await connection.execute("set local citus.enable_ddl_propagation = off")
        await connection.execute(sql.SQL("create schema if not exists {}").format(schema))
        await connection.execute(sql.SQL("set local search_path = {}, pg_catalog").format(schema))
        await connection.execute(sql.SQL(tables))
        for grant in (
            "usage on schema {}",
            "select, insert, update, delete on all tables in schema {}",
            "usage, select on all sequences in schema {}",
            "execute on all functions in schema {}",
        ):
            await connection.execute(sql.SQL(f"grant {grant} to {{}}").format(schema, role))
        await connection.execute(sql.SQL("revoke all on schema {} from public").format(schema))
    return True


async def enqueue(tx: Transaction, task: str, subject: str, args: Mapping[str, str]) -> bool | None:
    """Hand a job of the caller's tenant over: False when the same waits already, None when there is no queue.

    `subject` tells jobs of one task apart; two of the same never run at once.
    """
    row = await tx.get_row("enqueue_job", task=task, subject=subject, args=json.dumps(dict(args)))
    enqueued: bool | None = row["enqueued"]
    return enqueued


class Handover:
    """Counts new memories by scope, and hands a scope to the workers when there are enough."""

    def __init__(self) -> None:
        self._new: Counter[tuple[str, UUID]] = Counter()
        self._not_before = float("-inf")

    async def added(self, store: Store, context: TenantContext, counts: Mapping[UUID, int]) -> None:
        """Memories were added, so many by scope. Never fails: whoever adds must not notice."""
        tenant = context.tenant_id
        for scope, count in counts.items():
            self._new[tenant, scope] += count
        due = [scope for scope in counts if self._new[tenant, scope] >= ENOUGH]
        if not due or time.monotonic() < self._not_before:
            return
        try:
            async with store.transaction(context) as tx:
                for scope in due:
                    if await enqueue(tx, "consolidate", str(scope), {"scope": str(scope)}) is None:
                        self._not_before = time.monotonic() + _RECHECK_S
                        return
                    del self._new[tenant, scope]
        except Exception as error:
            _log.warning("no job was handed to the workers: %s", error)

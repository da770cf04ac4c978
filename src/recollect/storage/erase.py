"""Forgetting for good: rows out of every table and index, and out of the data files.

A DELETE makes rows unreadable at once. The vacuum after it takes them out of heap and index; where the
tenant's partitions are small they are rewritten instead, because a plain vacuum leaves the old bytes in
the free space of a page until something is written over them. The receipt says which of the two it was, and
what no deletion can reach.
"""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import datetime
from uuid import UUID

from psycopg import sql
from psycopg.errors import LockNotAvailable

from recollect.domain.filters import Filter
from recollect.domain.ids import new_id
from recollect.domain.layers import Layer
from recollect.domain.memory import MemoryType
from recollect.domain.overview import MemoryEvent
from recollect.domain.results import Receipt
from recollect.storage import entities
from recollect.storage.cluster import session
from recollect.storage.connections import Connection
from recollect.storage.facts import forget_sources
from recollect.storage.filters import Parameters, all_of, compile_filter, in_layers, of_types
from recollect.storage.happenings import tell
from recollect.storage.sql import compose
from recollect.storage.store import Store, Transaction
from recollect.storage.summaries import find_citing
from recollect.storage.writes import bump_tallies

#: Rewriting a table locks it; up to this size it takes about a second here, and is done at once.
REWRITE_LIMIT_BYTES = 64 * 1024 * 1024
BATCH = 2_000
#: So often a vacuum gives way, each time after as long as this, before it waits like everybody.
_ATTEMPTS, _GIVE_WAY = 20, "set lock_timeout = '300ms'"

#: The library's tables, children before parents.
LIBRARY_TABLES = ("passage_posting", "passage", "section", "document")
#: Of consultations, which quote documents, and what was told and answered.
ORACLE_TABLES = ("capability_request", "consultation_event", "consultation", "event", "reply")
#: Tables with a tenant's rows, children before parents; the first three are partitioned.
TENANT_TABLES = (
    "posting", "embedding", "mention", "memory", "entity_key", "entity", "conflict", "summary_source", "summary",
    "history", "feedback", "retrieval_hit", "retrieval_event", "run", "policy", "experiment", "ontology", "api_key",
    *ORACLE_TABLES, *LIBRARY_TABLES, "conversation", "tally", "membership", "scope", "retention", "tenant",
)  # fmt: skip
_PARTITIONED = frozenset({"posting", "embedding", "memory"})

UNREACHABLE = (
    "write-ahead log that was archived or replicated",
    "backups made with `recollect db backup` or by other means",
    "files exported earlier",
)


async def match_ids(
    tx: Transaction,
    *,
    scopes: Sequence[UUID] | None = None,
    layers: Sequence[Layer] | None = None,
    types: Sequence[MemoryType] | None = None,
    filters: Filter | None = None,
) -> list[UUID]:
    """A batch of memories that meet the conditions and that the caller may erase."""
    parameters = Parameters()
    where = all_of(
        in_layers(layers, parameters), of_types(types, parameters), compile_filter(filters, parameters)
    )
    rows = await tx.fetch(
        "match_memories",
        {"where": where},
        scopes=None if scopes is None else list(scopes),
        limit=BATCH,
        **parameters.values,
    )
    return [row["memory_id"] for row in rows]


class Erasure:
    """What one transaction erases of memories: first `memories`, as often as needed, then `traces`, once.

    `ids` are the erased memories, `rows` counts per table. Traces come last because they are erased under a lock that
    every other erasure of the tenant waits for: who holds it must not wait for rows that they hold.
    """

    def __init__(self, tx: Transaction) -> None:
        self.ids: list[UUID] = []
        self.rows: Counter[str] = Counter()
        self._tx = tx
        self._doomed: list[UUID] = []
        self._names: set[str] = set()

    async def memories(self, ids: Sequence[UUID]) -> int:
        """Erase memories with all that was made from them; returns how many memories were."""
        tx, rows = self._tx, self.rows
        await tx.execute("lock_memories", ids=list(ids))
        # A fact goes with the last memory it was derived from.
        derived = [id for id in await forget_sources(tx, ids) if id not in set(ids)]
        if derived:
            await tx.execute("lock_memories", ids=derived)
            ids = [*ids, *derived]
        # After the lock: a summary that was being stored from one of them is there by now.
        quoting = [summary for summary, _ in await find_citing(tx, ids)]
        if quoting:
            await tx.execute("lock_memories", ids=quoting)
        versions = [row["memory_id"] for row in await tx.fetch("versions_of", ids=[*ids, *quoting])]
        doomed = list(dict.fromkeys([*ids, *quoting, *versions]))
        tallies = await tx.fetch("tally_of_memories", ids=doomed)
        rows["posting"] += await tx.execute("delete_postings", ids=doomed)
        rows["embedding"] += await tx.execute("delete_embeddings", ids=doomed)
        unlinked = await entities.unlink(tx, doomed)
        rows["mention"] += len(unlinked)
        rows["history"] += await tx.execute("delete_history", ids=doomed)
        rows["conflict"] += await tx.execute("delete_conflicts", ids=doomed)
        rows["summary_source"] += await tx.execute("delete_sources", ids=doomed)
        rows["summary"] += await tx.execute("delete_summaries", ids=doomed)
        await tx.execute("forget_superseding", ids=doomed)
        await tx.execute("forget_restored", texts=[str(id) for id in doomed])
        await tx.execute("forget_former", ids=doomed)
        erased = await tx.fetch("delete_memories", ids=doomed)
        rows["memory"] += len(erased)
        for scope, count in Counter(row["scope_id"] for row in erased).items():
            # Their ids are erased with them.
            await tell(tx, MemoryEvent.DELETED, scope, {"count": count})
        named = [*unlinked, *entities.speakers_of(erased)]
        rows.update(await entities.forget_unmentioned(tx, named))
        conversations = list({row["conversation_id"] for row in erased if row["conversation_id"]})
        if conversations:
            await tx.execute("lock_conversations", ids=conversations)
            rows["conversation"] += await tx.execute("delete_conversations", ids=conversations)
        await bump_tallies(
            tx, {row["scope_id"]: (-row["memories"], -row["vectors"], -row["terms"]) for row in tallies}
        )
        self.ids += [row["memory_id"] for row in erased]
        self._doomed += doomed
        self._names.update(entity for entity, _ in named)
        return len(erased)

    async def traces(self) -> None:
        """Erase what searches, runs, feedback and kept answers hold of them, also what the caller can't see."""
        if not self._doomed:
            return
        erased = await self._tx.get_row("forget_traces", ids=self._doomed, entities=sorted(self._names))
        self.rows["feedback"] += erased["feedback"]
        self.rows["retrieval_hit"] += erased["hits"]
        self.rows["run"] += erased["runs"]


async def erase_tenant(store: Store, tenant_id: str) -> Counter[str]:
    """Erase a whole tenant, as the owner, in one transaction."""
    rows: Counter[str] = Counter()
    async with store.owner() as connection, connection.transaction():
        await connection.fetch("close_tenant", tenant=tenant_id)
        for table in TENANT_TABLES:
            target = sql.Identifier("recollect", table)
            if table == "scope":
                # Children point to parents; the tree goes at once, so let go of the links first.
                await connection.fetch("unlink_scopes", tenant=tenant_id)
            cursor = await connection.execute(
                compose("delete_tenant_rows", {"table": target}), {"tenant": tenant_id}
            )
            rows[table] = cursor.rowcount
        await connection.fetch("forget_jobs", tenant=tenant_id)
    return rows


async def vacuum_after(store: Store, tenant_id: str, rows: Mapping[str, int]) -> str:
    """Vacuum where rows were erased: a library, which may be large, only when something of it is gone."""
    others = [table for table in TENANT_TABLES if table not in LIBRARY_TABLES]
    done = {await vacuum(store, tenant_id, others)}
    if any(rows.get(table) for table in LIBRARY_TABLES):
        done.add(await vacuum(store, tenant_id, LIBRARY_TABLES))
    return min(done, key=["none", "vacuumed", "rewritten"].index)


async def vacuum(store: Store, tenant_id: str, tables: Sequence[str] = TENANT_TABLES) -> str:
    """Take dead rows of a tenant's tables out of heap and index; returns "rewritten" or "vacuumed"."""
    if store.door.owner is None:
        return "none"
    async with store.owner() as connection:
        # Aliases learned in other people's scopes, of names that are gone with what was erased.
        await connection.fetch("delete_lost_keys", tenant=tenant_id)
        if await session.is_cluster(connection):
            return await session.vacuum(connection, tenant_id, tables, rewrite_bytes=REWRITE_LIMIT_BYTES)
        places = await connection.fetch("tables_of_tenant", tables=list(tables), tenant=tenant_id)
        rewrite = sum(place["bytes"] for place in places) <= REWRITE_LIMIT_BYTES
        await _forget_statistics(connection, [sql.SQL(place["name"]) for place in places])
        await connection.execute(_GIVE_WAY)
        for place in places:
            if place["has_pages"]:  # without a page there is no row in it, dead or alive
                await _clean(connection, sql.SQL(place["name"]), rewrite=rewrite)
        await connection.execute("set lock_timeout = 0")
        if rewrite and store.door.embedded:
            await connection.execute("vacuum (full) pg_catalog.pg_statistic")
            # Past log segments hold the rows too; a switch and a checkpoint let the server drop them.
            await connection.execute("select pg_switch_wal()")
            await connection.execute("checkpoint")
        return "rewritten" if rewrite else "vacuumed"


async def _clean(connection: Connection, target: sql.Composable, *, rewrite: bool) -> None:
    """Vacuum one table, and give way to those who use it.

    While a rewrite waits for its lock, everybody after it waits as well, and writers that hold one table and need the
    next would wait in a circle with it: the server then ends one of them, after a second. So it asks for less long.
    """
    statement = sql.SQL("vacuum (full, analyze) {}" if rewrite else "vacuum (analyze) {}").format(target)
    for _ in range(_ATTEMPTS):
        try:
            await connection.execute(statement)
            return
        except LockNotAvailable:
            await asyncio.sleep(random.uniform(0, 0.2))  # noqa: S311
    await connection.execute("set lock_timeout = 0")
    await connection.execute(statement)
    await connection.execute(_GIVE_WAY)


async def _forget_statistics(connection: Connection, targets: Sequence[sql.Composable]) -> None:
    """The planner's statistics quote values, and analyzing a table that became empty leaves the old ones.

    Only a superuser may; elsewhere the columns that hold sentences have no statistics (schema.sql), and terms
    and names in them are replaced by the next analyze that finds rows.
    """
    [row] = await connection.fetch("may_edit_catalog")
    if not row["superuser"]:
        return
    parents = [sql.Identifier("recollect", table) for table in sorted(_PARTITIONED)]
    tables = sql.SQL(", ").join(sql.SQL("only {}").format(table) for table in (*targets, *parents))
    async with connection.transaction():
        # The lock keeps an analyze from writing the same rows of the catalog.
        await connection.execute(sql.SQL("lock table {} in share update exclusive mode").format(tables))
        names = [table.as_string(connection) for table in (*targets, *parents)]
        await connection.fetch("delete_statistics", tables=names)


def make_receipt(
    tenant_id: str, what: str, ids: Sequence[UUID], rows: Counter[str], vacuumed: str, *, now: datetime
) -> Receipt:
    """What was erased, for the caller to keep."""
    unreachable = list(UNREACHABLE)
    if vacuumed == "vacuumed":
        unreachable.insert(
            0, "free space inside data pages until it is reused (`recollect db compact` rewrites them)"
        )
    elif vacuumed == "none":
        unreachable.insert(0, "dead rows in heap and index until the next vacuum")
    return Receipt(
        id=new_id(),
        at=now,
        tenant_id=tenant_id,
        what=what,
        memories=rows["memory"],
        rows=dict(rows),
        memory_ids=tuple(ids),
        vacuum=vacuumed,
        unreachable=tuple(unreachable),
    )

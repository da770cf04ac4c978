"""The ordinary checks: versions, embedder, disk, counts, left-overs, rights; and whether indexes fit their tables.

What concerns the caller's own tenant is read as the caller. What concerns the whole store needs the operator role
and the owner's connection; without them the check looks at the caller's tenant alone, or says that it was skipped.
"""

from __future__ import annotations

import asyncio
import shutil
import stat
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from functools import partial
from typing import Any, LiteralString

import psycopg
from psycopg import AsyncConnection, sql
from psycopg.rows import DictRow

from recollect.doctor.world import PREFIX
from recollect.domain.results import Check
from recollect.domain.tenancy import TenantContext
from recollect.errors import EmbedderError, RecollectError
from recollect.storage import migrations, scopes, spaces
from recollect.storage.connections import Connection
from recollect.storage.sql import queries
from recollect.text.terms import TERMS_VERSION
from recollect.workspace import Workspace

_LEAST_FREE_BYTES = 1 << 30
_ORPHAN_ADVICE = "no search shows them; `recollect export` and import into a new tenant leaves them behind"


#: The queries of this package, by name.
doctor_queries = partial(queries, __package__)


async def examine_health(workspace: Workspace, context: TenantContext) -> list[Check]:
    """Every ordinary check; one that fails to run is a finding, too."""
    return [await _run(check, workspace, context) for check in CHECKS]


async def _run(
    check: Callable[[Workspace, TenantContext], Awaitable[Check]],
    workspace: Workspace,
    context: TenantContext,
) -> Check:
    try:
        return await check(workspace, context)
    except (RecollectError, psycopg.Error, OSError) as error:
        name = check.__name__.removeprefix("check_").replace("_", " ")
        return Check(name=name, ok=False, detail=str(error), advice="see `recollect db status`")


async def _ask(
    workspace: Workspace, context: TenantContext, text: str, **values: Any
) -> list[dict[str, Any]]:
    """Rows of a query as the caller."""
    async with workspace.store.transaction(context) as tx:
        return await _rows(tx.connection, text, tenant=context.tenant_id, **values)


async def _rows(connection: Connection, text: str, **values: Any) -> list[dict[str, Any]]:
    return await (await connection.execute(sql.SQL(text), values)).fetchall()


def sees_all(workspace: Workspace, context: TenantContext) -> bool:
    """Whether the whole store may be looked at, and not only the caller's tenant."""
    return context.is_operator and workspace.store.door.owner is not None


@asynccontextmanager
async def _each_tenant(
    workspace: Workspace, context: TenantContext
) -> AsyncIterator[tuple[Connection, list[str]]]:
    """A connection and the tenants it may look into: all as the operator, else the caller's own."""
    if sees_all(workspace, context):
        async with workspace.store.owner() as connection:
            rows = await connection.fetch("tenants_by_name", tenant="")
            yield connection, [row["tenant_id"] for row in rows]
    else:
        async with workspace.store.transaction(context) as tx:
            yield tx.connection, [context.tenant_id]


def skipped(name: str) -> Check:
    """What stands for a check that its caller may not make."""
    return Check(name=name, ok=True, detail="skipped: needs the operator role and the database owner's URL")


def _check(name: str, detail: str, *, ok: bool = True, advice: str = "") -> Check:
    """A finding; what to do is said only where something is wrong."""
    return Check(name=name, ok=ok, detail=detail, advice="" if ok else advice)


async def check_server(workspace: Workspace, context: TenantContext) -> Check:
    """PostgreSQL and pgvector are new enough."""
    async with workspace.store.transaction(context) as tx:
        row = await tx.get_row("store_facts")
        number = tx.connection.info.server_version
    vector = str(row["pgvector_version"] or "0")
    ok = number >= 150000 and tuple(int(part) for part in vector.split(".")[:2]) >= (0, 8)
    detail = f"PostgreSQL {row['server_version']}, pgvector {vector}"
    return _check("server", detail, ok=ok, advice="PostgreSQL 15 and pgvector 0.8 are needed")


async def check_words(workspace: Workspace, context: TenantContext) -> Check:
    """The store's words were read by this program's rules."""
    async with workspace.store.transaction(context) as tx:
        version = (await scopes.describe_caller(tx)).terms_version
    advice = "`recollect export` the memories and import them into a new home"
    return _check(
        "words", f"read by version {version} of the rules", ok=version == TERMS_VERSION, advice=advice
    )


async def check_schema(workspace: Workspace, context: TenantContext) -> Check:
    """The database is at this program's schema."""
    async with workspace.store.transaction(context) as tx:
        row = await tx.get_row("store_facts")
    version, known = row["schema_version"], migrations.newest_version()
    advice = "run `recollect db migrate`" if (version or 0) < known else "upgrade recollect"
    detail = f"version {version}, this program knows {known}"
    return _check("schema", detail, ok=version == known, advice=advice)


async def check_embedder(workspace: Workspace, context: TenantContext) -> Check:
    """The embedder is installed, and is the one the vectors were made with."""
    async with workspace.store.transaction(context) as tx:
        recorded = await spaces.list_spaces(tx)
    try:
        if any(space.state == "active" for space in recorded):
            opened = await workspace.open_space(context)
            return _check("embedder", f"{opened.space.name}, {opened.space.dimensions} dimensions")
        # Opening a space would write it down; a doctor only looks.
        made = (await workspace.load_embedder(workspace.settings.embedder)).space
        return _check("embedder", f"{made.name}; the store has no vectors yet")
    except EmbedderError as error:
        advice = "install it, or set the embedder the store names"
        return _check("embedder", str(error), ok=False, advice=advice)


async def check_embedding_space(workspace: Workspace, context: TenantContext) -> Check:
    """One space is searched; a second one means that re-embedding was interrupted."""
    async with workspace.store.transaction(context) as tx:
        recorded = await spaces.list_spaces(tx)
    states = ", ".join(f"{space.name} ({space.state})" for space in recorded) or "none yet"
    unfinished = any(space.state != "active" for space in recorded)
    ok = not unfinished and len(recorded) <= 1
    return _check("embedding space", states, ok=ok, advice="run `recollect reembed` to finish re-embedding")


async def check_disk(workspace: Workspace, context: TenantContext) -> Check:
    """There is room for the next memories."""
    place = workspace.settings.home
    while not place.exists() and place != place.parent:
        place = place.parent
    usage = await asyncio.to_thread(shutil.disk_usage, place)
    ok = usage.free >= _LEAST_FREE_BYTES
    detail = f"{usage.free / 2**30:.1f} GiB free of {usage.total / 2**30:.1f} GiB at {str(place)!r}"
    return _check("disk", detail, ok=ok, advice="free at least 1 GiB, or move RECOLLECT_HOME")


async def check_counts(workspace: Workspace, context: TenantContext) -> Check:
    """The counts that choose the kind of search are those of the rows."""
    wrong = 0
    async with _each_tenant(workspace, context) as (connection, tenants):
        for tenant in tenants:
            wrong += len(await connection.fetch("recount_tallies", tenant=tenant))
            wrong += len(await _rows(connection, doctor_queries()["missing_tallies"], tenant=tenant))
    detail = f"{len(tenants)} tenants, {wrong} scopes counted wrongly"
    advice = "ranking and speed may suffer; `recollect db compact` counts anew"
    return _check("counts", detail, ok=not wrong, advice=advice)


async def check_orphans(workspace: Workspace, context: TenantContext) -> Check:
    """No vector, posting, mention or history without its memory."""
    orphans: dict[str, int] = {}
    async with _each_tenant(workspace, context) as (connection, tenants):
        for tenant in tenants:
            for row in await _rows(connection, doctor_queries()["orphans"], tenant=tenant):
                orphans[row["name"]] = orphans.get(row["name"], 0) + row["rows"]
    left = {name: rows for name, rows in orphans.items() if rows}
    detail = (
        ", ".join(f"{rows} in {name}" for name, rows in left.items()) or f"none in {len(tenants)} tenants"
    )
    return _check("orphans", detail, ok=not left, advice=_ORPHAN_ADVICE)


async def check_vector_index(workspace: Workspace, context: TenantContext) -> Check:
    """Whoever has outgrown exact search has a vector index."""
    limit = spaces.EXACT_ROWS
    large, missing = 0, []
    async with _each_tenant(workspace, context) as (connection, tenants):
        known = await spaces.vector_indexes(connection)
        [active] = [space["space_id"] for space in await connection.fetch("list_spaces")
                    if space["state"] == "active"] or [None]  # fmt: skip
        for tenant in tenants:
            [count] = await connection.fetch("tenant_vectors", tenant=tenant)
            if count["vectors"] <= limit:
                continue
            large += 1
            [part] = await connection.fetch("partition_of", tenant=tenant, parent="recollect.embedding")
            if f"{part['name'].removeprefix('recollect.')}_hnsw_{active}" not in known:
                missing.append(tenant)
    detail = (
        f"{large} of {len(tenants)} tenants have more than {limit} vectors, {len(missing)} of them no index"
    )
    advice = f"searches of {', '.join(missing[:3])} are slow; add a memory there, which builds it"
    return _check("vector index", detail, ok=not missing, advice=advice)


async def check_durability(workspace: Workspace, context: TenantContext) -> Check:
    """What was stored survives a power cut."""
    rows = await _ask(workspace, context, doctor_queries()["durability"])
    off = [row["name"] for row in rows if row["setting"] == "off"]
    detail = ", ".join(f"{row['name']} {row['setting']}" for row in rows)
    return _check("durability", detail, ok=not off, advice=f"turn {', '.join(off)} on")


async def check_secrets(workspace: Workspace, context: TenantContext) -> Check:
    """Nobody else on this machine can read the database's passwords."""
    if not workspace.store.door.embedded:
        return _check("secrets", "skipped: the database is reached by URL")
    file = workspace.settings.home / "secrets.json"
    mode = stat.S_IMODE((await asyncio.to_thread(file.stat)).st_mode)
    return _check("secrets", f"mode {mode:04o}", ok=mode == 0o600, advice=f"chmod 600 {file}")


async def check_application_role(workspace: Workspace, context: TenantContext) -> Check:
    """Row-level security binds the role that queries run as."""
    [row] = await _ask(workspace, context, doctor_queries()["app_role"])
    bad = [name for name in ("rolsuper", "rolbypassrls", "rolcreaterole", "rolcreatedb", "owns") if row[name]]
    detail = f"{row['name']}: {', '.join(bad) or 'no superuser, no owner, no way around row-level security'}"
    advice = f"alter role {row['name']} nosuperuser nobypassrls nocreaterole nocreatedb; it must own no table"
    return _check("application role", detail, ok=not bad, advice=advice)


async def check_recording(workspace: Workspace, context: TenantContext) -> Check:
    """Whether this process could write down what its searches left behind."""
    if not workspace.settings.learning:
        return _check("recording", "off: searches are not recorded")
    await workspace.events.flush()
    counts = workspace.events.counts
    return Check(
        name="recording",
        ok=counts.dropped + counts.failed == 0,
        detail=f"{counts.written} notes about searches written, {counts.dropped} dropped, {counts.failed} refused",
        advice="look for 'notes about searches' in the log; set learning = false if the store can't keep up",
    )


async def check_left_overs(workspace: Workspace, context: TenantContext) -> Check:
    """No throw-away tenant of an interrupted isolation run is left."""
    if not sees_all(workspace, context):
        return skipped("left-overs")
    left = [tenant for tenant in await spaces.tenant_ids(workspace.store) if tenant.startswith(PREFIX)]
    advice = (
        f"unless `recollect doctor --isolation` is running: recollect tenants forget {', '.join(left[:1])}"
    )
    return _check("left-overs", f"{len(left)} throw-away tenants", ok=not left, advice=advice)


CHECKS: tuple[Callable[[Workspace, TenantContext], Awaitable[Check]], ...] = (
    check_server,
    check_schema,
    check_words,
    check_embedder,
    check_embedding_space,
    check_disk,
    check_counts,
    check_orphans,
    check_vector_index,
    check_durability,
    check_secrets,
    check_application_role,
    check_recording,
    check_left_overs,
)


# Indexes: what `amcheck` is for, which the bundled server lacks. Each B-tree is read from end to end and compared with
# the table read row by row, in one snapshot. Vector indexes answer by likeness: there is nothing to compare them with.

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

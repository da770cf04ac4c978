"""Embed a whole store anew, online.

The new vectors grow in a space of their own beside the one that is searched. When none is missing, writers are
held for a moment, the last few are embedded, and the new space becomes the active one; then the old vectors
go. Interrupted at any point, a second run continues where the first one stopped.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from typing import Any

from recollect.domain.results import ReembedReport
from recollect.domain.tenancy import TenantContext
from recollect.errors import ConflictError, ForbiddenError
from recollect.providers.embedders import Embedder
from recollect.storage import spaces
from recollect.storage.connections import Connection
from recollect.storage.spaces import NIL, Space
from recollect.workspace import Workspace, embed_windows

_BATCH = 128
#: Fills a space, which may be the active one's successor, for one tenant: connection, embedder, tenant, from, to.
FillMore = Callable[[Connection, Embedder, str, Space, Space], AsyncIterator[int]]


async def reembed(
    workspace: Workspace,
    context: TenantContext,
    name: str | None,
    progress: Callable[[int, int | None], None] | None = None,
    fill_more: FillMore | None = None,
) -> ReembedReport:
    """Fill a new space with another embedder's vectors and switch to it.

    `fill_more` fills it with what is not a memory, and gives the count of each batch; what is searched beside
    memories would be lost without it.
    """
    if not context.is_operator:
        raise ForbiddenError("re-embedding touches every tenant; it needs the operator role")
    began = time.monotonic()
    embedder = await workspace.load_embedder(name or workspace.settings.embedder)
    made = embedder.space
    async with workspace.store.transaction(context) as tx:
        known = await spaces.list_spaces(tx)
    active = next((s for s in known if s.state == "active"), None)
    tenants = await spaces.tenant_ids(workspace.store)
    if active is None or (active.name, active.fingerprint) == (made.name, made.fingerprint):
        space = active or await spaces.record_space(
            workspace.store, made.name, made.dimensions, made.fingerprint, state="active"
        )
        await spaces.drop_retired(workspace.store, tenants)
        return ReembedReport(space=space.name, embedded=0, seconds=time.monotonic() - began)
    target = await spaces.record_space(
        workspace.store, made.name, made.dimensions, made.fingerprint, state="building"
    )
    if (target.name, target.fingerprint) != (made.name, made.fingerprint):
        raise ConflictError(
            f"re-embedding with {target.name!r} was begun and not finished; "
            f"finish it with `recollect reembed {target.name}`"
        )
    total = sum([await spaces.count_missing(workspace.store, tenant, target) for tenant in tenants])
    done = 0
    async with workspace.store.owner() as connection:
        for tenant in tenants:
            async for count in _fill(connection, embedder, tenant, target):
                done += count
                if progress is not None:
                    progress(done, total)
            if fill_more is not None:
                async for count in fill_more(connection, embedder, tenant, active, target):
                    done += count
                    if progress is not None:
                        progress(done, max(done, total))
        for tenant in tenants:
            if await _vectors(workspace, tenant) > spaces.EXACT_ROWS:
                await spaces.build_index(workspace.store, tenant, target)
        async with connection.transaction():
            await spaces.begin_switch(connection)
            tenants = await spaces.tenant_ids(workspace.store)
            for tenant in tenants:
                async for count in _fill(connection, embedder, tenant, target):
                    done += count
                if fill_more is not None:
                    async for count in fill_more(connection, embedder, tenant, active, target):
                        done += count
            await spaces.finish_switch(connection, target, tenants)
    workspace.adopt(replace(target, state="active"), embedder)
    await spaces.drop_retired(workspace.store, tenants)
    return ReembedReport(space=target.name, embedded=done, seconds=time.monotonic() - began)


async def _fill(connection: Connection, embedder: Embedder, tenant: str, space: Space) -> Any:
    after = NIL
    while rows := await spaces.missing(connection, tenant, space, after=after, limit=_BATCH):
        texts = [f"{row['speaker']}: {row['text']}" if row["speaker"] else row["text"] for row in rows]
        vectors = await asyncio.to_thread(embed_windows, embedder, texts)
        flat = [
            (row["memory_id"], part, vector)
            for row, parts in zip(rows, vectors, strict=True)
            for part, vector in enumerate(parts)
        ]
        await spaces.fill(connection, tenant, space, flat)
        after = rows[-1]["memory_id"]
        yield len(rows)


async def _vectors(workspace: Workspace, tenant: str) -> int:
    rows = await workspace.store.owner_fetch("tenant_vectors", tenant=tenant)
    count: int = rows[0]["vectors"]
    return count

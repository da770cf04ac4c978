"""Forgetting with a receipt: memories, scopes, users, tenants, and what has expired."""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from datetime import timedelta
from uuid import UUID

from recollect.domain.filters import Filter, is_trivial
from recollect.domain.layers import Layer, ScopeName
from recollect.domain.memory import MemoryType
from recollect.domain.results import Receipt
from recollect.domain.tenancy import TenantContext
from recollect.domain.text import check_name
from recollect.errors import ConflictError, ForbiddenError, InvalidInputError, TenantNotFoundError
from recollect.memories.summaries.consolidate import rebuild
from recollect.storage import erase, happenings, learning, replies, scopes, writes
from recollect.storage.library import erase_documents_of
from recollect.storage.store import Transaction
from recollect.storage.summaries import SummaryKey, find_citing
from recollect.workspace import Workspace

#: Summaries made again before a delete returns; the next consolidation makes the rest.
_REBUILT_AT_ONCE = 20

Pick = Callable[[Transaction], Awaitable[list[UUID]]]


async def delete_one(
    workspace: Workspace, context: TenantContext, memory_id: UUID, *, vacuum: bool
) -> Receipt:
    """Erase one memory."""
    async with workspace.store.transaction(context) as tx:
        await writes.lock_memory(tx, memory_id)
        quoting = await find_citing(tx, [memory_id])
        erasure = erase.Erasure(tx)
        await erasure.memories([memory_id])
        await erasure.traces()
    return await _receipt(
        workspace, context, f"memory {memory_id}", erasure.ids, erasure.rows, vacuum=vacuum, quoting=quoting
    )


async def delete_matching(
    workspace: Workspace,
    context: TenantContext,
    *,
    layers: Sequence[Layer] | None,
    scope: ScopeName | None,
    types: Sequence[MemoryType] | None,
    filters: Filter | None,
    vacuum: bool,
) -> Receipt:
    """Erase every memory that meets all conditions; no condition at all is refused."""
    if layers is None and scope is None and types is None and is_trivial(filters):
        raise InvalidInputError("delete needs an id or a condition; to erase everything use `tenants forget`")

    async with workspace.store.transaction(context) as tx:
        scope_ids = [(await scopes.get_scope(tx, scope))["scope_id"]] if scope is not None else None

    async def pick(tx: Transaction) -> list[UUID]:
        return await erase.match_ids(tx, scopes=scope_ids, layers=layers, types=types, filters=filters)

    return await _erase_all(workspace, context, "memories by condition", pick, vacuum=vacuum)


async def sweep(workspace: Workspace, context: TenantContext) -> Receipt:
    """Erase what has expired or passed its layer's retention, as far as the caller may."""
    now = workspace.clock()

    async def pick(tx: Transaction) -> list[UUID]:
        rows = await tx.fetch("expired_memories", now=now, limit=erase.BATCH)
        return [row["memory_id"] for row in rows]

    receipt = await _erase_all(workspace, context, "expired memories", pick, vacuum=True)
    kept_since = now - timedelta(days=workspace.settings.learning_retention_days)
    async with workspace.store.transaction(context) as tx:
        forgotten = await learning.expire(tx, before=kept_since)
        await tx.execute("expire_replies", kept_since=now - replies.KEPT)
        await tx.execute("expire_happenings", before=now - happenings.KEPT)
    return replace(receipt, rows={**receipt.rows, **forgotten})


async def delete_scope(workspace: Workspace, context: TenantContext, name: ScopeName) -> Receipt:
    """Erase a scope with its memories; scopes below it must be gone first."""
    if name.layer is Layer.COMPANY:
        raise InvalidInputError("the company scope goes with its tenant; use `recollect tenants forget`")
    async with workspace.store.transaction(context) as tx:
        row = await scopes.get_scope(tx, name)
        children = await tx.fetch_one("count_children", scope=row["scope_id"])
        if children and children["children"]:
            hint = (
                f"use `recollect forget-user {name.name}`"
                if name.layer is Layer.USER
                else "delete or move them first"
            )
            raise ConflictError(f"{str(name)!r} has {children['children']} scopes below it; {hint}")
        erasure = await _erase_memories_of(tx, [row["scope_id"]])
        await erasure.traces()
        await _erase_scopes(tx, [row["scope_id"]], erasure.rows)
    return await _receipt(workspace, context, f"scope {name}", erasure.ids, erasure.rows, vacuum=True)


async def _erase_memories_of(tx: Transaction, scope_ids: Sequence[UUID]) -> erase.Erasure:
    erasure = erase.Erasure(tx)
    while batch := await erase.match_ids(tx, scopes=scope_ids):
        await erasure.memories(batch)
    return erasure


async def _erase_scopes(tx: Transaction, scope_ids: Sequence[UUID], rows: Counter[str]) -> None:
    """Erase scopes that have no memories any more; `rows` counts."""
    rows += await erase_documents_of(tx, scope_ids)
    rows["conversation"] += await tx.execute("delete_conversations_of", scopes=list(scope_ids))
    rows["entity"] += await tx.execute("delete_entities_of", scopes=list(scope_ids))
    rows["entity_key"] += await tx.execute("delete_entity_keys_of", scopes=list(scope_ids))
    rows["tally"] += await tx.execute("delete_tallies_of", scopes=list(scope_ids))
    rows["membership"] += await tx.execute("delete_members_of", scopes=list(scope_ids))
    for scope_id in scope_ids:
        gone = await tx.fetch("delete_scopes", scopes=[scope_id])
        if not gone:
            raise ForbiddenError("this caller may not delete that scope; its parent's lead or an admin may")
        rows["scope"] += len(gone)


async def forget_user(workspace: Workspace, context: TenantContext, user_id: str) -> Receipt:
    """Erase a user's own scopes (with agents and sessions), memberships, and their name in histories."""
    user = check_name(user_id, what="user_id")
    if not context.is_admin and user != context.user_id:
        raise ForbiddenError(f"only {user!r} or an admin may forget {user!r}")
    # What was asked a moment ago is written first, or it would come back after the user is gone.
    await workspace.events.flush()
    async with workspace.store.transaction(context) as tx:
        owned = [row["scope_id"] for row in await tx.fetch("owned_scopes", user=user)]
        erasure = await _erase_memories_of(tx, owned)
        rows = erasure.rows
        # Before the memberships: a member may write to the histories that name them, a stranger may not.
        rows["history"] += await tx.execute("forget_author", user=user)
        await tx.execute("forget_member", user=user)
        await tx.execute("forget_librarian", user=user)
        await erasure.traces()
        # Before the scopes they happened in: what happened in a scope that is gone, its user no longer sees.
        rows["event"] += await tx.execute("forget_user_happenings", user=user)
        # Sessions and agents hang under the user's scope: children first.
        await _erase_scopes(tx, owned, rows)
        rows["membership"] += len(await tx.fetch("delete_members", user=user, scope=None))
        rows += await learning.forget_learner(tx, user)
        rows["consultation"] += await tx.execute("forget_user_consultations", user=user)
        rows["api_key"] += await tx.execute("forget_user_keys", user=user)
        rows["reply"] += await tx.execute("forget_user_replies", user=user)
        kept = await scopes.list_members(tx, None, user)
        declared = await tx.fetch_one("count_declared")
    receipt = await _receipt(workspace, context, f"user {user}", erasure.ids, rows, vacuum=True)
    left = []
    if kept:
        places = ", ".join(member.scope for member in kept)
        left.append(f"memberships in {places}, which an admin or their lead must end")
    if declared is not None and declared["names"]:
        left.append(
            f"{declared['names']} names that were declared for the whole tenant;"
            " `recollect entities forget` takes them away"
        )
    return replace(receipt, unreachable=(*left, *receipt.unreachable))


async def forget_tenant(workspace: Workspace, context: TenantContext, tenant_id: str) -> Receipt:
    """Erase a tenant with everything in it."""
    if not (context.is_operator or (context.is_admin and context.tenant_id == tenant_id)):
        raise ForbiddenError(f"only an operator, or an admin of {tenant_id!r}, may forget it")
    await workspace.events.flush()
    rows = await erase.erase_tenant(workspace.store, tenant_id)
    if not rows["tenant"]:
        raise TenantNotFoundError(f"no tenant {tenant_id!r}")
    target = context.replace(tenant_id=tenant_id)
    return await _receipt(workspace, target, f"tenant {tenant_id}", [], rows, vacuum=True)


async def _erase_all(
    workspace: Workspace, context: TenantContext, what: str, pick: Pick, *, vacuum: bool
) -> Receipt:
    quoting: list[tuple[UUID, SummaryKey]] = []
    async with workspace.store.transaction(context) as tx:
        await scopes.describe_caller(tx)
        erasure = erase.Erasure(tx)
        while batch := await pick(tx):
            quoting += await find_citing(tx, batch)
            if not await erasure.memories(batch):
                break
        await erasure.traces()
    ids = erasure.ids
    return await _receipt(
        workspace, context, what, ids, erasure.rows, vacuum=vacuum and bool(ids), quoting=quoting
    )


async def _receipt(
    workspace: Workspace,
    context: TenantContext,
    what: str,
    ids: Sequence[UUID],
    rows: Counter[str],
    *,
    vacuum: bool,
    quoting: Sequence[tuple[UUID, SummaryKey]] = (),
) -> Receipt:
    # The summaries that quoted it were erased with it; now they are made again from what is left.
    keys = list(dict.fromkeys(key for _, key in quoting))[:_REBUILT_AT_ONCE]
    rebuilt = await rebuild(workspace, context, keys) if keys else 0
    vacuumed = await erase.vacuum_after(workspace.store, context.tenant_id, rows) if vacuum else "none"
    receipt = erase.make_receipt(context.tenant_id, what, ids, rows, vacuumed, now=workspace.clock())
    return replace(receipt, rebuilt=rebuilt)

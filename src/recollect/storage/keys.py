"""Keys in the database. Who may make and see them is decided by row-level security: the tenant's admins."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from recollect.domain.ids import new_id
from recollect.domain.tenancy import (
    CONTEXT_IDS,
    Key,
    NewKey,
    TenantContext,
    context_document,
    make_token,
    read_context,
    read_token,
)
from recollect.storage.rows import from_row
from recollect.storage.store import Row, Store, Transaction


async def insert_key(
    tx: Transaction,
    *,
    name: str,
    speaks_for: TenantContext,
    now: datetime,
    expires_at: datetime | None,
    once: bool = False,
) -> NewKey:
    """Make a key and its token; only the token's hash is kept. `once`: it can only be given for another one."""
    key_id = new_id()
    token, secret = make_token(tx.context.tenant_id, key_id)
    await tx.execute(
        "insert_key",
        key=key_id,
        name=name,
        secret=secret,
        context={**context_document(speaks_for), **({"once": True} if once else {})},
        created_by=tx.context.user_id or tx.context.agent_id or "",
        now=now,
        expires_at=expires_at,
    )
    key = await find_key(tx, key_id)
    assert key is not None, "it was just inserted"
    return NewKey(key=key, token=token)


async def list_keys(tx: Transaction) -> list[Key]:
    """All keys of the tenant, the newest first."""
    return [_key(tx, row) for row in await tx.fetch("list_keys")]


async def find_key(tx: Transaction, key_id: UUID) -> Key | None:
    """A key of the tenant by its id; None if there is none."""
    row = await tx.fetch_one("get_key", key=key_id)
    return None if row is None else _key(tx, row)


async def revoke_key(tx: Transaction, key_id: UUID, *, at: datetime, now: datetime) -> bool:
    """End a key now, or let it run out at a moment to come. False: there is no such key, or it was revoked."""
    return await tx.execute("revoke_key", key=key_id, at=at, now=now) > 0


async def authenticate(store: Store, token: str, *, once: bool = False) -> TenantContext | None:
    """Who a token speaks for; None when it opens nothing, whatever the reason. `once`: a link's, and no other."""
    claim = read_token(token)
    if claim is None:
        return None
    # Whoever shows a key is nobody yet: the function asks for the secret before it tells anything.
    row = await store.read(
        TenantContext(tenant_id=claim.tenant_id),
        lambda tx: tx.fetch_one("key_context", key=claim.key_id, secret=claim.secret),
    )
    if row is None or row["context"] is None or row["context"].get("once", False) is not once:
        return None
    return read_context(claim.tenant_id, row["context"])


def _key(tx: Transaction, row: Row) -> Key:
    context = read_context(tx.context.tenant_id, row["context"])
    ids = {name: getattr(context, name) for name in CONTEXT_IDS}
    return from_row(Key, row, id=row["key_id"], tenant_id=context.tenant_id, roles=context.roles, **ids)

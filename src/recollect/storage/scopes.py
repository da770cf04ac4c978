"""Tenants, scopes and members in the database.

Visibility is not decided here: row-level security has decided it before a row arrives. What this adds is
the sentence a person gets instead of an empty result or a refused write.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from recollect.domain.ids import new_id
from recollect.domain.layers import OWNED_LAYERS, PARENT_LAYERS, PERSONAL_LAYERS, Layer, ScopeName
from recollect.domain.results import Member, Scope, Tenant
from recollect.domain.text import check_name
from recollect.errors import (
    ConflictError,
    ForbiddenError,
    InvalidInputError,
    ScopeNotFoundError,
    TenantNotFoundError,
)
from recollect.storage.faults import translated
from recollect.storage.rows import from_row, scope_of
from recollect.storage.sql import compose
from recollect.storage.store import Row, Store, Transaction


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """What a caller stands on. `scope_ids` None means every scope of the tenant.

    `terms_version` says by which rules the store's words were read.
    `recursion_threshold` and `recursion_enabled` are the tenant's own; None: as the settings say.
    """

    scope_ids: list[UUID] | None
    space_id: int | None
    memories: int
    vectors: int
    terms: int
    terms_version: int | None = None
    recursion_threshold: float | None = None
    recursion_enabled: bool | None = None


async def describe_caller(
    tx: Transaction, *, layers: Sequence[Layer] | None = None, scope: UUID | None = None
) -> Caller:
    """The visible scopes (narrowed to layers or one scope) and how much is in them."""
    numbers = None if layers is None else [layer.precedence for layer in layers]
    row = await tx.get_row("describe_caller", layers=numbers, scope=scope)
    if not row["tenant_exists"]:
        raise TenantNotFoundError(
            f"no tenant {tx.context.tenant_id!r}; an operator creates it with "
            f"`recollect tenants create {tx.context.tenant_id}`"
        )
    return Caller(**{name: row[name] for name in Caller.__slots__})


async def find_scope(tx: Transaction, name: ScopeName) -> Row | None:
    """A visible scope, or None. Agents and sessions are looked for among the caller's own."""
    owners = [tx.context.user_id or "", ""] if name.layer in OWNED_LAYERS else [""]
    return await tx.fetch_one("find_scope", layer=name.layer.precedence, name=name.name, owners=owners)


async def get_scope(tx: Transaction, name: ScopeName) -> Row:
    """A visible scope; an error that says how to make one otherwise."""
    row = await find_scope(tx, name)
    if row is None:
        raise ScopeNotFoundError(f"no scope {str(name)!r} for this caller{_creation_hint(name)}")
    return row


async def writable_scope(tx: Transaction, layer: Layer, name: ScopeName | None) -> UUID:
    """The scope to write into; personal ones appear on first write."""
    if name is None:
        standing = tx.context.scope_name(layer)
        if standing is None:
            raise InvalidInputError(
                f"layer {layer.value!r} needs a scope: pass scope=..., or a context with {layer.value}_id"
            )
        name = ScopeName(layer, standing)
    row = await find_scope(tx, name)
    if row is None:
        if name.layer not in PERSONAL_LAYERS:
            raise ScopeNotFoundError(f"no scope {str(name)!r} for this caller{_creation_hint(name)}")
        return await _create_personal(tx, name)
    if not row["writable"]:
        raise ForbiddenError(
            f"{_who(tx)} may read {str(name)!r} but not write to it; become a member of it first"
        )
    scope_id: UUID = row["scope_id"]
    return scope_id


async def _create_personal(tx: Transaction, name: ScopeName) -> UUID:
    user = tx.context.user_id
    if name.layer is Layer.USER:
        if name.name != user and not tx.context.is_admin:
            raise ForbiddenError(f"{_who(tx)} may not write to {str(name)!r}; only that user or an admin may")
        return await _insert_scope(tx, name, owner="", parent=None)
    parent = await writable_scope(tx, Layer.USER, None) if user else None
    return await _insert_scope(tx, name, owner=user or "", parent=parent)


async def _insert_scope(tx: Transaction, name: ScopeName, *, owner: str, parent: UUID | None) -> UUID:
    place: dict[str, Any] = {"layer": name.layer.precedence, "name": name.name, "owner": owner}
    with translated():
        # A refusal by the database must not take the rest of the transaction with it.
        async with tx.connection.transaction():
            await tx.execute("insert_scope", scope=new_id(), parent=parent, **place)
    row = await find_scope(tx, name)
    if row is None:
        raise ForbiddenError(f"{_who(tx)} may not create {str(name)!r}")
    scope_id: UUID = row["scope_id"]
    return scope_id


def _who(tx: Transaction) -> str:
    return f"user {tx.context.user_id!r}" if tx.context.user_id else f"agent {tx.context.agent_id!r}"


def _creation_hint(name: ScopeName) -> str:
    return "" if name.layer in PERSONAL_LAYERS else f"; create it with `recollect scopes create {name}`"


async def create_scope(tx: Transaction, name: ScopeName, parent: ScopeName | None) -> Scope:
    """A new shared scope under its parent (the company, when none is named)."""
    if name.layer is Layer.COMPANY:
        raise ConflictError(
            f"a tenant has one company scope, company/{tx.context.tenant_id}; it exists already"
        )
    if name.layer in PERSONAL_LAYERS:
        if parent is not None:
            raise InvalidInputError(f"{str(name)!r} is personal and has no parent of your choice")
        return await describe_scope(tx, await writable_scope(tx, name.layer, name))
    await describe_caller(tx)
    above = parent or ScopeName(Layer.COMPANY, tx.context.tenant_id)
    parent_id = await _check_parent(tx, name, above)
    if await find_scope(tx, name) is not None:
        raise ConflictError(f"scope {str(name)!r} exists already")
    scope_id = await _insert_scope(tx, name, owner="", parent=parent_id)
    return await describe_scope(tx, scope_id)


async def _check_parent(tx: Transaction, name: ScopeName, parent: ScopeName) -> UUID:
    if parent.layer not in PARENT_LAYERS[name.layer]:
        allowed = ", ".join(sorted(layer.value for layer in PARENT_LAYERS[name.layer])) or "nothing"
        raise InvalidInputError(
            f"{str(name)!r} can't hang under {str(parent)!r}; a {name.layer.value} hangs under {allowed}"
        )
    row = await get_scope(tx, parent)
    scope_id: UUID = row["scope_id"]
    return scope_id


async def move_scope(tx: Transaction, name: ScopeName, parent: ScopeName) -> Scope:
    """Hang a scope under another parent; circles are refused."""
    row = await get_scope(tx, name)
    parent_id = await _check_parent(tx, name, parent)
    below = await tx.fetch_one("is_below", scope=parent_id, ancestor=row["scope_id"])
    if below and below["below"]:
        raise InvalidInputError(
            f"{str(parent)!r} is {str(name)!r} itself or below it; that would make a circle"
        )
    if not await tx.fetch("move_scope", scope=row["scope_id"], parent=parent_id):
        raise ForbiddenError(f"{_who(tx)} may not move {str(name)!r}; its lead or an admin may")
    return await describe_scope(tx, row["scope_id"])


async def list_scopes(
    tx: Transaction, layers: Sequence[Layer] | None, scope: UUID | None = None
) -> list[Scope]:
    """All visible scopes, the most general layer first."""
    numbers = None if layers is None else [layer.precedence for layer in layers]
    return [_to_scope(row) for row in await tx.fetch("list_scopes", layers=numbers, scope=scope)]


async def describe_scope(tx: Transaction, scope_id: UUID) -> Scope:
    """One scope with its counts."""
    return (await list_scopes(tx, None, scope_id))[0]


def _to_scope(row: Row) -> Scope:
    return from_row(
        Scope,
        row,
        id=row["scope_id"],
        layer=Layer.from_precedence(row["layer"]),
        owner=row["owner"] or None,
        parent=scope_of(row["parent_layer"], row["parent_name"]),
    )


async def add_member(tx: Transaction, user_id: str, name: ScopeName, role: str) -> Member:
    """Make a user a member or lead of a scope."""
    if role not in {"member", "lead"}:
        raise InvalidInputError(f"unknown role {role!r}; a member is 'member' or 'lead'")
    if name.layer in PERSONAL_LAYERS:
        raise InvalidInputError(
            f"{str(name)!r} is personal; people are members of projects, teams, orgs and the company"
        )
    user = check_name(user_id, what="user_id")
    row = await get_scope(tx, name)
    await tx.execute("upsert_member", user=user, scope=row["scope_id"], role=role)
    return (await list_members(tx, name, user))[0]


async def remove_member(tx: Transaction, user_id: str, name: ScopeName) -> None:
    """End a membership."""
    row = await get_scope(tx, name)
    if not await tx.fetch("delete_members", user=user_id, scope=row["scope_id"]):
        raise ScopeNotFoundError(
            f"user {user_id!r} is not a member of {str(name)!r}, or {_who(tx)} may not change it"
        )


async def list_members(tx: Transaction, name: ScopeName | None, user_id: str | None) -> list[Member]:
    """Memberships the caller may see."""
    scope = (await get_scope(tx, name))["scope_id"] if name is not None else None
    rows = await tx.fetch("list_members", scope=scope, user=user_id)
    return [
        from_row(Member, row, scope=scope_of(row["layer"], row["name"]), since=row["created_at"])
        for row in rows
    ]


async def get_tenant(tx: Transaction) -> Tenant:
    """The caller's tenant."""
    row = await tx.fetch_one("get_tenant")
    if row is None:
        raise TenantNotFoundError(f"no tenant {tx.context.tenant_id!r}")
    return to_tenant(row)


def to_tenant(row: Row) -> Tenant:
    """A tenant's row as a value."""
    days = {Layer.from_precedence(int(number)).value: value for number, value in row["retention"].items()}
    return from_row(Tenant, row, id=row["tenant_id"], retention_days=days)


async def create_tenant(store: Store, tenant_id: str, name: str | None) -> bool:
    """A new tenant with its company scope; False when it was there."""
    tenant = check_name(tenant_id, what="tenant id")
    async with store.owner() as connection, connection.transaction():
        values = {"tenant": tenant, "name": name or tenant}
        cursor = await connection.execute(compose("insert_tenant"), values)
        await connection.fetch(
            "insert_scope",
            tenant=tenant,
            scope=new_id(),
            layer=Layer.COMPANY.precedence,
            name=tenant,
            owner="",
            parent=None,
        )
        return cursor.rowcount > 0


async def set_retention(tx: Transaction, layer: Layer, days: int | None) -> None:
    """Keep memories of a layer for so many days (None: for ever); what is stored already follows."""
    if days is not None and (isinstance(days, bool) or not isinstance(days, int) or not 1 <= days <= 36_500):
        raise InvalidInputError(
            f"retention of {days!r} days makes no sense; give 1 to 36500, or None for ever"
        )
    if not tx.context.is_admin:
        raise ForbiddenError(f"{_who(tx)} may not change retention; an admin may")
    if days is None:
        await tx.execute("clear_retention", layer=layer.precedence)
    else:
        await tx.execute("set_retention", layer=layer.precedence, days=days)
    await tx.execute("apply_retention", layer=layer.precedence, days=days)
    await tx.execute("align_embeddings", ids=None)


async def set_recursion(tx: Transaction, *, threshold: float | None, enabled: bool | None) -> None:
    """From which complexity on the tenant's questions are decomposed, and whether at all; None: as the settings say."""
    number = isinstance(threshold, (int, float)) and not isinstance(threshold, bool)
    if threshold is not None and not (number and 0.0 <= threshold <= 1.0):
        raise InvalidInputError(
            f"a recursion threshold of {threshold!r} makes no sense; give 0 to 1, or None for what the settings say"
        )
    if enabled is not None and not isinstance(enabled, bool):
        raise InvalidInputError(
            f"enabled={enabled!r} makes no sense; give True, False, or None for what the settings say"
        )
    if not tx.context.is_admin:
        raise ForbiddenError(f"{_who(tx)} may not change how questions are routed; an admin may")
    await tx.execute("set_recursion", threshold=threshold, enabled=enabled)


async def set_traces(tx: Transaction, *, keep_questions: bool) -> None:
    """Whether the words of searches are kept with their traces; what was kept goes when they are not."""
    if not tx.context.is_admin:
        raise ForbiddenError(f"{_who(tx)} may not change what is kept of searches; an admin may")
    await tx.execute("set_traces", keep=keep_questions)
    if not keep_questions:
        await tx.execute("forget_questions")

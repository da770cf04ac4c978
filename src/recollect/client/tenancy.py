"""The client's faces for tenants, scopes and members: `r.tenants`, `r.scopes`, `r.members`.

They check, hand over, decide nothing. Who may do what is row-level security's
business (storage/sql), what happens is storage/scopes.py's and memories/forgetting.py's.
"""

from __future__ import annotations

from collections.abc import Sequence

from recollect.client.arguments import checked
from recollect.client.session import Face
from recollect.domain.layers import Layer, ScopeName, parse_layers
from recollect.domain.results import Member, Receipt, Scope, Tenant
from recollect.errors import ConflictError


@checked
class AsyncTenants(Face):
    """Tenants of the store."""

    async def create(self, id: str, name: str | None = None) -> Tenant:
        """A new tenant with its company scope. Needs the operator role."""
        from recollect.storage import scopes

        self._client._need_operator("create tenants")
        context = self._context
        workspace = await self._workspace()
        if not await scopes.create_tenant(workspace.store, id, name):
            raise ConflictError(f"tenant {id!r} exists already")
        async with workspace.store.transaction(context.replace(tenant_id=id)) as tx:
            return await scopes.get_tenant(tx)

    async def list(self) -> Sequence[Tenant]:
        """All tenants. Needs the operator role."""
        from recollect.storage import scopes

        self._client._need_operator("list tenants")
        workspace = await self._workspace()
        return [scopes.to_tenant(row) for row in await workspace.store.owner_fetch("list_tenants")]

    async def get(self) -> Tenant:
        """The caller's own tenant."""
        from recollect.storage import scopes

        async with self._transaction() as tx:
            return await scopes.get_tenant(tx)

    async def forget(self, id: str) -> Receipt:
        """Erase a tenant with everything in it. Needs the operator role, or admin of that tenant."""
        from recollect.memories.forgetting import forget_tenant

        receipt = await forget_tenant(await self._workspace(), self._context, id)
        return await self._client._tenant_is_gone(receipt)

    async def set_retention(self, layer: str, days: int | None) -> Tenant:
        """Keep memories of a layer for so many days; None keeps them for ever. Needs admin."""
        from recollect.storage import scopes

        async with self._transaction() as tx:
            await scopes.describe_caller(tx)
            await scopes.set_retention(tx, Layer.parse(layer), days)
            return await scopes.get_tenant(tx)

    async def set_recursion(self, *, threshold: float | None = None, enabled: bool | None = None) -> Tenant:
        """Say how this tenant's complex questions are routed; what is None follows the settings. Needs admin."""
        from recollect.storage import scopes

        async with self._transaction() as tx:
            await scopes.describe_caller(tx)
            await scopes.set_recursion(tx, threshold=threshold, enabled=enabled)
            return await scopes.get_tenant(tx)

    async def set_traces(self, *, keep_questions: bool) -> Tenant:
        """Say whether the words of searches are kept with their traces; what was kept goes when not. Needs admin."""
        from recollect.storage import scopes

        async with self._transaction() as tx:
            await scopes.describe_caller(tx)
            await scopes.set_traces(tx, keep_questions=keep_questions)
            return await scopes.get_tenant(tx)


@checked
class AsyncScopes(Face):
    """Scopes of the caller's tenant."""

    async def create(self, scope: str, *, parent: str | None = None) -> Scope:
        """A new scope such as `team/api`, under its parent (the company, when none is named)."""
        from recollect.storage import scopes

        workspace = await self._workspace()
        above = None if parent is None else ScopeName.parse(parent)
        async with workspace.store.transaction(self._context) as tx:
            return await scopes.create_scope(tx, ScopeName.parse(scope), above)

    async def list(self, layers: Sequence[str] | None = None) -> Sequence[Scope]:
        """All scopes the caller sees."""
        from recollect.storage import scopes

        async with self._transaction() as tx:
            await scopes.describe_caller(tx)
            return await scopes.list_scopes(tx, parse_layers(layers))

    async def move(self, scope: str, *, parent: str) -> Scope:
        """Hang a scope under another parent."""
        from recollect.storage import scopes

        async with self._transaction() as tx:
            return await scopes.move_scope(tx, ScopeName.parse(scope), ScopeName.parse(parent))

    async def delete(self, scope: str) -> Receipt:
        """Erase a scope with its memories; scopes below it must be gone first."""
        from recollect.memories.forgetting import delete_scope

        workspace = await self._workspace()
        return await delete_scope(workspace, self._context, ScopeName.parse(scope))


@checked
class AsyncMembers(Face):
    """Memberships of the caller's tenant."""

    async def add(self, user_id: str, scope: str, *, role: str = "member") -> Member:
        """Make a user a member or lead of a scope, or change which of the two."""
        from recollect.storage import scopes

        async with self._transaction() as tx:
            return await scopes.add_member(tx, user_id, ScopeName.parse(scope), role)

    async def remove(self, user_id: str, scope: str) -> None:
        """End a membership."""
        from recollect.storage import scopes

        async with self._transaction() as tx:
            await scopes.remove_member(tx, user_id, ScopeName.parse(scope))

    async def list(self, scope: str | None = None, *, user_id: str | None = None) -> Sequence[Member]:
        """Memberships the caller may see, of one scope or of one user."""
        from recollect.storage import scopes

        async with self._transaction() as tx:
            await scopes.describe_caller(tx)
            return await scopes.list_members(tx, None if scope is None else ScopeName.parse(scope), user_id)

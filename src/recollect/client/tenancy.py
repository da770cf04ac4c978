"""The client's faces for who is there and who speaks for whom: `r.tenants`, `r.scopes`, `r.members`, `r.keys`.

They check, hand over, decide nothing. Who may do what is row-level security's business (storage/sql), what happens is
storage/scopes.py's, storage/keys.py's and memories/deletion.py's.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from recollect.client.arguments import checked
from recollect.client.session import Face
from recollect.domain.ids import parse_id
from recollect.domain.layers import Layer, ScopeName, parse_layers
from recollect.domain.memory import check_time
from recollect.domain.results import Member, Receipt, Scope, Tenant
from recollect.domain.tenancy import Key, NewKey, TenantContext, read_token
from recollect.domain.text import check_name
from recollect.errors import (
    ConflictError,
    ForbiddenError,
    InvalidInputError,
    NotFoundError,
    UnauthorizedError,
)


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
        from recollect.memories.deletion import forget_tenant

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
        from recollect.memories.deletion import delete_scope

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


#: How long the old token of a rotated key may go on, at most.
MAX_OVERLAP_HOURS = 24 * 30
#: What keys of the dashboard are called: one that a link carries, and one that a browser was given for it.
LINK_NAME, VISIT_NAME = "one-time link", "dashboard"
#: How long a link can be opened, and how long one stays logged in.
LINK_LASTS, VISIT_LASTS = timedelta(minutes=15), timedelta(hours=12)


@checked
class AsyncKeys(Face):
    """Keys by which applications speak to `recollect serve`: each is bound to who it speaks for."""

    async def create(
        self,
        name: str,
        *,
        user: str | None = None,
        agent: str | None = None,
        roles: Sequence[str] = (),
        project: str | None = None,
        team: str | None = None,
        org: str | None = None,
        expires_at: datetime | str | None = None,
    ) -> NewKey:
        """Make a key. Its token is in what is returned, and nowhere else: it can't be shown again."""
        from recollect.storage import keys, scopes

        called = check_name(name, what="name")
        speaks_for = TenantContext(
            tenant_id=self._context.tenant_id,
            user_id=user,
            agent_id=agent,
            project_id=project,
            team_id=team,
            org_id=org,
            roles=tuple(roles),
        )
        if not (user or agent or speaks_for.roles):
            raise InvalidInputError("the key speaks for nobody; give it a user, an agent or a role")
        self._check_rights(speaks_for)
        ends = check_time(expires_at, "expires_at")
        workspace = await self._workspace()
        now = workspace.clock()
        if ends is not None and ends <= now:
            raise InvalidInputError(f"expires_at {ends.isoformat()} is over already")
        async with workspace.store.transaction(self._context) as tx:
            await scopes.describe_caller(tx)  # a tenant that is not there says so
            return await keys.insert_key(tx, name=called, speaks_for=speaks_for, now=now, expires_at=ends)

    async def list(self) -> Sequence[Key]:
        """All keys of the tenant, the newest first, revoked and expired ones too."""
        from recollect.storage import keys

        self._check_rights()
        async with self._transaction() as tx:
            return await keys.list_keys(tx)

    async def revoke(self, id: UUID | str) -> Key:
        """End a key for good. Servers refuse it within seconds; one that was revoked stays so."""
        from recollect.storage import keys

        self._check_rights()
        wanted = parse_id(id)
        now = (await self._workspace()).clock()
        async with self._transaction() as tx:
            await keys.revoke_key(tx, wanted, at=now, now=now)
            return _existing(await keys.find_key(tx, wanted), wanted)

    async def rotate(self, id: UUID | str, *, overlap_hours: float = 0) -> NewKey:
        """Another token for the same rights. The old one ends now, or some hours on, when all have the new one."""
        from recollect.storage import keys

        self._check_rights()
        wanted = parse_id(id)
        if not 0 <= overlap_hours <= MAX_OVERLAP_HOURS:
            raise InvalidInputError(f"overlap_hours {overlap_hours!r} is not from 0 to {MAX_OVERLAP_HOURS}")
        now = (await self._workspace()).clock()
        async with self._transaction() as tx:
            old = _existing(await keys.find_key(tx, wanted), wanted)
            if old.state(now) != "active":
                raise InvalidInputError(f"key {str(old.id)!r} is {old.state(now)}; make a new one")
            self._check_rights(old.speaks_for)
            made = await keys.insert_key(
                tx, name=old.name, speaks_for=old.speaks_for, now=now, expires_at=old.expires_at
            )
            await keys.revoke_key(tx, wanted, at=now + timedelta(hours=overlap_hours), now=now)
            return made

    async def link(self) -> NewKey:
        """A key for a link that logs the caller into the dashboard: it opens once, within a quarter of an hour."""
        from recollect.storage import keys

        mine = self._context
        self._check_rights(mine)
        workspace = await self._workspace()
        now = workspace.clock()
        async with workspace.store.transaction(mine) as tx:
            await tx.execute("forget_ended_keys", names=[LINK_NAME, VISIT_NAME], now=now)
            return await keys.insert_key(
                tx, name=LINK_NAME, speaks_for=mine, now=now, expires_at=now + LINK_LASTS, once=True
            )

    async def redeem(self, token: str) -> NewKey:
        """Give the key of a link for one that lasts some hours. Of two who try, one gets it."""
        from recollect.storage import keys

        workspace = await self._workspace()
        speaks_for, parts = await keys.authenticate(workspace.store, token, once=True), read_token(token)
        if speaks_for is not None and parts is not None:
            now = workspace.clock()
            async with workspace.store.transaction(speaks_for) as tx:
                if await keys.revoke_key(tx, parts.key_id, at=now, now=now):
                    return await keys.insert_key(
                        tx, name=VISIT_NAME, speaks_for=speaks_for, now=now, expires_at=now + VISIT_LASTS
                    )
        raise UnauthorizedError(
            "this is no link, or it was opened before; `recollect keys link` makes another"
        )

    async def leave(self, token: str) -> bool:
        """End the key that was given for a link; False for any other key, which its admins revoke."""
        from recollect.storage import keys

        workspace = await self._workspace()
        speaks_for, parts = await keys.authenticate(workspace.store, token), read_token(token)
        if speaks_for is None or parts is None:
            return False
        now = workspace.clock()
        async with workspace.store.transaction(speaks_for) as tx:
            key = await keys.find_key(tx, parts.key_id)
            if key is None or key.name != VISIT_NAME:
                return False
            return await keys.revoke_key(tx, key.id, at=now, now=now)

    async def context_of(self, token: Any) -> TenantContext:
        """Who a token speaks for. Asked by servers for every request; no rights are needed, only the token."""
        from recollect.storage import keys

        workspace = await self._workspace()
        # Whatever it is, it is no key: nobody is told why.
        speaks_for = await keys.authenticate(workspace.store, token) if isinstance(token, str) else None
        if speaks_for is None:
            raise UnauthorizedError(
                "this key is not valid: it may be mistyped, expired or revoked; "
                "`recollect keys create` makes a new one"
            )
        return speaks_for

    def _check_rights(self, speaks_for: TenantContext | None = None) -> None:
        """Keys are the admins' affair; and nobody hands out what they do not have."""
        mine = self._context
        if not mine.is_admin:
            raise ForbiddenError("only an admin of the tenant may make and see keys")
        if speaks_for is not None and speaks_for.is_operator and not mine.is_operator:
            raise ForbiddenError("only an operator may make a key for operators")


def _existing(key: Key | None, wanted: UUID) -> Key:
    if key is None:
        raise NotFoundError(f"no key {str(wanted)!r}; `recollect keys list` shows them")
    return key

"""The client's face for keys: `r.keys`. For admins.

Checks, hands over, decides nothing. What a token is made of is domain/tenancy.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from recollect.client.arguments import checked
from recollect.client.session import Face
from recollect.domain.ids import parse_id
from recollect.domain.memory import check_time
from recollect.domain.tenancy import Key, NewKey, TenantContext, read_token
from recollect.domain.text import check_name
from recollect.errors import ForbiddenError, InvalidInputError, NotFoundError, UnauthorizedError

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
            return _found(await keys.find_key(tx, wanted), wanted)

    async def rotate(self, id: UUID | str, *, overlap_hours: float = 0) -> NewKey:
        """Another token for the same rights. The old one ends now, or some hours on, when all have the new one."""
        from recollect.storage import keys

        self._check_rights()
        wanted = parse_id(id)
        if not 0 <= overlap_hours <= MAX_OVERLAP_HOURS:
            raise InvalidInputError(f"overlap_hours {overlap_hours!r} is not from 0 to {MAX_OVERLAP_HOURS}")
        now = (await self._workspace()).clock()
        async with self._transaction() as tx:
            old = _found(await keys.find_key(tx, wanted), wanted)
            if old.state(now) != "active":
                raise InvalidInputError(f"key {str(old.id)!r} is {old.state(now)}; make a new one")
            speaks_for = TenantContext(
                tenant_id=old.tenant_id,
                user_id=old.user_id,
                agent_id=old.agent_id,
                project_id=old.project_id,
                team_id=old.team_id,
                org_id=old.org_id,
                roles=old.roles,
            )
            self._check_rights(speaks_for)
            made = await keys.insert_key(
                tx, name=old.name, speaks_for=speaks_for, now=now, expires_at=old.expires_at
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
            await keys.forget_ended(tx, names=(LINK_NAME, VISIT_NAME), now=now)
            return await keys.insert_key(
                tx, name=LINK_NAME, speaks_for=mine, now=now, expires_at=now + LINK_LASTS, once=True
            )

    async def redeem(self, token: str) -> NewKey:
        """Give the key of a link for one that lasts some hours. Of two who try, one gets it."""
        from recollect.storage import keys

        workspace = await self._workspace()
        speaks_for, shown = await keys.authenticate(workspace.store, token, once=True), read_token(token)
        if speaks_for is not None and shown is not None:
            now = workspace.clock()
            async with workspace.store.transaction(speaks_for) as tx:
                if await keys.revoke_key(tx, shown.key_id, at=now, now=now):
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
        speaks_for, shown = await keys.authenticate(workspace.store, token), read_token(token)
        if speaks_for is None or shown is None:
            return False
        now = workspace.clock()
        async with workspace.store.transaction(speaks_for) as tx:
            key = await keys.find_key(tx, shown.key_id)
            if key is None or key.name != VISIT_NAME:
                return False
            return await keys.revoke_key(tx, key.id, at=now, now=now)

    async def context_of(self, token: Any) -> TenantContext:
        """Who a token speaks for. Asked by servers for every request; no rights are needed, only the token."""
        from recollect.storage import keys

        workspace = await self._workspace()
        # Whatever it is, it is no key: nobody is told why.
        found = await keys.authenticate(workspace.store, token) if isinstance(token, str) else None
        if found is None:
            raise UnauthorizedError(
                "this key is not valid: it may be mistyped, expired or revoked; "
                "`recollect keys create` makes a new one"
            )
        return found

    def _check_rights(self, speaks_for: TenantContext | None = None) -> None:
        """Keys are the admins' affair; and nobody hands out what they do not have."""
        mine = self._context
        if not mine.is_admin:
            raise ForbiddenError("only an admin of the tenant may make and see keys")
        if speaks_for is not None and speaks_for.is_operator and not mine.is_operator:
            raise ForbiddenError("only an operator may make a key for operators")


def _found(key: Key | None, wanted: UUID) -> Key:
    if key is None:
        raise NotFoundError(f"no key {str(wanted)!r}; `recollect keys list` shows them")
    return key

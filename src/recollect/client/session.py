"""One open client: who asks, with which settings, of which store or server; and `Face`, a group of its verbs.

Opening is lazy: the first call starts or joins the database. `for_context` gives another caller's view on the same
connections.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from os import PathLike
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from recollect.client.arguments import checked
from recollect.config import Settings
from recollect.domain.tenancy import LOCAL_TENANT, TenantContext
from recollect.errors import ConflictError, ForbiddenError, InvalidInputError

if TYPE_CHECKING:
    from recollect.client.remote import Server
    from recollect.domain.results import Receipt
    from recollect.retrieval.training import Learner
    from recollect.runs.cache import Cache
    from recollect.storage.store import Transaction
    from recollect.workspace import Workspace


class _Shared:
    """What the clients of one store share: the workspace, opened once, closed by the client that made it."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.workspace: Workspace | None = None
        self.lock: asyncio.Lock | None = None
        self.tenants_seen: set[str] = set()
        #: Answers of tools over code, for as long as the client lives.
        self.explored: Cache | None = None
        self.learner: Learner | None = None
        self.closed = False

    async def open(self, context: TenantContext) -> Workspace:
        from recollect.workspace import Workspace

        if self.closed:
            raise ConflictError("this client is closed; make a new one")
        self.lock = self.lock or asyncio.Lock()
        async with self.lock:
            if self.workspace is None:
                self.workspace = await Workspace.open(self.settings)
                self.workspace.events.on_judged = self.learn
            # Only the newcomer's tenant makes itself; any other is created on purpose.
            own = self.settings.tenant
            if context.tenant_id == own and own == LOCAL_TENANT and own not in self.tenants_seen:
                await self.workspace.ensure_tenant(context)
                self.tenants_seen.add(own)
        return self.workspace

    async def close(self) -> None:
        self.closed = True
        if self.learner is not None:
            await self.learner.close()
        if self.workspace is not None:
            workspace, self.workspace = self.workspace, None
            await workspace.close()

    def learn(self, tenant_id: str) -> None:
        """Somebody has said what served: learn from it, later and in the background."""
        from recollect.retrieval.training import Learner

        if self.workspace is not None:
            self.learner = self.learner or Learner(self.workspace)
            self.learner.hear(tenant_id)


@checked
class Session:
    """What the verbs of a client stand on."""

    def __init__(
        self,
        home: str | PathLike[str] | None = None,
        database_url: str | None = None,
        context: TenantContext | None = None,
        settings: Settings | None = None,
        *,
        url: str | None = None,
        api_key: str | None = None,
    ) -> None:
        settings = _settings(settings, home=home, database_url=database_url, url=url, api_key=api_key)
        self._shared = _Shared(settings)
        self._owner = True
        self._server: Server | None = None
        own = TenantContext(tenant_id=settings.tenant, user_id=settings.user, roles=("admin", "operator"))
        if settings.url is not None:
            from recollect.client.remote import Server

            self._server = Server(settings, context)
            if self._server.tenant_id is not None:
                own = TenantContext(tenant_id=self._server.tenant_id)
        self._context = context or own

    @property
    def tenant_context(self) -> TenantContext:
        """Who is asking."""
        return self._context

    @property
    def settings(self) -> Settings:
        """The settings this client was made with."""
        return self._shared.settings

    def for_context(self, context: TenantContext) -> Self:
        """The same store as another caller sees it, on the same connections; a server's key must speak for them."""
        other = object.__new__(type(self))
        other._server = None if self._server is None else self._server.for_context(context)
        other._shared = self._shared
        other._context = context
        other._owner = False
        return other

    async def open(self) -> Self:
        """Start or join the database now instead of at the first call; a server is there already."""
        if self._server is None:
            await self._workspace()
        return self

    async def close(self) -> None:
        """Close the connections; the embedded server runs on for others.

        What `for_context` gave stands on the connections of the client it came from: closing it closes nothing.
        """
        if self._owner and self._server is not None:
            await self._server.close()
        elif self._owner:
            await self._shared.close()

    async def __aenter__(self) -> Self:
        return await self.open()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    @property
    def _open_workspace(self) -> Workspace | None:
        """The store, if anything has opened it."""
        return self._shared.workspace

    async def _workspace(self) -> Workspace:
        if self._server is not None:
            raise InvalidInputError("this needs the store itself; run it where the server runs")
        return await self._shared.open(self._context)

    @asynccontextmanager
    async def _transaction(self, *, recorded: bool = False) -> AsyncIterator[Transaction]:
        """One transaction of the caller's; `recorded`: with what was recorded until now in sight."""
        workspace = await self._workspace()
        if recorded:
            await workspace.events.flush()
        async with workspace.store.transaction(self._context) as tx:
            yield tx

    def _need_operator(self, what: str) -> None:
        if not self._context.is_operator:
            raise ForbiddenError(f"only an operator may {what}; add 'operator' to the context's roles")

    async def _tenant_is_gone(self, receipt: Receipt) -> Receipt:
        self._shared.tenants_seen.discard(receipt.tenant_id)
        return await self._forget_explorations(receipt)

    async def _forget_explorations(self, receipt: Receipt, user_id: str | None = None) -> Receipt:
        from recollect.codebase.erasure import forget_explorations

        self._shared.explored = None
        return await asyncio.to_thread(
            forget_explorations, self.settings, receipt, tenant_id=receipt.tenant_id, user_id=user_id
        )


class Face:
    """A group of the client's verbs, such as `r.library`: checks what it is given, hands it over, decides nothing."""

    def __init__(self, client: Session) -> None:
        self._client = client
        self._server = client._server
        self._context = client.tenant_context
        self._workspace = client._workspace
        self._transaction = client._transaction


def _settings(settings: Settings | None, **given: Any) -> Settings:
    """Settings as given, or as loaded, with what was said beside them."""
    changes = {name: value for name, value in given.items() if value is not None}
    return Settings.load(**changes) if settings is None else settings.replace(**changes)

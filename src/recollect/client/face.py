"""What the parts of the client share: `Host` is the client itself, `Face` a group of its verbs such as `r.library`.

Faces check what they are given, hand it over and decide nothing.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from recollect.client.remote import Server
    from recollect.config import Settings
    from recollect.domain.results import Receipt
    from recollect.domain.tenancy import TenantContext
    from recollect.storage.store import Transaction
    from recollect.workspace import Workspace


class Host(Protocol):
    """The client of a face: who asks, with which settings, of which store or server."""

    _server: Server | None

    @property
    def settings(self) -> Settings:
        """The client's settings."""
        ...

    @property
    def tenant_context(self) -> TenantContext:
        """Who is asking."""
        ...

    async def _workspace(self) -> Workspace: ...

    @property
    def _open_workspace(self) -> Workspace | None: ...

    def _need_operator(self, what: str) -> None: ...

    async def _tenant_is_gone(self, receipt: Receipt) -> Receipt: ...


class Face:
    """A group of the client's verbs."""

    def __init__(self, client: Host) -> None:
        self._client = client

    @property
    def _server(self) -> Server | None:
        return self._client._server

    @property
    def _context(self) -> TenantContext:
        return self._client.tenant_context

    async def _workspace(self) -> Workspace:
        return await self._client._workspace()

    @asynccontextmanager
    async def _transaction(self, *, recorded: bool = False) -> AsyncIterator[Transaction]:
        """One transaction of the caller's; `recorded`: with what was recorded until now in sight."""
        workspace = await self._client._workspace()
        if recorded:
            await workspace.events.flush()
        async with workspace.store.transaction(self._client.tenant_context) as tx:
            yield tx

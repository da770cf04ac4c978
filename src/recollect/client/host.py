"""What the client's faces need of the client they belong to."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from recollect.config import Settings
    from recollect.domain.results import Receipt
    from recollect.domain.tenancy import TenantContext
    from recollect.workspace import Workspace


class Host(Protocol):
    """The client of a face: who asks, with which settings, of which store."""

    @property
    def settings(self) -> Settings:
        """The client's settings."""
        ...

    @property
    def tenant_context(self) -> TenantContext:
        """Who is asking."""
        ...

    async def _workspace(self) -> Workspace: ...

    def _need_operator(self, what: str) -> None: ...

    async def _tenant_is_gone(self, receipt: Receipt) -> Receipt: ...

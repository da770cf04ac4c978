"""A clock that tests turn by hand, and helpers to look behind the curtain."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import pytest

from recollect import Recollect, Settings, TenantContext


@dataclass
class Clock:
    """Time that stands still until somebody moves it."""

    now: datetime

    def __call__(self) -> datetime:
        return self.now

    def forward(self, **parts: float) -> datetime:
        self.now += timedelta(**parts)
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock(datetime(2026, 3, 1, 12, 0, tzinfo=UTC))


@pytest.fixture
def timed(store: Recollect, settings: Settings, tenant_id: str, clock: Clock) -> Iterator[Recollect]:
    """The test's tenant, as its administrator sees it, in a store that lives by the test's clock."""
    context = TenantContext(tenant_id=tenant_id, user_id="root", roles=("admin", "operator"))
    with Recollect(settings=settings, context=context) as client:
        workspace = client._async._shared.workspace
        assert workspace is not None
        workspace.clock = clock
        yield client


@pytest.fixture
def texts() -> Callable[..., list[str]]:
    """The texts of a listing, all pages, in order."""

    def collect(client: Recollect, **conditions: object) -> list[str]:
        found: list[str] = []
        cursor = None
        while True:
            page = client.list(cursor=cursor, **conditions)  # type: ignore[arg-type]
            found += [memory.text for memory in page]
            cursor = page.next_cursor
            if cursor is None:
                return found

    return collect

"""Tenants in a store as a new user gets it: the default embedder, the judge, the default threshold."""

from __future__ import annotations

from collections.abc import Callable
from uuid import uuid4

import pytest

from recollect import Recollect, TenantContext

AsUser = Callable[..., Recollect]


@pytest.fixture
def as_default_user(default_store: Recollect) -> AsUser:
    """A tenant of the test's own in the default store, as somebody sees it."""
    tenant = f"t-{uuid4().hex[:12]}"
    default_store.tenants.create(tenant)

    def view(user_id: str = "ana", **parts: object) -> Recollect:
        return default_store.for_context(TenantContext(tenant_id=tenant, user_id=user_id, **parts))  # type: ignore[arg-type]

    return view

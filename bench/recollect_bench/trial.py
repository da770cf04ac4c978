"""The store a benchmark runs in: its own home, its own tenants, gone afterwards.

A home that was named is kept: its tenants are called after the data they hold, so that asking again need not store
again. Settings are the defaults, whatever the caller's environment says: a number must not depend on it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from recollect.client.sync_client import Recollect
from recollect.config import Settings
from recollect.domain.tenancy import LOCAL_TENANT, TenantContext
from recollect.errors import ConflictError
from recollect.storage import embedded

#: Who asks in every benchmark: an administrator, so that one caller can fill many scopes.
ASKER = "bench"


@contextmanager
def trial_store(embedder: str, home: Path | None = None) -> Iterator[Recollect]:
    """A client on a store of the benchmark's own, as its operator."""
    with _trial_home(home) as folder, Recollect(settings=trial_settings(folder, embedder)) as client:
        yield client


def trial_settings(home: Path, embedder: str) -> Settings:
    """The defaults, in a home and with an embedder."""
    return Settings(home=home, embedder=embedder, user=ASKER, tenant=LOCAL_TENANT)


@contextmanager
def _trial_home(home: Path | None) -> Iterator[Path]:
    if home is None:
        with embedded.temporary_home() as folder:
            yield folder
        return
    ran = embedded.status(home).running
    try:
        yield home
    finally:
        if not ran:
            embedded.stop(home)


def ensure_tenant(client: Recollect, tenant_id: str) -> tuple[Recollect, int]:
    """A tenant as its administrator sees it, and how many memories it holds already."""
    try:
        client.tenants.create(tenant_id)
    except ConflictError:
        inside = as_admin(client, tenant_id)
        return inside, sum(scope.memories for scope in inside.scopes.list())
    return as_admin(client, tenant_id), 0


def fresh_tenant(client: Recollect, tenant_id: str, *, holds: int) -> tuple[Recollect, bool]:
    """A tenant that holds either exactly `holds` memories or, with False, nothing."""
    inside, memories = ensure_tenant(client, tenant_id)
    if memories == holds:
        return inside, True
    if memories:
        inside.tenants.forget(tenant_id)
        inside, _ = ensure_tenant(client, tenant_id)
    return inside, False


def as_admin(client: Recollect, tenant_id: str) -> Recollect:
    """The same store as a tenant's administrator sees it."""
    return client.for_context(TenantContext(tenant_id=tenant_id, user_id=ASKER, roles=("admin", "operator")))

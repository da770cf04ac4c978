"""How a tenant's complex questions are routed: kept per tenant, set by its admins, read with every search."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from recollect import AsyncRecollect, Recollect, Settings
from recollect.errors import ForbiddenError, InvalidInputError
from recollect.storage import scopes

AsUser = Callable[..., Recollect]


def test_nothing_is_said_until_an_admin_says_it(client: Recollect) -> None:
    tenant = client.tenants.get()
    assert (tenant.recursion_threshold, tenant.recursion_enabled) == (None, None)


def test_what_an_admin_sets_is_kept_and_can_be_taken_back(as_user: AsUser) -> None:
    admin = as_user("root", roles=("admin",))
    tenant = admin.tenants.set_recursion(threshold=0.5, enabled=False)
    assert (tenant.recursion_threshold, tenant.recursion_enabled) == (0.5, False)
    assert as_user("ana").tenants.get() == tenant
    tenant = admin.tenants.set_recursion(enabled=True)
    assert (tenant.recursion_threshold, tenant.recursion_enabled) == (None, True)
    tenant = admin.tenants.set_recursion()
    assert (tenant.recursion_threshold, tenant.recursion_enabled) == (None, None)


def test_only_an_admin_sets_it(as_user: AsUser) -> None:
    for caller in (as_user("ana"), as_user("ops", roles=("operator",))):
        with pytest.raises(ForbiddenError, match="an admin may"):
            caller.tenants.set_recursion(enabled=False)
    assert as_user("ana").tenants.get().recursion_enabled is None


@pytest.mark.parametrize("threshold", [-0.1, 1.1, float("nan"), True, "0.3"])
def test_a_threshold_that_makes_no_sense_is_refused(as_user: AsUser, threshold: object) -> None:
    with pytest.raises(InvalidInputError, match=r"makes no sense|must be a number"):
        as_user("root", roles=("admin",)).tenants.set_recursion(threshold=threshold)  # type: ignore[arg-type]


def test_a_switch_that_makes_no_sense_is_refused(as_user: AsUser) -> None:
    with pytest.raises(InvalidInputError, match="enabled must be True or False"):
        as_user("root", roles=("admin",)).tenants.set_recursion(enabled="on")  # type: ignore[arg-type]


def test_a_search_learns_it_with_what_else_it_asks_of_the_caller(as_user: AsUser, settings: Settings) -> None:
    admin = as_user("root", roles=("admin",))
    admin.tenants.set_recursion(threshold=0.7, enabled=True)
    context = as_user("ana").tenant_context

    async def describe() -> scopes.Caller:
        async with AsyncRecollect(settings=settings, context=context) as client:
            workspace = await client._workspace()
            async with workspace.store.transaction(context) as tx:
                return await scopes.describe_caller(tx)

    caller = asyncio.run(describe())
    assert (caller.recursion_threshold, caller.recursion_enabled) == (0.7, True)

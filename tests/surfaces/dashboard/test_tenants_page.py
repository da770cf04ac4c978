"""Keys, scopes, members, retention and tenants, as their admins see and change them."""

from __future__ import annotations

from typing import TYPE_CHECKING
from uuid import uuid4

import pytest

from recollect import Recollect
from recollect.errors import UnauthorizedError

from .conftest import PHONE, overflows

if TYPE_CHECKING:
    from playwright.sync_api import Page

    from .conftest import Visit

SCRIPT = "<img src=x onerror='window.hit=1'>"


def taken(page: Page) -> str:
    """The token that is shown, which is then put away."""
    token = page.locator(".token").inner_text()
    page.get_by_role("button", name="I have it").click()
    page.locator(".token").wait_for(state="detached")
    assert token not in page.content()
    return token


def context_of(client: Recollect, token: str) -> tuple[str | None, tuple[str, ...]]:
    context = client.keys.context_of(token)
    return context.user_id, context.roles


def test_a_key_is_made_shown_once_rotated_and_revoked(visit: Visit, client: Recollect) -> None:
    page = visit("/tenants")
    page.get_by_role("button", name="New key").click()
    asked = page.get_by_role("dialog")
    asked.get_by_label("Name").fill("support-bot")
    asked.get_by_label("User").fill("ana")
    asked.get_by_label("Lead of").fill("team/api")
    asked.get_by_text("Admin: the whole tenant").click()
    asked.get_by_label("Days until it ends").fill("30")
    page.get_by_role("button", name="Make it").click()
    token = taken(page)
    assert context_of(client, token) == ("ana", ("admin", "lead:team/api"))

    key = page.locator(".key", has_text="support-bot")
    key.get_by_text("user ana, admin, lead:team/api").wait_for()
    key.get_by_role("button", name="Rotate").click()
    page.get_by_role("dialog").get_by_role("button", name="Rotate").click()
    other = taken(page)
    assert other != token
    assert context_of(client, other) == ("ana", ("admin", "lead:team/api"))
    with pytest.raises(UnauthorizedError):
        client.keys.context_of(token)

    page.locator(".key", has_text="support-bot").get_by_role("button", name="Revoke").click()
    page.get_by_role("dialog").get_by_role("button", name="Revoke").click()
    page.locator(".key", has_text="support-bot").wait_for(state="detached")
    with pytest.raises(UnauthorizedError):
        client.keys.context_of(other)
    page.get_by_text("Show ended keys and logins").click()
    page.locator(".key", has_text="support-bot").get_by_text("revoked").first.wait_for()


def test_a_key_for_nobody_is_refused_and_what_was_typed_stays(visit: Visit) -> None:
    page = visit("/tenants")
    page.get_by_role("button", name="New key").click()
    page.get_by_label("Name").fill("nobody's")
    page.get_by_role("button", name="Make it").click()
    page.get_by_role("alert").get_by_text("speaks for nobody").wait_for()
    assert page.get_by_label("Name").input_value() == "nobody's"


def test_scopes_and_members_are_a_tree_that_grows(visit: Visit, client: Recollect) -> None:
    client.scopes.create("team/api")
    client.scopes.create("project/launch", parent="team/api")
    client.members.add("bo", "team/api", role="lead")
    client.add("The launch is on Friday.", scope="project/launch")
    page = visit("/tenants")
    page.locator(".scope", has_text="api").get_by_text("bo, lead").wait_for()
    page.locator(".scope", has_text="launch").get_by_text("1", exact=True).wait_for()

    page.locator(".scope", has_text="launch").get_by_label("Add a member").click()
    page.get_by_role("dialog").get_by_label("User").fill("ana")
    page.keyboard.press("Enter")
    page.locator(".scope", has_text="launch").get_by_text("ana").wait_for()
    assert [one.user_id for one in client.members.list("project/launch")] == ["ana"]

    page.locator(".scope", has_text="api").get_by_label("Add a scope below").click()
    page.get_by_role("dialog").get_by_label("Name").fill("beta")
    page.keyboard.press("Enter")
    page.locator(".scope", has_text="beta").wait_for()
    assert any(str(one).endswith("/beta") and one.parent == "team/api" for one in client.scopes.list())

    page.locator(".scope", has_text="api").get_by_label("Take out").click()
    # In the dialog: the tree has buttons of that name too, and the dialog opens when the server has heard of the click.
    page.get_by_role("dialog").get_by_role("button", name="Take out").click()
    page.locator(".scope", has_text="api").get_by_text("bo, lead").wait_for(state="detached")
    assert client.members.list("team/api") == []


def test_retention_is_kept_once_it_was_confirmed(visit: Visit, client: Recollect) -> None:
    page = visit("/tenants")
    page.locator(".retention").get_by_label("session").fill("30")
    page.locator(".retention").get_by_role("button", name="Save").click()
    page.get_by_role("button", name="Keep shorter").click()
    page.get_by_role("alert").get_by_text("Saved").wait_for()
    assert client.tenants.get().retention_days == {"session": 30}


def test_operators_make_and_forget_tenants_but_not_by_mistake(visit: Visit, store: Recollect) -> None:
    name = f"acme-{uuid4().hex[:8]}"
    page = visit("/tenants")
    page.get_by_role("button", name="New tenant").click()
    page.get_by_role("dialog").get_by_label("Id").fill(name)
    page.get_by_role("button", name="Make it").click()
    row = page.locator(".tenant", has_text=name)
    row.wait_for()
    page.get_by_label("Find a tenant").fill("no tenant is called so")
    row.wait_for(state="detached")
    page.get_by_label("Find a tenant").fill(name[:9].upper())
    row.get_by_role("button", name="Forget").click()
    erase = page.get_by_role("button", name="Erase")
    assert erase.is_disabled()
    page.get_by_label("Type its id").fill(name[:-1])
    assert erase.is_disabled()
    page.get_by_label("Type its id").fill(name)
    erase.click()
    row.wait_for(state="detached")
    assert name not in {tenant.id for tenant in store.tenants.list()}


def test_admins_of_a_tenant_see_no_others(visit: Visit) -> None:
    page = visit("/tenants", roles=("admin",))
    page.get_by_text("Scopes and members").wait_for()
    page.get_by_text("Retention", exact=True).wait_for()
    assert page.locator(".tenants").count() == 0


def test_names_are_text_and_fit_on_a_phone(visit: Visit, client: Recollect) -> None:
    long = "a-very-long-name-without-a-blank-" * 5
    client.keys.create(SCRIPT, user=SCRIPT, agent=long)
    client.scopes.create(f"team/{SCRIPT}")
    client.members.add(SCRIPT, f"team/{SCRIPT}")
    client.add("It is mine.", scope="user/root")
    page = visit("/tenants", size=PHONE)
    page.locator(".key").get_by_text(SCRIPT, exact=True).wait_for()
    page.locator(".scope").get_by_text(SCRIPT, exact=True).first.wait_for()
    page.get_by_text("1 person").wait_for()
    assert page.evaluate("window.hit") is None
    assert not overflows(page)

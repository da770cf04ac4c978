"""Who gets in: with a key, or once by a link, and nobody else."""

from __future__ import annotations

from typing import TYPE_CHECKING

import httpx
import pytest

from recollect import Recollect
from recollect.surfaces.dashboard.addresses import ROOT
from recollect.surfaces.dashboard.visitor import COOKIE

if TYPE_CHECKING:
    from playwright.sync_api import Browser
    from tests.surfaces.dashboard.conftest import Dashboard, Visit


def test_without_a_key_every_page_leads_to_the_login(dashboard: Dashboard) -> None:
    for path in ("", "/", "/memories", "/library/x", "/consultations", "/tenants", "/nothing"):
        answer = httpx.get(f"{dashboard.url}{ROOT}{path}", trust_env=False)
        assert answer.status_code == 303, path
        assert answer.headers["location"].startswith(f"{ROOT}/login"), path


def test_a_key_opens_the_page_that_was_asked_for(
    browser: Browser, dashboard: Dashboard, client: Recollect
) -> None:
    client.add("The kiln is hot on Tuesdays.")
    token = client.keys.create("ana's browser", user="root").token
    page = browser.new_page()
    page.goto(f"{dashboard.url}{ROOT}/memories")
    page.get_by_label("Your key").fill("rcl_wrong")
    page.get_by_role("button", name="Log in").click()
    page.get_by_role("alert").get_by_text("opens nothing").wait_for()
    page.get_by_label("Your key").fill(token)
    page.keyboard.press("Enter")
    page.get_by_text("The kiln is hot on Tuesdays.").wait_for()
    assert page.url.endswith(f"{ROOT}/memories")
    # A script on the page, whoever wrote it, can't read the key.
    assert COOKIE not in page.evaluate("document.cookie")
    page.get_by_role("button", name="Log out").click()
    page.get_by_label("Your key").wait_for()
    page.goto(f"{dashboard.url}{ROOT}/memories")
    page.get_by_label("Your key").wait_for()
    page.close()


def test_the_printed_link_opens_once(browser: Browser, dashboard: Dashboard) -> None:
    page = browser.new_page()
    page.goto(dashboard.link)
    page.get_by_role("heading", name="Overview").wait_for()
    page.close()
    other = httpx.get(dashboard.link, trust_env=False)
    assert other.status_code == 401
    assert "opened before" in other.text


def test_a_revoked_key_opens_nothing_more(visit: Visit, client: Recollect) -> None:
    made = client.keys.create("lost", user="root", roles=("admin",))
    page = visit("/memories", token=made.token)
    client.keys.revoke(made.key.id)
    # Servers remember what a key opens for some seconds.
    for _ in range(40):
        page.reload()
        if page.get_by_label("Your key").is_visible():
            break
        page.wait_for_timeout(500)
    page.get_by_label("Your key").wait_for()


@pytest.mark.parametrize(
    "to", ["https://example.org/", "//example.org/", "/v1/memories", "javascript:alert(1)"]
)
def test_nobody_is_led_astray(dashboard: Dashboard, client: Recollect, to: str) -> None:
    token = client.keys.create("bot", user="root").token
    answer = httpx.post(f"{dashboard.url}{ROOT}/login", data={"key": token, "to": to}, trust_env=False)
    assert answer.headers["location"] == ROOT


def test_pages_may_not_be_framed_and_ask_nobody_else(dashboard: Dashboard) -> None:
    headers = httpx.get(f"{dashboard.url}{ROOT}/login", trust_env=False).headers
    assert "frame-ancestors 'none'" in headers["content-security-policy"]
    assert "default-src 'self'" in headers["content-security-policy"]


def test_without_the_role_a_page_says_so(visit: Visit) -> None:
    page = visit("/learning", user="ana", roles=())
    page.get_by_text("needs the role").wait_for()
    assert page.get_by_role("link", name="Learning").count() == 0

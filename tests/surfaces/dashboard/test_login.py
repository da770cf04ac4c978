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
        answer = httpx.get(f"{dashboard.url}{ROOT}{path}", trust_env=False, timeout=60)
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
    page.get_by_role("alert").get_by_text("not valid").wait_for()
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
    assert client.keys.context_of(token).user_id == "root", "a key that others may use stays"


def enter(dashboard: Dashboard, link: str, cookies: dict[str, str] | None = None) -> httpx.Response:
    return httpx.get(
        f"{dashboard.url}{ROOT}/enter", params={"code": link}, cookies=cookies, trust_env=False, timeout=60
    )


def memories(dashboard: Dashboard, token: str) -> int:
    answer = httpx.get(
        f"{dashboard.url}{ROOT}/memories", cookies={COOKIE: token}, trust_env=False, timeout=60
    )
    return answer.status_code


def test_logging_out_ends_the_visit_and_no_link_can_ask_for_it(
    dashboard: Dashboard, client: Recollect
) -> None:
    token = enter(dashboard, client.keys.link().token).cookies[COOKIE]
    assert memories(dashboard, token) == 200
    away = f"{dashboard.url}{ROOT}/logout"
    assert httpx.get(away, cookies={COOKIE: token}, trust_env=False, timeout=60).status_code in (404, 405)
    assert memories(dashboard, token) == 200
    gone = httpx.post(away, cookies={COOKIE: token}, trust_env=False, timeout=60)
    assert (gone.status_code, gone.headers["location"]) == (303, f"{ROOT}/login")
    assert memories(dashboard, token) == 303, "whoever kept the cookie is out, too, and at once"


def test_a_link_can_be_neither_reused_nor_fixed(dashboard: Dashboard, client: Recollect) -> None:
    link = client.keys.link().token
    # Whoever sent the link knows it: it must not be worth anything beside the one visit, before or after.
    assert memories(dashboard, link) == 303
    assert (
        httpx.get(
            f"{dashboard.url}/v1/memories", headers={"Authorization": f"Bearer {link}"}, timeout=60
        ).status_code
        == 401
    )
    posted = httpx.post(f"{dashboard.url}{ROOT}/login", data={"key": link}, trust_env=False, timeout=60)
    assert posted.status_code == 401
    # A cookie that somebody planted before is not the one that counts afterwards.
    entered = enter(dashboard, link, cookies={COOKIE: "rcl_planted"})
    assert entered.status_code == 303
    token = entered.cookies[COOKIE]
    assert token not in (link, "rcl_planted")
    assert memories(dashboard, token) == 200
    assert enter(dashboard, link).status_code == 401
    assert memories(dashboard, link) == 303


def test_no_page_elsewhere_logs_its_reader_in(
    browser: Browser, dashboard: Dashboard, client: Recollect
) -> None:
    link = f"{dashboard.url}{ROOT}/enter?code={client.keys.link().token}"
    page = browser.new_page()
    # Another site: the same server under another name.
    page.goto(f"{dashboard.url.replace('127.0.0.1', 'localhost')}{ROOT}/login")
    page.evaluate("link => { location.href = link }", link)
    page.get_by_text("Log in only if you asked for this link yourself").wait_for()
    assert not [cookie for cookie in page.context.cookies() if cookie.get("name") == COOKIE]
    page.get_by_role("button", name="Log in with this link").click()
    page.get_by_role("heading", name="Overview").wait_for()
    page.context.close()


def test_the_printed_link_opens_once(browser: Browser, dashboard: Dashboard) -> None:
    page = browser.new_page()
    page.goto(dashboard.link)
    page.get_by_role("heading", name="Overview").wait_for()
    page.close()
    other = httpx.get(dashboard.link, trust_env=False, timeout=60)
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
    answer = httpx.post(
        f"{dashboard.url}{ROOT}/login", data={"key": token, "to": to}, trust_env=False, timeout=60
    )
    assert answer.headers["location"] == ROOT


def test_pages_may_not_be_framed_and_ask_nobody_else(dashboard: Dashboard) -> None:
    headers = httpx.get(f"{dashboard.url}{ROOT}/login", trust_env=False, timeout=60).headers
    assert "frame-ancestors 'none'" in headers["content-security-policy"]
    assert "default-src 'self'" in headers["content-security-policy"]


def test_without_the_role_a_page_says_so(visit: Visit) -> None:
    page = visit("/learning", user="ana", roles=())
    page.get_by_text("needs the role").wait_for()
    assert page.get_by_role("link", name="Learning").count() == 0

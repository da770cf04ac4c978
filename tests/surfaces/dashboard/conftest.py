"""A real `recollect serve` with its dashboard, and a real browser that looks at it.

Every page is watched while a test uses it: an error in its scripts, or a request to anywhere but the server, fails the
test.
"""

from __future__ import annotations

import asyncio
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, Request, sync_playwright

from recollect import Recollect, Settings
from recollect.surfaces.dashboard.addresses import ROOT
from recollect.surfaces.dashboard.visitor import COOKIE

#: As long as anything may take on a busy machine; nothing waits longer than it has to.
PATIENCE_MS = 30_000
DESK, PHONE = (1280, 900), (375, 740)
COMPLAINT = re.compile(r"never awaited|Traceback|\bWARNING\b|\bERROR\b|Warning:|Error:", re.ASCII)


@dataclass(frozen=True)
class Dashboard:
    """Where it is, and the link that its server printed."""

    url: str
    link: str
    root: Path


@pytest.fixture(scope="session")
def dashboard(settings: Settings, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Dashboard]:
    """A server process on the session's store; `root` is the folder below which it lets clients name paths."""
    root = tmp_path_factory.mktemp("explored")
    log = tmp_path_factory.mktemp("log") / "stderr"
    environ = {
        **os.environ,
        "RECOLLECT_HOME": str(settings.home),
        "RECOLLECT_EMBEDDER": "wordllama",
        **({"RECOLLECT_DATABASE_URL": settings.database_url} if settings.database_url else {}),
    }
    with log.open("w") as told:
        process = subprocess.Popen(
            [
                sys.executable,
                "-m",
                "recollect.surfaces.cli.main",
                "serve",
                "--port",
                "0",
                "--root",
                str(root),
            ],
            stdout=subprocess.PIPE,
            stderr=told,
            text=True,
            env=environ,
        )
    try:
        assert process.stdout is not None
        said = process.stdout.readline() + process.stdout.readline()
        found = re.search(r"(http://127\.0\.0\.1:\d+)/dashboard/enter\?code=\S+", said)
        assert found, said
        yield Dashboard(url=found[1], link=found[0], root=root)
    finally:
        process.terminate()
        ended = process.wait(60)
        if process.stdout is not None:
            process.stdout.close()
        assert ended == 0
        # A coroutine that no page waits for is a click that does nothing; whatever else a log complains of is a fault.
        assert [line for line in log.read_text().splitlines() if COMPLAINT.search(line)] == []


@dataclass(frozen=True)
class Chromium:
    """A browser, and a window whose cache holds the scripts that every page loads."""

    browser: Browser
    window: BrowserContext
    loop: asyncio.AbstractEventLoop

    @contextmanager
    def in_use(self) -> Iterator[None]:
        """Playwright's synchronous calls switch into a loop that never ends; other tests may not find it running."""
        asyncio._set_running_loop(self.loop)
        try:
            yield
        finally:
            asyncio._set_running_loop(None)


@pytest.fixture(scope="session")
def chromium() -> Iterator[Chromium]:
    """Debian's Chromium."""
    program = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
    if program is None:
        why = "there is no chromium; apt-get install chromium, or name one in CHROMIUM"
        pytest.fail(why) if os.environ.get("CI") else pytest.skip(why)
    playwright = sync_playwright().start()
    # Tests run as root in containers, where Chromium's own sandbox can't.
    browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox", "--disable-gpu"])
    window = browser.new_context()
    window.set_default_timeout(PATIENCE_MS)
    made = Chromium(browser=browser, window=window, loop=asyncio.get_running_loop())
    asyncio._set_running_loop(None)
    yield made
    with made.in_use():
        browser.close()
        playwright.stop()


@pytest.fixture
def browser(chromium: Chromium) -> Iterator[Browser]:
    """The browser, for a test that opens windows of its own."""
    with chromium.in_use():
        yield chromium.browser


@pytest.fixture
def window(chromium: Chromium) -> Iterator[BrowserContext]:
    """The window that tests share, with nobody logged in."""
    with chromium.in_use():
        chromium.window.clear_cookies()
        yield chromium.window
        for page in chromium.window.pages:
            page.close()


Visit = Callable[..., Page]


@pytest.fixture
def visit(window: BrowserContext, dashboard: Dashboard, client: Recollect) -> Iterator[Visit]:
    """Open a page of the dashboard with a key of the test's tenant: `visit("/memories", user="ana", roles=())`."""
    faults: list[str] = []

    def watch(page: Page) -> None:
        page.on("pageerror", lambda error: faults.append(f"script: {error}"))
        page.on(
            "console",
            lambda said: faults.append(f"console: {said.text}") if said.type == "error" else None,
        )
        page.on("request", away)

    def away(request: Request) -> None:
        at = urlsplit(request.url)
        if at.scheme in ("http", "https", "ws", "wss") and at.netloc != urlsplit(dashboard.url).netloc:
            faults.append(f"asked another host: {request.url}")

    def open_page(
        path: str = "/",
        *,
        user: str | None = "root",
        roles: tuple[str, ...] = ("admin", "operator"),
        size: tuple[int, int] = DESK,
        dark: bool = False,
        token: str | None = None,
    ) -> Page:
        key = token or client.keys.create("browser", user=user, roles=roles).token
        window.clear_cookies()
        window.add_cookies([{"name": COOKIE, "value": key, "url": f"{dashboard.url}{ROOT}"}])
        page = window.new_page()
        page.set_viewport_size({"width": size[0], "height": size[1]})
        page.emulate_media(color_scheme="dark" if dark else "light")
        watch(page)
        page.goto(f"{dashboard.url}{ROOT}{path}")
        page.get_by_role("heading", level=1).first.wait_for()
        return page

    yield open_page
    assert not faults, faults


def overflows(page: Page) -> bool:
    """Whether a page is wider than its window, so that one has to scroll sideways."""
    found: bool = page.evaluate(
        "document.documentElement.scrollWidth > document.documentElement.clientWidth + 1"
    )
    return found

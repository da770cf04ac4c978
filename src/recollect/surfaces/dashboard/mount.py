"""Puts the dashboard on a server's application. NiceGUI has one application in a process, and so has this."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fastapi import Request
from fastapi.responses import RedirectResponse

from recollect.errors import UnauthorizedError
from recollect.surfaces.dashboard.addresses import LOGIN_PATH, ROOT
from recollect.surfaces.dashboard.visitor import Door, visitor_of

if TYPE_CHECKING:
    from fastapi import FastAPI

    from recollect.client.async_client import AsyncRecollect
    from recollect.surfaces.dashboard.places import Page
    from recollect.surfaces.http.auth import Doorkeeper
    from recollect.surfaces.http.events import Feed

#: Pages count and list before they are sent.
_PAGE_WAIT_S = 30.0


def mount(app: FastAPI, client: AsyncRecollect, doorkeeper: Doorkeeper, feed: Feed) -> None:
    """Add the pages below `/dashboard`. Raises ImportError without NiceGUI."""
    # Read when it is imported; nothing is kept there, but it must not be wherever somebody happens to stand.
    os.environ.setdefault("NICEGUI_STORAGE_PATH", str(Path(client.settings.home) / "dashboard"))
    from nicegui import ui

    from recollect.surfaces.dashboard.frame import KEYS, STYLE
    from recollect.surfaces.dashboard.login import add_login
    from recollect.surfaces.dashboard.places import PAGES

    for field in (ui.input, ui.number, ui.select):
        field.default_props("outlined dense")
    ui.textarea.default_props("outlined autogrow")
    add_login(app, client, doorkeeper)

    @app.get("/", include_in_schema=False)
    async def root() -> RedirectResponse:
        return RedirectResponse(ROOT, status_code=307)

    for page in PAGES:
        ui.page(page.path, title=f"{page.place.title} · Recollect", response_timeout=_PAGE_WAIT_S)(
            _builder(page, doorkeeper, feed)
        )
    ui.add_css(STYLE, shared=True)
    ui.add_body_html(KEYS, shared=True)
    app.add_middleware(Door, doorkeeper=doorkeeper)
    ui.run_with(
        app,
        mount_path=ROOT,
        title="Recollect",
        favicon="🧠",
        show_welcome_message=False,
        binding_refresh_interval=None,
        reconnect_timeout=10,
    )


def _builder(page: Page, doorkeeper: Doorkeeper, feed: Feed) -> Callable[..., Any]:
    from recollect.surfaces.dashboard.frame import frame, may
    from recollect.surfaces.dashboard.places import PLACES
    from recollect.surfaces.dashboard.widgets import empty

    async def show(request: Request) -> RedirectResponse | None:
        try:
            visitor = await visitor_of(request, doorkeeper, feed)
            with frame(request, visitor, PLACES, page.place):
                if may(visitor, page.wanted):
                    given = {**request.query_params, **request.path_params}
                    wanted = {name: given[name] for name in page.takes if name in given}
                    await page.build(visitor, **wanted)
                else:
                    empty("lock", f"Your key does not open this: it needs the role {page.wanted!r}")
        except UnauthorizedError:  # the key ended since the door was passed
            return RedirectResponse(LOGIN_PATH, status_code=303)
        return None

    return show

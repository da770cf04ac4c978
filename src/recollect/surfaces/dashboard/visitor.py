"""Who looks at a page: `Visitor`. And the door: without a key that opens something, only the login page is seen.

A visitor's key is in a cookie that scripts can't read. It is asked for again with every action, so that a key that was
revoked opens nothing more on a page that is still open.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from http.cookies import CookieError, SimpleCookie
from typing import TYPE_CHECKING
from urllib.parse import quote

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import RedirectResponse

from recollect.errors import RecollectError, UnauthorizedError
from recollect.surfaces.dashboard.addresses import ENTER_PATH, INSIDE, LOGIN_PATH, ROOT

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from recollect.client.async_client import AsyncRecollect
    from recollect.domain.tenancy import TenantContext
    from recollect.surfaces.http.auth import Doorkeeper
    from recollect.surfaces.http.events import Feed

COOKIE = "recollect_key"
#: What never changes under its name: NiceGUI's version, or a hash, is part of it.
_LASTING = re.compile(r"/_nicegui/[0-9.]+/(?!dynamic_resources/)")
#: Only this server is asked for anything, and nobody may put a page into a frame of theirs. Vue compiles its templates.
_HEADERS = {
    "Content-Security-Policy": (
        "default-src 'self'; script-src 'self' 'unsafe-inline' 'unsafe-eval'; style-src 'self' 'unsafe-inline'; "
        "img-src 'self' data:; font-src 'self' data:; connect-src 'self' ws: wss:; frame-ancestors 'none'; "
        "base-uri 'self'; form-action 'self'"
    ),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Visitor:
    """Whoever is logged in. `context` is who their key speaks for; the store is asked for anew by each action."""

    token: str
    context: TenantContext
    doorkeeper: Doorkeeper
    feed: Feed

    async def store(self, *, user: str | None = None) -> AsyncRecollect:
        """The store as the visitor sees it, or as one of their users does. Raises UnauthorizedError once it is over."""
        headers = {"authorization": f"Bearer {self.token}"}
        if user:
            headers["recollect-user"] = user
        return await self.doorkeeper.admit(headers)


def token_of(request: Request) -> str | None:
    """The key in the request's cookie."""
    return request.cookies.get(COOKIE)


async def visitor_of(request: Request, doorkeeper: Doorkeeper, feed: Feed) -> Visitor:
    """Who asks for a page."""
    token = token_of(request)
    if not token:
        raise UnauthorizedError("nobody is logged in")
    client = await doorkeeper.admit({"authorization": f"Bearer {token}"})
    return Visitor(token=token, context=client.tenant_context, doorkeeper=doorkeeper, feed=feed)


class Door:
    """Lets nobody in without a key, and says to browsers what pages may do."""

    def __init__(self, app: ASGIApp, doorkeeper: Doorkeeper) -> None:
        self._app, self._doorkeeper = app, doorkeeper

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request; other addresses are none of its business."""
        path = scope.get("path", "")
        if scope["type"] != "http" or not (path == ROOT or path.startswith(f"{ROOT}/")):
            await self._app(scope, receive, send)
            return

        async def marked(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in _HEADERS.items():
                    headers[name] = value
                if path.startswith(INSIDE) and _LASTING.search(path) and message["status"] == 200:
                    headers["Cache-Control"] = "public, max-age=31536000, immutable"
            await send(message)

        if not path.startswith((INSIDE, LOGIN_PATH, ENTER_PATH)) and not await self._known(scope):
            query = scope.get("query_string", b"").decode("latin-1")
            wanted = quote(path + (f"?{query}" if query else ""), safe="")
            await RedirectResponse(f"{LOGIN_PATH}?to={wanted}", status_code=303)(scope, receive, marked)
            return
        await self._app(scope, receive, marked)

    async def _known(self, scope: Scope) -> bool:
        try:
            cookies = SimpleCookie(Headers(scope=scope).get("cookie", ""))
            await self._doorkeeper.admit({"authorization": f"Bearer {cookies[COOKIE].value}"})
        except (KeyError, CookieError, RecollectError):
            return False
        return True

"""Requests as they are counted: by route and status, never by what was asked or who did."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from recollect import telemetry

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

#: What belongs to no route: addresses are a client's words, and have no place among labels.
ELSEWHERE = "elsewhere"


class Counted:
    """An application whose requests are counted and timed, from the first byte to the last."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began = time.perf_counter()
        status = 0

        async def noted(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            await self._app(scope, receive, noted)
        finally:
            route = getattr(scope.get("route"), "path_format", None) or ELSEWHERE
            taken_ms = (time.perf_counter() - began) * 1000
            telemetry.answered(route, scope["method"], status, taken_ms)

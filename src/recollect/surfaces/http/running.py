"""What goes on when a server is told to stop: requests may end, and what takes too long is handed back.

A consultation that is cut short is kept as interrupted, an exploration keeps its journal; who asked is told that, and
may ask again in the same session or with the same task.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from recollect.errors import RunInterruptedError

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send

#: What was cut short has so long to put down what it has found.
_PUTTING_DOWN_S = 5.0


class Running:
    """The requests that are being answered, and the work among them that may take minutes."""

    def __init__(self) -> None:
        self._requests: set[asyncio.Task[Any]] = set()
        self._work: set[asyncio.Future[Any]] = set()
        self._stopped = False

    def begin(self, call: Callable[[], Awaitable[Any]]) -> asyncio.Future[Any]:
        """Work that `hand_back` may cut short; it then ends in a RunInterruptedError."""
        work = asyncio.ensure_future(self._interruptible(call))
        self._work.add(work)
        work.add_done_callback(self._work.discard)
        return work

    async def _interruptible(self, call: Callable[[], Awaitable[Any]]) -> Any:
        try:
            return await call()
        except asyncio.CancelledError:
            if not self._stopped:
                raise
            raise RunInterruptedError("the server stopped; ask again to go on with what was found") from None

    def hand_back(self) -> None:
        """Cut short what still goes on."""
        self._stopped = True
        for work in list(self._work):
            work.cancel()

    async def settled(self) -> None:
        """Wait until nobody needs the store any more, for a moment."""
        self.hand_back()
        left = [
            *self._work,
            *(request for request in self._requests if request is not asyncio.current_task()),
        ]
        if left:
            await asyncio.wait(left, timeout=_PUTTING_DOWN_S)


class Attended:
    """An application whose requests are known while they are being answered."""

    def __init__(self, app: ASGIApp, running: Running) -> None:
        self._app, self._running = app, running

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request."""
        task = asyncio.current_task()
        if scope["type"] == "lifespan" or task is None:
            await self._app(scope, receive, send)
            return
        self._running._requests.add(task)
        try:
            await self._app(scope, receive, send)
        finally:
            self._running._requests.discard(task)


async def ended(work: asyncio.Future[Any]) -> None:
    """End work that nobody waits for any more."""
    work.cancel()
    with suppress(asyncio.CancelledError, Exception):
        await work

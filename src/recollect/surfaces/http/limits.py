"""How much one caller may send, who is next when many ask at once, and who is waited for when a server is to stop.

Told to stop, requests may end, and what takes too long is handed back: a consultation that is cut short is kept as
interrupted, an exploration keeps its journal; who asked is told that, and may ask again in the same session or with the
same task.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from http import HTTPStatus
from time import monotonic
from typing import TYPE_CHECKING, Any

from recollect import telemetry
from recollect.errors import RunInterruptedError, StoreBusyError
from recollect.providers.runtime import usable_cores
from recollect.surfaces.http.problems import respond

if TYPE_CHECKING:
    from fastapi.responses import Response
    from starlette.types import ASGIApp, Message, Receive, Scope, Send


_MOST = 10_000
#: What is still read of a body that was refused, and for how long.
_LINGER_BYTES, _LINGER_S = 1_000_000, 2.0


class _TooLargeError(Exception):
    """The body went past the limit while it was being read."""


class TooManyRequestsError(Exception):
    """The key has no request left; `wait_s` says when it has."""

    def __init__(self, wait_s: float) -> None:
        super().__init__(f"too many requests; try again in {wait_s:.1f} s")
        self.wait_s = wait_s

    def response(self) -> Response:
        """What the sender is told."""
        after = {"Retry-After": str(max(1, round(self.wait_s)))}
        return respond(HTTPStatus.TOO_MANY_REQUESTS, "too_many_requests", str(self), headers=after)


class BodyLimit:
    """Refuses a body that is too large, by what it says of itself or by counting as it comes."""

    def __init__(
        self, app: ASGIApp, *, max_bytes: int, max_upload_bytes: int, is_upload: Callable[[str], bool]
    ) -> None:
        self._app = app
        self._max_bytes, self._max_upload_bytes = max_bytes, max_upload_bytes
        self._is_upload = is_upload

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        limit = self._max_upload_bytes if self._is_upload(scope["path"]) else self._max_bytes
        length = dict(scope["headers"]).get(b"content-length", b"")
        started = False
        taken = 0

        async def counted() -> Message:
            nonlocal taken
            message = await receive()
            taken += len(message.get("body", b""))
            if taken > limit:
                raise _TooLargeError
            return message

        async def noted(message: Message) -> None:
            nonlocal started
            # Whoever was reading may make something else of the fault than what it was.
            if taken > limit and not started:
                return
            started = True
            await send(message)

        refusal = respond(
            HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
            "body_too_large",
            f"a body may have {limit:,} bytes here",
            headers={"Connection": "close"},
        )
        if length.isdigit() and int(length) > limit:
            await refuse_early(refusal, receive, send)
            return
        with suppress(_TooLargeError):
            await self._app(scope, counted, noted)
        if taken > limit and not started:
            await refuse_early(refusal, receive, send)


async def refuse_early(refusal: Response, receive: Receive, send: Send) -> None:
    """Answer before the body is read, and give the client a moment to read that: it is still sending.

    A connection that ends while something unread has arrived takes the answer with it.
    """
    await send({"type": "http.response.start", "status": refusal.status_code, "headers": refusal.raw_headers})
    await send({"type": "http.response.body", "body": bytes(refusal.body), "more_body": True})
    dropped = 0
    with suppress(TimeoutError):
        async with asyncio.timeout(_LINGER_S):
            while dropped < _LINGER_BYTES:
                message = await receive()
                if message["type"] == "http.disconnect" or not message.get("more_body", False):
                    break
                dropped += len(message.get("body", b""))
    await send({"type": "http.response.body", "body": b"", "more_body": False})


class RateLimit:
    """So many requests a minute for each key, with as many at once; a bucket that fills steadily."""

    def __init__(self, per_minute: int) -> None:
        self._per_s = per_minute / 60
        self._most = float(per_minute)
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def take(self, who: str) -> None:
        """Take one request. Raises TooManyRequestsError when there is none left."""
        if self._most <= 0:
            return
        now = monotonic()
        left, since = self._buckets.get(who, (self._most, now))
        left = min(self._most, left + (now - since) * self._per_s)
        self._buckets[who] = (left - 1 if left >= 1 else left, now)
        self._buckets.move_to_end(who)
        while len(self._buckets) > _MOST:
            self._buckets.popitem(last=False)
        if left < 1:
            raise TooManyRequestsError((1 - left) / self._per_s)


#: A queue of so many would be answered too late for most of them.
MOST_WAITING = 1_000
_PER_CORE = 2


class Turns:
    """A queue that is fair."""

    def __init__(self, at_once: int, *, most_waiting: int = MOST_WAITING) -> None:
        self._free = asyncio.Semaphore(at_once)
        self._most_waiting = most_waiting
        self._waiting = 0

    @asynccontextmanager
    async def turn(self) -> AsyncIterator[None]:
        """Wait for one's turn, and have it while this lasts."""
        if self._free.locked():
            await self._wait()
        else:
            await self._free.acquire()
        try:
            yield
        finally:
            self._free.release()

    async def _wait(self) -> None:
        if self._waiting >= self._most_waiting:
            raise StoreBusyError(f"{self._waiting} requests wait here already; try again in a moment")
        self._waiting += 1
        telemetry.waiting(self._waiting)
        try:
            await self._free.acquire()
        finally:
            self._waiting -= 1
            telemetry.waiting(self._waiting)


def at_once(*, workers: int = 1) -> int:
    """How many requests one process works on: two for each core that is its share."""
    return max(2, _PER_CORE * usable_cores() // workers)


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

"""`/v1/events`: what happens in a tenant, over a WebSocket, from any process that serves the store.

A client sends nothing but its key, if it can't set a header; it hears events as JSON, each with an `id`. After a break
it connects again with `?after=ID` and hears what it missed. One connection to the database listens for all sockets.
"""

from __future__ import annotations

import asyncio
import json
from collections import OrderedDict
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING
from uuid import UUID

from fastapi import FastAPI, WebSocket, WebSocketDisconnect

from recollect.domain.codec import encode
from recollect.domain.ids import parse_id
from recollect.errors import NotFoundError, RecollectError, UnauthorizedError
from recollect.storage import happenings

if TYPE_CHECKING:
    from recollect.client.async_client import AsyncRecollect
    from recollect.domain.overview import Happening
    from recollect.domain.tenancy import TenantContext
    from recollect.surfaces.http.auth import Doorkeeper

PATH = "/v1/events"
#: A client that can't set headers has so long to send its key.
_KEY_WAIT_S = 10.0
#: Looked at anyway after so long: a notification may be lost with its connection.
_RECHECK_S = 30.0
#: A transaction that was long under way commits events with an earlier time: so far back is looked again.
_OVERLAP = timedelta(seconds=10)
_TOGETHER_S = 0.05
#: Those who began to listen in the same so many seconds look together.
_BUCKET_S = 10
_REMEMBERED = 5_000
_BATCH = 500
#: Close codes of applications begin at 4000; these end in the HTTP status that would say the same.
_UNAUTHORIZED, _BAD_REQUEST = 4401, 4400


class Feed:
    """Wakes those who wait for something to happen in their tenant."""

    def __init__(self, client: AsyncRecollect) -> None:
        self._client = client
        self._waiting: dict[str, set[asyncio.Event]] = {}
        # Hundreds who listen look a few at a time: those who ask something must not wait for them.
        self._looks = asyncio.Semaphore(2)
        self._about_to_look: dict[tuple[TenantContext, datetime], asyncio.Future[list[Happening]]] = {}

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Listen to the database while this lasts."""
        task = asyncio.create_task(self._listen())
        try:
            yield
        finally:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task

    async def _listen(self) -> None:
        workspace = await self._client._workspace()
        async for tenant in happenings.listen(workspace.store):
            woken = self._waiting.values() if not tenant else [self._waiting.get(tenant, set())]
            for some in list(woken):
                for waiting in some:
                    waiting.set()

    @asynccontextmanager
    async def woken(self, tenant: str) -> AsyncIterator[asyncio.Event]:
        """An event that is set when something happens in a tenant."""
        event = asyncio.Event()
        self._waiting.setdefault(tenant, set()).add(event)
        try:
            yield event
        finally:
            self._waiting[tenant].discard(event)
            if not self._waiting[tenant]:
                del self._waiting[tenant]

    async def happened_since(self, context: TenantContext, since: datetime) -> list[Happening]:
        """What a caller may know of since a moment. Callers of the same rights look together."""
        begin = datetime.fromtimestamp(since.timestamp() // _BUCKET_S * _BUCKET_S, UTC)
        looking = self._about_to_look.get((context, begin))
        if looking is None:
            looking = asyncio.ensure_future(self._look_soon(context, begin))
            self._about_to_look[context, begin] = looking
        batch = await asyncio.shield(looking)
        if len(batch) >= _BATCH and begin < since:
            batch = await self._look(context, since)
        return [happening for happening in batch if happening.at > since]

    async def _look_soon(self, context: TenantContext, since: datetime) -> list[Happening]:
        # What happens at almost the same time is looked up once. Who is woken after this look has begun begins another.
        await asyncio.sleep(_TOGETHER_S)
        del self._about_to_look[context, since]
        return await self._look(context, since)

    async def _look(self, context: TenantContext, since: datetime) -> list[Happening]:
        workspace = await self._client._workspace()
        async with self._looks, workspace.store.transaction(context) as tx:
            return await happenings.happened_since(tx, since, limit=_BATCH)


def add_events(app: FastAPI, doorkeeper: Doorkeeper, feed: Feed) -> None:
    """`/v1/events`."""

    @app.websocket(PATH)
    async def events(socket: WebSocket) -> None:
        # What a client does after it is connected, it hears of; looking at its key may take a while.
        connected = datetime.now(UTC)
        await socket.accept()
        try:
            headers = await _headers(socket)
            client = await doorkeeper.admit(headers)
            begin = await _begin(client, socket.query_params.get("after"), connected)
        except NotFoundError as error:
            await _refuse(socket, _BAD_REQUEST, error)
        except (RecollectError, TimeoutError, ValueError, KeyError, TypeError) as error:
            await _refuse(socket, _UNAUTHORIZED, error)
        except WebSocketDisconnect:
            return
        else:
            await _serve(socket, client, feed, begin, lambda: doorkeeper.admit(headers))


async def _headers(socket: WebSocket) -> dict[str, str]:
    """The request's headers, or the key that comes as the first message: browsers can't set headers here."""
    headers = dict(socket.headers)
    if "authorization" not in headers:
        async with asyncio.timeout(_KEY_WAIT_S):
            message = json.loads(await socket.receive_text())
        headers["authorization"] = f"Bearer {message['key']}"
    return headers


async def _begin(
    client: AsyncRecollect, after: str | None, connected: datetime
) -> tuple[datetime, UUID | None]:
    """The moment to begin at: that of an event, or when the client was connected."""
    if after is None:
        return connected, None
    wanted = parse_id(after, what="after")
    workspace = await client._workspace()
    async with workspace.store.transaction(client.tenant_context) as tx:
        return await happenings.get_moment(tx, wanted), wanted


async def _refuse(socket: WebSocket, code: int, error: Exception) -> None:
    reason = (
        str(error) if isinstance(error, RecollectError) else 'the first message must be {"key": "rcl_..."}'
    )
    with suppress(RuntimeError, WebSocketDisconnect):
        await socket.close(code, reason[:120])


async def _serve(
    socket: WebSocket,
    client: AsyncRecollect,
    feed: Feed,
    begin: tuple[datetime, UUID | None],
    readmit: Callable[[], Awaitable[object]],
) -> None:
    gone = asyncio.create_task(_until_gone(socket))
    sending = asyncio.create_task(_send_all(socket, client, feed, begin, readmit))
    try:
        await asyncio.wait({gone, sending}, return_when=asyncio.FIRST_COMPLETED)
        refused = sending.exception() if sending.done() else None
        if isinstance(refused, UnauthorizedError):
            await _refuse(socket, _UNAUTHORIZED, refused)
    finally:
        for task in (gone, sending):
            task.cancel()
            with suppress(asyncio.CancelledError, WebSocketDisconnect, RuntimeError, RecollectError):
                await task


async def _until_gone(socket: WebSocket) -> None:
    """What a client sends is of no interest; that it is gone is."""
    with suppress(WebSocketDisconnect):
        while True:
            await socket.receive()
            if socket.client_state.name == "DISCONNECTED":
                return


async def _send_all(
    socket: WebSocket,
    client: AsyncRecollect,
    feed: Feed,
    begin: tuple[datetime, UUID | None],
    readmit: Callable[[], Awaitable[object]],
) -> None:
    async for happening in heard(client, feed, *begin):
        await readmit()  # a key that was revoked since hears no more
        await socket.send_text(json.dumps(encode(happening)))


async def heard(
    client: AsyncRecollect, feed: Feed, since: datetime, after: UUID | None = None
) -> AsyncGenerator[Happening, None]:
    """What the caller may know of, from a moment on, as it happens; each thing once, and none of `after` again."""
    context = client.tenant_context
    reached = since
    sent: OrderedDict[UUID, None] = OrderedDict()
    if after is not None:
        sent[after] = None
    # What came before the beginning was heard, or is nobody's business now.
    floor = reached
    async with feed.woken(context.tenant_id) as woken:
        while True:
            woken.clear()
            batch = await feed.happened_since(context, max(reached - _OVERLAP, floor))
            fresh = [happening for happening in batch if happening.id not in sent]
            for happening in fresh:
                yield happening
                sent[happening.id] = None
                reached = max(reached, happening.at)
            while len(sent) > _REMEMBERED:
                sent.popitem(last=False)
            if len(batch) < _BATCH or not fresh:
                with suppress(TimeoutError):
                    await asyncio.wait_for(woken.wait(), _RECHECK_S)

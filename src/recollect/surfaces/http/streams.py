"""A verb that tells what happens while it goes on, as server-sent events; the last one is its result, or its error."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from fastapi import Request
from fastapi.responses import StreamingResponse
from fastapi.sse import format_sse_event

from recollect.domain.codec import encode
from recollect.errors import RecollectError
from recollect.surfaces.http.problems import status_of
from recollect.surfaces.http.running import ended

if TYPE_CHECKING:
    from recollect.surfaces.http.running import Running

MEDIA_TYPE = "text/event-stream"
#: Proxies end a connection on which nothing is said.
_PING_S = 15.0


def wants_stream(request: Request) -> bool:
    """Whether the caller asked to hear what happens."""
    return MEDIA_TYPE in request.headers.get("accept", "")


def stream(call: Callable[..., Any], kwargs: Mapping[str, Any], running: Running) -> StreamingResponse:
    """Run a verb and send what it tells. A caller that goes away ends it."""
    return StreamingResponse(
        _events(call, kwargs, running),
        media_type=MEDIA_TYPE,
        headers={"Cache-Control": "no-store", "X-Accel-Buffering": "no"},
    )


async def _events(
    call: Callable[..., Any], kwargs: Mapping[str, Any], running: Running
) -> AsyncIterator[bytes]:
    heard: asyncio.Queue[Any] = asyncio.Queue()
    work = running.begin(partial(call, **kwargs, on_event=heard.put_nowait))
    work.add_done_callback(lambda _: heard.put_nowait(None))
    try:
        while True:
            try:
                event = await asyncio.wait_for(heard.get(), _PING_S)
            except TimeoutError:
                yield b": still at it\n\n"
                continue
            if event is None:
                break
            document = event.document()
            yield _said(str(document.get("type", "event")), document)
        yield _ended(work)
    finally:
        await ended(work)


def _ended(work: asyncio.Future[Any]) -> bytes:
    """How it ended: the status line was sent long ago, so an error is an event too."""
    if work.cancelled():
        return _said("error", {"code": "cancelled", "detail": "it was cancelled", "status": 499})
    error = work.exception()
    if isinstance(error, RecollectError):
        said = {"code": error.code, "detail": str(error), "status": status_of(error).value}
        return _said("error", said)
    if error is not None:
        said = {
            "code": "unexpected",
            "detail": "something failed here; the server's log says what",
            "status": 500,
        }
        return _said("error", said)
    return _said("result", encode(work.result()))


def _said(event: str, document: Any) -> bytes:
    return format_sse_event(data_str=json.dumps(document), event=event)

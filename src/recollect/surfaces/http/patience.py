"""How long a connection may take: to send a request's head, its body, and to read what it is sent.

A client that sends a byte now and then would otherwise hold a connection for good, and many of them the server. Bodies
may be large and networks slow, so a body has time for its size.
"""
# ruff: noqa: D102 - the methods are those of the protocol, which says what they are

from __future__ import annotations

import asyncio
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

HEAD_S = 20.0
BODY_S = 30.0
#: A body that comes slower than this for longer than that is not waited for.
BODY_BYTES_PER_S = 10_000
READ_S = 60.0

_TOO_SLOW = (
    b'{"type":"urn:recollect:request_timeout","title":"Request Timeout","status":408,'
    b'"detail":"the request did not arrive in time","code":"request_timeout"}'
)
_REFUSAL = (
    b"HTTP/1.1 408 Request Timeout\r\ncontent-type: application/problem+json\r\nconnection: close\r\n"
    b"content-length: " + str(len(_TOO_SLOW)).encode() + b"\r\n\r\n" + _TOO_SLOW
)


class PatientProtocol(HttpToolsProtocol):
    """HTTP/1.1 with an end to every wait."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._sending: asyncio.TimerHandle | None = None
        self._reading: asyncio.TimerHandle | None = None
        self._heard = False
        self._body_began = 0.0
        self._body_bytes = 0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._expect(HEAD_S)

    def connection_lost(self, exc: Exception | None) -> None:
        self._arrived()
        self._read()
        super().connection_lost(exc)

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._heard, self._body_began = True, 0.0
        self._expect(HEAD_S)

    def on_headers_complete(self) -> None:
        super().on_headers_complete()
        self._body_began, self._body_bytes = self.loop.time(), 0
        self._expect(BODY_S)

    def on_body(self, body: bytes) -> None:
        super().on_body(body)
        self._body_bytes += len(body)

    def on_message_complete(self) -> None:
        super().on_message_complete()
        self._arrived()

    def handle_websocket_upgrade(self) -> None:
        self._arrived()
        super().handle_websocket_upgrade()

    def pause_writing(self) -> None:
        super().pause_writing()
        self._reading = self._reading or self.loop.call_later(READ_S, self.transport.abort)

    def resume_writing(self) -> None:
        self._read()
        super().resume_writing()

    def _expect(self, seconds: float) -> None:
        self._arrived()
        self._sending = self.loop.call_later(seconds, self._late)

    def _arrived(self) -> None:
        if self._sending is not None:
            self._sending.cancel()
            self._sending = None

    def _read(self) -> None:
        if self._reading is not None:
            self._reading.cancel()
            self._reading = None

    def _late(self) -> None:
        self._sending = None
        if self.transport.is_closing():
            return
        left_s = self._body_began + BODY_S + self._body_bytes / BODY_BYTES_PER_S - self.loop.time()
        if self._body_began and (self.flow.read_paused or left_s > 0):
            # It is we who do not read, or it comes steadily.
            self._expect(max(left_s, 1.0))
            return
        answering = (
            self.cycle is not None and self.cycle.response_started and not self.cycle.response_complete
        )
        if self._heard and not answering:
            self.transport.write(_REFUSAL)
        self.transport.close()

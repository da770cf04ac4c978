"""Clients of a server, many in one process that needs little of the machine: `python -m recollect_bench.load`.

What to do comes as JSON on standard input, what was seen leaves as JSON on standard output. Requests are written and
answers read by hand: a client library would cost as much as the server that is measured. Each client sends its next
request when it has the answer to the one before.
"""

from __future__ import annotations

import asyncio
import base64
import json
import os
import random
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

#: Of a hundred requests: ninety read, ten write.
MIX = {"search": 50, "context": 15, "get": 15, "list": 10, "add": 6, "update": 2, "feedback": 2}
WRITES = frozenset({"add", "update", "feedback"})
#: What marks a memory that a client has added, so that it can be taken away again.
SOURCE = "bench-load"
_ERRORS = 5
_NEVER_S = 60.0
_TEXT, _PING = 1, 9


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """So many clients, for so long; `texts` are what they ask and tell, `ids` memories that are there."""

    port: int
    token: str
    clients: int
    seconds: float
    seed: int
    queries: Sequence[str]
    texts: Sequence[str]
    ids: Sequence[str]
    #: Instead of asking, so many open WebSockets, until standard input ends.
    sockets: int = 0


@dataclass(slots=True)
class Seen:
    """What all clients of a process have seen. A sample is (kind, when it began, how long it took in ms)."""

    samples: list[tuple[str, float, float]] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    failed: int = 0
    seconds: float = 0.0
    cpu_s: float = 0.0

    def note(self, said: str) -> None:
        """Something that should not be."""
        self.failed += 1
        if len(self.errors) < _ERRORS:
            self.errors.append(said[:300])


class Client:
    """One connection, which stays open."""

    def __init__(self, order: Order, number: int) -> None:
        self._order = order
        self._chance = random.Random(order.seed * 1_000_003 + number)  # noqa: S311 - a repeatable load
        self._own: list[str] = []
        self._found: bytes = b""
        self._count = 0
        self._number = number

    async def run(self, seen: Seen, began: float) -> None:
        """Ask until the time is over, once at least."""
        reader, writer = await asyncio.open_connection("127.0.0.1", self._order.port)
        now, end = time.perf_counter(), began + self._order.seconds
        try:
            while True:
                kind = self._chance.choices(list(MIX), list(MIX.values()))[0]
                kind, request = self._request(kind)
                writer.write(request)
                status, body = await asyncio.wait_for(_answer(reader), _NEVER_S)
                seen.samples.append((kind, now - began, (time.perf_counter() - now) * 1000))
                if status >= 400:
                    seen.note(f"{kind}: {status} {body.decode(errors='replace')}")
                elif kind == "search":
                    self._found = body
                elif kind == "add":
                    self._own.append(json.loads(body)["id"])
                if (now := time.perf_counter()) >= end:
                    break
        except (OSError, EOFError, ValueError, TimeoutError) as error:
            seen.note(f"a client lost its connection: {error!r}")
        finally:
            writer.close()

    def _request(self, kind: str) -> tuple[str, bytes]:
        """The request, and what it turned out to be: there may be nothing to update yet."""
        order, chance = self._order, self._chance
        if kind == "feedback":
            found = json.loads(self._found) if self._found else {"hits": []}
            if found["hits"]:
                hit = chance.choice(found["hits"])["id"]
                body = {"kind": "helpful", "query_id": found["query_id"]}
                return kind, self._sent("POST", f"/v1/memories/{hit}/feedback", body)
            kind = "search"
        if kind == "update" and self._own:
            id = chance.choice(self._own)
            return kind, self._sent("PATCH", f"/v1/memories/{id}", {"importance": round(chance.random(), 3)})
        if kind in {"add", "update"}:
            self._count += 1
            text = f"{chance.choice(order.texts)} {order.seed}-{self._number}-{self._count}"
            return "add", self._sent("POST", "/v1/memories", {"text": text, "source": SOURCE})
        if kind == "get":
            return kind, self._sent("GET", f"/v1/memories/{chance.choice(order.ids)}")
        if kind == "list":
            return kind, self._sent("GET", "/v1/memories?limit=20")
        asked = {"query": chance.choice(order.queries), "threshold": 0, "limit": 10}
        return kind, self._sent("POST", f"/v1/{kind}", asked)

    def _sent(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> bytes:
        content = b"" if body is None else json.dumps(body).encode()
        head = (
            f"{method} {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {self._order.token}\r\n"
            f"Content-Type: application/json\r\nContent-Length: {len(content)}\r\n\r\n"
        )
        return head.encode() + content


async def _answer(reader: asyncio.StreamReader) -> tuple[int, bytes]:
    """Status and body of an answer with a length."""
    head = await reader.readuntil(b"\r\n\r\n")
    length = 0
    for line in head.split(b"\r\n")[1:]:
        name, _, value = line.partition(b":")
        if name.lower() == b"content-length":
            length = int(value)
    return int(head[9:12]), await reader.readexactly(length) if length else b""


async def ask(order: Order) -> Seen:
    """All clients at once."""
    seen = Seen()
    began = time.perf_counter()
    await asyncio.gather(*(Client(order, number).run(seen, began) for number in range(order.clients)))
    seen.seconds = time.perf_counter() - began
    seen.cpu_s = time.process_time()
    return seen


async def hold(order: Order) -> Seen:
    """Open WebSockets, say so, and count those that hear of something once a line has come on standard input."""
    seen = Seen()
    began = 0.0

    async def hear(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while await _frame(reader, writer) != _TEXT:
                pass
        except (OSError, EOFError) as error:
            seen.note(f"a socket was closed: {error!r}")
        else:
            seen.samples.append(("event", 0.0, (time.perf_counter() - began) * 1000))
        finally:
            writer.close()

    hearing = []
    for _ in range(order.sockets):
        reader, writer = await asyncio.open_connection("127.0.0.1", order.port)
        key = base64.b64encode(os.urandom(16)).decode()
        writer.write(
            f"GET /v1/events HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {order.token}\r\n"
            "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
            f"Sec-WebSocket-Key: {key}\r\n\r\n".encode()
        )
        answer = await reader.readuntil(b"\r\n\r\n")
        if not answer.startswith(b"HTTP/1.1 101"):
            seen.note(answer.decode(errors="replace"))
        hearing.append(asyncio.ensure_future(hear(reader, writer)))
    print("open", flush=True)
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.readline)
    began = time.perf_counter()
    _, deaf = await asyncio.wait(hearing, timeout=_NEVER_S)
    for one in deaf:
        seen.note("a socket heard nothing")
        one.cancel()
    return seen


async def _frame(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> int:
    """The kind of the next frame; a ping is answered."""
    first, length = await reader.readexactly(2)
    if length >= 126:
        length = int.from_bytes(await reader.readexactly(2 if length == 126 else 8), "big")
    content = await reader.readexactly(length)
    if first & 0x0F == _PING:
        writer.write(bytes([0x8A, 0x80 | len(content)]) + b"\0\0\0\0" + content)
    return first & 0x0F


def main() -> None:
    """One order, one answer."""
    order = Order(**json.loads(sys.stdin.readline()))
    seen = asyncio.run(hold(order) if order.sockets else ask(order))
    print(json.dumps(asdict(seen)))


if __name__ == "__main__":
    main()

"""A server on loopback that answers as a test says: the double for what a vendor runs elsewhere."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from email.message import Message
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass(frozen=True)
class Asked:
    """A request."""

    path: str
    headers: Message
    body: dict[str, Any]


#: A document, a status that says no, or a status and the bytes to send.
Answer = dict[str, Any] | int | tuple[int, bytes]


@contextmanager
def answering(answer: Callable[[Asked], Answer]) -> Iterator[str]:
    """The address of a server that speaks JSON."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            said = answer(Asked(self.path, self.headers, body))
            if isinstance(said, int):
                said = said, json.dumps({"error": {"message": f"no luck: {said}"}}).encode()
            status, data = said if isinstance(said, tuple) else (200, json.dumps(said).encode())
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            # Whoever asks again need not wait.
            self.send_header("Retry-After-Ms", "1")
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_: object) -> None:
            pass

    http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    http.daemon_threads = True
    thread = threading.Thread(target=http.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield f"http://127.0.0.1:{http.server_port}/v1"
    finally:
        http.shutdown()
        http.server_close()
        thread.join()


def completion(message: Mapping[str, Any], *, usage: tuple[int, int] = (1, 1)) -> dict[str, Any]:
    """What a chat model of OpenAI's says."""
    read, written = usage
    return {
        "id": "1",
        "object": "chat.completion",
        "created": 1,
        "model": "/a/path/of/the/server.gguf",
        "choices": [
            {"index": 0, "message": {"role": "assistant", **message}, "finish_reason": "stop"},
        ],
        "usage": {"prompt_tokens": read, "completion_tokens": written, "total_tokens": read + written},
    }


@dataclass
class Model:
    """A chat server that answers with one value, or a status, whatever it is asked."""

    url: str = ""
    answer: Any = 500
    asked: list[dict[str, Any]] = field(default_factory=list)

    def reply(self, asked: Asked) -> Answer:
        """What `answering` is told to say."""
        self.asked.append(asked.body)
        return (
            self.answer if isinstance(self.answer, int) else completion({"content": json.dumps(self.answer)})
        )

"""A chat model's server over real HTTP that says what a test tells it to, well or badly."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass
class ModelServer:
    """`answers` are given one after another, the last for ever: JSON to say, a text, a status, or "hang"."""

    url: str = ""
    answers: list[Any] = field(default_factory=list)
    asked: list[dict[str, Any]] = field(default_factory=list)
    hold: threading.Event = field(default_factory=threading.Event)
    usage: tuple[int, int] = (11, 7)

    def shown(self, at: int = -1) -> str:
        """All text of a request."""
        return "\n".join(str(message["content"]) for message in self.asked[at]["messages"])


@contextmanager
def serve() -> Iterator[ModelServer]:
    """A server while the context lasts."""
    state = ModelServer()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            state.asked.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            answer = state.answers.pop(0) if len(state.answers) > 1 else state.answers[0]
            if answer == "hang":
                state.hold.wait(30)
                answer = 500
            status = answer if isinstance(answer, int) else 200
            body = _completion(answer, state) if status == 200 else {"error": {"message": "no luck"}}
            data = json.dumps(body).encode()
            try:
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)
            except OSError:
                pass  # whoever asked has given up

        def log_message(self, *_: object) -> None:
            pass

    http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    http.daemon_threads = True
    state.url = f"http://127.0.0.1:{http.server_port}/v1"
    thread = threading.Thread(target=http.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield state
    finally:
        state.hold.set()
        http.shutdown()
        http.server_close()
        thread.join()


def _completion(answer: Any, state: ModelServer) -> dict[str, Any]:
    content = answer if isinstance(answer, str) else json.dumps(answer)
    request = state.asked[-1]
    message: dict[str, Any] = {"role": "assistant", "content": content}
    if request.get("tools"):
        name = request["tools"][0]["function"]["name"]
        called = {"id": "1", "type": "function", "function": {"name": name, "arguments": content}}
        message = {"role": "assistant", "content": None, "tool_calls": [called]}
    asked, said = state.usage
    return {
        "id": "1",
        "object": "chat.completion",
        "created": 1,
        "model": "m",
        "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": asked, "completion_tokens": said, "total_tokens": asked + said},
    }

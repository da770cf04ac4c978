"""A chat model's server over real HTTP that says what a test tells it to, well or badly."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass
class Said:
    """An answer in detail: tools that are called, why it ended, what it used, or that it was turned away."""

    content: Any = ""
    calls: tuple[tuple[str, Any], ...] = ()
    finish: str = "stop"
    usage: tuple[int, int] | None = None
    cached: int = 0
    reasoning: int = 0
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    #: Why it will not answer, as vendors say it beside an empty text.
    refusal: str = ""
    #: The body comes a few bytes at a time, and goes on until the test ends.
    trickles: bool = False


@dataclass
class ByRequest:
    """An answer that depends on the request it answers, also when several are under way."""

    make: Callable[[dict[str, Any]], Any]


@dataclass
class ModelServer:
    """`answers` are given one after another, the last for ever.

    One is JSON to say, a text, bytes to send as they are, a status, `Said`, "hang", "die" (the connection ends without
    a word), or a function that makes one. It speaks OpenAI's protocol, and Anthropic's to who asks for messages.
    """

    url: str = ""
    answers: list[Any] = field(default_factory=list)
    asked: list[dict[str, Any]] = field(default_factory=list)
    hold: threading.Event = field(default_factory=threading.Event)
    usage: tuple[int, int] = (11, 7)

    def shown(self, at: int = -1) -> str:
        """All text of a request."""
        told = str(self.asked[at].get("system", ""))
        return "\n".join([told, *(str(message["content"]) for message in self.asked[at]["messages"])])


@contextmanager
def serve() -> Iterator[ModelServer]:
    """A server while the context lasts."""
    state = ModelServer()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            state.asked.append(request)
            answer = state.answers.pop(0) if len(state.answers) > 1 else state.answers[0]
            if answer == "hang":
                state.hold.wait(30)
                answer = 500
            if answer == "die":
                self.close_connection = True
                return
            answer = answer.make(request) if isinstance(answer, ByRequest) else answer
            answer = answer(state) if callable(answer) else answer
            said = answer if isinstance(answer, Said) else Said()
            status = answer if isinstance(answer, int) else said.status
            say = _message if self.path.endswith("/messages") else _completion
            body = say(answer, state, request) if status == 200 else {"error": {"message": "no luck"}}
            data = answer if isinstance(answer, bytes) else json.dumps(body).encode()
            try:
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(data)))
                for name, value in said.headers.items():
                    self.send_header(name, value)
                self.end_headers()
                if said.trickles:
                    for at in range(len(data) - 1):
                        self.wfile.write(data[at : at + 1])
                        self.wfile.flush()
                        if state.hold.wait(0.05):
                            return
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


def _content(answer: Any) -> str:
    answer = answer.content if isinstance(answer, Said) else answer
    return "" if isinstance(answer, bytes) else answer if isinstance(answer, str) else json.dumps(answer)


def _message(answer: Any, state: ModelServer, request: dict[str, Any]) -> dict[str, Any]:
    """An answer in Anthropic's form: a tool's use where a tool is offered, else a text."""
    asked, said = state.usage
    block: dict[str, Any] = {"type": "text", "text": _content(answer)}
    if request.get("tools"):
        given = answer if isinstance(answer, dict) else {"said": _content(answer)}
        block = {"type": "tool_use", "id": "1", "name": request["tools"][0]["name"], "input": given}
    return {
        "id": "1",
        "type": "message",
        "role": "assistant",
        "model": "m",
        "content": [block],
        "stop_reason": "tool_use" if request.get("tools") else "end_turn",
        "stop_sequence": None,
        "usage": {"input_tokens": asked, "output_tokens": said},
    }


def _completion(answer: Any, state: ModelServer, request: dict[str, Any]) -> dict[str, Any]:
    content = _content(answer)
    message: dict[str, Any] = {"role": "assistant", "content": content}
    said = answer if isinstance(answer, Said) else Said()
    if said.refusal:
        message |= {"content": None, "refusal": said.refusal}
    if said.calls:
        message["tool_calls"] = [
            {
                "id": f"call_{len(state.asked)}_{place}",
                "type": "function",
                "function": {
                    "name": name,
                    "arguments": given if isinstance(given, str) else json.dumps(given),
                },
            }
            for place, (name, given) in enumerate(said.calls)
        ]
    elif request.get("tools") and not isinstance(answer, Said):
        name = request["tools"][0]["function"]["name"]
        called = {"id": "1", "type": "function", "function": {"name": name, "arguments": content}}
        message = {"role": "assistant", "content": None, "tool_calls": [called]}
    asked, told = said.usage or state.usage
    return {
        "id": "1",
        "object": "chat.completion",
        "created": 1,
        "model": "m",
        "choices": [{"index": 0, "message": message, "finish_reason": said.finish}],
        "usage": {
            "prompt_tokens": asked,
            "completion_tokens": told,
            "total_tokens": asked + told,
            "prompt_tokens_details": {"cached_tokens": said.cached},
            "completion_tokens_details": {"reasoning_tokens": said.reasoning},
        },
    }

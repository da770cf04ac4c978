"""The server as a process: turns, counting, several workers, and what happens when it is told to stop."""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import socket
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest
from tests.surfaces.conftest import Server
from tests.surfaces.serving import serving

from recollect import Recollect, telemetry
from recollect.errors import StoreBusyError
from recollect.surfaces.http.limits import Turns, at_once


def test_turns_are_taken_in_order_and_only_so_many_at_once() -> None:
    async def main() -> tuple[list[int], int]:
        turns, order, inside, most = Turns(2), [], 0, 0

        async def ask(number: int) -> None:
            nonlocal inside, most
            async with turns.turn():
                order.append(number)
                inside += 1
                most = max(most, inside)
                await asyncio.sleep(0)
                inside -= 1

        await asyncio.gather(*(ask(number) for number in range(50)))
        return order, most

    assert asyncio.run(main()) == (list(range(50)), 2)


def test_a_queue_that_is_too_long_says_so_and_a_turn_is_given_back_after_a_fault() -> None:
    async def main() -> None:
        turns = Turns(1, most_waiting=1)

        async def wait() -> None:
            async with turns.turn():
                raise ValueError("a fault")

        async with turns.turn():
            second = asyncio.ensure_future(wait())
            await asyncio.sleep(0)
            with pytest.raises(StoreBusyError, match="1 requests wait here already"):
                async with turns.turn():
                    pass
        with pytest.raises(ValueError, match="a fault"):
            await second
        async with turns.turn():
            pass

    asyncio.run(main())


def test_workers_share_the_cores() -> None:
    assert at_once() >= at_once(workers=2) >= 2
    assert at_once(workers=1_000) == 2


def ask(token: str, **more: Any) -> dict[str, Any]:
    return {"headers": {"Authorization": f"Bearer {token}"}, "trust_env": False, "timeout": 60, **more}


@pytest.mark.system
def test_requests_and_searches_are_counted(environ: dict[str, str], client: Recollect) -> None:
    token = client.keys.create("bot", user="ana").token
    with serving(environ) as (_, url):
        for query in ("tea", "coffee"):
            assert httpx.post(f"{url}/v1/search", json={"query": query}, **ask(token)).status_code == 200
        httpx.get(f"{url}/v1/memories/secret-words", **ask(token))
        httpx.get(f"{url}/secret-words", **ask(token))
        text = httpx.get(f"{url}/metrics", trust_env=False, timeout=60).text
    lines = [line.rsplit(" ", 1) for line in text.splitlines() if line and not line.startswith("#")]

    def counted(name: str, *labels: str) -> list[str]:
        return [
            value for what, value in lines if what.startswith(name) and all(one in what for one in labels)
        ]

    assert counted("recollect_http_requests_total", 'route="/v1/search"', 'status="200"') == ["2.0"]
    assert counted("recollect_http_requests_total", 'route="/v1/memories/{id}"', 'status="400"') == ["1.0"]
    assert counted("recollect_http_requests_total", 'route="elsewhere"', 'status="404"') == ["1.0"]
    assert counted("recollect_http_duration_ms_count", 'route="/v1/search"') == ["2.0"]
    assert counted("memory_rlm_routing_decision_total", 'decision="standard"') == ["2.0"]
    assert "secret-words" not in text


def test_without_counting_the_server_says_what_to_do(server: Server) -> None:
    telemetry.reset()  # as where the OpenTelemetry SDK is not installed
    try:
        off = httpx.get(f"{server.url}/metrics", trust_env=False, timeout=60)
    finally:
        telemetry.count_here()
    assert (off.status_code, off.json()["code"]) == (501, "not_counted")
    assert "pip install" in off.json()["detail"]


@pytest.mark.system
def test_several_workers_answer_as_one_and_one_that_dies_is_replaced(
    environ: dict[str, str], client: Recollect
) -> None:
    token = client.keys.create("bot", user="ana").token
    with serving({**environ, "RECOLLECT_SERVE_GRACE_S": "1"}, "--workers", "2") as (process, url):
        added = httpx.post(f"{url}/v1/memories", json={"text": "The kiln is hot."}, **ask(token)).json()
        for _ in range(8):
            assert httpx.get(f"{url}/v1/memories/{added['id']}", **ask(token)).json() == added
        deadline = time.monotonic() + 60
        told: set[str] = set()
        while not {'worker="0"', 'worker="1"'} <= told:
            assert time.monotonic() < deadline, told
            time.sleep(0.1)
            counted = httpx.get(f"{url}/metrics", trust_env=False, timeout=60).text
            told = set(re.findall(r'worker="\d+"', counted))
        assert counted.count("# TYPE recollect_http_requests_total ") == 1
        victims = workers_of(process.pid)
        assert len(victims) >= 2
        os.kill(victims[0], signal.SIGKILL)
        deadline = time.monotonic() + 60
        while set(workers_of(process.pid)) >= set(victims) or len(workers_of(process.pid)) < len(victims):
            assert time.monotonic() < deadline, "no other was started"
            time.sleep(0.1)
        assert httpx.get(f"{url}/v1/memories/{added['id']}", **ask(token)).json() == added
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 0


def workers_of(pid: int) -> list[int]:
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii").split()
    return sorted(int(one) for one in children if b"spawn_main" in Path(f"/proc/{one}/cmdline").read_bytes())


@pytest.fixture
def slow_model() -> Iterator[tuple[str, list[socket.socket]]]:
    """A model server that takes questions and never answers; and the connections on which it was asked."""
    listener = socket.create_server(("127.0.0.1", 0))
    kept: list[socket.socket] = []

    def listen() -> None:
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            connection.recv(65_536)
            kept.append(connection)

    thread = threading.Thread(target=listen, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{listener.getsockname()[1]}/v1", kept
    listener.shutdown(socket.SHUT_RDWR)
    listener.close()
    for connection in kept:
        connection.close()
    thread.join(5)


@pytest.mark.system
def test_what_is_cut_short_is_handed_back_and_kept(
    environ: dict[str, str],
    client: Recollect,
    as_user: Callable[..., Recollect],
    slow_model: tuple[str, list[socket.socket]],
) -> None:
    url_of_model, asked = slow_model
    ana = as_user("ana")
    ana.library.add(b"# Guide\n\n## Tokens\n\nA token expires after 15 minutes.\n", name="guide.md")
    token = client.keys.create("bot", user="ana").token
    model = {
        "RECOLLECT_MODEL": "openai:slow",
        "RECOLLECT_MODEL_BASE_URL": url_of_model,
        "RECOLLECT_MODEL_API_KEY": "none",
        "RECOLLECT_SERVE_GRACE_S": "0.3",
        "RECOLLECT_MODEL_PROFILE": "timeout_s=120",
    }
    told: dict[str, httpx.Response] = {}

    def consult(url: str, session: str, accept: str) -> None:
        given = ask(token, timeout=120)
        given["headers"]["Accept"] = accept
        body = {"problem": "When does a token expire?", "session": session, "depth_hint": "quick"}
        told[session] = httpx.post(f"{url}/v1/consult", json=body, **given)

    with serving({**environ, **model}) as (process, url):
        asking = [
            threading.Thread(target=consult, args=(url, *how))
            for how in (("plain", "application/json"), ("streamed", "text/event-stream"))
        ]
        for one in asking:
            one.start()
        deadline = time.monotonic() + 90
        while len(asked) < 2:
            assert time.monotonic() < deadline, "the model was not asked"
            time.sleep(0.05)
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 0
        for one in asking:
            one.join(60)
    last = [line for line in told["streamed"].text.splitlines() if line.startswith("data: ")][-1]
    for problem in (told["plain"].json(), json.loads(last.removeprefix("data: "))):
        assert (problem["code"], problem["status"]) == ("run_interrupted", 503)
    for session in ("plain", "streamed"):
        [kept] = ana.consultations.list(session=session)
        assert kept.outcome == "error"
        assert "cut short" in (kept.error_message or "")
    again = ana.oracle_consult("When does a token expire?", session="plain", depth_hint="quick")
    assert "15 minutes" in (again.answer or "")


@pytest.mark.system
def test_a_short_request_ends_before_the_server_does(environ: dict[str, str], client: Recollect) -> None:
    token = client.keys.create("bot", user="ana").token
    items = [{"text": f"Item number {number} of the long list."} for number in range(400)]
    body = json.dumps({"items": items}).encode()
    head = (
        f"POST /v1/memories/batch HTTP/1.1\r\nHost: here\r\nAuthorization: Bearer {token}\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\nExpect: 100-continue\r\n\r\n"
    )
    with serving(environ) as (process, url):
        place = urlsplit(url)
        with socket.create_connection((place.hostname, place.port), timeout=60) as line:
            line.sendall(head.encode())
            assert b" 100 " in line.recv(64), "the server has begun to read the request"
            process.send_signal(signal.SIGTERM)
            line.sendall(body)
            assert b" 200 " in line.recv(15)
            assert process.wait(60) == 0
    assert len(client.list(limit=1000, scope="user/ana")) == 400

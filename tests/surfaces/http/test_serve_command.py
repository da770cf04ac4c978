"""`recollect serve` as people start it: a process that says where it answers, and ends what it began."""

from __future__ import annotations

import signal
import socket
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import httpx
import pytest
from tests.surfaces.serving import serving

from recollect import Recollect


@pytest.mark.system
def test_two_servers_on_one_store_answer_the_same_and_stop_when_told(
    environ: dict[str, str], client: Recollect
) -> None:
    token = client.keys.create("bot", user="ana").token
    with serving(environ) as (first, one), serving(environ) as (second, two):
        ask: dict[str, Any] = {
            "headers": {"Authorization": f"Bearer {token}"},
            "trust_env": False,
            "timeout": 120,
        }
        added = httpx.post(f"{one}/v1/memories", json={"text": "The kiln is hot."}, **ask).json()
        assert httpx.get(f"{two}/v1/memories/{added['id']}", **ask).json() == added
        for process in (first, second):
            process.send_signal(signal.SIGTERM)
            assert process.wait(120) == 0


@pytest.mark.system
def test_a_port_that_is_taken_is_said(environ: dict[str, str]) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        done = subprocess.run(
            [sys.executable, "-m", "recollect.surfaces.cli.main", "serve", "--port", str(port)],
            capture_output=True,
            text=True,
            env=environ,
            timeout=60,
            check=False,
        )
    assert done.returncode != 0
    assert str(port) in done.stderr


def test_what_happens_in_a_consultation_is_told_while_it_happens(
    server: Any, client: Recollect, as_user: Callable[..., Recollect]
) -> None:
    as_user("ana").library.add(
        b"# Guide\n\n## Tokens\n\nA token expires after 15 minutes.\n", name="guide.md"
    )
    token = client.keys.create("bot", user="ana").token
    headers = {"Authorization": f"Bearer {token}", "Accept": "text/event-stream"}
    names, last = [], ""
    with httpx.stream(
        "POST",
        f"{server.url}/v1/consult",
        json={"problem": "When does a token expire?"},
        headers=headers,
        trust_env=False,
        timeout=60,
    ) as answer:
        assert answer.headers["content-type"].startswith("text/event-stream")
        for line in answer.iter_lines():
            if line.startswith("event: "):
                names.append(line.removeprefix("event: "))
            elif line.startswith("data: "):
                last = line
    assert len(names) > 1
    assert names[-1] == "result"
    assert "15 minutes" in last
    refused = httpx.post(
        f"{server.url}/v1/consult",
        json={"problem": "x", "working_dir": "/etc"},
        headers={"Authorization": f"Bearer {token}"},
        trust_env=False,
        timeout=60,
    )
    assert (refused.status_code, refused.json()["code"]) == (403, "forbidden")

"""Who comes in is asked before anything is read; what is sent has limits, and what goes wrong is logged without it."""

from __future__ import annotations

import asyncio
import logging
import os
import re
import subprocess
from collections.abc import Callable
from html import unescape
from pathlib import Path
from typing import Any

import httpx
import pytest
from fastapi import FastAPI

from recollect import Recollect
from recollect.client.verbs import MAX_ITEMS
from recollect.surfaces.http import limits
from recollect.surfaces.http.problems import Unforeseen

Connect = Callable[..., httpx.Client]


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("POST", "/v1/memories"),
        ("POST", "/v1/library/documents"),
        ("PUT", "/v1/ontology"),
        ("GET", "/v1/nothing"),
    ],
)
def test_without_a_key_a_body_is_not_even_read(server: Any, method: str, path: str) -> None:
    for body in (b"{", b'{"unknown": 1}', b"x" * 2_000_000):
        answer = httpx.request(method, server.url + path, content=body, trust_env=False, timeout=30)
        assert (answer.status_code, answer.json()["code"]) == (401, "unauthorized")
        assert "unknown" not in answer.text


def test_a_request_that_can_not_be_read_counts_as_one(
    serve: Callable[..., Any], http: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "monotonic", lambda: 0.0)  # none is free again, however slow these are
    ana = http(user="ana", at=serve(serve_requests_per_minute=2))
    codes = [ana.post("/v1/memories", content=b"{").status_code for _ in range(3)]
    assert codes == [400, 400, 429]


def test_a_batch_has_a_limit_and_says_what_to_do(http: Connect) -> None:
    ana = http(user="ana")
    refused = ana.post("/v1/memories/batch", json={"items": [{}] * (MAX_ITEMS + 1)})
    assert refused.status_code == 400
    assert "items has 10,001 entries, the limit is 10,000; send them in several requests" in refused.text
    taken = ana.post("/v1/memories/batch", json={"items": [{}] * 1_000})
    assert len(taken.json()["errors"]) == 1_000


def test_the_page_of_all_requests_needs_no_other_server(server: Any) -> None:
    page = httpx.get(f"{server.url}/v1/docs", trust_env=False, timeout=60)
    assert page.status_code == 200
    assert not re.search(r"https?://|//\w|<script|<link", page.text)
    assert "default-src 'none'" in page.headers["content-security-policy"]
    document = httpx.get(f"{server.url}/v1/openapi.json", trust_env=False, timeout=60).json()
    for path, operations in document["paths"].items():
        for method in operations:
            assert f"<code>{method.upper()} {path}</code>" in page.text


#: Training may take minutes.
LEFT_OUT = "/v1/learning/bootstrap"


@pytest.mark.system
def test_every_example_of_the_page_runs_in_a_shell(server: Any, client: Recollect, tmp_path: Path) -> None:
    """What it names is not there, or not allowed; whatever it asks for is understood."""
    (tmp_path / "guide.md").write_text("# Guide\n\nA token expires after 15 minutes.\n", encoding="utf-8")
    token = client.keys.create("shell", user="ana", roles=["admin"]).token
    environ = {"PATH": os.environ["PATH"], "RECOLLECT_URL": server.url, "RECOLLECT_API_KEY": token}
    page = httpx.get(f"{server.url}/v1/docs", trust_env=False, timeout=60).text
    commands = [unescape(text) for text in re.findall(r"<pre>(curl.*?)</pre>", page, re.DOTALL)]
    statuses = {}
    for command in commands:
        if LEFT_OUT not in command:
            done = subprocess.run(
                ["sh", "-euc", f"{command} --noproxy '*' -o /dev/null -w '%{{http_code}}'"],
                env=environ, cwd=tmp_path, capture_output=True, text=True, check=True,
            )  # fmt: skip
            statuses[command] = int(done.stdout)
    assert len(statuses) == page.count("<details>") - 1
    wrong = {command: status for command, status in statuses.items() if status in (400, 401, 405, 422, 500)}
    assert wrong == {}
    assert sum(status < 300 for status in statuses.values()) > len(statuses) // 2


def test_what_nobody_foresaw_is_logged_without_a_word_of_the_request(
    caplog: pytest.LogCaptureFixture,
) -> None:
    app = FastAPI()
    app.add_middleware(Unforeseen)

    @app.get("/v1/users/{name}")
    async def broken(name: str) -> None:
        raise ValueError(f"can't greet {name}")

    async def ask() -> httpx.Response:
        async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://here") as far:
            return await far.get("/v1/users/zq-secret", params={"q": "zq-secret"})

    with caplog.at_level(logging.DEBUG):
        answer = asyncio.run(ask())
    assert (answer.status_code, answer.json()["code"]) == (500, "unexpected")
    [logged] = [record for record in caplog.records if record.levelno >= logging.ERROR]
    assert "GET /v1/users/{name} failed: ValueError" in logged.getMessage()
    assert "test_doors.py" in logged.getMessage()
    assert "zq-secret" not in logging.Formatter().format(logged)


def test_requests_are_not_logged(http: Connect, caplog: pytest.LogCaptureFixture) -> None:
    ana = http(user="ana")
    with caplog.at_level(logging.DEBUG):
        ana.get("/v1/memories", params={"scope": "user/zq-secret"})
        ana.post("/v1/search", json={"query": "zq-secret", "limit": "zq-secret"})
        ana.get("/v1/memories/zq-secret")
    # The other end of the line is in this process, too, and has a log of its own.
    ours = [record for record in caplog.records if not record.name.startswith(("httpx", "httpcore"))]
    assert not [record for record in ours if "zq-secret" in logging.Formatter().format(record)]

"""The page about other packages shows files that run, and what they really print."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "docs_src" / "integrations"
PAGE = ROOT / "docs" / "integrations.md"
_BLOCK = re.compile(r"<!-- (?P<file>\S+) -->\n```\w+\n(?P<text>.*?)```\n", re.DOTALL)


def test_the_page_shows_every_example_as_it_is() -> None:
    page = PAGE.read_text(encoding="utf-8")
    shown = {block["file"]: block["text"] for block in _BLOCK.finditer(page)}
    assert page.count("```") == 2 * len(shown)
    assert shown == {
        str(file.relative_to(ROOT)): file.read_text(encoding="utf-8")
        for file in sorted(EXAMPLES.iterdir())
        if file.is_file()
    }


class _Responses(BaseHTTPRequestHandler):
    """What OpenAI's responses look like: from a model that knows a day only if the session told it."""

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        *earlier, last = asked["input"] if isinstance(asked["input"], list) else [asked["input"]]
        knows = "When" in str(last) and "Friday" in str(earlier)
        part = {
            "type": "output_text",
            "annotations": [],
            "text": "You are leaving on Friday." if knows else "Noted.",
        }
        said = {"type": "message", "id": "m1", "role": "assistant", "status": "completed", "content": [part]}
        document = {
            "id": "r1", "object": "response", "created_at": 0, "model": "double", "output": [said],
            "parallel_tool_calls": False, "tool_choice": "auto", "tools": [],
        }  # fmt: skip
        body = json.dumps(document).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture
def openai(newcomer: dict[str, str]) -> Iterator[dict[str, str]]:
    """The environment of somebody with a key, and OpenAI on loopback."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Responses)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    at = f"http://127.0.0.1:{server.server_port}/v1"
    yield {**newcomer, "OPENAI_API_KEY": "none", "OPENAI_BASE_URL": at, "OPENAI_AGENTS_DISABLE_TRACING": "1"}
    server.shutdown()
    server.server_close()
    thread.join()


def test_the_example_of_a_session_runs_in_the_real_sdk(openai: dict[str, str], tmp_path: Path) -> None:
    pytest.importorskip("agents", reason="needs openai-agents")
    script = EXAMPLES / "openai_agents_session.py"
    done = subprocess.run(
        [sys.executable, str(script)], capture_output=True, text=True, env=openai, cwd=tmp_path, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == script.with_suffix(".out").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("name", "package"),
    [
        ("mem0_facade", "recollect"),
        ("langgraph_store", "langgraph"),
        ("pydantic_ai_toolset", "pydantic_ai"),
        ("langchain_retriever", "langchain_core"),
        ("llama_index_retriever", "llama_index.core"),
        ("autogen_memory", "autogen_core"),
        ("import", "recollect"),
    ],
)
def test_an_example_prints_what_the_page_shows(
    name: str, package: str, newcomer: dict[str, str], tmp_path: Path
) -> None:
    pytest.importorskip(package, reason=f"needs {package}")
    script = EXAMPLES / f"{name}.py"
    command = (
        [sys.executable, str(script)] if script.exists() else ["sh", "-eu", str(EXAMPLES / f"{name}.sh")]
    )
    done = subprocess.run(command, capture_output=True, text=True, env=newcomer, cwd=tmp_path, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout == (EXAMPLES / f"{name}.out").read_text(encoding="utf-8")


def test_the_page_names_the_versions_it_was_tested_with() -> None:
    from importlib.metadata import version

    page = " ".join(PAGE.read_text(encoding="utf-8").split())
    for package, name in (
        ("mem0ai", "mem0ai"),
        ("langgraph", "langgraph"),
        ("langchain-core", "langchain-core"),
        ("pydantic-ai-slim", "pydantic-ai"),
        ("chromadb", "chromadb"),
    ):
        major, minor, *_ = version(package).split(".")
        assert f"{name} {major}.{minor}" in page, package

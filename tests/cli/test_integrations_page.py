"""The page about other packages shows files that run, and what they really print."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.loopback import Asked, answering

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


def _responses(asked: Asked) -> dict[str, Any]:
    """What OpenAI's responses look like: from a model that knows a day only if the session told it."""
    given = asked.body["input"]
    *earlier, last = given if isinstance(given, list) else [given]
    knows = "When" in str(last) and "Friday" in str(earlier)
    text = "You are leaving on Friday." if knows else "Noted."
    part = {"type": "output_text", "annotations": [], "text": text}
    said = {"type": "message", "id": "m1", "role": "assistant", "status": "completed", "content": [part]}
    return {
        "id": "r1", "object": "response", "created_at": 0, "model": "double", "output": [said],
        "parallel_tool_calls": False, "tool_choice": "auto", "tools": [],
    }  # fmt: skip


@pytest.fixture
def openai(newcomer: dict[str, str]) -> Iterator[dict[str, str]]:
    """The environment of somebody with a key, and OpenAI on loopback."""
    with answering(_responses) as url:
        yield {
            **newcomer,
            "OPENAI_API_KEY": "none",
            "OPENAI_BASE_URL": url,
            "OPENAI_AGENTS_DISABLE_TRACING": "1",
        }


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
        ("crewai_memory", "crewai"),
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

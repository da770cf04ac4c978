"""The page about other packages shows files that run, and what they really print."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

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


@pytest.mark.parametrize(
    "name", ["mem0_facade", "langgraph_store", "pydantic_ai_toolset", "langchain_retriever", "import"]
)
def test_an_example_prints_what_the_page_shows(name: str, newcomer: dict[str, str], tmp_path: Path) -> None:
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

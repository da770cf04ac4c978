"""The page about the oracle shows files that run, and what they really print."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.pages import ROOT, examples, shown_on

from recollect import EventType
from recollect.errors import InvalidInputError
from recollect.library.environment import LibraryEnvironment
from recollect.runs.roles import RECIPES, get_role
from recollect_bench.plain_material import PlainMaterial

EXAMPLES = ROOT / "docs_src" / "oracle"
PAGE = ROOT / "docs" / "oracle.md"


def test_the_page_shows_the_examples_and_what_they_print() -> None:
    assert shown_on("oracle.md") == examples("oracle")


@pytest.mark.parametrize("name", ["consult.py", "agents.py", "consult.sh"])
def test_an_example_prints_what_the_page_shows(name: str, newcomer: dict[str, str], tmp_path: Path) -> None:
    file = EXAMPLES / name
    command = ["sh", "-eu", str(file)] if file.suffix == ".sh" else [sys.executable, str(file)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path, env=newcomer)
    assert done.returncode == 0, done.stderr
    printed = EXAMPLES / f"{file.stem}.out"
    if file.suffix == ".py":
        assert done.stdout == printed.read_text(encoding="utf-8")
    else:
        assert "1 quoted, 0 moved, 0 stale, 0 unsupported" in done.stdout + done.stderr


def test_the_page_names_every_tool_event_and_recipe() -> None:
    page = PAGE.read_text(encoding="utf-8")
    names: list[Any] = [
        *LibraryEnvironment(PlainMaterial({})).tools,
        *(one.value for one in EventType),
        *RECIPES,
    ]
    for name in names:
        assert f"`{name}`" in page, name


@pytest.mark.parametrize("name", RECIPES)
def test_a_recipe_fills_in_the_arguments_of_a_consultation(name: str) -> None:
    recipe = get_role(name)
    assert recipe.ask("why?", doc_ids=["a"]) == {
        "problem": "why?",
        "depth_hint": "thorough",
        "agent": name,
        "doc_ids": ["a"],
    }
    assert len(recipe.triggers) == 3
    assert recipe.prompt


def test_a_recipe_that_is_not_there_is_refused_with_those_that_are() -> None:
    with pytest.raises(InvalidInputError, match="architect, reviewer, spec builder"):
        get_role("plumber", RECIPES)

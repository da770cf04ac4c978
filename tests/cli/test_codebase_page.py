"""The page about exploring code shows files that run, and what they really print."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
from tests.pages import ROOT, examples, printed, shown_on

from recollect.codebase.environment import CodebaseEnvironment
from recollect.codebase.tree import open_tree
from recollect.config import BUDGET_VARIABLES, Settings
from recollect.domain.findings import CitationStatus
from recollect.runs.roles import PRESETS, get_role

EXAMPLES = ROOT / "docs_src" / "codebase"
PAGE = ROOT / "docs" / "codebase.md"


@pytest.fixture
def elsewhere(tmp_path: Path) -> dict[str, str]:
    """An environment with a home of its own; no database is needed."""
    own = {name: value for name, value in os.environ.items() if not name.startswith(("RECOLLECT_", "RLM_"))}
    path = f"{Path(sys.executable).parent}{os.pathsep}{own['PATH']}"
    return {**own, "PATH": path, "RECOLLECT_HOME": str(tmp_path / "home")}


def test_the_page_shows_the_examples_and_what_they_print() -> None:
    assert shown_on("codebase.md") == examples("codebase")


@pytest.mark.system
@pytest.mark.parametrize("name", ["explore.py", "orchestrator.py", "presets.py", "tools.py", "explore.sh"])
def test_an_example_prints_what_the_page_shows(name: str, elsewhere: dict[str, str], tmp_path: Path) -> None:
    file = EXAMPLES / name
    folder = tmp_path / "here"
    folder.mkdir()
    said = printed(file, elsewhere, folder)
    if file.suffix == ".py":
        assert said == (EXAMPLES / f"{file.stem}.out").read_text(encoding="utf-8")
    else:
        assert "server.py:4-5 quoted" in said
        assert "1. Where in the tree is this spoken of?" in said


def test_the_page_names_every_tool_preset_setting_and_status(tmp_path: Path) -> None:
    page = PAGE.read_text(encoding="utf-8")
    settings = [row for row in Settings(home=tmp_path).describe() if row.name.startswith("rlm_")]
    names = [
        *CodebaseEnvironment(open_tree(tmp_path)).tools,
        *PRESETS,
        *(row.name for row in settings),
        *(row.variable for row in settings),
        *BUDGET_VARIABLES,
        "RLM_MODEL",
        *(one.value for one in CitationStatus if one is not CitationStatus.UNCHECKED),
    ]
    for name in names:
        assert f"`{name}`" in page, name


@pytest.mark.parametrize("name", PRESETS)
def test_a_preset_says_when_it_is_for_and_what_a_model_is_told(name: str) -> None:
    preset = get_role(name.replace(" ", "-"))
    assert preset.name == name
    assert len(preset.triggers) == 3
    assert preset.question.endswith("?")
    assert preset.prompt
    assert preset.reads > 0

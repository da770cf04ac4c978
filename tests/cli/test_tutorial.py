"""The tutorial and the README show files that run, and what they really print."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
STEPS = sorted(path for path in (ROOT / "docs_src" / "tutorial").iterdir() if path.suffix in {".py", ".sh"})
_BLOCK = re.compile(r"(?:<!-- (?P<file>\S+) -->\n)?```(?P<language>\w*)\n(?P<text>.*?)```\n", re.DOTALL)

#: DESIGN's words, sections 2 and 3.
WORDS = """memory, conversation, layer, scope, tenant, entity, candidate, context, document, section, span, citation,
environment, tool, planner, step, trajectory, budget, run, policy, outcome, consultation, exploration,
capability request"""


def _run(file: Path, environ: dict[str, str], cwd: Path) -> str:
    command = [sys.executable, str(file)] if file.suffix == ".py" else ["sh", "-eu", str(file)]
    done = subprocess.run(command, capture_output=True, text=True, env=environ, cwd=cwd, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def _blocks(page: str) -> list[re.Match[str]]:
    return list(_BLOCK.finditer((ROOT / page).read_text(encoding="utf-8")))


@pytest.mark.parametrize("page", ["docs/tutorial.md", "README.md"])
def test_every_code_block_is_a_file(page: str) -> None:
    blocks = _blocks(page)
    assert blocks
    for block in blocks:
        if block["file"] is None:
            assert block["language"] not in {"python", "text"}, block["text"]
        else:
            assert (ROOT / block["file"]).read_text(encoding="utf-8") == block["text"], block["file"]


def test_every_step_and_its_output_are_in_the_tutorial() -> None:
    shown = [block["file"] for block in _blocks("docs/tutorial.md")]
    files = sorted((ROOT / "docs_src" / "tutorial").iterdir())
    assert sorted(shown) == [str(file.relative_to(ROOT)) for file in files]


def test_the_steps_of_the_tutorial_print_what_it_shows(newcomer: dict[str, str], tmp_path: Path) -> None:
    for step in STEPS:
        printed = _run(step, newcomer, tmp_path)
        if step.suffix == ".py":
            assert printed == step.with_suffix(".out").read_text(encoding="utf-8"), step.name
        else:
            assert printed, step.name
    last = printed.splitlines()[-1]
    assert "The release train leaves every second Tuesday" in last


def test_the_example_of_the_readme_answers(newcomer: dict[str, str], tmp_path: Path) -> None:
    script = ROOT / "docs_src" / "readme.py"
    for _ in range(2):  # the store has memories by then, and these very ones the second time
        assert _run(script, newcomer, tmp_path) == script.with_suffix(".out").read_text(encoding="utf-8")


def test_the_readme_begins_with_the_command_that_shows_it() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    top, _, rest = text.partition("\n## ")
    assert "pip install uv && uv run recollect demo" in top
    checks = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    for line, step in (
        ("uv sync --group dev", "uv sync --quiet --group dev"),
        ("uv run pytest", 'step "tests" uv run pytest'),
    ):
        assert f"pip install uv && {line} " in rest
        assert step in checks


def test_the_numbers_of_the_readme_are_those_of_the_results() -> None:
    top = (ROOT / "README.md").read_text(encoding="utf-8").partition("\n## ")[0]
    results = (ROOT / "bench" / "RESULTS.md").read_text(encoding="utf-8")
    [heading, _, *rows] = [line for line in top.splitlines() if line.startswith("|")]
    names, recall, fewest, silent, cited = (
        [cell.strip(" *") for cell in row.split("|")[2:-1]] for row in (heading, *rows)
    )
    stores = json.loads((ROOT / "bench" / "results" / "peers.json").read_text())["measures"]["stores"]
    assert recall == [f"{stores[name.lower()]['recall']:.3f}" for name in names]
    assert fewest == [str(stores[name.lower()]["fewest"]) for name in names]
    assert f"| locomo | foreign questions that find nothing | {silent[0]} |" in results
    assert f"| library | citations that verify | {cited[0]} |" in results


def test_every_page_is_in_the_index_of_the_readme() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    linked = set(re.findall(r"\]\((docs/[\w/-]+\.md)\)", text))
    assert linked == {str(page.relative_to(ROOT)) for page in (ROOT / "docs").rglob("*.md")}


def test_the_glossary_has_every_word_with_one_sentence() -> None:
    lines = (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8").splitlines()
    entries = dict(
        match.groups() for line in lines if (match := re.fullmatch(r"- \*\*(.+?)\*\*: (.+)", line))
    )
    assert {" ".join(word.split()) for word in WORDS.split(",")} <= set(entries)
    assert all(text.endswith(".") for text in entries.values())

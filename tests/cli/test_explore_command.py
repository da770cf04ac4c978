"""`recollect explore`, `explorations`, and `verify` of what they give: no database is opened for them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.codebase.shop import TRACE, lay_out
from typer.testing import CliRunner

from recollect.surfaces.cli.main import app

QUESTION = "How is the discount of the season taken off a price?"


class Shell:
    """Runs commands against a home of its own, whose database can't be reached."""

    def __init__(self, home: Path) -> None:
        self._before = ["--home", str(home), "--database-url", "postgresql://nobody@127.0.0.1:1/none"]

    def __call__(self, *arguments: str, code: int = 0) -> Any:
        done = CliRunner().invoke(app, [*self._before, *arguments])
        assert done.exit_code == code, done.output
        return done

    def document(self, *arguments: str, code: int = 0) -> Any:
        return json.loads(self(*arguments, "--json", code=code).stdout)


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    """The command line."""
    return Shell(tmp_path / "home")


@pytest.fixture
def shop(tmp_path: Path) -> str:
    """The repository."""
    return str(lay_out(tmp_path / "shop"))


def test_an_exploration_prints_the_answer_and_where_it_stands(shell: Shell, shop: str) -> None:
    done = shell("explore", shop, QUESTION)
    lines = done.stdout.splitlines()
    assert lines[0] == "shop/prices.py:"
    assert any(line.startswith("[1] shop/prices.py:") and line.endswith("quoted") for line in lines)
    assert "tool calls" in done.stderr
    assert "record" in done.stderr


def test_a_saved_result_and_its_record_are_verified_later(shell: Shell, shop: str, tmp_path: Path) -> None:
    result = shell.document("explore", shop, QUESTION, "--task-id", "mine")
    assert (result["task_id"], result["success"], result["stopped_by"]) == ("mine", True, "done")
    saved = tmp_path / "result.json"
    saved.write_text(json.dumps(result))
    assert shell.document("verify", str(saved))["holds"]
    assert shell.document("verify", result["audit_file"])["holds"]
    (Path(shop) / "shop/prices.py").unlink()
    checked = shell.document("verify", str(saved), code=9)
    gone = {one["file_path"] for one in checked["citations"] if one["status"] == "unsupported"}
    assert gone == {"shop/prices.py"}
    assert checked["quoted"] == sum(one["file_path"] != "shop/prices.py" for one in result["citations"])


def test_hints_limits_and_the_folder_of_records_are_options(shell: Shell, shop: str, tmp_path: Path) -> None:
    trace = tmp_path / "trace.txt"
    trace.write_text(TRACE)
    result = shell.document(
        "explore", shop, "why does it fail?", "--hint", f"@{trace}", "--hint", "shop/receipts.py",
        "--max-subcalls", "3", "--max-per-iteration", "2", "--timeout", "60", "--audit-dir", str(tmp_path / "rlm"),
        "--task-id", "../x", "--preset", "debugger",
    )  # fmt: skip
    assert result["usage"]["subcall_count"] == 3
    assert result["stopped_by"] == "subcalls"
    assert Path(result["audit_file"]).parent == tmp_path / "rlm"
    assert {one["file_path"] for one in result["citations"]} >= {"shop/prices.py", "shop/receipts.py"}


def test_a_dry_run_says_where_it_would_begin_and_asks_nobody(shell: Shell, shop: str) -> None:
    plan = shell.document("explore", shop, QUESTION, "--dry-run", "--model", "openai:gpt-4.1-mini")
    assert plan["likely_files"][0] == "shop/prices.py"
    assert (plan["max_subcalls"], plan["model"]) == (50, "openai:gpt-4.1-mini")
    assert plan["max_model_calls"] > 0
    assert plan["max_usd"] > 0
    assert not Path(plan["audit_file"]).exists()


def test_explorations_are_listed_shown_and_played_again(shell: Shell, shop: str) -> None:
    shell("explore", shop, QUESTION, "--task-id", "mine")
    assert "mine" in shell("explorations").stdout
    assert [one["task_id"] for one in shell.document("explorations", "list")] == ["mine"]
    assert shell.document("explorations", "show", "mine")["query"] == QUESTION
    steps = shell("explorations", "show", "mine", "--steps").stdout
    assert "1. Where in the tree is this spoken of?" in steps
    assert "outline(" in steps
    assert shell("explorations", "replay", "mine").stdout.startswith("1. Where in the tree")
    shell("explorations", "show", "other", code=3)


def test_what_was_explored_on_a_machine_is_its_operators(shell: Shell, shop: str) -> None:
    shell("explore", shop, QUESTION, "--task-id", "mine")
    shell("--user", "ana", "explorations", code=4)


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["explore", "{shop}/nowhere", "why?"], 3, "not a folder"),
        (["explore", "{shop}"], 2, "query is empty"),
        (["explore", "{shop}", "why?", "--preset", "plumber"], 2, "repo mapper"),
        (["explore", "{shop}", "why?", "--hint", "@/none/such"], 2, "can't read hint"),
        (["explore", "{shop}", "why?", "--model", "anthropic:m"], 2, "has no key"),
    ],
)
def test_what_makes_no_sense_is_one_line_and_an_exit_code(
    shell: Shell, shop: str, arguments: list[str], code: int, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    done = shell(*(one.replace("{shop}", shop) for one in arguments), code=code)
    assert words in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1

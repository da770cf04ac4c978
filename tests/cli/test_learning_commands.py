"""`recollect feedback` and `recollect learning` on the command line."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "docs_src" / "learning"
Shell = Callable[..., Any]


def test_feedback_on_a_search_is_noted_and_counted(cli: Shell, remember: Callable[..., str]) -> None:
    memory = remember("the launch is on Friday")
    found = cli("search", "when is the launch", "--threshold", "0", "--json").json
    given = cli("feedback", memory, "helpful", "--query-id", found["query_id"], "--json").json
    assert (given["kind"], given["score"], given["applied"]) == ("helpful", 1.0, True)
    assert cli("feedback", memory, "outdated", "--score", "-0.2").out == "noted: outdated (-0.2)\n"
    status = cli("learning", "status", "--json").json
    assert status["outcomes"] == {"feedback": 1}
    assert status["feedback"] == {"helpful": 1, "outdated": 1}
    assert "searches recorded\t1" in cli("learning", "status").out
    assert cli("get", memory, "--json").json["utility"] > 0


@pytest.mark.parametrize(
    ("arguments", "code", "error"),
    [
        (["00000000-0000-7000-8000-000000000000", "helpful"], 3, "memory_not_found"),
        (["{memory}", "splendid"], 2, "invalid_input"),
        (["{memory}", "helpful", "--score", "2"], 2, "invalid_input"),
        (["{memory}", "helpful", "--query-id", "00000000-0000-7000-8000-000000000000"], 3, "not_found"),
        (["{memory}", "helpful", "--query-id", "x"], 2, "invalid_input"),
    ],
)
def test_feedback_that_makes_no_sense_is_refused(
    cli: Shell, remember: Callable[..., str], arguments: list[str], code: int, error: str
) -> None:
    memory = remember("the launch is on Friday")
    filled = [argument.format(memory=memory) for argument in arguments]
    assert cli("feedback", *filled, "--json", code=code).error["code"] == error


def test_learning_is_for_admins(cli: Shell) -> None:
    commands = [
        ["status"], ["train"], ["reset", "--yes"], ["runs"], ["bootstrap"],
        ["experiment", "report"], ["experiment", "stop", "x"],
        ["experiment", "start", "x", "--arm", "a", "--arm", "b"],
    ]  # fmt: skip
    for command in commands:
        done = cli("--user", "ana", "learning", *command, "--json", code=4)
        assert done.error["code"] == "forbidden"


def test_training_says_what_is_missing(cli: Shell, remember: Callable[..., str]) -> None:
    memory = remember("the launch is on Friday")
    cli("feedback", memory, "helpful")
    done = cli("learning", "train")
    assert "memories rated anew" in done.out
    assert "enough judged searches" in done.err
    report = cli("learning", "train", "--json").json
    assert (report["policies"], report["rewarded"]) == ([], 0)


def test_an_experiment_from_start_to_report(cli: Shell, remember: Callable[..., str]) -> None:
    remember("the launch is on Friday")
    started = cli(
        "learning", "experiment", "start", "recency", "--arm", "usual", "--arm",
        'recent={"temporal_relevance": 3, "importance": 1}', "--share", "usual=0.5", "--share", "recent=0.25",
        "--unit", "query", "--json",
    ).json  # fmt: skip
    assert started["arms"]["recent"]["temporal_relevance"] == 0.75
    assert started["shares"] == {"usual": 0.5, "recent": 0.25}
    for _ in range(8):
        cli("search", "when is the launch", "--threshold", "0")
    report = cli("learning", "experiment", "report", "--json").json
    assert [arm["arm"] for arm in report["arms"]] == ["usual", "recent"]
    assert 1 <= sum(arm["queries"] for arm in report["arms"]) <= 8
    assert "too early to tell" in cli("learning", "experiment", "report").out
    assert "stopped" in cli("learning", "experiment", "stop", "recency").out
    assert cli("learning", "experiment", "stop", "recency", "--json", code=5).error["code"] == "conflict"


def test_arms_that_can_not_be_read_are_usage_errors(cli: Shell) -> None:
    start = ("learning", "experiment", "start", "x", "--json", "--arm", "a")
    for more in (
        ["--arm", "b={"],
        ["--arm", "b=[1]"],
        ["--arm", "a"],
        [],
        ["--arm", "b", "--share", "a=many"],
    ):
        assert cli(*start, *more, code=2).error["code"] == "invalid_input"


def test_reset_forgets_when_it_is_meant(cli: Shell, remember: Callable[..., str]) -> None:
    memory = remember("the launch is on Friday")
    cli("feedback", memory, "helpful")
    assert "--yes" in cli("learning", "reset", code=2).err
    assert cli("learning", "reset", "--events", "--yes", "--json").json["rows"]["feedback"] == 1
    assert cli("get", memory, "--json").json["utility"] == 0


def test_the_page_about_learning_shows_the_example_and_what_it_prints(
    newcomer: dict[str, str], tmp_path: Path
) -> None:
    page = (ROOT / "docs" / "learning.md").read_text(encoding="utf-8")
    blocks = dict(re.findall(r"<!-- (\S+) -->\n```\w*\n(.*?)```\n", page, re.DOTALL))
    assert blocks == {
        str(file.relative_to(ROOT)): file.read_text(encoding="utf-8") for file in EXAMPLES.iterdir()
    }
    command = [sys.executable, str(EXAMPLES / "feedback.py")]
    done = subprocess.run(command, capture_output=True, text=True, env=newcomer, cwd=tmp_path, check=False)
    assert done.stdout == (EXAMPLES / "feedback.out").read_text(encoding="utf-8"), done.stderr


def test_runs_of_complex_questions_are_listed_for_admins(cli: Shell, remember: Callable[..., str]) -> None:
    for team in ("api", "web"):
        cli("scopes", "create", f"team/{team}")
        remember(f"The {team} team writes its tests in Python.", "--scope", f"team/{team}")
    cli("search", "compare how all teams write tests", "--threshold", "0")
    [run] = cli("learning", "runs", "--json").json["runs"]
    assert (run["environment"], run["stopped_by"], run["trained"]) == ("memory", "done", False)
    assert run["subcalls"] > 0
    assert "memory" in cli("learning", "runs").out
    assert "runs recorded\t1" in cli("learning", "status").out


def test_bootstrap_says_when_there_is_too_little_to_ask_about(cli: Shell) -> None:
    assert "too little" in cli("learning", "bootstrap").out
    assert cli("learning", "bootstrap", "--json").json["adopted"] is False
    assert (
        cli("learning", "bootstrap", "--iterations", "0", "--json", code=2).error["code"] == "invalid_input"
    )

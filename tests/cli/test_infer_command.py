"""`recollect add --infer` and `recollect conflicts`."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "docs_src" / "writing"


def test_infer_says_what_was_stored_and_why(cli: Any, tmp_path: Path) -> None:
    file = tmp_path / "talk.json"
    turns = [
        {"role": "user", "content": "I live in Porto. Is it nice?"},
        {"role": "assistant", "content": "Very."},
        {"role": "user", "content": "I moved to Lyon."},
    ]
    file.write_text(json.dumps(turns))
    done = cli("add", "--messages", str(file), "--infer", "--json").json

    assert [memory["text"] for memory in done["memories"]] == [turn["content"] for turn in turns]
    assert [fact["text"] for fact in done["facts"]] == ["tess lives in Porto", "tess lives in Lyon"]
    assert [decision["kind"] for decision in done["decisions"]] == ["add", "add", "supersede", "skip", "skip"]
    assert done["model"] is None
    assert cli("get", done["facts"][0]["id"], "--json").json["superseded_by"] == done["facts"][1]["id"]


def test_infer_in_a_pipe_prints_ids_and_then_the_decisions(cli: Any) -> None:
    lines = cli("add", "Ana works at Acme. Why not?", "--infer").out.splitlines()
    assert len(lines[0]) == 36
    assert lines[1:] == ["add\tAna works at Acme\tread by rule", "skip\tWhy not?\ta question"]


def test_a_model_that_is_not_there_is_a_note_not_an_error(cli: Any) -> None:
    done = cli(
        "add",
        "Ana works at Acme.",
        "--infer",
        RECOLLECT_MODEL="openai:m",
        RECOLLECT_MODEL_BASE_URL="http://127.0.0.1:9/v1",
    )
    assert "Ana works at Acme" in done.out
    assert "rules were used alone" in done.err


def test_conflicts_are_listed(cli: Any) -> None:
    assert "no memories contradict" in cli("conflicts").err
    first = cli("add", "Ana likes sushi.", "--type", "semantic", "--json").json
    second = cli("add", "Ana does not like sushi.", "--type", "semantic", "--json").json

    [pair] = cli("conflicts", "--json").json
    assert (pair["memory"]["id"], pair["other"]["id"]) == (second["id"], first["id"])
    assert cli("conflicts").out.split("\t")[0] == second["id"]
    cli("supersede", first["id"], "--by", second["id"])
    assert cli("conflicts", "--json").json == []


def test_the_page_shows_every_example_as_it_is() -> None:
    page = (ROOT / "docs" / "writing.md").read_text(encoding="utf-8")
    blocks = re.findall(r"<!-- (\S+) -->\n```\w+\n(.*?)```\n", page, re.DOTALL)
    assert dict(blocks) == {
        str(file.relative_to(ROOT)): file.read_text(encoding="utf-8") for file in sorted(EXAMPLES.iterdir())
    }


def test_the_examples_of_the_page_print_what_it_shows(newcomer: dict[str, str], tmp_path: Path) -> None:
    # In the order of the page: the second adds to the store of the first.
    for name in ("facts", "infer"):
        command = [sys.executable, str(EXAMPLES / f"{name}.py")]
        done = subprocess.run(
            command, capture_output=True, text=True, env=newcomer, cwd=tmp_path, check=False
        )
        assert done.returncode == 0, done.stderr
        assert done.stdout == (EXAMPLES / f"{name}.out").read_text(encoding="utf-8")

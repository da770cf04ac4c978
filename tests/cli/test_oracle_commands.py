"""consult, consultations, capabilities, verify: the oracle at the command line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.oracle.small_library import BREAD, SHOP

PROBLEM = "How long until a token expires?"


@pytest.fixture
def shelf(cli: Any, tmp_path: Path) -> Any:
    """The command line of a tenant that has two documents."""
    for name, text in (("shop.md", SHOP), ("bread.md", BREAD)):
        (tmp_path / name).write_text(text)
        cli("library", "add", str(tmp_path / name), "--wait")
    return cli


def test_a_consultation_prints_the_answer_and_where_it_stands(shelf: Any) -> None:
    done = shelf("consult", PROBLEM, "--depth", "thorough")
    assert "Tokens expire after 15 minutes" in done.out
    assert "[1] shop.md:9-9 supports" in done.out
    assert "[2] shop.md:13-13 quoted" in done.out


def test_a_saved_result_verifies_until_its_document_changes(shelf: Any, tmp_path: Path) -> None:
    saved = tmp_path / "result.json"
    saved.write_text(shelf("consult", PROBLEM, "--doc", "shop.md", "--json").out)
    assert shelf("verify", str(saved), "--json").json["holds"]
    (tmp_path / "shop.md").write_text(SHOP.replace("15 minutes", "16 minutes"))
    shelf("library", "add", str(tmp_path / "shop.md"), "--wait")
    assert "stale" in shelf("verify", str(saved), code=9).out
    assert "is not JSON" in shelf("verify", "-", input="{", code=2).err
    assert "no result with citations" in shelf("verify", "-", input="{}", code=2).err


def test_what_no_document_says_is_an_answer(shelf: Any) -> None:
    assert shelf("consult", "zebra migration xylophone quarterly").out.startswith("not in the documents")
    assert "not in the documents" in shelf("consultations").out


def test_a_dry_run_says_what_would_be_read_and_cost(shelf: Any) -> None:
    plan = shelf("consult", PROBLEM, "--dry-run", "--model", "openai:gpt-5-mini", "--json").json
    assert {one["doc_id"] for one in plan["documents"]} == {"shop.md", "bread.md"}
    assert plan["max_usd"] > 0
    assert "at most" in shelf("consult", PROBLEM, "--dry-run").out
    assert shelf("consultations", "--json").json == []


def test_consultations_are_listed_shown_and_repeated(shelf: Any) -> None:
    asked = shelf("consult", PROBLEM, "--session", "s1", "--agent", "reviewer", "--json").json
    [kept] = shelf("consultations", "--session", "s1", "--json").json
    assert kept["id"] == asked["consultation"]["id"]
    assert kept["agent"] == "reviewer"
    assert PROBLEM in shelf("consultations", "list").out
    assert shelf("consultations", "show", kept["id"], "--json").json == asked
    events = shelf("consultations", "show", kept["id"], "--events", "--json").json
    assert events[-1]["type"] == "oracle_consultation_completed"
    assert shelf("consultations", "repeat", kept["id"], "--json").json["answer"] == asked["answer"]
    assert shelf("consultations", "show", "0190b8a0-0000-7000-8000-000000000000", code=3).err


def test_files_of_the_current_folder_are_consulted(
    cli: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "notes.md").write_text("# Notes\n\nThe cashier prints receipts on thermal paper.\n")
    monkeypatch.chdir(tmp_path)
    asked = cli("consult", "What are receipts printed on?", "--file", "*.md", "--json").json
    assert asked["citations"][0]["file_path"] == "notes.md"
    assert json.loads(cli("verify", "-", "--json", input=json.dumps(asked)).out)["holds"]
    assert "unknown" not in cli("consult", "x", "--working-dir", str(tmp_path / "gone"), code=3).err


def test_nothing_was_missing_says_so(cli: Any) -> None:
    assert cli("capabilities", "--week", "--json").json == []
    assert "nothing was missing" in cli("capabilities").err


def test_unknown_documents_and_depths_are_refused(shelf: Any) -> None:
    assert "shop.md" in shelf("consult", PROBLEM, "--doc", "shpo.md", code=3).err
    assert "quick, thorough, auto" in shelf("consult", PROBLEM, "--depth", "deep", code=2).err

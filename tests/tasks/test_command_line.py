"""What a new user does at a shell."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

from tests.cli.conftest import Shell


def test_store_and_find(cli: Shell) -> None:
    """Store a memory, and find it by asking in other words."""
    cli("add", "The spare key is under the blue flower pot.")
    assert "blue flower pot" in cli("search", "Where did we hide the extra key?").out


def test_update(cli: Shell) -> None:
    """Tell something anew: the new value comes first, and the old one is marked or gone."""
    cli("add", "Our stand-up is at 9:15.", "--created-at", "2026-01-05")
    cli("add", "The stand-up is at 10:00 from now on.")
    hits = cli("search", "When is the stand-up?", "--json").json["hits"]
    assert "10:00" in hits[0]["text"]
    assert all(hit["outdated"] for hit in hits if "9:15" in hit["text"])


def test_ask(cli: Shell) -> None:
    """Ask a question, and get one answer with where it comes from."""
    cli("add", "Ana is allergic to peanuts.")
    answer = cli("ask", "What is Ana allergic to?", "--json").json
    assert answer["found"]
    assert "peanuts" in answer["text"]
    assert len(answer["citations"]) >= 1


def test_not_known(cli: Shell) -> None:
    """Ask what nobody told, and hear that it is not known."""
    cli("add", "Ana is allergic to peanuts.")
    assert "Not known" in cli("ask", "When does the ferry to Bergen leave?").out


def test_list_and_count(cli: Shell) -> None:
    """List what is remembered as JSON, and count it."""
    cli("add", "Ana lives in Porto.")
    cli("add", "Ben lives in Leeds.")
    assert [item["text"] for item in cli("list", "--json").json["items"]] == [
        "Ben lives in Leeds.",
        "Ana lives in Porto.",
    ]
    assert cli("list", "--count").out.strip() == "2"


def test_correct(cli: Shell) -> None:
    """Correct a memory, and see what it said before."""
    id = cli("add", "The invoice is over 410 euros.").out.strip()
    cli("update", id, "--text", "The invoice is over 401 euros.")
    assert "410" in cli("history", id).out
    assert "401" in cli("get", id).out


def test_delete(cli: Shell) -> None:
    """Delete a memory: there is a receipt, and it is not found again."""
    id = cli("add", "The door code is 4711.").out.strip()
    receipt = cli("delete", id, "--yes", "--json").json
    assert receipt["memories"] == 1
    assert cli("search", "What is the door code?", "--json").json["hits"] == []


def test_move(cli: Shell, tmp_path: Path) -> None:
    """Export everything to a file, and import it again without doubling it."""
    cli("add", "Ana lives in Porto.")
    file = tmp_path / "all.jsonl"
    cli("export", str(file))
    assert [json.loads(line)["text"] for line in file.read_text().splitlines() if '"text"' in line]
    cli("import", str(file))
    assert cli("list", "--count").out.strip() == "1"


def test_documents(cli: Shell, tmp_path: Path) -> None:
    """Put a folder of Markdown into the library, and ask it with citations."""
    (tmp_path / "leave.md").write_text("# Leave\n\n## Days\n\nEverybody has 28 days of leave a year.\n")
    (tmp_path / "kiln.md").write_text("# Kiln\n\nThe kiln reaches 1,240 degrees.\n")
    cli("library", "add", str(tmp_path))
    answer = cli("consult", "How many days of leave does everybody have?", "--json").json
    assert "28" in answer["answer"]
    assert answer["citations"][0]["file_path"].endswith("leave.md")


def test_code(cli: Shell, tmp_path: Path) -> None:
    """Ask where something happens in a folder of code, and get the file and line."""
    (tmp_path / "shop.py").write_text(
        'def charge_card(amount):\n    """Charge the customer\'s card."""\n    return amount\n'
    )
    found = cli("explore", str(tmp_path), "Where is the card charged?", "--json").json
    assert any(one["file_path"] == "shop.py" for one in found["citations"])


def test_mistakes(cli: Shell) -> None:
    """Make a mistake, and be told what is wrong and what to do, with a code for programs."""
    done = cli("get", "not-an-id", "--json", code=2)
    assert done.error["code"] == "invalid_input"
    assert "not-an-id" in done.error["message"]


def test_who_asked(cli: Shell) -> None:
    """See what was asked lately, what was found, and how long it took."""
    cli("add", "Ana lives in Porto.")
    cli("tenants", "traces", "keep")
    cli("search", "Where does Ana live?")
    [trace] = cli("traces", "list", "--json").json["traces"]
    assert (trace["question"], trace["hits"]) == ("Where does Ana live?", 1)


def test_demo(newcomer: dict[str, str]) -> None:
    """Run the demo on a new machine, and then every command that it recommends."""
    done = subprocess.run(
        ["recollect", "demo", "--json"], capture_output=True, text=True, env=newcomer, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    shown = json.loads(done.stdout)
    assert all(set(answer["found"]) == set(answer["expected"]) for answer in shown["answers"])
    for command in shown["next"]:
        tried = subprocess.run(command, shell=True, capture_output=True, text=True, env=newcomer, check=False)
        assert tried.returncode == 0, (command, tried.stderr)
        assert tried.stdout.strip(), command

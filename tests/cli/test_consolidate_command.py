"""`recollect consolidate` and `recollect worker`, and the page about them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.pages import ROOT, examples, printed, shown_on

TALK = [
    {"speaker": "Ana", "content": "I moved from Lisbon to Porto last Saturday, into a flat near the river."},
    {"speaker": "Bob", "content": "I adopted a greyhound called Pixel from the shelter in Braga."},
    {"speaker": "Ana", "content": "My new desk at Initech is on the fourth floor, beside the archive."},
] * 2


@pytest.fixture
def talk(cli, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    lines = [
        {
            "text": turn["content"],
            "speaker": turn["speaker"],
            "conversation": "c1",
            "created_at": "2026-03-02",
        }
        for turn in TALK
    ]
    file = tmp_path / "talk.jsonl"
    file.write_text("\n".join(json.dumps(line) for line in lines), encoding="utf-8")
    cli("import", str(file))


@pytest.mark.usefixtures("talk")
def test_consolidate_makes_summaries_and_says_how_many(cli) -> None:  # type: ignore[no-untyped-def]
    assert cli("consolidate", "--kind", "session").out.startswith("1 made, 0 made again, 0 up to date")
    assert cli("consolidate", "--kind", "session", "--json").json == {
        "made": 0, "refreshed": 0, "unchanged": 1, "removed": 0, "skipped": 0, "notes": [],
    }  # fmt: skip
    assert cli("consolidate", "--conversation", "c1", "--force", "--json").json["refreshed"] == 1
    listed = cli("list", "--type", "summary", "--json").json
    [summary] = listed["items"] if isinstance(listed, dict) else listed
    assert summary["text"].startswith("Conversation c1 of Ana and Bob, 2 March 2026:")
    assert len(summary["metadata"]["sources"]) == 3


@pytest.mark.usefixtures("talk")
def test_an_entity_is_summarised_by_name(cli) -> None:  # type: ignore[no-untyped-def]
    for n in range(5):
        cli("add", f"Acme ordered {n + 2} pumps for hall {n}.", "--entity", "Acme")
    assert cli("consolidate", "--entity", "acme", "--json").json["made"] == 1


def test_a_receipt_says_that_summaries_were_made_again(cli, talk: None) -> None:  # type: ignore[no-untyped-def]
    for n in range(4):
        cli(
            "add",
            f"Bob repaired pump {n} in hall {n + 7} on Monday.",
            "--conversation",
            "c1",
            "--speaker",
            "Bob",
        )
    cli("consolidate", "--kind", "session")
    [summary] = cli("list", "--type", "summary", "--json").json["items"]
    done = cli("delete", summary["metadata"]["sources"][0], "--yes")
    assert "made again\t1 summaries" in done.out
    assert "summary 1" in done.out


def test_bad_options_get_a_line(cli) -> None:  # type: ignore[no-untyped-def]
    done = cli("consolidate", "--kind", "weekly", code=2)
    assert done.err == "recollect: unknown kind 'weekly'; kinds are session, scope, entity\n"
    assert cli("consolidate", "--scope", "team/none", "--json", code=3).error["code"] == "scope_not_found"


# The page about summaries --------------------------------------------------------------------------

EXAMPLES = ROOT / "docs_src" / "summaries"


def test_the_page_shows_every_example_as_it_is() -> None:
    assert shown_on("summaries.md") == examples("summaries")


def test_the_examples_of_the_page_print_what_it_shows(newcomer: dict[str, str], tmp_path: Path) -> None:
    expected = (EXAMPLES / "summaries.out").read_text(encoding="utf-8")
    assert printed(EXAMPLES / "summaries.py", newcomer, tmp_path) == expected
    lines = printed(EXAMPLES / "worker.sh", newcomer, tmp_path).splitlines()
    assert lines[0].endswith("removed, 0 skipped")
    assert "Conversation coffee of Ana and Bob" in "".join(lines)
    assert lines[-1].endswith("jobs done")

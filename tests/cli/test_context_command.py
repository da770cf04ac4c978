"""context."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.pages import ROOT, examples, printed, shown_on

Remember = Callable[..., str]
QUESTION = "how do I drink my coffee"


@pytest.fixture
def coffee(remember: Remember) -> str:
    remember("The release train leaves on Tuesday at eleven", "--type", "semantic")
    return remember("I drink my coffee black, without sugar", "--created-at", "2026-05-08T10:30:00Z")


def test_the_text_goes_to_standard_output_and_nothing_else(cli: Any, coffee: str) -> None:
    done = cli("context", QUESTION, "--now", "2026-05-23")
    assert done.out.startswith("# Retrieved Context\n\nThe following information from your memory")
    assert "- I drink my coffee black, without sugar (2 weeks ago)\n" in done.out
    assert "release train" not in done.out
    assert done.err == ""


def test_json_has_the_text_and_what_went_into_it(cli: Any, coffee: str) -> None:
    made = cli("context", QUESTION, "--json").json
    assert set(made) >= {
        "text", "memories", "tokens", "max_tokens", "query", "query_id", "query_type", "time_range",
        "domain_results", "notes", "omitted", "messages",
    }  # fmt: skip
    assert [hit["id"] for hit in made["memories"]] == [coffee]
    assert made["messages"][-1] == {"role": "user", "content": QUESTION}
    assert made["messages"][0]["content"] == made["text"].rstrip("\n")
    assert 0 < made["tokens"] <= made["max_tokens"] == 3000


def test_messages_can_be_piped_into_a_chat(cli: Any, coffee: str) -> None:
    messages = json.loads(cli("context", QUESTION, "--messages").out)
    assert [message["role"] for message in messages] == ["system", "user"]


def test_notes_go_to_standard_error(cli: Any, coffee: str) -> None:
    done = cli("context", QUESTION, "--max-tokens", "30")
    assert "coffee black" not in done.out
    assert done.err.startswith("note: the relevant memory does not fit into 30 tokens")
    assert cli("context", QUESTION, "--max-tokens", "30", "--json").json["omitted"] == 1


def test_nothing_relevant_is_one_line(cli: Any, coffee: str) -> None:
    done = cli("context", "quarterly revenue of the shipping department")
    assert done.out.count("\n") == 1
    assert done.out.startswith("No stored memory is relevant")


def test_the_question_can_come_from_standard_input(cli: Any, coffee: str) -> None:
    assert "coffee black" in cli("context", "-", input=f"{QUESTION}\n").out


def test_a_context_takes_the_options_of_search(cli: Any, coffee: str) -> None:
    def found(*options: str) -> int:
        return len(cli("context", "coffee train", "--threshold", "0", *options, "--json").json["memories"])

    assert found() == 2
    assert found("--limit", "1") == 1
    assert found("--type", "semantic") == 1
    assert found("--layer", "team") == 0
    assert found("--scope", "user/tess", "--no-domain", "--timezone", "Europe/Lisbon") == 2
    assert found("--as-of", "2026-05-09") == 1


def test_stored_letters_reach_a_pipe_and_escape_sequences_do_not(cli: Any, remember: Remember) -> None:
    remember("My coffee is called \x1b[31mrosso\x1b[0m, with ünïcode")
    done = cli.process("context", "what is my coffee called", "--threshold", "0")
    assert "[31mrosso[0m, with ünïcode" in done.out
    assert "\x1b" not in done.out


@pytest.mark.parametrize(
    "args",
    [
        ["context"],
        ["context", ""],
        ["context", "x", "--max-tokens", "0"],
        ["context", "x", "--max-tokens", "-10"],
        ["context", "x", "--max-tokens", "2.5"],
        ["context", "x", "--limit", "0"],
        ["context", "x", "--threshold", "nan"],
        ["context", "x", "--timezone", "Mars/Olympus"],
        ["context", "x", "--filter", "{"],
    ],
)
def test_a_context_that_makes_no_sense_is_a_usage_error(cli: Any, args: list[str]) -> None:
    done = cli(*args, code=2)
    assert done.out == ""
    assert done.err.startswith("recollect: ")
    assert cli(*args, "--json", code=2).error["message"]


# The page about contexts ---------------------------------------------------------------------------

EXAMPLES = ROOT / "docs_src" / "context"


def test_the_page_shows_every_example_as_it_is() -> None:
    assert shown_on("context.md") == examples("context")


def test_the_examples_of_the_page_print_what_it_shows(newcomer: dict[str, str], tmp_path: Path) -> None:
    for name in ("prompt", "compare"):
        expected = (EXAMPLES / f"{name}.out").read_text(encoding="utf-8")
        assert printed(EXAMPLES / f"{name}.py", newcomer, tmp_path) == expected
    assert "The staging server restarts every night at three" in printed(
        EXAMPLES / "pipe.sh", newcomer, tmp_path
    )
    roles = [message["role"] for message in json.loads((tmp_path / "messages.json").read_text())]
    assert roles == ["system", "user"]

"""add, get, list, update, supersede, restore, delete, history."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

UNKNOWN = "0199d3c2-0000-7000-8000-000000000000"

Remember = Callable[..., str]


def test_an_added_text_can_be_shown_by_the_id_that_add_prints(cli: Any, remember: Remember) -> None:
    id = remember("the ledger closes at noon")
    shown = cli("get", id, "--json").json
    assert shown["id"] == id
    assert shown["text"] == "the ledger closes at noon"
    assert (shown["layer"], shown["scope"], shown["type"]) == ("user", "user/tess", "episodic")


def test_every_field_of_a_memory_can_be_given(cli: Any) -> None:
    cli("scopes", "create", "team/api")
    stored = cli(
        "add", "Ana prefers tea", "--scope", "team/api", "--type", "semantic", "--subject", "Ana",
        "--predicate", "prefers", "--object", "tea", "--entity", "Ana", "--entity", "tea", "--importance", "0.9",
        "--metadata", '{"room": "kitchen"}', "--created-at", "2026-05-08", "--valid-from", "2026-05-01",
        "--valid-to", "2026-12-31T12:00:00Z", "--expires-at", "2190-01-01", "--source", "chat", "--json",
    ).json  # fmt: skip
    assert stored["scope"] == "team/api"
    assert stored["layer"] == "team"
    assert (stored["subject"], stored["predicate"], stored["object"]) == ("Ana", "prefers", "tea")
    assert stored["entities"] == ["Ana", "tea"]
    assert stored["importance"] == 0.9
    assert stored["metadata"] == {"room": "kitchen"}
    assert stored["created_at"].startswith("2026-05-08T00:00")
    assert stored["valid_to"].startswith("2026-12-31T12:00")
    assert stored["expires_at"].startswith("2190-01-01")
    assert stored["source"] == "chat"


def test_a_fact_given_by_its_parts_needs_no_text(cli: Any) -> None:
    parts = ["--subject", "the API team", "--predicate", "uses_database", "--object", "PostgreSQL"]
    stored = cli("add", "--type", "semantic", *parts, "--json").json
    assert stored["text"] == "the API team uses database PostgreSQL"


def test_a_dash_reads_the_text_from_standard_input(cli: Any) -> None:
    stored = cli("add", "-", "--json", input="two\nlines with ünïcode\n").json
    assert stored["text"] == "two\nlines with ünïcode"


def test_messages_become_one_memory_per_turn_in_order(cli: Any, tmp_path: Path) -> None:
    file = tmp_path / "talk.json"
    file.write_text(
        json.dumps([{"role": "user", "content": "hello"}, {"role": "assistant", "content": "good day"}])
    )
    turns = cli("add", "--messages", str(file), "--conversation", "c1", "--json").json
    assert [(turn["speaker"], turn["text"]) for turn in turns] == [
        ("user", "hello"),
        ("assistant", "good day"),
    ]
    listed = cli("list", "--conversation", "c1", "--json").json["items"]
    assert {turn["id"] for turn in turns} == {item["id"] for item in listed}


def test_messages_can_come_from_standard_input(cli: Any) -> None:
    turns = cli("add", "--messages", "-", "--json", input='[{"role": "user", "content": "hello"}]').json
    assert [turn["text"] for turn in turns] == ["hello"]


@pytest.mark.parametrize(
    ("args", "input", "code", "words"),
    [
        (["add", "   "], None, "invalid_text", "empty"),
        (["add"], None, "invalid_input", "nothing to remember"),
        (["add", "-"], b"caf\xe9", "invalid_text", "not valid UTF-8 at byte 3"),
        (["add", "-"], b"a\x00b", "invalid_text", "NUL"),
        (["add", "-"], b"x" * 200_001, "invalid_text", "200,001 characters, the limit is 200,000"),
        (["add", "x", "--layer", "galaxy"], None, "invalid_input", "layers are agent, user"),
        (["add", "x", "--type", "poem"], None, "invalid_input", "types are episodic"),
        (["add", "x", "--importance", "1.5"], None, "invalid_input", "outside 0 to 1"),
        (["add", "x", "--importance", "much"], None, "usage", "'much' is not a number"),
        (["add", "x", "--metadata", "{broken"], None, "invalid_input", "--metadata is not JSON"),
        (["add", "x", "--metadata", "[1]"], None, "invalid_input", "must be a JSON object"),
        (["add", "x", "--created-at", "yesterdayish"], None, "invalid_input", "is not a date"),
        (
            ["add", "x", "--valid-from", "2026-05-02", "--valid-to", "2026-05-01"],
            None,
            "invalid_input",
            "is before",
        ),
        (["add", "x", "--messages", "talk.json"], None, "invalid_input", "not both"),
        (["add", "--messages", "no-such-file.json"], None, "invalid_input", "can't read messages"),
        (["add", "--messages", "-"], b'{"role": "user"}', "invalid_input", "must hold a JSON list"),
    ],
)
def test_bad_input_is_one_clear_line_and_stores_nothing(
    cli: Any, args: list[str], input: bytes | None, code: str, words: str
) -> None:
    done = cli(*args, "--json", input=input, code=2)
    assert done.out == ""
    assert done.error["code"] == code
    assert words in done.error["message"]
    plain = cli(*args, input=input, code=2)
    assert plain.err.startswith("recollect: ")
    assert plain.err.count("\n") == 1
    assert cli("list", "--json").json["items"] == []


def test_an_unknown_scope_is_not_found(cli: Any) -> None:
    done = cli("add", "x", "--scope", "team/nowhere", "--json", code=3)
    assert done.error["code"] == "scope_not_found"


def test_list_goes_page_by_page_the_newest_first(cli: Any, remember: Remember) -> None:
    ids = [remember(f"note {number}", "--created-at", f"2026-05-{number + 1:02}") for number in range(5)]
    first = cli("list", "--limit", "3", "--json").json
    second = cli("list", "--limit", "3", "--cursor", first["next_cursor"], "--json").json
    assert [item["id"] for item in first["items"] + second["items"]] == ids[::-1]
    assert second["next_cursor"] is None


def test_list_takes_filters(cli: Any, remember: Remember) -> None:
    remember("plain")
    kept = remember("marked", "--metadata", '{"n": 3}', "--type", "procedural")
    for options in (["--filter", '{"n": {"$gte": 2}}'], ["--type", "procedural"], ["--filter", '{"n": 3}']):
        assert [item["id"] for item in cli("list", *options, "--json").json["items"]] == [kept]
    assert cli("list", "--layer", "team", "--json").json["items"] == []
    done = cli("list", "--filter", '{"n": {"$near": 2}}', "--json", code=2)
    assert done.error["code"] == "invalid_filter"


def test_piped_rows_are_one_line_each_with_fixed_columns(cli: Any, remember: Remember) -> None:
    id = remember(
        "first line\nsecond\tline \x1b[31mred [bold]x[/bold]", "--created-at", "2026-05-08T10:30:00Z"
    )
    lines = cli("list").out.splitlines()
    assert lines == [
        f"2026-05-08 10:30\tuser/tess\tepisodic\t{id}\tfirst line\\nsecond\\tline \\x1b[31mred [bold]x[/bold]"
    ]


def test_an_empty_list_prints_nothing_on_standard_output(cli: Any) -> None:
    done = cli("list")
    assert done.out == ""
    assert "no memories" in done.err


def test_update_changes_what_is_given_and_history_keeps_what_was(cli: Any, remember: Remember) -> None:
    id = remember("old text", "--metadata", '{"a": 1}', "--importance", "0.3")
    changed = cli("update", id, "--text", "new text", "--importance", "0.4", "--json").json
    assert (changed["text"], changed["importance"], changed["metadata"]) == ("new text", 0.4, {"a": 1})
    events = cli("history", id, "--json").json
    assert [event["event"] for event in events] == ["added", "updated"]
    assert events[1]["before"]["text"] == "old text"
    assert "old text" in cli("history", id).out


def test_update_can_empty_a_field(cli: Any, remember: Remember) -> None:
    id = remember("x", "--expires-at", "2190-01-01", "--metadata", '{"a": 1}')
    changed = cli("update", id, "--clear", "expires_at", "--clear", "metadata", "--json").json
    assert changed["expires_at"] is None
    assert changed["metadata"] == {}
    assert "can't clear 'text'" in cli("update", id, "--clear", "text", code=2).err
    assert "nothing to change" in cli("update", id, code=2).err


def test_a_superseded_memory_leaves_the_list_and_comes_back_when_restored(
    cli: Any, remember: Remember
) -> None:
    old, new = remember("the office is at Harbour Street"), remember("the office is at Mill Lane")
    gone = cli("supersede", old, "--by", new, "--json").json
    assert (gone["status"], gone["superseded_by"]) == ("superseded", new)
    assert [item["id"] for item in cli("list", "--json").json["items"]] == [new]
    assert {item["id"] for item in cli("list", "--superseded", "--json").json["items"]} == {old, new}
    assert cli("restore", old, "--json").json["status"] == "active"
    assert {item["id"] for item in cli("list", "--json").json["items"]} == {old, new}


def test_delete_prints_a_receipt_and_the_memory_is_gone(cli: Any, remember: Remember) -> None:
    id = remember("a secret")
    receipt = cli("delete", id, "--yes", "--json").json
    assert receipt["memories"] == 1
    assert receipt["memory_ids"] == [id]
    assert receipt["unreachable"]
    assert cli("get", id, "--json", code=3).error["code"] == "memory_not_found"
    assert cli("history", id, code=3).out == ""


def test_delete_takes_several_ids_and_erases_none_if_one_is_unknown(cli: Any, remember: Remember) -> None:
    one, two = remember("one"), remember("two")
    cli("delete", one, UNKNOWN, "--yes", code=3)
    assert len(cli("list", "--json").json["items"]) == 2
    receipt = cli("delete", one, two, "--yes", "--json").json
    assert set(receipt["memory_ids"]) == {one, two}


def test_delete_by_filter_erases_what_matches_only(cli: Any, remember: Remember) -> None:
    remember("scratch", "--metadata", '{"kind": "scratch"}')
    kept = remember("keep", "--metadata", '{"kind": "note"}')
    done = cli("delete", "--filter", '{"kind": "scratch"}', "--yes")
    assert done.out.startswith("erased\t1 memory ")
    assert [item["id"] for item in cli("list", "--json").json["items"]] == [kept]


def test_delete_asks_first_and_without_a_terminal_wants_yes(cli: Any, remember: Remember) -> None:
    id = remember("dear to me")
    done = cli("delete", id, code=2)
    assert "--yes" in done.err
    cli("get", id)


def test_delete_never_takes_everything_by_accident(cli: Any, remember: Remember) -> None:
    id = remember("dear to me")
    for args in (["delete"], ["delete", "--filter", "{}"], ["delete", id, "--filter", '{"a": 1}']):
        cli(*args, "--yes", code=2)
    cli("get", id)


def test_an_id_that_is_none_is_named(cli: Any) -> None:
    done = cli("get", "42", code=2)
    assert "'42' is not a UUID" in done.err

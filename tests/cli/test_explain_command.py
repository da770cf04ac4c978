"""explain, and entities."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Remember = Callable[..., str]


def test_explain_says_how_a_question_is_read(cli: Any, remember: Remember) -> None:
    remember("Acme Corporation ordered two pumps.")
    lines = cli(
        "explain", "What did Acme order last month?", "--now", "2024-02-15T12:00:00Z"
    ).out.splitlines()
    parts = [line.split("\t") for line in lines]
    assert parts[0] == ["category", "factual, about entities, about a time, needs current data"]
    assert parts[1][0] == "entity"
    assert parts[1][1].startswith(
        "Acme = Acme Corporation (acme corporation); organisation; known by another name"
    )
    assert ["time", "2024-01-01 to 2024-02-01 (from 'last month')"] in parts
    assert ["wants", "one"] in parts
    assert ["strategy", "factual_entity_focused (table)"] in parts
    assert ["weight", "0.40  entity overlap"] in parts
    assert ["terms", "acm, order, last, month"] in parts


def test_explain_as_json_has_everything(cli: Any, remember: Remember) -> None:
    remember("Acme Corp ordered two pumps.")
    remember("Acme Foods ordered two ovens.")
    asked = cli("explain", "What did Acme order?", "--json").json
    assert asked["type"] == {
        "category": "factual",
        "entity_focused": True,
        "time_focused": False,
        "procedural": False,
        "requires_domain_db": True,
    }
    assert asked["time_range"] is None
    [entity] = asked["entities"]
    assert entity["rivals"] == ["acme foods"]
    assert any("ambiguous" in note for note in asked["notes"])
    assert sum(asked["strategy"]["weights"].values()) == 1.0


def test_ambiguities_and_strange_questions_are_notes(cli: Any) -> None:
    assert "none" in cli("explain", "[a-z]*(").out
    assert "note\t" in cli("explain", "-", input="Acme " * 9_000).out


def test_days_are_those_of_the_named_time_zone(cli: Any) -> None:
    asked = cli(
        "explain", "yesterday", "--now", "2024-05-15T02:00:00Z", "--timezone", "America/New_York", "--json"
    )
    assert asked.json["time_range"]["start"] == "2024-05-13T00:00:00-04:00"
    setting = cli(
        "explain",
        "yesterday",
        "--now",
        "2024-05-15T02:00:00Z",
        "--json",
        RECOLLECT_TIMEZONE="America/New_York",
    )
    assert setting.json["time_range"] == asked.json["time_range"]
    assert (
        cli("explain", "yesterday", "--timezone", "Mars/Base", "--json", code=2).error["code"]
        == "invalid_input"
    )
    wrong = cli("explain", "yesterday", "--json", code=2, RECOLLECT_TIMEZONE="Mars/Base").error
    assert wrong["code"] == "invalid_configuration"
    assert "Mars/Base" in wrong["message"]


def test_entities_are_declared_listed_called_otherwise_and_forgotten(cli: Any, remember: Remember) -> None:
    remember("Sarah Chen called.")
    declared = cli("entities", "declare", "Hyperion", "--kind", "project", "--alias", "HYP", "--json").json
    assert (declared["key"], declared["source"], declared["aliases"]) == ("hyperion", "declared", ["hyp"])
    cli("entities", "alias", "the boss", "Sarah Chen")
    listed = [line.split("\t") for line in cli("entities", "list").out.splitlines()]
    assert [row[:5] for row in listed] == [
        ["Hyperion", "project", "declared", "hyp", "0"],
        ["Sarah Chen", "name", "declared", "boss", "1"],
    ]
    assert [e["name"] for e in cli("entities", "list", "hyp", "--json").json] == ["Hyperion"]
    cli("entities", "forget", "hyperion")
    assert cli("entities", "list", "hyp", "--json").json == []
    assert cli("entities", "forget", "hyperion", "--json", code=3).error["code"] == "not_found"


def test_only_an_admin_declares(cli: Any) -> None:
    refused = cli("--user", "ana", "entities", "declare", "Hyperion", "--json", code=4)
    assert refused.error["code"] == "forbidden"

"""search."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

Remember = Callable[..., str]


@pytest.fixture
def world(cli: Any, remember: Remember) -> dict[str, str]:
    return {
        "coffee": remember("I drink my coffee black, without sugar", "--created-at", "2026-05-08T10:30:00Z"),
        "train": remember("The release train leaves on Tuesday at eleven", "--type", "semantic"),
        "bike": remember("My bicycle has a flat tyre", "--metadata", '{"room": "shed"}'),
    }


def test_search_finds_what_answers(cli: Any, world: dict[str, str]) -> None:
    found = cli("search", "how do I drink my coffee", "--json").json
    assert found["hits"][0]["id"] == world["coffee"]
    assert set(found) == {"query", "query_id", "notes", "hits", "timings_ms"}
    assert set(found["hits"][0]) >= {
        "id", "text", "score", "layer", "scope", "type", "group", "created_at", "metadata"
    }  # fmt: skip


def test_a_dash_reads_the_question_from_standard_input(cli: Any, world: dict[str, str]) -> None:
    found = cli("search", "-", "--json", input="how do I drink my coffee\n").json
    assert found["hits"][0]["id"] == world["coffee"]


def test_piped_hits_are_rank_score_where_when_id_and_text(cli: Any, world: dict[str, str]) -> None:
    first = cli("search", "how do I drink my coffee", "--limit", "1").out.splitlines()[0].split("\t")
    assert first[0] == "1"
    assert 0.7 <= float(first[1]) <= 1
    assert first[2:] == [
        "user/tess", "2026-05-08 10:30", world["coffee"], "I drink my coffee black, without sugar"
    ]  # fmt: skip


def test_nothing_relevant_says_so_and_suggests_a_lower_threshold(cli: Any, world: dict[str, str]) -> None:
    done = cli("search", "quarterly revenue of the shipping department")
    assert done.out == ""
    assert "--threshold 0" in done.err
    assert cli("search", "quarterly revenue of the shipping department", "--json").json["hits"] == []
    assert len(cli("search", "quarterly revenue", "--threshold", "0", "--json").json["hits"]) == 3


@pytest.mark.parametrize(
    ("command", "hint"),
    [
        (["search", "who keeps bees?"], "recollect add TEXT"),
        (["ask", "who keeps bees?"], "recollect add TEXT"),
        (["list"], "recollect add TEXT"),
        (["library", "list"], "recollect library add FILE"),
        (["consult", "who keeps bees?"], "recollect library add FILE"),
        (["consultations"], "recollect consult"),
        (["entities", "list"], "nobody and nothing is named yet"),
    ],
)
def test_a_new_store_says_how_to_begin(cli: Any, command: list[str], hint: str) -> None:
    done = cli(*command)
    assert hint in done.err
    assert "--threshold 0" not in done.err


def test_search_takes_limits_types_layers_scopes_and_filters(cli: Any, world: dict[str, str]) -> None:
    def found(*options: str) -> set[str]:
        hits = cli("search", "coffee train bicycle", "--threshold", "0", *options, "--json").json["hits"]
        return {hit["id"] for hit in hits}

    assert found() == set(world.values())
    assert len(found("--limit", "2")) == 2
    assert found("--type", "semantic") == {world["train"]}
    assert found("--filter", '{"room": "shed"}') == {world["bike"]}
    assert found("--layer", "user", "--layer", "team") == set(world.values())
    assert found("--layer", "team") == set()
    assert found("--scope", "user/tess") == set(world.values())


def test_as_of_answers_from_what_was_believed_then(cli: Any, world: dict[str, str]) -> None:
    options = ("--threshold", "0", "--as-of", "2026-06-01", "--json")
    assert [hit["id"] for hit in cli("search", "coffee", *options).json["hits"]] == [world["coffee"]]


def test_explain_says_why(cli: Any, world: dict[str, str]) -> None:
    hit = cli("search", "how do I drink my coffee", "--explain", "--json").json["hits"][0]
    assert hit["explanation"]["signals"]
    assert hit["explanation"]["sentence"]
    columns = cli("search", "how do I drink my coffee", "--explain").out.splitlines()[0].split("\t")
    assert columns[-1] == hit["explanation"]["sentence"]


@pytest.mark.parametrize(
    "args",
    [
        ["search", ""],
        ["search"],
        ["search", "x", "--limit", "0"],
        ["search", "x", "--limit", "many"],
        ["search", "x", "--threshold", "2"],
        ["search", "x", "--threshold", "nan"],
        ["search", "x", "--layer", "galaxy"],
        ["search", "x", "--type", "poem"],
        ["search", "x", "--filter", "{"],
        ["search", "x", "--filter", "[]"],
        ["search", "x", "--as-of", "soon"],
        ["search", "x", "--now", "soon"],
    ],
)
def test_a_question_that_makes_no_sense_is_a_usage_error(cli: Any, args: list[str]) -> None:
    done = cli(*args, code=2)
    assert done.out == ""
    assert done.err.startswith("recollect: ")
    assert done.err.count("\n") == 1
    assert cli(*args, "--json", code=2).error["message"]

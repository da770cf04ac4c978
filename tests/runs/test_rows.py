"""Questions that want all of something: rows from every section, filtered, counted and joined by the engine."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.oracle.small_library import put_document
from tests.runs.model_server import ByRequest, ModelServer, Said, serve

from recollect import Recollect, Settings, TenantContext
from recollect.domain.findings import Citation, CitationStatus
from recollect.domain.oracle import OracleConsultResult
from recollect.domain.rows import COUNT, Column, Condition, Row, Rows
from recollect.errors import InvalidInputError
from recollect.text.aim import wants_rows

QUESTION = "List every parameter that requires a restart."
SETTINGS = """# Server settings

## Memory

`shared_buffers` sets the memory for shared buffers. Changing it requires a restart of the server.

`work_mem` sets the memory of one sort. It can be changed in a session.

## Connections

`max_connections` sets how many clients may connect. This parameter requires a restart.

| parameter | default | restart |
|---|---|---|
| port | 5432 | requires restart |
| ssl | off | reload |

## Logs

`log_min_duration` logs slow statements. A reload is enough.
"""

WithModel = Callable[..., Recollect]


@pytest.fixture
def chat() -> Iterator[ModelServer]:
    with serve() as server:
        yield server


@pytest.fixture
def with_model(settings: Settings, tenant_id: str, chat: ModelServer) -> Iterator[WithModel]:
    opened: list[Recollect] = []

    def make(name: str = "openai:m", **changes: Any) -> Recollect:
        profile = {"retries": 0, "timeout_s": 60.0, **changes.pop("model_profile", {})}
        reached = {
            "model": name,
            "model_base_url": chat.url,
            "model_profile": profile,
        }
        changed = settings.replace(**{**reached, **changes})
        context = TenantContext(tenant_id=tenant_id, user_id="root", roles=("admin", "operator"))
        opened.append(Recollect(settings=changed, context=context))
        return opened[-1]

    yield make
    for one in opened:
        one.close()


def place(line: int) -> tuple[Citation, ...]:
    return (
        Citation(kind="document", file_path="d", line_start=line, line_end=line, content_hash="", quote="q"),
    )


def table(*values: dict[str, Any]) -> Rows:
    columns = (Column(name="label"), Column(name="hours", kind="number"))
    rows = [Row(values=one, quote=str(at), citations=place(at)) for at, one in enumerate(values, 1)]
    return Rows(columns=columns, rows=tuple(rows), looked=3, total=3)


def numbered(request: dict[str, Any]) -> dict[int, str]:
    """The lines that a request shows, by their numbers."""
    text = str(request["messages"][-1]["content"])
    return {int(number): line for number, line in re.findall(r"^(\d+): (.*)$", text, re.MULTILINE)}


def restarts(request: dict[str, Any]) -> dict[str, Any]:
    """What a good reader answers: a row for every line that speaks of a restart."""
    rows = [
        {
            "line": number,
            "quote": line,
            "item": (re.findall(r"`(\w+)`|\| (\w+) \|", line) or [("?", "")])[0][0] or "port",
        }
        for number, line in numbered(request).items()
        if "requires a restart" in line or "requires restart" in line
    ]
    return {"rows": rows}


# ---------------------------------------------------------------- the operations


@given(st.lists(st.sampled_from(["red", "Red", "blue", "green", None])))
def test_groups_have_every_row_once_and_cite_all_of_them(labels: list[str | None]) -> None:
    rows = table(*({"label": one, "hours": 1.0} for one in labels))
    grouped = rows.grouped(["label"], total="hours")
    assert sum(int(one.values[COUNT] or 0) for one in grouped.rows) == len(labels)
    assert sum(len(one.citations) for one in grouped.rows) == len(labels)
    assert [one.values["total_hours"] for one in grouped.rows] == [one.values[COUNT] for one in grouped.rows]
    counts = [one.values[COUNT] or 0 for one in grouped.rows]
    assert counts == sorted(counts, reverse=True)


@given(st.lists(st.sampled_from("abc"), max_size=12))
def test_pairs_of_a_table_with_itself_are_there_once(labels: list[str]) -> None:
    rows = table(*({"label": one, "hours": None} for one in labels))
    pairs = rows.joined(rows, ["label"])
    expected = sum(labels.count(one) * (labels.count(one) - 1) // 2 for one in set(labels))
    assert len(pairs.rows) == expected
    assert all(len(one.citations) == 2 for one in pairs.rows)


def test_conditions_compare_by_the_columns_kind() -> None:
    rows = table({"label": "a", "hours": 9.0}, {"label": "B", "hours": 10.0}, {"label": "b", "hours": None})
    assert [
        one.values["label"] for one in rows.where([Condition(column="hours", test=">", value="9")]).rows
    ] == ["B"]
    assert len(rows.where([Condition(column="label", value="b")]).rows) == 2
    assert len(rows.where([Condition(column="hours", test="empty")]).rows) == 1
    assert [one.values["hours"] for one in rows.ordered("hours", descending=True).rows] == [10.0, 9.0, None]
    with pytest.raises(InvalidInputError, match="there is no column 'days'; there are label, hours"):
        rows.where([Condition(column="days", value=1.0)])
    with pytest.raises(InvalidInputError, match="is no number"):
        rows.where([Condition(column="hours", value="many")])


@pytest.mark.parametrize(
    ("question", "dense"),
    [
        ("List every parameter that needs a restart", True),
        ("Which are all the endpoints that need a token?", True),
        ("How many incidents are there in 2026?", True),
        ("How many settings need a restart?", True),
        ("Which settings need a restart?", True),
        ("Which setting needs a restart?", False),
        ("Name all the settings that can't be changed at run time.", True),
        ("How many bytes does a name hold?", False),
        ("How many connections are allowed by default?", False),
        ("What happens every time a token expires?", False),
        ("What is the login endpoint?", False),
        ("Is it run every hour?", False),
        ("Why do all the workers die?", False),
        ("Liste alle Parameter auf, die einen Neustart brauchen", True),
        ("Nenne alle Einstellungen, die einen Neustart brauchen.", True),
        ("Wie viele Vorfälle gab es 2026?", True),
        ("Wie viele Bytes darf ein Name haben?", False),
        ("Was passiert jedes Mal, wenn ein Token abläuft?", False),
        ("Wird es alle zwei Stunden ausgeführt?", False),
        ("¿Cuáles son todos los clientes que hemos perdido?", True),
        ("¿Cuántos incidentes hubo en total?", True),
        ("¿Cuántos bytes puede tener un nombre?", False),
        ("¿Se ejecuta cada hora?", False),
        ("Quels sont tous les clients que nous avons perdus ?", True),
        ("Combien d'incidents y a-t-il eu en tout ?", True),
        ("Combien d'octets un nom peut-il avoir ?", False),
        ("Est-ce exécuté toutes les heures ?", False),
        ("Elenca tutti i parametri che richiedono un riavvio", True),
        ("Liste todos os parâmetros que exigem reinício", True),
        ("Lijst alle parameters op die een herstart nodig hebben", True),
    ],
)
def test_a_quantity_that_is_written_somewhere_is_not_counted(question: str, dense: bool) -> None:
    assert wants_rows(question) is dense


# ---------------------------------------------------------------- without a model


def test_a_list_without_a_model_has_every_place_that_says_it_and_no_other(client: Recollect) -> None:
    put_document(client, "settings.md", SETTINGS)
    result = client.oracle_consult(QUESTION)
    assert result.found
    assert [one.line_start for one in result.citations] == [5, 11, 15]
    assert all(one.status is CitationStatus.QUOTED for one in result.citations)
    assert "shared_buffers" in result.answer
    assert "ssl" not in result.answer
    assert "sections: 3 of 3 looked at" in result.notes
    assert any("in other words" in note for note in result.notes)


NAMES = ("alpha", "bravo", "cedar", "delta", "ember")


def put_services(client: Recollect) -> list[str]:
    """Five documents with one parameter each."""
    for name in NAMES:
        text = f"# Service {name}\n\n## Memory\n\nThe parameter `{name}_buffers` requires a restart.\n"
        put_document(client, f"{name}.md", text)
    return [f"{name}.md" for name in NAMES]


def test_a_list_of_named_documents_has_what_every_one_of_them_says(client: Recollect) -> None:
    result = client.oracle_consult(QUESTION, doc_ids=put_services(client))
    assert {citation.file_path for citation in result.citations} == {f"{name}.md" for name in NAMES}
    assert all(f"{name}_buffers" in result.answer for name in NAMES)
    assert "sections: 5 of 5 looked at" in result.notes


def test_of_a_long_paragraph_the_sentence_that_says_it_is_counted_and_no_other(client: Recollect) -> None:
    around = (
        "The operators of the night shift keep their notes in a book beside the door of the control room. "
        * 3
    )
    text = f"# Server\n\n{around}The parameter `port` requires a restart. {around}\n"
    put_document(client, "server.md", text)
    result = client.oracle_consult("How many parameters require a restart?", doc_ids=["server.md"])
    assert result.answer == "1:\n- The parameter port requires a restart. [1]"


def test_a_list_that_the_time_does_not_last_for_says_so(client: Recollect) -> None:
    documents = put_services(client)
    hurried = client.settings.replace(budget={"timeout_seconds": 0.05})
    with Recollect(settings=hurried, context=client.tenant_context) as asking:
        result = asking.oracle_consult(QUESTION, doc_ids=documents)
    assert result.stopped_by == "timeout"
    assert any("cut short (timeout)" in note for note in result.notes)


def test_documents_of_the_library_that_were_not_asked_are_counted(client: Recollect) -> None:
    put_services(client)
    put_document(client, "bees.md", "# Bees\n\nBees dance to tell where flowers are.\n")
    result = client.oracle_consult(QUESTION)
    assert all(f"{name}_buffers" in result.answer for name in NAMES)
    assert "1 other documents of the library were not asked: others came nearer" in result.notes


TABLE = """# Billing

## Settings

| name | default | restart |
|---|---|---|
| pool_size | 10 | yes |
| log_level | info | no |
| cache_dir | /var/cache | yes |

`bandwidth` is a setting that is read again every minute; nothing has to be restarted.

## Refunds

A refund needs the approval of two people.
"""


@pytest.fixture
def billing(default_store: Recollect) -> Iterator[Callable[[str], OracleConsultResult]]:
    """Asks a document with a table, at default settings."""
    put_document(default_store, "billing.md", TABLE)
    yield lambda question: default_store.oracle_consult(question, doc_ids=["billing.md"])
    default_store.library.remove("billing.md")


def test_the_sides_of_a_comparison_stand_in_a_table_and_one_that_is_missing_is_named(
    billing: Callable[[str], OracleConsultResult],
) -> None:
    result = billing("Compare log_level and pool_size")
    assert result.answer.splitlines()[2:] == [
        "| log_level | name log_level: default info; restart no. [1] |",
        "| pool_size | name pool_size: default 10; restart yes. [1] |",
    ]
    [cited] = result.citations
    assert (cited.line_start, cited.status) == (5, CitationStatus.QUOTED)
    assert (
        "nothing was found about 'volcanoes'" in billing("Compare log_level, pool_size and volcanoes").notes
    )


@pytest.mark.parametrize(
    ("question", "lines"),
    [
        ("Which settings need a restart?", [7, 9]),
        ("List all settings", [7, 8, 9, 11]),
        ("How many settings need a restart?", [7, 9]),
    ],
)
def test_of_a_table_the_rows_that_have_what_is_asked_are_listed(
    billing: Callable[[str], OracleConsultResult], question: str, lines: list[int]
) -> None:
    result = billing(question)
    assert [one.line_start for one in result.citations] == lines
    assert ("log_level" in result.answer) is (8 in lines)
    assert result.answer.startswith("2:") is question.startswith("How many")


def test_what_no_document_speaks_of_is_not_listed(client: Recollect) -> None:
    put_document(client, "settings.md", SETTINGS)
    assert not client.oracle_consult("List every volcano that erupted in Iceland.").found


# ---------------------------------------------------------------- with one


def test_a_small_model_reads_every_section_and_the_engine_lists_the_rows(
    client: Recollect, with_model: WithModel, chat: ModelServer
) -> None:
    put_document(client, "settings.md", SETTINGS)
    chat.answers = [ByRequest(restarts)]
    asked = with_model(model_profile={"window": 4_096})
    plan = asked.oracle_dry_run(QUESTION)
    result = asked.oracle_consult(QUESTION)
    assert result.answer == "- shared_buffers [1]\n- max_connections [2]\n- port [3]"
    assert [one.line_start for one in result.citations] == [5, 11, 15]
    assert "sections: 3 of 3 looked at" in result.notes
    assert 1 <= len(chat.asked) <= plan.max_model_calls
    assert result.consultation.tokens["total"] == 18 * len(chat.asked)


def test_a_small_model_is_asked_about_every_document_within_what_was_said_before(
    client: Recollect, with_model: WithModel, chat: ModelServer
) -> None:
    documents = put_services(client)
    chat.answers = [ByRequest(restarts)]
    asking = with_model(model_profile={"window": 4_096})
    plan = asking.oracle_dry_run(QUESTION, doc_ids=documents)
    result = asking.oracle_consult(QUESTION, doc_ids=documents)
    assert sorted(result.answer.splitlines()) == [
        f"- {name}_buffers [{place}]" for place, name in enumerate(NAMES, 1)
    ]
    assert 1 <= len(chat.asked) <= plan.max_model_calls


def test_a_large_model_maps_a_library_wider_than_a_first_look(
    client: Recollect, with_model: WithModel, chat: ModelServer
) -> None:
    for number in range(30):
        text = f"# Service {number}\n\n" + "".join(
            f"## Part {part}\n\nThe parameter `s{number}_{part}` requires a restart.\n\n"
            for part in range(10)
        )
        put_document(client, f"s{number}.md", text)
    mapping = Said(
        calls=(("map_sections", {"question": "parameters that require a restart"}),), finish="tool_calls"
    )

    def answer(request: dict[str, Any]) -> Any:
        if request.get("tools"):
            return mapping if len(request["messages"]) < 4 else Said(content="done")
        return restarts(request)

    chat.answers = [ByRequest(answer)]
    profile = {"window": 200_000, "tools": True}
    result = with_model(model_profile=profile).oracle_consult(QUESTION)
    assert "sections: 300 of 300 looked at" in result.notes


def test_a_row_that_quotes_what_is_not_there_is_dropped_and_said(
    client: Recollect, with_model: WithModel, chat: ModelServer
) -> None:
    put_document(client, "settings.md", SETTINGS)

    def invents(request: dict[str, Any]) -> dict[str, Any]:
        rows = restarts(request)["rows"]
        return {"rows": [*rows, {"line": 1, "quote": "bananas require a restart", "item": "bananas"}]}

    chat.answers = [ByRequest(invents)]
    result = with_model(model_profile={"window": 4_096}).oracle_consult(QUESTION)
    assert "bananas" not in result.answer
    assert any("rows quoted words that are not in the text and were dropped" in note for note in result.notes)


def test_a_planner_maps_filters_and_counts_and_the_count_cites_its_rows(
    client: Recollect, with_model: WithModel, chat: ModelServer
) -> None:
    put_document(client, "settings.md", SETTINGS)

    def answer(request: dict[str, Any]) -> Any:
        told = json.dumps(request["messages"][0])
        if "You read pieces of text" in told:
            return {
                "rows": [
                    {"line": number, "quote": line, "item": "it", "restart": "restart" in line}
                    for number, line in numbered(request).items()
                    if "`" in line or "5432" in line or "off" in line
                ]
            }
        if "findings that somebody else collected" in told:
            return {"blocks": [{"text": "Three need a restart.", "sources": [1]}]}
        columns = [{"name": "item"}, {"name": "restart", "kind": "boolean"}]
        condition = {"column": "restart", "test": "=", "value": True}
        finding = {"description": "Three need a restart.", "quote": "count: 3", "result": "2.1"}
        steps: list[tuple[tuple[str, Any], ...]] = [
            (("map_sections", {"question": "every parameter", "columns": columns}),),
            (("query_rows", {"rows": "r1", "where": [condition], "in_answer": True}),),
            (("record_findings", {"findings": [finding]}), ("finish", {})),
        ]
        return Said(calls=steps[sum("tool_calls" in one for one in request["messages"])])

    chat.answers = [ByRequest(answer)]
    result = with_model(model_profile={"window": 200_000}).oracle_consult(
        "How many parameters need a restart?", "thorough"
    )
    assert result.answer.startswith("Three need a restart. [1][2][3]\n\n| item | restart | source |")
    assert [one.line_start for one in result.citations] == [5, 11, 15]
    assert result.stopped_by == "done"


def test_a_server_that_dies_on_the_way_loses_no_row_and_the_rest_is_said(
    client: Recollect, with_model: WithModel, chat: ModelServer
) -> None:
    lines = [f"Item {number} requires a restart of part {number}." for number in range(600)]
    sections = [f"## Part {at}\n\n" + "\n\n".join(lines[at : at + 20]) for at in range(0, 600, 20)]
    put_document(client, "long.md", "# Long\n\n" + "\n\n".join(sections))
    left = iter(range(5))

    def dies(request: dict[str, Any]) -> Any:
        found = [
            {"line": number, "quote": line, "item": line.split()[1]}
            for number, line in numbered(request).items()
            if line.strip()
        ]
        return {"rows": found} if next(left, None) is not None else 500

    chat.answers = [ByRequest(dies)]
    result = with_model(model_profile={"window": 8_192}).oracle_consult(
        "List all items that require a restart."
    )
    rows = [line for line in result.answer.splitlines() if line.startswith("- ")]
    assert 60 <= len(rows) < 600
    assert any("were not read by the model: the model did not answer" in note for note in result.notes)
    assert all(one.status is CitationStatus.QUOTED for one in result.citations)


def test_money_ends_a_fan_out_below_its_limit_and_that_is_said(
    client: Recollect, with_model: WithModel, chat: ModelServer
) -> None:
    lines = [f"Item {number} requires a restart of part {number}." for number in range(600)]
    put_document(client, "long.md", "# Long\n\n" + "\n\n".join(lines))
    chat.answers = [ByRequest(lambda request: {"rows": []})]
    chat.usage = (2_000, 400)
    asked = with_model(
        model_profile={"window": 8_192, "input_usd": 1.0, "output_usd": 4.0}, budget={"max_usd": 0.03}
    )
    result = asked.oracle_consult("List all items that require a restart.")
    assert result.consultation.cost_usd is not None
    assert 0 < result.consultation.cost_usd <= 0.03
    assert any("were not read by the model" in note for note in result.notes)


def test_an_answer_that_is_cut_off_is_asked_for_in_halves(
    client: Recollect, with_model: WithModel, chat: ModelServer
) -> None:
    lines = [f"Item {number} requires a restart." for number in range(40)]
    put_document(client, "long.md", "# Long\n\n" + "\n\n".join(lines))

    def wordy(request: dict[str, Any]) -> Any:
        found = [
            {"line": number, "quote": line, "item": line.split()[1]}
            for number, line in numbered(request).items()
            if line.strip()
        ]
        return {"rows": found} if len(found) <= 12 else Said(content='{"rows": [{"line"', finish="length")

    chat.answers = [ByRequest(wordy)]
    result = with_model(model_profile={"window": 8_192}).oracle_consult(
        "List all items that require a restart."
    )
    assert len(result.citations) == 40
    assert "sections: 1 of 1 looked at" in result.notes


# ---------------------------------------------------------------- memories

_TRIPS = (
    "We were in Lisbon for the spring offsite.",
    "Ana prefers window seats.",
    "The team flew to Oslo in May.",
    "Invoices go out on the first.",
    "In autumn everybody met in Rome.",
)


def _trips(request: dict[str, Any]) -> dict[str, Any]:
    cities = ("Lisbon", "Oslo", "Rome")
    rows = [
        {"line": number, "quote": city, "item": city}
        for number, line in numbered(request).items()
        for city in cities
        if city in line
    ]
    return {"rows": rows}


def test_ask_counts_memories_by_reading_every_one_and_cites_those_it_counts(
    client: Recollect, with_model: WithModel, chat: ModelServer
) -> None:
    for text in _TRIPS:
        client.add(text)
    chat.answers = [ByRequest(_trips)]
    told: list[Any] = []
    asked = with_model()
    answer = asked.ask("How many trips did we have in all?", ["memories"], on_event=told.append)
    assert answer.text.startswith("3:\n- ")
    assert {one.quote for one in answer.citations} == {_TRIPS[0], _TRIPS[2], _TRIPS[4]}
    assert answer.coverage["memories"] == {"found": 3, "looked": 5, "memories": 5}
    assert "memories: 5 of 5 looked at" in answer.notes
    [part] = told
    assert (part.source, part.text, part.first_mark) == ("memories", answer.text, 1)
    assert part.citations == answer.citations


def test_a_count_that_the_time_does_not_last_for_keeps_what_was_read_and_says_so(
    client: Recollect, with_model: WithModel, chat: ModelServer
) -> None:
    for number in range(120):
        client.add(
            f"Trip {number}: by train to Lisbon, room {number} of the hotel at the river, with two colleagues."
        )
    left = iter(range(3))

    def stalls(request: dict[str, Any]) -> Any:
        if next(left, None) is None:
            chat.hold.wait(60)
            return 500
        return _trips(request)

    chat.answers = [ByRequest(stalls)]
    asking = with_model(model_profile={"window": 2_048}, budget={"timeout_seconds": 5.0})
    answer = asking.ask("How many trips did we have in all?", ["memories"])
    count = len(answer.citations)
    assert 0 < count < 120
    assert answer.text.startswith(f"at least {count}:\n- ")
    assert any("were not read by the model: time ran out" in note for note in answer.notes)


def test_a_memory_planner_maps_every_memory_and_what_it_found_rows_in_is_returned(
    client: Recollect, with_model: WithModel, chat: ModelServer
) -> None:
    for text in _TRIPS:
        client.add(text)

    def answer(request: dict[str, Any]) -> Any:
        if "You read pieces of text" in json.dumps(request["messages"][0]):
            return _trips(request)
        if not any("tool_calls" in one for one in request["messages"]):
            return Said(calls=(("map_memories", {"question": "every trip"}),))
        return Said(calls=(("finish", {}),))

    chat.answers = [ByRequest(answer)]
    asked = with_model(root_model="openai:m", model_profile={"window": 200_000})
    results = asked.search("Summarize all trips across all teams since last year and compare them", limit=10)
    assert {one.text for one in results} >= {_TRIPS[0], _TRIPS[2], _TRIPS[4]}
    assert any("5 of 5 looked at" in str(request) for request in chat.asked)
    told = chat.shown(0)
    assert "Today is " in told
    assert "There are 5 memories, the oldest of " in told
    assert "user/root (the asker's own)" in told
    assert "agent, user, session, project, team, org, company" in told


def test_two_tools_of_one_step_see_the_same_documents(
    client: Recollect, with_model: WithModel, chat: ModelServer
) -> None:
    for number in range(30):
        put_document(client, f"page{number:02d}.md", f"# Page {number}\n\nThe lamp {number} is green.\n")

    def answer(request: dict[str, Any]) -> Any:
        if not any("tool_calls" in one for one in request["messages"]):
            pattern = {"doc_id": "*", "regex": "lamp"}
            return Said(calls=(("list_documents", {}), ("search_pattern", pattern)))
        return Said(calls=(("finish", {}),)) if request.get("tools") else {"blocks": []}

    chat.answers = [ByRequest(answer)]
    with_model(model_profile={"window": 200_000}).oracle_consult("Which lamps are green?", "thorough")
    told = [str(one) for one in chat.asked[1]["messages"] if one["role"] == "tool"]
    assert "30 documents" in told[0]
    assert "30 of 30 documents match" in told[1]

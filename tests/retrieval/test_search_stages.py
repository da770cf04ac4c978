"""Search end to end: every source finds, every signal counts, and what was asked is explained."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

import numpy as np
import pytest

from recollect import Recollect
from recollect.errors import InvalidInputError
from recollect.storage import scopes, spaces
from recollect.storage.filters import Moment
from recollect.storage.scopes import Caller
from recollect.storage.search import NO_MATCHES, Conditions, DenseRequest, TermCounts, fetch_candidates
from recollect.workspace import Workspace

NOW = datetime(2026, 6, 15, 12, tzinfo=UTC)


def add_noise(client: Recollect, how_many: int = 60, **fields: object) -> None:
    """Memories about nothing that the tests ask for."""
    things = (
        "heron",
        "kettle",
        "violin",
        "glacier",
        "saddle",
        "lantern",
        "quarry",
        "pebble",
        "thistle",
        "anvil",
    )
    report = client.add_many(
        [
            {
                "text": f"The {things[n % 10]} number {n} stood beside the {things[(n * 7 + 3) % 10]}.",
                **fields,
            }
            for n in range(how_many)
        ]
    )
    assert not report.errors


def test_repeats_make_room_for_others_however_many_there_are(client: Recollect) -> None:
    others = [
        "The ferry leaves from the north pier.",
        "The ferry is painted blue.",
        "A ferry ticket has two halves.",
    ]
    client.add_many(
        [{"text": f"The ferry to the island runs on Sundays{'!' * n}"} for n in range(8)]
        + [{"text": text} for text in others]
    )
    found = client.search("When does the ferry to the island run?", limit=4, threshold=0)
    assert len(found) == 4
    assert {hit.text for hit in found[1:]} == set(others)


def test_of_two_equal_notes_the_one_of_the_asked_time_comes_first(client: Recollect) -> None:
    texts = {
        month: f"The budget review of the Harbour project went well, said everybody in {name}."
        for month, name in ((3, "spring"), (5, "the canteen"))
    }
    for month, text in texts.items():
        client.add(text, created_at=datetime(2026, month, 10, tzinfo=UTC))
    for phrase, month in (("in March 2026", 3), ("last month", 5)):
        results = client.search(f"How did the budget review go {phrase}?", now=NOW, threshold=0, explain=True)
        assert results[0].text == texts[month]
        assert results[0].explanation is not None
        assert results[0].explanation.signals["temporal"] > 0


def test_a_question_for_a_period_alone_finds_what_happened_in_it(client: Recollect) -> None:
    add_noise(client, created_at=NOW - timedelta(days=400))
    client.add("Rahel repaired the pump in the cellar.", created_at=datetime(2026, 6, 13, 9, tzinfo=UTC))
    results = client.search("What happened last weekend?", now=NOW)
    assert [hit.text for hit in results] == ["Rahel repaired the pump in the cellar."]


def test_the_second_hop_is_found_by_what_the_first_hit_names(client: Recollect) -> None:
    add_noise(client)
    client.add("The Silver Tide is a film directed by Marguerite Aubrac.", entities=["The Silver Tide"])
    client.add(
        "Marguerite Aubrac is the daughter of the painter Odile Serrat.", entities=["Marguerite Aubrac"]
    )
    results = client.search(
        "Who is the mother of the director of the film The Silver Tide?", threshold=0, limit=2, explain=True
    )
    assert {hit.text.split()[0] for hit in results} == {"The", "Marguerite"}
    second = next(hit for hit in results if hit.text.startswith("Marguerite"))
    assert second.explanation is not None
    assert second.explanation.signals["linked"] > 0


def test_procedures_are_candidates_of_a_question_for_the_way_to_do_something(client: Recollect) -> None:
    add_noise(client, 120)
    client.add(
        None,
        type="procedural",
        trigger="a customer needs something urgently",
        action="call the depot first, then book the night courier",
    )
    results = client.search("How do I usually handle rush orders?", threshold=0, limit=50, explain=True)
    [procedure] = [hit for hit in results if hit.type == "procedural"]
    assert procedure.explanation is not None
    assert "type" in procedure.explanation.sources


def test_the_more_important_of_two_equal_notes_comes_first(client: Recollect) -> None:
    client.add("The vault door of branch 7 sticks.", importance=0.1)
    client.add("The vault door of branch 9 sticks.", importance=1.0)
    results = client.search("Which vault door sticks?", now=NOW, threshold=0)
    assert "9" in results[0].text


def test_feedback_moves_a_memory_up(client: Recollect) -> None:
    client.add("To open the vault of branch 7, warm the lock and turn the key twice.", type="procedural")
    client.add("To open the vault of branch 9, warm the lock and turn the key twice.", type="procedural")
    question = "How do I open the vault when the lock is cold?"
    last = client.search(question, threshold=0)[1].id
    for _ in range(8):
        asked = client.search(question, threshold=0)
        client.feedback(last, "helpful", query_id=asked.query_id)
    assert client.search(question, threshold=0)[0].id == last


def test_each_hit_says_which_sources_found_it(client: Recollect) -> None:
    client.add("Yusuf keeps the spare fuses in the blue drawer.")
    [hit] = client.search("Where are the spare fuses?", explain=True)
    assert hit.explanation is not None
    assert {"semantic", "lexical"} <= set(hit.explanation.sources)
    assert hit.explanation.sentence.startswith("recalled because it ")


def test_a_search_by_the_vector_index_finds_what_comparing_all_finds(
    client: Recollect, monkeypatch: pytest.MonkeyPatch
) -> None:
    add_noise(client, 80)
    key = client.add("The spare key of the boathouse lies under the third flowerpot.").id
    question = "Where is the spare key of the boathouse?"
    compared = client.search(question)
    assert compared[0].id == key
    monkeypatch.setattr(spaces, "EXACT_ROWS", 20)
    monkeypatch.setattr(spaces, "_SHARE_COST", 0)
    assert any("compared one by one" in note for note in client.search(question).notes)
    client.build_index()
    by_index = client.search(question)
    assert not any("compared one by one" in note for note in by_index.notes)
    assert [hit.id for hit in by_index] == [hit.id for hit in compared]


@pytest.mark.parametrize(
    ("vectors", "indexed", "breadth"),
    [
        (5_000, 5_000, None),
        (5_001, 5_001, 120),
        (100_000, 100_000, 120),
        # A small share of a large partition: the index would look at everybody else's first.
        (11_000, 1_000_000, None),
        # The larger the crowd, the wider the look around.
        (100_000, 1_000_000, 900),
        (10**8, 10**8, 1_000),
    ],
)
def test_how_near_vectors_are_found_depends_on_what_it_costs(
    vectors: int, indexed: int, breadth: int | None
) -> None:
    assert spaces.breadth(vectors, indexed) == breadth


def test_the_index_is_told_how_widely_to_look_around(client: Recollect) -> None:
    client.add("The spare key hangs behind the stove.")

    async def look() -> tuple[int, Any]:
        workspace = await Workspace.open(client.settings)
        try:
            space = (await workspace.open_space(client.tenant_context)).space
            async with workspace.store.transaction(client.tenant_context) as tx:
                caller = await scopes.describe_caller(tx)
                dense = DenseRequest(
                    vector=np.ones(space.dimensions, dtype=np.float32),
                    space_id=space.id,
                    dimensions=space.dimensions,
                    breadth=77,
                    limit=5,
                    anchors=0,
                    reach=0,
                )
                conditions = Conditions(moment=Moment.now(workspace.clock()))
                pool = await fetch_candidates(tx, caller, NO_MATCHES, dense, conditions)
                told = await tx.connection.execute("select current_setting('hnsw.ef_search') as breadth")
                return len(pool), await told.fetchone()
        finally:
            await workspace.close()

    assert asyncio.run(look()) == (1, {"breadth": "77"})


def test_counts_of_common_words_hold_while_there_are_about_as_many_memories(client: Recollect) -> None:
    async def describe() -> Caller:
        workspace = await Workspace.open(client.settings)
        try:
            async with workspace.store.transaction(client.tenant_context) as tx:
                return await scopes.describe_caller(tx)
        finally:
            await workspace.close()

    caller = replace(asyncio.run(describe()), memories=1_000)
    counts = TermCounts()
    counts.learn("t", caller, {"kiln": 400, "seal": 3}, 300)
    assert counts.known("t", replace(caller, memories=1_015), ["kiln", "seal"], 300) == [400, None]
    assert counts.known("t", replace(caller, memories=1_100), ["kiln"], 300) == [None]
    assert counts.known("t", replace(caller, scope_ids=[uuid4()]), ["kiln"], 300) == [None]
    assert counts.known("t", caller, ["kiln"], 500) == [None]
    assert counts.known("other", caller, ["kiln"], 300) == [None]


def test_timings_name_every_stage(client: Recollect) -> None:
    client.add("Yusuf keeps the spare fuses in the blue drawer.")
    timings = client.search("Where are the spare fuses?").timings_ms
    assert {"understand", "embed", "generate", "rank", "show", "total"} <= set(timings)
    assert timings["total"] >= timings["rank"] > 0


def test_a_comparison_groups_hits_by_the_thing_they_speak_of(client: Recollect) -> None:
    client.add("Acme Corp pays within thirty days.", entities=["Acme Corp"])
    client.add("Globex pays within sixty days.", entities=["Globex"])
    results = client.search("Compare how Acme Corp and Globex pay", threshold=0)
    assert {hit.group for hit in results} == {"Acme Corp", "Globex"}


HOSTILE = [
    "(((((", "a|b*c+?{1,}", "[^\\]", "'; drop table recollect.memory; --", "%s %(tenant)s {where}", "\\", '"',
    "$1 $$ $$", "你好，我们上个月讨论了什么？", "ما الذي ناقشناه الشهر الماضي؟", "🎉🎉 party? 🎂", "между 2020 и 2019",
    "between 2024 and 2020", "after June and before March", "last month and not last month",
    "\u202e\u200bright to left",
    "what is " + "very " * 5_000 + "long?", " ".join(f"w{n}" for n in range(10_000)),
]  # fmt: skip


@pytest.mark.parametrize("query", HOSTILE, ids=range(len(HOSTILE)))
def test_any_query_gets_results_or_a_clear_answer(query: str, client: Recollect) -> None:
    client.add("We discussed the party in June.")
    assert len(client.search(query, threshold=0, explain=True)) <= 10
    assert client.context(query, max_tokens=200).tokens <= 200
    assert client.explain(query).query


def test_a_query_that_is_a_document_is_refused(client: Recollect) -> None:
    with pytest.raises(InvalidInputError, match="limit"):
        client.search("long " * 20_000)


def test_what_somebody_else_keeps_never_shows_through_links_or_entities(
    as_user: Callable[..., Recollect],
) -> None:
    ana, bob = as_user("ana"), as_user("bob")
    ana.add("The Silver Tide was directed by Marguerite Aubrac.", entities=["The Silver Tide"])
    bob.add("Marguerite Aubrac owes Bob four hundred francs.", entities=["Marguerite Aubrac"])
    found = ana.search("What about the director of The Silver Tide?", threshold=0, limit=50)
    assert {hit.scope for hit in found} == {"user/ana"}
    assert not [e for e in ana.explain("Tell me about Marguerite Aubrac").entities if e.method == "alias"]

"""Newer facts retire older ones, on the public path: when, why, how it is undone, and what must stay."""

from __future__ import annotations

import threading
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import psycopg
import pytest

from recollect import Memory, Recollect


def fact(client: Recollect, text: str | None, **fields: Any) -> Memory:
    stored = client.add(text, type="semantic", **fields)
    assert isinstance(stored, Memory)
    return stored


def believed(client: Recollect) -> set[str]:
    return {memory.text for memory in client.list(types=["semantic"])}


def test_the_parts_of_a_fact_are_read_from_its_text(client: Recollect) -> None:
    stored = fact(client, "Ana works at Acme")
    assert (stored.subject, stored.predicate, stored.object) == ("Ana", "works at", "Acme")
    episode = client.add("Ana works at Acme, I heard today")
    assert isinstance(episode, Memory)
    assert (episode.type.value, episode.subject) == ("episodic", None)


def test_parts_that_the_caller_gave_are_kept(client: Recollect) -> None:
    stored = fact(client, "Ana works at Acme", subject="Ana Silva", predicate="employer", object="Acme Inc")
    assert (stored.subject, stored.predicate, stored.object) == ("Ana Silva", "employer", "Acme Inc")


def test_my_means_the_caller_or_the_speaker(as_user: Callable[..., Recollect]) -> None:
    ana = as_user("ana")
    assert fact(ana, "My favourite colour is green").subject == "ana"
    assert fact(ana, "My favourite colour is red", speaker="Bob").subject == "Bob"
    assert believed(ana) == {"My favourite colour is green", "My favourite colour is red"}


def test_a_newer_value_retires_the_older_one_and_history_says_why(client: Recollect) -> None:
    old = fact(client, "Ana lives in Porto.")
    new = fact(client, "Ana moved to Lyon.")

    retired = client.get(old.id)
    assert (retired.status.value, retired.superseded_by) == ("superseded", new.id)
    assert believed(client) == {"Ana moved to Lyon."}
    last = client.history(old.id)[-1]
    assert last.event == "superseded"
    assert last.before is not None
    assert last.before["reason"] == "'lives in' has one value at a time"


def test_restore_undoes_it(client: Recollect) -> None:
    old = fact(client, "Ana lives in Porto.")
    fact(client, "Ana moved to Lyon.")
    client.restore(old.id)

    assert believed(client) == {"Ana lives in Porto.", "Ana moved to Lyon."}
    hits = client.search("Where does Ana live?", threshold=0)
    assert {hit.text for hit in hits} >= {"Ana lives in Porto.", "Ana moved to Lyon."}


def test_what_was_believed_then_is_still_told(client: Recollect) -> None:
    fact(client, "Ana lives in Porto.", created_at="2026-01-10")
    fact(client, "Ana moved to Lyon.", created_at="2026-02-20")

    then = client.list(types=["semantic"], as_of="2026-02-01")
    assert [memory.text for memory in then] == ["Ana lives in Porto."]


def test_given_parts_are_compared_by_meaning(client: Recollect) -> None:
    fact(client, None, subject="Carla", predicate="works_at", object="Initech")
    fact(client, None, subject="carla", predicate="employer", object="Umbra")
    assert believed(client) == {"carla employer Umbra"}


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Ana Silva lives in Porto.", "Ana Souza lives in Lyon."),
        ("Dana's work email is d@corp.example.", "Dana's private email is d@home.example."),
        ("Ana works at Acme.", "Ana worked at Globex in 2019."),
        ("Ana lives in Porto.", "Ana will move to Lyon."),
        ("Ana lives in Porto.", "Ana is in Paris this week."),
        ("Ana likes sushi.", "Ana likes tacos."),
        ("Bob works at Acme.", "Does Bob work at Globex?"),
        ("Ana works at Acme.", "Ana works for Acme Inc."),
    ],
)
def test_a_look_alike_retires_nothing(client: Recollect, old: str, new: str) -> None:
    fact(client, old)
    fact(client, new)
    assert believed(client) == {old, new}


def test_the_same_fact_in_other_words_strengthens_the_first(client: Recollect) -> None:
    first = fact(client, "Ana works at Acme.")
    fact(client, "Ana works for Acme Inc.")
    assert client.get(first.id).use_count == 1
    assert client.history(first.id)[-1].event == "reinforced"


def test_older_information_that_arrives_late_is_history_at_once(client: Recollect) -> None:
    current = fact(client, "Bob works at Globex.", created_at="2026-05-01")
    late = fact(client, "Bob works at Acme.", created_at="2024-02-01")

    assert client.get(current.id).superseded_by is None
    assert client.get(late.id).superseded_by == current.id


def test_the_order_in_which_facts_arrive_does_not_matter(as_user: Callable[..., Recollect]) -> None:
    said = [
        {"text": f"Bob lives in {town}.", "type": "semantic", "created_at": f"2026-0{month}-01"}
        for month, town in enumerate(["Rome", "Oslo", "Turin", "Basel"], 1)
    ]
    for user, order in (
        ("forwards", said),
        ("backwards", said[::-1]),
        ("one", [said[2], said[3], said[0], said[1]]),
    ):
        client = as_user(user)
        client.add_many(order)
        assert believed(client) == {"Bob lives in Basel."}


def test_a_fact_that_begins_later_retires_nothing_yet(client: Recollect) -> None:
    fact(client, None, subject="Ana", predicate="lives in", object="Porto")
    fact(client, None, subject="Ana", predicate="lives in", object="Lyon", valid_from="2999-01-01")
    assert len(believed(client)) == 2


def test_scopes_do_not_correct_each_other(client: Recollect) -> None:
    for project in ("apollo", "hermes"):
        client.scopes.create(f"project/{project}")
    fact(client, "The stand-up is at 9:15.", scope="project/apollo")
    fact(client, "The stand-up is at 9:30.", scope="project/hermes")
    fact(client, "The stand-up is at 9:45.")
    assert len(believed(client)) == 3


def test_turns_and_episodes_are_never_retired(client: Recollect) -> None:
    client.add("Ana lives in Porto.")
    client.add([{"role": "user", "content": "I live in Porto."}], conversation="c")
    fact(client, "Ana moved to Lyon.")
    assert {m.text for m in client.list()} == {
        "Ana lives in Porto.",
        "I live in Porto.",
        "Ana moved to Lyon.",
    }


def test_a_contradiction_is_kept_and_flagged_until_one_side_is_gone(client: Recollect) -> None:
    yes = fact(client, "Ana likes sushi.")
    no = fact(client, "Ana does not like sushi.")

    [conflict] = client.conflicts()
    assert (conflict.memory.id, conflict.other.id) == (no.id, yes.id)
    assert "affirms" in conflict.reason
    client.supersede(yes.id, by=no.id)
    assert client.conflicts() == []


def test_a_deleted_memory_leaves_no_conflict_behind(
    client: Recollect, owner_conninfo: str, tenant_id: str
) -> None:
    fact(client, "Ana likes sushi.")
    no = fact(client, "Ana does not like sushi.")
    receipt = client.delete(no.id)

    assert receipt.rows["conflict"] == 1
    with psycopg.connect(owner_conninfo) as connection:
        [count] = connection.execute(
            "select count(*) from recollect.conflict where tenant_id = %s", [tenant_id]
        ).fetchone() or [None]
    assert count == 0


def test_others_do_not_see_a_user_s_conflicts(as_user: Callable[..., Recollect]) -> None:
    ana, bob = as_user("ana"), as_user("bob")
    fact(ana, "Eva likes sushi.")
    fact(ana, "Eva does not like sushi.")
    assert len(ana.conflicts()) == 1
    assert bob.conflicts() == []


def test_a_report_of_many_says_what_was_retired(client: Recollect) -> None:
    fact(client, "Ana lives in Porto.")
    report = client.add_many([{"text": "Ana moved to Lyon.", "type": "semantic"}])
    assert [(d.kind, d.memory_id) for d in report.decisions] == [("supersede", report.ids[0])]


def test_an_import_brings_facts_back_as_they_were(client: Recollect, as_user: Any, tmp_path: Any) -> None:
    old = fact(client, "Ana lives in Porto.")
    fact(client, "Ana moved to Lyon.")
    client.restore(old.id)
    client.export_jsonl(tmp_path / "all.jsonl")
    client.delete(old.id)
    client.import_jsonl(tmp_path / "all.jsonl")
    assert believed(client) == {"Ana lives in Porto.", "Ana moved to Lyon."}


def test_many_adders_at_once_leave_exactly_one_current_fact(client: Recollect) -> None:
    towns = ["Rome", "Oslo", "Turin", "Basel", "Porto", "Lyon", "Bonn", "Graz"]
    start = threading.Barrier(len(towns))

    def state(town: str) -> None:
        start.wait()
        client.add(f"Bob lives in {town}.", type="semantic")

    threads = [threading.Thread(target=state, args=[town]) for town in towns]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert len(believed(client)) == 1
    assert len(client.list(types=["semantic"], include_superseded=True)) == len(towns)


def test_a_subject_too_long_for_the_index_is_stored_all_the_same(client: Recollect) -> None:
    stored = fact(client, None, subject="x " * 4_000, predicate="lives in", object="Porto")
    assert client.get(stored.id).object == "Porto"


def test_facts_of_a_subject_are_found_through_the_index(
    client: Recollect, owner_conninfo: str, tenant_id: str
) -> None:
    client.add_many([{"text": f"note {n}", "type": "semantic"} for n in range(300)])
    fact(client, "Ana lives in Porto.")
    with psycopg.connect(owner_conninfo) as connection:
        connection.execute("set local role recollect_app")
        connection.execute("select set_config('recollect.tenant', %s, true)", [tenant_id])
        connection.execute(
            'select set_config(\'recollect.caller\', \'{"user": "root", "admin": true}\', true)'
        )
        connection.execute("set local enable_seqscan = off")
        plan = connection.execute(
            "explain select 1 from recollect.memory m where m.tenant_id = %s and m.scope_id = %s"
            " and m.subject = any(%s) and length(m.subject) <= 200 and m.superseded_at is null",
            [tenant_id, "00000000-0000-0000-0000-000000000001", ["Ana", "ana"]],
        ).fetchall()
    assert "subject" in "".join(line for [line] in plan if "Index Cond" in line)


def test_what_was_replaced_is_not_found_by_who_has_an_earlier_clock(client: Recollect) -> None:
    old = client.add("Ana keeps the kettle in locker seven.")
    new = client.add("Ivo keeps the register.")
    assert isinstance(old, Memory)
    assert isinstance(new, Memory)
    earlier = old.created_at - timedelta(hours=1)
    assert [hit.id for hit in client.search("Where does Ana keep the kettle?", now=earlier)] == [old.id]
    client.supersede(old.id, by=new.id)
    assert [hit.id for hit in client.search("Where does Ana keep the kettle?", now=earlier)] == []

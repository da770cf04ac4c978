"""Updating, superseding, restoring: what changes, what stays, what the past still says."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import psycopg
import pytest

from recollect import Memory, Recollect, RecollectError
from recollect.errors import (
    ConflictError,
    ForbiddenError,
    InvalidInputError,
    InvalidTextError,
    MemoryNotFoundError,
)

if TYPE_CHECKING:
    from tests.memories.conftest import Clock

Texts = Callable[..., list[str]]


def one(memory: Memory | list[Memory]) -> Memory:
    assert isinstance(memory, Memory)
    return memory


@pytest.mark.parametrize(
    ("field", "value", "stored"),
    [
        ("importance", 1, 1.0),
        ("importance", None, 0.5),
        ("metadata", {"b": [2]}, {"b": [2]}),
        ("metadata", None, {}),
        ("entities", ["Ben", "Ben"], ("Ben",)),
        ("entities", None, ()),
        ("subject", "s", "s"),
        ("predicate", "p", "p"),
        ("object", "o", "o"),
        ("trigger", "t", "t"),
        ("action", "a", "a"),
        ("source", "elsewhere", "elsewhere"),
        ("source", None, None),
        ("valid_from", "2026-01-01", datetime(2026, 1, 1, tzinfo=UTC)),
        ("valid_to", None, None),
        ("expires_at", "2090-01-01", datetime(2090, 1, 1, tzinfo=UTC)),
    ],
)
def test_an_update_changes_one_field_and_keeps_the_others(
    client: Recollect, field: str, value: Any, stored: Any
) -> None:
    before = one(
        client.add(
            "x", metadata={"a": 1}, entities=["Ana"], source="here", valid_to="2026-06-01", importance=0.1
        )
    )
    after = client.update(before.id, **{field: value})
    assert getattr(after, field) == stored
    assert client.get(before.id) == after
    for name in Memory.__dataclass_fields__:
        if name not in {field, "updated_at"}:
            assert getattr(after, name) == getattr(before, name), name
    event = client.history(before.id)[-1]
    old = getattr(before, field)
    old = list(old) if isinstance(old, tuple) else old
    assert event.event == "updated"
    assert event.before == {field: old.isoformat() if isinstance(old, datetime) else old}


def test_entities_of_an_update_are_the_ones_found_by_filters(client: Recollect) -> None:
    memory = one(client.add("x", entities=["Ana"]))
    client.update(memory.id, entities=["Ben"])
    assert len(client.list(filters={"entity": "ana"})) == 0
    assert len(client.list(filters={"entity": "ben"})) == 1


def test_a_changed_text_keeps_its_id_and_the_past_keeps_the_old_one(
    timed: Recollect, clock: Clock, texts: Texts
) -> None:
    memory = one(timed.add("the office is in Bonn", entities=["Bonn"], metadata={"v": 1}))
    before = clock.now
    clock.forward(days=1)
    changed = timed.update(memory.id, text="the office is in Köln", metadata={"v": 2})
    assert (changed.id, changed.text, changed.created_at) == (
        memory.id,
        "the office is in Köln",
        memory.created_at,
    )
    assert texts(timed) == ["the office is in Köln"]
    assert texts(timed, as_of=before) == ["the office is in Bonn"]
    assert texts(timed, as_of=before, filters={"v": 1, "entity": "Bonn"}) == ["the office is in Bonn"]
    assert texts(timed, as_of=clock.now) == ["the office is in Köln"]
    assert sorted(texts(timed, include_superseded=True)) == ["the office is in Bonn", "the office is in Köln"]
    events = timed.history(memory.id)
    assert [event.event for event in events] == ["added", "updated"]
    assert events[1].before == {"text": "the office is in Bonn", "metadata": {"v": 1}}
    assert (events[1].at, events[1].by) == (clock.now, "root")


def test_search_follows_a_changed_text(timed: Recollect, clock: Clock) -> None:
    memory = one(timed.add("the parrot is called Humphrey"))
    before = clock.now
    clock.forward(days=1)
    timed.update(memory.id, text="the cat is called Gwendolyn")
    assert [hit.text for hit in timed.search("Gwendolyn", threshold=0)] == ["the cat is called Gwendolyn"]
    assert "Humphrey" not in str([hit.text for hit in timed.search("Humphrey", threshold=0)])
    old = timed.search("Humphrey", threshold=0, as_of=before)
    assert [hit.text for hit in old] == ["the parrot is called Humphrey"]


def test_many_updates_leave_a_trail_that_as_of_walks(timed: Recollect, clock: Clock, texts: Texts) -> None:
    memory = one(timed.add("version 0"))
    times = [clock.now]
    for number in range(1, 6):
        clock.forward(hours=1)
        timed.update(memory.id, text=f"version {number}")
        times.append(clock.now)
    assert [texts(timed, as_of=at) for at in times] == [[f"version {n}"] for n in range(6)]
    befores = [event.before for event in timed.history(memory.id)[1:]]
    assert befores == [{"text": f"version {n}"} for n in range(5)]


def test_a_text_composed_of_parts_follows_them(client: Recollect) -> None:
    fact = one(client.add(None, type="semantic", subject="Ana", predicate="works_at", object="Acme"))
    assert client.update(fact.id, object="Globex").text == "Ana works at Globex"
    own = one(client.add("Ana likes tea.", type="semantic", subject="Ana", predicate="likes", object="tea"))
    assert client.update(own.id, object="coffee").text == "Ana likes tea."


def test_a_text_that_differs_in_blanks_only_may_be_corrected(client: Recollect) -> None:
    memory = one(client.add("two  blanks"))
    assert client.update(memory.id, text="two blanks").text == "two blanks"


def test_a_text_that_exists_in_the_scope_is_a_conflict(client: Recollect) -> None:
    other = one(client.add("taken"))
    memory = one(client.add("free"))
    with pytest.raises(ConflictError, match=str(other.id)):
        client.update(memory.id, text="taken")
    assert client.get(memory.id).text == "free"
    assert client.update(memory.id, text="free", importance=0.9).importance == 0.9


def test_a_turn_may_say_what_another_memory_says(client: Recollect) -> None:
    client.add("yes")
    turn = one(client.add("no", conversation="c1", speaker="Ana"))
    assert client.update(turn.id, text="yes").position == 0


@pytest.mark.parametrize(
    ("changes", "error"),
    [
        ({}, InvalidInputError),
        ({"text": ""}, InvalidTextError),
        ({"text": None}, InvalidTextError),
        ({"text": "nul \x00"}, InvalidTextError),
        ({"importance": 1.5}, InvalidInputError),
        ({"importance": float("nan")}, InvalidInputError),
        ({"importance": True}, InvalidInputError),
        ({"metadata": [1]}, InvalidInputError),
        ({"metadata": {"a": {1}}}, InvalidInputError),
        ({"entities": "Ana"}, InvalidInputError),
        ({"subject": ""}, InvalidTextError),
        ({"valid_from": "2026-07-01"}, InvalidInputError),
        ({"valid_to": "soon"}, InvalidInputError),
        ({"expires_at": "1999-01-01"}, InvalidInputError),
    ],
    ids=repr,
)
def test_an_update_that_makes_no_sense_changes_nothing(
    client: Recollect, changes: dict[str, Any], error: type[RecollectError]
) -> None:
    memory = one(client.add("x", valid_to="2026-06-01"))
    with pytest.raises(error):
        client.update(memory.id, **changes)
    assert client.get(memory.id) == memory
    assert len(client.history(memory.id)) == 1


def test_changing_what_is_not_there_or_not_writable_is_refused(
    client: Recollect, as_user: Callable[..., Recollect]
) -> None:
    with pytest.raises(MemoryNotFoundError):
        client.update(uuid4(), importance=1)
    with pytest.raises(InvalidInputError, match="is not a UUID"):
        client.get("17")
    client.scopes.create("team/api")
    client.members.add("ana", "team/api")
    ana = as_user("ana")
    rule = one(client.add("a rule", layer="company"))
    assert ana.get(rule.id) == rule
    for change in ({"importance": 1.0}, {"text": "another rule"}):
        with pytest.raises(ForbiddenError, match="may be read but not changed"):
            ana.update(rule.id, **change)  # type: ignore[arg-type]
    hidden = one(client.add("hidden"))
    with pytest.raises(MemoryNotFoundError):
        ana.update(hidden.id, importance=1)


def test_a_superseded_memory_can_be_corrected_and_stays_superseded(client: Recollect, texts: Texts) -> None:
    old, new = one(client.add("old")), one(client.add("new"))
    client.supersede(old.id, by=new.id)
    changed = client.update(old.id, text="older", importance=0.9)
    assert (changed.status, changed.text, changed.superseded_by) == ("superseded", "older", new.id)
    assert texts(client) == ["new"]
    assert client.restore(old.id).text == "older"
    assert sorted(texts(client)) == ["new", "older"]


def test_concurrent_updates_all_happen_one_after_the_other(client: Recollect) -> None:
    memory = one(client.add("start"))
    with ThreadPoolExecutor(4) as pool:
        jobs = [pool.submit(client.update, memory.id, text=f"text {n}", metadata={"n": n}) for n in range(12)]
        jobs += [pool.submit(client.update, memory.id, importance=n / 12) for n in range(12)]
        jobs += [pool.submit(client.add, "bystander") for n in range(6)]
        for job in jobs:
            job.result()
    final = client.get(memory.id)
    assert final.text == f"text {final.metadata['n']}"
    events = [event for event in client.history(memory.id) if event.event == "updated"]
    assert len(events) == 24
    seen = [event.before["text"] for event in events if event.before and "text" in event.before]
    assert sorted([*seen, final.text]) == sorted(["start", *(f"text {n}" for n in range(12))])


def test_counts_stay_right_through_every_kind_of_change(client: Recollect, owner_conninfo: str) -> None:
    a, b, c = (one(client.add(f"memory number {n} about parrots")) for n in range(3))
    client.update(a.id, text="something shorter")
    client.supersede(b.id, by=c.id)
    client.update(b.id, text="a superseded text that became quite a bit longer than before")
    client.restore(b.id)
    client.add("memory number 2 about parrots")
    client.delete(c.id, vacuum=False)
    with psycopg.connect(owner_conninfo) as connection:
        counted = connection.execute(
            """
            select (select count(*) from recollect.memory m where m.tenant_id = y.tenant_id),
                   (select count(*) from recollect.embedding e where e.tenant_id = y.tenant_id),
                   (select coalesce(sum(tf), 0) from recollect.posting p where p.tenant_id = y.tenant_id),
                   y.memories, y.vectors, y.terms
            from recollect.tally y where y.tenant_id = %s
            """,
            [client.tenant_context.tenant_id],
        ).fetchall()
    assert len(counted) == 1
    assert counted[0][:3] == counted[0][3:]
    assert counted[0][0] == 3


# Superseding ---------------------------------------------------------------------------------------


def test_a_superseded_memory_leaves_the_list_and_can_be_restored(
    timed: Recollect, clock: Clock, texts: Texts
) -> None:
    old = one(timed.add("the code is 1"))
    learned = clock.now
    clock.forward(days=1)
    new = one(timed.add("the code is 2"))
    clock.forward(days=1)
    retired = timed.supersede(old.id, by=new.id)
    assert (retired.status, retired.superseded_by, retired.superseded_at) == (
        "superseded",
        new.id,
        new.created_at,
    )
    assert texts(timed) == ["the code is 2"]
    assert texts(timed, as_of=learned) == ["the code is 1"]
    assert texts(timed, as_of=new.created_at) == ["the code is 2"]
    assert texts(timed, include_superseded=True) == ["the code is 2", "the code is 1"]
    assert texts(timed, include_superseded=True, filters={"status": "superseded"}) == ["the code is 1"]
    assert [hit.id for hit in timed.search("code", threshold=0)] == [new.id]

    back = timed.restore(old.id)
    assert (back.status, back.superseded_by, back.superseded_at) == ("active", None, None)
    assert texts(timed) == ["the code is 2", "the code is 1"]
    assert {hit.id for hit in timed.search("code", threshold=0)} == {old.id, new.id}
    assert [event.event for event in timed.history(old.id)] == ["added", "superseded", "restored"]


def test_an_older_successor_ends_belief_now_not_in_the_past(timed: Recollect, clock: Clock) -> None:
    clock.forward(days=-10)
    successor = one(timed.add("what we knew all along"))
    clock.forward(days=10)
    mistaken = one(timed.add("a mistaken belief"))
    clock.forward(days=1)
    assert timed.supersede(mistaken.id, by=successor.id).superseded_at == clock.now


def test_superseding_makes_chains_but_no_circles(client: Recollect) -> None:
    a, b, c = (one(client.add(t)) for t in "abc")
    client.supersede(a.id, by=b.id)
    client.supersede(b.id, by=c.id)
    assert [client.get(m.id).superseded_by for m in (a, b, c)] == [b.id, c.id, None]
    with pytest.raises(ConflictError, match="is itself superseded"):
        client.supersede(c.id, by=a.id)
    with pytest.raises(ConflictError, match="superseded already"):
        client.supersede(a.id, by=c.id)
    with pytest.raises(InvalidInputError, match="supersede itself"):
        client.supersede(c.id, by=c.id)
    with pytest.raises(MemoryNotFoundError):
        client.supersede(c.id, by=uuid4())
    with pytest.raises(MemoryNotFoundError):
        client.supersede(uuid4(), by=c.id)
    with pytest.raises(ConflictError, match="nothing to restore"):
        client.restore(c.id)


def test_two_memories_never_retire_each_other(client: Recollect) -> None:
    for number in range(5):
        a, b = one(client.add(f"a {number}")), one(client.add(f"b {number}"))
        with ThreadPoolExecutor(2) as pool:
            jobs = [
                pool.submit(client.supersede, a.id, by=b.id),
                pool.submit(client.supersede, b.id, by=a.id),
            ]
        failures = [job.exception() for job in jobs if job.exception() is not None]
        assert len(failures) == 1
        assert isinstance(failures[0], ConflictError)


def test_a_text_whose_memory_is_superseded_may_be_learned_anew(client: Recollect) -> None:
    old, new = one(client.add("tea")), one(client.add("coffee"))
    client.supersede(old.id, by=new.id)
    again = one(client.add("tea"))
    assert again.id != old.id
    with pytest.raises(ConflictError, match=f"active again as memory {again.id}"):
        client.restore(old.id)


def test_a_former_version_can_be_restored_as_a_memory_of_its_own(client: Recollect, texts: Texts) -> None:
    memory = one(client.add("first"))
    client.update(memory.id, text="second")
    [version] = [m for m in client.list(include_superseded=True) if m.text == "first"]
    assert version.superseded_by == memory.id
    client.restore(version.id)
    assert sorted(texts(client)) == ["first", "second"]


def test_history_tells_who_changed_what(client: Recollect, as_user: Callable[..., Recollect]) -> None:
    client.scopes.create("team/api")
    for user in ("ana", "ben"):
        client.members.add(user, "team/api")
    memory = one(as_user("ana").add("x", layer="team", scope="team/api"))
    as_user("ben").update(memory.id, importance=0.9)
    as_user(None, agent_id="bot", roles=("lead:team/api",)).update(memory.id, importance=0.1)
    events = as_user("ana").history(memory.id)
    assert [(event.event, event.by) for event in events] == [
        ("added", None),
        ("updated", "ben"),
        ("updated", "bot"),
    ]
    with pytest.raises(MemoryNotFoundError):
        as_user("eve").history(memory.id)

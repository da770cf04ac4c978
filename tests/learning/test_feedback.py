"""Feedback through the front door: recorded, learned from, and refused where it makes no sense."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from recollect import Recollect
from recollect.domain.ids import new_id
from recollect.errors import ForbiddenError, InvalidInputError, MemoryNotFoundError, NotFoundError

Rows = Callable[..., list[dict[str, Any]]]
Views = Callable[..., Recollect]


@pytest.fixture
def ana(as_user: Views) -> Recollect:
    return as_user("ana")


@pytest.mark.parametrize(
    ("kind", "score"),
    [("helpful", 1.0), ("irrelevant", -0.5), ("outdated", -0.7), ("inaccurate", -1.0), ("duplicate", -0.3)],
)
def test_every_kind_is_recorded_with_a_score_and_moves_utility_its_way(
    ana: Recollect, rows: Rows, kind: str, score: float
) -> None:
    memory = ana.add("the launch is on Friday")
    given = ana.feedback(memory.id, kind)
    assert (given.kind, given.score, given.applied) == (kind, score, True)
    [stored] = rows("feedback")
    assert (stored["memory_id"], stored["user_id"], stored["kind"], stored["score"]) == (
        memory.id, "ana", kind, score,
    )  # fmt: skip
    utility = ana.get(memory.id).utility
    assert utility * score > 0
    assert ana.get(memory.id).use_count == memory.use_count


def test_a_score_of_ones_own_replaces_the_kinds(ana: Recollect) -> None:
    memory = ana.add("the launch is on Friday")
    assert ana.feedback(str(memory.id), "helpful", score=0.25).score == 0.25


@pytest.mark.parametrize("score", [1.5, -2, float("nan"), True, "1"])
def test_a_score_outside_minus_one_to_one_is_refused(ana: Recollect, rows: Rows, score: Any) -> None:
    memory = ana.add("the launch is on Friday")
    with pytest.raises(InvalidInputError, match="score"):
        ana.feedback(memory.id, "helpful", score=score)
    assert rows("feedback") == []


def test_an_unknown_kind_is_refused_with_those_there_are(ana: Recollect) -> None:
    memory = ana.add("the launch is on Friday")
    with pytest.raises(InvalidInputError, match="helpful, irrelevant, outdated, inaccurate, duplicate"):
        ana.feedback(memory.id, "nice")


def test_a_memory_that_is_not_there_or_not_ones_own_is_not_found(ana: Recollect, as_user: Views) -> None:
    hidden = as_user("bob").add("bob's own")
    for id in (new_id(), hidden.id):
        with pytest.raises(MemoryNotFoundError):
            ana.feedback(id, "helpful")
    with pytest.raises(InvalidInputError, match="memory_id"):
        ana.feedback("42", "helpful")


def test_a_search_nobody_made_is_not_found(ana: Recollect, rows: Rows) -> None:
    memory = ana.add("the launch is on Friday")
    with pytest.raises(NotFoundError, match="no search"):
        ana.feedback(memory.id, "helpful", query_id=new_id())
    assert rows("feedback") == []
    assert ana.get(memory.id).utility == 0


def test_a_caller_without_a_name_has_no_opinion(as_user: Views, client: Recollect) -> None:
    memory = client.add("the launch is on Friday", layer="company")
    with pytest.raises(InvalidInputError, match="user_id"):
        as_user(None, agent_id="bot", roles=("admin",)).feedback(memory.id, "helpful")


def test_saying_the_same_again_counts_once(ana: Recollect, rows: Rows) -> None:
    memory = ana.add("the launch is on Friday")
    first = ana.feedback(memory.id, "helpful")
    once = ana.get(memory.id).utility
    again = ana.feedback(memory.id, "helpful", score=0.5)
    assert again.id == first.id
    assert ana.get(memory.id).utility == once
    assert [row["score"] for row in rows("feedback")] == [0.5]
    ana.feedback(memory.id, "outdated")
    assert len(rows("feedback")) == 2


def test_utility_never_leaves_minus_one_to_one(as_user: Views, client: Recollect) -> None:
    client.scopes.create("team/api")
    memory = client.add("the launch is on Friday", scope="team/api")
    for number in range(15):
        client.members.add(f"u{number}", "team/api")
        as_user(f"u{number}").feedback(memory.id, "inaccurate")
    assert client.get(memory.id).utility == pytest.approx(-1.0)


def test_a_readers_feedback_waits_for_somebody_who_may_write(
    as_user: Views, client: Recollect, rows: Rows
) -> None:
    client.scopes.create("team/api")
    client.members.add("ana", "team/api")
    memory = client.add("our office is in Ghent", layer="company")
    given = as_user("ana").feedback(memory.id, "helpful")
    assert not given.applied
    assert client.get(memory.id).utility == 0
    report = client.learning.train()
    assert report.rewarded == 1
    assert client.get(memory.id).utility > 0
    assert [row["applied"] for row in rows("feedback")] == [True]
    settled = client.get(memory.id).utility
    client.learning.train()
    assert client.get(memory.id).utility == settled


def test_feedback_leaves_history_and_vectors_alone(ana: Recollect, rows: Rows) -> None:
    memory = ana.add("the launch is on Friday")
    before = rows("embedding", "memory_id")
    ana.feedback(memory.id, "helpful")
    assert [entry.event for entry in ana.history(memory.id)] == ["added"]
    assert [(r["memory_id"], r["since"], r["until"]) for r in rows("embedding", "memory_id")] == [
        (r["memory_id"], r["since"], r["until"]) for r in before
    ]
    assert ana.get(memory.id).updated_at == memory.updated_at


def test_deleting_a_memory_erases_everybodys_feedback_about_it(
    as_user: Views, client: Recollect, rows: Rows
) -> None:
    memory, other = client.add("in Ghent", layer="company"), client.add("in Bruges", layer="company")
    client.scopes.create("team/api")
    for name in ("ana", "bob"):
        client.members.add(name, "team/api")
        as_user(name).feedback(memory.id, "helpful")
        as_user(name).feedback(other.id, "helpful")
    receipt = client.delete(memory.id, vacuum=False)
    assert receipt.rows["feedback"] == 2
    assert {row["memory_id"] for row in rows("feedback")} == {other.id}


def test_a_lead_who_deletes_reaches_feedback_it_can_not_see(
    as_user: Views, client: Recollect, rows: Rows
) -> None:
    client.scopes.create("team/api")
    client.members.add("ana", "team/api")
    memory = client.add("in Ghent", scope="team/api")
    as_user("ana").feedback(memory.id, "helpful")
    lead = as_user("lea", roles=("lead:team/api",))
    assert lead.delete(memory.id, vacuum=False).rows["feedback"] == 1
    assert rows("feedback") == []


def test_forgetting_a_user_erases_what_they_said(as_user: Views, client: Recollect, rows: Rows) -> None:
    memory = client.add("in Ghent", layer="company")
    client.scopes.create("team/api")
    for name in ("ana", "bob"):
        client.members.add(name, "team/api")
        as_user(name).feedback(memory.id, "helpful")
    receipt = as_user("ana").forget_user("ana")
    assert receipt.rows["feedback"] == 1
    assert [row["user_id"] for row in rows("feedback")] == ["bob"]


def test_only_an_admin_reads_and_steers_what_is_learned(ana: Recollect) -> None:
    calls: list[Callable[[], object]] = [
        ana.learning.status,
        ana.learning.train,
        ana.learning.report,
        ana.learning.reset,
        lambda: ana.learning.start_experiment("x", {"a": {}, "b": {}}),
        lambda: ana.learning.stop_experiment("x"),
    ]
    for call in calls:
        with pytest.raises(ForbiddenError, match="admin"):
            call()


def test_status_counts_what_there_is(client: Recollect) -> None:
    memory = client.add("the launch is on Friday")
    client.feedback(memory.id, "helpful")
    client.feedback(memory.id, "duplicate")
    status = client.learning.status()
    assert status.enabled
    assert status.feedback == {"helpful": 1, "duplicate": 1}
    assert status.needed == 1000
    assert (status.log.dropped, status.log.failed) == (0, 0)


def test_reset_levels_utility_and_forgets_events_only_when_asked(client: Recollect, rows: Rows) -> None:
    memory = client.add("the launch is on Friday")
    client.feedback(memory.id, "helpful")
    client.learning.train()
    assert client.learning.reset()["memory"] == 1
    assert client.get(memory.id).utility == 0
    assert len(rows("feedback")) == 1
    assert client.learning.reset(events=True)["feedback"] == 1
    assert rows("feedback") == []

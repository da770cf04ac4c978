"""What searches leave behind: written in the background, without the question's words, and never in the way."""

from __future__ import annotations

import logging
from collections.abc import Callable
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from tests.learning.conftest import NOON, Bench, event, who

from recollect import Recollect
from recollect.domain.ids import new_id
from recollect.learning.events import EventLog, hash_terms, is_refinement, log_retrieval_event

Rows = Callable[..., list[dict[str, Any]]]


def test_a_recorded_search_is_in_the_store_with_its_hits(
    bench: Bench, client: Recollect, tenant_id: str, rows: Rows
) -> None:
    memory = client.add("the launch is on Friday")
    search = event([memory.id], entities=("launch",), arm="x/y", propensity=0.5, latency_ms=12.5)
    bench.call(bench.workspace.events.record, who(tenant_id, "root", roles=("admin",)), search)
    bench.flush()
    [stored] = rows("retrieval_event")
    assert (stored["query_id"], stored["user_id"], stored["at"]) == (search.query_id, "root", NOON)
    assert (stored["arm"], stored["propensity"], stored["hits"]) == ("x/y", 0.5, 1)
    assert stored["outcome"] is None
    [hit] = rows("retrieval_hit")
    assert (hit["memory_id"], hit["place"], hit["used"]) == (memory.id, 1, None)
    assert hit["signals"] == {"semantic_similarity": 0.5}
    assert bench.workspace.events.counts.written == 1


def test_the_words_of_a_question_are_not_stored(bench: Bench, tenant_id: str, rows: Rows) -> None:
    bench.call(bench.workspace.events.record, who(tenant_id), event(terms=("xylophone", "zeppelin")))
    bench.flush()
    [stored] = rows("retrieval_event")
    assert len(stored["terms"]) == 2
    assert "xyloph" not in str(stored)
    assert "zeppel" not in str(stored)


def test_hashes_of_a_term_differ_between_stores_and_tenants() -> None:
    one, two = new_id(), new_id()
    assert hash_terms(["launch"], one, "acme") == hash_terms(["launch"], one, "acme")
    assert hash_terms(["launch"], one, "acme") != hash_terms(["launch"], two, "acme")
    assert hash_terms(["launch"], one, "acme") != hash_terms(["launch"], one, "evil")


def test_closing_a_workspace_writes_what_still_waits(
    settings: Any, client: Recollect, tenant_id: str, rows: Rows
) -> None:
    from recollect.client.portal import Portal
    from recollect.workspace import Workspace

    async def record_and_close() -> None:
        workspace = await Workspace.open(settings)
        workspace.events.record(who(tenant_id), event())
        await workspace.close()

    portal = Portal()
    portal.run(record_and_close())
    portal.close()
    assert len(rows("retrieval_event")) == 1


@pytest.mark.parametrize(
    ("earlier", "later", "refined"),
    [
        ("launch date", "launch date mobile app", True),
        ("launch date", "launch day of the app", True),
        ("launch date", "launch date", False),
        ("launch date", "pizza recipe", False),
        ("", "pizza", False),
    ],
)
def test_a_question_about_the_same_in_other_words_refines_the_earlier_one(
    earlier: str, later: str, refined: bool
) -> None:
    store_id = new_id()
    before, after = (hash_terms(text.split(), store_id, "acme") for text in (earlier, later))
    assert is_refinement(before, after) is refined


def record_pair(bench: Bench, tenant_id: str, *, apart: timedelta, **later: Any) -> tuple[UUID, UUID]:
    first, second = event(terms=("launch", "date")), event(terms=("launch", "date", "app"), at=NOON + apart)
    bench.call(bench.workspace.events.record, who(tenant_id, "ana", session_id="s1"), first)
    bench.flush()
    bench.call(
        bench.workspace.events.record,
        who(tenant_id, **{"user_id": "ana", "session_id": "s1"} | later),
        second,
    )
    bench.flush()
    return first.query_id, second.query_id


def test_a_refined_question_is_noticed_within_the_session(bench: Bench, tenant_id: str, rows: Rows) -> None:
    first, second = record_pair(bench, tenant_id, apart=timedelta(minutes=2))
    stored = {row["query_id"]: row for row in rows("retrieval_event")}
    assert stored[second]["refines"] == first
    assert stored[first]["outcome"] == "refined"
    assert stored[second]["outcome"] is None


@pytest.mark.parametrize(
    ("apart", "later"),
    [
        (timedelta(minutes=11), {}),
        (timedelta(minutes=2), {"session_id": "s2"}),
        (timedelta(minutes=2), {"session_id": None}),
        (timedelta(minutes=2), {"user_id": "bob"}),
    ],
)
def test_another_session_another_user_or_a_later_time_refines_nothing(
    bench: Bench, tenant_id: str, rows: Rows, apart: timedelta, later: dict[str, Any]
) -> None:
    record_pair(bench, tenant_id, apart=apart, **later)
    assert [row["refines"] for row in rows("retrieval_event")] == [None, None]
    assert [row["outcome"] for row in rows("retrieval_event")] == [None, None]


def test_a_full_queue_drops_and_counts_and_never_raises(bench: Bench, tenant_id: str) -> None:
    log = EventLog(bench.workspace.store, capacity=3)

    def fill() -> None:
        for _ in range(10):
            log.record(who(tenant_id), event())

    bench.call(fill)
    assert (log.counts.queued, log.counts.dropped) == (3, 7)
    bench.run(log.close())
    assert (log.counts.queued, log.counts.written) == (0, 3)


def test_a_store_that_refuses_becomes_one_log_line(
    bench: Bench, caplog: pytest.LogCaptureFixture, tenant_id: str, rows: Rows
) -> None:
    broken, fine = event(propensity=7.0), event()
    with caplog.at_level(logging.WARNING, logger="recollect.learning"):
        bench.call(bench.workspace.events.record, who(tenant_id), broken)
        bench.flush()
    bench.call(bench.workspace.events.record, who(tenant_id), fine)
    bench.flush()
    assert [row["query_id"] for row in rows("retrieval_event")] == [fine.query_id]
    assert len(caplog.records) == 1
    assert bench.workspace.events.counts.failed == 1


def test_a_number_that_is_none_does_not_lose_the_event(
    bench: Bench, client: Recollect, tenant_id: str, rows: Rows
) -> None:
    memory = client.add("a fact")
    odd = event([memory.id], signals=[{"semantic_similarity": float("nan")}])
    bench.call(bench.workspace.events.record, who(tenant_id, "root", roles=("admin",)), odd)
    bench.flush()
    assert rows("retrieval_hit")[0]["signals"] == {"semantic_similarity": 0.0}


def test_a_caller_without_a_name_is_not_remembered(bench: Bench, tenant_id: str, rows: Rows) -> None:
    bench.call(bench.workspace.events.record, who(tenant_id, None, agent_id="bot"), event())
    bench.flush()
    assert rows("retrieval_event") == []


def test_switched_off_nothing_is_recorded(bench: Bench, tenant_id: str, rows: Rows) -> None:
    log = EventLog(bench.workspace.store, enabled=False)
    bench.call(log.record, who(tenant_id), event())
    bench.run(log.close())
    assert rows("retrieval_event") == []


def test_a_hit_of_a_memory_that_is_gone_leaves_no_trace(bench: Bench, tenant_id: str, rows: Rows) -> None:
    bench.call(bench.workspace.events.record, who(tenant_id), event([new_id()]))
    bench.flush()
    assert len(rows("retrieval_event")) == 1
    assert rows("retrieval_hit") == []


def test_a_hit_of_a_memory_the_caller_can_not_see_is_not_recorded(
    bench: Bench, as_user: Callable[..., Recollect], tenant_id: str, rows: Rows
) -> None:
    secret = as_user("bob").add("bob's own")
    bench.call(bench.workspace.events.record, who(tenant_id, "ana"), event([secret.id]))
    bench.flush()
    assert rows("retrieval_hit") == []


def used(
    bench: Bench, tenant_id: str, rows: Rows, memory_ids: list[UUID], served: list[UUID], **how: Any
) -> str:
    search = event(memory_ids)
    bench.call(bench.workspace.events.record, who(tenant_id), search)
    bench.call(bench.workspace.events.mark_used, who(tenant_id), search.query_id, served, **how)
    bench.flush()
    [stored] = [row for row in rows("retrieval_event") if row["query_id"] == search.query_id]
    outcome: str = stored["outcome"]
    return outcome


def test_what_the_caller_reports_as_used_counts_as_a_use_and_raises_utility(
    bench: Bench, as_user: Callable[..., Recollect], tenant_id: str, rows: Rows
) -> None:
    ana = as_user("ana")
    good, other = ana.add("the launch is on Friday"), ana.add("pizza is on Monday")
    assert used(bench, tenant_id, rows, [other.id, good.id], [good.id], reported=True) == "used"
    assert {row["memory_id"]: row["used"] for row in rows("retrieval_hit")} == {
        other.id: False,
        good.id: True,
    }
    assert ana.get(good.id).use_count == good.use_count + 1
    assert ana.get(good.id).utility > 0
    assert (ana.get(other.id).use_count, ana.get(other.id).utility) == (other.use_count, 0)
    assert [entry.event for entry in ana.history(good.id)] == ["added"]


def test_a_context_counts_uses_but_hardly_moves_utility(
    bench: Bench, as_user: Callable[..., Recollect], tenant_id: str, rows: Rows
) -> None:
    ana = as_user("ana")
    memory, reported = ana.add("the launch is on Friday"), ana.add("pizza is on Monday")
    assert used(bench, tenant_id, rows, [memory.id], [memory.id]) == "context"
    used(bench, tenant_id, rows, [reported.id], [reported.id], reported=True)
    assert ana.get(memory.id).use_count == 1
    assert 0 < ana.get(memory.id).utility < ana.get(reported.id).utility


def test_reporting_that_nothing_served_is_an_ignored_search(
    bench: Bench, as_user: Callable[..., Recollect], tenant_id: str, rows: Rows
) -> None:
    memory = as_user("ana").add("the launch is on Friday")
    assert used(bench, tenant_id, rows, [memory.id], [], reported=True) == "ignored"
    assert as_user("ana").get(memory.id).utility == 0


def test_marking_the_same_use_twice_counts_once(
    bench: Bench, as_user: Callable[..., Recollect], tenant_id: str
) -> None:
    memory = as_user("ana").add("the launch is on Friday")
    search = event([memory.id])

    def twice() -> None:
        log_retrieval_event(bench.workspace.events, who(tenant_id), search, used_in_response=[memory.id])
        bench.workspace.events.mark_used(who(tenant_id), search.query_id, [memory.id], reported=True)

    bench.call(twice)
    bench.flush()
    assert as_user("ana").get(memory.id).use_count == 1


def test_nobody_marks_the_hits_of_another_users_search(
    bench: Bench, as_user: Callable[..., Recollect], client: Recollect, tenant_id: str, rows: Rows
) -> None:
    memory = as_user("ana").add("the launch is on Friday")
    search = event([memory.id])
    bench.call(bench.workspace.events.record, who(tenant_id), search)
    bench.call(bench.workspace.events.mark_used, who(tenant_id, "bob"), search.query_id, [memory.id])
    bench.flush()
    assert rows("retrieval_event")[0]["outcome"] is None
    assert rows("retrieval_hit")[0]["used"] is None
    assert as_user("ana").get(memory.id).use_count == 0


def test_the_doctor_sees_what_could_not_be_recorded(bench: Bench, tenant_id: str) -> None:
    from recollect.doctor.health import check_recording

    assert bench.run(check_recording(bench.workspace, who(tenant_id))).ok
    bench.call(bench.workspace.events.record, who(tenant_id), event(propensity=7.0))
    check = bench.run(check_recording(bench.workspace, who(tenant_id)))
    assert not check.ok
    assert "1 refused" in check.detail

"""Events that stand for dates: found in questions, resolved through dated memories of the real store."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from recollect import Recollect, Settings, TenantContext
from recollect.domain.query import TimeRange
from recollect.retrieval.anchors import AnchorReading, anchored_scope, find_anchors, resolve_anchor
from recollect.storage.store import Transaction
from recollect.workspace import Workspace

NOW = datetime(2024, 5, 15, 14, 30, tzinfo=UTC)


@pytest.mark.parametrize(
    ("query", "relation", "event"),
    [
        ("What did we decide before the launch?", "before", "launch"),
        ("Who joined since the migration", "since", "migration"),
        ("what broke during the offsite in Lisbon?", "during", "offsite in Lisbon"),
        ("What changed after we moved to Postgres?", "after", "we moved to Postgres"),
        ("decisions prior to the Apollo release, please", "before", "Apollo release"),
        ("who was hired until the merger", "until", "merger"),
        ("What did Ana say when we moved to Berlin?", "during", "we moved to Berlin"),
    ],
)
def test_an_event_is_found_with_what_it_limits(query: str, relation: str, event: str) -> None:
    [anchor] = find_anchors(query)
    assert (anchor.relation, anchor.event) == (relation, event)
    assert anchor.phrase in query


@pytest.mark.parametrize(
    "query",
    [
        "When did Ana leave?",
        "since we use Postgres, how do I dump it?",
        "what happened before 2020",
        "before the end of the year",
        "what did she do after that?",
        "what did she do after?",
        "since yesterday",
        "",
        "前の日 🎉 before",
    ],
)
def test_reasons_questions_and_plain_times_are_no_events(query: str) -> None:
    assert find_anchors(query) == []


def test_two_events_in_one_question_are_both_found() -> None:
    found = find_anchors("notes before the launch and after the offsite")
    assert [(one.relation, one.event) for one in found] == [("before", "launch"), ("after", "offsite")]


Ask = Callable[..., Any]


@pytest.fixture
def in_store(settings: Settings, tenant_id: str) -> Ask:
    """Run something in a transaction of a user of the test's tenant."""

    def run(work: Callable[[Transaction], Awaitable[Any]], *, user: str, roles: tuple[str, ...]) -> Any:
        async def inside() -> Any:
            context = TenantContext(tenant_id=tenant_id, user_id=user, roles=roles)
            workspace = await Workspace.open(settings)
            try:
                async with workspace.store.transaction(context) as tx:
                    return await work(tx)
            finally:
                await workspace.close()

        return asyncio.run(inside())

    return run


@pytest.fixture
def resolve(in_store: Ask) -> Ask:
    """Resolve the one anchor of a question."""

    def run(
        query: str, *, user: str = "root", roles: tuple[str, ...] = ("admin",), zone: str = "UTC"
    ) -> AnchorReading:
        [anchor] = find_anchors(query)

        async def work(tx: Transaction) -> AnchorReading:
            return await resolve_anchor(tx, anchor, now=NOW, timezone=ZoneInfo(zone))

        return in_store(work, user=user, roles=roles)  # type: ignore[no-any-return]

    return run


def day(number: int, month: int = 3) -> datetime:
    return datetime(2024, month, number, tzinfo=UTC)


def test_a_memory_with_a_date_of_its_own_dates_the_event(client: Recollect, resolve: Ask) -> None:
    memory = client.add("The launch of the new shop went live.", valid_from="2024-03-08T10:00:00Z")
    client.add("We had soup for lunch.", valid_from="2024-04-01T00:00:00Z")
    limits = {
        "before the launch": (None, datetime(2024, 3, 8, 10, tzinfo=UTC)),
        "since the launch": (datetime(2024, 3, 8, 10, tzinfo=UTC), None),
        "after the launch": (datetime(2024, 3, 8, 10, tzinfo=UTC), None),
        "until the launch": (None, day(9)),
        "during the launch": (datetime(2024, 3, 8, 10, tzinfo=UTC), day(9)),
    }
    for phrase, (start, end) in limits.items():
        found = resolve(f"What did we say {phrase}?").time_range
        assert found == TimeRange(start=start, end=end, phrase=phrase, anchor=str(memory.id))


def test_an_event_that_lasted_has_to_be_over_before_after_begins(client: Recollect, resolve: Ask) -> None:
    client.add("The offsite in Lisbon.", valid_from="2024-03-04T00:00:00Z", valid_to="2024-03-09T00:00:00Z")
    assert resolve("who left after the offsite?").time_range.start == day(9)
    during = resolve("what broke during the offsite?").time_range
    assert (during.start, during.end) == (day(4), day(9))


def test_a_date_in_the_sentence_about_the_event_dates_it(client: Recollect, resolve: Ask) -> None:
    client.add("Ana joined on 1 February 2024. We migrated to Postgres on 12 March 2024. Ben was ill.")
    assert resolve("what changed after we migrated to Postgres?").time_range.start == day(12)
    assert resolve("what changed since the Postgres migration?").time_range.start == day(12)


def test_words_such_as_yesterday_are_read_from_when_the_memory_was_written(
    client: Recollect, resolve: Ask
) -> None:
    client.add("The merger was announced yesterday.", created_at="2024-03-15T09:00:00Z")
    found = resolve("who was hired before the merger").time_range
    assert found.end == day(14)


def test_the_day_of_an_event_is_that_of_the_asker_s_zone(client: Recollect, resolve: Ask) -> None:
    client.add("The merger was on 12 March 2024.")
    found = resolve("news before the merger", zone="Asia/Tokyo").time_range
    assert found.end == datetime(2024, 3, 12, tzinfo=ZoneInfo("Asia/Tokyo"))


def test_equally_good_memories_with_different_dates_give_a_note_and_no_range(
    client: Recollect, resolve: Ask
) -> None:
    client.add("The launch was on 8 March 2024.")
    client.add("The launch was on 2 April 2024.")
    reading = resolve("What did we decide before the launch?")
    assert reading.time_range is None
    assert reading.note == (
        "'launch' has several dates in memory (2024-03-08, 2024-04-02); the question was not limited by it"
    )


def test_memories_that_agree_on_the_date_are_not_ambiguous(client: Recollect, resolve: Ask) -> None:
    client.add("The launch was in March 2024.")
    client.add("The launch was on 8 March 2024.")
    assert resolve("news since the launch").time_range.start == day(8)


def test_the_memory_that_says_more_of_the_event_wins(client: Recollect, resolve: Ask) -> None:
    client.add("The Apollo launch was on 8 March 2024.")
    client.add("The Gemini launch was on 2 April 2024.")
    assert resolve("news since the Gemini launch").time_range.start == day(2, 4)


def test_an_event_that_no_dated_memory_is_about_limits_nothing(client: Recollect, resolve: Ask) -> None:
    client.add("The launch was great.")
    client.add("Ana was born on 8 March 1984.")
    assert resolve("What did we decide before the launch?") == AnchorReading()


def test_a_memory_the_caller_does_not_see_dates_nothing(
    client: Recollect, as_user: Callable[..., Recollect], resolve: Ask
) -> None:
    as_user("ben").add("The launch was on 8 March 2024.")
    assert resolve("before the launch", user="ana", roles=()) == AnchorReading()
    assert resolve("before the launch", user="ben", roles=()).time_range is not None


def test_a_superseded_or_deleted_memory_dates_nothing(client: Recollect, resolve: Ask) -> None:
    memory = client.add("The launch was on 8 March 2024.")
    client.delete(memory.id)
    assert resolve("before the launch") == AnchorReading()


def test_anchors_narrow_what_the_question_says_itself(client: Recollect, in_store: Ask) -> None:
    client.add("The launch was on 8 March 2024.")
    scope = TimeRange(start=day(1), end=day(1, 4), phrase="in March")

    def ask(query: str) -> Any:
        async def work(tx: Transaction) -> Any:
            return await anchored_scope(tx, query, scope, now=NOW)

        return in_store(work, user="root", roles=("admin",))

    narrowed, notes = ask("what did we decide in March, after the launch?")
    assert (narrowed.start, narrowed.end, notes) == (day(8), day(1, 4), ())
    kept, notes = ask("who left in March before Ana came?")
    assert (kept, notes) == (scope, ())
    client.add("The summit was on 2 April 2024.")
    kept, [note] = ask("what was said in March since the summit?")
    assert kept == scope
    assert "'since the summit'" in note


def test_signs_of_patterns_and_queries_in_an_event_are_words_like_others(
    client: Recollect, resolve: Ask
) -> None:
    client.add("The launch was on 8 March 2024.")
    assert resolve("before the launch%_'\"; drop table (.*)+$").time_range is not None


def test_explain_and_search_take_an_event_for_a_date(client: Recollect) -> None:
    launch = client.add("The launch was on 8 March 2024.", created_at="2024-03-09T00:00:00Z")
    client.add("We did decide on the blue price.", created_at="2024-04-01T00:00:00Z")
    client.add("We did decide on the red price.", created_at="2024-02-01T00:00:00Z")
    question = "What did we decide before the launch?"
    asked = client.explain(question, now=NOW)
    assert asked.time_range == TimeRange(
        start=None, end=day(8), phrase="before the launch", anchor=str(launch.id)
    )
    hits = client.search(question, now=NOW, threshold=0)
    assert [hit.text for hit in hits if hit.id != launch.id] == [
        "We did decide on the red price.",
        "We did decide on the blue price.",
    ]
    client.add("The launch was on 2 April 2024.")
    assert any("has several dates in memory" in note for note in client.search(question, now=NOW).notes)

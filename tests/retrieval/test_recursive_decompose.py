"""By what questions can be split."""

from __future__ import annotations

from datetime import UTC, datetime
from itertools import pairwise
from uuid import UUID, uuid4

import pytest

from recollect.domain.layers import Layer
from recollect.retrieval.recursive.decompose import Decomposition, ScopeNode, decompose, scopes_under
from recollect.retrieval.recursive.periods import periods_of
from recollect.retrieval.understand import read_query
from recollect.runs.router import ComplexityRouter

NOW = datetime(2026, 11, 15, 12, tzinfo=UTC)


def node(layer: str, name: str, parent: ScopeNode | None = None, memories: int = 3) -> ScopeNode:
    return ScopeNode(
        id=uuid4(), layer=Layer(layer), name=name, parent=parent.id if parent else None, memories=memories
    )


COMPANY = node("company", "acme", memories=0)
PLATFORM = node("org", "platform-engineering", COMPANY, memories=0)
SALES = node("org", "sales", COMPANY)
API, DATA = node("team", "api", PLATFORM), node("team", "data", PLATFORM)
EMEA = node("team", "emea", SALES)
BILLING = node("project", "billing", API)
IDLE = node("team", "idle", PLATFORM, memories=0)
TREE = (COMPANY, PLATFORM, SALES, API, DATA, EMEA, IDLE, BILLING)


def split(query: str, *, earliest: datetime | None = None) -> Decomposition:
    asked = read_query(query, now=NOW)
    return decompose(asked, ComplexityRouter().signals(query), scopes=TREE, earliest=earliest)


def labels(found: Decomposition) -> set[str]:
    return {group.label for group in found.groups}


def test_all_teams_are_the_teams_that_have_something_to_say() -> None:
    found = split("compare error handling across all teams")
    assert labels(found) == {"team/api", "team/data", "team/emea"}
    assert found.topic == "error handling"
    assert found.to_layer is Layer.TEAM


def test_teams_of_a_named_org_are_those_below_it() -> None:
    found = split("Compare error handling patterns across all Platform Engineering teams")
    assert labels(found) == {"team/api", "team/data"}
    assert found.topic == "error handling patterns"
    assert found.from_layer is Layer.ORG
    assert found.scope_filter == "platform-engineering"


def test_what_hangs_below_a_team_speaks_for_it() -> None:
    found = split("compare error handling across all teams")
    ids = {group.label: set(group.scope_ids) for group in found.groups}
    assert ids["team/api"] == {API.id, BILLING.id}


def test_named_scopes_are_compared_and_nothing_else() -> None:
    found = split("what is the difference between the API team and the data team on retries")
    assert labels(found) == {"team/api", "team/data"}
    assert found.sides == ()
    assert "retries" in found.topic
    assert "api" not in found.topic.casefold()


def test_one_group_is_no_comparison() -> None:
    found = split("summarize error handling across all Sales teams")
    assert found.groups == ()


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("compare postgres and mysql for billing", ["postgres for billing", "mysql for billing"]),
        ("redis vs memcached", ["redis", "memcached"]),
        ("what is the difference between tabs and spaces?", ["tabs", "spaces"]),
    ],
)
def test_the_sides_of_a_comparison_are_asked_one_by_one(query: str, expected: list[str]) -> None:
    assert [side.query for side in split(query).sides] == expected


def test_a_question_that_compares_nothing_has_no_sides() -> None:
    assert split("who bought bread and butter").sides == ()


def test_a_history_is_asked_period_by_period() -> None:
    found = split("trace the evolution of auth since last quarter")
    assert [period.phrase for period in found.periods] == [
        "2026-07",
        "2026-08",
        "2026-09",
        "2026-10",
        "2026-11",
    ]
    assert found.topic == "auth"


def test_a_history_without_a_beginning_begins_with_the_oldest_memory() -> None:
    found = split("history of the auth service", earliest=datetime(2024, 3, 1, tzinfo=UTC))
    assert found.periods[0].start == datetime(2024, 3, 1, tzinfo=UTC)
    assert found.periods[-1].end == NOW
    assert 2 <= len(found.periods) <= 8


def test_clauses_are_parts_of_their_own() -> None:
    found = split("why did the deploy fail and then what did the infra team change afterwards?")
    assert len(found.clauses) == 2


def test_an_empty_topic_falls_back_to_the_question() -> None:
    assert split("compare all teams").topic == "compare all teams"


@pytest.mark.parametrize("query", ["比较所有团队", "🙂 vs 🙃", "compare " * 2_000, "teams? teams! (teams)"])
def test_odd_questions_are_split_or_left_whole_and_never_fail(query: str) -> None:
    assert split(query).topic


def test_drilling_down_finds_scopes_below_a_match() -> None:
    found = scopes_under(TREE, to_layer=Layer.TEAM, from_layer=Layer.ORG, matching="platform")
    assert {group.label for group in found} == {"team/api", "team/data"}
    assert scopes_under(TREE, to_layer=Layer.TEAM, from_layer=None, matching="nobody") == ()


@pytest.mark.parametrize(
    ("start", "end", "first", "count"),
    [
        (datetime(2026, 11, 10, tzinfo=UTC), NOW, "2026-11-10", 6),
        (datetime(2026, 10, 1, tzinfo=UTC), NOW, "2026-W40", 7),
        (datetime(2026, 5, 20, tzinfo=UTC), NOW, "2026-05", 7),
        (datetime(2025, 2, 1, tzinfo=UTC), NOW, "2025-Q1", 8),
        (datetime(2021, 1, 1, tzinfo=UTC), NOW, "2021", 6),
        (datetime(1990, 1, 1, tzinfo=UTC), NOW, "1990 to 1994", 8),
    ],
)
def test_time_is_cut_into_a_handful_of_calendar_slices(
    start: datetime, end: datetime, first: str, count: int
) -> None:
    slices = periods_of(start, end)
    assert slices[0].phrase == first
    assert len(slices) == count
    assert slices[0].start == start
    assert slices[-1].end == end
    for one, other in pairwise(slices):
        assert one.end == other.start


def test_ids_of_groups_are_those_of_visible_scopes() -> None:
    known: set[UUID] = {scope.id for scope in TREE}
    for group in split("compare error handling across all teams").groups:
        assert known.issuperset(group.scope_ids)

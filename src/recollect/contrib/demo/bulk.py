"""The everyday noise of the demo world: tickets, repairs, deployments, stand-ups, depots.

A question is only hard to answer among things that are not the answer. The sentences are in
`world/bulk.json`; here they are combined, by counting rather than by chance, so that every run stores the
same world. Whatever can be asked for on purpose is written by hand in `world/memories.jsonl` and
`world/conversations.jsonl`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

FIRST_DAY = datetime(2026, 1, 12, 8, 0, tzinfo=UTC)
DAYS = 250

TICKETS = 130
REPAIRS = 80
DEPOT_DAYS = 60
STANDUPS_PER_TEAM = 5
DEPLOYMENTS_PER_TEAM = 10

Item = dict[str, Any]


def bulk_memories(tables: Mapping[str, Any]) -> Iterator[Item]:
    """All of it, as items for `add_many`, each with its `key`."""
    yield from _depot_facts(tables)
    yield from _tickets(tables)
    yield from _repairs(tables)
    yield from _depot_days(tables)
    yield from _deployments(tables)
    yield from _standups(tables)


def _pick(values: Sequence[Any], number: int) -> Any:
    return values[number % len(values)]


def _day(number: int, count: int, *, hour: int = 8, minute: int = 0) -> datetime:
    """The time of the n-th of `count` events, spread over the year."""
    return FIRST_DAY + timedelta(days=number * DAYS // count, hours=hour - FIRST_DAY.hour, minutes=minute)


def _item(key: str, scope: str, text: str, at: datetime, **more: Any) -> Item:
    return {
        "key": key,
        "scope": scope,
        "text": text,
        "created_at": at,
        "metadata": {"kind": "everyday"},
        **more,
    }


def _depot_facts(tables: Mapping[str, Any]) -> Iterator[Item]:
    for number, depot in enumerate(tables["depots"]):
        manager = _pick(tables["depot_managers"], number)
        for which, template in enumerate(tables["depot_facts"]):
            if which == number % 3:
                continue  # Not every depot is known equally well.
            text = template.format(
                depot=depot,
                manager=manager,
                gate=_pick(tables["gates"], number * 3),
                doors=6 + number * 7 % 19,
                hour=16 + number % 4,
            )
            yield _item(
                f"depot-{number}-{which}",
                "company",
                text,
                FIRST_DAY,
                type="semantic",
                entities=[f"{depot} depot"],
            )


def _tickets(tables: Mapping[str, Any]) -> Iterator[Item]:
    for number in range(TICKETS):
        blanks = {
            "n": 3 + number * 7 % 60,
            "depot": _pick(tables["depots"], number * 3),
            "weekday": _pick(tables["weekdays"], number),
        }
        customer, town = _pick(tables["customers"], number * 5), _pick(tables["depots"], number * 11 + 4)
        problem, outcomes = _pick(tables["problems"], number)
        outcome = _pick(outcomes, number // len(tables["problems"]))
        text = f"Ticket {48_000 + number * 13}: {customer} in {town}: {problem}. {outcome}".format(**blanks)
        yield _item(
            f"ticket-{number}", "team/support", text, _day(number, TICKETS, hour=9, minute=number % 60)
        )


def _repairs(tables: Mapping[str, Any]) -> Iterator[Item]:
    for number in range(REPAIRS):
        van, town = 100 + number * 37 % 540, _pick(tables["depots"], number * 7)
        work = _pick(tables["van_work"], number)
        text = f"Van FH-{van} in {town}: {work}; back on the road after {1 + number * 5 % 9} hours."
        yield _item(f"repair-{number}", "team/fleet", text, _day(number, REPAIRS, hour=15))


def _depot_days(tables: Mapping[str, Any]) -> Iterator[Item]:
    for number in range(DEPOT_DAYS):
        town, event = _pick(tables["depots"], number * 3 + 1), _pick(tables["depot_events"], number)
        parcels, event = 4_000 + number * 173 % 5_000, event.format(n=5 + number * 11 % 40)
        text = f"{town} depot, {parcels:,} parcels by noon: {event}."
        yield _item(
            f"depot-day-{number}", "org/operations", text, _day(number, DEPOT_DAYS, hour=12, minute=30)
        )


def _deployments(tables: Mapping[str, Any]) -> Iterator[Item]:
    for team_number, (team, services) in enumerate(tables["deployments"].items()):
        for number in range(DEPLOYMENTS_PER_TEAM):
            service, change = (
                _pick(services, number),
                _pick(tables["deploy_changes"], number * 3 + team_number),
            )
            text = f"Deployed {service} 2.{number + 4}.{number * 3 % 7}: {change}."
            at = _day(number, DEPLOYMENTS_PER_TEAM, hour=11, minute=team_number * 7)
            yield _item(f"deploy-{team_number}-{number}", team, text, at)


def _standups(tables: Mapping[str, Any]) -> Iterator[Item]:
    for team_number, (team, table) in enumerate(tables["standups"].items()):
        lines, people = table["lines"], table["people"]
        for number in range(STANDUPS_PER_TEAM):
            begun = _day(number, STANDUPS_PER_TEAM, hour=9, minute=15) + timedelta(days=team_number)
            name = f"standup-{team.removeprefix('team/')}-{begun:%m%d}"
            for turn, speaker in enumerate(people):
                # Each stand-up takes the next lines of the pool, so that none repeats within a month.
                text = _pick(lines, number * len(people) + turn)
                at = begun + timedelta(minutes=turn)
                yield _item(f"{name}/{turn + 1}", team, text, at, conversation=name, speaker=speaker)

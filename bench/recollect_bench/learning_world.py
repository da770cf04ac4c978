"""A small made-up company, for learning to decompose: teams, histories, people whose decisions show elsewhere.

Everything is invented from syllables and comes from a seed, so that neither an embedder nor a tenant's data can know it
beforehand. The questions about it are made by `learning/bootstrap_tasks.py` from what its memories name.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

#: Questions about the world are asked at this moment.
NOW = datetime(2026, 1, 15, 9, 0, tzinfo=UTC)
_BEGIN = datetime(2024, 1, 10, 9, 0, tzinfo=UTC)

_ONSETS = "b br d dr f fl g gr h k kl l m n p pr r s st t tr v z".split()
_NUCLEI = "a e i o u ai eo".split()
_CODAS = "l m n r s x nd rk lt".split()
_ACTIVITIES = (
    "release notes", "incident reviews", "access requests", "data exports", "load tests", "invoice matching",
    "customer surveys", "backup drills", "schema changes", "on-call handover", "price updates", "contract checks",
)  # fmt: skip
_DETAILS = (
    "twice a week", "only after a second review", "with a script of their own", "by hand at the end of the week",
    "as part of the nightly job", "since the last audit", "with one person in charge", "behind a feature flag",
)  # fmt: skip
_EVENTS = (
    "{name} was introduced for {activity}", "{name} was moved to new machines", "{name} got a second maintainer",
    "{name} was rewritten after complaints about {activity}", "the licence of {name} was renewed",
    "{name} was opened to all of the company", "the budget for {name} was cut by a third", "{name} passed its audit",
)  # fmt: skip
_TROUBLES = (
    "{name} lost two days of {activity} when a disk filled up", "{name} was blamed for late {activity}",
    "{name} now needs approval before {activity}", "{name} halved the time for {activity}",
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class LearningWorld:
    """The company's scopes, parents first, each with its parent, and its memories."""

    scopes: tuple[tuple[str, str | None], ...]
    items: tuple[dict[str, Any], ...]


def make_world(seed: int = 0, *, teams: int = 12, topics: int = 16) -> LearningWorld:
    """The same company for the same seed."""
    rng = random.Random(seed)  # noqa: S311 - a made-up world, no secrets
    names = _names(rng)
    orgs = [f"org/{next(names).lower()}" for _ in range(2)]
    squads = [f"team/{next(names).lower()}" for _ in range(teams)]
    scopes: list[tuple[str, str | None]] = [(org, None) for org in orgs]
    scopes += [(team, orgs[number % len(orgs)]) for number, team in enumerate(squads)]
    items: list[dict[str, Any]] = []
    for _ in range(topics):
        name = next(names)
        items += _practices(rng, name, rng.sample(squads, rng.randint(4, teams)))
        items += _history(rng, name, rng.choice(orgs))
        items += _buzz(rng, name, squads, rng.choice((0, 10, 25)))
        items += _decisions(rng, name, [next(names) for _ in range(4)], orgs)
    items += _chatter(rng, squads, 30)
    rng.shuffle(items)
    return LearningWorld(scopes=tuple(scopes), items=tuple(items))


def _names(rng: random.Random) -> Any:
    """Names nobody has, each once."""
    seen: set[str] = set()
    while True:
        name = "".join(rng.choice(_ONSETS) + rng.choice(_NUCLEI) for _ in range(2)) + rng.choice(_CODAS)
        if name not in seen:
            seen.add(name)
            yield name.capitalize()


def _item(
    rng: random.Random, text: str, scope: str, *entities: str, at: datetime | None = None
) -> dict[str, Any]:
    when = at or _BEGIN + timedelta(days=rng.randint(0, 700))
    return {"text": text, "scope": scope, "entities": list(entities), "created_at": when.isoformat()}


def _practices(rng: random.Random, name: str, teams: Sequence[str]) -> list[dict[str, Any]]:
    """What each team does with something."""
    items = []
    for team in teams:
        for activity in rng.sample(_ACTIVITIES, rng.randint(1, 2)):
            text = f"We use {name} for {activity}, {rng.choice(_DETAILS)}."
            items.append(_item(rng, text, team, name))
    return items


def _history(rng: random.Random, name: str, org: str) -> list[dict[str, Any]]:
    """What happened to it, about once in a quarter."""
    items = []
    for quarter, event in enumerate(rng.sample(_EVENTS, rng.randint(4, len(_EVENTS)))):
        at = _BEGIN + timedelta(days=quarter * 91 + rng.randint(0, 60))
        text = event.format(name=name, activity=rng.choice(_ACTIVITIES)) + f" on {at:%d %B %Y}."
        items.append(_item(rng, text[0].upper() + text[1:], org, name, at=at))
    return items


def _buzz(rng: random.Random, name: str, teams: Sequence[str], many: int) -> list[dict[str, Any]]:
    """Of some things everybody talks lately, one team most: one look at them sees nothing else."""
    loudest = rng.choice(teams)
    items = []
    for number in range(many):
        at = NOW - timedelta(days=rng.randint(5, 60))
        text = (
            f"{name} came up again in {rng.choice(_ACTIVITIES)}, {rng.choice(_DETAILS)}, point {number + 1}."
        )
        items.append(_item(rng, text, loudest if rng.random() < 0.7 else rng.choice(teams), name, at=at))
    return items


def _decisions(
    rng: random.Random, topic: str, names: Sequence[str], orgs: Sequence[str]
) -> list[dict[str, Any]]:
    """Somebody chose a system; what became of the system does not say who chose it."""
    items = []
    for person, system in zip(names[::2], names[1::2], strict=True):
        items.append(
            _item(rng, f"{person} chose {system} to replace {topic}.", rng.choice(orgs), person, system)
        )
        for trouble in rng.sample(_TROUBLES, 2):
            text = trouble.format(name=system, activity=rng.choice(_ACTIVITIES))
            items.append(_item(rng, f"{text}.", rng.choice(orgs), system))
    return items


def _chatter(rng: random.Random, teams: Sequence[str], each: int) -> list[dict[str, Any]]:
    """What teams write down besides."""
    return [
        _item(rng, f"We do {rng.choice(_ACTIVITIES)} {rng.choice(_DETAILS)}, note {number + 1}.", team)
        for team in teams
        for number in range(each)
    ]

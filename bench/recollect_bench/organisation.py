"""A made-up organisation from a seed: a company, its orgs, teams and projects, and what they wrote over 18 months.

Each team has something to say about a topic with a fixed probability, in one to four memories, each in another of the
topic's phrasings; some phrasings have none of the topic's own words, though a small embedder can tell what nearly all
of them are about (compared by meaning alone, 7 in 100 drown in their team's chatter). All else is about other things.
Which team speaks about what is the truth that `aggregation.py` measures against: it stands in the memories' metadata,
which no search reads. The words are in data/organisation.json.
"""

from __future__ import annotations

import json
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING, Any

from recollect.errors import InvalidInputError

if TYPE_CHECKING:
    from recollect.client.sync_client import Recollect

#: How likely a team has something to say about a topic.
SPEAKS = 0.6
MOST_MEMORIES = 4
PROJECTS_PER_TEAM = 2
#: Share of a team's memories that stand in one of its projects.
IN_PROJECTS = 0.25
#: Share of the chatter that is the orgs' and the company's.
ABOVE_TEAMS = 0.08
START = datetime(2024, 7, 1, tzinfo=UTC)
DAYS = 548

#: Where metadata says whose memory it is and what it is about.
TEAM, TOPIC = "team", "topic"


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """How large, and from which seed."""

    memories: int = 20_000
    teams: int = 40
    seed: int = 7


@dataclass(frozen=True, slots=True, kw_only=True)
class Organisation:
    """Scopes with their parents, in an order in which they can be made, what to store, and the truth.

    `speaking`: by topic, the teams that have something to say. `org_of`: the org of each team.
    """

    scopes: Sequence[tuple[str, str | None]]
    items: Sequence[dict[str, Any]]
    speaking: Mapping[str, frozenset[str]]
    org_of: Mapping[str, str]
    plan: Plan

    @property
    def slots(self) -> Mapping[str, Sequence[str]]:
        """People, places and things that the memories speak of, by kind."""
        slots: Mapping[str, Sequence[str]] = _words()["slots"]
        return slots

    @property
    def name(self) -> str:
        """Tells it from organisations of another size, seed or wording."""
        return f"organisation-{self.plan.memories}-{self.plan.teams}-{self.plan.seed}-{_words()['edition']}"

    def create_scopes(self, client: Recollect) -> None:
        """Make the tree."""
        for scope, parent in self.scopes:
            client.scopes.create(scope, parent=parent)


def make_organisation(plan: Plan) -> Organisation:
    """The same plan gives the same organisation, to the letter."""
    words = _words()
    if not 2 <= plan.teams <= len(words["teams"]):
        raise InvalidInputError(f"{plan.teams!r} teams can't be made; from 2 to {len(words['teams'])} can")
    dice = random.Random(plan.seed)  # noqa: S311 - the same every time is the point
    teams = words["teams"][: plan.teams]
    org_of = {team: words["orgs"][number % len(words["orgs"])] for number, team in enumerate(teams)}
    writer = _Writer(dice, words["slots"])
    speaking: dict[str, set[str]] = {topic: set() for topic in words["topics"]}
    for topic, phrasings in words["topics"].items():
        for team in teams:
            if dice.random() < SPEAKS:
                speaking[topic].add(team)
                for phrasing in dice.sample(phrasings, dice.randint(1, MOST_MEMORIES)):
                    writer.write(phrasing, scope=_place(dice, team), team=team, topic=topic)
    spoken = len(writer.items)
    if spoken > plan.memories:
        raise InvalidInputError(
            f"{plan.memories:,} memories are too few: {plan.teams} teams write {spoken:,} about the topics alone"
        )
    while len(writer.items) < plan.memories:
        above = dice.random() < ABOVE_TEAMS
        team = None if above else dice.choice(teams)
        place = f"org/{dice.choice(words['orgs'])}" if team is None else _place(dice, team)
        writer.write(dice.choice(words["chatter"]), scope=place, team=team, topic=None)
    dice.shuffle(writer.items)
    return Organisation(
        scopes=[
            *((f"org/{org}", None) for org in words["orgs"]),
            *((f"team/{team}", f"org/{org}") for team, org in org_of.items()),
            *(
                (_project(team, number), f"team/{team}")
                for team in teams
                for number in range(PROJECTS_PER_TEAM)
            ),
        ],
        items=writer.items,
        speaking={topic: frozenset(found) for topic, found in speaking.items()},
        org_of=org_of,
        plan=plan,
    )


class _Writer:
    """Fills phrasings in; no scope gets the same text twice, for the store would keep it once."""

    def __init__(self, dice: random.Random, slots: Mapping[str, Sequence[str]]) -> None:
        self.items: list[dict[str, Any]] = []
        self._dice, self._slots = dice, slots
        self._written: set[tuple[str, str]] = set()

    def write(self, phrasing: str, *, scope: str, team: str | None, topic: str | None) -> None:
        at = START + timedelta(days=self._dice.randrange(DAYS), minutes=self._dice.randrange(24 * 60))
        text = self._filled(phrasing, at)
        while (scope, text) in self._written:
            text = self._filled(phrasing, at + timedelta(days=self._dice.randrange(DAYS)))
        self._written.add((scope, text))
        about = {name: value for name, value in ((TEAM, team), (TOPIC, topic)) if value is not None}
        self.items.append({"text": text, "scope": scope, "created_at": at, "metadata": about})

    def _filled(self, phrasing: str, at: datetime) -> str:
        values: dict[str, object] = {name: self._dice.choice(known) for name, known in self._slots.items()}
        values |= {"n": self._dice.randint(2, 90), "m": self._dice.randint(2, 9)}
        day = at + timedelta(days=self._dice.randint(1, 20))
        return phrasing.format(**values, day=f"{day.day} {day:%B}")


def _place(dice: random.Random, team: str) -> str:
    in_project = dice.random() < IN_PROJECTS
    return _project(team, dice.randrange(PROJECTS_PER_TEAM)) if in_project else f"team/{team}"


def _project(team: str, number: int) -> str:
    return f"project/{team}-{number + 1}"


@cache
def _words() -> dict[str, Any]:
    import hashlib

    text = (resources.files(__package__) / "data" / "organisation.json").read_text(encoding="utf-8")
    words: dict[str, Any] = json.loads(text)
    return {**words, "edition": hashlib.sha256(text.encode()).hexdigest()[:8]}

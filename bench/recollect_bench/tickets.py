"""Labelled lines for `dense`: tickets whose kind no word of theirs names, and questions whose answers are computed."""

from __future__ import annotations

import hashlib
import random
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any

#: What is written in a ticket, by its kind.
KINDS: Mapping[str, tuple[str, ...]] = {
    "billing": (
        "I was charged twice this month",
        "the amount on my statement is wrong",
        "you took 20 too much",
    ),
    "login": ("my password is not accepted", "the code never arrives on my phone", "I am locked out again"),
    "delivery": (
        "the parcel has not come",
        "it was left at the wrong door",
        "the box was soaked when it came",
    ),
    "refund": ("I want my money back", "please take it back and pay me out", "when do I get the sum I paid"),
    "praise": ("just wanted to say it works well", "great help from your team", "best purchase of the year"),
}
_CUSTOMERS = ("Ana", "Bo", "Cleo", "Dag", "Eva", "Finn", "Gül", "Hana", "Ivo", "Jun", "Kim", "Lea")
_FIRST_DAY = date(2026, 1, 5)
_DAYS = 90
#: So many tickets stand under one heading.
_PER_SECTION = 50
_TICKET = re.compile(r"Ticket (\d+) \((\w+), (\d{4}-\d\d-\d\d)\): (.+?)\.")

Cells = tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Ticket:
    """One line, and what a reader takes it for."""

    number: int
    customer: str
    day: str
    text: str
    label: str

    @property
    def line(self) -> str:
        """As it is written."""
        return f"Ticket {self.number:04d} ({self.customer}, {self.day}): {self.text}."


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """A question, the calls over rows that answer it, and its answer computed from labels."""

    name: str
    question: str
    steps: tuple[Mapping[str, Any], ...]
    answer: Callable[[Sequence[Ticket]], list[Cells]]


def make_tickets(count: int, *, seed: int) -> list[Ticket]:
    """So many tickets, in order."""
    chance = random.Random(f"{seed} {count}")  # noqa: S311 - sample data
    made = []
    for number in range(1, count + 1):
        label = chance.choice(tuple(KINDS))
        day = _FIRST_DAY + timedelta(days=chance.randrange(_DAYS))
        made.append(
            Ticket(
                number=number,
                customer=chance.choice(_CUSTOMERS),
                day=day.isoformat(),
                text=chance.choice(KINDS[label]),
                label=label,
            )
        )
    return made


def write_document(tickets: Sequence[Ticket]) -> str:
    """All of them as one document."""
    parts = ["# Tickets"]
    for begin in range(0, len(tickets), _PER_SECTION):
        lines = [one.line for one in tickets[begin : begin + _PER_SECTION]]
        parts.append(f"## Page {begin // _PER_SECTION + 1}\n\n" + "\n".join(lines))
    return "\n\n".join(parts) + "\n"


def read_ticket(line: str, *, error_rate: float, seed: int) -> Ticket | None:
    """A line as a model reads it that errs with one line in so many; always the same way."""
    found = _TICKET.search(line)
    if found is None:
        return None
    label = next(kind for kind, texts in KINDS.items() if found[4] in texts)
    digest = hashlib.sha256(f"{seed} {found[0]}".encode()).digest()
    if int.from_bytes(digest[:4]) / 2**32 < error_rate:
        others = [kind for kind in KINDS if kind != label]
        label = others[digest[4] % len(others)]
    return Ticket(number=int(found[1]), customer=found[2], day=found[3], text=found[4], label=label)


def _of(tickets: Sequence[Ticket], label: str) -> list[Ticket]:
    return [one for one in tickets if one.label == label]


def _counted(values: Sequence[str], most: int | None = None) -> list[Cells]:
    counts = sorted(Counter(values).items(), key=lambda one: (-one[1], one[0].casefold()))
    return [(name, f"{count:,}") for name, count in counts[:most]]


def _pairs(tickets: Sequence[Ticket]) -> list[Cells]:
    """How many pairs of tickets of one day and kind each customer has."""
    together = Counter((one.customer, one.day, one.label) for one in tickets)
    return _counted([one[0] for one, count in together.items() for _ in range(count * (count - 1) // 2)])


def _is(column: str, value: str, test: str = "=") -> dict[str, str]:
    return {"column": column, "test": test, "value": value}


TASKS = (
    Task(
        name="count",
        question="Count all tickets about billing.",
        steps=({"rows": "r1", "where": [_is("label", "billing")], "group_by": ["label"]},),
        answer=lambda tickets: _counted([one.label for one in _of(tickets, "billing")]),
    ),
    Task(
        name="group",
        question="Count all tickets of each kind.",
        steps=({"rows": "r1", "group_by": ["label"]},),
        answer=lambda tickets: _counted([one.label for one in tickets]),
    ),
    Task(
        name="top 3",
        question="List all customers that complain most about deliveries, the first three.",
        steps=({"rows": "r1", "where": [_is("label", "delivery")], "group_by": ["customer"], "limit": 3},),
        answer=lambda tickets: _counted([one.customer for one in _of(tickets, "delivery")], 3),
    ),
    Task(
        name="range",
        question="Count all tickets of March 2026 about a login.",
        steps=(
            {
                "rows": "r1",
                "where": [
                    _is("label", "login"),
                    _is("day", "2026-03-01", ">="),
                    _is("day", "2026-04-01", "<"),
                ],
                "group_by": ["label"],
            },
        ),
        answer=lambda tickets: _counted(
            [one.label for one in _of(tickets, "login") if one.day.startswith("2026-03")]
        ),
    ),
    Task(
        name="pairs",
        question="Count all pairs of tickets that one customer sent on one day about the same, for each customer.",
        steps=({"rows": "r1", "join": "r1", "on": ["customer", "day", "label"], "group_by": ["customer"]},),
        answer=_pairs,
    ),
)

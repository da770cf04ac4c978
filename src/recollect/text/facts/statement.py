"""What a sentence states, as values, and the period it names."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """A subject, a predicate and an object, and how they were said.

    ends: it is no longer so. denied: it is not so, and nothing says that it ever was. change: the words say that it
    is new ("now", "moved to"). also: it stands beside others. former: the value it takes the place of, if it was
    named. past: it was so once. whole: the sentence says nothing else.
    """

    subject: str
    predicate: str
    object: str
    sentence: str
    ends: bool = False
    denied: bool = False
    change: bool = False
    also: bool = False
    former: str | None = None
    past: bool = False
    whole: bool = True
    valid_from: datetime | None = None
    valid_to: datetime | None = None

    @property
    def is_fact(self) -> bool:
        """Whether it is so at the time it is said."""
        return not (self.ends or self.denied or self.past)


@dataclass(frozen=True, slots=True, kw_only=True)
class Skipped:
    """A sentence that states no fact, and why."""

    sentence: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """Everything that was read from a text."""

    statements: tuple[Statement, ...]
    skipped: tuple[Skipped, ...]


def period_in(sentence: str, *, now: datetime) -> tuple[datetime | None, datetime | None]:
    """Start and end of the first period a sentence names; (None, None) when it names none."""
    from recollect.text.times import find_times

    for time_ in find_times(sentence, now=now):
        if time_.start is not None:
            return time_.start, time_.end
    return None, None

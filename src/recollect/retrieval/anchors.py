"""Events that stand for a date: "before the launch", "since we moved to Postgres", "during the offsite".

`find_anchors` reads them from a question. `resolve_anchor` looks for a memory about the event that the caller sees
and that is dated: by its `valid_from`, or by a date in the sentence that speaks of it. When memories that fit equally
well give different dates, nobody knows which one is meant: then there is no range, and a note says so.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo
from uuid import UUID

from recollect.domain.query import TimeRange
from recollect.storage.facts import fetch_dated
from recollect.storage.store import Row, Transaction
from recollect.text.terms import query_terms, terms
from recollect.text.times.reader import limited, read_times
from recollect.text.times.tokens import PAST_WORDS, Token, tokenize

Place = tuple[int, int]
#: A question names one event, seldom two.
MAX_ANCHORS = 3
_MAX_EVENT_WORDS = 8
_MAX_EVENT_TERMS = 6
#: The share of an event's words, weighted by how rare they are, that a memory about it says.
_ABOUT = 0.6
#: Memories that say as much of the event as the best one does, to within this, are as good as it.
_AS_GOOD = 0.9
#: Nobody dates an event by a decade.
_LONGEST = timedelta(days=367)

_RELATIONS: tuple[tuple[tuple[str, ...], str], ...] = (
    (("leading", "up", "to"), "before"),
    (("at", "the", "time", "of"), "during"),
    (("in", "the", "wake", "of"), "after"),
    (("prior", "to"), "before"),
    (("ahead", "of"), "before"),
    (("ever", "since"), "since"),
    (("as", "soon", "as"), "after"),
    (("before",), "before"),
    (("after",), "after"),
    (("following",), "after"),
    (("since",), "since"),
    (("during",), "during"),
    (("while",), "during"),
    (("until",), "until"),
    (("till",), "until"),
    (("when",), "during"),
)
_RELATION_STARTS = frozenset(words[0] for words, _ in _RELATIONS)
_ARTICLES = frozenset("the our my their his her its your a an this that these those".split())
_PRONOUNS = frozenset("we i they he she you it".split())
#: An event's words end here.
_STOPS = frozenset(
    """
    what who which where why how did does do is are was were has have had can could should would will and or but
    because so if then , . ? ! ; : ( ) before after since during until till when while in on at
    """.split()
)
_SENTENCE = re.compile(r"[^.!?\n]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Anchor:
    """An event that a question dates something by."""

    relation: str
    """before, after, since, during or until"""
    event: str
    phrase: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AnchorReading:
    """What an anchor came to: a range, or why there is none when somebody should know."""

    time_range: TimeRange | None = None
    note: str | None = None


def find_anchors(query: str) -> list[Anchor]:
    """The events that a question uses as dates. Times that can be read without looking anything up are none."""
    tokens = tokenize(query)
    anchors: list[Anchor] = []
    if not any(token.low in _RELATION_STARTS for token in tokens):
        return anchors
    taken = _times_in(query)
    place = 0
    while place < len(tokens) and len(anchors) < MAX_ANCHORS:
        read = _anchor_at(query, tokens, place, taken)
        if read is None:
            place += 1
        else:
            anchors.append(read[0])
            place = read[1]
    return anchors


def _anchor_at(
    query: str, tokens: Sequence[Token], place: int, taken: Sequence[Place]
) -> tuple[Anchor, int] | None:
    if tokens[place].low not in _RELATION_STARTS or _is_taken(tokens[place], taken):
        return None
    relation, length = _relation([token.low for token in tokens[place : place + 4]])
    start = place + length
    words = tokens[start : start + _MAX_EVENT_WORDS]
    if relation is None or not words or not _may_be_event(tokens, place, start):
        return None
    last = start + _length(words, taken)
    first = start + (words[0].low in _ARTICLES)
    if first >= last or any(_is_taken(token, taken) for token in tokens[first:last]):
        return None
    event = query[tokens[first].start : tokens[last - 1].end]
    phrase = query[tokens[place].start : tokens[last - 1].end]
    return Anchor(relation=relation, event=event, phrase=phrase), last


def _is_taken(token: Token, taken: Sequence[Place]) -> bool:
    return any(start <= token.start < end for start, end in taken)


def _times_in(query: str) -> list[Place]:
    """Where the query names times; any moment will do to find them."""
    spans = []
    begin = 0
    for range_ in read_times(query, now=datetime(2024, 5, 15, tzinfo=UTC)).ranges:
        start = query.find(range_.phrase, begin)
        if start >= 0:
            begin = start + len(range_.phrase)
            spans.append((start, begin))
    return spans


def _relation(words: Sequence[str]) -> tuple[str | None, int]:
    for pattern, relation in _RELATIONS:
        if tuple(words[: len(pattern)]) == pattern:
            return relation, len(pattern)
    return None, 0


def _may_be_event(tokens: Sequence[Token], place: int, start: int) -> bool:
    low, first = tokens[place].low, tokens[start].low
    if not first.isalnum() or first in _STOPS:
        return False
    if low == "when" and (place == 0 or first in PAST_WORDS):
        return False  # a question for the time
    # "Since we use Postgres, how ...": a reason, not a time.
    reason = low == "since" and place == 0 and first in _PRONOUNS
    return not (reason and any(token.low == "," for token in tokens[start : start + 30]))


def _length(words: Sequence[Token], taken: Sequence[Place]) -> int:
    """How many words belong to the event; "in Lisbon" does, "in May" and "in which" do not."""
    for number, word in enumerate(words):
        behind = words[number + 1] if number + 1 < len(words) else None
        if (
            number
            and word.low in ("in", "at", "on")
            and behind
            and behind.capital
            and not _is_taken(behind, taken)
        ):
            continue
        if number and word.low in _STOPS:
            return number
        if not word.low.isalnum() and word.low not in ("-", "'", "’", "&") and "'" not in word.low:
            return number
    return len(words)


async def resolve_anchor(
    tx: Transaction,
    anchor: Anchor,
    *,
    now: datetime,
    timezone: tzinfo = UTC,
    scope_ids: Sequence[UUID] | None = None,
) -> AnchorReading:
    """The range that an event stands for, from a dated memory about it; `scope_ids` narrows what may date it."""
    wanted = query_terms(anchor.event)[:_MAX_EVENT_TERMS]
    rows = await fetch_dated(tx, wanted, about=_ABOUT, at=now, scope_ids=scope_ids)
    good: list[tuple[Row, Dates]] = []
    for row in rows:
        # The most fitting come first: behind one with a date, those that fit less are not read.
        if row["share"] < max(_ABOUT, good[0][0]["share"] * _AS_GOOD if good else 0.0):
            break
        found = _date_of(row, frozenset(wanted), timezone)
        if found is not None:
            good.append((row, found))
    if not good:
        return AnchorReading()
    row, chosen = min(good, key=lambda pair: _length_of(pair[1]))
    if any(not _overlap(chosen, found) for _, found in good):
        days = sorted({f"{found[0].astimezone(timezone):%Y-%m-%d}" for _, found in good})
        shown = ", ".join(days[:4]) + (", ..." if len(days) > 4 else "")
        return AnchorReading(
            note=f"{anchor.event!r} has several dates in memory ({shown}); the question was not limited by it"
        )
    return AnchorReading(time_range=_ranged(anchor, chosen, str(row["memory_id"])))


async def anchored_scope(
    tx: Transaction,
    query: str,
    scope: TimeRange | None,
    *,
    now: datetime,
    timezone: tzinfo = UTC,
    scope_ids: Sequence[UUID] | None = None,
) -> tuple[TimeRange | None, tuple[str, ...]]:
    """A question's time range with its anchors taken into account, and what is to be said about them."""
    notes: list[str] = []
    for anchor in find_anchors(query):
        reading = await resolve_anchor(tx, anchor, now=now, timezone=timezone, scope_ids=scope_ids)
        if reading.note:
            notes.append(reading.note)
        if reading.time_range is None:
            continue
        if scope is None:
            scope = reading.time_range
            continue
        both = limited([scope, reading.time_range], [])
        if both is None:
            notes.append(
                f"nothing is both {scope.phrase!r} and {anchor.phrase!r}; only the first was taken for a limit in time"
            )
        else:
            scope = both
    return scope, tuple(notes)


Dates = tuple[datetime, datetime]


def _date_of(row: Row, wanted: frozenset[str], zone: tzinfo) -> Dates | None:
    """When the event of a memory was: its own dates, else the one date of the sentence that speaks of it."""
    if row["valid_from"] is not None:
        start: datetime = row["valid_from"]
        local = start.astimezone(zone)
        day_end = local.replace(hour=0, minute=0, second=0, microsecond=0) + timedelta(days=1)
        end: datetime | None = row["valid_to"]
        # A fact that holds for years began on one day: that day is the event.
        return start, end if end is not None and start < end <= start + _LONGEST else day_end
    for sentence in _SENTENCE.findall(row["text"]):
        if wanted.isdisjoint(terms(sentence)):
            continue
        ranges = [
            (range_.start, range_.end)
            for range_ in read_times(sentence, now=row["created_at"], timezone=zone).ranges
            if range_.start is not None and range_.end is not None and range_.end - range_.start <= _LONGEST
        ]
        if len(set(ranges)) == 1:
            return ranges[0]
    return None


def _length_of(dates: Dates) -> timedelta:
    return dates[1] - dates[0]


def _overlap(one: Dates, other: Dates) -> bool:
    return one[0] < other[1] and other[0] < one[1]


def _ranged(anchor: Anchor, dates: Dates, memory_id: str) -> TimeRange:
    start, end = dates
    limits: dict[str, tuple[datetime | None, datetime | None]] = {
        "before": (None, start),
        "until": (None, end),
        "since": (start, None),
        # Later on the day of an event is after it; a longer event has to be over.
        "after": (start if end - start <= timedelta(days=1) else end, None),
        "during": (start, end),
    }
    begin, finish = limits[anchor.relation]
    return TimeRange(start=begin, end=finish, phrase=anchor.phrase, anchor=memory_id)

"""Ranges: from ... to ..., between ... and ..., since, until, before, after, and the plain period.

`expression` reads any of them at a place. A range of months or years has its last in it: "from April to June" is
over when June is; "until June" is over when June begins. Days are always in it. "After 8 May" begins with that day,
for later that day is after it too; "after May" begins with June.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from recollect.text.times import dates
from recollect.text.times.amounts import TICK, read_amount
from recollect.text.times.calendar import Grain, Span, day_of
from recollect.text.times.clock import clock_period
from recollect.text.times.ends import (
    TO,
    UNTIL,
    Ranged,
    begin_of,
    finish_of,
    put_into,
    read_end,
    read_pair,
    related,
)
from recollect.text.times.grammar import STARTS, period
from recollect.text.times.period import Period, first_from, last_until, settle, within
from recollect.text.times.tokens import Source

#: Words before a time that make it open on one side, longest first.
_OPENERS: dict[str, list[tuple[tuple[str, ...], str]]] = {}
for _words, _kind in (
    ("since", "since"), ("ever since", "since"), ("as of", "by"), ("starting on", "since"),
    ("starting from", "since"), ("starting in", "since"), ("starting", "since"), ("beginning on", "since"),
    ("beginning from", "since"), ("beginning in", "since"), ("beginning", "since"), ("commencing", "since"),
    ("no earlier than", "since"), ("not before", "since"), ("> =", "since"), ("on or after", "since"),
    ("after", "after"), ("later than", "after"), ("greater than", "after"), ("newer than", "after"), (">", "after"),
    ("more recent than", "after"), ("any time after", "after"),
    ("before", "before"), ("prior to", "before"), ("earlier than", "before"), ("older than", "before"),
    ("< =", "by"), ("<", "before"), ("less than", "before"), ("smaller than", "before"), ("previous to", "before"),
    ("until", "until"), ("till", "until"), ("up until", "until"), ("up to", "until"), ("on or before", "by"),
    ("by", "by"), ("no later than", "by"), ("not later than", "by"), ("not after", "by"), ("ending", "by"),
    ("by the end of", "by"), ("through", "by"),
):  # fmt: skip
    _OPENERS.setdefault(_words.split()[0], []).append((tuple(_words.split()), _kind))
for _entries in _OPENERS.values():
    _entries.sort(key=lambda entry: -len(entry[0]))

_ONWARDS = frozenset("after later greater above onwards onward beyond newer afterwards forward".split())
_BACKWARDS = frozenset("before earlier below older".split())
FIRST_WORDS = frozenset([*_OPENERS, "between", "from", "within"]) | STARTS


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """A range in a text: wall-clock ends, None for open; where it stands; what a reader should know about it."""

    start: datetime | None
    end: datetime | None
    first: int
    after: int
    slack: timedelta = timedelta(0)
    clock_only: bool = False
    note: str | None = None


def expression(source: Source, place: int) -> Reading | None:
    """The range that begins at a place."""
    word = source.low(place)
    try:
        if word in ("between", "from"):
            pair = read_pair(source, place + 1, opened=word)
            if pair is not None:
                return _closed(source, pair, place)
            return _from(source, place) if word == "from" else None
        if word in _OPENERS:
            reading = _opened(source, place)
            if reading is not None:
                return reading
        return _plain(source, place)
    except (ValueError, OverflowError):
        return None  # beyond the calendar


# ---------------------------------------------------------------- two ends


def _closed(source: Source, pair: Ranged, place: int) -> Reading | None:
    left, right = begin_of(pair.left), finish_of(pair.right, until=pair.until)
    note = None
    begin = end = None
    if left.span is not None and right.span is not None:
        if right.span.end <= left.span.start:
            swapped, closing = begin_of(pair.right).span, finish_of(pair.left, until=False).span
            assert swapped is not None
            assert closing is not None
            begin, end = swapped.start, closing.end
            phrase = _phrase(source, place, pair.after)
            note = f"{phrase!r} runs backwards; read it as {begin:%Y-%m-%d} to {closing.last:%Y-%m-%d}"
        else:
            begin, end = left.span.start, right.span.end
    else:
        spans = _matched(source, left, right)
        if spans is None:
            return None
        begin, end = spans
    if end <= begin:
        return None
    clock_only = pair.left.clock_only and pair.right.clock_only
    return Reading(start=begin, end=end, first=place, after=pair.after, clock_only=clock_only, note=note)


def _matched(source: Source, left: Period, right: Period) -> tuple[datetime, datetime] | None:
    """Occurrences of both ends that belong together."""
    now = source.now
    if left.span is not None:
        start = left.span.start
        closing = first_from(
            right, start, lambda span: span.end > start and span.start >= start - timedelta(days=1)
        )
        return (start, closing.end) if closing else None
    if right.span is not None:
        end = right.span
        opening = last_until(left, end.start, lambda span: span.start <= end.start)
        return (opening.start, end.end) if opening else None
    opening = last_until(left, now, lambda span: span.start <= now)
    if source.future:
        ahead = first_from(left, now, lambda span: span.start > now)
        pair = _after(opening, right)
        if pair is None or pair[1] <= now:
            opening = ahead
    return _after(opening, right)


def _after(opening: Span | None, right: Period) -> tuple[datetime, datetime] | None:
    if opening is None:
        return None
    start = opening.start
    closing = first_from(right, start, lambda span: span.end > start and span.start >= start - TICK)
    return (start, closing.end) if closing else None


# ---------------------------------------------------------------- open on one side


def _opened(source: Source, place: int) -> Reading | None:
    for words, kind in _OPENERS[source.low(place)]:
        if not source.words(place, *words):
            continue
        spot = source.skip(place + len(words), ("in", "on", "at", "from"))
        match = period(source, spot)
        if match is None and words[-1] == "than":
            aged = _aged(source, spot, place, words[0])
            if aged is not None:
                return aged
        if match is None or (match[0].weak and match[0].grain is not Grain.INSTANT):
            continue
        if match[0].open_end or match[0].open_start or (match[0].offset and words[-1] == "than"):
            continue
        reading = _one_sided(source, match[0], kind, place, match[1])
        if reading is not None:
            return _bounded(source, reading, match[0])
    return None


def _aged(source: Source, spot: int, place: int, word: str) -> Reading | None:
    """Older than 3 months, newer than a week."""
    match = read_amount(source, spot) if word in ("older", "newer") else None
    if match is None:
        return None
    moment = match[0].after(source.now, -1)
    older = word == "older"
    return Reading(
        start=None if older else moment, end=moment if older else None, first=place, after=match[1]
    )


def _bounded(source: Source, reading: Reading, period_: Period) -> Reading:
    """After June and before March: that March is the first after that June."""
    start = reading.start
    spot = source.skip(source.skip(reading.after, (",",)), ("and", "but"))
    if start is None or period_.cycle is None or source.low(spot) not in ("before", "until", "till"):
        return reading
    match = period(source, spot + 1)
    if match is None or match[0].cycle is not period_.cycle or match[0].weak:
        return reading
    closing = first_from(match[0], start, lambda span: span.start > start)
    return replace(reading, end=closing.start, after=match[1]) if closing else reading


def _one_sided(source: Source, period_: Period, kind: str, place: int, after: int) -> Reading | None:
    # What is to be done by Friday is to be done by the next.
    future = not source.past if kind == "by" else source.future and kind != "since"
    pointed = period_ if kind == "since" else begin_of(period_)
    span = settle(pointed, source.now, future=future)
    if span is None:
        return None
    slack = period_.slack
    long = period_.grain > Grain.DAY and period_.point_of is None and not period_.offset
    if kind == "since":
        return Reading(start=span.start, end=None, first=place, after=after, slack=slack)
    if kind == "after":
        start = span.end if long else span.start
        return Reading(start=start, end=None, first=place, after=after, slack=slack)
    at_end = kind == "by" or (kind == "until" and period_.grain in (Grain.DAY, Grain.INSTANT))
    if period_.grain < Grain.DAYPART and period_.grain is not Grain.INSTANT:
        at_end = False
    end = span.end if at_end and period_.point_of is None else span.start
    if period_.grain is Grain.INSTANT:
        end = day_of(source.now).end
    return Reading(start=None, end=end, first=place, after=after, slack=slack)


def _from(source: Source, place: int) -> Reading | None:
    """From May on; "from 2014" alone is the year."""
    match = period(source, place + 1)
    if match is None or match[0].weak:
        return None
    behind = source.low(match[1])
    if behind in _ONWARDS or (behind == "on" and not source.low(match[1] + 1).isalnum()):
        return _one_sided(source, match[0], "since", place, match[1] + 1)
    return _plain(source, place + 1)


# ---------------------------------------------------------------- a period, or a range without an opening word


def _plain(source: Source, place: int) -> Reading | None:
    match = period(source, place)
    if _may_be_first(source, place, match):
        pair = read_pair(source, place, opened="")
        if pair is not None:
            return _closed(source, pair, place)
    if match is None:
        return None
    period_, after = match
    contained = _contained(source, period_, after)
    if contained is not None:
        return _closed(source, contained, place)
    if period_.weak:
        return None
    suffix = _suffix(source, after)
    if suffix is not None:
        return _one_sided(source, period_, suffix[0], place, suffix[1])
    period_, after = _listed(source, period_, after)
    span = settle(period_, source.now, future=source.future)
    if span is None:
        return None
    return Reading(
        start=None if period_.open_start else span.start,
        end=None if period_.open_end else span.end,
        first=place,
        after=after,
        slack=period_.slack,
        clock_only=period_.clock_only,
    )


def _may_be_first(source: Source, place: int, match: tuple[Period, int] | None) -> bool:
    if match is not None and not match[0].weak:
        after = match[1]
    else:
        day = dates.read_day_number(source, source.skip(place, ("the",)))
        if day is None:
            return False
        after = day.after
    after = source.skip(after, (",",))
    return source.low(after) in TO or source.low(after) in UNTIL or source.words(after, "up", "to")


def _contained(source: Source, outer: Period, after: int) -> Ranged | None:
    """Last week between Friday and Sunday; November between 19 and 20; 8 May from 4 to 5pm."""
    spot = source.skip(after, (",",))
    if source.low(spot) not in ("between", "from") or outer.weak:
        return None
    first = read_end(source, spot + 1)
    if first is None or source.low(first[2]) not in (*TO, *UNTIL, "and"):
        return None
    second = read_end(source, first[2] + 1)
    if second is None:
        return None
    left, hour, _ = first
    right, last_hour, end = second
    if hour and last_hour and left.weak and right.weak and outer.grain is Grain.DAY and last_hour <= 24:
        # Yesterday from 9 to 5.
        left = clock_period(hour % 24, None)
        right = clock_period((last_hour if last_hour > hour else last_hour + 12) % 24, None)
    if outer.cycle is Grain.YEAR:
        year = dates.year_behind(source, end)
        dated = within(outer, dates.year_period(year[0])) if year else None
        if year is not None and dated is not None:
            outer, end = dated, year[1]
    if hour is not None and left.weak and right.grain is Grain.HOUR:
        pair = related(source, left, right, hour)
        if pair is None:
            return None
        left, right = pair
    if left.cycle is not outer.grain or right.cycle is not outer.grain:
        return None
    begin, finish = put_into(left, outer), put_into(right, outer)
    return Ranged(left=begin, right=finish, after=end, until=False) if begin and finish else None


def _suffix(source: Source, place: int) -> tuple[str, int] | None:
    """2016 and later, 1/1/2016 or before, May onwards."""
    word = source.low(place)
    if word in ("onwards", "onward"):
        return "since", place + 1
    if word in ("and", "or"):
        behind = source.low(place + 1)
        follows = source.low(place + 2)
        if behind in _ONWARDS and not follows.isalnum():
            return "since", place + 2
        if behind in _BACKWARDS and not follows.isalnum():
            return "by", place + 2
    return None


def _listed(source: Source, period_: Period, after: int) -> tuple[Period, int]:
    """Q1 and Q2 2023: the year belongs to both."""
    if period_.cycle is not Grain.YEAR or source.low(after) not in (
        "and",
        "or",
        "&",
        ",",
        "vs",
        "versus",
        "with",
    ):
        return period_, after
    match = period(source, after + 1)
    if match is None or match[0].span is None or match[0].relative or match[0].grain is not period_.grain:
        return period_, after
    limit = match[0].span
    span = last_until(period_, limit.start, lambda span: span.start <= limit.start)
    return (replace(period_, span=span, cycle=None, of=None), after) if span else (period_, after)


def _phrase(source: Source, place: int, after: int) -> str:
    return source.text[source.tokens[place].start : source.tokens[after - 1].end]

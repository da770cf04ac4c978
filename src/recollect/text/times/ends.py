"""The two ends of a range, before it is known which: each with what the other says about it.

"From 4 to 22 May" gives May to the 4, "between 4 and 5 pm" gives pm to it, "8-10 May 2023" the year. What becomes of
the ends is in `ranges`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from recollect.text.times import dates
from recollect.text.times.amounts import TICK
from recollect.text.times.calendar import Grain, Span
from recollect.text.times.clock import clock_period
from recollect.text.times.grammar import extended, period
from recollect.text.times.period import Period, mapped, within
from recollect.text.times.tokens import Source

_SIGNS = ("-", "–", "—", "~", "−")
TO = ("to", "through", "thru", *_SIGNS)
UNTIL = ("until", "till")


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranged:
    """A range before it is known which: both ends, and how it closes."""

    left: Period
    right: Period
    after: int
    until: bool


def read_pair(source: Source, place: int, *, opened: str) -> Ranged | None:
    """Two ends with a word between them."""
    first = read_end(source, place)
    if first is None:
        return None
    left, hour, spot = first
    spot = source.skip(spot, (",",))
    word = source.low(spot)
    if source.words(spot, "up", "to"):
        spot += 1
        word = "to"
    if word not in TO and word not in UNTIL and not (opened and word == "and"):
        return None
    second = read_end(source, source.skip(spot + 1, ("in", "on", "at")))
    if second is None:
        return None
    right, _, after = second
    ends = related(source, left, right, hour)
    if ends is None:
        return None
    left, closing = ends
    year = dates.year_behind(source, after) if right.weak and closing.cycle is Grain.YEAR else None
    dated = within(closing, dates.year_period(year[0])) if year else None
    if year is not None and dated is not None:  # May 8-10, 2023
        closing, after = dated, year[1]
    return Ranged(left=left, right=closing, after=after, until=word in UNTIL)


def read_end(source: Source, place: int) -> tuple[Period, int | None, int] | None:
    """One end: a period, or a number that the other end will explain."""
    spot = source.skip(place, ("in", "on", "at"))
    match = period(source, spot)
    bare = source.skip(spot, ("the",))
    day = dates.read_day_number(source, bare)
    if match is not None and not (day is not None and match[0].weak):
        return match[0], None, match[1]
    if day is None:
        return (match[0], None, match[1]) if match is not None else None
    with source.nested():
        explained, after = extended(source, (dates.day_of_any_month(day.value, weak=True), day.after))
    return explained, day.value, after


def related(source: Source, left: Period, right: Period, hour: int | None) -> tuple[Period, Period] | None:
    """Each end with what the other says about it: the month, the day, am or pm."""
    if hour is not None and left.weak and right.grain is Grain.HOUR:
        span = right.of(0) if right.of else right.span
        end = span.start.hour if span else 0
        clock = clock_period(next((h for h in (hour % 12 + 12, hour % 12) if h < end), hour % 12), None)
        if right.cycle is not None:
            left = clock
        elif right.parent is not None and span:
            left = within(clock, right.parent) or left
    if right.parent is not None and left.cycle is right.parent.grain:
        turned = put_into(left, right.parent)
        left = _month_before(left, turned, right)
    elif left.parent is not None and right.cycle is left.parent.grain:
        right = put_into(right, left.parent) or right
    if (left.weak and left.grain is not Grain.INSTANT) or (right.weak and right.grain is not Grain.INSTANT):
        return None
    return left, right


def put_into(inner: Period, outer: Period) -> Period | None:
    """A part of a period, and as good a time as that."""
    made = within(inner, outer)
    return replace(made, weak=False, clock_only=False) if made else None


def _month_before(day: Period, turned: Period | None, right: Period) -> Period:
    """The 27th to the 3rd of April: the 27th of March."""
    if turned is None or turned.of is None or right.of is None or day.of is None:
        return turned or day
    of, own, right_of = turned.of, day.of, right.of

    def earlier(number: int) -> Span | None:
        span, end = of(number), right_of(number)
        if span is None or end is None or span.start <= end.start:
            return span
        return own(span.start.year * 12 + span.start.month - 2)

    return replace(turned, of=earlier)


def begin_of(period_: Period) -> Period:
    """A period as the beginning of a range."""
    if period_.point_of is None or period_.parent is None:
        return period_
    point = period_.point_of
    return (
        mapped(period_, period_.parent, lambda span: Span(start=point(span), end=point(span) + TICK))
        or period_
    )


def finish_of(period_: Period, *, until: bool) -> Period:
    """A period as the end of a range; `end` of its spans is where the range ends."""
    if period_.point_of is not None and period_.parent is not None:
        point = period_.point_of
        shape, outer = period_, period_.parent
        return (
            mapped(shape, outer, lambda span: Span(start=span.start, end=max(point(span), span.start + TICK)))
            or shape
        )
    at_start = period_.grain < Grain.DAYPART or (until and period_.grain > Grain.DAY and not period_.offset)
    if not at_start or period_.grain is Grain.INSTANT:
        return period_
    return mapped(period_, period_, lambda span: Span(start=span.start - TICK, end=span.start)) or period_

"""What a phrase means before it is known which occurrence: "May" comes every year, "Monday" every week, "2023" once.

A `Period` is either a span, or comes again with each year, month, week or day. `settle` chooses the occurrence:
the last that has begun, for people ask what they remember; the next where the sentence speaks of the future.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from recollect.text.times.calendar import Grain, Span, day_of, month, week_of, years

#: How far an occurrence is looked for: a weekday on 29 February, in years; Tuesday the 13th, in months.
_MAX_TRIES = 60
_EPOCH = datetime(1, 1, 1)  # a Monday

Occurrence = Callable[[int], Span | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Period:
    """A period of time that a text speaks of."""

    grain: Grain
    span: Span | None = None
    cycle: Grain | None = None
    """It comes again with each year, month, week or day; `of` gives the occurrence of a number."""
    of: Occurrence | None = None
    parent: Period | None = None
    """The month of a day: "from 4 to 22 May" gives it to the 4 as well."""
    relative: bool = False
    """Counted from now, as "last year" is."""
    offset: bool = False
    """So long before or after something, as "two weeks from now" is."""
    point_of: Callable[[Span], datetime] | None = None
    """The moment of its parent that is meant when a range begins or ends with it: the end of March."""
    slack: timedelta = timedelta(0)
    open_start: bool = False
    open_end: bool = False
    clock_only: bool = False
    weak: bool = False
    """A time only as the end of a range or beside a date: "now", "15"."""


#: A period that was read, and the place after it.
Match = tuple[Period, int]


def known(grain: Grain, span: Span | None, **more: object) -> Period | None:
    """A period that is known, or None when it does not exist."""
    return None if span is None else Period(grain=grain, span=span, **more)  # type: ignore[arg-type]


def every(cycle: Grain, grain: Grain, of: Occurrence, **more: object) -> Period:
    """A period that comes again."""
    return Period(grain=grain, cycle=cycle, of=of, **more)  # type: ignore[arg-type]


def cycle_number(cycle: Grain, moment: datetime) -> int:
    """Which year, month, week or day a moment lies in, counted so that neighbours differ by 1."""
    if cycle is Grain.YEAR:
        return moment.year
    if cycle is Grain.MONTH:
        return moment.year * 12 + moment.month - 1
    days = (moment - _EPOCH).days
    return days // 7 if cycle is Grain.WEEK else days


def cycle_span(cycle: Grain, number: int) -> Span:
    """The year, month, week or day of a number."""
    if cycle is Grain.YEAR:
        return years(number)
    if cycle is Grain.MONTH:
        return month(number // 12, number % 12 + 1)
    if cycle is Grain.WEEK:
        return week_of(_EPOCH + timedelta(days=7 * number))
    return day_of(_EPOCH + timedelta(days=number))


def settle(period: Period, now: datetime, *, future: bool) -> Span | None:
    """The occurrence that is meant, seen from now."""
    if period.span is not None:
        return period.span
    if future:
        return first_from(period, now, lambda span: span.end > now)
    return last_until(period, now, lambda span: span.start <= now)


def last_until(period: Period, moment: datetime, fits: Callable[[Span], bool]) -> Span | None:
    """The latest occurrence that fits, looking back from a moment."""
    return _search(period, moment, fits, -1)


def first_from(period: Period, moment: datetime, fits: Callable[[Span], bool]) -> Span | None:
    """The earliest occurrence that fits, looking forward from a moment."""
    return _search(period, moment, fits, 1)


def _search(period: Period, moment: datetime, fits: Callable[[Span], bool], step: int) -> Span | None:
    if period.span is not None:
        return period.span if fits(period.span) else None
    assert period.cycle is not None
    assert period.of is not None
    # A step further back: winter begins in the year before that which most of it lies in.
    number = cycle_number(period.cycle, moment) - step
    for _ in range(_MAX_TRIES):
        try:
            span = period.of(number)
        except (ValueError, OverflowError):
            return None  # before the year 1, or after 9999
        if span is not None and fits(span):
            return span
        number += step
    return None


def within(inner: Period, outer: Period) -> Period | None:
    """A period as a part of another: Friday of last week, May of 2023, the 4th of this month."""
    if inner.cycle is None or inner.of is None:
        return None
    cycle, of = inner.cycle, inner.of

    def inside(span: Span) -> Span | None:
        return of(cycle_number(cycle, span.start))

    return mapped(replace(inner, span=None, parent=outer), outer, inside)


def mapped(shape: Period, outer: Period, change: Callable[[Span], Span | None]) -> Period | None:
    """A period made from each occurrence of another; grain and marks are those of `shape`."""
    if outer.span is not None:
        span = change(outer.span)
        return None if span is None else replace(shape, span=span, cycle=None, of=None)
    outer_of = outer.of
    if outer_of is None:
        return None

    def of(number: int) -> Span | None:
        span = outer_of(number)
        return None if span is None else change(span)

    return replace(shape, span=None, cycle=outer.cycle, of=of)


def fits_into(inner: Period, outer: Period) -> bool:
    """Whether "inner of outer" says which: days of months, months of years, weekdays of weeks."""
    return inner.cycle is not None and inner.cycle is outer.grain

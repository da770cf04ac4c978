"""Calendar arithmetic: the day, week, month, quarter ... that a moment lies in, and those around it.

Everything here is on wall-clock time without a zone: "last month" is a matter of the calendar on the wall. Zones
come in at the very end, in `placed`. Weeks begin on Monday and are counted as ISO 8601 does: week 1 is that with
the first Thursday, and so is the first week of a month. Knows no words; those are in the modules beside it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta, tzinfo
from enum import IntEnum


class Grain(IntEnum):
    """How long a period is, shortest first."""

    INSTANT = 0
    SECOND = 1
    MINUTE = 2
    HOUR = 3
    DAYPART = 4
    DAY = 5
    BUSINESS_DAY = 6
    WEEKEND = 7
    WEEK = 8
    FORTNIGHT = 9
    MONTH = 10
    SEASON = 11
    QUARTER = 12
    HALF = 13
    YEAR = 14
    DECADE = 15
    CENTURY = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """A stretch of wall-clock time: `start` is in it, `end` is not."""

    start: datetime
    end: datetime

    @property
    def last(self) -> datetime:
        """The last moment in it."""
        return self.end - timedelta(microseconds=1)


def midnight(moment: date) -> datetime:
    """The beginning of a day."""
    return datetime(moment.year, moment.month, moment.day)


def day_of(moment: date) -> Span:
    """The day of a moment."""
    start = midnight(moment)
    return Span(start=start, end=start + timedelta(days=1))


def week_of(moment: date) -> Span:
    """The week of a moment, Monday to Sunday."""
    start = midnight(moment) - timedelta(days=moment.weekday())
    return Span(start=start, end=start + timedelta(days=7))


def weekend_of(moment: date) -> Span:
    """Saturday and Sunday of the week of a moment."""
    week = week_of(moment)
    return Span(start=week.start + timedelta(days=5), end=week.end)


def month(year: int, number: int) -> Span:
    """A month; numbers beyond 12 or below 1 run into the years around."""
    start = datetime(*_carried(year, number), 1)
    return Span(start=start, end=datetime(*_carried(year, number + 1), 1))


def months(year: int, first: int, count: int) -> Span:
    """Several months in a row."""
    return Span(start=month(year, first).start, end=month(year, first + count - 1).end)


def quarter(year: int, number: int) -> Span:
    """A quarter of a calendar year, 1 to 4; others run into the years around."""
    return months(year, number * 3 - 2, 3)


def half(year: int, number: int) -> Span:
    """A half of a calendar year, 1 or 2; others run into the years around."""
    return months(year, number * 6 - 5, 6)


def years(first: int, count: int = 1) -> Span:
    """Whole years."""
    return months(first, 1, 12 * count)


def _carried(year: int, number: int) -> tuple[int, int]:
    return year + (number - 1) // 12, (number - 1) % 12 + 1


def period_of(grain: Grain, moment: datetime, away: int = 0) -> Span:
    """The period of a kind that a moment lies in, or that so many periods away."""
    return _PERIODS[grain](moment, away)


def _rolling(step: timedelta, fields: dict[str, int]) -> Callable[[datetime, int], Span]:
    def make(moment: datetime, away: int) -> Span:
        start = moment.replace(**fields) + step * away  # type: ignore[arg-type]
        return Span(start=start, end=start + step)

    return make


def _fortnight(moment: datetime, away: int) -> Span:
    start = week_of(moment).start + timedelta(days=14 * away)
    return Span(start=start, end=start + timedelta(days=14))


def _business_days(moment: datetime, away: int) -> Span:
    return day_of(next_business_day(moment, away) if away else moment)


_PERIODS: dict[Grain, Callable[[datetime, int], Span]] = {
    Grain.SECOND: _rolling(timedelta(seconds=1), {"microsecond": 0}),
    Grain.MINUTE: _rolling(timedelta(minutes=1), {"second": 0, "microsecond": 0}),
    Grain.HOUR: _rolling(timedelta(hours=1), {"minute": 0, "second": 0, "microsecond": 0}),
    Grain.DAY: lambda moment, away: day_of(moment + timedelta(days=away)),
    Grain.BUSINESS_DAY: _business_days,
    Grain.WEEKEND: lambda moment, away: weekend_of(moment + timedelta(days=7 * away)),
    Grain.WEEK: lambda moment, away: week_of(moment + timedelta(days=7 * away)),
    Grain.FORTNIGHT: _fortnight,
    Grain.MONTH: lambda moment, away: month(moment.year, moment.month + away),
    Grain.QUARTER: lambda moment, away: quarter(moment.year, (moment.month + 2) // 3 + away),
    Grain.HALF: lambda moment, away: half(moment.year, (moment.month + 5) // 6 + away),
    Grain.YEAR: lambda moment, away: years(moment.year + away),
    Grain.DECADE: lambda moment, away: years(moment.year // 10 * 10 + 10 * away, 10),
    Grain.CENTURY: lambda moment, away: years(moment.year // 100 * 100 + 100 * away, 100),
}


_DAYS = {Grain.DAY: 1, Grain.WEEK: 7, Grain.WEEKEND: 7, Grain.FORTNIGHT: 14}
_MONTHS = {
    Grain.MONTH: 1,
    Grain.QUARTER: 3,
    Grain.HALF: 6,
    Grain.YEAR: 12,
    Grain.DECADE: 120,
    Grain.CENTURY: 1200,
}
_SECONDS = {Grain.SECOND: 1, Grain.MINUTE: 60, Grain.HOUR: 3600}


def shift(moment: datetime, count: float, grain: Grain) -> datetime:
    """A moment so many units later, or earlier; the 31st becomes the last day of a shorter month."""
    if grain in _SECONDS:
        return moment + timedelta(seconds=count * _SECONDS[grain])
    if grain is Grain.BUSINESS_DAY:
        return next_business_day(moment, int(count))
    if grain in _DAYS:
        return moment + timedelta(days=int(count * _DAYS[grain]))
    whole = int(count * _MONTHS[grain])
    target = month(moment.year, moment.month + whole)
    day = min(moment.day, target.last.day)
    # Half a month and the like: what is left of it, in days of thirty to the month.
    rest = timedelta(days=int((count * _MONTHS[grain] - whole) * 30))
    return moment.replace(year=target.start.year, month=target.start.month, day=day) + rest


def next_business_day(moment: datetime, count: int) -> datetime:
    """So many Mondays-to-Fridays later, or earlier; public holidays count as days."""
    step = 1 if count > 0 else -1
    while moment.weekday() > 4:  # from the last before the weekend, or the first after it
        moment -= timedelta(days=step)
    weeks, left = divmod(abs(count), 5)
    moment += timedelta(days=7 * weeks * step)
    while left:
        moment += timedelta(days=step)
        left -= moment.weekday() < 5
    return moment


def iso_week(year: int, number: int) -> Span | None:
    """A week by its ISO number; None when the year has no such week."""
    try:
        return week_of(date.fromisocalendar(year, number, 1))
    except ValueError:
        return None


def nth_week(span: Span, number: int) -> Span | None:
    """The nth week of a month, a quarter or a year, from its end when negative: weeks belong to their Thursday."""
    thursday = nth_weekday(span, 3, number)
    return week_of(thursday.start) if thursday else None


def nth_weekday(span: Span, weekday: int, number: int) -> Span | None:
    """The nth Monday (0) ... Sunday (6) of a span, from its end when negative."""
    if number > 0:
        day = span.start + timedelta(days=(weekday - span.start.weekday()) % 7 + 7 * (number - 1))
    else:
        day = span.last - timedelta(days=(span.last.weekday() - weekday) % 7 + 7 * (-number - 1))
    return day_of(day) if number and span.start <= day < span.end else None


def nth_part(span: Span, grain: Grain, number: int) -> Span | None:
    """The nth day, week, month, quarter ... of a span, from its end when negative; None when there is none."""
    if grain is Grain.WEEK:
        return nth_week(span, number)
    if grain is Grain.WEEKEND:
        saturday = nth_weekday(span, 5, number)
        return weekend_of(saturday.start) if saturday else None
    if number == 0:
        return None
    part = period_of(grain, span.start, number - 1) if number > 0 else period_of(grain, span.last, number + 1)
    return part if span.start <= part.start and part.end <= span.end else None


def day_in_month(year: int, number: int, day: int) -> Span | None:
    """A day of a month, None when the month is shorter."""
    whole = month(year, number)
    return day_of(whole.start.replace(day=day)) if 1 <= day <= whole.last.day else None


def easter(year: int) -> date:
    """Easter Sunday of the western churches (the anonymous Gregorian computus)."""
    golden, century = year % 19, year // 100
    skipped = (century - (century + 8) // 25 + 1) // 3
    moon = (19 * golden + century - century // 4 - skipped + 15) % 30
    sunday = (32 + 2 * (century % 4) + 2 * (year % 100 // 4) - moon - year % 4) % 7
    late = (golden + 11 * moon + 22 * sunday) // 451
    number, day = divmod(moon + sunday - 7 * late + 114, 31)
    return date(year, number, day + 1)


def placed(moment: datetime, zone: tzinfo) -> datetime:
    """A wall-clock time in a zone."""
    return moment.replace(tzinfo=zone)


def placed_span(span: Span, zone: tzinfo) -> tuple[datetime, datetime]:
    """Both ends of a span in a zone.

    Where clocks are set forward, the first end may lie in the hour that does not exist, and so after the second:
    then the span is as long as it looks on the wall.
    """
    start, end = placed(span.start, zone), placed(span.end, zone)
    if end.astimezone(UTC) <= start.astimezone(UTC):
        end = (start.astimezone(UTC) + (span.end - span.start)).astimezone(zone)
    return start, end

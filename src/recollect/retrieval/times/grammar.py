"""One period at one place of a text: which reader takes it, and what stands around it and belongs to it.

`period` tries the readers of the modules beside it and joins what says one time in two pieces: Friday next week, May
of last year, yesterday at 5pm. Pieces nest at most a few times, and each place is read once per depth, so a long
text takes time in proportion to its length.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta

from recollect.retrieval.times import amounts, clock, dates, parts, relative
from recollect.retrieval.times.calendar import Grain, Span, day_of, week_of
from recollect.retrieval.times.holidays import HOLIDAYS, holiday, holiday_weekend
from recollect.retrieval.times.meaning import Period, fits_into, mapped, within
from recollect.retrieval.times.tokens import Source
from recollect.retrieval.times.vocabulary import (
    CENTURY_DECADES,
    DAY_WORDS,
    DAYPARTS,
    DECADES,
    DIRECTIONS,
    END_CODES,
    MONTHS,
    PARTS,
    RECENT_WORDS,
    SEASONS,
    SMALL,
    SMALL_ORDINALS,
    TEN_ORDINALS,
    TENS,
    TO_DATE_CODES,
    UNITS,
    VAGUE,
    WEEKDAYS,
)

Match = tuple[Period, int]
#: "the end of the first week of next month" nests three times.
_MAX_DEPTH = 4
_MAX_PIECES = 4
_ARTICLES = frozenset("the my our".split())
_RECURRING = frozenset("every each per".split())
_JOINTS = frozenset(", of in on at - – for during the".split())

#: Words that can begin a period; figures always can.
STARTS = frozenset(
    [
        *MONTHS,
        *WEEKDAYS,
        *UNITS,
        *SMALL,
        *TENS,
        *SMALL_ORDINALS,
        *TEN_ORDINALS,
        *DECADES,
        *CENTURY_DECADES,
        *VAGUE,
    ]
    + [
        *DIRECTIONS,
        *DAY_WORDS,
        *DAYPARTS,
        *SEASONS,
        *PARTS,
        *END_CODES,
        *TO_DATE_CODES,
        *RECENT_WORDS,
        *HOLIDAYS,
    ]
    + [
        *_ARTICLES,
        *"a an last final now other of so to earlier later rest remainder remaining in within q h w".split(),
    ]
    + "more less over under about around at least almost nearly roughly exactly just cy fy calendar fiscal".split()
    + "fewer longer cw kw approximately some few night sooner greater".split()
)


def period(source: Source, place: int, depth: int = 0) -> Match | None:
    """The period that begins at a place, and the place after it."""
    if place >= len(source.tokens) or depth > _MAX_DEPTH:
        return None
    token = source.tokens[place]
    if token.number is None and token.low not in STARTS and token.low not in ("'", "’"):
        return None
    key = (place, depth)
    if key not in source.memo:
        source.memo[key] = None
        source.memo[key] = _read(source, place, depth)
    found: Match | None = source.memo[key]
    return found


def _read(source: Source, place: int, depth: int) -> Match | None:
    try:
        found = _piece(source, place, depth)
        return extended(source, found, depth) if found is not None else None
    except (ValueError, OverflowError):
        return None  # beyond the calendar: the year 12000


def _piece(source: Source, place: int, depth: int) -> Match | None:
    word = source.low(place)
    if source.low(place - 1) in _RECURRING and (word in WEEKDAYS or word in UNITS or word in SEASONS):
        return None

    def inner(source: Source, place: int) -> Match | None:
        return period(source, place, depth + 1)

    if word in _ARTICLES:
        spot = place + 1
        for reader in (relative.around_next, relative.definite):
            found = reader(source, spot)
            if found is not None:
                return found
        return _piece(source, spot, depth) if source.low(spot) not in _ARTICLES else None
    token = source.tokens[place]
    if token.number is not None:
        return _first(source, place, _NUMBER_READERS, inner)
    return _first(source, place, _WORD_READERS, inner)


Inner = Callable[[Source, int], Match | None]
Deep = Callable[[Source, int, Inner], Match | None]


def _plain(reader: Callable[[Source, int], Match | None]) -> Deep:
    return lambda source, place, inner: reader(source, place)


_NUMBER_READERS: tuple[Deep, ...] = (
    _plain(dates.figures),
    _plain(dates.year_and_code),
    _plain(dates.quarter_code),
    _plain(dates.year_month),
    _plain(dates.day_month),
    _plain(dates.decade),
    _plain(dates.century),
    parts.nth,
    _plain(amounts.counted),
    amounts.offset,
    _plain(clock.time_of_day),
    _plain(dates.year_alone),
    _plain(parts.day_alone),
)
_WORD_READERS: tuple[Deep, ...] = (
    _plain(holiday),
    _plain(dates.weekday_date),
    _plain(dates.month_date),
    parts.nth,
    _plain(amounts.counted),
    _plain(relative.directed),
    parts.part,
    relative.side_of_now,
    relative.to_date,
    parts.week,
    _plain(relative.around_next),
    _plain(relative.bare_weekend),
    _plain(relative.day_word),
    _plain(relative.season),
    _plain(dates.quarter_code),
    _plain(dates.decade),
    _plain(dates.century),
    _plain(dates.year_month),
    _plain(dates.day_month),
    amounts.offset,
    amounts.inside,
    _plain(relative.recent),
    _plain(clock.time_of_day),
    _plain(dates.year_alone),
    _plain(parts.day_alone),
)


def _first(source: Source, place: int, readers: tuple[Deep, ...], inner: Inner) -> Match | None:
    for reader in readers:
        found = reader(source, place, inner)
        if found is not None:
            return found
    return None


# ---------------------------------------------------------------- what belongs together


def extended(source: Source, found: Match, depth: int) -> Match:
    """A period with what stands behind it and says which one."""
    for _ in range(_MAX_PIECES):
        more = _more(source, found, depth)
        if more is None:
            return found
        found = more
    return found


def _more(source: Source, found: Match, depth: int) -> Match | None:
    period_, after = found
    if after >= len(source.tokens) or period_.open_start or period_.open_end:
        return None
    if period_.cycle is Grain.YEAR:
        year = dates.year_behind(source, after)
        if year is not None:
            dated = within(period_, dates.year_period(year[0]))
            return (dated, year[1]) if dated else None
    if period_.grain is Grain.DAY and source.low(after) == "weekend":
        made = mapped(replace(period_, grain=Grain.WEEKEND), period_, holiday_weekend)
        return (made, after + 1) if made else None
    daypart = _daypart(source, period_, after)
    if daypart is not None:
        return daypart
    return _joined(source, found, depth)


def _daypart(source: Source, period_: Period, after: int) -> Match | None:
    """Monday morning, yesterday in the evening, 8 May at night."""
    if period_.grain is not Grain.DAY:
        return None
    spot = source.skip(source.skip(source.skip(after, (",",)), ("in", "at", "during")), ("the",))
    spot = source.skip(spot, ("early", "late"))
    name = source.low(spot)
    if name not in DAYPARTS or name == "tonight":
        return None
    made = within(clock.daypart_period(name), period_)
    return (replace(made, clock_only=False), spot + 1) if made else None


def _joined(source: Source, found: Match, depth: int) -> Match | None:
    period_, after = found
    spot = after
    if source.low(spot) == "." and source.low(spot - 1) in MONTHS and len(source.low(spot - 1)) < 5:
        spot += 1
    for _ in range(2):
        spot = source.skip(spot, _JOINTS)
    if spot >= len(source.tokens):
        return None
    other = period(source, spot, depth + 1)
    if other is None or other[0].open_start or other[0].open_end:
        return None
    second, end = other
    if fits_into(period_, second) and not second.weak:
        made = within(period_, second)
        return (replace(made, weak=False, clock_only=False), end) if made else None
    if fits_into(second, period_) and not period_.weak and (not second.weak or second.clock_only):
        made = within(second, period_)
        return (replace(made, weak=False, clock_only=False), end) if made else None
    for weekday, other_day in ((period_, second), (second, period_)):
        if weekday.cycle is Grain.WEEK and other_day.offset and other_day.grain is Grain.DAY:
            return _weekday_near(weekday, other_day, end)
    return None


def _weekday_near(weekday: Period, day: Period, end: int) -> Match | None:
    """Monday two weeks from now: the Monday of that week."""
    number = weekday.of(0) if weekday.of else None
    if number is None:
        return None
    days = number.start.weekday()

    def change(span: Span) -> Span:
        return day_of(week_of(span.start).start + timedelta(days=days))

    made = mapped(replace(day, slack=timedelta(0)), day, change)
    return (made, end) if made else None

"""A period at a place of a text: which reader takes it, and what stands around it and belongs to it.

`period` tries the readers of the modules beside it and joins what says a time in two pieces: Friday next week, May
of last year, yesterday at 5pm. Pieces nest at most a few times, and each place is read once per depth, so a long
text takes time in proportion to its length.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from datetime import timedelta

from recollect.text.times import amounts, clock, dates, parts, relative, years
from recollect.text.times.calendar import Grain, Span, day_of, week_of
from recollect.text.times.period import Match, Period, fits_into, mapped, within
from recollect.text.times.tokens import (
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
    Source,
)
from recollect.text.times.years import HOLIDAYS, holiday, holiday_weekend

#: "the end of the first week of next month" nests three times.
_MAX_DEPTH = 3
_MAX_PIECES = 4
_ARTICLES = frozenset("the my our".split())
_RECURRING = frozenset("every each per".split())
_JOINTS = frozenset(", of in on at - – for during the".split())


def period(source: Source, place: int) -> Match | None:
    """The period that begins at a place, and the place after it."""
    if place >= len(source.tokens) or source.depth > _MAX_DEPTH:
        return None
    token = source.tokens[place]
    if token.number is None and token.low not in STARTS:
        return None
    key = (place, source.depth)
    if key not in source.memo:
        source.memo[key] = None
        with source.nested():
            source.memo[key] = _read(source, place)
    return source.memo[key]


def _read(source: Source, place: int) -> Match | None:
    try:
        match = _piece(source, place)
        return extended(source, match) if match is not None else None
    except (ValueError, OverflowError):
        return None  # beyond the calendar: the year 12000


def _piece(source: Source, place: int) -> Match | None:
    if place >= len(source.tokens):
        return None
    word = source.low(place)
    if word in WEEKDAYS and source.low(place - 1) in ("my", "our"):
        return None  # my Sunday rides
    if source.low(place - 1) in _RECURRING and (word in WEEKDAYS or word in UNITS or word in SEASONS):
        return None

    if word in _ARTICLES:
        spot = place + 1
        for reader in (relative.around_next, relative.definite):
            match = reader(source, spot)
            if match is not None:
                return match
        return _piece(source, spot) if source.low(spot) not in _ARTICLES else None
    token = source.tokens[place]
    if token.number is None:
        readers = _READERS.get(word, ())
    else:
        size = token.end - token.start
        readers = _SHORT if size <= 2 else _FOUR if size == 4 else _OTHER
    return _first(source, place, readers)


Reader = Callable[[Source, int], Match | None]

_ORDINALS = SMALL_ORDINALS.keys() | TEN_ORDINALS.keys()
_CARDINALS = SMALL.keys() | TENS.keys()
_NUMBERS = _CARDINALS | _ORDINALS

#: In figures: which readers look at a number of one or two figures, of four, of another length.
_SHORT: tuple[Reader, ...] = (
    dates.figures,
    years.quarter_code,
    dates.day_month,
    years.decade,
    years.century,
    parts.nth,
    amounts.counted,
    amounts.offset,
    clock.time_of_day,
    parts.day_alone,
)
_FOUR: tuple[Reader, ...] = (
    dates.figures,
    years.year_and_code,
    dates.year_month,
    years.decade,
    amounts.counted,
    amounts.offset,
    years.year_alone,
)
_OTHER: tuple[Reader, ...] = (dates.figures, parts.nth, amounts.counted, amounts.offset)

#: In words: each reader and the words it begins with. Where several begin with a word, the first that fits is right.
_WORD_READERS: tuple[tuple[Reader, Iterable[str]], ...] = (
    (holiday, HOLIDAYS),
    (relative.beside, [*UNITS, *WEEKDAYS, "last", "final", "first"]),
    (dates.weekday_date, WEEKDAYS),
    (dates.month_date, MONTHS),
    (parts.nth, [*_ORDINALS, *TENS, "last", "final"]),
    (amounts.counted, [*DIRECTIONS, *VAGUE, *_CARDINALS]),
    (relative.directed, DIRECTIONS),
    (parts.part, [*PARTS, *END_CODES]),
    (parts.side_of_now, "earlier later sooner rest remainder remaining remains".split()),
    (relative.to_date, [*TO_DATE_CODES, *UNITS, "so", "to"]),
    (parts.week, "week weekend wk cw kw w calendar".split()),
    (relative.around_next, UNITS),
    (relative.bare_weekend, ["weekend"]),
    (relative.day_word, [*DAY_WORDS, "day", "other", "now", "current", "present"]),
    (relative.season, SEASONS),
    (years.quarter_code, "qh"),
    (years.decade, [*DECADES, *CENTURY_DECADES, *_CARDINALS]),
    (years.century, _NUMBERS),
    (dates.year_month, [*_CARDINALS, "'", "’"]),
    (dates.day_month, _NUMBERS),
    (amounts.offset, [*_CARDINALS, *VAGUE, *UNITS, *amounts.BOUND_WORDS, "a", "an", "half"]),
    (amounts.inside, ["in", "within"]),
    (relative.recent, [*RECENT_WORDS, "of"]),
    (clock.time_of_day, [*_CARDINALS, "noon", "midday", "midnight", "half", "quarter"]),
    (years.year_alone, [*_CARDINALS, "year", "cy", "fy", "calendar", "fiscal", "'", "’"]),
    (parts.day_alone, _NUMBERS),
)


def _by_word() -> dict[str, tuple[Reader, ...]]:
    table: dict[str, list[Reader]] = {}
    for reader, words in _WORD_READERS:
        for word in dict.fromkeys(words):
            table.setdefault(word, []).append(reader)
    return {word: tuple(readers) for word, readers in table.items()}


_READERS = _by_word()
#: Words that can begin a period; figures always can.
STARTS = frozenset(_READERS) | _ARTICLES


def _first(source: Source, place: int, readers: tuple[Reader, ...]) -> Match | None:
    for reader in readers:
        match = reader(source, place)
        if match is not None:
            return match
    return None


# ---------------------------------------------------------------- what belongs together


def extended(source: Source, match: Match) -> Match:
    """A period with what stands behind it and says which."""
    for _ in range(_MAX_PIECES):
        more = _more(source, match)
        if more is None:
            return match
        match = more
    return match


def _more(source: Source, match: Match) -> Match | None:
    period_, after = match
    if after >= len(source.tokens) or period_.open_start or period_.open_end:
        return None
    if period_.cycle is Grain.YEAR:
        year = dates.year_behind(source, after)
        if year is not None:
            dated = within(period_, dates.year_period(year[0]))
            return (dated, year[1]) if dated else None
    if source.words(after, "so", "far") and period_.relative and period_.span is not None:
        return relative.until_now(source, period_.span), after + 2
    if period_.grain is Grain.DAY and source.low(after) == "weekend":
        made = mapped(replace(period_, grain=Grain.WEEKEND), period_, holiday_weekend)
        return (made, after + 1) if made else None
    if period_.grain is Grain.DAY and period_.cycle is Grain.YEAR and source.low(after) == "week":
        made = mapped(replace(period_, grain=Grain.WEEK), period_, lambda span: week_of(span.start))
        return (made, after + 1) if made else None
    if period_.weak and period_.cycle is Grain.MONTH and not _has_month(source, after):
        return None
    daypart = _daypart(source, period_, after)
    if daypart is not None:
        return daypart
    return _joined(source, match)


def _has_month(source: Source, place: int) -> bool:
    """Whether a number is a day of what follows: 4 of May, 23 next month; but not "first in February"."""
    if source.low(place) == "in":
        return source.low(place + 1) in DIRECTIONS
    return source.low(place) == "of" or source.low(place) in DIRECTIONS


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


def _joined(source: Source, match: Match) -> Match | None:
    period_, after = match
    spot = after
    if source.low(spot) == "." and source.low(spot - 1) in MONTHS and len(source.low(spot - 1)) < 5:
        spot += 1
    for _ in range(2):
        spot = source.skip(spot, _JOINTS)
    if spot >= len(source.tokens):
        return None
    other = period(source, spot)
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

"""One period at one place of a text: which reader takes it, and what stands around it and belongs to it.

`period` tries the readers of the modules beside it and joins what says one time in two pieces: Friday next week, May
of last year, yesterday at 5pm. Pieces nest at most a few times, and each place is read once per depth, so a long
text takes time in proportion to its length.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from datetime import timedelta

from recollect.text.times import amounts, clock, dates, parts, relative, years
from recollect.text.times.calendar import Grain, Span, day_of, week_of
from recollect.text.times.meaning import Period, fits_into, mapped, within
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

Match = tuple[Period, int]
#: "the end of the first week of next month" nests three times.
_MAX_DEPTH = 3
_MAX_PIECES = 4
_ARTICLES = frozenset("the my our".split())
_RECURRING = frozenset("every each per".split())
_JOINTS = frozenset(", of in on at - – for during the".split())


def period(source: Source, place: int, depth: int = 0) -> Match | None:
    """The period that begins at a place, and the place after it."""
    if place >= len(source.tokens) or depth > _MAX_DEPTH:
        return None
    token = source.tokens[place]
    if token.number is None and token.low not in STARTS:
        return None
    key = (place, depth)
    if key not in source.memo:
        source.memo[key] = None
        source.memo[key] = _read(source, place, depth)
    match: Match | None = source.memo[key]
    return match


def _read(source: Source, place: int, depth: int) -> Match | None:
    try:
        found = _piece(source, place, depth)
        return extended(source, found, depth) if found is not None else None
    except (ValueError, OverflowError):
        return None  # beyond the calendar: the year 12000


def _piece(source: Source, place: int, depth: int) -> Match | None:
    if place >= len(source.tokens):
        return None
    word = source.low(place)
    if word in WEEKDAYS and source.low(place - 1) in ("my", "our"):
        return None  # my Sunday rides
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
    if token.number is None:
        readers = _READERS.get(word, ())
    else:
        size = token.end - token.start
        readers = _SHORT if size <= 2 else _FOUR if size == 4 else _OTHER
    return _first(source, place, readers, inner)


Inner = Callable[[Source, int], Match | None]
Deep = Callable[[Source, int, Inner], Match | None]


def _plain(reader: Callable[[Source, int], Match | None]) -> Deep:
    return lambda source, place, inner: reader(source, place)


_ORDINALS = SMALL_ORDINALS.keys() | TEN_ORDINALS.keys()
_CARDINALS = SMALL.keys() | TENS.keys()
_NUMBERS = _CARDINALS | _ORDINALS

#: In figures: which readers look at a number of one or two figures, of four, of another length.
_SHORT: tuple[Deep, ...] = (
    _plain(dates.figures),
    _plain(years.quarter_code),
    _plain(dates.day_month),
    _plain(years.decade),
    _plain(years.century),
    parts.nth,
    _plain(amounts.counted),
    amounts.offset,
    _plain(clock.time_of_day),
    _plain(parts.day_alone),
)
_FOUR: tuple[Deep, ...] = (
    _plain(dates.figures),
    _plain(years.year_and_code),
    _plain(dates.year_month),
    _plain(years.decade),
    _plain(amounts.counted),
    amounts.offset,
    _plain(years.year_alone),
)
_OTHER: tuple[Deep, ...] = (_plain(dates.figures), parts.nth, _plain(amounts.counted), amounts.offset)

#: In words: each reader and the words it begins with. Where several begin with a word, the first that fits is right.
_WORD_READERS: tuple[tuple[Deep, Iterable[str]], ...] = (
    (_plain(holiday), HOLIDAYS),
    (relative.beside, [*UNITS, *WEEKDAYS, "last", "final", "first"]),
    (_plain(dates.weekday_date), WEEKDAYS),
    (_plain(dates.month_date), MONTHS),
    (parts.nth, [*_ORDINALS, *TENS, "last", "final"]),
    (_plain(amounts.counted), [*DIRECTIONS, *VAGUE, *_CARDINALS]),
    (_plain(relative.directed), DIRECTIONS),
    (parts.part, [*PARTS, *END_CODES]),
    (parts.side_of_now, "earlier later sooner rest remainder remaining remains".split()),
    (relative.to_date, [*TO_DATE_CODES, *UNITS, "so", "to"]),
    (parts.week, "week weekend wk cw kw w calendar".split()),
    (_plain(relative.around_next), UNITS),
    (_plain(relative.bare_weekend), ["weekend"]),
    (_plain(relative.day_word), [*DAY_WORDS, "day", "other", "now", "current", "present"]),
    (_plain(relative.season), SEASONS),
    (_plain(years.quarter_code), "qh"),
    (_plain(years.decade), [*DECADES, *CENTURY_DECADES, *_CARDINALS]),
    (_plain(years.century), _NUMBERS),
    (_plain(dates.year_month), [*_CARDINALS, "'", "’"]),
    (_plain(dates.day_month), _NUMBERS),
    (amounts.offset, [*_CARDINALS, *VAGUE, *UNITS, *amounts.BOUND_WORDS, "a", "an", "half"]),
    (amounts.inside, ["in", "within"]),
    (_plain(relative.recent), [*RECENT_WORDS, "of"]),
    (_plain(clock.time_of_day), [*_CARDINALS, "noon", "midday", "midnight", "half", "quarter"]),
    (_plain(years.year_alone), [*_CARDINALS, "year", "cy", "fy", "calendar", "fiscal", "'", "’"]),
    (_plain(parts.day_alone), _NUMBERS),
)


def _by_word() -> dict[str, tuple[Deep, ...]]:
    table: dict[str, list[Deep]] = {}
    for reader, words in _WORD_READERS:
        for word in dict.fromkeys(words):
            table.setdefault(word, []).append(reader)
    return {word: tuple(readers) for word, readers in table.items()}


_READERS = _by_word()
#: Words that can begin a period; figures always can.
STARTS = frozenset(_READERS) | _ARTICLES


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
    return _joined(source, found, depth)


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

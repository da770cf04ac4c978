"""Dates and periods of the calendar: 8 May 2023, 05/08/2023, May, Monday the 8th, 2023, Q4, the nineties.

Each reader takes a place in the tokens and gives a period and the place after it, or None. None looks further than
a few tokens ahead.
"""

from __future__ import annotations

import re
from datetime import timedelta

from recollect.text.times.calendar import (
    Grain,
    Span,
    day_in_month,
    day_of,
    month,
    years,
)
from recollect.text.times.period import Match, Period, cycle_number, cycle_span, every, known
from recollect.text.times.tokens import (
    DIRECTIONS,
    DOUBTFUL,
    ID_WORDS,
    MONTHS,
    PARTS,
    PAST_WORDS,
    PREPOSITIONS,
    SHORT_UNITS,
    UNITS,
    WEEKDAYS,
    Number,
    Source,
    full_year,
    read_number,
    read_year,
)

#: People are called so: "What did April say?"
_NAMES = frozenset("april june august may jan".split())
_SPEAKING = PAST_WORDS | {"does", "do", "is", "has", "with", "tell", "ask", "asked", "and", "'"}
_STRICT = (PREPOSITIONS - {"and", "or", "about", "past", "over", "as"}) | set(DIRECTIONS) | set(PARTS)


def month_of_year(year: int | None, number: int) -> Period:
    """A month, of a year or of every year."""
    if year is not None:
        return Period(grain=Grain.MONTH, span=month(year, number))
    return every(Grain.YEAR, Grain.MONTH, lambda year: month(year, number))


def day_of_year(year: int | None, number: int, day: int) -> Period | None:
    """A day of a month, of a year or of every year."""
    parent = month_of_year(year, number)
    if year is not None:
        return known(Grain.DAY, day_in_month(year, number, day), parent=parent)
    return every(Grain.YEAR, Grain.DAY, lambda year: day_in_month(year, number, day), parent=parent)


def year_period(year: int) -> Period:
    """A year."""
    return Period(grain=Grain.YEAR, span=years(year))


def day_of_any_month(day: int, **more: object) -> Period:
    """The 4th of every month."""
    return every(Grain.MONTH, Grain.DAY, lambda n: day_in_month(n // 12, n % 12 + 1, day), **more)


def is_name_of_time(source: Source, place: int) -> bool:
    """Whether a month's or a day's name is meant as one: "may" and "march" and "sun" are words as well."""
    word = source.low(place)
    before = source.low(place - 1)
    if word in _NAMES and before in _SPEAKING and not _in_range(source, place):
        return False
    if word not in DOUBTFUL:
        return True
    if before in _STRICT and not (word == "may" and before in ("that", "this", "of")):
        return True
    if _in_range(source, place) or _begins_range(source, place):
        return True
    capital = source.tokens[place].capital and place > 0 and before not in (".", "?", "!", ":")
    if word in ("jan", "sun", "mar", "sat"):
        return False
    return capital and source.low(place + 1) not in ("i", "we", "you", "be")


def _in_range(source: Source, place: int) -> bool:
    if source.low(place - 1) not in ("and", "-", "–", "—", "to", "through", "~", "until", "till"):
        return False
    return any(source.low(spot) in ("between", "from") or source.low(spot) in MONTHS
               for spot in range(max(0, place - 6), place - 1))  # fmt: skip


def _begins_range(source: Source, place: int) -> bool:
    """Jan to Mar, Sat-Sun."""
    names = MONTHS if source.low(place) in MONTHS else WEEKDAYS
    return source.low(place + 1) in ("-", "–", "to", "through", "thru") and source.low(place + 2) in names


def read_day_number(source: Source, place: int) -> Number | None:
    """A number that can be a day of a month, and is no time and no amount."""
    number = read_number(source, place)
    if number is None or not 1 <= number.value <= 31 or number.figures > 2:
        return None
    behind = source.low(number.after)
    if behind == ":" and source.glued(number.after) and source.glued(number.after + 1):
        return None
    if behind in ("am", "pm", "%", "o'clock", "hours") or (
        behind in UNITS and behind not in ("day", "second")
    ):
        return None
    if place and source.glued(place) and source.low(place - 1) in ("$", "€", "£", "#"):
        return None
    if number.figures and not number.ordinal and source.glued(number.after) and behind in SHORT_UNITS:
        return None
    return number


def year_behind(source: Source, place: int, *, short: bool = False) -> tuple[int, int] | None:
    """A year that belongs to what stands before: "May 2023", "May, 2023", "May of 2023", "15 April of 87"."""
    spot = source.skip(place, (",",))
    joined = source.skip(spot, ("of", "in", "-", "/"))
    joined = source.skip(joined, ("the",)) if source.low(joined + 1) == "year" else joined
    year = read_year(source, source.skip(joined, ("year",)))
    if year is not None:
        return year
    number = read_number(source, joined) if short and source.low(joined - 1) == "of" else None
    if number is not None and number.figures == 2 and not number.ordinal:
        return full_year(number.value, source.now), number.after
    return None


def month_date(source: Source, place: int) -> Match | None:
    """May, May 2023, May 8, May the 8th, 2023, May-8, May-2023-8."""
    number = MONTHS.get(source.low(place))
    if number is None:
        return None
    after = place + 1
    spot = source.skip(after, (".",)) if len(source.low(place)) <= 4 else after
    spot = source.skip(spot, (".",)) if source.glued(spot + 1) else spot
    sign = source.skip(spot, ("-", "/", "the", "–"))
    sign = source.skip(sign, ("the",))
    day = read_day_number(source, sign)
    if day is not None and not _is_count(source, place, day):
        year = year_behind(source, day.after, short=True)
        period = day_of_year(year[0] if year else None, number, day.value)
        return (period, year[1] if year else day.after) if period else None
    year = year_behind(source, spot)
    if year is not None:
        last = read_day_number(source, year[1] + 1) if source.low(year[1]) == "-" else None
        if last is not None and source.glued(year[1] + 1) and source.glued(year[1]):
            period = day_of_year(year[0], number, last.value)
            return (period, last.after) if period else None
        return month_of_year(year[0], number), year[1]
    return (month_of_year(None, number), after) if is_name_of_time(source, place) else None


def _is_count(source: Source, place: int, day: Number) -> bool:
    """Whether the number behind a doubtful month counts something: "may two people come"."""
    written = day.figures == 0 and not day.ordinal
    return written and source.low(place) in ("may", "march") and not is_name_of_time(source, place)


def day_month(source: Source, place: int) -> Match | None:
    """8 May, 8th of May 2023, the eighth of May, 8-May-2023, 23-2020-September."""
    day = read_day_number(source, place)
    if day is None:
        return None
    spot = source.skip(day.after, ("of", "-", "/", ".", "–"))
    spot = source.skip(spot, ("the",))
    number = MONTHS.get(source.low(spot))
    if number is None:
        return _day_year_month(source, day)
    joined = spot > day.after or day.ordinal
    year = year_behind(source, source.skip(spot + 1, (".",)), short=True)
    sure = joined or year or source.low(spot) not in DOUBTFUL or source.tokens[spot].capital
    if not sure and source.low(spot + 1).isalpha():
        return None  # "8 may follow"
    period = day_of_year(year[0] if year else None, number, day.value)
    return (period, year[1] if year else spot + 1) if period else None


def _day_year_month(source: Source, day: Number) -> Match | None:
    if source.low(day.after) not in ("-", "/") or not source.glued(day.after + 1):
        return None
    year = read_year(source, day.after + 1)
    spot = year[1] if year else 0
    number = MONTHS.get(source.low(spot + 1)) if source.low(spot) in ("-", "/") else None
    if year is None or number is None:
        return None
    period = day_of_year(year[0], number, day.value)
    return (period, spot + 2) if period else None


def year_month(source: Source, place: int) -> Match | None:
    """2023 May, 2023-may-8."""
    year = read_year(source, place)
    if year is None:
        return None
    spot = source.skip(year[1], (",", "-", "/"))
    number = MONTHS.get(source.low(spot))
    if number is None or (source.low(spot) == "may" and spot == year[1] and not source.tokens[spot].capital):
        return None
    if source.low(spot + 1) in ("-", "/") and source.glued(spot + 2):
        day = read_day_number(source, spot + 2)
        period = day_of_year(year[0], number, day.value) if day else None
        if day and period:
            return period, day.after
    return month_of_year(year[0], number), spot + 1


# ---------------------------------------------------------------- in figures

_YEAR_FIRST = re.compile(r"(\d{4})\s?([-/.])\s?(\d{1,2})\s?\2\s?(\d{1,2})(?![\d])(?![-/.]\d)")
_YEAR_LAST = re.compile(r"(\d{1,2})([-/.])(\d{1,2})(?:\2|\s?,\s?)(\d{4}|\d{2})(?!\d|[/.]\d|\w)")
_YEAR_MONTH = re.compile(r"(\d{4})\s?[-/]\s?(\d{1,2})(?![\d:]|[-/.]\d|\w)")
_MONTH_YEAR = re.compile(r"(\d{1,2})\s?[-/]\s?(\d{4})(?!\d|[-/.]\d|\w)")
_SHORT = re.compile(r"(\d{1,2})([-/.])(\d{1,2})(?!\d|[/.]\d|\w|%)")
_COMPACT = re.compile(r"(\d{4})(\d{2})(\d{2})(?!\d)")
#: Behind a date; the day is enough, for its zone may be another.
_ISO_TIME = re.compile(r"T\d{2}:?\d{2}(?::?\d{2}(?:[.,]\d{1,9})?)?(?:Z|[+-]\d{2}:?\d{2})?")
_DATED = frozenset("on by since before after until till this next last".split())


def figures(source: Source, place: int) -> Match | None:
    """2023-05-08, 05/08/2023, 8.5.2023, 20230508, 5/8, 2023-05."""
    token = source.tokens[place]
    if token.number is None:
        return None
    size = token.end - token.start
    if size == 8:
        return _compact(source, place)
    if size not in (1, 2, 4) or _is_glued_to_a_name(source, place):
        return None
    text, start = source.text, token.start
    if size == 4:
        if match := _YEAR_FIRST.match(text, start):
            return _built(source, place, match, int(match[1]), int(match[3]), int(match[4]))
        if match := _YEAR_MONTH.match(text, start):
            year, number = int(match[1]), int(match[2])
            if 1 <= number <= 12 and 1000 <= year <= 2999:
                return month_of_year(year, number), source.at(match.end(), place)
        return None
    if match := _YEAR_LAST.match(text, start):
        return _year_last(source, place, match)
    if (match := _MONTH_YEAR.match(text, start)) and 1 <= int(match[1]) <= 12:
        return month_of_year(int(match[2]), int(match[1])), source.at(match.end(), place)
    return _short(source, place)


def _is_glued_to_a_name(source: Source, place: int) -> bool:
    if not source.glued(place):
        return False
    before = source.low(place - 1)
    if before.isalpha() or before in "$€£#_@.":
        return True
    if before not in "-/" or not source.glued(place - 1):
        return False
    # 10/1-11/7 is a range, INV-11/7 is not a date.
    return source.low(place - 2).isalpha()


def _built(
    source: Source, place: int, match: re.Match[str], year: int, number: int, day: int
) -> Match | None:
    if not 1 <= number <= 12:
        return None
    period = day_of_year(year, number, day)
    if period is None:
        return None
    end = match.end()
    clock = _ISO_TIME.match(source.text, end)
    after = source.at(clock.end() if clock else end, place)
    if source.low(after) == "(" and source.low(after + 1) in WEEKDAYS and source.low(after + 2) == ")":
        after += 3
    return period, after


def _year_last(source: Source, place: int, match: re.Match[str]) -> Match | None:
    first, sign, second, last = int(match[1]), match[2], int(match[3]), match[4]
    if sign == "." and len(last) == 2:
        return None  # a version
    year = int(last) if len(last) == 4 else full_year(int(last), source.now)
    day_first = sign == "." or not source.month_first
    number, day = (second, first) if day_first else (first, second)
    if number > 12:
        number, day = day, number
    elif first <= 12 and second <= 12 and first != second:
        order = "day first" if day_first else "month first"
        source.notes.append(f"read {match[0]!r} with the {order}: {year}-{number:02}-{day:02}")
    return _built(source, place, match, year, number, day)


def _short(source: Source, place: int) -> Match | None:
    """5/8 and the like: with a sign that versions and scores have too, only after "on", "by" or a weekday."""
    match = _SHORT.match(source.text, source.tokens[place].start)
    if match is None or match[0] == "24/7":
        return None
    first, sign, second = int(match[1]), match[2], int(match[3])
    before = source.low(place - 1)
    dated = before in _DATED or before in WEEKDAYS
    large = max(first, second) > 12
    dated = dated or (sign == "/" and before in ("from", "between"))
    ranged = source.low(source.at(match.end(), place)) in ("-", "–", "to") or before in (
        "-",
        "–",
        "to",
        "and",
    )
    if not dated and (sign != "/" or not (large or ranged or len(source.tokens) == 3)):
        return None
    number, day = (first, second) if source.month_first else (second, first)
    if number > 12:
        number, day = day, number
    if not 1 <= number <= 12:
        return None
    period = day_of_year(None, number, day)
    return (period, source.at(match.end(), place)) if period else None


def _compact(source: Source, place: int) -> Match | None:
    match = _COMPACT.match(source.text, source.tokens[place].start)
    if match is None or source.low(place - 1) in ID_WORDS or source.low(place - 1) in ("#", "$"):
        return None
    if source.glued(place) and (source.low(place - 1).isalpha() or source.low(place - 1) == "+"):
        return None
    year = int(match[1])
    return _built(source, place, match, year, int(match[2]), int(match[3])) if 1900 <= year <= 2099 else None


def has_day_first(text: str) -> bool:
    """Whether a text writes a date that can only have the day first: then the others have it too."""
    return any(int(match[1]) > 12 >= int(match[2]) for match in _SLASHED.finditer(text))


_SLASHED = re.compile(r"\b(\d{1,2})[/-](\d{1,2})[/-]\d{2,4}\b")


# ---------------------------------------------------------------- days of the week


def weekday_period(number: int) -> Period:
    """A day of every week."""

    def of(week: int) -> Span:
        return day_of(cycle_span(Grain.WEEK, week).start + timedelta(days=number))

    return every(Grain.WEEK, Grain.DAY, of)


def weekday_date(source: Source, place: int) -> Match | None:
    """Monday, Monday the 8th, Monday 8 May, Mon 05/08."""
    number = WEEKDAYS.get(source.low(place))
    if number is None:
        return None
    after = place + 1
    spot = source.skip(after, (",", ".", "-", "("))
    for reader in (month_date, day_month, figures):
        match = reader(source, spot) if spot < len(source.tokens) else None
        if match is not None and match[0].grain is Grain.DAY:
            return match
    named = source.skip(spot, ("the",))
    day = read_day_number(source, named)
    if day is not None and (day.ordinal or named > spot or (day.figures and _stands_alone(source, day))):
        return _weekday_and_day(source, number, day.value), day.after
    return (weekday_period(number), after) if is_name_of_time(source, place) else None


def _stands_alone(source: Source, number: Number) -> bool:
    behind = source.low(number.after)
    return not behind.isalpha() and behind not in ("-", ":", "/", "%")


def _weekday_and_day(source: Source, weekday: int, day: int) -> Period:
    """Tuesday the 13th: of this month if it is one, else of the nearest month where it is."""

    def of(number: int) -> Span | None:
        span = day_in_month(number // 12, number % 12 + 1, day)
        return span if span is not None and span.start.weekday() == weekday else None

    here = of(cycle_number(Grain.MONTH, source.now))
    return Period(grain=Grain.DAY, span=here) if here else every(Grain.MONTH, Grain.DAY, of)

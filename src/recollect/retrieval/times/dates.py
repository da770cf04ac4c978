"""Dates and periods of the calendar: 8 May 2023, 05/08/2023, May, Monday the 8th, 2023, Q4, the nineties.

Each reader takes a place in the tokens and gives a period and the place after it, or None. None looks further than
a few tokens ahead.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import timedelta

from recollect.retrieval.times.calendar import (
    Grain,
    Span,
    day_in_month,
    day_of,
    half,
    iso_week,
    month,
    quarter,
    years,
)
from recollect.retrieval.times.meaning import Period, cycle_number, cycle_span, every, known
from recollect.retrieval.times.tokens import Number, Source, full_year, is_joined, read_number, read_year
from recollect.retrieval.times.vocabulary import (
    CENTURY_DECADES,
    DECADES,
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
)

Match = tuple[Period, int]
Reader = Callable[[Source, int], Match | None]

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
    if _in_range(source, place):
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
    found = read_year(source, source.skip(joined, ("year",)))
    if found is not None:
        return found
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
        if found := _YEAR_FIRST.match(text, start):
            return _built(source, place, found, int(found[1]), int(found[3]), int(found[4]))
        if found := _YEAR_MONTH.match(text, start):
            year, number = int(found[1]), int(found[2])
            if 1 <= number <= 12 and 1000 <= year <= 2999:
                return month_of_year(year, number), source.at(found.end(), place)
        return None
    if found := _YEAR_LAST.match(text, start):
        return _year_last(source, place, found)
    if (found := _MONTH_YEAR.match(text, start)) and 1 <= int(found[1]) <= 12:
        return month_of_year(int(found[2]), int(found[1])), source.at(found.end(), place)
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
    source: Source, place: int, found: re.Match[str], year: int, number: int, day: int
) -> Match | None:
    if not 1 <= number <= 12:
        return None
    period = day_of_year(year, number, day)
    return (period, source.at(found.end(), place)) if period else None


def _year_last(source: Source, place: int, found: re.Match[str]) -> Match | None:
    first, sign, second, last = int(found[1]), found[2], int(found[3]), found[4]
    if sign == "." and len(last) == 2:
        return None  # a version
    year = int(last) if len(last) == 4 else full_year(int(last), source.now)
    day_first = sign == "." or not source.month_first
    number, day = (second, first) if day_first else (first, second)
    if number > 12:
        number, day = day, number
    elif first <= 12 and second <= 12 and first != second:
        order = "day first" if day_first else "month first"
        source.notes.append(f"read {found[0]!r} with the {order}: {year}-{number:02}-{day:02}")
    return _built(source, place, found, year, number, day)


def _short(source: Source, place: int) -> Match | None:
    """5/8 and the like: with a sign that versions and scores have too, only after "on", "by" or a weekday."""
    found = _SHORT.match(source.text, source.tokens[place].start)
    if found is None or found[0] == "24/7":
        return None
    first, sign, second = int(found[1]), found[2], int(found[3])
    before = source.low(place - 1)
    dated = before in _DATED or before in WEEKDAYS
    large = max(first, second) > 12
    dated = dated or (sign == "/" and before in ("from", "between"))
    ranged = source.low(source.at(found.end(), place)) in ("-", "–", "to") or before in (
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
    return (period, source.at(found.end(), place)) if period else None


def _compact(source: Source, place: int) -> Match | None:
    found = _COMPACT.match(source.text, source.tokens[place].start)
    if found is None or source.low(place - 1) in ID_WORDS or source.low(place - 1) in ("#", "$"):
        return None
    if source.glued(place) and (source.low(place - 1).isalpha() or source.low(place - 1) == "+"):
        return None
    year = int(found[1])
    return _built(source, place, found, year, int(found[2]), int(found[3])) if 1900 <= year <= 2099 else None


def has_day_first(text: str) -> bool:
    """Whether a text writes a date that can only have the day first: then the others have it too."""
    return any(int(found[1]) > 12 >= int(found[2]) for found in _SLASHED.finditer(text))


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
        found = reader(source, spot) if spot < len(source.tokens) else None
        if found is not None and found[0].grain is Grain.DAY:
            return found
    named = source.skip(spot, ("the",))
    day = read_day_number(source, named)
    if day is not None and (day.ordinal or named > spot or _stands_alone(source, day)):
        if day.ordinal or named > spot or day.figures:
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


# ---------------------------------------------------------------- quarters, years, decades, centuries

_QUARTERS = {"q": (Grain.QUARTER, 4, quarter), "h": (Grain.HALF, 2, half)}


def quarter_code(source: Source, place: int) -> Match | None:
    """Q4, Q4 2023, Q4-2023, 4Q23, H1, 1H 2023."""
    token = source.tokens[place]
    if token.low in _QUARTERS and source.glued(place + 1):
        letter, number, after = token.low, source.tokens[place + 1].number, place + 2
    elif token.number is not None and source.glued(place + 1) and source.low(place + 1) in _QUARTERS:
        letter, number, after = source.low(place + 1), token.number, place + 2
    else:
        return None
    grain, most, make = _QUARTERS[letter]
    if (
        number is None
        or not 1 <= number <= most
        or (place and source.glued(place) and _inside(source, place))
    ):
        return None
    short = source.tokens[after].number if source.glued(after) else None
    if token.number is not None and short is not None and source.low(after).isdecimal() and short < 100:
        return Period(grain=grain, span=make(full_year(short, source.now), number)), after + 1
    if source.glued(after) and (source.low(after).isalpha() or short is not None):
        return None
    year = year_behind(source, after)
    if year is not None:
        return Period(grain=grain, span=make(year[0], number)), year[1]
    if letter == "h" and not (token.capital or source.tokens[after - 1].capital):
        return None
    return every(Grain.YEAR, grain, lambda year: make(year, number)), after


def _inside(source: Source, place: int) -> bool:
    before = source.low(place - 1)
    return before.isalpha() or before == "_"


def year_and_code(source: Source, place: int) -> Match | None:
    """2023 Q4, 2023-Q4, 2023H1, 2023-W05."""
    token = source.tokens[place]
    if token.number is None or token.end - token.start != 4 or not 1900 <= token.number <= 2999:
        return None
    spot = source.skip(place + 1, ("-", "/", "'", ","))
    letter = source.low(spot)
    if letter not in ("q", "h", "w") or not source.glued(spot + 1):
        return None
    number = source.tokens[spot + 1].number
    if number is None or number < 1:
        return None
    if letter == "w":
        period = known(Grain.WEEK, iso_week(token.number, number))
    else:
        grain, most, make = _QUARTERS[letter]
        period = Period(grain=grain, span=make(token.number, number)) if number <= most else None
    return (period, spot + 2) if period else None


def year_alone(source: Source, place: int) -> Match | None:
    """In 2023, the year 247, CY 2023, sales 2023; not 2023 users, not Windows 2000, not INV-2023."""
    word = source.low(place)
    if word in ("year", "cy", "fy", "calendar", "fiscal"):
        return _named_year(source, place)
    found = read_year(source, place)
    if found is None:
        return None
    year, after = found
    token = source.tokens[place]
    before = source.low(place - 1)
    if token.number is None:
        if before not in ("in", "since", "of", "from", "to", "until", "till", "by", "before", "after", "during", "and",
                          "between", "through"):  # fmt: skip
            return None
    elif (before not in PREPOSITIONS and not _is_plain_year(source, place)) or (
        before in ("for", "over", "about", "around", "of", "and", "to", "past") and _counts(source, after)
    ):
        return None
    return Period(grain=Grain.YEAR, span=years(year)), after


def _named_year(source: Source, place: int) -> Match | None:
    spot = place
    if source.low(spot) in ("calendar", "fiscal"):
        spot += 1
        if source.low(spot) != "year":
            return None
    fiscal = source.low(place) in ("fy", "fiscal")
    spot = source.skip(spot + 1, ("of",))
    found = read_year(source, spot)
    if found is None and source.low(place) in ("fy", "cy"):
        token = source.tokens[spot] if spot < len(source.tokens) else None
        if token is not None and token.number is not None and token.glued:
            size = token.end - token.start
            value = token.number if size == 4 else full_year(token.number, source.now) if size == 2 else 0
            found = (value, spot + 1) if value >= 1000 else None
    if found is None and source.low(place) == "year":
        number = read_number(source, spot)
        if number is not None and 32 <= number.value <= 9998 and not number.ordinal:
            found = (number.value, number.after)
    if found is None:
        return None
    if fiscal:
        source.notes.append(f"took fiscal year {found[0]} for the calendar year")
    return Period(grain=Grain.YEAR, span=years(found[0])), found[1]


def _is_plain_year(source: Source, place: int) -> bool:
    """Whether four figures without a preposition are a year: "Lisbon trip 2019", "2023 revenue"."""
    token = source.tokens[place]
    assert token.number is not None
    if not 1950 <= token.number <= source.now.year + 10 or is_joined(source, place):
        return False
    if place + 1 < len(source.tokens) and source.glued(place + 1) and source.low(place + 1).isalpha():
        return False
    before = source.tokens[place - 1] if place else None
    if before is None:
        return source.low(place + 1) in ("", "?") or (
            source.tokens[place + 1].low.isalpha() and not _counts(source, place + 1)
        )
    if not before.low.isalpha() and before.low not in (",", "(", ">", "=", "<", "-", "–", "~"):
        return False
    if before.low in ID_WORDS or (before.capital and place > 1):
        return False
    return not _counts(source, place + 1)


def _counts(source: Source, place: int) -> bool:
    """Whether a plural follows: "2000 users"."""
    word = source.low(place)
    return (
        word.endswith("s") and word.isalpha() and word not in ("was", "is", "has", "sales", "results", "'s")
    )


def decade(source: Source, place: int) -> Match | None:
    """The 90s, 1990s, 90's, the nineties, the two thousands."""
    word = source.low(place)
    if word in DECADES and source.low(place - 1) in _BEFORE_DECADE and word != "tens":
        return Period(grain=Grain.DECADE, span=years(full_year(DECADES[word], source.now), 10)), place + 1
    if word in CENTURY_DECADES:
        return Period(grain=Grain.DECADE, span=years(CENTURY_DECADES[word], 10)), place + 1
    if word == "two" and source.low(place + 1) == "thousands":
        return Period(grain=Grain.DECADE, span=years(2000, 10)), place + 2
    number = read_number(source, place)
    if number is None or number.ordinal or number.value % 10:
        return _decade_words(source, place)
    if not number.figures:
        return _decade_words(source, place)
    spot = source.skip(number.after, ("'", "’"))
    if source.low(spot) != "s" or number.figures not in (2, 4) or (place and is_joined(source, place)):
        return None
    if number.figures == 4:
        return Period(grain=Grain.DECADE, span=years(number.value, 10)), spot + 1
    sure = source.low(place - 1) in ("the", "mid", "early", "late", "'") or spot > number.after
    if not sure and not (source.low(place - 1) in ("in", "since", "of", "-") and number.value >= 50):
        return None
    return Period(grain=Grain.DECADE, span=years(full_year(number.value, source.now), 10)), spot + 1


_BEFORE_DECADE = frozenset("the in early mid late of since during from - until till before after".split())


def _decade_words(source: Source, place: int) -> Match | None:
    """Nineteen seventies, two thousand and tens."""
    number = read_number(source, place)
    if number is None or number.figures or number.ordinal:
        return None
    spot = source.skip(number.after, ("and", "-"))
    within = DECADES.get(source.low(spot))
    if within is None or not (number.value in range(11, 22) or number.value == 2000):
        return None
    century = number.value if number.value > 100 else number.value * 100
    return Period(grain=Grain.DECADE, span=years(century + within, 10)), spot + 1


def century(source: Source, place: int) -> Match | None:
    """The 21st century: counted as people do, from 2000."""
    number = read_number(source, place)
    if number is None or not number.ordinal or source.low(number.after) not in ("century", "c"):
        return None
    if source.low(number.after) == "c" or not 2 <= number.value <= 99:
        return None
    return Period(grain=Grain.CENTURY, span=years((number.value - 1) * 100, 100)), number.after + 1

"""Years and what is counted in them or of them: 2023, Q4, H1 2023, the nineties, the 21st century, Christmas.

A reader takes a place in the tokens and gives a period and the place after it, or None. Holidays are those whose date
is fixed or can be computed, and one everywhere under that English name; movable feasts that follow the moon or an
announcement are left to the memories themselves.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, timedelta

from recollect.text.times.calendar import (
    Grain,
    Span,
    day_of,
    easter,
    half,
    iso_week,
    month,
    nth_weekday,
    quarter,
    years,
)
from recollect.text.times.dates import year_behind, year_period
from recollect.text.times.period import Match, Period, every, known
from recollect.text.times.tokens import (
    CENTURY_DECADES,
    DECADES,
    ID_WORDS,
    PREPOSITIONS,
    Source,
    full_year,
    is_joined,
    read_number,
    read_year,
)

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
    match = read_year(source, place)
    if match is None:
        return None
    year, after = match
    token = source.tokens[place]
    before = source.low(place - 1)
    if token.number is None:
        ranged = source.low(after) in ("to", "-", "–", "through")
        return (year_period(year), after) if before in _BEFORE_YEAR_WORDS or ranged else None
    if before not in PREPOSITIONS and not _is_plain_year(source, place):
        return None
    if before in _BEFORE_COUNT and _counts(source, after):
        return None
    if source.low(after) in ("-", "–", "/") and source.glued(after) and source.glued(after + 1):
        short = source.tokens[after + 1]
        if short.number is not None and short.end - short.start == 2 and short.number > max(12, year % 100):
            return Period(grain=Grain.YEAR, span=years(year, short.number - year % 100 + 1)), after + 2
    return year_period(year), after


_BEFORE_COUNT = frozenset("for over about around of and to past".split())
_BEFORE_YEAR_WORDS = frozenset(
    "in since of from to until till by before after during and between through".split()
)


def _named_year(source: Source, place: int) -> Match | None:
    spot = place
    if source.low(spot) in ("calendar", "fiscal"):
        spot += 1
        if source.low(spot) != "year":
            return None
    fiscal = source.low(place) in ("fy", "fiscal")
    spot = source.skip(spot + 1, ("of",))
    year = read_year(source, spot)
    if year is None and source.low(place) in ("fy", "cy"):
        token = source.tokens[spot] if spot < len(source.tokens) else None
        if token is not None and token.number is not None and token.glued:
            size = token.end - token.start
            value = token.number if size == 4 else full_year(token.number, source.now) if size == 2 else 0
            year = (value, spot + 1) if value >= 1000 else None
    if year is None and source.low(place) == "year":
        number = read_number(source, spot)
        if number is not None and 32 <= number.value <= 9998 and not number.ordinal:
            year = (number.value, number.after)
    if year is None:
        return None
    if fiscal:
        source.notes.append(f"took fiscal year {year[0]} for the calendar year")
    return Period(grain=Grain.YEAR, span=years(year[0])), year[1]


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
        return source.low(place + 1) not in ("%", "°") and not _counts(source, place + 1)
    if before.low == "the" and place + 1 < len(source.tokens) and source.tokens[place + 1].capital:
        return True  # the 2020 Olympics
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


Rule = Callable[[int], Span | None]


def _fixed(number: int, day: int) -> Rule:
    return lambda year: day_of(date(year, number, day))


def _easter(offset: int) -> Rule:
    return lambda year: day_of(easter(year) + timedelta(days=offset))


def _nth(number: int, weekday: int, which: int, offset: int = 0) -> Rule:
    def rule(year: int) -> Span | None:
        day = nth_weekday(month(year, number), weekday, which)
        return day_of(day.start + timedelta(days=offset)) if day else None

    return rule


def _first_advent(year: int) -> Span:
    """Three weeks before the last Sunday before Christmas."""
    christmas = date(year, 12, 25)
    return day_of(christmas - timedelta(days=christmas.weekday() + 1 + 21))


_HOLIDAYS: dict[str, Rule] = {
    "new year day|new years day|new year|new years|newyear": _fixed(1, 1),
    "new year eve|new years eve|nye|silvester": _fixed(12, 31),
    "epiphany": _fixed(1, 6),
    "mlk day|martin luther king day|martin luther king jr day": _nth(1, 0, 3),
    "australia day": _fixed(1, 26),
    "inauguration day": _fixed(1, 20),
    "groundhog day": _fixed(2, 2),
    "valentine day|valentines day|valentines|valentine": _fixed(2, 14),
    "presidents day|president day|washington birthday|washingtons birthday": _nth(2, 0, 3),
    "international womens day|womens day|women day": _fixed(3, 8),
    "pi day": _fixed(3, 14),
    "white day": _fixed(3, 14),
    "st patricks day|saint patricks day|st patrick|saint patrick|st paddys day": _fixed(3, 17),
    "april fools day|april fool day|april fools|all fools day": _fixed(4, 1),
    "earth day": _fixed(4, 22),
    "st george day|saint george day": _fixed(4, 23),
    "anzac day": _fixed(4, 25),
    "may day|international workers day": _fixed(5, 1),
    "star wars day": _fixed(5, 4),
    "cinco de mayo": _fixed(5, 5),
    "mothers day|mother day|mothering day": _nth(5, 6, 2),
    "memorial day": _nth(5, 0, -1),
    "childrens day|children day": _fixed(6, 1),
    "fathers day|father day": _nth(6, 6, 3),
    "juneteenth": _fixed(6, 19),
    "midsummer day": _fixed(6, 24),
    "canada day": _fixed(7, 1),
    "independence day|us independence day|usa independence day": _fixed(7, 4),
    "bastille day": _fixed(7, 14),
    "assumption day": _fixed(8, 15),
    "labor day|labour day": _nth(9, 0, 1),
    "teachers day|teacher day": _fixed(9, 10),
    "columbus day|indigenous peoples day": _nth(10, 0, 2),
    "halloween|hallowe'en|all hallows eve|halloween day": _fixed(10, 31),
    "all saints day|all hallows day": _fixed(11, 1),
    "all souls day": _fixed(11, 2),
    "guy fawkes|guy fawkes day|guy fawkes night|bonfire night": _fixed(11, 5),
    "singles day": _fixed(11, 11),
    "veterans day|veteran day|armistice day|remembrance day": _fixed(11, 11),
    "election day": _nth(11, 0, 1, 1),
    "thanksgiving|thanksgiving day|thanks giving": _nth(11, 3, 4),
    "black friday": _nth(11, 3, 4, 1),
    "cyber monday": _nth(11, 3, 4, 4),
    "st nicholas day|saint nicholas day": _fixed(12, 6),
    "christmas eve|xmas eve|x mas eve": _fixed(12, 24),
    "christmas|christmas day|xmas|xmas day|x mas|x mas day": _fixed(12, 25),
    "boxing day|st stephen day|saint stephen day": _fixed(12, 26),
    "mardi gras|shrove tuesday|fat tuesday|pancake day": _easter(-47),
    "ash wednesday": _easter(-46),
    "palm sunday": _easter(-7),
    "maundy thursday|holy thursday": _easter(-3),
    "good friday": _easter(-2),
    "holy saturday|easter saturday": _easter(-1),
    "easter|easter day|easter sunday": _easter(0),
    "easter monday": _easter(1),
    "ascension|ascension day": _easter(39),
    "pentecost|whit sunday|whitsun": _easter(49),
    "whit monday|pentecost monday": _easter(50),
    "trinity sunday": _easter(56),
    "corpus christi": _easter(60),
    "first advent|first sunday of advent": _first_advent,
}


def _by_first_word() -> dict[str, list[tuple[tuple[str, ...], Rule]]]:
    table: dict[str, list[tuple[tuple[str, ...], Rule]]] = {}
    for names, rule in _HOLIDAYS.items():
        for name in names.split("|"):
            words = tuple(name.split())
            table.setdefault(words[0], []).append((words, rule))
    for rules in table.values():
        rules.sort(key=lambda rule: -len(rule[0]))
    return table


HOLIDAYS = _by_first_word()


def holiday(source: Source, place: int) -> tuple[Period, int] | None:
    """A holiday by its name, the longest that fits."""
    for words, rule in HOLIDAYS.get(source.low(place), ()):
        after = _spelled(source, place, words)
        if after:
            return every(Grain.YEAR, Grain.DAY, rule), after
    return None


def _spelled(source: Source, place: int, words: tuple[str, ...]) -> int:
    spot = place
    for number, word in enumerate(words):
        if source.low(spot).rstrip("'") not in (word, word.removesuffix("s")) or (number == 0 and not word):
            return 0
        spot += 1
        # "st. patrick", "mothers' day", "new-year"
        if number + 1 < len(words):
            spot = source.skip(spot, (".", "'", "’", "-"))
    return spot


def holiday_weekend(day: Span) -> Span:
    """The weekend a holiday makes: with the Friday or the Monday, if it is one."""
    weekday = day.start.weekday()
    saturday = day.start + timedelta(days=5 - weekday if weekday < 5 else 0)
    if weekday == 0:
        return Span(start=day.start - timedelta(days=2), end=day.end)
    if weekday == 6:
        return Span(start=day.start - timedelta(days=1), end=day.end)
    start = day.start if weekday in (3, 4) else saturday
    return Span(start=start, end=saturday + timedelta(days=2))

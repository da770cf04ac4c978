"""Holidays whose date is fixed or can be computed, by the names people give them.

Only what has one date in a year everywhere it is kept under that English name; movable feasts that follow the moon
or an announcement are left to the memories themselves.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, timedelta

from recollect.text.times.calendar import Grain, Span, day_of, easter, month, nth_weekday
from recollect.text.times.meaning import Period, every
from recollect.text.times.tokens import Source

Rule = Callable[[int], Span | None]


def _fixed(number: int, day: int) -> Rule:
    return lambda year: day_of(date(year, number, day))


def _easter(offset: int) -> Rule:
    return lambda year: day_of(easter(year) + timedelta(days=offset))


def _nth(number: int, weekday: int, which: int, offset: int = 0) -> Rule:
    def rule(year: int) -> Span | None:
        found = nth_weekday(month(year, number), weekday, which)
        return day_of(found.start + timedelta(days=offset)) if found else None

    return rule


def _advent(weeks: int) -> Rule:
    def rule(year: int) -> Span:
        christmas = date(year, 12, 25)
        fourth = christmas - timedelta(days=christmas.weekday() + 1)
        return day_of(fourth - timedelta(days=7 * (4 - weeks)))

    return rule


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
    "first advent|first sunday of advent": _advent(1),
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

"""Times of day: at 5pm, 17:30, noon, half past four, in the morning.

A time of day comes every day; beside a date it belongs to that day. A time with minutes lasts a minute, a plain
hour lasts an hour: "at 5pm" is said of what happened at ten past.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from recollect.text.times.calendar import Grain, Span
from recollect.text.times.period import Period, cycle_span, every
from recollect.text.times.tokens import DAYPARTS, Source, read_number

_AT = frozenset("at around by about before after until till since from to between and - – ~".split())


def clock_period(hour: int, minute: int | None, second: int | None = None, *, weak: bool = False) -> Period:
    """A time of every day."""
    length = timedelta(hours=1) if minute is None else timedelta(minutes=1)
    if second is not None:
        length = timedelta(seconds=1)
    begin = timedelta(hours=hour, minutes=minute or 0, seconds=second or 0)

    def of(day: int) -> Span:
        start = cycle_span(Grain.DAY, day).start + begin
        return Span(start=start, end=start + length)

    grain = Grain.HOUR if minute is None else Grain.MINUTE
    slack = timedelta(0) if minute is None else timedelta(minutes=30)
    return every(Grain.DAY, grain, of, clock_only=True, weak=weak, slack=slack)


def daypart_period(name: str) -> Period:
    """The morning of every day, and so on."""
    first, last = DAYPARTS[name]

    def of(day: int) -> Span:
        start = cycle_span(Grain.DAY, day).start
        return Span(start=start + timedelta(hours=first), end=start + timedelta(hours=last))

    return every(Grain.DAY, Grain.DAYPART, of, clock_only=True)


def time_of_day(source: Source, place: int) -> tuple[Period, int] | None:
    """5pm, 5:30 p.m., 17:30, 5 o'clock, half past four, noon."""
    word = source.low(place)
    if word in ("noon", "midday", "midnight"):
        return replace(daypart_period(word), weak=source.low(place - 1) not in _AT), place + 1
    if word in ("half", "quarter"):
        return _spoken(source, place)
    number = read_number(source, place)
    if number is None or number.ordinal or number.value > 24 or number.figures > 2:
        return None
    if place and source.glued(place) and source.low(place - 1) in "$€£#:./":
        return None
    after, minute, second = number.after, None, None
    if number.figures and source.low(after) == ":" and source.glued(after) and source.glued(after + 1):
        figures = source.tokens[after + 1]
        if figures.number is None or figures.end - figures.start != 2 or figures.number > 59:
            return None
        minute, after = figures.number, after + 2
        if source.low(after) == ":" and source.glued(after) and source.glued(after + 1):
            seconds = source.tokens[after + 1]
            if seconds.number is None or seconds.end - seconds.start != 2 or seconds.number > 59:
                return None
            second, after = seconds.number, after + 2
    half_day, after_half = meridiem(source, after)
    if half_day is not None:
        if not 1 <= number.value <= 12:
            return None
        return clock_period(number.value % 12 + half_day, minute, second), after_half
    if source.low(after) == "o'clock" or source.words(after, "o", "'", "clock"):
        return clock_period(_likely(number.value), minute), after + (
            1 if source.low(after) == "o'clock" else 3
        )
    if minute is None or number.value > 23:
        return None
    return clock_period(number.value, minute, second, weak=source.low(place - 1) not in _AT), after


def meridiem(source: Source, place: int) -> tuple[int | None, int]:
    """Hours to add for "am", "pm", "p.m.", "in the evening"; and the place after it."""
    word = source.low(place)
    if word in ("am", "pm"):
        return (12 if word == "pm" else 0), place + 1
    if word in ("a", "p") and source.low(place + 1) == "." and source.low(place + 2) == "m":
        after = place + 3
        closing = source.low(after) == "." and source.glued(after)
        return (12 if word == "p" else 0), after + closing
    if source.words(place, "in", "the") and source.low(place + 2) in ("morning", "afternoon", "evening"):
        return (0 if source.low(place + 2) == "morning" else 12), place + 3
    if source.words(place, "at", "night"):
        return 12, place + 2
    return None, place


def _spoken(source: Source, place: int) -> tuple[Period, int] | None:
    """Half past four, quarter to five."""
    word = source.low(place + 1)
    number = read_number(source, place + 2) if word in ("past", "to", "after") else None
    if number is None or number.ordinal or not 1 <= number.value <= 12:
        return None
    half_day, after = meridiem(source, number.after)
    hour = number.value % 12 + half_day if half_day is not None else _likely(number.value)
    minute = 30 if source.low(place) == "half" else 15
    if word == "to":
        hour, minute = (hour - 1) % 24, 60 - minute
    return clock_period(hour, minute), after


def _likely(hour: int) -> int:
    """The hour that is meant without am or pm: what people are awake at, and mostly at work."""
    return hour + 12 if 1 <= hour <= 6 else hour % 24

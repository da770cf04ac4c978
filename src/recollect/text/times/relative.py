"""Periods counted from now: today, last week, next Friday, this morning, recently, earlier this year."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from recollect.text.times.amounts import TICK, Amount, behind
from recollect.text.times.calendar import Grain, Span, day_of, midnight, months, period_of, shift
from recollect.text.times.clock import daypart_period
from recollect.text.times.dates import (
    day_month,
    figures,
    month_date,
    weekday_date,
)
from recollect.text.times.period import (
    Match,
    Period,
    cycle_number,
    every,
    first_from,
    last_until,
    mapped,
    within,
)
from recollect.text.times.tokens import (
    AFTER_WORDS,
    BEFORE_WORDS,
    DAY_WORDS,
    DAYPARTS,
    DIRECTIONS,
    RECENT_WORDS,
    SEASONS,
    TO_DATE_CODES,
    UNITS,
    WEEKDAYS,
    Source,
)
from recollect.text.times.years import holiday, quarter_code

#: What "recently" reaches back.
RECENT_DAYS = 7
#: What follows a period that is named by what happened in it: "the week that ...", "the day of the launch".
_CLAUSE = frozenset("of that when we i you he she they it as where which before after in".split())
_WEEK_OF = frozenset("commencing beginning starting ending containing from".split())
_TOO_SHORT = frozenset([Grain.SECOND, Grain.MINUTE, Grain.HALF])


def directed(source: Source, place: int) -> Match | None:
    """Last week, this May, next Friday, the previous quarter, this morning, last night, this past week."""
    word = source.low(place)
    if word not in DIRECTIONS:
        return None
    spot = place + 1
    if word == "this" and source.low(spot) in BEFORE_WORDS | AFTER_WORDS:
        word, spot = source.low(spot), spot + 1
        word = "past" if word == "last" else word
    direction = DIRECTIONS[word]
    for reader in (_unit, _daypart):
        match = reader(source, spot, word, direction)
        if match is not None:
            return match
    return _named(source, spot, word, direction)


def _unit(source: Source, place: int, word: str, direction: int) -> Match | None:
    spot = source.skip(place, ("calendar", "whole", "entire", "full", "fiscal"))
    working = source.low(spot) in ("working", "business", "work") and source.low(spot + 1) == "week"
    spot += working
    name = source.low(spot)
    grain = UNITS.get(name)
    if grain is None or grain in _TOO_SHORT:
        return None
    after = spot + 1
    if word in ("same", "that") and (source.low(after) in _CLAUSE or grain <= Grain.DAY):
        return None
    if grain is Grain.DAY and source.low(after) == "of":
        return None
    if name.endswith("s"):  # "the past months"
        if word in ("past", "coming", "following", "upcoming") and grain >= Grain.DAY:
            return _several(source, grain, direction), after
        return None
    if grain is Grain.BUSINESS_DAY:
        return None
    if word == "past":
        years = {Grain.DECADE: 10, Grain.CENTURY: 100}
        count = (years[grain], Grain.YEAR) if grain in years else (1, grain)
        return behind(source, Amount(parts=(count,))), after
    span = period_of(grain, source.now, direction)
    if grain is Grain.WEEKEND and word in ("coming", "upcoming"):
        this = period_of(grain, source.now)
        span = this if this.start > source.now else span
    if working:
        span = Span(start=span.start, end=span.start + timedelta(days=5))
    return Period(grain=grain, span=span, relative=True), after


def _several(source: Source, grain: Grain, direction: int) -> Period:
    amount = Amount(parts=((3, grain),), vague=True)
    if direction < 0:
        return replace(behind(source, amount), slack=amount.slack(source.now))
    start = day_of(source.now).end
    return Period(grain=grain, span=Span(start=start, end=amount.after(start)), relative=True)


def _daypart(source: Source, place: int, word: str, direction: int) -> Match | None:
    name = source.low(place)
    if name not in DAYPARTS or word in ("past", "coming", "upcoming"):
        return None
    if word in ("same", "that"):
        return None
    day = period_of(Grain.DAY, source.now, direction)
    span = within(daypart_period(name), Period(grain=Grain.DAY, span=day))
    return (replace(span, clock_only=False, relative=True), place + 1) if span else None


def _named(source: Source, place: int, word: str, direction: int) -> Match | None:
    """A weekday, month, date, season, quarter or holiday, the last or the next."""
    if place >= len(source.tokens):
        return None
    for reader in (holiday, weekday_date, month_date, day_month, figures, season, quarter_code):
        match = reader(source, place)
        if match is None:
            continue
        period, after = match
        if period.span is not None or period.cycle is None or word == "that":
            return match
        if reader is weekday_date and period.cycle is not Grain.WEEK and direction:
            return match  # this Friday, 5/12: the date says which
        span = _chosen(source, period, word, direction)
        return (replace(period, span=span, cycle=None, of=None, relative=True), after) if span else None
    return None


def _chosen(source: Source, period: Period, word: str, direction: int) -> Span | None:
    now = source.now
    today = day_of(now)
    assert period.cycle is not None
    assert period.of is not None
    by_cycle = period.cycle is Grain.WEEK or period.grain is Grain.MONTH or direction == 0
    if by_cycle and word not in ("past", "coming", "upcoming"):
        # The last Wednesday is that of last week, last May that of last year.
        return period.of(cycle_number(period.cycle, now) + direction)
    if direction < 0:
        return last_until(period, now, lambda span: span.end <= today.start)
    return first_from(period, now, lambda span: span.start >= today.end)


def season(source: Source, place: int) -> Match | None:
    """Summer, winter 2022; not winter days, nor the fall of Rome."""
    name = source.low(place)
    first = SEASONS.get(name)
    if first is None:
        return None
    before, after = source.low(place - 1), source.low(place + 1)
    framed = before in _BEFORE_SEASON or before in DIRECTIONS
    dated = after.isdecimal() or (after == "of" and source.low(place + 2)[:1] in "'’0123456789")
    if not (framed or dated or (after == "" and name not in ("fall", "spring"))):
        return None
    if name == "fall" and not dated and (after in ("of", "out") or before == "by"):
        return None
    return every(Grain.YEAR, Grain.SEASON, lambda year: months(year, first, 3)), place + 1


_BEFORE_SEASON = frozenset(
    "in the of during since until till early mid late - by for from to between and".split()
)


def definite(source: Source, place: int) -> Match | None:
    """The week, my week, the quarter, the weekend: that which is now."""
    grain = UNITS.get(source.low(place))
    after = place + 1
    if grain is None or source.low(after) in _CLAUSE or source.low(place).endswith("s"):
        return None
    if grain < Grain.DAY or grain in (Grain.HALF, Grain.BUSINESS_DAY):
        return None
    if source.tokens[place].capital or source.low(place - 3) in ("day", "days", "time", "times", "part"):
        return None  # Student of the Year; which day of the week
    if grain is Grain.DAY and source.low(place - 2) != "for":
        return None
    if (
        source.low(after) in _WEEK_OF
        or source.low(after) in ("end", "ends", "number")
        or (source.low(after).isdecimal())
    ):
        return None
    return Period(grain=grain, span=_current(source, grain), relative=True), after


def _current(source: Source, grain: Grain) -> Span:
    span = period_of(grain, source.now)
    if grain is Grain.WEEKEND and not source.future and span.start > source.now and _speaks_of_past(source):
        return period_of(grain, source.now, -1)
    return span


def _speaks_of_past(source: Source) -> bool:
    return any(token.low in ("did", "was", "were", "had", "went") for token in source.tokens[:200])


def bare_weekend(source: Source, place: int) -> Match | None:
    """On weekend, dinner weekend."""
    if source.low(place) != "weekend" or source.low(place + 1).isalpha():
        return None
    return Period(grain=Grain.WEEKEND, span=_current(source, Grain.WEEKEND), relative=True), place + 1


def around_next(source: Source, place: int) -> Match | None:
    """The month after next, the week before last, the weekend after the next."""
    grain = UNITS.get(source.low(place))
    if grain is None or grain < Grain.DAY or grain is Grain.BUSINESS_DAY:
        return None
    spot = source.skip(place + 2, ("the",))
    pair = source.low(place + 1), source.low(spot)
    away = {("after", "next"): 2, ("before", "last"): -2}.get(pair)
    if away is None or source.low(spot + 1) in UNITS:
        return None
    return Period(grain=grain, span=period_of(grain, source.now, away), relative=True), spot + 1


def beside(source: Source, place: int) -> Match | None:
    """The week before Christmas, the day after 8 May, the Monday after Easter."""
    place = source.skip(place, ("last", "final", "first"))
    word = source.low(place + 1)
    if word not in ("before", "after", "following"):
        return None
    grain, weekday = UNITS.get(source.low(place)), WEEKDAYS.get(source.low(place))
    if (grain is None or grain < Grain.DAY) and weekday is None:
        return None
    match = source.period(place + 2)
    if match is None or match[0].weak:
        return None
    sign = -1 if word == "before" else 1

    def change(span: Span) -> Span:
        if weekday is not None:
            day = span.last if sign > 0 else span.start
            return day_of(day + timedelta(days=sign * ((sign * (weekday - day.weekday()) - 1) % 7 + 1)))
        assert grain is not None
        edge = midnight(span.end if sign > 0 else span.start)
        return Span(start=min(edge, shift(edge, sign, grain)), end=max(edge, shift(edge, sign, grain)))

    shape = Period(grain=Grain.DAY if weekday is not None else grain or Grain.DAY, span=match[0].span)
    made = mapped(shape, match[0], change)
    return (made, match[1]) if made else None


def day_word(source: Source, place: int) -> Match | None:
    """Today, tomorrow, tonight, the day before yesterday, the other day, now."""
    word = source.low(place)
    now = source.now
    if word in DAY_WORDS:
        if word == "tonight":
            tonight = within(daypart_period("tonight"), Period(grain=Grain.DAY, span=day_of(now)))
            return (replace(tonight, clock_only=False), place + 1) if tonight else None
        span = period_of(Grain.DAY, now, DAY_WORDS[word])
        return Period(grain=Grain.DAY, span=span, relative=True), place + 1
    if word == "day" and source.low(place + 1) in ("before", "after"):
        return _day_around(source, place)
    if (
        word == "other"
        and source.low(place + 1) in ("day", "night", "week")
        and source.low(place - 1) == "the"
    ):
        days = 14 if source.low(place + 1) == "week" else RECENT_DAYS
        return behind(source, Amount(parts=((days, Grain.DAY),))), place + 2
    if word == "now" or (
        word in ("current", "present") and source.low(place + 1) in ("date", "time", "moment")
    ):
        span = Span(start=now, end=now + TICK)
        after = place + (1 if word == "now" else 2)
        return Period(grain=Grain.INSTANT, span=span, relative=True, weak=True), after
    return None


def _day_around(source: Source, place: int) -> Match | None:
    away = 1 if source.low(place + 1) == "after" else -1
    target = source.low(place + 2)
    if target in DAY_WORDS:
        span = period_of(Grain.DAY, source.now, DAY_WORDS[target] + away)
        return Period(grain=Grain.DAY, span=span, relative=True), place + 3
    if not target.isalnum():
        return Period(grain=Grain.DAY, span=period_of(Grain.DAY, source.now, away), relative=True), place + 2
    return None


def recent(source: Source, place: int) -> Match | None:
    """Recently, lately, of late; in recent months."""
    word = source.low(place)
    late = word == "of" and source.low(place + 1) == "late" and not source.low(place + 2).isalnum()
    if (word not in RECENT_WORDS and not late) or source.low(place - 1) in ("more", "most", "less", "least"):
        return None
    grain = UNITS.get(source.low(place + 1))
    if word == "recent" and grain is not None and grain >= Grain.DAY and source.low(place + 1).endswith("s"):
        return _several(source, grain, -1), place + 2
    return behind(source, Amount(parts=((RECENT_DAYS, Grain.DAY),))), place + (2 if late else 1)


def to_date(source: Source, place: int) -> Match | None:
    """YTD, year to date, so far this year, to date."""
    word = source.low(place)
    grain = TO_DATE_CODES.get(word)
    if grain is not None:
        return until_now(source, period_of(grain, source.now)), place + 1
    if word in UNITS:
        spot = source.skip(place + 1, ("-",))
        end = source.skip(spot + 1, ("-",))
        if source.low(spot) == "to" and source.low(end) == "date":
            return until_now(source, period_of(UNITS[word], source.now)), end + 1
    if source.words(place, "so", "far"):
        spot = source.skip(place + 2, ("in", "during"))
        match = source.period(spot)
        if match is not None and match[0].span is not None and not match[0].weak:
            return until_now(source, match[0].span), match[1]
        return None
    if source.words(place, "to", "date") and not source.low(place + 2).isalnum():
        span = Span(start=midnight(source.now), end=day_of(source.now).end)
        return Period(grain=Grain.DAY, span=span, open_start=True), place + 2
    return None


def until_now(source: Source, span: Span) -> Period:
    """What of a period is past."""
    end = min(span.end, day_of(source.now).end)
    return Period(
        grain=Grain.DAY, span=Span(start=span.start, end=max(end, span.start + TICK)), relative=True
    )

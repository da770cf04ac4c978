"""Parts of periods: the first week of June, the last Friday of the month, mid-January, the end of 2023, week 31."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta

from recollect.text.times.amounts import TICK
from recollect.text.times.calendar import (
    Grain,
    Span,
    half,
    iso_week,
    midnight,
    month,
    months,
    nth_part,
    nth_weekday,
    period_of,
    quarter,
    week_of,
    weekend_of,
)
from recollect.text.times.dates import day_of_any_month, read_day_number, year_behind
from recollect.text.times.period import Match, Period, every, known, mapped
from recollect.text.times.tokens import DIRECTIONS, END_CODES, PARTS, UNITS, WEEKDAYS, Source, read_number

_OF = ("of", "in", "during", "for")
#: After "the 4th" these may come; any other word makes it the 4th of something that is no month.
_AFTER_DAY = frozenset(
    "of at in and or to until till through was is were are we i did by from for with between on this next last".split()
)


def nth(source: Source, place: int) -> Match | None:
    """The third week of next month, the first 2 weeks of 2021, the second Monday in May, the last day of the year."""
    rank = _rank(source, place)
    if rank is None:
        return None
    number, spot = rank
    count = read_number(source, spot)
    size = 1
    if (
        count is not None
        and not count.ordinal
        and 1 <= count.value <= 366
        and source.low(count.after) in UNITS
    ):
        size, spot = count.value, count.after
    spot = source.skip(spot, ("calendar", "fiscal", "full"))
    name = source.low(spot)
    weekday = WEEKDAYS.get(name)
    grain = UNITS.get(name)
    if weekday is None and (grain is None or grain < Grain.DAY):
        return None
    after = spot + 1
    outer = _outer(source, after)
    if outer is None:
        return _alone(source, number, weekday, grain, after) if size == 1 else None
    big, end = outer
    if grain is not None and big.grain <= grain and not (grain is Grain.HALF and big.grain >= Grain.MONTH):
        return None

    def pick(span: Span) -> Span | None:
        if weekday is not None:
            return nth_weekday(span, weekday, number)
        assert grain is not None
        return _halved(span, big.grain, number) if grain is Grain.HALF else _run(span, grain, number, size)

    shape = Period(grain=Grain.DAY if weekday is not None else grain or Grain.DAY, span=big.span, parent=big)
    made = mapped(shape, big, pick)
    return (made, end) if made is not None else None


def _rank(source: Source, place: int) -> tuple[int, int] | None:
    word = source.low(place)
    if word in ("last", "final"):
        return -1, place + 1
    number = read_number(source, place)
    if number is None or not number.ordinal or not 1 <= number.value <= 366:
        return None
    if source.words(number.after, "to", "last") or source.words(number.after, "-", "to", "-", "last"):
        return -number.value, number.after + (2 if source.low(number.after) == "to" else 4)
    return number.value, source.skip(number.after, ("-",))


def _outer(source: Source, place: int) -> Match | None:
    spot = source.skip(place, _OF)
    if spot == place and not (source.low(place) in DIRECTIONS or source.low(place).isdecimal()):
        return None
    match = whole(source, spot)
    return match if match is not None and not match[0].weak and match[0].grain > Grain.DAY else None


def _run(span: Span, grain: Grain, number: int, size: int) -> Span | None:
    """Several parts in a row, counted from the beginning or back from the end."""
    first, last = (number, number + size - 1) if number > 0 else (number - size + 1, number)
    start, end = nth_part(span, grain, first), nth_part(span, grain, last)
    return Span(start=start.start, end=end.end) if start and end else None


def _halved(span: Span, grain: Grain, number: int) -> Span | None:
    which = 2 if number in (2, -1) else number
    if which not in (1, 2):
        return None
    if grain is Grain.YEAR:
        return half(span.start.year, which)
    if grain is Grain.DECADE:
        return months(span.start.year, 1 + 60 * (which - 1), 60)
    cut = span.start.replace(day=16) if grain is Grain.MONTH else span.start + (span.end - span.start) / 2
    return Span(start=span.start, end=cut) if which == 1 else Span(start=cut, end=span.end)


def _alone(source: Source, number: int, weekday: int | None, grain: Grain | None, after: int) -> Match | None:
    """First Sunday: of this month. The third quarter: of any year."""
    if weekday is not None and number > 0:
        this_month = month(source.now.year, source.now.month)
        period = known(Grain.DAY, nth_weekday(this_month, weekday, number))
        return (period, after) if period else None
    if grain is Grain.QUARTER and 1 <= number <= 4:
        year = year_behind(source, after)
        if year is not None:
            return Period(grain=Grain.QUARTER, span=quarter(year[0], number)), year[1]
        return every(Grain.YEAR, Grain.QUARTER, lambda year: quarter(year, number)), after
    return None


def part(source: Source, place: int) -> Match | None:
    """Early May, mid-January, the end of 2023, the beginning of next week, EOM."""
    word = source.low(place)
    code = END_CODES.get(word)
    if code is not None:
        big: Match | None = (Period(grain=code, span=period_of(code, source.now), relative=True), place + 1)
        which, pointed = "late", True
    else:
        name = PARTS.get(word)
        if name is None:
            return None
        which, pointed = name, word not in ("early", "mid", "late")
        spot = source.skip(place + 1, ("-", "–"))
        of = source.low(spot) == "of" or (source.low(spot) == "in" and not pointed)
        if pointed and not of:
            return None
        big = whole(source, spot + of)
    if big is None or big[0].weak or big[0].point_of is not None or big[0].open_end or big[0].open_start:
        return None
    period, after = big
    grain, relative = period.grain, period.relative
    shape = replace(period, parent=period, relative=False)
    made = mapped(shape, period, lambda span: part_of(span, grain, which, relative=relative))
    if made is None:
        return None
    if pointed:
        made = replace(made, point_of=lambda span: _point(span, grain, which))
    return made, after


def _point(span: Span, grain: Grain, which: str) -> datetime:
    if which == "early":
        return span.start
    if which == "late":
        return span.end
    if grain is Grain.MONTH:
        return span.start.replace(day=16)
    if grain is Grain.YEAR:
        return span.start.replace(month=7)
    return span.start + (span.end - span.start) / 2


def part_of(span: Span, grain: Grain, which: str, *, relative: bool) -> Span:
    """The early, mid or late part of a period.

    Weeks: until Wednesday, Tuesday to Friday, from Thursday. Months: until the 15th, the 10th to the 20th, from the
    16th. Years: halves when they are counted from now ("late last year"), thirds when they have a number. Others:
    thirds, and a little more.
    """
    if grain is Grain.WEEK:
        first, last = {"early": (0, 3), "mid": (1, 5), "late": (3, 7)}[which]
        return Span(start=span.start + timedelta(days=first), end=span.start + timedelta(days=last))
    if grain is Grain.MONTH:
        first, last = {"early": (1, 16), "mid": (10, 21), "late": (16, 0)}[which]
        end = span.start.replace(day=last) if last else span.end
        return Span(start=span.start.replace(day=first), end=end)
    if grain is Grain.YEAR:
        cuts = {"early": (1, 6), "mid": (4, 6), "late": (7, 6)}
        if not relative:
            cuts = {"early": (1, 4), "mid": (5, 4), "late": (9, 4)}
        return months(span.start.year, *cuts[which])
    if grain in (Grain.DECADE, Grain.CENTURY):
        tenth = 12 if grain is Grain.DECADE else 120
        first, last = {"early": (0, 4), "mid": (3, 7), "late": (6, 10)}[which]
        return months(span.start.year, 1 + first * tenth, (last - first) * tenth)
    if grain < Grain.DAY:
        return span
    length = span.end - span.start
    first, last = {"early": (0, 4), "mid": (3, 7), "late": (6, 10)}[which]
    start, end = span.start + length * first / 10, span.start + length * last / 10
    if grain > Grain.DAY:
        start, end = midnight(start), midnight(end)
    return Span(start=start, end=max(end, start + timedelta(hours=1)))


def whole(source: Source, place: int) -> Match | None:
    """A period, or a unit alone: end of month, rest of the week."""
    spot = source.skip(place, ("the", "my", "our"))
    spot = source.skip(spot, ("calendar", "fiscal"))
    name = source.low(spot)
    grain = UNITS.get(name)
    behind_it = source.low(spot + 1)
    alone = behind_it not in ("of", "before", "after") and not behind_it.isdecimal()
    if grain is not None and grain >= Grain.DAY and not name.endswith("s") and alone:
        return Period(grain=grain, span=period_of(grain, source.now), relative=True), spot + 1
    return source.period(place)


def side_of_now(source: Source, place: int) -> Match | None:
    """Earlier this year: what of it is past. Later this week: what is left. The rest of the month."""
    word = source.low(place)
    if word in ("rest", "remainder", "remaining", "remains"):
        return _rest(source, place)
    if word not in ("earlier", "later", "sooner"):
        return None
    spot = source.skip(place + 1, ("in", "on", "during"))
    match = whole(source, spot)
    if match is None or match[0].span is None or match[0].weak or not match[0].relative:
        return None
    period, after = match
    assert period.span is not None
    span, now = period.span, source.now
    if span.start <= now < span.end:
        part = Span(start=span.start, end=now + TICK) if word == "earlier" else Span(start=now, end=span.end)
        return replace(period, span=part), after
    cut = part_of(span, period.grain, "early" if word == "earlier" else "late", relative=True)
    return replace(period, span=cut), after


def _rest(source: Source, place: int) -> Match | None:
    spot = source.skip(place + 1, ("of",))
    match = whole(source, spot)
    if match is None or match[0].span is None or match[0].grain <= Grain.HOUR or match[0].weak:
        return None
    period, after = match
    assert period.span is not None
    start = max(period.span.start, midnight(source.now))
    return (
        (replace(period, span=Span(start=start, end=period.span.end)), after)
        if start < period.span.end
        else None
    )


# ---------------------------------------------------------------- weeks


def week(source: Source, place: int) -> Match | None:
    """Week 31, week 3 of 2027, CW 12, the week of 8 May, week commencing Monday, w/c 8 May."""
    word = source.low(place)
    if word == "w" and source.low(place + 1) == "/" and source.low(place + 2) in ("c", "e", "b"):
        return _week_around(source, place + 3, ending=source.low(place + 2) == "e")
    if word == "calendar" and source.low(place + 1) == "week":
        word, place = "week", place + 1
    if word == "weekend" and source.low(place + 1) == "of":
        return _weekend_around(source, place + 2)
    if word not in ("week", "wk", "cw", "kw"):
        return None
    spot = source.skip(place + 1, ("number", "no", "#"))
    number = read_number(source, spot)
    if number is not None and number.figures in (1, 2) and not number.ordinal and 1 <= number.value <= 53:
        if source.low(number.after) in UNITS or (source.low(number.after) in (":", "am", "pm", ".", "%") and
                                                 source.glued(number.after + 1)):  # fmt: skip
            return None
        year = year_behind(source, number.after)
        period = known(Grain.WEEK, iso_week(year[0] if year else source.now.year, number.value))
        return (period, year[1] if year else number.after) if period else None
    if word in ("week", "wk") and source.low(place + 1) in ("of", "commencing", "beginning", "starting", "ending",
                                                            "from", "containing"):  # fmt: skip
        spot = source.skip(place + 2, ("on", "from"))
        return _week_around(source, spot, ending=source.low(place + 1) == "ending")
    return None


def _week_around(source: Source, place: int, *, ending: bool) -> Match | None:
    match = _dated(source, place)
    if match is None:
        return None
    period, after = match
    if ending:
        made = mapped(
            replace(period, grain=Grain.WEEK),
            period,
            lambda span: Span(start=span.end - timedelta(days=7), end=span.end),
        )
    else:
        made = mapped(replace(period, grain=Grain.WEEK), period, lambda span: week_of(span.start))
    return (made, after) if made else None


def _weekend_around(source: Source, place: int) -> Match | None:
    match = _dated(source, place)
    if match is None:
        return None
    made = mapped(replace(match[0], grain=Grain.WEEKEND), match[0], lambda span: weekend_of(span.start))
    return (made, match[1]) if made else None


def _dated(source: Source, place: int) -> Match | None:
    match = source.period(place)
    if match is None:
        day = day_alone(source, source.skip(place, ("the",)))
        return day
    return match if match[0].grain is Grain.DAY else None


# ---------------------------------------------------------------- a day by its number


def day_alone(source: Source, place: int) -> Match | None:
    """The 4th, the twenty second, on 15: a day of some month, where nothing else can be meant."""
    day = read_day_number(source, place)
    if day is None:
        return None
    before, behind = source.low(place - 1), source.low(day.after)
    if behind.isalpha() and behind not in _AFTER_DAY:
        return None
    if behind in ("/", ":", "%", "$") or (behind in ("-", ".", ",") and source.glued(day.after + 1)):
        return None
    if place and source.glued(place) and before not in ("(", "|"):
        return None
    period = day_of_any_month(day.value)
    if before == "the":
        sure = (
            day.value > 12
            or (day.ordinal and day.figures > 0)
            or source.low(place - 2) in ("on", "by", "since")
        )
        if not day.figures and not day.ordinal:
            sure = False
        if day.figures and not day.ordinal and (behind.isalpha() and behind != "of"):
            sure = False
        return replace(period, weak=not sure), day.after
    plain = before == "on" and day.figures and not behind.isalpha()
    return replace(period, weak=not plain), day.after

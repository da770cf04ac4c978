"""Lengths of time, and what is counted with them: 3 days ago, the past two months, within 5 days, in 2 weeks."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from recollect.text.times.calendar import (
    Grain,
    Span,
    day_of,
    midnight,
    next_business_day,
    period_of,
    shift,
)
from recollect.text.times.period import Match, Period, mapped, settle
from recollect.text.times.tokens import (
    AFTER_WORDS,
    BEFORE_WORDS,
    DIRECTIONS,
    PAST_WORDS,
    SHORT_UNITS,
    UNITS,
    VAGUE,
    WEEKDAYS,
    Source,
    read_number,
)

#: The present moment is in a range that ends now; `end` is exclusive.
TICK = timedelta(microseconds=1)
#: "2 years, 1 month and 21 days" has three; more is a list.
_MAX_PARTS = 4
_CALENDAR_UNITS = frozenset([Grain.WEEKEND, Grain.QUARTER, Grain.HALF, Grain.DECADE, Grain.CENTURY])
#: "The past decade" is ten years, not the decade before this.
_NOT_PAST = frozenset([Grain.BUSINESS_DAY, Grain.DECADE, Grain.CENTURY])
#: How far "two months ago" may be off, in units.
_LOOSE = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class Amount:
    """A length of time in calendar units."""

    parts: tuple[tuple[float, Grain], ...]
    vague: bool = False

    @property
    def smallest(self) -> Grain:
        """Its smallest unit, which says how precise it is."""
        return min(grain for _, grain in self.parts)

    def after(self, moment: datetime, sign: int = 1) -> datetime:
        """The moment that long after, or before, another."""
        for count, grain in self.parts:
            moment = shift(moment, sign * count, grain)
        return moment

    def slack(self, moment: datetime) -> timedelta:
        """How far words like "two months ago" are usually off: nobody counts the days of a year."""
        if len(self.parts) > 1:
            return timedelta(0)
        [(count, grain)] = self.parts
        if grain <= Grain.DAY and not self.vague:
            return timedelta(0)
        units = _LOOSE * min(1, count) + (count / 3 if self.vague else 0)
        return abs(shift(moment, max(units, 1) * 2, grain) - moment) * (units / max(units, 1) / 2)


def read_amount(source: Source, place: int) -> tuple[Amount, int] | None:
    """3 days, a week, two and a half months, a couple of weeks, 1 month and 21 days, 4 business days."""
    parts: list[tuple[float, Grain]] = []
    vague = False
    spot = place
    for _ in range(_MAX_PARTS):
        begin = spot
        if parts:
            begin = source.skip(source.skip(spot, (",",)), ("and",))
        match = _count(source, begin)
        if match is None:
            break
        count, after, loose = match
        unit = read_unit(source, after)
        if unit is None or (parts and unit[0] >= parts[-1][1]):
            break
        vague = vague or loose
        spot = unit[1]
        if source.words(spot, "and", "a", "half") and not parts:
            count, spot = count + 0.5, spot + 3
        parts.append((count, unit[0]))
    return (Amount(parts=tuple(parts), vague=vague), spot) if parts else None


def _count(source: Source, place: int) -> tuple[float, int, bool] | None:
    word = source.low(place)
    if word in ("a", "an", "one") and source.low(place + 1) in VAGUE:
        word, place = source.low(place + 1), place + 1
    if word in VAGUE:
        return VAGUE[word], source.skip(place + 1, ("of",)), word in ("few", "several")
    if word in ("a", "an") or (word == "half" and source.low(place + 1) in ("a", "an")):
        return (0.5, place + 2, False) if word == "half" else (1.0, place + 1, False)
    number = read_number(source, place)
    if number is None or number.ordinal or not 0 < number.value <= 9_999:
        return None
    count, after = float(number.value), number.after
    if number.figures and source.low(after) == "." and source.glued(after) and source.glued(after + 1):
        rest = source.tokens[after + 1]
        if rest.number is not None and rest.number >= 0:
            count, after = float(f"{number.value}.{rest.low}") if rest.low.isascii() else count, after + 2
    if source.low(after) == "and":
        half = source.skip(after + 1, ("a",))
        if source.low(half) == "half":
            return count + 0.5, half + 1, False
    return count, source.skip(after, ("full", "whole", "more", "-")), False


def read_unit(source: Source, place: int) -> tuple[Grain, int] | None:
    """A unit of time, maybe with an adjective."""
    word = source.low(place)
    if word in ("business", "working", "work") and source.low(place + 1) in ("day", "days"):
        return Grain.BUSINESS_DAY, place + 2
    if word in ("calendar", "consecutive", "full", "whole", "straight"):
        word, place = source.low(place + 1), place + 1
    if word in UNITS and not source.words(place, "half", "of"):
        return UNITS[word], place + 1
    if word in SHORT_UNITS and source.glued(place) and not source.glued(place + 1):
        return SHORT_UNITS[word], place + 1
    return None


# ---------------------------------------------------------------- so long ago, so long after something


def offset(source: Source, place: int) -> Match | None:
    """3 days ago, 2 weeks from now, a week after Easter, more than a year ago, 3 days starting Monday."""
    bound, spot = _bound(source, place)
    match = read_amount(source, spot) or _some(source, spot)
    if match is None:
        return _counted_weekdays(source, place)
    amount, after = match
    anchored = _anchor(source, after)
    if anchored is None:
        return None if bound else _lasting(source, amount, after)
    sign, anchor, end = anchored
    if not bound and source.low(place - 1) == "the" and anchor.grain is not Grain.INSTANT:
        bound = "inside"  # the two weeks before Christmas: all of them
    return (_moved(source, amount, sign, anchor, bound), end)


def _some(source: Source, place: int) -> tuple[Amount, int] | None:
    """Years ago, some weeks ago."""
    name = source.low(place)
    grain = UNITS.get(name)
    if grain is None or not name.endswith("s") or source.low(place + 1) not in ("ago", "back", "later"):
        return None
    if source.low(place - 1) in ("many", "much"):  # that is the question
        return None
    return Amount(parts=((3, grain),), vague=True), place + 1


BOUND_WORDS = tuple(
    "more longer greater less fewer shorter at over under about around roughly approximately almost nearly some "
    "exactly just".split()
)


def _bound(source: Source, place: int) -> tuple[str, int]:
    word, behind = source.low(place), source.low(place + 1)
    if word in ("more", "longer", "greater") and behind == "than":
        return "beyond", place + 2
    if word in ("less", "fewer", "shorter") and behind == "than":
        return "inside", place + 2
    if word == "at" and behind in ("least", "most"):
        return ("beyond" if behind == "least" else "inside"), place + 2
    if word in ("over", "under"):
        return ("beyond" if word == "over" else "inside"), place + 1
    if word in ("about", "around", "roughly", "approximately", "almost", "nearly", "some", "exactly", "just"):
        return "", place + 1
    return "", place


def _anchor(source: Source, place: int) -> tuple[int, Period, int] | None:
    """Which way an amount is counted, from what, and the place after that."""
    here = Period(grain=Grain.INSTANT, span=Span(start=source.now, end=source.now + TICK), relative=True)
    word = source.low(place)
    if word in ("ago", "back", "earlier", "prior", "previously"):
        if source.low(place + 1) == "than" or (word == "prior" and source.low(place + 1) == "to"):
            return None
        return -1, here, source.skip(place + 1, ("today",))
    if source.words(place, "in", "the", "past"):
        return -1, here, place + 3
    if word in ("later", "hence", "afterwards", "after", "out") and not _has_anchor(source, place):
        return (1, here, place + 1) if word != "out" else None
    if word in ("from", "after", "since", "before", "following", "past", "of", "prior"):
        spot = source.skip(place + 1, ("to",)) if word == "prior" else place + 1
        if source.low(spot) == "now" or source.words(spot, "right", "now"):
            return (
                (-1 if word in ("before", "prior") else 1),
                here,
                spot + (1 if source.low(spot) == "now" else 2),
            )
        match = source.period(spot) if word != "of" else None
        if match is not None and not match[0].weak:
            anchor = match[0]
            if word == "from" and anchor.cycle is not None:
                # A week from Friday is always ahead.
                anchor = replace(anchor, span=settle(anchor, source.now, future=True), cycle=None, of=None)
            return (-1 if word in ("before", "prior") else 1), _edge(anchor, word), match[1]
    return None


def _has_anchor(source: Source, place: int) -> bool:
    return source.low(place) == "after" and source.period(place + 1) is not None


def _edge(period: Period, word: str) -> Period:
    """After a month is after its end; after a day, and since a month, counts from its beginning."""
    if word in ("after", "following", "past") and period.grain > Grain.DAY and not period.offset:
        return mapped(period, period, lambda span: Span(start=span.end, end=span.end + TICK)) or period
    return period


def _moved(source: Source, amount: Amount, sign: int, anchor: Period, bound: str) -> Period:
    grain = amount.smallest
    now = source.now

    def target(span: Span) -> Span:
        moment = amount.after(span.start, sign)
        if bound == "":
            return period_of(grain, moment) if grain < Grain.DAY else day_of(moment)
        base = span.start if grain < Grain.DAY else midnight(span.start)
        far = amount.after(base, sign)
        if bound == "beyond":
            return (
                Span(start=far, end=far + timedelta(days=1)) if sign > 0 else Span(start=far - TICK, end=far)
            )
        if anchor.grain is Grain.INSTANT and sign < 0:
            return Span(start=far, end=day_of(now).end)
        return Span(start=min(base, far), end=max(base, far))

    shape = Period(
        grain=min(grain, Grain.DAY),
        span=anchor.span,
        offset=True,
        relative=True,
        slack=timedelta(0) if bound else amount.slack(now),
        open_end=bound == "beyond" and sign > 0,
        open_start=bound == "beyond" and sign < 0,
    )
    return mapped(shape, anchor, target) or shape


def _lasting(source: Source, amount: Amount, place: int) -> Match | None:
    """3 days starting next Monday, for 3 days, from today, 4 weeks in the future."""
    if source.words(place, "in", "the", "future"):
        return ahead(source, amount, from_today=False), place + 3
    spot = source.skip(place, (",",))
    if source.low(spot) not in ("starting", "beginning", "commencing", "from", "as"):
        return None
    spot = source.skip(source.skip(spot + 1, ("from", "on", "of", "at", "with")), ("the",))
    match = source.period(spot)
    if match is None or match[0].weak:
        return None
    anchor, end = match
    shape = Period(grain=anchor.grain, offset=True)
    made = mapped(shape, anchor, lambda span: Span(start=span.start, end=amount.after(span.start)))
    if made is None:
        return None
    # The year that is running, as with "2 weeks starting May 20th" said in autumn of what began in May.
    if made.cycle is Grain.YEAR and made.of is not None:
        span = made.of(source.now.year)
        made = Period(grain=anchor.grain, span=span, offset=True) if span else made
    return made, end


def _counted_weekdays(source: Source, place: int) -> Match | None:
    """Two Mondays ago, three Fridays from now."""
    number = read_number(source, place)
    if number is None or number.ordinal or not 1 <= number.value <= 60:
        return None
    name = source.low(number.after)
    weekday = WEEKDAYS.get(name, WEEKDAYS.get(name.removesuffix("s")))
    after = number.after + 1
    if weekday is None:
        return None
    if source.low(after) in ("ago", "back", "earlier"):
        days = (source.now.weekday() - weekday - 1) % 7 + 1 + 7 * (number.value - 1)
        return Period(grain=Grain.DAY, span=day_of(source.now - timedelta(days=days))), after + 1
    if source.low(after) in ("later", "hence") or source.words(after, "from", "now"):
        days = (weekday - source.now.weekday() - 1) % 7 + 1 + 7 * (number.value - 1)
        end = after + (2 if source.low(after) == "from" else 1)
        return Period(grain=Grain.DAY, span=day_of(source.now + timedelta(days=days))), end
    return None


# ---------------------------------------------------------------- the last and the next so many


def counted(source: Source, place: int) -> Match | None:
    """The last 3 years, past two quarters, next couple of weeks, 2 next days."""
    word = source.low(place)
    if DIRECTIONS.get(word):
        spot = place + 1
        if source.low(spot) in ("last", "past", "next"):  # "the very last", "last past"
            return None
        match = (
            read_amount(source, spot) if source.low(spot) not in ("a", "an") or _vague(source, spot) else None
        )
        if match is None and word == "past":
            unit = read_unit(source, spot)
            if unit is not None and source.low(spot) in UNITS and unit[0] not in _NOT_PAST:
                match = Amount(parts=((1, unit[0]),)), unit[1]
        if match is None and word == "last" and _stretch(source, place):
            unit = read_unit(source, spot)
            match = (Amount(parts=((1, unit[0]),)), unit[1]) if unit else None
        if match is None:
            return None
        amount, after = match
        return _directed(source, amount, DIRECTIONS[word], place), after
    number = _count(source, place)
    if (
        number is None
        or source.low(number[1]) not in BEFORE_WORDS | AFTER_WORDS
        or source.low(place) in ("a", "an")
    ):
        return None
    unit = read_unit(source, number[1] + 1)
    if unit is None or not (number[0] == 1 or source.low(unit[1] - 1).endswith("s")):
        return None
    amount = Amount(parts=((number[0], unit[0]),))
    return _directed(source, amount, DIRECTIONS[source.low(number[1])], place), unit[1]


def _stretch(source: Source, place: int) -> bool:
    """Over the last year: the twelve months up to now, not the calendar year before."""
    return source.low(place - 1) == "the" and source.low(place - 2) in ("over", "within", "in", "during")


def _vague(source: Source, place: int) -> bool:
    return source.low(place + 1) in VAGUE


def _directed(source: Source, amount: Amount, sign: int, place: int) -> Period:
    before = source.low(place - 1) if source.low(place - 1) != "the" else source.low(place - 2)
    if sign > 0:
        return ahead(source, amount, from_today=before == "within")
    return behind(source, amount)


def behind(source: Source, amount: Amount) -> Period:
    """The time up to now, today included; calendar units such as quarters count whole, without the current."""
    now, grain = source.now, amount.smallest
    count = int(amount.parts[0][0])
    if grain in _CALENDAR_UNITS and len(amount.parts) == 1:
        span = Span(start=period_of(grain, now, -count).start, end=period_of(grain, now, -1).end)
    elif grain < Grain.DAY:
        span = Span(start=amount.after(now, -1), end=now + TICK)
    elif grain is Grain.BUSINESS_DAY:
        span = Span(start=midnight(next_business_day(now, -count)), end=midnight(now))
    else:
        span = Span(start=amount.after(midnight(now), -1), end=day_of(now).end)
    return Period(grain=grain, span=span, relative=True)


def ahead(source: Source, amount: Amount, *, from_today: bool) -> Period:
    """The time from tomorrow on, or from today."""
    now, grain = source.now, amount.smallest
    count = int(amount.parts[0][0])
    if grain in _CALENDAR_UNITS and len(amount.parts) == 1:
        span = Span(start=period_of(grain, now, 1).start, end=period_of(grain, now, count).end)
    elif grain < Grain.DAY:
        span = Span(start=now, end=amount.after(now))
    elif grain is Grain.BUSINESS_DAY:
        end = day_of(next_business_day(now, count)).end
        span = Span(start=midnight(next_business_day(now, 1)), end=end)
    else:
        start = midnight(now) if from_today else day_of(now).end
        span = Span(start=start, end=amount.after(start))
    return Period(grain=grain, span=span, relative=True)


def _is_past(source: Source) -> bool:
    return any(token.low in PAST_WORDS or token.low.endswith("ed") for token in source.tokens[:200])


def inside(source: Source, place: int) -> Match | None:
    """Within 5 days, within 2 weeks from today, in 3 weeks."""
    word = source.low(place)
    match = read_amount(source, place + 1)
    if match is None:
        return None
    amount, after = match
    if word == "within":
        anchored = _anchor(source, after)
        if anchored is not None:
            sign, anchor, end = anchored
            return _moved(source, amount, sign, anchor, "inside"), end
        if source.low(after) == "of":
            return None
        return ahead(source, amount, from_today=True), after
    if word == "in":
        anchored = _anchor(source, after)
        if anchored is not None:
            sign, anchor, end = anchored
            return _moved(source, amount, sign, anchor, ""), end
        if source.words(after, "in", "the", "future") or _is_past(source) or source.low(after) == "or":
            return None
        after = source.skip(source.skip(after, ("'", "’")), ("time",))
        here = Period(grain=Grain.INSTANT, span=Span(start=source.now, end=source.now + TICK))
        return _moved(source, amount, 1, here, ""), after
    return None

"""Times of a whole text: all ranges in it, the range a question is about, and notes for who asks.

Pure: `now` and the zone are given, nothing is read from the clock. Where ranges contradict each other, the outcome is
a note and no constraint, never an empty search.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, tzinfo

from recollect.domain.query import TimeRange
from recollect.text.times.calendar import Span, placed, placed_span
from recollect.text.times.dates import has_day_first
from recollect.text.times.grammar import period
from recollect.text.times.ranges import FIRST_WORDS, Reading, expression
from recollect.text.times.tokens import FUTURE_WORDS, PAST_WORDS, Source, tokenize

#: Ten thousand words and the signs between them. Longer texts name times as well, but nobody asks with them.
MAX_TOKENS = 12_000


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeReading:
    """What a text says about time.

    `scope` is the period a question is about: what must all hold ("since May", "before July") is intersected, what is
    named side by side is spanned. `ranges` are all of them in order. `notes` tell of contradictions and of dates that
    can be read in two ways.
    """

    scope: TimeRange | None
    ranges: tuple[TimeRange, ...]
    notes: tuple[str, ...]


def extract_temporal_scope(query: str, *, now: datetime, timezone: tzinfo = UTC) -> TimeRange | None:
    """The period a question is about, or None when it names none."""
    return read_times(query, now=now, timezone=timezone).scope


def find_times(text: str, *, now: datetime, timezone: tzinfo = UTC) -> list[TimeRange]:
    """Every period that a text names, in order."""
    return list(read_times(text, now=now, timezone=timezone).ranges)


def read_times(text: str, *, now: datetime, timezone: tzinfo = UTC) -> TimeReading:
    """Everything a text says about time, seen from a moment in a zone. A moment without a zone is in that zone."""
    local = _on_the_wall(now, timezone)
    tokens = tokenize(text)
    cut = len(tokens) > MAX_TOKENS
    del tokens[MAX_TOKENS:]
    words = {token.low for token in tokens}
    future = not words.isdisjoint(FUTURE_WORDS) or any(word.endswith("'ll") for word in words)
    past = not words.isdisjoint(PAST_WORDS)
    source = Source(
        text=text,
        now=local,
        future=future and not past,
        past=past,
        tokens=tokens,
        period_at=period,
        month_first=not has_day_first(text),
    )
    readings = _read(source)
    timed = all(reading.clock_only for reading in readings)
    ranges = [(reading, _range(source, reading, timezone)) for reading in readings]
    notes = [reading.note for reading in readings if reading.note]
    if cut:
        notes.append(f"times were looked for in the first {MAX_TOKENS:,} words and signs of the text")
    scope = _scope(
        [range_ for reading, range_ in ranges if range_ and (timed or not reading.clock_only)], notes
    )
    return TimeReading(
        scope=scope,
        ranges=tuple(range_ for _, range_ in ranges if range_),
        notes=tuple(dict.fromkeys([*source.notes, *notes])),
    )


def _on_the_wall(now: datetime, zone: tzinfo) -> datetime:
    try:
        return (now if now.tzinfo is None else now.astimezone(zone)).replace(tzinfo=None)
    except OverflowError:  # the first and the last day of the calendar
        return now.replace(tzinfo=None)


def _read(source: Source) -> list[Reading]:
    readings = []
    place = 0
    while place < len(source.tokens):
        token = source.tokens[place]
        reading = None
        if token.number is not None or token.low in FIRST_WORDS:
            reading = expression(source, place)
        if reading is None:
            place += 1
            continue
        readings.append(reading)
        place = max(reading.after, place + 1)
    return readings


def _range(source: Source, reading: Reading, zone: tzinfo) -> TimeRange | None:
    last = max(reading.after, reading.first + 1) - 1
    phrase = source.text[source.tokens[reading.first].start : source.tokens[last].end]
    try:
        if reading.start is not None and reading.end is not None:
            start, end = placed_span(Span(start=reading.start, end=reading.end), zone)
            return TimeRange(start=start, end=end, phrase=phrase, slack=reading.slack)
        return TimeRange(
            start=placed(reading.start, zone) if reading.start is not None else None,
            end=placed(reading.end, zone) if reading.end is not None else None,
            phrase=phrase,
            slack=reading.slack,
        )
    except (ValueError, OverflowError):
        return None


def _scope(ranges: Sequence[TimeRange], notes: list[str]) -> TimeRange | None:
    """One range from all: closed ones spanned, then cut by the open ones."""
    closed = [range_ for range_ in ranges if range_.start is not None and range_.end is not None]
    opened = [range_ for range_ in ranges if range_.start is None or range_.end is None]
    hull = _hull(closed)
    limit = limited(opened, notes)
    if hull is None or limit is None:
        return hull or limit
    both = limited([hull, limit], [])
    if both is None:
        notes.append(
            f"nothing is both {hull.phrase!r} and {limit.phrase!r}; only the first was taken for a limit in time"
        )
        return hull
    return both


def _hull(ranges: Sequence[TimeRange]) -> TimeRange | None:
    if len(ranges) < 2:
        return ranges[0] if ranges else None
    return TimeRange(
        start=min(range_.start for range_ in ranges if range_.start is not None),
        end=max(range_.end for range_ in ranges if range_.end is not None),
        phrase=_phrases(ranges),
        slack=max(range_.slack for range_ in ranges),
    )


def limited(ranges: Sequence[TimeRange], notes: list[str]) -> TimeRange | None:
    """What lies in all ranges; None with a note when nothing does."""
    if len(ranges) < 2:
        return ranges[0] if ranges else None
    start = max((range_.start for range_ in ranges if range_.start is not None), default=None)
    end = min((range_.end for range_ in ranges if range_.end is not None), default=None)
    if start is not None and end is not None and end <= start:
        notes.append(f"{_phrases(ranges)} contradict each other; the question was not limited in time")
        return None
    return TimeRange(
        start=start, end=end, phrase=_phrases(ranges), slack=max(range_.slack for range_ in ranges)
    )


def _phrases(ranges: Sequence[TimeRange]) -> str:
    return ", ".join(dict.fromkeys(range_.phrase for range_ in ranges[:5]))

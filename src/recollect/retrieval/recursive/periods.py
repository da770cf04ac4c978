"""A stretch of time cut into calendar slices: days, weeks, months, quarters or years, whichever gives a handful."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from itertools import pairwise

from recollect.domain.query import TimeRange
from recollect.text.times.calendar import Grain, period_of

#: So many slices fit into one step of a run, and into a reader's head.
MOST = 8


def periods_of(start: datetime, end: datetime, *, most: int = MOST) -> tuple[TimeRange, ...]:
    """The slices from start to end, in order; the finest unit of which there are no more than `most`."""
    for grain in (Grain.DAY, Grain.WEEK, Grain.MONTH, Grain.QUARTER, Grain.YEAR):
        slices = list(_slices(start, end, grain, most))
        if len(slices) <= most:
            return tuple(slices)
    # Longer than `most` years: equal stretches.
    width = (end - start) / most
    edges = [start + width * number for number in range(most)] + [end]
    return tuple(
        TimeRange(start=start, end=other, phrase=f"{start:%Y} to {other:%Y}")
        for start, other in pairwise(edges)
    )


def _slices(start: datetime, end: datetime, grain: Grain, most: int) -> Iterator[TimeRange]:
    """The calendar slices of a unit; one more than `most` at the most, which says that there are too many."""
    for away in range(most + 1):
        span = period_of(grain, start.replace(tzinfo=None), away)
        # The calendar is one of the wall: it knows no zones.
        first, last = span.start.replace(tzinfo=start.tzinfo), span.end.replace(tzinfo=start.tzinfo)
        if first >= end:
            return
        yield TimeRange(start=max(first, start), end=min(last, end), phrase=_label(first, grain))


def _label(first: datetime, grain: Grain) -> str:
    if grain is Grain.WEEK:
        year, week, _ = first.isocalendar()
        return f"{year}-W{week:02}"
    if grain is Grain.QUARTER:
        return f"{first:%Y}-Q{(first.month - 1) // 3 + 1}"
    return first.strftime({Grain.DAY: "%Y-%m-%d", Grain.MONTH: "%Y-%m", Grain.YEAR: "%Y"}[grain])

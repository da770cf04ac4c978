"""A stretch of time cut into calendar slices: days, weeks, months, quarters or years, whichever gives a handful."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from itertools import pairwise

from recollect.domain.query import TimeRange

#: So many slices fit into one step of a run, and into a reader's head.
MOST = 8


def periods_of(start: datetime, end: datetime, *, most: int = MOST) -> tuple[TimeRange, ...]:
    """The slices from start to end, in order; the finest unit of which there are no more than `most`."""
    for unit in ("day", "week", "month", "quarter", "year"):
        slices = list(_slices(start, end, unit, most))
        if len(slices) <= most:
            return tuple(slices)
    # Longer than `most` years: equal stretches.
    width = (end - start) / most
    edges = [start + width * number for number in range(most)] + [end]
    return tuple(
        TimeRange(start=start, end=other, phrase=f"{start:%Y} to {other:%Y}")
        for start, other in pairwise(edges)
    )


def _slices(start: datetime, end: datetime, unit: str, most: int) -> Iterator[TimeRange]:
    """The calendar slices of a unit; one more than `most` at the most, which says that there are too many."""
    floor = _floor(start, unit)
    for _ in range(most + 1):
        if floor >= end:
            return
        following = _next(floor, unit)
        yield TimeRange(start=max(floor, start), end=min(following, end), phrase=_label(floor, unit))
        floor = following


def _floor(moment: datetime, unit: str) -> datetime:
    day = moment.replace(hour=0, minute=0, second=0, microsecond=0)
    if unit == "day":
        return day
    if unit == "week":
        return day - timedelta(days=day.weekday())
    if unit == "month":
        return day.replace(day=1)
    if unit == "quarter":
        return day.replace(month=(day.month - 1) // 3 * 3 + 1, day=1)
    return day.replace(month=1, day=1)


def _next(floor: datetime, unit: str) -> datetime:
    if unit in ("day", "week"):
        return floor + timedelta(days=1 if unit == "day" else 7)
    months = {"month": 1, "quarter": 3, "year": 12}[unit]
    month = floor.month - 1 + months
    return floor.replace(year=floor.year + month // 12, month=month % 12 + 1)


def _label(floor: datetime, unit: str) -> str:
    if unit == "week":
        year, week, _ = floor.isocalendar()
        return f"{year}-W{week:02}"
    if unit == "quarter":
        return f"{floor:%Y}-Q{(floor.month - 1) // 3 + 1}"
    return floor.strftime({"day": "%Y-%m-%d", "month": "%Y-%m", "year": "%Y"}[unit])

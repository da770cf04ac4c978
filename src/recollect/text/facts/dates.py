"""The period a sentence names, resolved against the time it was said at."""

from __future__ import annotations

from datetime import datetime


def period_in(sentence: str, *, now: datetime) -> tuple[datetime | None, datetime | None]:
    """Start and end of the first period a sentence names; (None, None) when it names none."""
    from recollect.text.times import find_times

    for time_ in find_times(sentence, now=now):
        if time_.start is not None:
            return time_.start, time_.end
    return None, None

"""A moment as people speak of it: "2 weeks ago", "yesterday", "in 3 days".

Pure; the present is given. The reverse, from words to times, is text/times.
"""

from __future__ import annotations

from datetime import datetime

_MINUTE_S = 60
_HOUR_S = 60 * _MINUTE_S
_DAY_S = 24 * _HOUR_S
#: Each unit with its length and the age from which it is used. Days go on until two weeks, weeks until a month,
#: months until a year: "10 days ago" says more than "1 week ago".
_UNITS = (
    ("year", 365.2425 * _DAY_S, 365 * _DAY_S),
    ("month", 30.436875 * _DAY_S, 30 * _DAY_S),
    ("week", 7 * _DAY_S, 14 * _DAY_S),
    ("day", _DAY_S, _DAY_S),
    ("hour", _HOUR_S, _HOUR_S),
    ("minute", _MINUTE_S, _MINUTE_S),
)


def format_time_ago(moment: datetime, now: datetime) -> str:
    """How long ago a moment is, or how far ahead, in the largest unit that fits. Both must have a zone."""
    distance_s = (now - moment).total_seconds()
    length_s = abs(distance_s)
    for name, unit_s, from_s in _UNITS:
        if length_s >= from_s:
            count = max(1, int(length_s / unit_s))
            words = f"{count} {name}{'' if count == 1 else 's'}"
            return f"{words} ago" if distance_s > 0 else f"in {words}"
    return "just now"

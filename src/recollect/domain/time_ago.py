"""How long ago something was, as people say it: "2 weeks ago", "in 3 days"."""

from __future__ import annotations

from datetime import datetime, timedelta

#: The largest unit that fits is said, rounded down: 20 days are 2 weeks.
_UNITS = (
    ("year", timedelta(days=365)),
    ("month", timedelta(days=30)),
    ("week", timedelta(days=7)),
    ("day", timedelta(days=1)),
    ("hour", timedelta(hours=1)),
    ("minute", timedelta(minutes=1)),
)


def format_time_ago(moment: datetime, now: datetime) -> str:
    """The distance from `now` to a moment, which may lie ahead. Both know their time zone."""
    distance = abs(now - moment)
    for unit, length in _UNITS:
        if distance < length:
            continue
        number = distance // length
        if unit == "month":
            number = min(number, 11)  # 360 days are not a year yet
        said = f"{number} {unit}" if number == 1 else f"{number} {unit}s"
        return f"in {said}" if moment > now else f"{said} ago"
    return "just now"

"""Time zones as callers name them: in which one "yesterday" and "this week" are meant."""

from __future__ import annotations

from datetime import UTC, tzinfo

from recollect.errors import InvalidInputError


def check_timezone(value: object) -> tzinfo:
    """A time zone by its IANA name ("Europe/Lisbon"), or one of Python's own; None is UTC."""
    if value is None:
        return UTC
    if isinstance(value, tzinfo):
        return value
    if not isinstance(value, str):
        raise InvalidInputError(
            f"timezone must be a name such as 'Europe/Lisbon' or a tzinfo, not {type(value).__name__}"
        )
    if value.strip().upper() in {"UTC", "Z"}:
        return UTC
    from zoneinfo import ZoneInfo

    try:
        return ZoneInfo(value.strip())
    # Names that look like paths out of the zones' folder are ValueErrors, folders in it OSErrors.
    except (KeyError, ValueError, OSError):
        raise InvalidInputError(
            f"unknown timezone {value!r}; write an IANA name such as 'Europe/Lisbon' or 'UTC'"
        ) from None

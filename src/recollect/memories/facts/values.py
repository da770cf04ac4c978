"""Values of facts: whether two are the same, and whether one could take the other's place.

A value that only says more or less than another ("Acme", "Acme Corporation") is the same value. Figures, dates and
addresses are compared as such. Pure string work.
"""

from __future__ import annotations

import re

from recollect.domain.names import entity_key

_MONTHS = "january february march april may june july august september october november december".split()
_MONTH_OF = {name[:size]: name for name in _MONTHS for size in (3, len(name))} | {"sept": "september"}
_CALENDAR = re.compile(
    r"\b(?:mon|tues|wednes|thurs|fri|satur|sun)days?\b|\b(?:jan|feb|mar|apr|jun|jul|aug|sep|sept|oct|nov|dec)\b"
    r"|\b(?:january|february|march|april|june|july|august|september|october|november|december)\b"
    r"|\b\d{1,2}(?:st|nd|rd|th)?(?: of)? may\b|\bmay \d|\bin may\b|"
    r"\b\d{4}-\d{2}-\d{2}\b|\b\d{1,2}[./]\d{1,2}[./]\d{2,4}\b"
    r"|\b(?:19|20)\d\d\b|\bq[1-4]\b|\b(?:today|tomorrow|next week|next month|end of)\b",
    re.I,
)
_CLOCK = re.compile(
    r"\b\d{1,2}[:.]\d{2}\b|\b\d{1,2} ?(?:am|pm|a\.m\.|p\.m\.|o'clock|h)\b|\b(?:noon|midnight|midday)\b", re.I
)
_NOISE = frozenset(
    "the a an of is are inc ltd gmbh corp corporation company llc plc per each every about approximately".split()
)
_UNITS = {
    "$": "dollar", "€": "euro", "£": "pound", "dollars": "dollar", "usd": "dollar", "euros": "euro", "eur": "euro",
    "pounds": "pound", "gbp": "pound", "monthly": "month", "months": "month", "yearly": "year", "annually": "year",
    "years": "year", "weekly": "week", "weeks": "week", "days": "day", "hours": "hour", "minutes": "minute",
    "mins": "minute", "min": "minute", "seconds": "second", "color": "colour",
}  # fmt: skip

#: States that exclude each other, in groups; states of different groups can hold at once.
_STATES: tuple[frozenset[str], ...] = tuple(
    frozenset(word.strip() for word in group.split(","))
    for group in (
        "open, closed, resolved, reopened, in progress, done, complete, completed, finished, pending, not started,"
        " blocked, cancelled, canceled, abandoned, under way, underway, ongoing",
        "pending, processing, packed, shipped, in transit, delivered, returned, cancelled, canceled, out for delivery",
        "paid, unpaid, overdue, partly paid, refunded",
        "active, inactive, on hold, suspended, paused, closed, frozen, dormant, deactivated, terminated",
        "up, down, offline, online, running, stopped, broken, fixed, back up, live",
        "draft, in review, approved, rejected, published, merged, withdrawn, submitted, accepted",
        "free, occupied, booked, vacant, reserved, available, unavailable, taken",
        "in stock, out of stock, sold out, discontinued",
        "open, closed, shut, locked, unlocked",
        "enabled, disabled, switched on, switched off, on, off",
    )
)
STATES = frozenset().union(*_STATES)
DIETS = frozenset(
    {"vegetarian", "vegan", "pescatarian", "omnivore", "a vegetarian", "a vegan", "a pescatarian"}
)
MARITAL = frozenset({"single", "married", "divorced", "widowed", "engaged", "separated"})


def value_key(text: str) -> frozenset[str]:
    """The words of a value that tell it from another."""
    plain = text.casefold().replace("’", "'")
    if "@" in plain or "://" in plain:
        return frozenset(plain.strip(" .<>").split())
    plain = re.sub(r"(?<=\d),(?=\d{3}\b)", "", plain)
    plain = re.sub(r"([$€£])", r" \1 ", plain)
    plain = re.sub(r"\b(\d{1,2})(?:st|nd|rd|th)\b", r"\1", plain)
    words = re.findall(r"[$€£]|\d+(?:[.:]\d+)*|[^\W_]+(?:'[^\W_]+)?", plain)
    return frozenset(_word(word) for word in words if word not in _NOISE)


def _word(word: str) -> str:
    return _UNITS.get(word) or _MONTH_OF.get(word) or word


def same_value(one: str, other: str) -> bool:
    """Whether two values say the same, one of them perhaps more of it."""
    first, second = value_key(one), value_key(other)
    if not first or not second:
        return one.casefold() == other.casefold()
    if first == second or entity_key(one) == entity_key(other):
        return True
    figures = {w for w in first if w[0].isdigit()}, {w for w in second if w[0].isdigit()}
    return figures[0] == figures[1] and (first < second or second < first)


def has_form(value: str, form: str) -> bool:
    """Whether a value looks as values of a predicate do."""
    match form:
        case "time":
            return bool(_CALENDAR.search(value) or _CLOCK.search(value))
        case "clock":
            return bool(_CLOCK.search(value))
        case "number":
            return any(character.isdigit() for character in value)
        case "email":
            return "@" in value
        case "phone":
            return sum(character.isdigit() for character in value) >= 5
        case "name" | "place" | "organisation":
            return any(word[:1].isupper() for word in value.split())
    return True


def comparable(one: str, other: str, key: str) -> bool:
    """Whether two different values of a key can't both hold at one time."""
    if key == "status":
        known = [{group for group in _STATES if value.casefold() in group} for value in (one, other)]
        return not all(known) or bool(known[0] & known[1])
    clocks = bool(_CLOCK.search(one)), bool(_CLOCK.search(other))
    dates = bool(_CALENDAR.search(one)), bool(_CALENDAR.search(other))
    if any(clocks) or any(dates):
        # "on Tuesdays" and "at 9:30" go together; two days, or two hours, do not.
        return (clocks[0] and clocks[1]) or (dates[0] and dates[1])
    if key in {"lives in", "works at"}:
        return has_form(one, "name") and has_form(other, "name")
    if key == "marriage":
        return "married" not in (one.casefold(), other.casefold())
    return True


def is_clock(value: str) -> bool:
    """Whether a value is a time of day."""
    return bool(_CLOCK.search(value))


def is_calendar(value: str) -> bool:
    """Whether a value is, or has, a day."""
    return bool(_CALENDAR.search(value))

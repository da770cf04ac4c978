"""Values of facts: whether two are the same, and whether one could take the other's place.

A value that only says more or less than another ("Acme", "Acme Corporation") is the same value. Figures, dates and
addresses are compared as such. Pure string work.
"""

from __future__ import annotations

import re

from recollect.domain.names import entity_key
from recollect.text.word_lists import DEMONYMS

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
    "the a an of is are in on at by inc ltd gmbh corp corporation company llc plc per each every about"
    " approximately".split()
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
COUNTRIES = frozenset(
    """
    afghanistan albania algeria andorra angola argentina armenia australia austria azerbaijan bahrain bangladesh
    belarus belgium belize benin bhutan bolivia bosnia botswana brazil brunei bulgaria burundi cambodia cameroon
    canada chad chile china colombia congo croatia cuba cyprus czechia denmark djibouti ecuador egypt england
    eritrea estonia eswatini ethiopia fiji finland france gabon gambia georgia germany ghana greece guatemala
    guinea guyana haiti honduras hungary iceland india indonesia iran iraq ireland israel italy jamaica japan
    jordan kazakhstan kenya kosovo kuwait kyrgyzstan laos latvia lebanon lesotho liberia libya liechtenstein
    lithuania luxembourg madagascar malawi malaysia maldives mali malta mauritius mexico moldova monaco mongolia
    montenegro morocco mozambique myanmar namibia nepal netherlands nicaragua niger nigeria norway oman pakistan
    panama paraguay peru philippines poland portugal qatar romania russia rwanda scotland senegal serbia
    singapore slovakia slovenia somalia spain sudan suriname sweden switzerland syria taiwan tajikistan tanzania
    thailand togo tunisia turkey turkmenistan uganda ukraine uruguay uzbekistan venezuela vietnam wales yemen
    zambia zimbabwe europe asia africa america california texas bavaria catalonia
    """.split()
).union(
    "the netherlands,the united kingdom,the uk,the united states,the us,the usa,south korea,north korea,south africa,"
    "new zealand,costa rica,sri lanka,saudi arabia,the united arab emirates,northern ireland,el salvador,"
    "dominican republic,the dominican republic,the philippines,ivory coast".split(",")
)
DIETS = frozenset(
    {"vegetarian", "vegan", "pescatarian", "omnivore", "a vegetarian", "a vegan", "a pescatarian"}
)
MARITAL = frozenset({"single", "married", "divorced", "widowed", "engaged", "separated"})


def value_key(text: str) -> frozenset[str]:
    """The words of a value that tell it from another."""
    plain = re.sub(r"'s\b", "", text.casefold().replace("’", "'"))
    if "@" in plain or "://" in plain:
        return frozenset(plain.strip(" .<>").split())
    plain = re.sub(r"(?<=\d),(?=\d{3}\b)", "", plain)
    plain = re.sub(r"([$€£])", r" \1 ", plain)
    plain = re.sub(r"\b(\d{1,2})(?:st|nd|rd|th)\b", r"\1", plain)
    words = re.findall(r"[$€£]|\d+(?:[.:]\d+)*|[^\W_]+(?:'[^\W_]+)?", plain)
    return frozenset(_word(word) for word in words if word not in _NOISE)


def _word(word: str) -> str:
    return _UNITS.get(word) or _MONTH_OF.get(word) or word


def same_value(value: str, other: str) -> bool:
    """Whether two values say the same, perhaps more of it or less."""
    first, second = value_key(value), value_key(other)
    if not first or not second:
        return value.casefold() == other.casefold()
    if first == second or entity_key(value) == entity_key(other):
        return True
    return first < second or second < first


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
        case "name":
            return value[:1].isupper() and value.casefold() not in DEMONYMS
        case "place" | "organisation":
            return any(word[:1].isupper() for word in value.split())
    return True


def comparable(left: str, right: str, key: str) -> bool:
    """Whether two different values of a key can't both hold at one time."""
    if key == "status":
        known = [{group for group in _STATES if value.casefold() in group} for value in (left, right)]
        return not all(known) or bool(known[0] & known[1])
    clocks = bool(_CLOCK.search(left)), bool(_CLOCK.search(right))
    dates = bool(_CALENDAR.search(left)), bool(_CALENDAR.search(right))
    if any(clocks) or any(dates):
        # "on Tuesdays" and "at 9:30" go together; two days, or two hours, do not.
        return (clocks[0] and clocks[1]) or (dates[0] and dates[1])
    if key == "lives in" and (left.casefold() in COUNTRIES) != (right.casefold() in COUNTRIES):
        return False  # a town and a country can both be home
    if key in {"lives in", "works at"}:
        return has_form(left, "place") and has_form(right, "place")
    if key == "marriage":
        return "married" not in (left.casefold(), right.casefold())
    return True


def is_clock(value: str) -> bool:
    """Whether a value is a time of day."""
    return bool(_CLOCK.search(value))


def is_calendar(value: str) -> bool:
    """Whether a value is, or has, a day."""
    return bool(_CALENDAR.search(value))


_OPINIONS = frozenset(
    """
    good bad great nice wrong right correct incorrect broken slow fast quick old new weak strong long short easy
    hard difficult simple complex beautiful pretty ugly cold hot warm cool big small large tiny huge clean dirty
    expensive cheap busy empty full late early tight fine ok okay perfect terrible awful horrible unclear clear
    unknown different similar same important necessary required optional missing lost outdated invalid valid
    expired safe unsafe secret public private confusing boring interesting amazing ready generous reasonable
    realistic ambitious high low flexible fixed critical urgent happy sad angry tired sick ill nervous excited
    proud kind friendly rude strict fair unfair negotiable final
    """.split()
)


_DEGREES = frozenset(
    "very too so quite rather really extremely more less much from like as still yet being getting also always about"
    " up down only".split()
)


def is_description(value: str) -> bool:
    """Whether words describe something instead of giving its value: too high, on the wall, being rebuilt."""
    words = value.casefold().split()
    if not words:
        return True
    first = words[0]
    return (
        (first in _OPINIONS and len(words) <= 2)
        or first in _DEGREES
        or (
            first.endswith("ing")
            and first not in STATES
            and len(first) > 5
            and len(words) < 5
            and value[:1].islower()
        )
        or (len(words) > 1 and value[:1].islower() and bool(re.fullmatch(r"\w{3,}(?:ed|tten|wn|den)", first)))
        or bool(re.search(r"\b(?:higher|lower|more|less|than|cheaper|enough)\b", value.casefold()))
    )

"""A text as words, figures and signs, and the numbers in it: what the grammar of times is written over.

One pass, and no look further ahead than a few tokens, so the time it takes grows with the text's length only.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime

from recollect.text.times.calendar import Grain
from recollect.text.times.period import Match

_MONTH_NAMES = "january february march april may june july august september october november december"
MONTHS = {name: number for number, name in enumerate(_MONTH_NAMES.split(), start=1)}
MONTHS |= {name[:3]: number for name, number in MONTHS.items()} | {"sept": 9}

_DAY_NAMES = "monday tuesday wednesday thursday friday saturday sunday"
WEEKDAYS = {name: number for number, name in enumerate(_DAY_NAMES.split())}
WEEKDAYS |= {name[:3]: number for name, number in WEEKDAYS.items()}
WEEKDAYS |= {"tues": 1, "weds": 2, "thur": 3, "thurs": 3}

#: Words that are a month or a day only beside something that says so: a number, a preposition, a capital letter.
DOUBTFUL = frozenset("may march mar jan jun sep dec sat sun wed mon fri tue thu".split())

UNITS = {
    "second": Grain.SECOND, "seconds": Grain.SECOND, "sec": Grain.SECOND, "secs": Grain.SECOND,
    "minute": Grain.MINUTE, "minutes": Grain.MINUTE, "min": Grain.MINUTE, "mins": Grain.MINUTE,
    "hour": Grain.HOUR, "hours": Grain.HOUR, "hr": Grain.HOUR, "hrs": Grain.HOUR,
    "day": Grain.DAY, "days": Grain.DAY,
    "weekday": Grain.BUSINESS_DAY, "weekdays": Grain.BUSINESS_DAY,
    "workday": Grain.BUSINESS_DAY, "workdays": Grain.BUSINESS_DAY,
    "week": Grain.WEEK, "weeks": Grain.WEEK, "wk": Grain.WEEK, "wks": Grain.WEEK,
    "weekend": Grain.WEEKEND, "weekends": Grain.WEEKEND,
    "fortnight": Grain.FORTNIGHT, "fortnights": Grain.FORTNIGHT,
    "month": Grain.MONTH, "months": Grain.MONTH, "mth": Grain.MONTH, "mths": Grain.MONTH, "mo": Grain.MONTH,
    "mos": Grain.MONTH,
    "quarter": Grain.QUARTER, "quarters": Grain.QUARTER, "qtr": Grain.QUARTER, "qtrs": Grain.QUARTER,
    "half": Grain.HALF, "semester": Grain.HALF, "semesters": Grain.HALF,
    "year": Grain.YEAR, "years": Grain.YEAR, "yr": Grain.YEAR, "yrs": Grain.YEAR,
    "decade": Grain.DECADE, "decades": Grain.DECADE,
    "century": Grain.CENTURY, "centuries": Grain.CENTURY,
}  # fmt: skip
#: Only right after a figure, as in "3d ago".
SHORT_UNITS = {"d": Grain.DAY, "w": Grain.WEEK, "y": Grain.YEAR, "h": Grain.HOUR, "m": Grain.MINUTE}

_CARDINALS = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen "
    "seventeen eighteen nineteen"
)
_ORDINALS = (
    "zeroth first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth "
    "fourteenth fifteenth sixteenth seventeenth eighteenth nineteenth"
)
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety"
_TEN_ORDINALS = "twentieth thirtieth fortieth fiftieth sixtieth seventieth eightieth ninetieth"
SMALL = {name: number for number, name in enumerate(_CARDINALS.split())}
TENS = {name: number * 10 for number, name in enumerate(_TENS.split(), start=2)}
SMALL_ORDINALS = {name: number for number, name in enumerate(_ORDINALS.split())}
TEN_ORDINALS = {name: number * 10 for number, name in enumerate(_TEN_ORDINALS.split(), start=2)}
ORDINAL_ENDINGS = frozenset(("st", "nd", "rd", "th"))
#: How many "a few" are: enough to be right about the order of magnitude.
VAGUE = {"couple": 2, "few": 3, "several": 4, "dozen": 12}

#: "seventies"; the two thousands and the noughties are decades of this century.
DECADES = {f"{name[:-1]}ies": number for name, number in TENS.items()} | {"tens": 10}
CENTURY_DECADES = {"noughties": 2000, "aughts": 2000, "naughties": 2000}

#: Which of several periods is meant: -1 the period before, +1 the period after.
BEFORE_WORDS = frozenset("last previous past prior preceding".split())
AFTER_WORDS = frozenset("next following coming upcoming".split())
THIS_WORDS = frozenset("this current same that".split())
DIRECTIONS = dict.fromkeys(BEFORE_WORDS, -1) | dict.fromkeys(AFTER_WORDS, 1) | dict.fromkeys(THIS_WORDS, 0)
DIRECTIONS |= {"present": 0}

#: Parts of the day, in hours; what ends beyond 24 belongs to the evening before.
DAYPARTS = {
    "morning": (5, 12), "mornings": (5, 12), "noon": (12, 13), "lunchtime": (12, 14), "lunch": (12, 14),
    "midday": (12, 13), "afternoon": (12, 18), "evening": (17, 22), "night": (20, 28), "nite": (20, 28),
    "tonight": (17, 28), "midnight": (0, 1), "dawn": (5, 8), "dusk": (18, 21),
}  # fmt: skip

#: Meteorological seasons of the northern hemisphere: first month, and how a year counts.
SEASONS = {"spring": 3, "summer": 6, "autumn": 9, "fall": 9, "winter": 12, "summertime": 6, "wintertime": 12}

DAY_WORDS = {
    "today": 0, "tonight": 0, "otd": 0,
    "tomorrow": 1, "tmrw": 1, "tmr": 1, "tomorow": 1, "tommorow": 1, "tommorrow": 1, "2moro": 1,
    "yesterday": -1, "yday": -1,
}  # fmt: skip

#: Parts of a period, by the word before it.
PARTS = {
    "early": "early", "beginning": "early", "start": "early", "begin": "early", "opening": "early",
    "mid": "mid", "middle": "mid", "midst": "mid",
    "late": "late", "end": "late", "close": "late", "ending": "late",
}  # fmt: skip
#: "end of month" and the like in three letters.
END_CODES = {
    "eod": Grain.DAY, "cob": Grain.DAY, "eow": Grain.WEEK, "eom": Grain.MONTH, "eoq": Grain.QUARTER,
    "eoy": Grain.YEAR,
}  # fmt: skip
TO_DATE_CODES = {"wtd": Grain.WEEK, "mtd": Grain.MONTH, "qtd": Grain.QUARTER, "ytd": Grain.YEAR}
RECENT_WORDS = frozenset("recently lately recent".split())

#: What stands before a time and makes it one: "in 2023", "since May".
PREPOSITIONS = frozenset(
    """
    in on at during since until till from to by before after between of through thru for around about over
    within throughout until and or as circa past
    """.split()
)
#: Numbers after these are names of things.
ID_WORDS = frozenset(
    """
    invoice order ticket number no nr id room version release build error port issue pr page line code part
    model zip pin bug case item sku order# ref reference account phone tel fax flight bus route step chapter
    """.split()
)

FUTURE_WORDS = frozenset(
    """
    will shall won't schedule upcoming plan planning planned remind reminder book arrange let's should must
    deadline due expected expect intend intends gonna
    """.split()
)
PAST_WORDS = frozenset(
    """
    did didn't was were wasn't weren't had happened went said told met been ago took made came left worked
    wrote bought saw got gave found began started finished decided discussed talked visited
    """.split()
)


_TOKEN = re.compile(r"\d+|[^\W\d_]+(?:['’][^\W\d_]+)*|[^\w\s]|_")
#: No year, day or count has more figures; what is longer is an id.
_MAX_FIGURES = 8
#: "two thousand nine hundred and ninety nine" and signs between.
_MAX_NUMBER_WORDS = 9


@dataclass(slots=True)
class Token:
    """A word, a run of figures, or a sign."""

    low: str
    start: int
    end: int
    number: int | None
    glued: bool
    """Nothing stands between it and the token before."""
    capital: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Number:
    """A number in the text, and the place of the token after it."""

    value: int
    ordinal: bool
    after: int
    figures: int = 0
    """How many figures it was written with; 0 means in words."""


@dataclass(slots=True)
class Source:
    """A text in tokens, and the moment it is read at."""

    text: str
    now: datetime
    future: bool
    """It speaks of what is to come."""
    past: bool
    """It speaks of what has been."""
    tokens: list[Token]
    period_at: Callable[[Source, int], Match | None]
    """The grammar, for readers of a period that has others in it."""
    month_first: bool = True
    depth: int = 0
    memo: dict[tuple[int, int], Match | None] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    def period(self, place: int) -> Match | None:
        """The period that begins at a place, and the place after it."""
        return self.period_at(self, place)

    @contextmanager
    def nested(self) -> Iterator[None]:
        """What is read in here is a part of something longer."""
        self.depth += 1
        try:
            yield
        finally:
            self.depth -= 1

    def low(self, place: int) -> str:
        """The token in lower case; nothing beyond the ends."""
        return self.tokens[place].low if 0 <= place < len(self.tokens) else ""

    def skip(self, place: int, words: Container[str]) -> int:
        """The place after a word, if it is there."""
        return place + 1 if self.low(place) in words and place < len(self.tokens) else place

    def glued(self, place: int) -> bool:
        """Whether a token follows its neighbour without a blank."""
        return place < len(self.tokens) and self.tokens[place].glued

    def words(self, place: int, *words: str) -> bool:
        """Whether these words stand here."""
        return all(self.low(place + offset) == word for offset, word in enumerate(words))

    def at(self, offset: int, place: int) -> int:
        """The place of the first token that begins at or after a character."""
        while place < len(self.tokens) and self.tokens[place].start < offset:
            place += 1
        return place


def tokenize(text: str) -> list[Token]:
    """All tokens of a text."""
    tokens = []
    end = -1
    for match in _TOKEN.finditer(text):
        word = match.group()
        start = match.start()
        first = word[0]
        if first.isdigit():
            number = int(word) if len(word) <= _MAX_FIGURES and word.isdecimal() else -1
            tokens.append(Token(word, start, match.end(), number, start == end, False))
        else:
            low = word.lower()
            if "’" in low:
                low = low.replace("’", "'")
            tokens.append(
                Token(low.removesuffix("'s"), start, match.end(), None, start == end, first.isupper())
            )
        end = match.end()
    return tokens


def read_number(source: Source, place: int) -> Number | None:
    """A whole number or an ordinal, in figures or in words."""
    if place >= len(source.tokens):
        return None
    token = source.tokens[place]
    if token.number is None:
        return _number_words(source, place) if token.low in _NUMBER_STARTS else None
    if token.number < 0:
        return None
    after = place + 1
    ordinal = source.glued(after) and source.low(after) in ORDINAL_ENDINGS
    figures = token.end - token.start
    return Number(value=token.number, ordinal=ordinal, after=after + ordinal, figures=figures)


def _number_words(source: Source, place: int) -> Number | None:
    total = current = 0
    after = place
    room = 1000  # what may still follow: after "twenty" only 1 to 9, after "five" nothing below a hundred
    for spot in range(place, place + _MAX_NUMBER_WORDS):
        word = source.low(spot)
        if word in SMALL_ORDINALS and SMALL_ORDINALS[word] < room:
            return Number(value=total + current + SMALL_ORDINALS[word], ordinal=True, after=spot + 1)
        if word in TEN_ORDINALS and room > 99:
            return Number(value=total + current + TEN_ORDINALS[word], ordinal=True, after=spot + 1)
        if word in SMALL and SMALL[word] < room:
            current, room = current + SMALL[word], 0
        elif word in TENS and room > 99:
            current, room = current + TENS[word], 10
        elif word == "hundred" and 0 < current < 100:
            current, room = current * 100, 100
        elif word == "thousand" and 0 < current < 1000 and total == 0:
            total, current, room = current * 1000, 0, 1000
        elif word in ("-", "and") and _joins(source, spot, room, began=after > place):
            continue
        else:
            break
        after = spot + 1
    return Number(value=total + current, ordinal=False, after=after) if after > place else None


def _joins(source: Source, spot: int, room: int, *, began: bool) -> bool:
    """Whether a sign or an "and" stands inside a number: twenty-one, two thousand and one."""
    if source.low(spot) == "-":
        return room == 10
    return began and room >= 100 and source.low(spot + 1) in _NUMBER_STARTS


_NUMBER_STARTS = frozenset([*SMALL, *TENS, *SMALL_ORDINALS, *TEN_ORDINALS])


def read_year(source: Source, place: int) -> tuple[int, int] | None:
    """A year in four figures, as '98, or in words; and the place after it."""
    token = source.tokens[place] if place < len(source.tokens) else None
    if token is None:
        return None
    if token.low in ("'", "’") and source.glued(place + 1):
        short = source.tokens[place + 1]
        if short.number is not None and short.end - short.start == 2:
            return full_year(short.number, source.now), place + 2
        return None
    if token.number is not None:
        if token.end - token.start != 4 or not 1000 <= token.number <= 2999 or is_joined(source, place):
            return None
        return token.number, place + 1
    return _year_words(source, place)


def _year_words(source: Source, place: int) -> tuple[int, int] | None:
    first = read_number(source, place)
    if first is None or first.ordinal or first.figures:
        return None
    if 1000 <= first.value <= 2999:
        return first.value, first.after
    if not 11 <= first.value <= 21:
        return None
    spot = source.skip(first.after, ("-",))
    zero = source.low(spot) in ("oh", "o")
    second = read_number(source, spot + zero)
    if second is None or second.ordinal or second.figures or not (zero or second.value >= 10):
        return None
    return (first.value * 100 + second.value, second.after) if second.value <= 99 else None


def full_year(short: int, now: datetime) -> int:
    """The year of two figures: the latest that is not more than fifteen years ahead."""
    year = now.year // 100 * 100 + 100 + short
    while year > now.year + 15:
        year -= 100
    return year


def is_joined(source: Source, place: int) -> bool:
    """Whether figures are part of a longer name: INV-2023, v2023, 2023.1.4, #2023, $2023."""
    before = source.tokens[place - 1] if place else None
    if before is not None and source.glued(place):
        if before.low in "$€£#@_&" or before.capital or before.low == "v":
            return True
        glued_before = source.glued(place - 1) and place > 1
        if before.low in "-./:" and glued_before and source.tokens[place - 2].number is None:
            return source.tokens[place - 2].low not in _JOINABLE
        if before.low in ".:" and glued_before:
            return True
        if before.low == "-" and glued_before and _is_telephone(source, place):
            return True
    behind = source.tokens[place + 1] if place + 1 < len(source.tokens) else None
    if behind is None or not behind.glued:
        return False
    if behind.low in "%°€_@":
        return True
    number = source.tokens[place + 2].number if source.glued(place + 2) else None
    return behind.low in ".,:" and number is not None


def _is_telephone(source: Source, place: int) -> bool:
    group = source.tokens[place - 2]
    return group.end - group.start not in (1, 2, 4) or (
        source.glued(place - 2) and source.low(place - 3) == "-"
    )


#: What may be glued to a year with a sign: months, quarters, halves.
_JOINABLE = MONTHS.keys() | "q1 q2 q3 q4 h1 h2 mid early late pre post q h".split()

"""The words of time phrases: names of months and days, units, numbers, and what points to the past or the future.

Data only. How words combine is in the modules beside it.
"""

from __future__ import annotations

from recollect.text.times.calendar import Grain

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

#: Which of several periods is meant: -1 the one before, +1 the one after.
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

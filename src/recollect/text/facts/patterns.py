"""The sentences from which a fact can be read, as patterns over a cleaned clause.

Each rule is a verb phrase with what it means. `reader.py` tries them in order; the first that fits a clause decides.
"""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """subject, verb phrase, object -> predicate. `change`: the verb itself says that it is new."""

    pattern: re.Pattern[str]
    predicate: str
    change: bool = False
    past: bool = False


def _rule(verbs: str, predicate: str, *, change: bool = False, past: bool = False) -> Rule:
    pattern = re.compile(rf"^(?P<s>[^,;:]{{1,80}}?) (?:{verbs}) (?P<o>\S.*)$")
    return Rule(pattern=pattern, predicate=predicate, change=change, past=past)


_BE = "is|are|am"
#: "has", "have", "has been" and "was" in front of a change that is done.
_DONE = "(?:(?:has|have) (?:been )?|was |were |got |is |are )?"
_DONE_TO = "(?:(?:has|have) been |was |were |got )"

VERB_RULES: tuple[Rule, ...] = (
    _rule(rf"lives? in|resides? in|(?:{_BE}) living in", "lives in"),
    _rule(rf"(?:{_BE}) based in", "lives in"),
    _rule(
        rf"(?:{_DONE})(?:moved|relocated)(?: here)? (?:over )?to|(?:{_DONE})settled in",
        "lives in",
        change=True,
    ),
    _rule(rf"works? (?:at|for)|(?:{_BE}) working (?:at|for)|(?:{_BE}) employed (?:by|at)", "works at"),
    _rule(
        rf"(?:{_DONE})joined|(?:{_DONE})started (?:working )?(?:at|for)|took a job (?:at|with)|got a job (?:at|with)|"
        r"began working (?:at|for)",
        "works at",
        change=True,
    ),
    _rule(rf"(?:{_BE}) called|(?:{_BE}) named|goes by", "name"),
    _rule(
        rf"(?:{_DONE_TO})renamed(?: to| as)?|changed (?:its|her|his|their|my) name to", "name", change=True
    ),
    _rule("reports? to", "manager"),
    _rule(rf"costs|(?:{_BE}) priced at", "price"),
    _rule("weighs?", "weight"),
    _rule(
        rf"(?:{_BE}) planning(?= an? (?:[\w-]+ )?(?:trip|holiday|vacation|journey|wedding|visit|party|move)\b)",
        "is planning",
    ),
    _rule(rf"(?:{_DONE})turned", "age", change=True),
    _rule(rf"(?:{_BE}) married to|(?:{_BE}) engaged to|(?:has |have )?married|got married to", "married to"),
    _rule(rf"(?:{_BE}) due(?: on| by| at)?", "deadline"),
    _rule(rf"(?:{_BE}) (?:scheduled|planned) for|(?:{_BE}) set for|takes? place on", "scheduled for"),
    _rule(
        rf"(?:{_DONE_TO})(?:postponed|rescheduled|pushed back|brought forward|delayed) to",
        "scheduled for",
        change=True,
    ),
    _rule("(?:starts?|begins?) (?:at|on)", "starts at"),
    _rule("(?:ends?|finishes) (?:at|on)", "ends at"),
    _rule("(?:leaves?|departs?) (?:at|on)", "leaves at"),
    _rule("arrives? (?:at|on)", "arrives at"),
    _rule("opens? at", "opens at"),
    _rule("closes? at", "closes at"),
    _rule("renews? on", "renews on"),
    _rule("expires? (?:on|in)", "expires on"),
    _rule("meets? (?:at|in)|takes? place (?:at|in)", "meets at"),
    _rule(rf"(?:{_BE}) (?:located|hosted|headquartered|situated|deployed) (?:in|at|on)", "location"),
    _rule(rf"(?:runs?|(?:{_BE})) (?:on )?version", "version"),
    _rule(rf"(?:{_BE}) sent to", "sent to"),
    _rule("(?:was|were) promoted to|(?:has|have) been promoted to", "job title", change=True),
    _rule("(?:was|were) born on", "birthday"),
    _rule(r"(?:was|were) born in(?= \d{4}$)", "birth year"),
    _rule("(?:was|were) born in", "birthplace"),
    _rule("lived in", "lived in", past=True),
    _rule("worked (?:at|for)", "worked at", past=True),
)

#: Verbs whose objects stand beside each other, with the form they are kept in.
MANY_VERBS: dict[str, str] = {
    "like": "likes", "love": "loves", "enjoy": "enjoys", "prefer": "prefers", "hate": "hates", "dislike": "dislikes",
    "know": "knows", "speak": "speaks", "use": "uses", "own": "owns", "play": "plays", "drink": "drinks", "eat": "eats",
    "drive": "drives", "study": "studies", "teach": "teaches", "support": "supports", "collect": "collects",
    "manage": "manages", "maintain": "maintains", "wear": "wears", "follow": "follows", "sell": "sells",
    "smoke": "smokes", "watch": "watches", "run": "runs", "lead": "leads", "subscribe to": "subscribes to",
    "practise": "practises", "practice": "practises", "attend": "attends", "take": "takes",
}  # fmt: skip


def _inflected(base: str) -> list[str]:
    """drink, drinks, drinking: how a verb appears in "drinks", "stopped drinking", "does not drink"."""
    first, _, rest = base.partition(" ")
    third = MANY_VERBS[base].split(" ")[0]
    stem = first[:-1] if first.endswith("e") and not first.endswith("ee") else first
    doubled = stem + stem[-1] if first in {"run"} else stem
    return [" ".join(filter(None, (form, rest))) for form in (first, third, doubled + "ing")]


FORM_OF: dict[str, str] = {form: MANY_VERBS[base] for base in MANY_VERBS for form in _inflected(base)}
FORM_OF |= dict.fromkeys(("living in", "live in", "live at"), "lives in")
FORM_OF |= dict.fromkeys(("working at", "working for", "work at", "work for"), "works at")
FORM_OF["report to"] = "manager"
_FORMS = "|".join(sorted(map(re.escape, FORM_OF), key=len, reverse=True))

MANY = re.compile(rf"^(?P<s>[^,;:]{{1,80}}?) (?P<v>{_FORMS}) (?P<o>\S.*)$")
NO_LONGER = re.compile(
    rf"^(?P<s>[^,;:]{{1,80}}?) (?:no longer|(?:does|do) not any ?(?:more|longer)) (?P<v>{_FORMS}) (?P<o>\S.*)$"
)
ANY_MORE = re.compile(
    rf"^(?P<s>[^,;:]{{1,80}}?) (?:does|do) not (?P<v>{_FORMS}) (?P<o>\S.*?) (?:any ?more|any longer)$"
)
STOPPED = re.compile(
    rf"^(?P<s>[^,;:]{{1,80}}?) (?:has |have )?(?:stopped|quit|gave up|given up) (?P<v>{_FORMS}) (?P<o>\S.*)$"
)
LEFT_JOB = re.compile(
    r"^(?P<s>[^,;:]{1,80}?) (?:has |have )?(?:left|quit|resigned from) (?P<o>[A-Z]\S*(?: [A-Z]\S*)*)$"
)
IS_NO_LONGER = re.compile(
    r"^(?P<s>[^,;:]{1,80}?) (?:(?:is|are|am) no longer|(?:is|are|am) not (?P<o2>\S.*?) any ?more) ?(?P<o>\S.*)?$"
)
DOES_NOT = re.compile(rf"^(?P<s>[^,;:]{{1,80}}?) (?:does|do) not (?P<v>{_FORMS}) (?P<o>\S.*)$")
IS_NOT = re.compile(r"^(?P<s>[^,;:]{1,80}?) (?:is|are|am) not (?P<o>\S.*)$")

#: "I have two cats called Miso and Tofu": of what one has for years; meetings and headaches are had for hours.
HAS = re.compile(
    r"^(?P<s>[^,;:]{1,80}?) (?:has|have) (?P<o>(?:an?|one|two|three|four|five|six|\d+) (?:[\w-]+ )?"
    r"(?:cats?|dogs?|horses?|rabbits?|parrots?|pets?|kids?|child(?:ren)?|sons?|daughters?|brothers?|sisters?|twins|"
    r"allerg(?:y|ies)|degree|diploma|licen[cs]e)\b.*)$"
)

#: X switched from A to B; X replaced A with B.
SWITCHED = re.compile(
    r"^(?P<s>[^,;:]{1,80}?) (?:has |have )?(?:switched|upgraded|migrated|changed|moved|went|converted|transferred)"
    r"(?: over)? from (?P<old>[^,;]{1,60}?) to (?P<new>[^,;]{1,60})$"
)
REPLACED = re.compile(
    r"^(?P<s>[^,;:]{1,80}?) (?:has |have )?(?:(?:replaced|swapped out) (?P<old>[^,;]{1,60}?) (?:with|by)|"
    r"swapped (?P<old2>[^,;]{1,60}?) for) (?P<new>[^,;]{1,60})$"
)

_SHIFTED = (
    "changed|moved|raised|lowered|increased|decreased|reduced|cut|extended|postponed|delayed|pushed back|pushed|"
    "brought forward|shortened|updated|set|rescheduled|bumped|upgraded|adjusted|doubled|shifted"
)
#: "The rate limit was raised to 250", "our rent went up to 1,240".
SHIFTED = re.compile(
    rf"^(?P<np>[^,;:]{{1,100}}?) (?:(?:has|have) been|was|were|got|has|have) (?:{_SHIFTED})"
    r"(?: from (?P<old>[^,;]{1,60}?))? to (?P<o>\S.*)$"
    r"|^(?P<np2>[^,;:]{1,100}?) (?:has |have )?(?:went up|gone up|went down|"
    r"rose|risen|dropped|fell|grew|climbed|increased|"
    r"changed)(?: from (?P<old2>[^,;]{1,60}?))? to (?P<o2>\S.*)$"
)
#: "We moved the stand-up to 9:30", "Lumen moved its headquarters to Bergen", "Amira changed her major to chemistry".
SHIFTS = re.compile(
    rf"^(?P<s>[^,;:]{{1,60}}?) (?:has |have )?(?:{_SHIFTED})(?: up| down| back)? (?P<own>the|its|her|his|their|my|our) "
    r"(?P<np>[^,;:]{1,60}?)(?: from (?P<old>[^,;]{1,60}?))? to (?P<o>\S.*)$"
)

#: "Rosa Diaz became CEO of Vantage", "Team Otter is the owner of the search service", "Maria is Globex's CEO".
HOLDS = re.compile(
    r"^(?P<o>[A-Z][^,;:]{0,60}?) (?:(?P<is>is)|became|was appointed|"
    r"has become|has been appointed|was named|took over as)"
    r"(?: the)?(?: new)? (?P<attribute>[\w -]{1,40}?) (?:of|for) (?P<s>[^,;:]{1,60})$"
)
HOLDS_OWNED = re.compile(
    r"^(?P<o>[A-Z][^,;:']{0,60}?) (?:(?P<is>is)|"
    r"became) (?P<s>[A-Z][^,;:]{0,60}?)'s?(?: new)? (?P<attribute>[\w -]{1,40})$"
)
#: "Mike is my boss"
HOLDS_MINE = re.compile(
    r"^(?P<o>(?!(?:My|Our|The|This|That|It|He|She|They|We|I)\b)[A-Z][^,;:']{0,60}?) is (?P<s>my|our)(?: new)? "
    r"(?P<attribute>[\w -]{1,40})$"
)

COPULA = re.compile(r"^(?P<np>[^;:]{1,100}?) (?:is|are|am) (?P<o>\S.*)$")
#: A state that was reached: "was delivered", "has been paid", "has shipped".
REACHED = re.compile(
    r"^(?P<np>[^;:]{1,100}?) (?:was|were|has been|have been|has|have|got) (?P<o>[a-z][a-z ]{2,20})$"
)
DOSE = re.compile(
    r"^(?P<s>[^,;:]{1,60}?) takes? (?P<o>\d[\d.,]* ?(?:mg|g|ml|mcg|µg|"
    r"units?|pills?|tablets?|drops?)) of (?P<what>[\w -]{2,40})$"
)

ROLES = frozenset(
    "engineer manager developer designer analyst director teacher nurse doctor lawyer consultant accountant intern lead"
    " architect scientist officer president assistant editor chef administrator technician programmer researcher"
    " professor pilot driver electrician plumber salesman salesperson representative specialist coordinator supervisor"
    " recruiter journalist writer photographer librarian mechanic pharmacist dentist therapist clerk cashier waiter"
    " foreman producer strategist planner buyer controller auditor partner associate principal surgeon veterinarian"
    " carpenter baker butcher head".split()
)
#: What joins a person without employing them.
NOT_EMPLOYERS = frozenset(
    "club team call meeting gym class church choir board band group channel server army navy party union league course"
    " chat conversation discussion programme program project facebook twitter instagram linkedin discord slack reddit"
    " tiktok whatsapp telegram zoom signal mastodon bluesky us them me him her".split()
)
#: Behind the object: when, why, with whom. What holds for a few days only was screened out before.
ADJUNCT = re.compile(
    r",? (?:mostly\b.*|(?:because|since|so that|due to|thanks to|after|before|when|"
    r"where|which|who|as|although|though|with (?:my|his|"
    r"her|their|our)|for (?:work|good|love|family|reporting|study|her job|his job|my job|a new job)|together with|"
    r"in order to|despite)\b.*"
    r"|(?:last|next|this) (?:week|weekend|month|year|quarter|spring|summer|autumn|fall|winter|\w+day)"
    r"|yesterday|today|(?:a|an|one|two|three|four|five|\d+|a few|some|several)"
    r" (?:days?|weeks?|months?|years?) ago"
    r"|(?:in|on|since|from|as of|starting|effective|until) (?:early |late |mid-?|the )?"
    r"(?:\d{1,2}(?:st|nd|rd|th)? (?:of )?)?(?:jan(?:uary)?|feb(?:ruary)?|"
    r"mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|"
    r"sep(?:tember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?|spring|summer|autumn|fall|winter|(?:mon|tues|wednes|thurs|fri|"
    r"satur|sun)day)(?: \d{1,2}(?:st|nd|rd|th)?)?,?(?: \d{4})?"
    r"|(?:in|since|from|until) \d{4}|on \d{4}-\d{2}-\d{2})$",
    re.I,
)
#: Who is somewhere for a while only.
PEOPLE = frozenset(
    "family team kids children friends parents wife husband brother sister son daughter mother father mom dad mum boss"
    " colleague colleagues teammates guys dog cat boyfriend girlfriend partner crew group"
    " people friend boys girls".split()
)
#: "on the cards" is nowhere.
IDIOMS = re.compile(
    r"^(?:(?:on|in|at|by|under|behind) (?:the )?(?:cards|same page|way|road|"
    r"go|mend|rise|move|works|making|zone|mood|loop|"
    r"moment|edge|top|bottom|end|heart|track|time|fire|point|risk|love|trouble|charge|need|shape|stock|place|order|doubt|"
    r"control|pressure|construction|way up|right track|look-?out|verge|spot|"
    r"test|other hand|clock|case|sale|offer|purpose)"
    r"\b.*|in (?:a|an) .*|on (?:a|an) .*)$",
    re.I,
)
#: In an object these make it a clause, or talk.
IN_OBJECT = re.compile(
    r"^to$|\b(?:I|you|your|he|she|it|they|we|me|us|him|her|them|their|how|what|is|are|was|were|am|these|"
    r"those|so|because|makes?|made|though)\b| [-–—] |[–—]"
)
#: "I like the idea" likes what was just said, and means nothing tomorrow.
TALK = re.compile(
    r"\b(?:ideas?|suggestions?|recommendations?|tips|advice)\b|^(?:the|that|"
    r"this|its?)? ?(?:sound|plan|approach|option|look|"
    r"thought|concept|results?|mix)\b",
    re.I,
)
#: Of these everybody has several, for different things: "my budget" of a trip is not that of a flat.
SEVERAL = frozenset(
    "budget plan schedule price deadline limit goal score time date room code cost fee rate"
    " period order flight seat stage"
    " phase appointment".split()
)

"""Of whom or what a sentence speaks, and what it says of that: a name for many wordings.

First person is the speaker; other pronouns are nobody, because guessing whom they mean makes facts about the wrong
person. "A dog", "everybody" and "Ana and Bob" are no single subject either.

`read_predicate` takes what rules read or what a caller wrote ("works_at", "employer", "hasEmail") and gives its key,
its kind and what its values look like. A kind decides what a newer value does: `single` replaces the older,
`many` stands beside it, `other` replaces it only when the sentence says that something changed.

Tables and string work; it knows no sentence (see reader.py) and no memory.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum

from recollect.text.word_lists import GIVEN_NAMES, is_common


class Kind(StrEnum):
    """How many values a predicate has at one time."""

    SINGLE = "single"
    MANY = "many"
    OTHER = "other"


@dataclass(frozen=True, slots=True, kw_only=True)
class Predicate:
    """A predicate by its key. `value` names the form its values have, "" for any."""

    key: str
    kind: Kind
    value: str = ""


def _words(text: str) -> list[str]:
    return [word.strip() for word in text.split(",")]


#: Wordings of verbs, by key. Callers write them, too, so each stands here in its plain form.
_VERBS: dict[str, str] = {
    "lives in": "live in, lives in, living in, resides in, residence, home city, city of residence, hometown, based in,"
    " is based in, moved to, relocated to, settled in, lives at, place of residence",
    "works at": "work at, works at, works for, work for, working at, working for, employed by, is employed by,"
    " employed at, employer, joined, company, workplace",
    "age": "age, aged, years old, turned",
    "height": "height, tall",
    "weight": "weight, weighs",
    "price": "price, costs, cost, priced at, is priced at",
    "name": "name, called, is called, named, is named, renamed to, goes by",
    "manager": "manager, reports to, boss, supervisor, line manager",
    "deadline": "deadline, due, due on, due by, is due on, is due, due date",
    "marriage": "married to, is married to, spouse, husband, wife, engaged to, marital status, divorced from",
    "version": "version, runs on version, on version, version number",
    "location": "location, located in, is located in, located at, hosted in, headquartered in, place",
    "status": "status, state",
    "diet": "diet",
    "grade": "grade",
    "scheduled for": "scheduled for, planned for, takes place on, launch date, release date",
    "starts at": "starts at, start at, begins at, start time",
    "ends at": "ends at, end time, finishes at",
    "leaves at": "leaves at, departs at, departure, departure time",
    "arrives at": "arrives at, arrival, arrival time",
    "opens at": "opens at",
    "closes at": "closes at",
    "renews on": "renews on, renewal date, renews",
    "expires on": "expires on, expiry date, expiration date, expires",
    "meets at": "meets at, takes place at, takes place in, held in, held at",
    "time": "time, at time",
    "day": "day, on day",
    "birthday": "birthday, birthdate, birth date, date of birth, born on",
    "birthplace": "birthplace, born in, place of birth",
    "sent to": "sent to",
    "email": "email, email address, mail address, e mail, e mail address",
    "phone": "phone, phone number, telephone, telephone number, number, tel",
    "mobile phone": "mobile, mobile number, mobile phone, cell, cell number, cell phone, mobile phone number",
    "address": "address, postal address",
    "job title": "job title, title, role, position, job, occupation, profession",
    "ceo": "ceo, chief executive, chief executive officer",
    "time zone": "time zone, timezone",
    "headquarters": "headquarters, hq, head office",
    "capital": "capital, capital city",
    "last name": "last name, surname, family name",
}
_KEY_OF = {wording: key for key, wordings in _VERBS.items() for wording in _words(wordings)}

#: What the values of a key look like; checked before a value replaces another.
_VALUES: dict[str, str] = {
    "lives in": "place", "works at": "organisation", "age": "number", "height": "number", "weight": "number",
    "price": "number", "deadline": "time", "scheduled for": "time", "starts at": "time", "ends at": "time",
    "leaves at": "time", "arrives at": "time", "opens at": "time", "closes at": "time", "renews on": "time",
    "expires on": "time", "time": "clock", "day": "time", "birthday": "time", "email": "email", "phone": "phone",
    "mobile phone": "phone", "manager": "name", "ceo": "name", "version": "number", "grade": "",
}  # fmt: skip

#: Nouns that have one value per owner, with the form of the value.
_NOUNS: dict[str, str] = {
    "number": "price cost fee rent rate budget salary wage income limit quota threshold timeout size length width depth"
    " capacity period interval duration dose dosage pressure temperature balance score discount height weight age"
    " population port ratio speed deposit",
    "time": "deadline date birthday expiry appointment",
    "name": "ceo cto cfo coo chairman chairwoman chairperson chair president mayor minister head lead leader captain"
    " coach manager boss supervisor owner maintainer editor principal landlord husband wife spouse surname fiancé"
    " fiancée successor chancellor",
    "email": "email",
    "phone": "phone",
    "": "address password passcode pin code title role position rank status state stage phase"
    " version branch url website"
    " domain hostname region currency language zone timezone locale theme plan tier capital provider insurer"
    " headquarters hq location hometown major grade hours schedule time name nickname username handle diet teacher"
    " contact seat desk room colour color motto slogan",
}
_NOUN_VALUE = {noun: form for form, nouns in _NOUNS.items() for noun in nouns.split()}
#: Two words whose second alone would say too much or too little.
_MANY_NOUNS = frozenset(
    "friend child son daughter sister brother sibling cousin aunt uncle colleague coworker hobby interest skill pet dog"
    " cat car bike goal allergy customer client member project feature problem issue book song film movie sport game"
    " language_spoken student employee partner supplier vendor competitor brand product tool child's grandchild"
    " grandson granddaughter nephew niece neighbour neighbor favourite favorite hero".split()
)

_MANY_VERBS = frozenset(
    "likes loves enjoys prefers hates dislikes knows speaks uses owns has visited plays drinks"
    " eats drives reads studies"
    " teaches wants needs supports collects follows watches sells makes builds writes sings"
    " runs manages leads maintains"
    " bought adopted includes offers knows_how_to is_allergic_to allergic_to attended met mentions likes_to has_child"
    " has_children".split()
)

#: Words before a noun that do not make it another thing.
NEW_WORDS = frozenset({"new", "current", "present", "latest", "updated"})
#: ... and those that make it a thing of another time, or none at all.
OTHER_TIMES = frozenset(
    "old former previous ex past original earlier first temporary interim acting provisional"
    " future next upcoming planned"
    " proposed expected second third other another additional alternative backup dream ideal hypothetical likely"
    " possible preliminary tentative".split()
)
_SPELLINGS = {
    "favorite": "favourite",
    "color": "colour",
    "e-mail": "email",
    "center": "centre",
    "mail": "email",
}
_TASTES = ("favourite", "preferred")


def read_predicate(predicate: str) -> Predicate:
    """The key, kind and form of a predicate, as rules or callers write it."""
    words = _split(predicate)
    text = " ".join(words)
    for candidate in (text, text.removeprefix("is "), text.removeprefix("has "), text.removesuffix(" is")):
        if candidate in _KEY_OF:
            return _single(_KEY_OF[candidate])
    if text.removeprefix("has ").replace(" ", "_") in _MANY_VERBS or (words and words[0] in _MANY_VERBS):
        return Predicate(key=text, kind=Kind.MANY)
    if words and words[0] in {"has", "is"} and len(words) > 1 and words[-1] in _NOUN_VALUE:
        words = words[1:]
    return _noun_phrase(words)


def _single(key: str) -> Predicate:
    return Predicate(key=key, kind=Kind.SINGLE, value=_VALUES.get(key, ""))


def _noun_phrase(words: list[str]) -> Predicate:
    """An attribute: its last word says what it is, the words before it which."""
    words = [word for word in words if word not in NEW_WORDS]
    if not words:
        return Predicate(key="", kind=Kind.OTHER)
    text = " ".join(words)
    # "work email address" is the "work email"; "billing address" stays what it is.
    for size in range(min(3, len(words)), 0, -1):
        tail = " ".join(words[-size:])
        if tail in _KEY_OF and len(words) > size:
            inner = _single(_KEY_OF[tail])
            return Predicate(key=" ".join([*words[:-size], inner.key]), kind=Kind.SINGLE, value=inner.value)
    if any(word in _TASTES for word in words[:-1]):
        return Predicate(key=text, kind=Kind.SINGLE)
    head = words[-1]
    if head in _MANY_NOUNS or head.removesuffix("s") in _MANY_NOUNS:
        return Predicate(key=text, kind=Kind.MANY)
    if head in _NOUN_VALUE:
        return Predicate(key=text, kind=Kind.SINGLE, value=_NOUN_VALUE[head])
    return Predicate(key=text, kind=Kind.OTHER)


def wordings(predicate: str) -> list[str]:
    """Other words for the same predicate."""
    return _words(_VERBS.get(read_predicate(predicate).key, "")) if predicate else []


def is_attribute(noun_phrase: str) -> bool:
    """Whether a noun phrase such as "session timeout" names something with one value at a time."""
    return read_predicate(noun_phrase).kind is Kind.SINGLE


def _split(predicate: str) -> list[str]:
    """Words of `works_at`, `worksAt`, "Works at"; spelled in one way."""
    spaced = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", predicate.replace("_", " "))
    plain = re.sub(r"\be[- ]mail\b", "email", spaced.casefold())
    words = plain.replace("-", " ").replace("’", "'").split()
    return [_SPELLINGS.get(word, word) for word in words if word not in {"the", "a", "an"}]


MAX_SUBJECT_WORDS = 7
_PARTICLES = frozenset({"de", "van", "von", "da", "della", "of", "and", "für", "del", "la"})
_NOBODY = re.compile(
    r"^(?:he|she|it|they|this|that|these|those|there|here|one|you|who|which|what|someone|somebody|everyone|everybody|"
    r"anyone|anybody|people|some|many|most|all|any|every|each|no|several|few|both|another|other|others|a|an|his|her|"
    r"its|their|your|two|three|four|five|if|when|because|since|as|though|although|for|in|on|at|to|of|with|not)\b",
    re.I,
)
_SUBJECT_VERBS = re.compile(
    r"\b(?:is|are|was|were|am|be|been|has|have|had|do|does|did|can|to|that|who|which|and|or|but|then|than)\b"
)
#: In the middle of a noun phrase these make it a clause.
_INSIDE = re.compile(
    r"\b(?:I|me|my|you|your|us|it|we|he|she|they|him|them|this|both|all|not|"
    r"time|like|sounds|looks|feels|seems)\b"
)
_FAMILY = re.compile(
    r"^(?:[Mm]y|[Oo]ur) (?:[a-z-]+ )?(?:sister|brother|son|daughter|wife|"
    r"husband|mother|father|mum|mom|dad|friend|boss|manager|"
    r"colleague|neighbou?r|cousin|aunt|uncle|dog|cat|partner|girlfriend|boyfriend|client|customer|teacher|niece|nephew|"
    r"roommate|flatmate|grandmother|grandfather),? (?P<name>(?:[A-Z][\w'-]*)(?: [A-Z][\w'-]*)*)$"
)


def read_subject(phrase: str, speaker: str | None) -> str | None:
    """The subject a noun phrase means, without its article; None when it is not one certain thing."""
    phrase = phrase.strip(" ,")
    if phrase in {"I", "i", "me", "myself"}:
        return speaker
    if phrase.casefold() in {"we", "us"}:
        return "we"
    if (
        not phrase
        or len(phrase.split()) > MAX_SUBJECT_WORDS
        or _SUBJECT_VERBS.search(phrase)
        or re.search("[,;:()]", phrase)
    ):
        return None
    if _INSIDE.search(" ".join(phrase.split()[1:])):
        return None
    named = _FAMILY.match(phrase)
    if named:
        return named["name"]
    own = re.match(r"(?:my|mine) (?P<rest>.+)$", phrase, re.I)
    if own:
        return f"{speaker}'s {_bare(own['rest'])}" if speaker else None
    if re.match(r"our ", phrase, re.I):
        return "our " + _bare(phrase[4:])
    article = re.match(r"the (?P<rest>.+)$", phrase, re.I)
    if article:
        return _bare(article["rest"])
    if _NOBODY.match(phrase):
        return None
    return phrase


def is_named(phrase: str) -> bool:
    """Whether a subject is a bare name: somebody, rather than "the office"."""
    words = phrase.split()
    return (
        phrase == "I"
        or (
            bool(words)
            and words[0].casefold() not in {"the", "my", "our"}
            and all(word[:1].isupper() or word in _PARTICLES for word in words)
            and not any(character.isdigit() for character in phrase)
        )
        or bool(_FAMILY.match(phrase))
    )


def _bare(phrase: str) -> str:
    words = phrase.split()
    while len(words) > 1 and words[0].casefold() in NEW_WORDS:
        words = words[1:]
    return " ".join(words)


def subject_key(subject: str) -> str:
    """A subject folded for comparison: case, article and hyphens do not matter, every other word does."""
    plain = subject.casefold().replace("’", "'").replace("-", " ").replace("s' ", "s's ")
    words = re.findall(r"[^\W_]+(?:[.'/#@+][^\W_]+)*", plain)
    return " ".join(words[1:] if len(words) > 1 and words[0] == "the" else words)


def spellings(subject: str) -> list[str]:
    """How a subject may be written in the store: the index compares letter by letter."""
    bare = re.sub(r"^the\s+", "", " ".join(subject.split()), flags=re.I)
    cases = {
        bare,
        bare.lower(),
        bare.upper(),
        bare.title(),
        bare[:1].upper() + bare[1:],
        bare[:1].lower() + bare[1:],
    }
    cases |= {case.replace("-", " ") for case in cases}
    return sorted(cases | {f"the {case}" for case in cases} | {f"The {case}" for case in cases} | {subject})


def is_certain(phrase: str) -> bool:
    """Whether a subject is one thing for sure: a name, "the ...", "my ...", or something with a number.

    The first word of a sentence has a capital whatever it is: "Sounds like fun" is not about Sounds.
    """
    words = phrase.split()
    if not words or phrase in {"I", "We", "we"}:
        return bool(words)
    if words[0].casefold() in {"the", "my", "our"} or any(character.isdigit() for character in phrase):
        return True
    if not all(word[:1].isupper() or word in _PARTICLES or word.endswith("'s") for word in words):
        return False
    first = words[0].casefold().removesuffix("'s")
    return len(words) > 1 or first in GIVEN_NAMES or not is_common(first)

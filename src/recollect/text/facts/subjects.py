"""Of whom or what a sentence speaks.

First person is the speaker; other pronouns are nobody, because guessing whom they mean makes facts about the wrong
person. "A dog", "everybody" and "Ana and Bob" are no single subject either.
"""

from __future__ import annotations

import re

from recollect.text.facts.predicates import NEW_WORDS
from recollect.text.word_lists import GIVEN_NAMES, is_common

MAX_SUBJECT_WORDS = 7
_PARTICLES = frozenset({"de", "van", "von", "da", "della", "of", "and", "für", "del", "la"})
_NOBODY = re.compile(
    r"^(?:he|she|it|they|this|that|these|those|there|here|one|you|who|which|what|someone|somebody|everyone|everybody|"
    r"anyone|anybody|people|some|many|most|all|any|every|each|no|several|few|both|another|other|others|a|an|his|her|"
    r"its|their|your|two|three|four|five|if|when|because|since|as|though|although|for|in|on|at|to|of|with|not)\b",
    re.I,
)
_VERBS = re.compile(
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
        or _VERBS.search(phrase)
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

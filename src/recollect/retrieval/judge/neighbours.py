"""Whether a memory is about the neighbour of what a question asks: another number, another of a kind, another's thing.

Such a memory has everything of the question but the word that matters, so it is near by every other measure. What is
asked for with yes or no is left alone: "we moved to staging" answers "do we deploy to production?".
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from recollect.domain.query import Aim, Want
from recollect.retrieval.judge.evidence import Candidate, is_other_number
from recollect.text.families import kinds_in
from recollect.text.word_lists import is_common

#: Whose something is: "my passport", "Paula's blue bag", "the neighbours' dog".
_OWNED = re.compile(
    r"\b(?P<owner>my|our|his|her|their|your|[^\W\d_]+(?:['’]s|s['’]))\s+"
    r"(?P<thing>[^\W\d_][\w-]*(?:\s+[^\W\d_][\w-]*){0,2})",
    re.IGNORECASE,
)
_POSSESSIVE = re.compile(r"(?:['’]s|['’])$")
_OWN = frozenset({"my", "our", "user"})
_SOMEBODY = frozenset({"his", "her", "their", "your"})
#: What looks like an owner and is none: "what's the code", "today's menu", "nobody's contract".
_NO_OWNER = frozenset(
    "it that what who where there here he she let how when this today tomorrow yesterday tonight day week month year "
    "nobody somebody someone anyone anybody everyone everybody".split()
)
#: Where the name of a thing ends: "my passport is", "Tom's birthday on".
_ENDS = frozenset(
    "is are was were has have had will and or but in on at of for to from with the a an who what when where that this "
    "do does did not no be been own now still just really getting got going gone off so then than too".split()
)
#: A memory of the asker's own, whoever of them "the user" is.
_OWN_WORDS = re.compile(r"\b(?:my|our|the user)\b", re.IGNORECASE)


def is_next_door(question: str, aim: Aim, candidate: Candidate) -> bool:
    """Whether a memory is about another one of what a question names."""
    if is_other_number(question, candidate.text):
        return True
    if aim.want is Want.YES_NO:
        return False
    return is_another_kind(question, candidate) or is_anothers(question, candidate)


def is_another_kind(question: str, candidate: Candidate) -> bool:
    """Whether a memory names another of the one kind that is asked about, and not that one, nor the turn before it."""
    asked = {family: words for family, words in kinds_in(question).items() if len(words) == 1}
    if not asked:
        return False
    named, at_hand = kinds_in(candidate.text), kinds_in(candidate.statement)
    return any(
        family in named and not words & (named[family] | at_hand.get(family, frozenset()))
        for family, words in asked.items()
    )


def is_anothers(question: str, candidate: Candidate) -> bool:
    """Whether a memory says of somebody's thing what is asked of the same thing of somebody else.

    Owners are compared by name with names and by relation with relations: Rosalind may be mum, but is not Tom.
    """
    told = list(_owned(candidate.text))
    for owner, things in _owned(question):
        owners = [other for other, others in told if things & others]
        if not owners or owner in _SOMEBODY:
            continue
        if owner in _OWN:
            if candidate.own and not _OWN_WORDS.search(candidate.text) and _SOMEBODY.isdisjoint(owners):
                return True
        elif owner.casefold() not in f"{candidate.statement} {candidate.text}".casefold() and all(
            (other in _OWN and candidate.own)
            or (other not in _SOMEBODY and _is_name(other) == _is_name(owner))
            for other in owners
        ):
            return True
    return False


def _is_name(owner: str) -> bool:
    """Whether an owner is called by name, and not by what they are to somebody."""
    return owner[0].isupper() and not kinds_in(owner) and not is_common(owner.casefold())


def _owned(text: str) -> Iterator[tuple[str, frozenset[str]]]:
    """The owners that a text names, and the words of what is theirs."""
    for match in _OWNED.finditer(text):
        owner = _POSSESSIVE.sub("", match["owner"])
        folded = owner.casefold()
        words = match["thing"].casefold().split()
        end = next((place for place, word in enumerate(words) if word in _ENDS), len(words))
        if end and folded not in _NO_OWNER:
            yield folded if folded in _OWN | _SOMEBODY else owner, frozenset(words[:end])

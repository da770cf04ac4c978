"""What a question asks for, as far as its words show: the names in it, a quantity, a default.

`read_asked` reads a question, `has_number` and `names_a_default` say the same of a text that may answer it. Words
and patterns only, English ones; a question in another language has just its names. Used by `ranking.py`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from recollect.retrieval.rank.lexical import MAX_QUERY_TERMS
from recollect.text.terms import query_terms

_TOKEN = re.compile(r"[^\W_][\w.+#-]*")
# Written as nobody writes a plain word: camelCase, SNAKE or snake_case, ALLCAPS, letters with digits.
_ODD = re.compile(r"[^\W\d_][A-Z]|_|[A-Za-z]\d|-[A-Z]")
_SENTENCE_START = re.compile(r"(?:^|[.?!:;]['\"”)]*)\s*['\"“(]*$")

_QUANTITY = re.compile(
    r"\bhow (?:many|much|long|large|big|wide|slow|far|deep|old|often|close|near|alike|full|high|fast|small|early"
    r"|heavy|cold|frequently)\b"
    r"|\bwhat (?:is the )?(?:share|size|length|number|port|amount|limit|percentage|fraction|level)\b"
    r"|\b(?:largest|smallest|longest|greatest|maximum|minimum|upper bound|lower bound|at most|at least"
    r"|return code|which (?:\w+ )?port|at which column|last year)\b",
    re.IGNORECASE,
)
_NUMBER = re.compile(
    r"\d|\b(?:one|two|three|four|five|six|seven|eight|nine|ten|twelve|hundred|thousand|million|zero|half|third"
    r"|unlimited|infinite)\b",
    re.IGNORECASE,
)
_ASKS_DEFAULT = re.compile(
    r"\bdefaults?\b|\bout of the box\b|\bstock\b|\bfresh(?:ly)?\b|\binitially\b|\bnormally\b|\buntouched\b"
    r"|\bunless (?:i|we|you|it|told|changed|configured|otherwise)\b"
    r"|\b(?:don.t|do not|give no|leave out|omit) ?(?:specify|choose|ask|give|say|pass)?\b"
    r"|\b(?:when|if) (?:none|nothing|no \w+) (?:is|are)\b|\bleave .{0,20}(?:alone|out)\b",
    re.IGNORECASE,
)
_DEFAULT = re.compile(r"\bdefault", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A question's terms in order, which of them belong to names, and whether it wants a quantity or a default.

    There are no more terms than a match has bits for.
    """

    terms: tuple[str, ...]
    names: frozenset[str]
    quantity: bool
    default: bool


def read_asked(question: str) -> Asked:
    """Read a question."""
    return Asked(
        terms=tuple(query_terms(question)[:MAX_QUERY_TERMS]),
        names=names_in(question),
        quantity=_QUANTITY.search(question) is not None,
        default=_ASKS_DEFAULT.search(question) is not None,
    )


def names_in(question: str) -> frozenset[str]:
    """The terms of names: words that are capitalised inside a sentence, or written as only identifiers are."""
    found: set[str] = set()
    for token in _TOKEN.finditer(question):
        word = token.group().rstrip(".-")
        if word == "I":
            continue
        begins = _SENTENCE_START.search(question, 0, token.start()) is not None
        if _ODD.search(word) or (word[0].isupper() and not begins):
            found.update(query_terms(word))
    return frozenset(found)


def has_number(text: str) -> bool:
    """Whether the text says a number, in figures or words."""
    return _NUMBER.search(text) is not None


def names_a_default(text: str) -> bool:
    """Whether the text speaks of a default."""
    return _DEFAULT.search(text) is not None

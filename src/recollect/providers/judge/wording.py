"""How a memory is put before the judge: who said it, when, what, and what was said just before.

The judge was trained on exactly this wording (`training/`), so a change here asks for a new training.
"""

from __future__ import annotations

import re
from datetime import datetime

#: What the judge is told of a text, and of the turn before it: more is cut, since it reads some sixty tokens.
TEXT_CHARS = 280
BEFORE_CHARS = 70


#: A day that is asked for with "what", as in "what is Tom's birthday?"; not what only has the word in it, as in "what
#: is the birthday cake made of?".
_WHAT_DAY = re.compile(
    r"^(\W*)what(?P<verb>'s|’s| is| was)"
    r"(?= [^?]*\b(?:birthday|birth date|date of birth|anniversary|deadline|due date)\s*(?:\?|$|of\b|for\b))",
    re.IGNORECASE,
)


#: A question for whatever is known of something: what it is about says it all.
_ABOUT = re.compile(
    r"^\W*(?:please |so |and |ok |hey )?(?:(?:can|could) you )?(?:please )?"
    r"(?:tell me (?:more |everything |all |something |a bit )?about|what (?:do|did) (?:you|we|i) know (?:about|of|on)"
    r"|(?:give me |i need )?(?:an |the )?(?:overview|summary) (?:of|on)|summari[sz]e|anything (?:new )?(?:about|on)"
    r"|catch me up on|update me on|brief me on|remind me (?:about|of))\s+(?P<topic>\S.*?)[\s?.!]*$",
    re.IGNORECASE | re.DOTALL,
)


#: A mark that is repeated says no more than two of it, and would fill what a model reads of a question.
_RUN = re.compile(r"([^\w\s])\1{2,}")


def without_runs(question: str) -> str:
    """A question without long runs of the same mark."""
    return _RUN.sub(r"\1", question)


def asked(question: str) -> str:
    """A question as the judge reads it: a day is asked for with "when", and a topic by its name alone."""
    question = without_runs(question)
    about = _ABOUT.match(question)
    return about["topic"] if about else _WHAT_DAY.sub(r"\1When\g<verb>", question, count=1)


def statement(
    text: str, *, who: str | None = None, at: datetime | None = None, before: str | None = None
) -> str:
    """A memory as the judge reads it. `who` is "I" when the asker said it; `before` is the turn it replies to."""
    head = ", ".join(part for part in (who, f"{at:%b %Y}" if at is not None else None) if part)
    said = " ".join(text[:TEXT_CHARS].split())
    words = f"{head}: {said}" if head else said
    if before:
        words += f" (before: {' '.join(before[-BEFORE_CHARS:].split())})"
    return words

"""Whether a question wants all of something, or how many there are: what rows answer and one look does not.

Read from plain words alone. A question that is missed is answered as any other; one that is taken for dense by mistake
reads every section for nothing, so what is doubtful is not.
"""

from __future__ import annotations

import re

#: "Every month" says how often, not that all are wanted.
_HOW_OFTEN = re.compile(
    r"\b(?:each|every|all)\s+(?:single |other |second |the )?(?:second|minute|hour|morning|evening|night|day|week"
    r"|weekend|month|quarter|year|time|once)s?\b",
    re.IGNORECASE,
)
_ALL = re.compile(
    r"^\W*(?:please\s+|can you\s+|could you\s+)?(?:list|enumerate)\b"
    r"|\b(?:list|enumerate|name|give|show|find|collect|tell)\b[^.?!]{0,40}\b(?:all|every|each)\b"
    r"|\b(?:what|which|who)\s+(?:are|is|were)\s+(?:all|every|each)\b"
    r"|\b(?:all|every)\s+(?:of\s+)?(?:the\s+|my\s+|our\s+)?(?:[\w-]+\s+){1,4}(?:that|which|who|whose|where)\b",
    re.IGNORECASE,
)
#: "How many bytes does a name hold?" wants a quantity that is written somewhere; these want a count of things.
_COUNT = re.compile(
    r"\bhow many\b[^.?!]*\b(?:are there|exist|in all|in total|altogether|do we have|did we have|have we)\b"
    r"|^\W*(?:please\s+)?count\b|\bthe (?:total )?number of (?:all |different |distinct )",
    re.IGNORECASE,
)


def wants_rows(question: str) -> bool:
    """Whether every section or memory should be asked."""
    text = _HOW_OFTEN.sub("regularly", question[:600])
    return _ALL.search(text) is not None or _COUNT.search(text) is not None

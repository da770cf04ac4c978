"""What a question is after: one thing, all of a kind, a number, a comparison, yes or no, help with a task.

Read from the question's form alone. Its common words stay, all others become shapes ("xs" a plural, "Xx" a name), and
short runs of these are weighed by small linear models, which `training/aims.py` fits to the questions of the training
worlds. Some plain words need no weighing: "list all", "compare". What fits no form wants one thing, which is the safe
reading: a wider one only looks at more candidates and lets more of them through.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from recollect.domain.query import Aim, Want
from recollect.retrieval.understand.classify import ADVICE, EXPLORATION

#: The form of a question shows in its beginning.
_READ_CHARS, _READ_TOKENS = 600, 40
_TOKEN = re.compile(r"\w+(?:['’]\w+)?|[?!,:.;]")
#: Runs of so many words are looked up, and at the beginning longer ones.
_RUN, _FIRST_RUN = 3, 4
#: Endings that say what a word is, when it is none of the common ones.
_ENDINGS = (("s", 3), ("ed", 4), ("ing", 5))


def _words(*parts: str) -> re.Pattern[str]:
    return re.compile(r"(?<!\w)(?:" + "|".join(parts) + r")(?!\w)", re.IGNORECASE)


_PLAIN_COMPARISON = _words(r"compar(?:e|ed|ing|ison)", r"vs\.?", r"versus", r"differences? between")
_PLAIN_LIST = re.compile(
    r"^\W*(?:please )?(?:list|enumerate)\b|\b(?:all (?:the|of|my|our|their)|all \w+s|each|every(?:thing|body|one)?)\b",
    re.IGNORECASE,
)
#: "Every month" says how often, not that all are wanted.
_EVERY_PERIOD = re.compile(
    r"\b(?:each|every) (?:single |other |second )?(?:day|week|month|quarter|year|hour|morning|evening|night|time"
    r"|weekend|monday|tuesday|wednesday|thursday|friday|saturday|sunday)s?\b",
    re.IGNORECASE,
)
#: Two questions in one, which two memories may answer: "who decided it, and why?".
_TWO_PARTS = re.compile(r"\band (?:why|when|where|how|who|whom|what|which)\b", re.IGNORECASE)
_PLAIN_NUMBER = _words(r"how often", r"how many times", r"wie oft", r"combien de fois", r"cu[aá]ntas veces")
_PLAIN_TASK = re.compile(
    r"^\W*(?:please )?(?:tell (?!me\b)|schreib|buch|bestell|reservier|erstell|[ée]cri[st]|r[ée]serve|commande"
    r"|pr[ée]pare|reserva|escribe|compra|prepara|redacta|prenota|scrivi|boek|schrijf)[^?]*$",
    re.IGNORECASE,
)
#: "before" that asks what comes, not what was: "what must be done before Friday?".
_AHEAD = _words(
    r"before (?:monday|tuesday|wednesday|thursday|friday|saturday|sunday|tomorrow|next)", r"until when"
)
_YES_NO = re.compile(
    r"^\W*(?:so |and |ok |hey )?(?:is|are|am|was|were|do|does|did|can|could|has|have|had|will|would"
    r"|should|may|must)(?:n't)?\b",
    re.IGNORECASE,
)
_FIRST_PERSON = _words(
    r"i", r"i'm", r"i've", r"me", r"my", r"mine", r"myself", r"ich", r"mich", r"mir", r"meine?[nmrs]?", r"je",
    r"j'ai", r"moi",
    r"mon", r"ma", r"mes", r"yo", r"mi", r"mis", r"tengo", r"io", r"mio", r"mia", r"eu", r"meu", r"minha",
    r"ik", r"mijn",
)  # fmt: skip
_NAME = re.compile(r"(?<![.!?]\s)(?<!^)\b[A-Z][\w'’-]*(?: [A-Z][\w'’-]*)*")


def read_aim(query: str) -> Aim:
    """What a question is after."""
    text = _EVERY_PERIOD.sub("regularly", query[:_READ_CHARS].strip())
    form = frozenset(form_of(text, common_words()))
    want = _want(text, form)
    return Aim(
        want=want,
        past=_weight("past", form) > 0.0 and not _AHEAD.search(text),
        first_person=bool(_FIRST_PERSON.search(text)),
        topic=want is not Want.TASK and bool(EXPLORATION.search(text) or ADVICE.search(text)),
        sides=tuple(dict.fromkeys(_NAME.findall(text))) if want is Want.COMPARISON else (),
    )


def form_of(text: str, common: frozenset[str]) -> Iterator[str]:
    """The runs of words and shapes in a text, and how it begins."""
    tokens = _TOKEN.findall(text)[:_READ_TOKENS]
    shapes = ["^", *(_shape(token, common, first=not place) for place, token in enumerate(tokens)), "$"]
    for length in range(1, _RUN + 1):
        for start in range(len(shapes) - length + 1):
            yield " ".join(shapes[start : start + length])
    for length in range(1, _FIRST_RUN + 1):
        yield "^^ " + " ".join(shapes[1 : 1 + length])
    yield f"#{min(len(tokens) // 3, 6)}"


def _shape(token: str, common: frozenset[str], *, first: bool) -> str:
    word = token.casefold()
    if word in common:
        return word
    if token[0].isdigit():
        return "0"
    if token[0].isupper() and not first:
        return "Xx"
    endings = (f"x{end}" for end, least in _ENDINGS if word.endswith(end) and len(word) > least)
    return next(endings, "x")


def _want(text: str, form: frozenset[str]) -> Want:
    if _PLAIN_COMPARISON.search(text):
        return Want.COMPARISON
    task, several = _weight("task", form), _weight("several", form)
    if (task > 0.0 and task > several) or _PLAIN_TASK.match(text):
        return Want.TASK
    if _PLAIN_NUMBER.search(text):
        return Want.NUMBER
    if several > 0.0:
        kinds = (Want.ALL, Want.NUMBER, Want.COMPARISON)
        return max(kinds, key=lambda kind: _weight(kind.value, form))
    if _PLAIN_LIST.search(text) or _TWO_PARTS.search(text):
        return Want.ALL
    return Want.YES_NO if _YES_NO.match(text) else Want.ONE


def _weight(name: str, form: frozenset[str]) -> float:
    """How much a form speaks for something, beyond 0 where it does."""
    model = _models()["models"][name]
    weights: dict[str, float] = model["weights"]
    return float(model["bias"]) + sum(weights[part] for part in form if part in weights)


@cache
def common_words() -> frozenset[str]:
    """The words that stay as they are."""
    return frozenset(_models()["words"])


@cache
def _models() -> dict[str, Any]:
    found: dict[str, Any] = json.loads((Path(__file__).parent / "aim.json").read_text(encoding="utf-8"))
    return found

"""What a question is after: one thing, all of a kind, a number, a comparison, yes or no, help with a task.

Read from the question's form alone: how it begins, plurals, "or" between two names. Mostly English; the commonest words
of German, French and Spanish are known too. What fits no form wants one thing, which is the safe reading: a wider one
only looks at more candidates and lets more of them through.
"""

from __future__ import annotations

import re

from recollect.domain.query import Aim, Want
from recollect.retrieval.understand.classify import ADVICE, EXPLORATION

#: The form of a question shows in its beginning.
_READ_CHARS = 600


def _words(*parts: str) -> re.Pattern[str]:
    return re.compile(r"(?<!\w)(?:" + "|".join(parts) + r")(?!\w)", re.IGNORECASE)


_NUMBER = _words(
    r"how (?:many|often)", r"(?:the )?(?:total )?number of", r"count (?:all|the|of|how)", r"how many times",
    r"wie (?:viele|oft)", r"combien (?:de|d'|d’)\s?\w+", r"cu[aá]nt[ao]s", r"quantas? vezes", r"hoe vaak",
    r"hoeveel keer",
)  # fmt: skip
_COMPARISON = _words(
    r"compar\w+", r"vs\.?", r"versus", r"differences? between", r"which of the (?:two|three)",
    r"(?:more|less|fewer|rather|\w{3,}er) than", r"cheaper|dearer|cheapest", r"verg(?:leich|lichen)\w*", r"comparez?",
    r"como se comparan", r"m[aá]s (?:barat|car)\w+", r"billiger|teurer|g[uü]nstiger", r"moins ch[eè]re?",
    r"plus ch[eè]re?",
)  # fmt: skip
#: "Kerr or Highland Slate", "Juno or Piet?": two names, or two short phrases at the end.
_EITHER = re.compile(
    r"(?:\b[A-Z][\w'’-]+(?: [A-Z][\w'’-]+)?|\b(?:the|a|an|in|on|at) [\w' -]{2,30}?) or "
    r"(?:[A-Z][\w'’-]+|(?:the|a|an|in|on|at) \w+|\w+ \w+)",
)
_COMPARING = _words(
    r"which", r"who", r"whose", r"what", r"whether", r"did", r"is", r"was", r"were", r"are", r"\w+er", r"more",
    r"less",
)  # fmt: skip
_LIST = re.compile(
    r"^\W*(?:please |can you |could you |pls )*(?:list|enumerate|name|show (?:me )?|give me|tell me|get"
    r"|find|sum up|summari[sz]e)"
    r"\b.{0,40}?\b(?:all|every\w*|each|the \w+s|my \w+s|our \w+s|\w+s)\b"
    r"|^\W*(?:all|every|everything|everyone|everybody|anything|anyone|each)\b"
    r"|^\W*(?:list|enumerate)\b|\b(?:all (?:the |of |my |our |their )?\w+|every (?:single )?\w+|each (?:of|\w+))\b"
    r"|\btell me (?:all |everything )?about (?:my|our|the|all) \w+s\b|\bwhat (?:all|else)\b",
    re.IGNORECASE,
)
_FOREIGN_LIST = _words(
    r"alle", r"s[aä]mtliche", r"welche \w+(?:en|e|s)", r"liste", r"toutes? les?", r"tous les", r"quel(?:le)?s",
    r"todos? los",
    r"todas? las", r"cu[aá]les", r"qu[eé] \w+s", r"tutt[ie]", r"quali", r"quais", r"lista",
)  # fmt: skip
#: "Which books did we pick", "What allergies do I have", "Which inspections and tests do I have".
_PLURAL = re.compile(
    r"^\W*(?:so |and |ok |hey )?(?:which|what|whose)(?: (?:other|special|kinds? of|sorts? of|types? of"
    r"|of the|of our|of my))?"
    r" (?:(?!(?:is|are|was|were|do|does|did|has|have|had|can|will|size|kind|of|to"
    r"|the)\b)[\w'-]+ ){0,2}?(?P<noun>[a-z]{3,}s)\b",
    re.IGNORECASE,
)
#: Words that end in s and are one.
_SINGULAR = frozenset(
    """
    is was has does this its always address bus boss class glass business status process basis analysis
    diagnosis gas press dress access success progress campus virus lens pass plus us his news series species
    less across versus tennis chess mass loss cross focus bonus census canvas atlas illness witness princess
    hers theirs ours yours as days hours times dates kids works sales means thanks
    """.split()
)
_WHO_ALL = re.compile(
    r"^\W*who (?:all |else )?(?:in|on|of|from|at|among)\b.{2,40}?\b(?:has|have|had|is|are|was|were|can"
    r"|can't|cannot|needs?|likes?|works?)\b"
    r"|^\W*who (?:all )?(?:are|were|have)\b|^\W*who (?:has|had) (?:an? |any |some )?\w+(?:ies|s)\b",
    re.IGNORECASE,
)
_YES_NO = re.compile(
    r"^\W*(?:so |and |ok |hey )?(?:is|are|am|was|were|do|does|did|can|could|has|have|had|will|would"
    r"|should|may|must)(?:n't)?\b",
    re.IGNORECASE,
)
_TASK = re.compile(
    r"^\W*(?:please |pls |can you |could you |would you |kindly |go ahead and |i need you to |help me (?:to )?)*"
    r"(?:write|draft|book|order|reserve|prepare|plan|send|schedule|create|make|set up|remind|buy|arrange"
    r"|organi[sz]e|call|"
    r"text|e-?mail|reply|answer|update|fill|design|compose|generate|put|add|pack|cook|translate|print"
    r"|submit|cancel|invite|"
    r"tell (?!me\b)|explain to|inform|let \w+ know|confirm|check|pay|renew|pick|post|publish|announce"
    r"|suggest|recommend|"
    r"figure out|work out|calculate|estimate|fix|deploy|release|implement|configure|install|run|build"
    r"|review|ship|onboard|"
    r"get (?:me|us|the)|find (?:me|us) an?|give (?!me all)(?:\w+ )?an?|sort out|turn|decorate|choose|rent|hire|"
    r"schreib\w*|buch\w*|bestell\w*|reservier\w*|plane|erstell\w*|[ée]cri[st]\w*|r[ée]serve\w*"
    r"|commande\w*|pr[ée]pare\w*|"
    r"reserva|escribe|compra|prepara|pide|redacta|prenota|scrivi|boek|schrijf|bestel)\b",
    re.IGNORECASE,
)
_PAST = _words(
    r"before", r"used to", r"previous(?:ly)?", r"formerly", r"former", r"earlier", r"originally", r"initially",
    r"at first",
    r"back then", r"at the (?:start|beginning|time)", r"in the (?:past|beginning)", r"once", r"until", r"till",
    r"up to",
    r"prior to", r"no longer", r"the old", r"my old", r"our old", r"to begin with",
    r"started (?:out|off|on|with)", r"first",
    r"was (?:it|he|she|that) still", r"fr[uü]her", r"vorher", r"damals", r"zuerst", r"avant", r"auparavant", r"antes",
    r"al principio", r"prima", r"vroeger",
    r"in (?:the )?(?:early |late )?(?:spring|summer|autumn|fall|winter|january|february|march|april|may"
    r"|june|july|august|"
    r"september|october|november|december)",
    r"last (?:spring|summer|autumn|fall|winter|year|january|february|march|april|",
    r"may|june|july|august|september|october|november|december)",
)  # fmt: skip
#: "before" that asks what comes, not what was: "what must be done before Friday?".
_AHEAD = _words(
    r"before (?:monday|tuesday|wednesday|thursday|friday|saturday|sunday|tomorrow|next)",
    r"first name",
    r"until when",
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
    text = query[:_READ_CHARS].strip()
    want = _want(text)
    return Aim(
        want=want,
        past=bool(_PAST.search(text)) and not _AHEAD.search(text),
        first_person=bool(_FIRST_PERSON.search(text)),
        topic=want is not Want.TASK and bool(EXPLORATION.search(text) or ADVICE.search(text)),
        sides=_sides(text) if want is Want.COMPARISON else (),
    )


def _want(text: str) -> Want:
    if _COMPARISON.search(text) or (_EITHER.search(text) and _COMPARING.search(text)):
        return Want.COMPARISON
    if _NUMBER.search(text):
        return Want.NUMBER
    if _TASK.match(text) and not text.endswith("?"):
        return Want.TASK
    if _LIST.search(text) or _FOREIGN_LIST.search(text) or _WHO_ALL.search(text) or _asks_for_plural(text):
        return Want.ALL
    if _YES_NO.match(text):
        return Want.YES_NO
    return Want.ONE


def _asks_for_plural(text: str) -> bool:
    found = _PLURAL.match(text)
    return found is not None and found["noun"].casefold() not in _SINGULAR


def _sides(text: str) -> tuple[str, ...]:
    """The names a comparison speaks of."""
    return tuple(dict.fromkeys(_NAME.findall(text)))

"""What a question is after (one thing, all of a kind, a number, a comparison ...), by its form.

Read from the question's form alone (`forms`), by models that `training/aims.py` fits to the questions of the training
worlds. Some plain words need no weighing: "list all", "compare". What fits no form wants one thing, which is the safe
reading: a wider one only looks at more candidates and lets more of them through.

Whether a question wants all of something, or how many there are, which rows answer and one look does not, is read from
plain words alone. A question that is missed is answered as any other; one that is taken for dense by mistake reads
every section for nothing, so what is doubtful is not.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from recollect.domain.query import Aim, Want
from recollect.text.classify import ADVICE, EXPLORATION

#: The form of a text shows in its beginning.
_READ_TOKENS = 40
TOKEN = re.compile(r"\w+(?:['’]\w+)?|[?!,:.;]")
#: Runs of so many words are looked up, and at the beginning longer ones.
_RUN, _FIRST_RUN = 3, 4
#: Endings that say what a word is, when it is none of the common ones.
_ENDINGS = (("s", 3), ("ed", 4), ("ing", 5))


class FormModels:
    """Linear models over forms that share their common words."""

    def __init__(self, path: Path) -> None:
        stored = json.loads(path.read_text(encoding="utf-8"))
        self._words = frozenset(stored["words"])
        self._models: dict[str, dict[str, float]] = {
            name: model["weights"] for name, model in stored["models"].items()
        }
        self._bias: dict[str, float] = {name: model["bias"] for name, model in stored["models"].items()}

    def form(self, text: str) -> frozenset[str]:
        """The form of a text, for `weigh`."""
        return frozenset(form_of(text, self._words))

    def weigh(self, name: str, form: frozenset[str]) -> float:
        """How much a form speaks for something, beyond 0 where it does."""
        weights = self._models[name]
        # Exact, so that it does not depend on the order of a set, which differs from process to process.
        return self._bias[name] + math.fsum(weights[part] for part in form if part in weights)


def form_of(text: str, common: frozenset[str]) -> Iterator[str]:
    """The runs of words and shapes in a text, and how it begins."""
    tokens = TOKEN.findall(text)[:_READ_TOKENS]
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


#: How a form's weight becomes the share to which several are wanted: where it is even, and how steep. Of the questions
#: of all worlds with a weight of 0.5 two in five are lists, at 1.25 three, at 2 nine in ten.
_EVEN, _STEEP = 1.1, 1.7
#: The share where only "each", "all" or two questions in one speak for it: of such, a tenth are lists.
_MAYBE = 0.2
#: The form of a question shows in its beginning.
_READ_CHARS = 600


def _words(*parts: str) -> re.Pattern[str]:
    return re.compile(r"(?<!\w)(?:" + "|".join(parts) + r")(?!\w)", re.IGNORECASE)


_PLAIN_COMPARISON = _words(
    r"compar(?:e|ed|ing|ison)", r"vs\.?", r"versus", r"differences? between", r"by how much", r"de combien",
    r"um wie ?viel(?! uhr)", r"\w{3,}er\b[^?]*\bals", r"(?:más|menos|plus|moins|più|meno)\b[^?]*\b(?:o|ou)",
    r"\w*(?:和|跟|与)\w+哪\w*",
)  # fmt: skip
#: "List", "give me all", what there is of a kind, what each has, and who has which: "who runs which leg?".
_PLAIN_LIST = re.compile(
    r"(?:^|[.!?:]\s)\W*(?:please )?(?:list|enumerate|(?:give|show|tell|send) me (?:all|every|a list))\b"
    r"|\b(?:what|which)(?: \w+){1,4} (?:are|were) there\b"
    r"|^\W*who\b(?:(?!\band\b)[^,?])*\b(?:which|what|whom)\b|\beach (?!of\b|other\b)\w",
    re.IGNORECASE,
)
_MAYBE_LIST = re.compile(
    r"\b(?:all (?:the|of|my|our|their)|all \w+s|each|every(?:thing|body|one)?)\b",
    re.IGNORECASE,
)
#: What is asked for stands in the plural: "which contractors do we use?", "who are my customers?". Of those whose form
#: says nothing else, three in ten are lists of the worlds' talk and seven of agents' notes. Some plurals are one thing:
#: shoes, hours.
_PLURAL = re.compile(
    r"^\W*(?:so |and )?(?:which|what) (?:[\w'-]+ ){0,2}?"
    r"(?!(?:was|is|does|has|his|this|its|hours|days|times|news|shoes|glasses|trousers)\b)\w{2,}(?<!s)s"
    r" (?:do|does|did|have|has|are|were|am|can|will|should|would|need|must|which|that)\b"
    r"|^\W*(?:so |and )?(?:what|who)(?:'re| are) (?:my|our|his|her|their|[\w-]+['’]s|[\w-]+s['’]) (?:[\w-]+ ){0,2}?"
    r"(?!(?:hours|days|times|dates|terms|names|colou?rs|shoes|glasses|trousers)\b)[\w-]{2,}(?<!s)s\b"
    r"(?! (?:called|made|built|like)\b)",
    re.IGNORECASE,
)
#: Nothing but a plural: "open tasks?".
_BARE_PLURAL = re.compile(
    r"^\W*(?!(?:who|what|which|when|where|why|how|is|are|do|does|did|can)\b)(?:[a-z'-]+ ){0,2}[a-z]{3,}(?<![sui])s\W*$",
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
#: What asks for one thing of a topic: "what book did she recommend?", "how should I take the tablets?".
_ONE_THING = _words(r"who", r"whom", r"whose", r"what", r"when", r"where", r"which", r"why", r"how", r"list")
#: What asks for whatever somebody said: "what did Jonas suggest about the battery?".
_WHATEVER = re.compile(r"\W*what (?:did|does|do|has|have|would) [^?]{1,60}$", re.IGNORECASE)
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
#: A name for something is hardly longer; what is, is mostly a sentence.
_TOPIC_WORDS = 3
_NAME = re.compile(r"(?<![.!?]\s)(?<!^)\b[A-Z][\w'’-]*(?: [A-Z][\w'’-]*)*")
_JOINED = re.compile(rf"{_NAME.pattern}(?:, (?:the )?{_NAME.pattern})*,? and (?:the )?{_NAME.pattern}")


def read_aim(query: str) -> Aim:
    """What a question is after."""
    text = _EVERY_PERIOD.sub("regularly", query[:_READ_CHARS].strip())
    if _only_a_name(text):
        return Aim(topic=True)
    form = _models().form(text)
    want = _want(text, form)
    topic = want is not Want.TASK and _asks_for_topic(text)
    several = _several(want, text, _models().weigh("several", form))
    if topic and not _NAME.search(text):
        # Whatever is known of a kind of thing, "my customers": the memories of that kind, few or many.
        want, several = Want.ALL, 0.3
    return Aim(
        want=want,
        several=several,
        past=_models().weigh("past", form) > 0.0 and not _AHEAD.search(text),
        first_person=bool(_FIRST_PERSON.search(text)),
        topic=topic,
        sides=_sides(text, want),
    )


def _sides(text: str, want: Want) -> tuple[str, ...]:
    """The names that a comparison has, or that another question joins: "which database do Atlas and Borealis use?"."""
    joined = None if want is Want.COMPARISON else _JOINED.search(text)
    names = (
        _NAME.findall(text)
        if want is Want.COMPARISON
        else _NAME.findall(text, *joined.span())
        if joined
        else ()
    )
    return tuple(dict.fromkeys(names))


def _want(text: str, form: frozenset[str]) -> Want:
    if _PLAIN_COMPARISON.search(text):
        return Want.COMPARISON
    task, several = _models().weigh("task", form), _models().weigh("several", form)
    listed = _PLAIN_LIST.search(text)
    if (task > max(0.0, several) and not listed) or _PLAIN_TASK.match(text):
        return Want.TASK
    if _PLAIN_NUMBER.search(text):
        return Want.NUMBER
    if several > 0.0:
        kinds = (Want.ALL, Want.NUMBER, Want.COMPARISON)
        return max(kinds, key=lambda kind: _models().weigh(kind.value, form))
    if listed or _BARE_PLURAL.search(text) or _may_be_list(text):
        return Want.ALL
    return Want.YES_NO if _YES_NO.match(text) else Want.ONE


def _only_a_name(text: str) -> bool:
    """Whether there is nothing but one name, "Acme Corp": whatever is known of it is wanted then."""
    words = re.findall(r"[\w'’-]+", text)
    return 0 < len(words) <= 2 and all(word[0].isupper() for word in words) and not _ONE_THING.search(text)


def is_bare_topic(text: str) -> bool:
    """Whether a text only names what to look for, as in "error handling": no sentence, and no question.

    Only in Latin letters: other scripts may have no spaces, and a sentence looks like a word.
    """
    latin = max(text, default="") <= "\u024f"
    return latin and 0 < len(text.split()) <= _TOPIC_WORDS and "?" not in text and not _ONE_THING.search(text)


def _asks_for_topic(text: str) -> bool:
    """Whether whatever is known about something is wanted; not so where one thing of it is asked for before that."""
    match = EXPLORATION.search(text) or ADVICE.search(text)
    if match is None:
        return False
    before = text[: match.start()]
    return _WHATEVER.match(before) is not None or not _ONE_THING.search(before)


def _may_be_list(text: str) -> bool:
    return bool(_MAYBE_LIST.search(text) or _TWO_PARTS.search(text) or _PLURAL.search(text))


def _several(want: Want, text: str, weight: float) -> float:
    """How sure it is that several are wanted; what was read from plain words is."""
    if not want.several:
        return 0.0
    plain = {Want.COMPARISON: _PLAIN_COMPARISON, Want.NUMBER: _PLAIN_NUMBER}.get(want, _PLAIN_LIST)
    if plain.search(text):
        return 1.0
    return 1.0 / (1.0 + math.exp(_STEEP * (_EVEN - weight))) if weight > 0.0 else _MAYBE


@cache
def _models() -> FormModels:
    return FormModels(Path(__file__).parent / "aim.json")


#: Words that ask to be told something, and say nothing about what.
TELL = (
    "list enumerate name give show find collect tell count "
    "liste listet nenne nennen zähle zeige gib finde "
    "lister énumère énumérez cite citez donne donnez montre trouve "
    "lista listar enumera nombra dame muestra encuentra "
    "elenca elencare nomina dammi mostra trova "
    "enumere mostre diga liste noem geef toon lijst"
)
_PLEASE = r"(?:please|bitte|por favor|s'il (?:te|vous) pla[iî]t|per favore|alsjeblieft|can you|could you)"
_TELL = f"(?:{'|'.join(TELL.split())})"
_ALLE = r"(?:alle[nrs]?|jede[rsnm]?|sämtliche\w*|tous|toutes|chaque|tod[oa]s|cada|tutt[ie]|ogni|elke|iedere?)"
_EVERY = rf"(?:all|every|each|{_ALLE})"
_WHO = r"(?:what|which|who|welche[rsn]?|wer|quel(?:le)?s?|cu[aá]les|quali|quais|wat|welke|wie)"
_FEW = r"(?:zwei|drei|vier|sechs|deux|trois|dos|tres|due|tre|dois|duas|três|twee|drie)"
_SPAN = (
    r"(?:seconde?|minute|hour|morning|evening|night|day|week|weekend|month|quarter|year|time|once"
    r"|sekunde|stunde|morgen|abend|nacht|tag|woche|monat|quartal|jahr|mal"
    r"|heure|matin|soir|nuit|jour|semaine|mois|an|ann[ée]e|fois"
    r"|segundo|minuto|hora|noche|d[ií]a|semana|mes|año|vez|noite|m[eê]s|ano"
    r"|secondo|ora|giorno|settimana|mese|volta|uur|dag|maand|jaar|keer)(?:e?[sn]|i)?"
)
#: What several things have in common: whoever asks which of them do wants all that do.
_SHARE = r"(?:need|require|mention|contain|support|lack|use)"
#: "Every month" says how often, not that all are wanted.
_HOW_OFTEN = re.compile(
    rf"\b{_EVERY}\s+(?:single |other |second |the |les |l[oa]s |[oa]s |i |le |\d+ |{_FEW} )?{_SPAN}\b",
    re.IGNORECASE,
)
_ALL = re.compile(
    rf"^\W*(?:{_PLEASE}\s+)?(?:list|enumerate|liste[nrt]?|lista|listar|énumère|énumérez|enumer[ae]|elenca|elencare|lijst)\b"
    rf"|\b{_TELL}\b[^.?!]{{0,40}}\b{_EVERY}\b"
    rf"|\b{_WHO}\s+(?:are|is|were|sind|waren|sont|étaient|son|eran|sono|são|eram|zijn|waren)\s+{_EVERY}\b"
    rf"|\bwelche\b[^.?!]{{0,60}}\balle\b"
    rf"|^\W*(?:which|what) (?:[\w-]+ ){{0,2}}[\w-]+s {_SHARE}\b"
    r"|\b(?:all|every)\s+(?:of\s+)?(?:the\s+|my\s+|our\s+)?(?:[\w-]+\s+){1,4}(?:that|which|who|whose|where)\b"
    rf"|\b{_ALLE}\s+(?:[\w-]+,?\s+){{1,5}}(?:d(?:ie|er|as|eren|enen)|qui|que|dont|che|cui)\b",
    re.IGNORECASE,
)
#: "How many bytes does a name hold?" wants a quantity that is written somewhere; these want a count of things.
_COUNT = re.compile(
    r"\bhow many\b[^.?!]*\b(?:are there|exist|in all|in total|altogether|do we have|did we have|have we)\b"
    rf"|\bhow many (?:[\w-]+ ){{1,3}}{_SHARE}\b"
    r"|\bwie ?viele\b[^.?!]*\b(?:insgesamt|gibt es|gab es|haben wir|hatten wir)\b"
    r"|\bcombien d[e'’][^.?!]*\b(?:y a-t-il|y avait-il|en tout|au total|avons-nous)\b"
    r"|\bcu[aá]nt[oa]s\b[^.?!]*\b(?:hay|hubo|en total|tenemos|tuvimos)\b"
    r"|\bquant[ie]\b[^.?!]*\b(?:ci sono|in tutto|in totale|abbiamo)\b"
    r"|\bquant[oa]s\b[^.?!]*\b(?:há|houve|no total|temos)\b"
    r"|\bhoeveel\b[^.?!]*\b(?:zijn er|waren er|in totaal|hebben we)\b"
    r"|^\W*(?:please\s+)?count\b|\bthe (?:total )?number of (?:all |different |distinct )",
    re.IGNORECASE,
)


def wants_rows(question: str) -> bool:
    """Whether every section or memory should be asked."""
    text = _HOW_OFTEN.sub("regularly", question[:600])
    return _ALL.search(text) is not None or wants_count(text)


def wants_count(question: str) -> bool:
    """Whether it asks how many things there are."""
    return _COUNT.search(question[:600]) is not None

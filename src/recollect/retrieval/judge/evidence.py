"""What speaks for and against a candidate beside the encoder's verdict, each as a number.

Who and what the question is about is held against who and what the text is about; the kind of answer that is wanted (a
number, a time, a person) against what the text holds. A text that only asks answers nothing. A question about the past
wants what was said early, and not what it names as the end of it ("before Hamburg").
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

import numpy as np
from numpy.typing import NDArray

from recollect.domain.query import Resolution, Understanding, Want

Floats = NDArray[np.float64]

#: The names of the features, in the order of the columns that `measure_evidence` gives.
FEATURES = (
    "verdict",
    "behind",
    "relevance",
    "likeness",
    "named",
    "unnamed",
    "own",
    "foreign",
    "asks",
    "assistant",
    "lacks_number",
    "lacks_time",
    "lacks_person",
    "inside",
    "outside",
    "early",
    "boundary",
    "task",
    "yes_no",
    "stranger",
)

#: Relevance has no upper end; beyond this it hardly says more, but still orders.
_MOST_RELEVANCE = 4.0
_NUMBER = re.compile(
    r"\b(?:how (?:many|much|old|long|far|tall|big|high|heavy|fast|hot|cold|often)|what (?:price|rate|dose"
    r"|size|weight|number"
    r"|age|percentage|score|budget|rent|salary|cost)|price|phone number|cost|wie ?(?:viel|alt|lange|hoch)"
    r"|combien|cu[aá]nt\w+"
    # "The door code", "code for the door"; not what is only called after it, as in "code review".
    r"|quant[oaie]|hoeveel|(?:pin|code)(?=\W*$|\W+(?:of|for|to|is|was|do|does|did|on|at|in|from|i|we|he|she|they"
    r"|d[eu]|des|del|della|pour|para|per|f[uü]r|vo[nm]|zu[mr]|van|voor)\b))\b",
    re.IGNORECASE,
)
#: A number that no text holds, because it lies between two days: "how many weeks ago did I meet her?".
_ELAPSED = re.compile(
    r"\bhow (?:long|many (?:days|weeks|months|years))\b"
    r"(?:[^?]*\b(?:ago|passed|e?lapsed|between|apart|combined|did it take)\b"
    r"|(?=[^?]*\b(?:did|had|been|was|were)\b)[^?]*\b(?:before|after|since|when)\b)",
    re.IGNORECASE,
)
_TIME = re.compile(
    r"\b(?:when|what (?:time|date|day|year|month)|which (?:day|days|date|month|year)|since when"
    r"|until when|by when|how long ago"
    r"|birthday|deadline|wann|quand|cu[aá]ndo|quando|wanneer)\b",
    re.IGNORECASE,
)
#: What happened carries its day: "when did we sign?" is answered by the day on which it was said that we did.
_HAPPENED = re.compile(r"\bwhen (?:did|was|were|have|has)\b", re.IGNORECASE)
_FIGURE = re.compile(
    r"\d|\b(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|twenty|thirty|forty|fifty"
    r"|hundred|thousand|half"
    r"|quarter|dozen|twice|once|double|free|ein\w*|zwei|drei|vier|f[uü]nf|deux|trois|quatre|cinq|dos|tres"
    r"|cuatro|cinco)\b"
    r"|[一二三四五六七八九十百千万两]",
    re.IGNORECASE,
)
_WHEN = re.compile(
    r"\d|\b(?:mon|tues|wednes|thurs|fri|satur|sun)days?|(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\b"
    r"|\b(?:today|yesterday|tomorrow|tonight|morning|noon|midday|afternoon|evening|night|weekends?|week"
    r"|month|year|spring|summer"
    r"|autumn|winter|easter|christmas|o'clock|now|daily|weekly|after|before|until|since|soon|heute"
    r"|gestern|morgen|montag\w*"
    r"|dienstag\w*|mittwoch\w*|donnerstag\w*|freitag\w*|samstag\w*|sonntag\w*|lundi|mardi|mercredi|jeudi"
    r"|vendredi|samedi"
    r"|dimanche|lunes|martes|mi[eé]rcoles|jueves|viernes|s[aá]bado|domingo)\b|[月日年曜周]"
    r"|\b(?:at|by|till|past|to|from|um|gegen) (?:about |around |half )?(?:one|two|three|four|five|six|seven|eight|nine"
    r"|ten|eleven|twelve|half|eins|zwei|drei|vier|f[uü]nf|sechs|sieben|acht|neun|zehn|elf|zw[oö]lf|halb)\b",
    re.IGNORECASE,
)
_PERSON = re.compile(
    r"\b(?:who|whom|whose|wer|wessen|wem|wen|qui|qui[eé]n(?:es)?|chi|quem|wie is)\b", re.IGNORECASE
)
#: A name within a sentence, or a word that stands for somebody.
_SOMEBODY = re.compile(
    r"(?<![.!?:…\"]\s)(?<!^)\b[A-ZÀ-Ý][\w'’-]+|\b(?i:i|me|my|he|him|his|she|her|we|us|our|they|them|mum|dad|mother"
    r"|father|brother|sister|boss|doctor|nurse|husband|wife|son|daughter|friend|colleague)\b"
)
#: What ends the time that a question about the past asks for.
_BOUNDARY = re.compile(
    r"\b(?:before|prior to|until|till|bevor|vor|avant|antes de(?:l)?|prima di)\s+(?P<end>.+)", re.IGNORECASE
)
#: Words that name no end: "before that", "before I moved".
_NO_END = frozenset(
    "that then this it the a an i we he she they my our his her their moved moving became was were had went to in at "
    "of and or did with for from got took started came joined switched changed".split()
)
#: As likely an answer as the best, for weighing which was said earlier: so many logits behind it.
_RIVAL = 3.0
#: Where names stand out by their capitals, and nouns do not: in a question with words such as these.
_ENGLISH = re.compile(
    r"\b(?:what|who|when|where|how|why|which|whose|did|does|is|are|has|have|the|of|my|our|were|will|would)\b",
    re.IGNORECASE,
)
_PROPER_NAME = re.compile(r"[A-ZÀ-Ý][a-zà-ÿ'’-]+(?: [A-ZÀ-Ý][\w'’-]+)*")
#: What stands before a place or a time, which people tell of without naming it.
_PLACE_OR_TIME = re.compile(
    r"\b(?:in|at|to|from|near|on|into|around|by|last|next|this|during|since|until)\s+$", re.IGNORECASE
)
#: A thing with a number of its own: "invoice 1041", "room #12".
_NUMBERED = re.compile(
    r"\b(?!(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)|(?:since|from|until|till|about|around|than|before|after|over"
    r"|under|only|years?|and|the|for|with|by|day|nearly|almost|least|most|over|between|through)\b)"
    r"(?P<kind>[^\W\d_]{3,})\W{1,2}(?P<number>\d[\w-]*)",
    re.IGNORECASE,
)
_FIRST_WORD = re.compile(r"\W*[\w'’-]+")
_WORD = re.compile(r"\w+")
_ASSISTANTS = frozenset({"assistant", "ai", "bot", "agent", "system", "model"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """One memory before the judge: what was read of it, who says it, and what the stages before found."""

    text: str
    statement: str
    speaker: str | None
    own: bool
    at: datetime
    summary: bool
    verdict: float
    relevance: float
    likeness: float
    #: 1 in the period asked about, less outside; None when no period is asked.
    inside: float | None
    conversation: str | None = None
    rule: bool = False


def measure_evidence(asked: Understanding, candidates: Sequence[Candidate]) -> Floats:
    """A row of features for every candidate."""
    if not candidates:
        return np.zeros((0, len(FEATURES)))
    question = asked.query
    named = _names(asked)
    names = list(named.values())
    wants_number = bool(_NUMBER.search(question)) and not is_elapsed(question)
    wants_time = bool(_TIME.search(question)) and not _HAPPENED.search(question)
    wants_person = bool(_PERSON.search(question))
    best = max(candidate.verdict for candidate in candidates)
    aim = asked.aim
    end = _end_of_past(question) if aim.past else frozenset()
    rivals = [candidate.at for candidate in candidates if candidate.verdict >= best - _RIVAL]
    stranger = share_of_strangers(question, named, candidates)
    rows = []
    for one in candidates:
        matches = set(_WORD.findall(one.statement.casefold()))
        share = sum(not matches.isdisjoint(name) for name in names) / len(names) if names else 0.0
        rows.append(
            (
                one.verdict,
                one.verdict - best,
                _MOST_RELEVANCE * math.tanh(max(one.relevance, 0.0) / _MOST_RELEVANCE),
                one.likeness,
                share,
                # A rule is for a kind of thing: where advice on one of them is asked for, it need not name it.
                float(bool(names) and share == 0.0 and not (aim.topic and one.rule)),
                float(aim.first_person and one.own),
                float(aim.first_person and not one.own),
                float(_only_asks(one.text, question)),
                float((one.speaker or "").casefold() in _ASSISTANTS),
                float(wants_number and not _FIGURE.search(one.text)),
                float(wants_time and not _WHEN.search(one.text)),
                float(wants_person and not one.speaker and not _SOMEBODY.search(one.text)),
                0.0 if one.inside is None else one.inside,
                0.0 if one.inside is None else 1.0 - one.inside,
                sum(at > one.at for at in rivals) / len(rivals) if aim.past else 0.0,
                float(not matches.isdisjoint(end)),
                float(aim.want is Want.TASK),
                float(aim.want is Want.YES_NO),
                stranger,
            )
        )
    return np.array(rows, dtype=np.float64)


def is_elapsed(question: str) -> bool:
    """Whether the time between two things is asked for, which their days tell and no text has to."""
    return bool(_ELAPSED.search(question))


def _names(asked: Understanding) -> dict[str, frozenset[str]]:
    """Every name in the question but the asker's own, and the words by which a text may say it."""
    names = {
        entity.mention_text: words_of(f"{entity.mention_text} {entity.name}")
        for entity in asked.entities
        if entity.method is not Resolution.FIRST_PERSON
    }
    return {name: words for name, words in names.items() if words}


def words_of(text: str) -> frozenset[str]:
    """The words of a text, folded."""
    return frozenset(_WORD.findall(text.casefold()))


def share_of_strangers(
    question: str, names: Mapping[str, frozenset[str]], candidates: Sequence[Candidate]
) -> float:
    """The share of those a question is about whom no candidate names, nor is said by.

    Somebody else's life is asked about then. Only names that stand out count: in English, within a sentence, and not as
    a place or a time.
    """
    if not _ENGLISH.search(question):
        return 0.0
    first = _FIRST_WORD.match(question)
    asked = [
        words
        for name, words in names.items()
        if _PROPER_NAME.fullmatch(name)
        and (at := question.find(name)) >= 0
        and not _PLACE_OR_TIME.search(question[:at])
        and (first is None or first[0].strip() != name)
    ]
    if not asked:
        return 0.0
    told = frozenset[str]().union(
        *(
            words_of(f"{candidate.speaker or ''} {candidate.text} {candidate.statement}")
            for candidate in candidates
        )
    )
    return sum(told.isdisjoint(words) for words in asked) / len(asked)


def is_other_number(question: str, text: str) -> bool:
    """Whether a text is about another one of the numbered things that a question names: invoice 1042, not 1041."""
    told = [(one["kind"].casefold(), one["number"]) for one in _NUMBERED.finditer(text)]
    for named in _NUMBERED.finditer(question):
        others = [number for kind, number in told if kind == named["kind"].casefold()]
        if others and named["number"] not in others:
            return True
    return False


def _end_of_past(question: str) -> frozenset[str]:
    """The words of what a question names as the end of the time it asks about: "Hamburg" in "before Hamburg"."""
    match = _BOUNDARY.search(question)
    return frozenset(_WORD.findall(match["end"].casefold())) - _NO_END if match else frozenset()


def _only_asks(text: str, question: str) -> bool:
    """Whether a text is nothing but a question, or says the very question again."""
    stripped = text.strip()
    if " ".join(_WORD.findall(stripped.casefold())) == " ".join(_WORD.findall(question.casefold())):
        return True
    return stripped.endswith(("?", "？")) and not re.search(r"[.!。！;]\s", stripped)

"""Now and before: which of several answers is the one that holds.

"I live in Paris" and, months later, "we moved to London" both answer "where do I live?", and the second hardly by
itself. Nothing needs to have been retired: when a question wants one thing and does not ask about the past, the best
answer is compared with what was said later and earlier (`pairs_to_compare`, `measure_signs`), and `newest_first` puts
what replaces the best before it and marks what is outdated. Where both are plain facts the rules that read them decide
(`as_stated`); only else does a fitted chance.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from difflib import SequenceMatcher
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from recollect.domain.query import Aim
from recollect.retrieval.judge.evidence import FEATURES, Candidate, Floats, is_other_number
from recollect.retrieval.judge.probability import logit, sigmoid
from recollect.text.aim import FormModels
from recollect.text.facts import Known, Relation, Statement, read_fact, relate
from recollect.text.facts.predicates import Kind, read_predicate, subject_key
from recollect.text.facts.screen import is_passing
from recollect.text.sentences import split_sentences
from recollect.text.terms import terms
from recollect.text.times.tokens import DOUBTFUL, WEEKDAYS

#: What is measured of a pair of memories, in the order of the columns. Of both: how alike they are, how many words they
#: share, whether the same person speaks, how long lies between them. Of the later one: whether its words tell of a
#: change, what the encoder says of it, how near the question it is, and what speaks against it.
SIGNS = ("alike", "shared", "same", "gap", "changed", "verdict", "near", "asks", "assistant", "lacks")
#: From this score on, the best candidate is compared with what was said later, and an earlier one with the best.
WORTH_COMPARING = 0.4
#: From this probability on, the later of two replaces the earlier. Few pairs are updates, so the chance is low; on the
#: worlds kept back for calibration, 0.1 to 0.15 gave the best sum of right first hits and right updates.
REPLACES = 0.12
#: What the encoder finds this far from an answer replaces none, unless its form is at least so much that of news. The
#: worlds kept back lose as many right updates by it as wrong ones; outside of them updates are rarer.
_FAR, _NEWS = -1.0, -1.0
#: Of several that may replace an answer, those count that are about as likely to as the likeliest.
_AS_LIKELY = 0.7
#: How far an outdated answer stands behind what replaces it, in logits.
_BEHIND = 0.5
#: News is told in the first words.
_READ_CHARS = 280
_WORD = re.compile(r"\w[\w'-]*")
#: Two sentences that share so much of their words differ in a thing and a value.
_SAME_SENTENCE = 0.6
#: What one conversation says within so short a time is one telling, not an update.
_ONE_TELLING = timedelta(hours=6)
#: Two notes of one sitting may still be an old and a new one: whoever tries a store, or moves into it, types years
#: within a minute. How long lies between them is unknown then; it counts as so many days.
_SITTING_DAYS = 4
#: What is told beside what was known, "I'm allergic to shellfish, too", takes nothing's place: one clause, no more.
_ADDS = re.compile(r"^[^,.;:!?]{1,80},?\s*\b(?:too|as well)\W*$", re.IGNORECASE)
#: What is usual is not replaced by what happened once; and what happened, which is asked for in the past tense, does
#: not change. Of 640 such questions in the training worlds 19 have an update, of all others a third.
_SETTLED = re.compile(
    r"\b(?:usual(?:ly)?|normal(?:ly)?|typical(?:ly)?|generally|as a rule|meistens|d'habitude)\b"
    r"|\bdid\b|\b(?:what|which|who|whom|whose|how|where|why|when)\b[^?]*\b(?:was|were|had)\b"
    r"|\bwhat (?:caused|happened|went)\b"
    r"|^\W*who (?:\w+ed|got|went|put|gave|took|made|came|told|said|found|lost|won|broke|bought|wrote|brought|left|let"
    r"|paid|sent|saw|fell|hit|ran|sold|taught|built|chose)\b",
    re.IGNORECASE,
)
#: Somebody who belongs to the speaker; and the speaker.
_RELATION = re.compile(
    r"\W*(?:my|our) (?:\w+ )?(?P<who>(?:grand|step)?(?:mother|father|son|daughter)|sister|brother|mum|mom|dad|wife"
    r"|husband|partner|girlfriend|boyfriend|cousin|aunt|uncle|niece|nephew|friend|flatmate|roommate|neighbour|neighbor"
    r"|colleague|boss|manager|parents|kids|children)\b(?! and i\b)",
    re.IGNORECASE,
)
_MYSELF = re.compile(r"\b(?:i|i'm|i've|me|we|we've|us|mine|ours)\b", re.IGNORECASE)
#: The newest of what happened is asked for all the same: "what was my last result?".
_NEWEST = re.compile(r"\b(?:last|latest|still)\b", re.IGNORECASE)
#: Of what happened several times, the last is asked for.
_MOST_RECENT = re.compile(
    r"\b(?:most recent(?:ly)?|latest|newest|last time|zuletzt|letztes mal|neueste[nrsm]?|derni[eè]re fois"
    r"|récemment|[uú]ltima (?:vez|volta))\b",
    re.IGNORECASE,
)
#: How far behind the best, in logits, another answer may be to come first for being the most recent.
_AS_GOOD = 1.0
_AHEAD = 0.1


@dataclass(frozen=True, slots=True)
class Pair:
    """Two candidates that may say the same thing at two times, by their places."""

    earlier: int
    later: int


@dataclass(frozen=True, slots=True)
class Currency:
    """The scores with the newest answer first, and for each outdated candidate the place of what outdates it."""

    scores: Floats
    outdated_by: dict[int, int]


def may_have_changed(question: str, aim: Aim) -> bool:
    """Whether later news can change the answer: one thing is wanted, as it is now."""
    settled = _SETTLED.search(question) and not _NEWEST.search(question)
    return aim.several < 0.5 and not aim.topic and not aim.past and not settled


def adds(text: str) -> bool:
    """Whether a text says of itself that it comes on top of what is known."""
    return bool(_ADDS.search(text))


@dataclass(frozen=True, slots=True)
class Moments:
    """When each candidate was said, and in which conversation; None for what stands alone."""

    at: Sequence[datetime]
    conversations: Sequence[str | None]

    def is_later(self, place: int, than: int) -> bool:
        """Whether one was said after another, and not in the same breath."""
        named = self.conversations[place]
        gap = _ONE_TELLING if named is not None and named == self.conversations[than] else timedelta(0)
        return self.at[place] - self.at[than] > gap


def pairs_to_compare(scores: Floats, moments: Moments) -> list[Pair]:
    """The best candidate with everything said later, and with what was said earlier and answers too."""
    if not len(scores) or scores.max() < WORTH_COMPARING:
        return []
    best = int(np.argmax(scores))
    order = [place for place in np.argsort(-scores, kind="stable").tolist() if scores[place] >= 0.0]
    newer = [place for place in order if moments.is_later(place, best)]
    older = [place for place in order if moments.is_later(best, place) and scores[place] >= WORTH_COMPARING]
    return [Pair(best, place) for place in newer] + [Pair(place, best) for place in older]


def as_stated(question: str, earlier: Candidate, later: Candidate) -> float | None:
    """1 if the words of two facts say that the later replaces the earlier, 0 if they say that both hold, else None."""
    if (
        _names_another(question, earlier.text, later.text)
        or _of_another_weekday(question, earlier.text, later.text)
        or _of_somebody_else(question, later.text)
    ):
        return 0.0
    if _tells_on(question, earlier.text, later.text):
        return 0.0
    known, new = _fact(earlier), _fact(later)
    if known is None or new is None:
        passing = known is not None and _is_single(known) and is_passing(later.text[:_READ_CHARS])
        return 0.0 if passing or _of_another_number(earlier.text, later.text) else None
    if subject_key(known.subject) != subject_key(new.subject):
        wanted = set(terms(question))
        named = wanted & set(terms(known.subject)) and not wanted & set(terms(new.subject))
        return 0.0 if named else None
    before = Known(
        subject=known.subject, predicate=known.predicate, object=known.object, created_at=earlier.at
    )
    relation = relate(new, before, said_at=later.at).relation
    if relation is Relation.REPLACES:
        return 1.0
    beside = relation is Relation.UNRELATED and read_predicate(new.predicate).kind is Kind.MANY
    return 0.0 if relation is Relation.SAME or (beside and not new.change) else None


def _is_single(fact: Statement) -> bool:
    return read_predicate(fact.predicate).kind is Kind.SINGLE


def _names_another(question: str, earlier: str, later: str) -> bool:
    """Whether the same is said of two things, and the question names the first: the router, not the printer.

    Most words are the same, and in place of the thing stands another: "the password of the ... is".
    """
    old, new = _words(earlier), _words(later)
    matched = SequenceMatcher(None, old, new, autojunk=False)
    if matched.ratio() < _SAME_SENTENCE:
        return False
    steps = matched.get_opcodes()
    framed = (
        old[step[1] : step[2]]
        for before, step, after in zip(steps, steps[1:], steps[2:], strict=False)
        if (before[0], step[0], after[0]) == ("equal", "replace", "equal")
    )
    wanted = set(terms(question))
    return any(wanted & set(terms(" ".join(words))) for words in framed)


def _tells_on(question: str, earlier: str, later: str) -> bool:
    """Whether the later goes on with another sentence of the earlier than the one that answers."""
    sentences, told = split_sentences(earlier[:_READ_CHARS]), set(terms(later))
    wanted = set(terms(question)).intersection
    shared = [(len(wanted(words)), len(told & words)) for words in (set(terms(one)) for one in sentences)]
    _, of_the_answer = max(shared, default=(0, 0))
    return max((words for _, words in shared), default=0) > of_the_answer


def _of_another_number(earlier: str, later: str) -> bool:
    """Whether one sentence is said of two numbered things: the vault of branch 7, the vault of branch 9."""
    alike = SequenceMatcher(None, _words(earlier), _words(later), autojunk=False).ratio()
    return alike >= _SAME_SENTENCE and is_other_number(earlier, later)


def _of_another_weekday(question: str, earlier: str, later: str) -> bool:
    """Whether a weekday is asked about, and the later speaks of other weekdays only: of Sundays, not of Saturdays."""
    asked, told, since = (_weekdays(text) for text in (question, earlier, later))
    return bool(asked & told) and bool(since) and not asked & since


def _of_somebody_else(question: str, later: str) -> bool:
    """Whether the asker asks about themselves, and the later speaks of a relation of theirs: "my sister moved"."""
    relation = _RELATION.match(later)
    if relation is None or relation["who"].casefold() in _words(question):
        return False
    return bool(_MYSELF.search(question)) and not _MYSELF.search(later, relation.end())


def _weekdays(text: str) -> set[int]:
    names = (word.removesuffix("s") if word.endswith("days") else word for word in _words(text))
    return {WEEKDAYS[name] for name in names if name in WEEKDAYS and name not in DOUBTFUL}


def _words(text: str) -> list[str]:
    return _WORD.findall(text[:_READ_CHARS].casefold())


def _fact(candidate: Candidate) -> Statement | None:
    return (
        read_fact(candidate.text, speaker=_speaker(candidate) or None)
        if len(candidate.text) <= _READ_CHARS
        else None
    )


def measure_signs(
    pairs: Sequence[Pair],
    candidates: Sequence[Candidate],
    evidence: Floats,
    vectors: Sequence[Floats | None],
    *,
    floor: float | None = None,
) -> Floats:
    """A row of signs for every pair. `floor` is the likeness of what has nothing in common."""
    rows = []
    for pair in pairs:
        earlier, later = candidates[pair.earlier], candidates[pair.later]
        found = dict(zip(FEATURES, evidence[pair.later].tolist(), strict=True))
        rows.append(
            (
                _likeness(vectors, pair, floor),
                math.log1p(len(set(terms(earlier.text)) & set(terms(later.text)))),
                float(_speaker(earlier) == _speaker(later)),
                math.log1p(max((later.at - earlier.at).days, _SITTING_DAYS)),
                tells_of_change(later.text),
                found["verdict"],
                found["likeness"],
                found["asks"],
                found["assistant"],
                max(found["lacks_number"], found["lacks_time"]),
            )
        )
    return np.array(rows, dtype=np.float64).reshape(len(pairs), len(SIGNS))


def may_be_news(signs: Floats) -> NDArray[np.bool_]:
    """Whether the later of each pair comes near an answer, or is told as news."""
    return (signs[:, SIGNS.index("verdict")] >= _FAR) | (signs[:, SIGNS.index("changed")] >= _NEWS)


def tells_of_change(text: str) -> float:
    """How much the form of a text is that of news; beyond 0 it more likely is than not."""
    models = _models()
    return models.weigh("change", models.form(text[:_READ_CHARS]))


@cache
def _models() -> FormModels:
    return FormModels(Path(__file__).parent / "change.json")


def _speaker(candidate: Candidate) -> str:
    return "I" if candidate.own else (candidate.speaker or "").casefold()


def newest_first(scores: Floats, moments: Moments, pairs: Sequence[Pair], replaces: Floats) -> Currency:
    """Give what replaces the best answer its score, and mark what is outdated.

    `replaces` is how likely the later of each pair replaces the earlier.
    """
    best = int(np.argmax(scores)) if len(scores) else 0
    chances = list(zip(pairs, replaces.tolist(), strict=True))
    likeliest = max((chance for pair, chance in chances if pair.earlier == best), default=0.0)
    holding = [
        pair
        for pair, chance in chances
        if chance >= (max(REPLACES, _AS_LIKELY * likeliest) if pair.earlier == best else REPLACES)
    ]
    if not holding:
        return Currency(scores, {})
    newer = [pair.later for pair in holding if pair.earlier == best]
    newest = max(newer, key=lambda place: moments.at[place], default=best)
    older = {place for place in newer if moments.is_later(newest, place)}
    outdated = {pair.earlier for pair in holding} | older
    ordered = np.array(scores, copy=True)
    ordered[newest] = scores[best]
    most = float(sigmoid(logit(scores[best]) - _BEHIND))
    for place in outdated:
        ordered[place] = min(ordered[place], most)
    return Currency(ordered, dict.fromkeys(sorted(outdated), newest))


def most_recent_first(question: str, scores: Floats, moments: Moments) -> Floats:
    """The scores with the most recent of the best answers first, where a question asks for it."""
    if not len(scores) or scores.max() < WORTH_COMPARING or not _MOST_RECENT.search(question):
        return scores
    least = float(sigmoid(logit(scores.max()) - _AS_GOOD))
    recent = max(np.flatnonzero(scores >= least).tolist(), key=lambda place: moments.at[place])
    ordered = np.array(scores, copy=True)
    ordered[recent] = sigmoid(logit(scores.max()) + _AHEAD)
    return ordered


def _likeness(vectors: Sequence[Floats | None], pair: Pair, floor: float | None) -> float:
    """How much more alike two candidates are than the earlier one and the middle of all others.

    Where the two are all there is, as in a new store, they would be as alike as usual: `floor` stands for the rest.
    """
    first, second = vectors[pair.earlier], vectors[pair.later]
    if first is None or second is None:
        return 0.0
    others = [float(first @ vector) for vector in vectors if vector is not None and vector is not first]
    if len(others) == 1 and floor is not None:
        others.append(floor)
    return float(first @ second) - float(np.median(others))

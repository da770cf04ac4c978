"""Now and before: which of several answers is the one that holds.

"I live in Paris" and, months later, "we moved to London" both answer "where do I live?". Nothing needs to have been
retired: when a question wants one thing and does not ask about the past, the encoder is asked again about the best
answer and what was said later or earlier (`pairs_to_compare`), and `newest_first` puts what replaces the best before
it and marks what is outdated.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

import numpy as np

from recollect.domain.query import Aim, Want
from recollect.retrieval.judge.evidence import Floats
from recollect.retrieval.judge.probability import logit, sigmoid

#: What is measured of a pair of memories, in the order of the columns: the encoder's verdict on whether the later one
#: replaces the earlier one, how far its score is behind, how alike they are, whether its words tell of a change.
SIGNS = ("again", "behind", "alike", "changed")
#: From this score on, the best candidate is compared with what was said later (so many, the likeliest) and earlier.
WORTH_COMPARING = 0.4
LATER, EARLIER = 4, 2
#: From this probability on, the later of two replaces the earlier. Few pairs are updates, so the chance is low; on the
#: worlds kept back for calibration, 0.2 gave the best sum of right first hits and right updates.
REPLACES = 0.2
#: How far an outdated answer stands behind what replaces it, in logits.
_BEHIND = 0.5
#: What was said within so short a time is one telling, not an update.
_ONE_TELLING = timedelta(hours=6)
#: What is usual is not replaced by what happened once; and why something happened does not change.
_SETTLED = re.compile(
    r"\b(?:usual(?:ly)?|normal(?:ly)?|typical(?:ly)?|generally|as a rule|meistens|d'habitude)\b"
    r"|\b(?:why|when|how) (?:did|was|were)\b|\bwhat (?:caused|happened|went)\b",
    re.IGNORECASE,
)
_CHANGE = re.compile(
    r"\b(?:now|no longer|any ?more|instead|switch\w*|mov(?:ed?|ing)|new|from (?:now|next|today|monday)|chang(?:ed?|ing)"
    r"|since|left|leaving|quit|stopped|gave up|replac\w+|swapp?\w*|back to|retired|took over|takes over|cancell?ed"
    r"|these days|as of|jetzt|nicht mehr|statt\w*|neu\w*|umgezogen|gewechselt|maintenant|ne .{1,20} plus|nouv\w+|ahora"
    r"|ya no|nuev\w+|cambi\w+)\b",
    re.IGNORECASE,
)


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


def pairs_to_compare(scores: Floats, moments: Sequence[datetime], aim: Aim) -> list[Pair]:
    """The best candidate with the likeliest of those said later, and with those said earlier; none if it is past."""
    if not len(scores) or aim.past or aim.want not in (Want.ONE, Want.YES_NO, Want.TASK):
        return []
    best = int(np.argmax(scores))
    if scores[best] < WORTH_COMPARING:
        return []
    order = [place for place in np.argsort(-scores, kind="stable").tolist() if scores[place] >= 0.0]
    newer = [place for place in order if moments[place] - moments[best] > _ONE_TELLING]
    older = [
        place
        for place in order
        if moments[best] - moments[place] > _ONE_TELLING and scores[place] >= WORTH_COMPARING
    ]
    return [Pair(best, place) for place in newer[:LATER]] + [Pair(place, best) for place in older[:EARLIER]]


def is_settled(question: str) -> bool:
    """Whether later news can't change the answer."""
    return bool(_SETTLED.search(question))


def measure_signs(
    pairs: Sequence[Pair],
    again: Floats,
    *,
    scores: Floats,
    texts: Sequence[str],
    vectors: Sequence[Floats | None],
) -> Floats:
    """A row of signs for every pair; `again` are the encoder's verdicts on them."""
    rows = [
        (
            float(verdict),
            float(logit(scores[pair.later]) - logit(scores[pair.earlier])),
            _likeness(vectors, pair),
            float(bool(_CHANGE.search(texts[pair.later]))),
        )
        for pair, verdict in zip(pairs, again, strict=True)
    ]
    return np.array(rows, dtype=np.float64).reshape(len(pairs), len(SIGNS))


def newest_first(
    scores: Floats, moments: Sequence[datetime], pairs: Sequence[Pair], replaces: Floats
) -> Currency:
    """Give what replaces the best answer its score, and mark what is outdated.

    `replaces` is how likely the later of each pair replaces the earlier.
    """
    holding = [pair for pair, chance in zip(pairs, replaces, strict=True) if chance >= REPLACES]
    if not holding:
        return Currency(scores, {})
    best = int(np.argmax(scores))
    newer = [pair.later for pair in holding if pair.earlier == best]
    newest = max(newer, key=lambda place: moments[place], default=best)
    older = {place for place in newer if moments[newest] - moments[place] > _ONE_TELLING}
    outdated = {pair.earlier for pair in holding} | older
    ordered = np.array(scores, copy=True)
    ordered[newest] = scores[best]
    most = float(sigmoid(logit(scores[best]) - _BEHIND))
    for place in outdated:
        ordered[place] = min(ordered[place], most)
    return Currency(ordered, dict.fromkeys(sorted(outdated), newest))


def _likeness(vectors: Sequence[Floats | None], pair: Pair) -> float:
    """How much more alike two candidates are than the earlier one and the middle of all others."""
    first, second = vectors[pair.earlier], vectors[pair.later]
    if first is None or second is None:
        return 0.0
    others = [float(first @ vector) for vector in vectors if vector is not None and vector is not first]
    return float(first @ second) - float(np.median(others))

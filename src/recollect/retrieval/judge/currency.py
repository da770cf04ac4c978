"""Now and before: which of several answers is the one that holds.

"I live in Paris" and, months later, "we moved to London" both answer "where do I live?". Nothing needs to have been
retired: when a question wants one thing and does not ask about the past, the newest memory that answers comes first and
the older ones are marked as outdated by it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

import numpy as np

from recollect.domain.query import Aim, Want
from recollect.retrieval.judge.evidence import Floats
from recollect.retrieval.judge.probability import logit, sigmoid

#: An answer that is this probable, and at most so many logits behind the best, may overtake an older one.
SURE = 0.4
CLOSE = 1.6
#: From this score on, a candidate is worth asking what was said about it later; how many are asked; and from when on
#: one of them replaces it.
WORTH_FOLLOWING = 0.4
FOLLOWED = 4
REPLACES = 0.5
#: What replaces the best must answer by itself, too.
ANSWERS = 0.5
#: Two memories must say things this alike to be about the same thing.
ALIKE = 0.55
#: What was said within so short a time is one telling, not an update.
_ONE_TELLING = timedelta(hours=6)


@dataclass(frozen=True, slots=True)
class Currency:
    """The scores with the newest answer first, and for each outdated candidate the place of what outdates it."""

    scores: Floats
    outdated_by: dict[int, int]


def asks_for_now(aim: Aim) -> bool:
    """Whether a question wants the one thing that holds now."""
    return not aim.past and aim.want in (Want.ONE, Want.YES_NO, Want.TASK)


def later(scores: Floats, moments: Sequence[datetime], aim: Aim) -> tuple[int, list[int]]:
    """The best candidate, and the places of those said later that may replace it; none where nobody answers."""
    if not len(scores) or not asks_for_now(aim):
        return 0, []
    best = int(np.argmax(scores))
    if scores[best] < WORTH_FOLLOWING:
        return best, []
    newer = [place for place, moment in enumerate(moments) if moment - moments[best] > _ONE_TELLING]
    return best, sorted(newer, key=lambda place: -scores[place])[:FOLLOWED]


def newest_first(
    scores: Floats,
    moments: Sequence[datetime],
    aim: Aim,
    *,
    replaces: Floats | None = None,
    vectors: Sequence[Floats | None] = (),
) -> Currency:
    """Give the newest of several answers to the same question the best score, and mark the others.

    `replaces` is how likely each says anew what the best one said; `vectors` tell what is about the same thing.
    """
    if not asks_for_now(aim) or not len(scores):
        return Currency(scores, {})
    best = int(np.argmax(scores))
    least = float(sigmoid(logit(scores[best]) - CLOSE))
    group = [
        place
        for place in np.argsort(-scores, kind="stable").tolist()
        if place == best
        or (replaces is not None and replaces[place] >= REPLACES and scores[place] >= ANSWERS)
        or (scores[place] >= max(SURE, least) and (not vectors or _alike(vectors[best], vectors[place])))
    ]
    if len(group) < 2:
        return Currency(scores, {})
    newest = max(group, key=lambda place: moments[place])
    older = [place for place in group if moments[newest] - moments[place] > _ONE_TELLING]
    if not older:
        return Currency(scores, {})
    ordered = np.array(scores, copy=True)
    worth = sorted((float(scores[place]) for place in group), reverse=True)
    by_time = [newest, *(place for place in group if place != newest)]
    for place, value in zip(by_time, worth, strict=True):
        ordered[place] = value
    return Currency(ordered, dict.fromkeys(older, newest))


def _alike(one: Floats | None, other: Floats | None) -> bool:
    return one is None or other is None or float(one @ other) >= ALIKE

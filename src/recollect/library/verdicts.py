"""What the judge makes of the best sections of a look, and what that does to their order and to the answer.

The judge reads what a reader is shown: whole sentences under their heading (`read_verdicts`). Its verdicts order the
sections together with their relevance and say whether the first of them supports an answer (`decide`). Whether the
documents answer at all is left to the ranking, which tells that better (`ranking.py`); without a judge it decides
everything. The judge itself is `providers/judge`.

The numbers were measured on 98 questions over two manuals and 100 for planted facts, that of `ACCEPTED` with an earlier
judge and the nearest 4,600 of 42,000 passages. What they come to is measured by `recollect bench library`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from recollect.library.passages import MAX_NAME_CHARS, plain_heading
from recollect.library.ranking import ANSWERED, CITED_SECTIONS, answer_curve
from recollect.providers.judge.model import statement

if TYPE_CHECKING:
    from recollect.providers.judge.model import Judge

Floats = NDArray[np.float64]

#: Sections whose best lines the judge reads. A right one is among the first five for 72 % of the questions, among the
#: first twelve for 82 %, among the first 24 for 88 %, and each more takes 6 ms; further down the judge lifts none.
READ_SECTIONS = 24
#: What one logit of a verdict counts beside relevance. With this 43 % of the questions have a right section in the
#: first place and 76 % among the first five, without the judge 42 and 72 %; with twice as much it is 37 and 71 %.
VERDICT_WEIGHT = 0.09
#: Verdicts beyond these are no surer.
LEAST_VERDICT, MOST_VERDICT = -4.0, 2.0
#: From this verdict on the judge accepts what it read as an answer. Of the first places it accepts, 60 % are right ones
#: of the manuals and all those of planted facts; of the first places it does not, 42 and 84 %. What it accepts further
#: down is right in one of three cases, so only the first place is said to support anything.
ACCEPTED = 0.0
#: A passage with every word of a question answers at least so surely, whatever the embedder makes of it. Questions
#: about other products are not taken in: their names are words, too.
_SPELLED_OUT = 0.6


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A section that may answer. `related`: some of it is about the question at all."""

    relevance: float
    related: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where a candidate came to stand: its number among the candidates, its score from 0 to 1, and its support."""

    candidate: int
    score: float
    supports: bool


def read_verdicts(judge: Judge, question: str, places: Sequence[tuple[str, str]]) -> Floats:
    """A logit for every place, given as heading and sentences: how likely it answers. Blocking."""
    statements = [
        statement(text, who=plain_heading(heading)[:MAX_NAME_CHARS] or None) for heading, text in places
    ]
    return np.asarray(judge.read(question, statements), dtype=np.float64)


def decide(
    candidates: Sequence[Candidate], *, sureness: float, spelled_out: bool, verdicts: Floats | None
) -> tuple[list[Place], bool]:
    """The candidates, the best first, and whether they answer.

    `sureness` is the ranking's, `verdicts` are those of the first candidates. The scores of the sections that would be
    cited stand on the same side of `ANSWERED` as the answer, but for those that have nothing to do with it.
    """
    if not candidates:
        return [], False
    relevance = np.array([candidate.relevance for candidate in candidates])
    accepted = np.zeros(len(candidates), dtype=bool)
    if verdicts is not None and len(verdicts):
        read = len(verdicts)
        # From nought upwards: the worst that was read does not fall behind what was not.
        gains = np.clip(verdicts, LEAST_VERDICT, MOST_VERDICT) - LEAST_VERDICT
        relevance[:read] += VERDICT_WEIGHT * gains
        accepted[:read] = verdicts >= ACCEPTED
    sure = answer_curve(sureness)
    if spelled_out:
        sure = max(sure, _SPELLED_OUT)
    answered = sure >= ANSWERED
    order = np.argsort(-relevance, kind="stable")
    top = max(float(relevance[order[0]]), 1e-9)
    places = []
    for place, number in enumerate(order):
        share = min(max(float(relevance[number]) / top, 0.0), 1.0)
        least = ANSWERED if answered and place < CITED_SECTIONS else 0.0
        if place and not candidates[number].related:
            # In a small library the best five are not all about it.
            least, share = 0.0, share * ANSWERED
        places.append(
            Place(
                candidate=int(number),
                score=least + (sure - least) * share,
                supports=bool(answered and place == 0 and accepted[number]),
            )
        )
    return sorted(places, key=lambda one: -one.score), answered

"""From relevance to a score from 0 to 1, at which 0.7 means "relevant".

Two things happen here. A cosine is brought to one scale for all embedders: `lift` is 0 for what two
unrelated texts have and grows from there. And relevance, which `relevance` builds from lifts and matched
terms, goes through a logistic curve. The curve rises with relevance and nothing else, so the order by
score is the order by relevance, and a question about nothing in the store scores low everywhere.

Embedders that were measured have their constants below. `fitted` makes those of any other from a handful
of sentence pairs; `calibration_for` without them trusts the words and only very close vectors.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

#: Relevance that deserves a score of exactly 0.7. On LoCoMo it keeps 95 % of the evidence that is among the
#: first ten and answers "nothing" to 84 % of the questions asked of a stranger's conversation.
RELEVANT = 1.1
#: How fast the score rises: relevance 0 scores 0.05, twice RELEVANT 0.99.
STEEPNESS = 3.4
_RELEVANT_LOGIT = float(np.log(0.7 / 0.3))


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibration:
    """How one embedder's cosines read. `floor` is what unrelated texts reach, `gain` stretches the rest."""

    floor: float
    gain: float

    def lift(self, cosine: Floats) -> Floats:
        """How far each cosine is above the floor; 0 where it is unknown."""
        return np.maximum(np.nan_to_num(cosine, nan=self.floor) - self.floor, 0.0) * self.gain


#: Measured on LoCoMo: the best cosine of a question that has no answer is 0.36 (median) with MiniLM and 0.29
#: with wordllama, that of an evidence turn 0.45 and 0.40.
MINILM = Calibration(floor=0.25, gain=1.0)
WORDLLAMA = Calibration(floor=0.20, gain=0.9)
#: Nothing is known: half of the models call unrelated texts 0.7, so only nearly equal ones count.
UNKNOWN = Calibration(floor=0.80, gain=2.0)

_BY_EMBEDDER = {"minilm": MINILM, "wordllama": WORDLLAMA}

# Where MiniLM puts the probes of `PROBES`: the scale that the weights in `relevance` are made for.
_RELATED_LIFT = 0.41
_UNRELATED_LIFT = -0.19

#: A question, a note that answers it in other words; every other note is unrelated to it.
PROBES: tuple[tuple[str, str], ...] = (
    ("What does Marta drink in the morning?", "Marta has green tea for breakfast"),
    ("Where is the spare key kept?", "The extra key hangs behind the garage door"),
    ("When does the train to Lyon leave?", "Departure for Lyon is at 7:40 from platform 3"),
    ("Who repairs the heating?", "Call Mr Weber when the boiler breaks down"),
    ("How is the cache cleared?", "Run the flush command to empty cached pages"),
    ("Which sport does Idris play?", "Idris trains with the handball team on Tuesdays"),
    ("What did the customer complain about?", "The client was unhappy with the late delivery"),
    ("How much is the monthly fee?", "The subscription costs 12 euros per month"),
)


def calibration_for(embedder: str) -> Calibration:
    """The constants of an embedder by name; variants such as `minilm:fp32` share their family's."""
    return _BY_EMBEDDER.get(embedder.partition(":")[0], UNKNOWN)


def fitted(related: Sequence[float], unrelated: Sequence[float]) -> Calibration:
    """The constants of an unknown embedder, from its cosines on `PROBES`.

    The straight line that puts the mean of the related and of the unrelated pairs where MiniLM has them.
    An embedder that does not tell them apart is not trusted at all.
    """
    high, low = float(np.mean(related)), float(np.mean(unrelated))
    if high - low < 0.02:
        return UNKNOWN
    gain = (_RELATED_LIFT - _UNRELATED_LIFT) / (high - low)
    return Calibration(floor=low - _UNRELATED_LIFT / gain, gain=gain)


def scores(relevance: Floats) -> Floats:
    """Relevance on the logistic curve."""
    return 1.0 / (1.0 + np.exp(-(STEEPNESS * (relevance - RELEVANT) + _RELEVANT_LOGIT)))

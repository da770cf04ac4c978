"""From relevance to a score from 0 to 1, at which 0.7 means "relevant".

Two things happen here. A cosine is brought to one scale for all embedders: its `lift` is 0 for what two
unrelated texts have and grows from there. And relevance, which `relevance` builds from lifts and matched
terms, goes through a logistic curve. The curve rises with relevance and nothing else, so the order by
score is the order by relevance, and a question about nothing in the store scores low everywhere.

Embedders that were tried on real data have their constants below. `measured` makes those of any other from
the vectors of a few sentences; without them an unknown embedder is read relative to the pool.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from recollect.text.aim import is_bare_topic

Floats = NDArray[np.float64]

#: Relevance that deserves a score of exactly 0.7. On LoCoMo it keeps 96 % of the evidence that is among the
#: first ten and answers "nothing" to 84 % of the questions asked of a stranger's conversation.
RELEVANT = 1.2
#: How fast the score rises: relevance 0 scores 0.05, twice RELEVANT 0.99.
STEEPNESS = 3.1
_RELEVANT_LOGIT = float(np.log(0.7 / 0.3))


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibration:
    """How one embedder's cosines read: `floor` is what unrelated texts reach, `gain` stretches the rest.

    Without a floor it is the median of the pool. That keeps the order right for any embedder and finds what
    stands out, but a store of one or two memories has nothing to stand out from: its words must do.
    """

    floor: float | None
    gain: float
    #: What two unrelated texts in another script than Latin reach, for a model that takes all of those for alike.
    foreign_floor: float | None = None
    #: What a bare topic and an unrelated text reach, for a model that reads topics in another way than questions.
    topic_floor: float | None = None

    def for_query(self, query: str) -> Calibration:
        """The constants for this question; a model that knows no other script takes all in one for alike."""
        letters = [letter for letter in query if letter.isalpha()]
        foreign = sum(letter > "\u024f" for letter in letters)
        if self.foreign_floor is not None and foreign > len(letters) / 2:
            return Calibration(floor=self.foreign_floor, gain=self.gain / 2)
        if self.topic_floor is not None and is_bare_topic(query):
            return Calibration(floor=self.topic_floor, gain=self.gain * _TOPIC_GAIN)
        return self

    def lift(self, cosine: Floats) -> Floats:
        """How far each cosine is above the floor; 0 where it is unknown."""
        known = cosine[np.isfinite(cosine)]
        if not len(known):
            return np.zeros(len(cosine))
        floor = self.floor if self.floor is not None else float(np.median(known))
        return np.maximum(np.where(np.isfinite(cosine), cosine, floor) - floor, 0.0) * self.gain


#: As `measured` reads it. It gives Chinese, Japanese and Russian sentences 0.89 to 0.93 whatever they say. Topics are
#: brought to the same lifts: of 99 in 100 unrelated texts as good as none, of half of those about it 0.07.
ARCTIC = Calibration(floor=0.545, gain=2.65, foreign_floor=0.93, topic_floor=0.645)
_TOPIC_GAIN = 0.75
#: LoCoMo: the best cosine for a question that has no answer is 0.36 (median) with MiniLM and 0.29 with
#: wordllama; that of an evidence turn is 0.45 and 0.40. Both give unrelated sentences in other scripts 0.4 to 0.65:
#: there, words carry the score.
MINILM = Calibration(floor=0.25, gain=1.0, foreign_floor=0.65)
#: Its vectors are those of the words, so it is close to what the lexical side says already: less gain.
WORDLLAMA = Calibration(floor=0.20, gain=0.7, foreign_floor=0.65)
UNKNOWN = Calibration(floor=None, gain=1.0)

_BY_EMBEDDER = {"arctic": ARCTIC, "minilm": MINILM, "wordllama": WORDLLAMA}

# The lifts that MiniLM gives the related and the unrelated pairs of `PROBES`: the scale that the weights in
# `relevance` were found with.
_RELATED_LIFT = 0.35
_UNRELATED_LIFT = -0.18

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


def measured(questions: NDArray[np.floating], notes: NDArray[np.floating]) -> Calibration:
    """The constants of any embedder, from its unit vectors of both sides of `PROBES`, in order.

    The straight line that puts the mean of the related and that of the unrelated pairs where MiniLM has them.
    An embedder that does not tell them apart stays unknown.
    """
    cosines = np.asarray(questions, dtype=np.float64) @ np.asarray(notes, dtype=np.float64).T
    same = np.eye(len(cosines), dtype=bool)
    related, unrelated = float(cosines[same].mean()), float(cosines[~same].mean())
    if not related - unrelated > 0.02:
        return UNKNOWN
    gain = (_RELATED_LIFT - _UNRELATED_LIFT) / (related - unrelated)
    return Calibration(floor=unrelated - _UNRELATED_LIFT / gain, gain=gain)


def scores(relevance: Floats) -> Floats:
    """Relevance on the logistic curve."""
    return 1.0 / (1.0 + np.exp(-(STEEPNESS * (relevance - RELEVANT) + _RELEVANT_LOGIT)))

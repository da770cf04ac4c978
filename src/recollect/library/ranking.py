"""Which sections answer a question, by numbers alone: what a library's index measured goes in, a ranking comes out.

The index gives a pool: the passages nearest in meaning and those with the best BM25, each with both measures
(`Pool`). A section is as good as its best passages, helped by the words that its passages cover together and by its
page: where five passages speak of the subject, the one that has the answer in other words is likely there too. A
single passage that stands out on a page about something else counts by itself. `rank_sections` orders them,
`sureness` says how surely they answer and `answer_curve` makes a score from 0 to 1 of that: below `ANSWERED` the honest
answer is "not in the documents".

Pure functions over arrays: no database, no embedder, no settings. What a passage is: `passages.py`; what a question
asks for: `verdicts.py`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from recollect.library.prose import Asked, has_number, names_a_default
from recollect.retrieval.rank.calibration import MINILM, Calibration
from recollect.retrieval.rank.pool import K1

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Flags = NDArray[np.bool_]

#: Passages to fetch by meaning, and as many by words. Pages and covered words are read from the pool, so a small one
#: costs more than the tail it cuts off: 64 and 69 % with 100, 69 and 73 % with 200, flat from 300 to 600.
POOL_PASSAGES = 400
#: Passages named for a section, the strongest first: enough for its evidence.
SECTION_PASSAGES = 3
#: Sections whose passages count for whether the question is answered: those that are cited.
CITED_SECTIONS = 5
#: At this score and above the sections are cited as an answer.
ANSWERED = 0.5

# The score is a logistic curve over the best cited cosine, on MiniLM's scale, less half as much again as the share of
# the question that is names the best three sections lack, and with a part of the share that is names which one passage
# of them has. With arctic's vectors of the nearest 20,600 of 42,000 passages it refuses none of 98 questions that two
# manuals answer, and 43 of 50 about other products; 42 with the share as it is, 44 with twice the share, but the names
# of a question need not all stand beside its answer. By MiniLM's cosine alone it would be 12: they are about databases
# and languages too, and only name other ones. What is left names what the manuals mention somewhere (Django, NumPy).
# Questions for a feature that a manual's own product lacks pass, 33 of 36: they are as near as those that are answered,
# and the judge takes the neighbours of what is asked for as an answer (its best verdict is 0.6 in the median, and 0.2
# where there is one). Its verdict beside the cosine was tried: before it refuses one more question about another
# product it refuses nine planted facts. Words do not tell either: hardly any has one that the
# manuals lack.
_UNCERTAIN_COSINE = 0.37
_MISSING = 1.5
_NAMED = 0.2
_STEEPNESS = 15.0
_NAMED_SECTIONS = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Pool:
    """What the index measured for one question: a row per passage, best of either side, each passage once.

    `sections` and `pages` are keys of any kind of numbering. A page is what is read together: the document, or in
    a long one the part under a top heading. `matched` has bit i set where the passage has term i of `Asked.terms`;
    `idf` weighs those terms. An unknown cosine is NaN. `texts` are the passages without their context.
    """

    sections: Integers
    pages: Integers
    cosine: Floats
    bm25: Floats
    matched: Integers
    idf: Floats
    texts: Sequence[str]

    def __len__(self) -> int:
        return len(self.sections)


@dataclass(frozen=True, slots=True, kw_only=True)
class Weights:
    """How much each measure counts; cosines and shares of covered words lie between 0 and 1.

    Found on 98 questions over two manuals asked in other words than theirs, with arctic's vectors of those 13,300 of
    42,000 passages that come nearest to any of them: the middle of the 25 best of 600 drawn at random. With the judge
    (`verdicts.py`) a right section is among the first five for 75 and 76 % of two sets of questions written apart, and
    for 72 and 71 % with the weights before; by cosine alone for 61 and 48 %. Weights drawn for other questions than
    they are tried on give 70 to 74 % of all, so most of that is chance: what is sure is that words count for twice as
    much as before, and that nothing else measured (the mean vector of a section or page, vectors of single words, the
    vectors of what was found first) adds to it.
    """

    best: float = 1.2
    best_three: float = 0.6
    page: float = 1.4
    bm25: float = 0.4
    section_words: float = 0.4
    page_words: float = 0.3
    #: For the share of the question that is names which one passage has. Nothing changes for the 98 questions, which
    #: hardly have any; with twice as much three more questions about other products are answered.
    names: float = 0.3
    #: What a passage alone is granted of `best_three` and `page`: planted facts stand on pages that are about something
    #: else. With 0.85 three right sections fewer are among the first five of the 98 questions.
    alone: float = 0.72
    #: Added to a passage's cosine: a quantity is answered by a number, and where a default is asked for, that word
    #: helps. One question of 36 and three of 62.
    number: float = 0.04
    default: float = 0.04


WEIGHTS = Weights()


@dataclass(frozen=True, slots=True, kw_only=True)
class RankedSection:
    """A section, how relevant it is and why. `passages` are rows of the pool, the strongest first."""

    section: int
    relevance: float
    passages: tuple[int, ...]
    reasons: Mapping[str, float]


def rank_sections(
    pool: Pool,
    asked: Asked,
    *,
    calibration: Calibration = MINILM,
    weights: Weights = WEIGHTS,
    limit: int = 10,
) -> list[RankedSection]:
    """The sections of a pool, the best first; equally good ones in the order of their keys."""
    if not len(pool):
        return []
    sections, of_section = np.unique(pool.sections, return_inverse=True)
    pages, of_page = np.unique(pool.pages, return_inverse=True)
    page = np.zeros(len(sections), dtype=np.int64)
    page[of_section] = of_page

    cosine = comparable(pool.cosine, calibration)
    meaning = cosine + _fitting(pool, asked, weights)
    words = _word_strength(pool)
    has_terms = _has_terms(pool)
    named = _named(pool, asked)
    floor = float(cosine.min())
    best = _best(meaning, of_section, groups=len(sections), count=3, missing=floor)
    around = _best(cosine, of_page, groups=len(pages), count=5, missing=floor)
    parts = {
        "best": weights.best * best[:, 0],
        "best_three": weights.best_three * best.mean(axis=1),
        "page": weights.page * around.mean(axis=1)[page],
        "bm25": weights.bm25 * _best(words, of_section, groups=len(sections), count=1, missing=0.0)[:, 0],
        "section_words": weights.section_words * _covered(has_terms, pool.idf, of_section, len(sections)),
        "page_words": weights.page_words * _covered(has_terms, pool.idf, of_page, len(pages))[page],
        "names": weights.names * _best(named, of_section, groups=len(sections), count=1, missing=0.0)[:, 0],
    }
    together = np.sum(list(parts.values()), axis=0)
    strength = _alone(meaning, words, has_terms, pool.idf, weights) + weights.names * named
    alone = _best(strength, of_section, groups=len(sections), count=1, missing=-np.inf)[:, 0]
    relevance = np.maximum(together, alone)
    parts["alone"] = np.maximum(alone - together, 0.0)
    order = np.lexsort((sections, -relevance))[:limit]
    return [
        RankedSection(
            section=int(sections[at]),
            relevance=float(relevance[at]),
            passages=_strongest(np.flatnonzero(of_section == at), strength),
            reasons={name: float(values[at]) for name, values in parts.items()},
        )
        for at in order
    ]


def sureness(
    ranked: Sequence[RankedSection], pool: Pool, asked: Asked, *, calibration: Calibration = MINILM
) -> float:
    """How surely the best sections answer, on the scale of MiniLM's cosines.

    A question about another product is near to these documents in meaning and names what they lack. A passage that
    has the names of a question is likely about it, whatever other words it uses.
    """
    cited = ranked[:CITED_SECTIONS]
    if not cited:
        return -1.0
    cosine = comparable(pool.cosine, calibration)
    rows = np.isin(pool.sections, [one.section for one in cited])
    nearest = float(cosine[rows].max()) - _MISSING * missing_names(ranked, pool, asked)
    named = float(max(_named(pool, asked)[one.passages[0]] for one in ranked[:_NAMED_SECTIONS]))
    return nearest + _NAMED * named


def answer_curve(sureness: float) -> float:
    """Sureness as a score from 0 to 1; `ANSWERED` and above is an answer."""
    return float(1.0 / (1.0 + np.exp(-_STEEPNESS * (sureness - _UNCERTAIN_COSINE))))


def missing_names(ranked: Sequence[RankedSection], pool: Pool, asked: Asked) -> float:
    """The share of the question, by the weight of its terms, that is names which the best sections lack."""
    total = float(pool.idf.sum())
    if not total:
        return 0.0
    rows = np.isin(pool.sections, [one.section for one in ranked[:_NAMED_SECTIONS]])
    flags: Flags = np.logical_or.reduce(_has_terms(pool)[rows], axis=0)
    is_name = np.array([term in asked.names for term in asked.terms], dtype=bool)
    return float(pool.idf[np.logical_and(is_name, ~flags)].sum()) / total


def _named(pool: Pool, asked: Asked) -> Floats:
    """The share of the question, by the weight of its terms, that is names which each passage has."""
    total = float(pool.idf.sum())
    is_name = np.array([term in asked.names for term in asked.terms], dtype=bool)
    if not total or not is_name.any():
        return np.zeros(len(pool))
    shares: Floats = (_has_terms(pool) & is_name) @ pool.idf / total
    return shares


def comparable(cosine: Floats, calibration: Calibration) -> Floats:
    """Cosines on MiniLM's scale, on which the weights were found; an unknown one counts as the least known."""
    known = cosine[np.isfinite(cosine)]
    if not len(known):
        return np.zeros(len(cosine))
    floor = calibration.floor if calibration.floor is not None else float(np.median(known))
    filled = np.where(np.isfinite(cosine), cosine, known.min())
    return (MINILM.floor or 0.0) + (filled - floor) * (calibration.gain / MINILM.gain)


def covered(pool: Pool) -> Floats:
    """The weight of the question's terms that each passage has."""
    return _has_terms(pool) @ pool.idf


def _fitting(pool: Pool, asked: Asked, weights: Weights) -> Floats:
    """What each passage gains by having the kind of thing that is asked for."""
    bonus = np.zeros(len(pool))
    if asked.quantity:
        bonus += weights.number * np.array([has_number(text) for text in pool.texts], dtype=np.float64)
    if asked.default:
        bonus += weights.default * np.array([names_a_default(text) for text in pool.texts], dtype=np.float64)
    return bonus


def _word_strength(pool: Pool) -> Floats:
    """BM25 as a share of what a passage full of every term would have."""
    most = float(pool.idf.sum()) * (K1 + 1.0)
    return pool.bm25 / most if most else np.zeros(len(pool))


def _alone(meaning: Floats, words: Floats, has_terms: Flags, idf: Floats, weights: Weights) -> Floats:
    """What a section would be worth with this passage only, on a page that says little else about it."""
    total = float(idf.sum())
    share = (has_terms @ idf) / total if total else np.zeros(len(meaning))
    return (
        (weights.best + (weights.best_three + weights.page) * weights.alone) * meaning
        + weights.bm25 * words
        + (weights.section_words + weights.page_words) * share
    )


def _has_terms(pool: Pool) -> Flags:
    """A row per passage, a column per term."""
    bits = np.arange(len(pool.idf), dtype=np.int64)
    flags: Flags = ((pool.matched[:, None] >> bits) & 1).astype(bool)
    return flags


def _covered(has_terms: Flags, idf: Floats, group: Integers, groups: int) -> Floats:
    """The share of the question's terms, by weight, that the passages of each group have together."""
    together = np.zeros((groups, has_terms.shape[1]), dtype=bool)
    np.logical_or.at(together, group, has_terms)
    total = float(idf.sum())
    return (together @ idf) / total if total else np.zeros(groups)


def _best(values: Floats, group: Integers, *, groups: int, count: int, missing: float) -> Floats:
    """The `count` largest values of each group, largest first, filled up with `missing`."""
    order = np.lexsort((-values, group))
    ordered = group[order]
    starts = np.searchsorted(ordered, np.arange(groups))
    rank = np.arange(len(ordered)) - starts[ordered]
    kept = rank < count
    best = np.full((groups, count), missing)
    best[ordered[kept], rank[kept]] = values[order][kept]
    return best


def _strongest(rows: Integers, strength: Floats) -> tuple[int, ...]:
    order = np.lexsort((rows, -strength[rows]))[:SECTION_PASSAGES]
    return tuple(int(row) for row in rows[order])

"""How relevant each candidate is by what it says: one sum of named signals, the same weights for all data.

A *note*, a memory on its own, has its vector and its words. A *turn* of a conversation is often
unintelligible alone ("Yes, last week!"), so it also speaks through its surroundings: the turns before and
after, the terms they match together, the conversation as a whole, and whether its speaker is the one
asked about. A turn that answers all by itself may be taken as a note, at a discount, so that
conversations of one or two turns are found too.

Every term is zero or more and grows with its input; nothing is normalised by the pool (but the cosines of
an embedder nobody measured, see `calibration`). A candidate's relevance therefore does not change with how
many others were generated, any signal may be missing altogether, and a pool of one works like one of seven
hundred.

The weights were found by measuring on LoCoMo, LongMemEval, 2WikiMultiHopQA and MuSiQue together, and
rounded: neighbouring values differ by less than the noise. `recollect bench` measures the outcome. BM25 over whole
conversations was measured too and adds nothing to this. What else counts, such as time and importance, is in `signals`;
both come together in `scoring`.

The second hop: "Who is the mother of the director of X" is answered by a memory that has no word of the question; the
one about X names the director, and the director's own memory has the mother. So the best first hits lead, by the
entities they name, to other memories, which inherit a part of their relevance. A hit that covers the whole question
leads nowhere: nothing is left to ask. Which links there are, the store says (`Links`). Two hops were measured and gain
nothing over one.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING
from uuid import UUID

import numpy as np

from recollect.retrieval.rank.calibration import Calibration
from recollect.retrieval.rank.pool import K1, Floats, Links, Pool
from recollect.text.terms import STOP_WORDS

if TYPE_CHECKING:
    from recollect.retrieval.rank.scoring import Ranking


#: The names of the signals that make up relevance, in the order in which they are explained.
FUSED = ("semantic", "lexical", "neighbours", "conversation", "speaker")

# A note. Meaning weighs most: half of a short question's words are in many a note that is about something
# else, so coverage counts with a power that makes half of the words a third of the credit.
_NOTE_SEMANTIC = 4.4
_NOTE_BM25 = 1.75
_NOTE_COVERAGE = 1.45
_NOTE_COVERAGE_POWER = 1.5

# A turn, by itself and through its surroundings.
_TURN_SEMANTIC = 1.3
_TURN_BM25 = 1.6
_TURN_COVERAGE = 1.0
# Offset, share of that turn's own match, share of its terms.
_NEARBY = ((-1, 0.1, 0.8), (1, 0.1, 0.8), (-2, 0.05, 0.4), (2, 0.05, 0.4))
_CONVERSATION_MATCH = 0.6
_CONVERSATION_TURNS = 2  # its best two turns, averaged: one lucky turn is not a topic
_CONVERSATION_COVERAGE = 0.3
_SPEAKER = 0.3
# "my" means the user, but in nearly every question to an assistant, so it says less than a name.
_FIRST_PERSON = 0.2
_TURN_AS_NOTE = 0.7

# A term in a memory far longer than the average is there by chance. A term found once in a memory of average
# length earns 0.45 of BM25's maximum; below 0.3 (twice to three times the average) its coverage fades.
_FULL_COVERAGE_DENSITY = 0.3

_FIRST_PERSON_WORDS = re.compile(r"\b(?:i|me|my|mine|we|our|us)\b", re.IGNORECASE)
_WORD = re.compile(r"\w+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Relevance:
    """What candidates are worth by their content: per signal, in all, and how much of the question each leaves open."""

    signals: Mapping[str, Floats]
    total: Floats
    open_share: Floats


def measure_relevance(
    pool: Pool, *, query: str, calibration: Calibration, off: Collection[str] = ()
) -> Relevance:
    """Weigh what every candidate says. Signals named in `off` count nothing, nor do they through neighbours."""
    words = "lexical" not in off
    lift = calibration.for_query(query).lift(pool.cosine) if "semantic" not in off else np.zeros(len(pool))
    total_idf = float(pool.idf.sum()) if words else 0.0
    density, coverage = _lexical(pool, total_idf)
    bm25 = pool.bm25 / (total_idf * (K1 + 1.0)) if total_idf > 0 else np.zeros(len(pool))
    note = _note_signals(lift, bm25, density * coverage)
    open_share = 1.0 - density * coverage
    if not pool.is_turn.any():
        return Relevance(signals=note, total=total(note), open_share=open_share)
    turn = _turn_signals(pool, lift=lift, bm25=bm25, density=density, total_idf=total_idf, query=query)
    turn |= {name: np.zeros(len(pool)) for name in FUSED if name in off}
    as_note = ~pool.is_turn | (_TURN_AS_NOTE * total(note) > total(turn))
    discount = np.where(pool.is_turn, _TURN_AS_NOTE, 1.0)
    signals = {name: np.where(as_note, discount * note[name], turn[name]) for name in FUSED}
    return Relevance(signals=signals, total=total(signals), open_share=open_share)


def total(signals: Mapping[str, Floats]) -> Floats:
    """The sum of signals, in a fixed order."""
    added: Floats = np.sum([signals[name] for name in signals], axis=0)
    return added


def _lexical(pool: Pool, total_idf: float) -> tuple[Floats, Floats]:
    """How densely each candidate has its matched terms (0..1), and the share of the question they are."""
    if total_idf <= 0:
        return np.zeros(len(pool)), np.zeros(len(pool))
    matched_idf = pool.matches @ pool.idf
    earned = pool.bm25 / np.maximum(matched_idf * (K1 + 1.0), 1e-9)
    return np.minimum(earned / _FULL_COVERAGE_DENSITY, 1.0), matched_idf / total_idf


def _note_signals(lift: Floats, bm25: Floats, coverage: Floats) -> dict[str, Floats]:
    nothing = np.zeros(len(lift))
    return {
        "semantic": _NOTE_SEMANTIC * lift,
        "lexical": _NOTE_BM25 * bm25 + _NOTE_COVERAGE * coverage**_NOTE_COVERAGE_POWER,
        "neighbours": nothing,
        "conversation": nothing,
        "speaker": nothing,
    }


def _turn_signals(
    pool: Pool, *, lift: Floats, bm25: Floats, density: Floats, total_idf: float, query: str
) -> dict[str, Floats]:
    match = _TURN_SEMANTIC * lift + _TURN_BM25 * bm25
    terms = pool.matches * density[:, None]
    share = pool.idf / total_idf if total_idf > 0 else pool.idf
    nearby_match = np.zeros(len(pool))
    nearby_terms = terms
    for offset, match_weight, term_weight in _NEARBY:
        row = pool.neighbour(offset)
        there = row >= 0
        nearby_match = nearby_match + match_weight * np.where(there, match[row], 0.0)
        nearby_terms = np.maximum(nearby_terms, term_weight * np.where(there[:, None], terms[row], 0.0))
    own_coverage = terms @ share
    best_turns, all_terms = _conversations(pool, match, terms)
    return {
        "semantic": _TURN_SEMANTIC * lift,
        "lexical": _TURN_BM25 * bm25 + _TURN_COVERAGE * own_coverage,
        "neighbours": nearby_match + _TURN_COVERAGE * (nearby_terms @ share - own_coverage),
        "conversation": _CONVERSATION_MATCH * best_turns + _CONVERSATION_COVERAGE * (all_terms @ share),
        "speaker": _speaker_signal(pool.speaker, query),
    }


def _conversations(pool: Pool, match: Floats, terms: Floats) -> tuple[Floats, Floats]:
    """For each turn: the mean of its conversation's best turns, and the terms the conversation has."""
    codes = pool.conversation_codes
    slot = codes + 1  # notes share slot 0, which nobody reads
    order = np.lexsort((-match, slot))
    starts = np.searchsorted(slot[order], np.arange(int(slot.max()) + 1))
    place = np.arange(len(pool)) - starts[slot[order]]
    best = order[place < _CONVERSATION_TURNS]
    sums = np.zeros(len(starts))
    np.add.at(sums, slot[best], match[best])
    together = np.zeros((len(starts), terms.shape[1]))
    np.maximum.at(together, slot, terms)
    return sums[slot] / _CONVERSATION_TURNS, together[slot]


def _speaker_signal(speakers: Sequence[str | None], query: str) -> Floats:
    worth = {speaker: _speaker_worth(speaker, query) for speaker in set(speakers) if speaker is not None}
    return np.array([0.0 if speaker is None else worth[speaker] for speaker in speakers])


def _speaker_worth(speaker: str, query: str) -> float:
    """What it is worth that this one speaks: asked about by name, or by "my" when it is the user."""
    asked = query.casefold()
    words = set(_WORD.findall(asked))
    name = speaker.casefold()
    if any(part in words and part not in STOP_WORDS for part in _WORD.findall(name)):
        return _SPEAKER
    if not name.isascii() and name in asked:  # scripts without spaces have no words to compare
        return _SPEAKER
    return _FIRST_PERSON if name == "user" and _FIRST_PERSON_WORDS.search(asked) else 0.0


#: How many hits may lead on.
FIRST_HITS = 5
#: What a linked memory inherits of the hit's relevance.
_INHERITED = 0.5
#: How much more it inherits when it has all that the hit leaves open. On half of the multi-hop questions, recall@5 of
#: 2WikiMultiHopQA .934 -> .943, of MuSiQue .537 -> .550.
_COMPLETES = 1.0
#: A hit leads on with full strength when it leaves this share of the question open.
_OPEN = 0.2
#: What a memory is about says more than what it mentions.
_MENTIONED = 0.3


def first_hits(pool: Pool, ranking: Ranking, *, limit: int = FIRST_HITS) -> list[UUID]:
    """The hits worth following: the most relevant that leave something of the question open."""
    worth = ranking.relevance * _leads(ranking.open_share)
    order = np.argsort(-worth, kind="stable")[:limit]
    return [pool.ids[row] for row in order if worth[row] > 0]


def links_between(ids: Sequence[UUID], edges: Iterable[tuple[UUID, UUID, bool, int]]) -> Links:
    """Links from (hit, target, whether the target is about the entity, how many others are)."""
    row_of = {id: row for row, id in enumerate(ids)}
    found = [
        (row_of[hit], row_of[target], (1.0 if about else _MENTIONED) / max(others, 1))
        for hit, target, about, others in edges
        if hit in row_of and target in row_of
    ]
    return Links(
        hit=np.array([hit for hit, _, _ in found], dtype=np.int64),
        target=np.array([target for _, target, _ in found], dtype=np.int64),
        share=np.array([share for _, _, share in found], dtype=np.float64),
    )


def inherited(pool: Pool, relevance: Floats, open_share: Floats) -> Floats:
    """What each candidate inherits: from the hit that gives it most, not from all of them.

    It is more where the candidate has the words of the question that the hit leaves open.
    """
    given = np.zeros(len(pool))
    if pool.links is None or not len(pool.links.hit):
        return given
    links = pool.links
    worth = np.maximum(relevance, 0.0) * _leads(open_share)
    left = pool.idf * (1.0 - pool.matches[links.hit])
    completed = (left * pool.matches[links.target]).sum(axis=1) / np.maximum(left.sum(axis=1), 1e-9)
    passed_on = _INHERITED * worth[links.hit] * links.share * (1.0 + _COMPLETES * completed)
    np.maximum.at(given, links.target, passed_on)
    return given


def _leads(open_share: Floats) -> Floats:
    leads: Floats = np.clip(open_share / _OPEN, 0.0, 1.0)
    return leads

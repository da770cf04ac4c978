"""The last step: the best by score, without repeats, in the order in which people read them.

`diverse_first` prefers several sides of a matter to one said five times: maximal marginal relevance. Each next memory
is the one with the best balance of its own score and its likeness to those already chosen (Carbonell and Goldstein,
1998). Thresholds have no place in it: what is not relevant was left out by its calibrated score before.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeVar
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from recollect.domain.names import entity_key
from recollect.retrieval.rank.pool import Pool
from recollect.retrieval.rank.scoring import Ranking

#: Two memories this close say the same.
DUPLICATE_COSINE = 0.95
# Only where a word begins: without that, every letter of every word would be tried as a beginning.
_FIGURE = re.compile(r"(?<!\w)[^\W\d]*\d[\w.:,/-]*")
_DIGIT = re.compile(r"\d")


@dataclass(frozen=True, slots=True)
class Meaning:
    """What a text says, for finding repeats: its unit vector, and the figures and names in it.

    Vectors hardly tell "invoice 1041 is paid" from "invoice 1042 is paid"; texts with different figures or names never
    repeat each other.
    """

    vector: NDArray[np.float32]
    particulars: frozenset[str]

    @classmethod
    def of(cls, text: str, vector: NDArray[np.float32], names: Iterable[str] = ()) -> Meaning:
        """The meaning of a text whose vector and names are known."""
        figures = _FIGURE.findall(text.casefold()) if _DIGIT.search(text) else ()
        return cls(vector, frozenset((*figures, *map(entity_key, names))))


class Selection(NamedTuple):
    """The rows to return, and how many repeats were folded into each that has any."""

    rows: list[int]
    folded: Mapping[int, int]


def best_first(pool: Pool, ranking: Ranking, *, threshold: float = 0.0) -> list[int]:
    """Rows that reach the threshold, by score; then the closer, the more specific layer, the weightier, the newer.

    Scores are compared through the relevance behind them, which does not saturate at 1. Where nothing lifts a
    candidate above the noise, its plain cosine still tells which one is the closest.
    """
    rows = np.flatnonzero(ranking.score >= threshold)
    # The last key counts first.
    keys: list[NDArray[Any]] = [] if pool.importance is None else [-pool.importance[rows]]
    keys += [pool.layer[rows], -np.nan_to_num(pool.cosine[rows], nan=-1.0), -ranking.relevance[rows]]
    places = np.lexsort(keys)
    if np.logical_and.reduce([key[places][1:] == key[places][:-1] for key in keys]).any():
        # Moments and, as the last resort, ids are looked at where something is equal up to there, which is seldom.
        listed = rows.tolist()
        last: list[NDArray[Any]] = [np.array([pool.ids[row].int for row in listed], dtype=object)]
        if pool.created_at is not None:
            last.append(-np.array([pool.created_at[row].timestamp() for row in listed]))
        places = np.lexsort([*last, *keys])
    order: list[int] = rows[places].tolist()
    return order


def in_turn(order: Sequence[int], groups: Sequence[str]) -> list[int]:
    """Rows in another order: the best of each group first, then the second of each, and so on."""
    seen: dict[str, int] = {}
    rounds: list[list[int]] = []
    for row in order:
        turn = seen.get(groups[row], 0)
        seen[groups[row]] = turn + 1
        if turn == len(rounds):
            rounds.append([])
        rounds[turn].append(row)
    return [row for turn in rounds for row in turn]


def in_shares(
    order: Sequence[int], authors: Sequence[str | None], *, worth: NDArray[np.float64] | None = None
) -> list[int]:
    """Rows in another order: down to any place at most half are one author's, while others have something to say.

    With `worth`, nothing overtakes what is worth more than twice as much. Rows without an author are not counted.
    """
    left, taken, counts = list(order), list[int](), Counter[str | None]()
    while len(left) > 1 and any(authors[row] != authors[left[0]] for row in left):
        least = -np.inf if worth is None else worth[left[0]] / 2
        place = next(
            (
                place
                for place, row in enumerate(left)
                if (authors[row] is None or 2 * counts[authors[row]] <= len(taken))
                and (worth is None or worth[row] >= least)
            ),
            0,
        )
        counts[authors[left[place]]] += 1
        taken.append(left.pop(place))
    return taken + left


#: What all words of a question count beside relevance, for choosing memories that have them between them. Rare words,
#: which are names mostly, count by the square of their weight. On the two halves of the multi-hop questions, recall@5
#: of MuSiQue .550 and .596 -> .602 and .643, of 2WikiMultiHopQA .947 and .942 -> .957 and .950; with 4 and with 7 the
#: same but for the noise.
_WORDS = 5.0
#: Among how many of the most relevant; fifty choose the same.
_CONSIDERED = 30


def complementing(
    pool: Pool, order: Sequence[int], *, relevance: NDArray[np.float64], first: Sequence[int] = ()
) -> list[int]:
    """Rows in another order: after those in `first`, each next one has words of the question that none before it has.

    A question that several memories answer only together is not served by five that all have the same part of it.
    """
    ranked = sorted((row for row in order if row not in first), key=lambda row: -relevance[row])
    left, taken = ranked[:_CONSIDERED], list(first)
    weights = pool.idf**2 / max(float((pool.idf**2).sum()), 1e-9)
    had = pool.matches[taken].max(axis=0, initial=0.0)
    while left:
        added = np.maximum(pool.matches[left] - had, 0.0) @ weights
        row = left.pop(int(np.argmax(relevance[left] + _WORDS * added)))
        had = np.maximum(had, pool.matches[row])
        taken.append(row)
    return taken + ranked[_CONSIDERED:]


def select(
    pool: Pool,
    order: Sequence[int],
    *,
    limit: int,
    meanings: Mapping[UUID, Meaning] | None = None,
    apart: Sequence[str] | None = None,
) -> Selection:
    """The rows to return: the first `limit` of `best_first`'s order, by layer precedence, then score.

    Equal texts are known by the pool's digests, near-equal ones by `meanings`, of as many memories as were loaded.
    Of repeats the first stays. A turn is never dropped: "yes" said twice is two events. Nor is what another one of the
    groups in `apart` says: that two teams do the same is an answer.
    """
    chosen: list[int] = []
    folded: Counter[int] = Counter()
    said: dict[tuple[str, bytes], int] = {}
    meant: dict[tuple[str, frozenset[str]], _Meant] = {}
    # Chosen rows that nothing was compared with yet: where all are turns, nobody needs to know what they mean.
    unread: list[int] = []
    for row in order:
        if len(chosen) == limit:
            break
        side = apart[row] if apart is not None else ""
        digest = pool.digest[row] if pool.digest is not None else None
        if not pool.is_turn[row]:
            first = said.get((side, digest)) if digest is not None else None
            meaning = meanings.get(pool.ids[row]) if meanings and first is None else None
            if meaning is not None and meanings is not None:
                for earlier in unread:
                    _read(
                        meant,
                        earlier,
                        apart[earlier] if apart is not None else "",
                        meanings.get(pool.ids[earlier]),
                    )
                unread.clear()
                alike = meant.get((side, meaning.particulars))
                first = alike.nearest(meaning.vector) if alike is not None else None
            if first is not None:
                folded[first] += 1
                continue
        chosen.append(row)
        unread.append(row)
        if digest is not None:
            said.setdefault((side, digest), row)
    # The sort is stable: within a layer the score's order stays.
    return Selection(sorted(chosen, key=lambda row: int(pool.layer[row])), folded)


def _read(
    meant: dict[tuple[str, frozenset[str]], _Meant], row: int, side: str, meaning: Meaning | None
) -> None:
    if meaning is not None:
        meant.setdefault((side, meaning.particulars), _Meant()).add(row, meaning.vector)


class _Meant:
    """Unit vectors of texts with the same particulars; the array doubles, and each is compared with all before."""

    __slots__ = ("_rows", "_vectors")

    def __init__(self) -> None:
        self._vectors: NDArray[np.float32] = np.empty((0, 0), dtype=np.float32)
        self._rows: list[int] = []

    def add(self, row: int, vector: NDArray[np.float32]) -> None:
        count = len(self._rows)
        if count == len(self._vectors):
            grown = np.empty((max(4, 2 * count), len(vector)), dtype=np.float32)
            if count:
                grown[:count] = self._vectors
            self._vectors = grown
        self._vectors[count] = vector
        self._rows.append(row)

    def nearest(self, vector: NDArray[np.float32]) -> int | None:
        """The row that says the same, if one does."""
        if not self._rows:
            return None
        likeness = self._vectors[: len(self._rows)] @ vector
        best = int(np.argmax(likeness))
        return self._rows[best] if likeness[best] >= DUPLICATE_COSINE else None


#: How much relevance counts; the rest is novelty.
DIVERSITY_LAMBDA = 0.7

T = TypeVar("T")


def select_diverse_memories(
    scored_candidates: Sequence[tuple[T, float]],
    max_memories: int,
    *,
    vectors: Sequence[NDArray[np.float32] | None],
    relevance_share: float = DIVERSITY_LAMBDA,
) -> list[T]:
    """The chosen candidates, in the order of their choice; `vectors` are unit vectors, one per candidate.

    A candidate without a vector is like nothing else. Of equals the earlier is taken.
    """
    if not scored_candidates or max_memories <= 0:
        return []
    width = next((len(vector) for vector in vectors if vector is not None), 1)
    blank = np.zeros(width, dtype=np.float32)
    matrix = np.stack([blank if vector is None else vector for vector in vectors])
    relevance = relevance_share * np.array([score for _, score in scored_candidates], dtype=np.float64)
    likeness = np.zeros(len(scored_candidates))
    chosen: list[int] = []
    while len(chosen) < min(max_memories, len(scored_candidates)):
        worth = relevance - (1.0 - relevance_share) * likeness
        worth[chosen] = -np.inf
        best = int(np.argmax(worth))
        chosen.append(best)
        likeness = np.maximum(likeness, matrix @ matrix[best])
    return [scored_candidates[index][0] for index in chosen]


def diverse_first(
    pool: Pool, ranking: Ranking, order: Sequence[int], *, limit: int, meanings: Mapping[UUID, Meaning]
) -> list[int]:
    """Rows of the pool, the most diverse `limit` of them, as `order` had them."""
    known = [meanings.get(pool.ids[row]) for row in order]
    chosen = set(
        select_diverse_memories(
            [(row, float(ranking.score[row])) for row in order],
            limit,
            vectors=[None if meaning is None else meaning.vector for meaning in known],
        )
    )
    return [row for row in order if row in chosen]

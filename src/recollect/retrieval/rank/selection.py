"""The last step: the best by score, without repeats, in the order in which people read them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from recollect.retrieval.rank.pool import Pool
    from recollect.retrieval.rank.scoring import Ranking

#: Two memories this close say the same.
DUPLICATE_COSINE = 0.95
# Only where a word begins: without that, every letter of every word would be tried as a beginning.
_FIGURE = re.compile(r"(?<!\w)[^\W\d]*\d[\w.:,/-]*")


@dataclass(frozen=True, slots=True)
class Meaning:
    """What a text says, for finding repeats: its unit vector, and its figures.

    Vectors hardly tell "invoice 1041 is paid" from "invoice 1042 is paid"; texts with different figures never
    repeat each other.
    """

    vector: NDArray[np.float32]
    figures: frozenset[str]

    @classmethod
    def of(cls, text: str, vector: NDArray[np.float32]) -> Meaning:
        """The meaning of a text whose vector is known."""
        return cls(vector, frozenset(_FIGURE.findall(text.casefold())))


def best_first(pool: Pool, ranking: Ranking, *, threshold: float = 0.0) -> list[int]:
    """Rows that reach the threshold, by score; then the closer, the more specific layer, the weightier, the newer.

    Scores are compared through the relevance behind them, which does not saturate at 1. Where nothing lifts a
    candidate above the noise, its plain cosine still tells which one is the closest.
    """
    rows = np.flatnonzero(ranking.score >= threshold)
    listed: list[int] = rows.tolist()
    # The last key counts first; the id is the last resort.
    keys: list[NDArray[Any]] = [np.array([pool.ids[row].int for row in listed], dtype=object)]
    if pool.created_at is not None:
        keys.append(-np.array([pool.created_at[row].timestamp() for row in listed]))
    if pool.importance is not None:
        keys.append(-pool.importance[rows])
    keys += [pool.layer[rows], -np.nan_to_num(pool.cosine[rows], nan=-1.0), -ranking.relevance[rows]]
    order: list[int] = rows[np.lexsort(keys)].tolist()
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


def select(
    pool: Pool,
    order: Sequence[int],
    *,
    limit: int,
    meanings: Mapping[UUID, Meaning] | None = None,
    apart: Sequence[str] | None = None,
) -> list[int]:
    """The rows to return: the first `limit` of `best_first`'s order, by layer precedence, then score.

    Equal texts are known by the pool's digests, near-equal ones by `meanings`, of as many memories as were loaded.
    Of repeats the first stays. A turn is never dropped: "yes" said twice is two events. Nor is what another one of the
    groups in `apart` says: that two teams do the same is an answer.
    """
    chosen: list[int] = []
    said: set[tuple[str, bytes]] = set()
    meant: dict[tuple[str, frozenset[str]], _Meant] = {}
    # Chosen rows that nothing was compared with yet: where all are turns, nobody needs to know what they mean.
    unread: list[int] = []
    for row in order:
        if len(chosen) == limit:
            break
        side = apart[row] if apart is not None else ""
        digest = pool.digest[row] if pool.digest is not None else None
        if not pool.is_turn[row]:
            if digest is not None and (side, digest) in said:
                continue
            meaning = meanings.get(pool.ids[row]) if meanings else None
            if meaning is not None and meanings is not None:
                for earlier in unread:
                    _read(meant, apart[earlier] if apart is not None else "", meanings.get(pool.ids[earlier]))
                unread.clear()
                alike = meant.get((side, meaning.figures))
                if alike is not None and alike.near(meaning.vector):
                    continue
        chosen.append(row)
        unread.append(row)
        if digest is not None:
            said.add((side, digest))
    # The sort is stable: within a layer the score's order stays.
    return sorted(chosen, key=lambda row: int(pool.layer[row]))


def _read(meant: dict[tuple[str, frozenset[str]], _Meant], side: str, meaning: Meaning | None) -> None:
    if meaning is not None:
        meant.setdefault((side, meaning.figures), _Meant()).add(meaning.vector)


class _Meant:
    """Unit vectors of texts with the same figures, in an array that doubles: each is compared with all before it."""

    __slots__ = ("_count", "_vectors")

    def __init__(self) -> None:
        self._vectors: NDArray[np.float32] = np.empty((0, 0), dtype=np.float32)
        self._count = 0

    def add(self, vector: NDArray[np.float32]) -> None:
        if self._count == len(self._vectors):
            grown = np.empty((max(4, 2 * self._count), len(vector)), dtype=np.float32)
            if self._count:
                grown[: self._count] = self._vectors
            self._vectors = grown
        self._vectors[self._count] = vector
        self._count += 1

    def near(self, vector: NDArray[np.float32]) -> bool:
        if not self._count:
            return False
        return float((self._vectors[: self._count] @ vector).max()) >= DUPLICATE_COSINE

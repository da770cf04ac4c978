"""Several sides of a matter instead of one said five times: maximal marginal relevance.

Each next memory is the one with the best balance of its own score and its likeness to those already chosen
(Carbonell and Goldstein, 1998). Thresholds have no place here: what is not relevant was left out by its
calibrated score before.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeVar
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from recollect.retrieval.rank.pool import Pool
from recollect.retrieval.rank.scoring import Ranking
from recollect.retrieval.rank.selection import Meaning

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

"""The second hop: a memory that answers by way of another.

"Who is the mother of the director of X" is answered by a memory that has no word of the question; the one about X
names the director, and the director's own memory has the mother. So the best first hits lead, by the entities they
name, to other memories, which inherit a part of their relevance.

A hit that covers the whole question leads nowhere: nothing is left to ask. Which links there are, the store says
(`Links`). Two hops were measured and gain nothing over one.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING
from uuid import UUID

import numpy as np

from recollect.retrieval.rank.pool import Floats, Links, Pool

if TYPE_CHECKING:
    from recollect.retrieval.rank.scoring import Ranking

#: How many hits may lead on.
FIRST_HITS = 5
#: What a linked memory inherits of the hit's relevance.
_INHERITED = 0.5
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
    """What each candidate inherits: from the hit that gives it most, not from all of them."""
    given = np.zeros(len(pool))
    if pool.links is None or not len(pool.links.hit):
        return given
    links = pool.links
    worth = np.maximum(relevance, 0.0) * _leads(open_share)
    np.maximum.at(given, links.target, _INHERITED * worth[links.hit] * links.share)
    return given


def _leads(open_share: Floats) -> Floats:
    leads: Floats = np.clip(open_share / _OPEN, 0.0, 1.0)
    return leads

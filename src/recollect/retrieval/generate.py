"""Second stage: the candidates.

One round trip asks the store for the best by words, the nearest by vector and the turns around them; every
candidate comes with both measures, so ranking never guesses a missing one. Which of them matter is decided in
`rank/`.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from recollect.domain.filters import Filter
from recollect.domain.memory import MemoryType
from recollect.retrieval.rank import Pool
from recollect.storage.filters import Moment
from recollect.storage.scopes import Caller
from recollect.storage.search import CandidateRequest, fetch_candidates
from recollect.storage.spaces import Space
from recollect.storage.store import Row, Transaction

#: How many of each source. Twice as many gain nothing on the development data and cost a millisecond.
LEXICAL = 100
DENSE = 100
#: How many of the best of each source bring their neighbours along, and how far those may be.
ANCHORS = 30
REACH = 2


async def generate(
    tx: Transaction,
    caller: Caller,
    *,
    terms: Sequence[str],
    vector: NDArray[np.float32],
    space: Space,
    exact: bool,
    moment: Moment,
    limit: int,
    types: Sequence[MemoryType] | None,
    filters: Filter | None,
) -> Pool:
    """The candidate pool of one query."""
    request = CandidateRequest(
        terms=terms,
        vector=vector,
        space_id=space.id,
        dimensions=space.dimensions,
        moment=moment,
        types=types,
        filters=filters,
        lexical_limit=max(LEXICAL, 2 * limit),
        dense_limit=max(DENSE, 2 * limit),
        anchors=ANCHORS,
        reach=REACH,
        exact=exact,
    )
    return to_pool(await fetch_candidates(tx, caller, request), len(terms))


def to_pool(rows: Sequence[Row], term_count: int) -> Pool:
    """Rows as columns."""
    weights = rows[0]["weights"] if rows and rows[0]["weights"] else [0.0] * term_count
    return Pool(
        ids=[row["memory_id"] for row in rows],
        cosine=np.array([_cosine(row["distance"]) for row in rows], dtype=np.float64),
        bm25=np.array([row["bm25"] for row in rows], dtype=np.float64),
        matched=np.array([row["matched"] for row in rows], dtype=np.int64),
        idf=np.array(weights, dtype=np.float64),
        conversation=[row["conversation_id"] for row in rows],
        position=np.array(
            [-1 if row["position"] is None else row["position"] for row in rows], dtype=np.int64
        ),
        speaker=[row["speaker"] for row in rows],
        layer=np.array([row["layer"] for row in rows], dtype=np.int64),
        importance=np.array([row["importance"] for row in rows], dtype=np.float64),
        created_at=[row["created_at"] for row in rows],
        digest=[bytes(row["digest"]) for row in rows],
        sources=[_sources(row) for row in rows],
    )


def _cosine(distance: float | None) -> float:
    return float("nan") if distance is None else 1.0 - distance


def _sources(row: Row) -> tuple[str, ...]:
    found = (("semantic", row["by_dense"]), ("lexical", row["by_lexical"]))
    return tuple(name for name, by in found if by) or ("neighbours",)

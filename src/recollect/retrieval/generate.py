"""Second stage: the candidates.

The best by words are looked up while the question is still being embedded; then one statement adds the nearest by
vector and the turns around them, and measures every candidate both ways, so that ranking never guesses a missing
measure. Which of them matter is decided in `rank/`.
"""

from __future__ import annotations

from collections.abc import Awaitable, Sequence

import numpy as np
from numpy.typing import NDArray

from recollect.retrieval.rank import Pool
from recollect.storage.scopes import Caller
from recollect.storage.search import (
    Conditions,
    DenseRequest,
    LexicalMatches,
    TermCounts,
    fetch_candidates,
    fetch_lexical,
)
from recollect.storage.spaces import Space
from recollect.storage.store import Row, Transaction

#: How many of each source; with neighbours that makes a hundred to two hundred. Three hundred of each change
#: recall by less than the noise, and every candidate costs two look-ups.
LEXICAL = 50
DENSE = 50
#: How many of the best of each source bring their neighbours along, and how far those may be.
ANCHORS = 25
REACH = 2


async def generate(
    tx: Transaction,
    caller: Caller,
    *,
    terms: Sequence[str],
    counts: TermCounts,
    vector: Awaitable[NDArray[np.float32]],
    space: Space,
    exact: bool,
    conditions: Conditions,
    limit: int,
) -> Pool:
    """The candidate pool of one query. `vector` may still be on its way."""
    matches = await fetch_lexical(tx, caller, terms, conditions, limit=max(LEXICAL, 2 * limit), counts=counts)
    dense = DenseRequest(
        vector=await vector,
        space_id=space.id,
        dimensions=space.dimensions,
        exact=exact,
        limit=max(DENSE, 2 * limit),
        anchors=ANCHORS,
        reach=REACH,
    )
    return to_pool(await fetch_candidates(tx, caller, matches, dense, conditions), matches)


def to_pool(rows: Sequence[Row], matches: LexicalMatches) -> Pool:
    """Rows as columns."""
    by_words = set(matches.ids)
    return Pool(
        ids=[row["memory_id"] for row in rows],
        cosine=np.array([_cosine(row["distance"]) for row in rows], dtype=np.float64),
        bm25=np.array([row["bm25"] for row in rows], dtype=np.float64),
        matched=np.array([row["matched"] for row in rows], dtype=np.int64),
        idf=np.array(matches.idf, dtype=np.float64),
        conversation=[row["conversation_id"] for row in rows],
        position=np.array(
            [-1 if row["position"] is None else row["position"] for row in rows], dtype=np.int64
        ),
        speaker=[row["speaker"] for row in rows],
        layer=np.array([row["layer"] for row in rows], dtype=np.int64),
        importance=np.array([row["importance"] for row in rows], dtype=np.float64),
        created_at=[row["created_at"] for row in rows],
        digest=[bytes(row["digest"]) for row in rows],
        sources=[_sources(row["by_dense"], row["memory_id"] in by_words) for row in rows],
    )


def _cosine(distance: float | None) -> float:
    return float("nan") if distance is None else 1.0 - distance


def _sources(by_vector: bool, by_words: bool) -> tuple[str, ...]:
    found = (("semantic", by_vector), ("lexical", by_words))
    return tuple(name for name, by in found if by) or ("neighbours",)

"""Rank: what the candidates of one question are worth, as pure functions over arrays.

`pool` holds what the store returned, `relevance` weighs what memories say and what they inherit from others, `signals`
measures time, importance and the like, and `scoring` brings all of it together by the strategy's weights and says why
in words. `calibration` turns relevance into a score from 0 to 1, `selection` takes the best, drops repeats and prefers
several sides of a matter.

Nothing here knows a database, an embedder or a clock.
"""

from recollect.retrieval.rank.calibration import PROBES, Calibration, calibration_for, measured
from recollect.retrieval.rank.pool import MAX_QUERY_TERMS, Links, Pool, inverse_frequency
from recollect.retrieval.rank.relevance import first_hits, links_between
from recollect.retrieval.rank.scoring import (
    SIGNALS,
    Judged,
    Ranking,
    compute_memory_score,
    explain,
    presupposing,
    rank,
)
from recollect.retrieval.rank.selection import (
    Meaning,
    Selection,
    best_first,
    complementing,
    diverse_first,
    in_shares,
    in_turn,
    select,
    select_diverse_memories,
)

__all__ = [
    "MAX_QUERY_TERMS",
    "PROBES",
    "SIGNALS",
    "Calibration",
    "Judged",
    "Links",
    "Meaning",
    "Pool",
    "Ranking",
    "Selection",
    "best_first",
    "calibration_for",
    "complementing",
    "compute_memory_score",
    "diverse_first",
    "explain",
    "first_hits",
    "in_shares",
    "in_turn",
    "inverse_frequency",
    "links_between",
    "measured",
    "presupposing",
    "rank",
    "select",
    "select_diverse_memories",
]

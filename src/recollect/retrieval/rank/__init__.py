"""Rank: what the candidates of one question are worth, as pure functions over arrays.

`pool` holds what the store returned, `relevance` weighs what memories say, `linked` what they inherit from others,
`signals` measures time, importance and the like, and `scoring` brings all of it together by the strategy's weights.
`calibration` turns relevance into a score from 0 to 1, `selection` takes the best and drops repeats, `diversity`
prefers several sides of a matter, `explanation` says why in words. `lexical` has the one formula that the store's SQL
must agree with.

Nothing here knows a database, an embedder or a clock.
"""

from recollect.retrieval.rank.calibration import PROBES, Calibration, calibration_for, measured
from recollect.retrieval.rank.diversity import diverse_first, select_diverse_memories
from recollect.retrieval.rank.explanation import explain
from recollect.retrieval.rank.lexical import MAX_QUERY_TERMS, inverse_frequency
from recollect.retrieval.rank.linked import first_hits, links_between
from recollect.retrieval.rank.pool import Links, Pool
from recollect.retrieval.rank.scoring import (
    SIGNALS,
    Judged,
    Ranking,
    compute_memory_score,
    presupposing,
    rank,
)
from recollect.retrieval.rank.selection import Meaning, Selection, best_first, in_shares, in_turn, select

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

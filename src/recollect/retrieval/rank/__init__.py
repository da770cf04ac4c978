"""Rank: what the candidates of one question are worth, as pure functions over arrays.

`pool` holds what the store returned, `relevance` weighs it, `calibration` turns the weight into a score
from 0 to 1, `selection` takes the best and drops repeats, `explanation` says why in words. `lexical` has
the one formula that the store's SQL must agree with.

Nothing here knows a database, an embedder or a clock.
"""

from recollect.retrieval.rank.calibration import PROBES, Calibration, calibration_for, measured
from recollect.retrieval.rank.diversity import diverse_first, select_diverse_memories
from recollect.retrieval.rank.explanation import explain
from recollect.retrieval.rank.lexical import MAX_QUERY_TERMS, inverse_frequency
from recollect.retrieval.rank.pool import Pool
from recollect.retrieval.rank.relevance import Ranking, rank
from recollect.retrieval.rank.selection import Meaning, best_first, select

__all__ = [
    "MAX_QUERY_TERMS",
    "PROBES",
    "Calibration",
    "Meaning",
    "Pool",
    "Ranking",
    "best_first",
    "calibration_for",
    "diverse_first",
    "explain",
    "inverse_frequency",
    "measured",
    "rank",
    "select",
    "select_diverse_memories",
]

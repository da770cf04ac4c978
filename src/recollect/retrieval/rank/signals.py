"""What counts beside the content: entities, time, importance, proven use. Each from 0 (or -1) to 1, by name.

The names in `Strategy.weights` are the seed's (`entity_overlap`); ours are shorter (`entity`) because people read them.
Nothing here is weighed: that is `scoring`. A column that the pool lacks gives no signal.
"""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from recollect.domain.memory import DEFAULT_IMPORTANCE, MemoryType
from recollect.domain.query import TimeRange, Understanding
from recollect.retrieval.rank.pool import Floats, Pool
from recollect.text.terms import query_terms

#: Our names of the signals a strategy weighs, and the strategy's.
WEIGHED = MappingProxyType(
    {
        "entity": "entity_overlap",
        "temporal": "temporal_relevance",
        "importance": "importance",
        "reinforcement": "reinforcement",
    }
)

_DAY_S = 86_400.0
# Outside of the asked period a memory fades within weeks; when no period is asked, age fades within a year.
_FADING_PER_DAY = 0.1
_AGEING_PER_DAY = 0.01
# A pool is taken as a part of a larger one, or the only note about something would be a common one.
_SUPPOSED = 20
_COMMON_SHARE = 0.15
# Uses count by their logarithm; 150 of them are full reinforcement. Feedback moves it by up to a half.
_USES_SCALE = 5.0
_UTILITY_SHARE = 0.5

# Words that ask for whatever there was.
_ANYTHING = frozenset(
    query_terms(
        "happen happened happening event events thing things stuff say said tell told talk talked discuss discussed "
        "know learn learned new going went show list remember memory memories note notes anything everything summary"
    )
)


def measure_signals(pool: Pool, asked: Understanding, *, off: Collection[str] = ()) -> dict[str, Floats]:
    """The strength of every signal beside the content, for each candidate."""
    nothing = np.zeros(len(pool))
    found = {
        "entity": entity_overlap(pool) if asked.entities else nothing,
        "temporal": temporal_relevance(pool, asked.time_range, now=asked.now),
        "importance": importance(pool),
        "reinforcement": reinforcement(pool),
    }
    return {name: nothing if name in off else strength for name, strength in found.items()}


def entity_overlap(pool: Pool) -> Floats:
    """1 for a memory about something the question names, less for one that only mentions it.

    The more candidates are about it the less it tells: in a talk of two people half of the turns are about the one
    asked for. At a seventh of the pool it is worth half.
    """
    if pool.about is None:
        return np.zeros(len(pool))
    about: Floats = np.nan_to_num(pool.about)
    share = float(about.sum()) / (len(pool) + _SUPPOSED)
    return about / (1.0 + (share / _COMMON_SHARE) ** 2)


def temporal_relevance(pool: Pool, asked: TimeRange | None, *, now: datetime) -> Floats:
    """In the asked period 1, fading outside; no period asked: the newer, the more. Dates ahead age like past ones."""
    if pool.event_at is None:
        return np.zeros(len(pool))
    moments = np.array([moment.timestamp() for moment in pool.event_at], dtype=np.float64)
    if asked is None or (asked.start is None and asked.end is None):
        return np.exp(-_AGEING_PER_DAY * np.abs(now.timestamp() - moments) / _DAY_S)
    outside_s = np.zeros(len(pool))
    if asked.start is not None:
        outside_s = np.maximum(outside_s, asked.start.timestamp() - moments)
    if asked.end is not None:
        outside_s = np.maximum(outside_s, moments - asked.end.timestamp())
    return np.exp(-_FADING_PER_DAY * outside_s / _DAY_S)


def importance(pool: Pool) -> Floats:
    """How much more (or less) important a memory is than others of its type start out.

    What a member tells a shared scope is never more important than usual: that is for those to say who lead it.
    """
    if pool.importance is None:
        return np.zeros(len(pool))
    by_type = {str(kind): value for kind, value in DEFAULT_IMPORTANCE.items()}
    ordinary = DEFAULT_IMPORTANCE[MemoryType.EPISODIC]
    kinds = pool.type or [MemoryType.EPISODIC] * len(pool)
    usual_of = {kind: by_type.get(str(kind), ordinary) for kind in set(kinds)}
    usual: Floats = np.array([usual_of[kind] for kind in kinds], dtype=np.float64)
    most = [np.inf if author is None else 0.0 for author in pool.author or [None] * len(pool)]
    return np.minimum(pool.importance - usual, most)


def reinforcement(pool: Pool) -> Floats:
    """How often it was used, and whether that helped; never used and never judged is 0."""
    used = np.zeros(len(pool))
    if pool.use_count is not None:
        used = np.minimum(1.0, np.log1p(np.maximum(pool.use_count, 0)) / _USES_SCALE)
    if pool.utility is None:
        return used
    judged: Floats = np.clip(used + _UTILITY_SHARE * np.nan_to_num(pool.utility), -1.0, 1.0)
    return judged


def is_summary(pool: Pool) -> NDArray[np.bool_]:
    """Which candidates sum others up."""
    summaries = {kind for kind in set(pool.type or ()) if str(kind) == MemoryType.SUMMARY}
    if pool.type is None or not summaries:
        return np.zeros(len(pool), dtype=bool)
    return np.array([kind in summaries for kind in pool.type], dtype=bool)


def asks_only_when(asked: Understanding) -> bool:
    """Whether a question is about a period and nothing else: "what happened last weekend?"."""
    if asked.time_range is None:
        return False
    return not set(asked.terms) - set(query_terms(asked.time_range.phrase)) - _ANYTHING

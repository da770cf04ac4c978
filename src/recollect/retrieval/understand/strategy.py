"""Which signals count how much for which kind of question.

The table is the default; weights that were learned, or an experiment's, replace it (`strategy_for` in
`understand`). What a signal is worth for one memory is computed in `rank/`.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from recollect.domain.query import Category, QueryType, Strategy


def _weights(
    semantic: float, entity: float, temporal: float, importance: float, reinforcement: float
) -> Mapping[str, float]:
    return MappingProxyType(
        {
            "semantic_similarity": semantic,
            "entity_overlap": entity,
            "temporal_relevance": temporal,
            "importance": importance,
            "reinforcement": reinforcement,
        }
    )


STRATEGY_WEIGHTS: Mapping[str, Mapping[str, float]] = MappingProxyType(
    {
        # It must be about the thing that is named.
        "factual_entity_focused": _weights(0.25, 0.40, 0.20, 0.10, 0.05),
        # Procedures are general, and the proven ones matter.
        "procedural": _weights(0.45, 0.05, 0.05, 0.15, 0.30),
        "exploratory": _weights(0.35, 0.25, 0.15, 0.20, 0.05),
        # Trends over time, and what had impact.
        "analytical": _weights(0.30, 0.15, 0.25, 0.25, 0.05),
    }
)


def select_strategy(query_type: QueryType) -> Strategy:
    """The weights of the table for a question."""
    if query_type.procedural:
        name = "procedural"
    elif query_type.entity_focused and query_type.category is Category.FACTUAL:
        name = "factual_entity_focused"
    elif query_type.category is Category.ANALYTICAL:
        name = "analytical"
    else:
        name = "exploratory"
    return Strategy(name=name, weights=STRATEGY_WEIGHTS[name])

"""First stage: what is asked.

`read_query` is what the words alone tell: terms, category, strategy. It needs no model and no database.
"""

from __future__ import annotations

from datetime import UTC, datetime

from recollect.domain.query import Category, QueryType, Understanding
from recollect.domain.text import check_text
from recollect.retrieval.rank.lexical import MAX_QUERY_TERMS
from recollect.retrieval.terms import query_terms
from recollect.retrieval.understand.strategy import STRATEGY_WEIGHTS, select_strategy

__all__ = ["MAX_QUERY_CHARS", "STRATEGY_WEIGHTS", "Understanding", "read_query", "select_strategy"]

#: Ten thousand words; what is longer is a document, not a question.
MAX_QUERY_CHARS = 60_000


def read_query(query: str, *, now: datetime | None = None) -> Understanding:
    """What the words of a query tell without looking anything up."""
    text = check_text(query, what="query", limit=MAX_QUERY_CHARS)
    found = query_terms(text)
    notes = []
    if len(found) > MAX_QUERY_TERMS:
        notes.append(
            f"the query has {len(found)} distinct terms; the lexical search used the first {MAX_QUERY_TERMS}"
        )
    kind = QueryType(category=Category.EXPLORATORY)
    return Understanding(
        query=text,
        terms=tuple(found[:MAX_QUERY_TERMS]),
        type=kind,
        strategy=select_strategy(kind),
        now=now or datetime.now(UTC),
        notes=tuple(notes),
    )

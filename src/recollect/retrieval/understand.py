"""First stage: what is asked.

No model, no database: the query's terms for the lexical index. Entities, time ranges and query categories
will join here.
"""

from __future__ import annotations

from dataclasses import dataclass

from recollect.domain.text import check_text
from recollect.retrieval.rank.lexical import MAX_QUERY_TERMS
from recollect.retrieval.terms import query_terms

#: Ten thousand words; what is longer is a document, not a question.
MAX_QUERY_CHARS = 60_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Understanding:
    """A query as the later stages see it."""

    query: str
    terms: tuple[str, ...]
    notes: tuple[str, ...] = ()


def understand(query: str) -> Understanding:
    """Read a query."""
    text = check_text(query, what="query", limit=MAX_QUERY_CHARS)
    found = query_terms(text)
    notes = []
    if len(found) > MAX_QUERY_TERMS:
        notes.append(
            f"the query has {len(found)} distinct terms; the lexical search used the first {MAX_QUERY_TERMS}"
        )
    return Understanding(query=text, terms=tuple(found[:MAX_QUERY_TERMS]), notes=tuple(notes))

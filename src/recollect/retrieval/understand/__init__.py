"""First stage: what is asked.

`read_query` is what the words alone tell: terms, category, times, strategy. `understand` adds what the store knows of
the names in it, in one statement. No model is needed. Entities are resolved in resolve.py; words, times and
what is wanted are read in `text/`.

Which signals count how much for which kind of question is a table here; weights that were learned, or an experiment's,
replace it (`strategy_for`). What a signal is worth for one memory is computed in `rank/`.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, tzinfo
from types import MappingProxyType
from uuid import UUID

from recollect.domain.ontology import Ontology
from recollect.domain.query import Category, QueryType, Strategy, Understanding
from recollect.domain.text import check_text
from recollect.retrieval.anchors import anchored_scope
from recollect.retrieval.rank.pool import MAX_QUERY_TERMS
from recollect.retrieval.understand.resolve import (
    FindInDomain,
    extract_query_entities,
    read_mentions,
    resolve_entity,
)
from recollect.storage.store import Transaction
from recollect.text.aim import read_aim
from recollect.text.classify import classify_query
from recollect.text.names import find_names
from recollect.text.terms import query_terms
from recollect.text.times import read_times


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


__all__ = [
    "MAX_QUERY_CHARS",
    "STRATEGY_WEIGHTS",
    "Understanding",
    "classify_query",
    "date_by_events",
    "extract_query_entities",
    "find_names",
    "read_query",
    "resolve_entity",
    "select_strategy",
    "understand",
]

#: Ten thousand words; what is longer is a document, not a question.
MAX_QUERY_CHARS = 60_000
#: Times and names are read from the beginning; nobody dates a question on its tenth page.
_READ_CHARS = 4_000

StrategyFor = Callable[[QueryType, Strategy], Awaitable[Strategy]]


def read_query(
    query: str,
    *,
    now: datetime | None = None,
    timezone: tzinfo = UTC,
    ontology: Ontology | None = None,
) -> Understanding:
    """What the words of a query tell without looking anything up."""
    text = check_text(query, what="query", limit=MAX_QUERY_CHARS)
    now = now or datetime.now(UTC)
    terms = query_terms(text)
    notes = []
    if len(terms) > MAX_QUERY_TERMS:
        notes.append(
            f"the query has {len(terms)} distinct terms; the lexical search used the first {MAX_QUERY_TERMS}"
        )
    if len(text) > _READ_CHARS:
        notes.append(
            f"the query is long; names and times were read from its first {_READ_CHARS:,} characters"
        )
    times = read_times(text[:_READ_CHARS], now=now, timezone=timezone)
    kind = classify_query(text, time_range=times.scope, domain_terms=_domain_terms(ontology))
    return Understanding(
        query=text,
        terms=tuple(terms[:MAX_QUERY_TERMS]),
        type=kind,
        strategy=select_strategy(kind),
        time_range=times.scope,
        now=now,
        aim=read_aim(text),
        notes=(*notes, *times.notes),
    )


async def understand(
    tx: Transaction,
    query: str,
    *,
    now: datetime,
    timezone: tzinfo = UTC,
    session: str | None = None,
    scope_ids: Sequence[UUID] | None = None,
    find_in_domain: FindInDomain | None = None,
    ontology: Ontology | None = None,
    strategy_for: StrategyFor | None = None,
    date_events: bool = True,
) -> Understanding:
    """What is asked: category and flags, entities, time range, strategy.

    `session` is where pronouns look back; `scope_ids` narrows which memories may date an event; `find_in_domain` and
    `ontology` are the tenant's own database, if there is one; `strategy_for` may replace the table's weights by
    learned ones. Without `date_events` what "before the launch" means is left to `date_by_events`, which takes longest.
    """
    asked = read_query(query, now=now, timezone=timezone, ontology=ontology)
    entities, notes = await extract_query_entities(
        tx,
        read_mentions(asked.query),
        now=now,
        session=session if session is not None else tx.context.session_id,
        find_in_domain=find_in_domain,
        needs_rows=asked.type.requires_domain_db,
    )
    asked = replace(asked, entities=tuple(entities), notes=(*asked.notes, *notes))
    if date_events:
        asked = await date_by_events(tx, asked, timezone=timezone, scope_ids=scope_ids)
    return await _classified(asked, ontology, strategy_for)


async def date_by_events(
    tx: Transaction,
    asked: Understanding,
    *,
    timezone: tzinfo = UTC,
    scope_ids: Sequence[UUID] | None = None,
    ontology: Ontology | None = None,
) -> Understanding:
    """The question with the time that an event in it stands for, and what follows from that; most name no event."""
    query = asked.query[:_READ_CHARS]
    time_range, dated = await anchored_scope(
        tx, query, asked.time_range, now=asked.now, timezone=timezone, scope_ids=scope_ids
    )
    if time_range == asked.time_range:
        return replace(asked, notes=(*asked.notes, *dated))
    asked = replace(asked, time_range=time_range, notes=(*asked.notes, *dated))
    return await _classified(asked, ontology, None)


async def _classified(
    asked: Understanding, ontology: Ontology | None, strategy_for: StrategyFor | None
) -> Understanding:
    """The category of what is known by now, and its strategy."""
    kind = classify_query(
        asked.query,
        entities=asked.entities,
        time_range=asked.time_range,
        domain_terms=_domain_terms(ontology),
    )
    strategy = select_strategy(kind)
    if strategy_for is not None:
        strategy = await strategy_for(kind, strategy)
    return replace(asked, type=kind, strategy=strategy)


def _domain_terms(ontology: Ontology | None) -> tuple[str, ...] | None:
    """The words a tenant has declared for what its database holds."""
    if not ontology:
        return None
    types = [word for kind in ontology.types.values() for word in (kind.name, kind.plural, *kind.words)]
    measures = [word for measure in ontology.measures.values() for word in (measure.title, *measure.words)]
    return tuple(dict.fromkeys([*types, *measures]))

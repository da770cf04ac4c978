"""The candidates of a query (sql/search.sql), and what hits show.

Words and vectors are two statements, so that the words can be looked up while the question is being embedded;
the second brings everything together. Nothing is weighed here: that is retrieval/rank.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any
from uuid import UUID

import numpy as np
from numpy.typing import NDArray
from pgvector import HalfVector
from psycopg import sql

from recollect.domain.filters import Filter
from recollect.domain.memory import MemoryType
from recollect.domain.query import TimeRange
from recollect.storage.filters import (
    TRUE,
    Moment,
    Parameters,
    all_of,
    believed,
    compile_filter,
    of_types,
)
from recollect.storage.scopes import Caller
from recollect.storage.sql import compose
from recollect.storage.store import Ids, Numbers, Row, Texts, Transaction

#: How many postings may find candidates. Below it every term does, and BM25's order is exact; a store of a few
#: thousand memories never reaches it.
POSTING_BUDGET = 2_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Conditions:
    """Which memories may be found at all."""

    moment: Moment
    types: Sequence[MemoryType] | None = None
    filters: Filter | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class LexicalMatches:
    """The best by words, the weight of each term among what the caller sees, and whether it led to them."""

    terms: Sequence[str]
    ids: Sequence[UUID]
    idf: Sequence[float]
    leads: Sequence[bool]


NO_MATCHES = LexicalMatches(terms=(), ids=(), idf=(), leads=())


@dataclass(frozen=True, slots=True, kw_only=True)
class Sources:
    """What else may find candidates: the entities and the time a question names, and the types it asks for."""

    entities: Sequence[str] = ()
    time_range: TimeRange | None = None
    procedures: bool = False
    summaries: bool = False
    #: How many candidates each source may bring.
    entity_limit: int = 30
    time_limit: int = 30
    type_limit: int = 20
    summary_limit: int = 5


NO_SOURCES = Sources()
#: How many of the newest a source looks through for the nearest; each costs one look-up by key.
_SCAN = 300
#: The second hop: how many memories it may bring, and how many may share an entity before it says nothing.
LINKED = 30
COMMON_ENTITY = 20
#: Of each answer, so many that were said later and are most like it.
SAID_LATER = 6
#: And how widely the index looks around for them; it looks on while they are too few.
_LATER_BREADTH = 60
#: Of each entity, so many memories that are about it, and so many that name it.
_ABOUT_LIMIT = 5
_NAMING_LIMIT = 20
_LONG_AGO = datetime(1, 1, 2, tzinfo=UTC)
_FAR_AHEAD = datetime(9998, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class DenseRequest:
    """The question as a vector, and how to look for what is near it."""

    vector: NDArray[np.float32]
    space_id: int
    dimensions: int
    #: How widely the vector index looks around; None compares every vector.
    breadth: int | None
    limit: int
    anchors: int
    reach: int


async def fetch_lexical(
    tx: Transaction,
    caller: Caller,
    terms: Sequence[str],
    conditions: Conditions,
    *,
    limit: int,
    counts: TermCounts,
    posting_budget: int = POSTING_BUDGET,
) -> LexicalMatches:
    """The best memories by BM25. Needs no vector, so it runs while the question is being embedded."""
    if not terms:
        return NO_MATCHES
    parameters = Parameters()
    where = where_of(conditions, parameters)[0]
    statement = _lexical_statement(await tx.partition(), caller.scope_ids is not None, where.as_string(None))
    known = counts.known(tx.context.tenant_id, caller, terms, posting_budget)
    [row] = await tx.fetch_statement(
        statement,
        {
            "scopes": caller.scope_ids,
            "terms": Texts(terms),
            "known": Numbers(known),
            "posting_budget": posting_budget,
            "lexical_limit": limit,
            **corpus(caller),
            **parameters.values,
        },
    )
    new = {term: df for term, df, count in zip(terms, row["df"], known, strict=True) if count is None}
    counts.learn(tx.context.tenant_id, caller, new, posting_budget)
    return LexicalMatches(terms=terms, ids=row["ids"] or [], idf=row["idf"], leads=row["leads"])


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """What the text of a statement depends on; values are parameters, so shapes are few. `only`: but for belief."""

    partition: int | None
    dimensions: int
    space_id: int
    narrowed: bool
    where: str
    only: str

    def slots(self, *scoped: str) -> dict[str, sql.Composable]:
        """The pieces that every text has, with the condition on scopes for each table named."""
        known = tables(self.partition)
        join = "join {memory} m on m.tenant_id = e.tenant_id and m.memory_id = e.memory_id"
        unconditional = self.only == TRUE.as_string(None)
        return {
            **known,
            "where": sql.SQL(self.where),
            "dense_where": sql.SQL(self.only),
            "dense_join": sql.SQL("" if unconditional else join).format(**known),
            "dimensions": sql.Literal(self.dimensions),
            "space": sql.Literal(self.space_id),
            "about": sql.SQL("0::float8"),
            "links": sql.SQL("null::uuid[] as link_hits"),
            **{f"scopes_{table}": in_scopes(table, self.narrowed) for table in scoped},
        }


async def shaped(
    tx: Transaction, caller: Caller, lexical: LexicalMatches, dense: DenseRequest, conditions: Conditions
) -> tuple[Shape, dict[str, Any]]:
    """The shape of a question, and the values that every statement of it takes."""
    parameters = Parameters()
    where, only = where_of(conditions, parameters)
    shape = Shape(
        partition=await tx.partition(),
        dimensions=dense.dimensions,
        space_id=dense.space_id,
        narrowed=caller.scope_ids is not None,
        where=where.as_string(None),
        only=only.as_string(None),
    )
    values = {
        "scopes": caller.scope_ids,
        "terms": Texts(lexical.terms),
        "idf": Numbers(lexical.idf),
        "vector": HalfVector(dense.vector),
        "space": dense.space_id,
        "at": conditions.moment.at,
        "known_by": conditions.moment.known_by,
        **corpus(caller),
        **parameters.values,
    }
    return shape, values


async def fetch_candidates(
    tx: Transaction,
    caller: Caller,
    lexical: LexicalMatches,
    dense: DenseRequest,
    conditions: Conditions,
    sources: Sources = NO_SOURCES,
) -> list[Any]:
    """The pool: what words, vectors and other sources find, and neighbours, each with all measures."""
    shape, values = await shaped(tx, caller, lexical, dense, conditions)
    period = sources.time_range
    values |= {
        "lexical": Ids(lexical.ids),
        "entities": Texts(sources.entities),
        "range_start": (period.start if period else None) or _LONG_AGO,
        "range_end": (period.end if period else None) or _FAR_AHEAD,
        "dense_limit": dense.limit,
        "breadth": str(dense.breadth),
        "anchors": dense.anchors,
        "reach": dense.reach,
    }
    statement = _candidates_statement(shape, dense.breadth is None, _found_shape(sources))
    return await tx.fetch_records(statement, values)


async def fetch_linked(
    tx: Transaction,
    caller: Caller,
    hits: Sequence[UUID],
    lexical: LexicalMatches,
    dense: DenseRequest,
    conditions: Conditions,
    entities: Sequence[str],
    *,
    answers: Sequence[UUID] = (),
) -> list[Any]:
    """Where the best hits lead: memories that share an entity with them, each with all measures and its links.

    And what was said later and is most like one of `answers`.
    """
    if not hits and not answers:
        return []
    shape, values = await shaped(tx, caller, lexical, dense, conditions)
    values |= {"hits": Ids(hits), "answers": Ids(answers), "entities": Texts(entities)}
    return await tx.fetch_records(
        _linked_statement(shape, dense.breadth is None if answers else None), values
    )


def where_of(conditions: Conditions, parameters: Parameters) -> tuple[sql.Composable, sql.Composable]:
    """All conditions, and those beside belief (which vectors carry themselves)."""
    only = all_of(of_types(conditions.types, parameters), compile_filter(conditions.filters, parameters))
    return all_of(believed(conditions.moment, parameters), only), only


def corpus(caller: Caller) -> dict[str, float]:
    """How many memories BM25 is about, and how long they are on average."""
    memories = max(caller.memories, 1)
    return {"n": float(memories), "avg_dl": max(caller.terms / memories, 1.0)}


@lru_cache(maxsize=256)
def _lexical_statement(partition: int | None, narrowed: bool, where: str) -> str:
    """The text of `lexical` for one shape of question; values are parameters, so shapes are few."""
    slots = {**tables(partition), "where": sql.SQL(where), "scopes_p": in_scopes("p", narrowed)}
    return compose("lexical", slots).as_string(None)


@lru_cache(maxsize=256)
def _candidates_statement(shape: Shape, exact: bool, sources: tuple[tuple[str, int], ...]) -> str:
    """The text of `candidates` for one shape of question."""
    slots = shape.slots("e", "n")
    slots["scopes_m"] = sql.SQL("m.scope_id = any(%(scopes)s::uuid[])" if shape.narrowed else "true")
    slots["dense"] = compose("dense_exact" if exact else "dense_index", slots)
    pieces = [_found_piece(source, limit, slots) for source, limit in sources]
    slots["found"] = sql.SQL(" union all ").join(pieces) if pieces else compose("found_nothing")
    if any(source == "entity" for source, _ in sources):
        slots["about"] = compose("about")
    slots["measured"] = compose("measured", slots)
    return compose("candidates", slots).as_string(None)


@lru_cache(maxsize=256)
def _linked_statement(shape: Shape, exact: bool | None) -> str:
    """The text of `linked` for one shape of question; `exact` is how to find what was said later, None not at all."""
    slots: dict[str, sql.Composable] = {
        **shape.slots("t", "e"),
        "about": compose("about"),
        "links": compose("links"),
        "limit": sql.Literal(LINKED),
        "common": sql.Literal(COMMON_ENTITY),
        "about_limit": sql.Literal(_ABOUT_LIMIT),
        "naming_limit": sql.Literal(_NAMING_LIMIT),
        "nearness": sql.SQL("+ 0" if exact else ""),
        "later_limit": sql.Literal(SAID_LATER),
        "breadth": sql.Literal(str(_LATER_BREADTH)),
        "dense": compose("dense_nothing"),
    }
    slots["later"] = compose("said_later" if exact is not None else "dense_nothing", slots)
    slots["measured"] = compose("measured", slots)
    return compose("linked", slots).as_string(None)


def _found_shape(sources: Sources) -> tuple[tuple[str, int], ...]:
    """Which sources a question asks, and for how many; questions of one shape share a statement."""
    shape = []
    if sources.entities:
        shape.append(("entity", sources.entity_limit))
    if sources.time_range is not None:
        shape.append(("temporal", sources.time_limit))
    if sources.procedures:
        shape.append(("procedural", sources.type_limit))
    if sources.summaries:
        shape.append(("summary", sources.summary_limit))
    return tuple(shape)


def _found_piece(source: str, limit: int, slots: Mapping[str, sql.Composable]) -> sql.Composable:
    name = {"entity": "found_by_entity", "temporal": "found_by_time"}.get(source, "found_by_type")
    label = {"procedural": "type", "summary": "summaries"}.get(source, source)
    # Limits stand in the text: a plan that is kept would take parameters for a tenth of the table.
    scan = 2 * limit if source == "entity" else _SCAN
    filled = {"limit": sql.Literal(limit), "scan": sql.Literal(scan)}
    filled |= {"type": sql.Literal(source), "source": sql.Literal(label)}
    return sql.SQL("({})").format(compose(name, {**slots, **filled}))


def tables(partition: int | None) -> dict[str, sql.Composable]:
    """The tenant's own partitions: planning for one table instead of sixteen, and plans that can be kept.

    Each partition has its parent's policies, so naming it directly opens nothing. A cluster finds the shard itself.
    """
    return {
        table: sql.Identifier("recollect", table if partition is None else f"{table}_{partition}")
        for table in ("memory", "posting", "embedding")
    }


@lru_cache(maxsize=16)
def _hits_statement(partition: int | None) -> str:
    return compose("fetch_hits", tables(partition)).as_string(None)


def in_scopes(table: str, narrowed: bool) -> sql.Composable:
    """The condition that narrows a table to the visible scopes, where these are known."""
    return sql.SQL(f"and {table}.scope_id = any(%(scopes)s::uuid[])" if narrowed else "")


class TermCounts:
    """In how many memories common terms stand, remembered while there are about as many memories.

    Counting a common term is most of the work of a lexical search, and its weight hardly changes. Counts are kept
    for exactly the scopes they were counted in, and as far as the budget of postings let them be counted: another
    caller's never mix in.
    """

    #: Rarer terms are counted as fast as they are looked up.
    COMMON = 200
    #: How many more or fewer memories there may be, as a share.
    DRIFT = 0.02
    MOST = 50_000

    def __init__(self) -> None:
        self._counts: dict[tuple[object, str], tuple[float, int]] = {}

    def known(self, tenant: str, caller: Caller, terms: Sequence[str], budget: int) -> list[float | None]:
        """The counts that still hold."""
        where, spare = _key(tenant, caller, budget), self.DRIFT * caller.memories
        entries = (self._counts.get((where, term)) for term in terms)
        return [
            entry[0] if entry is not None and abs(entry[1] - caller.memories) <= spare else None
            for entry in entries
        ]

    def learn(self, tenant: str, caller: Caller, counted: Mapping[str, float], budget: int) -> None:
        """Keep the counts of common terms."""
        if len(self._counts) > self.MOST:
            self._counts.clear()
        where = _key(tenant, caller, budget)
        for term, count in counted.items():
            if count >= self.COMMON:
                self._counts[where, term] = (count, caller.memories)


def _key(tenant: str, caller: Caller, budget: int) -> object:
    return tenant, None if caller.scope_ids is None else tuple(sorted(caller.scope_ids)), budget


async def fetch_hits(tx: Transaction, ids: Sequence[UUID], space_id: int) -> dict[UUID, Row]:
    """What hits show, by id, and the first vector of each, by which repeats are known."""
    statement = _hits_statement(await tx.partition())
    rows = await tx.fetch_statement(statement, {"ids": Ids(ids), "space": space_id})
    return {row["memory_id"]: row for row in rows}

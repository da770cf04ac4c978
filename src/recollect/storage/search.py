"""The candidates of a query (sql/search.sql), and what hits show.

Words and vectors are two statements, so that the words can be looked up while the question is being embedded;
the second brings everything together. Nothing is weighed here: that is retrieval/rank.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from uuid import UUID

import numpy as np
from numpy.typing import NDArray
from pgvector import HalfVector
from psycopg import sql

from recollect.domain.filters import Filter
from recollect.domain.memory import MemoryType
from recollect.storage.filters import TRUE, Moment, Parameters, all_of, believed, compile_filter, of_types
from recollect.storage.scopes import Caller
from recollect.storage.store import Row, Transaction, compose

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
class DenseRequest:
    """The question as a vector, and how to look for what is near it."""

    vector: NDArray[np.float32]
    space_id: int
    dimensions: int
    exact: bool
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
) -> LexicalMatches:
    """The best memories by BM25. Needs no vector, so it runs while the question is being embedded."""
    if not terms:
        return NO_MATCHES
    parameters = Parameters()
    where = _where(conditions, parameters)[0]
    statement = _lexical_statement(await tx.partition(), caller.scope_ids is not None, where.as_string(None))
    known = counts.known(tx.context.tenant_id, caller, terms)
    [row] = await tx.fetch_statement(
        statement,
        {
            "scopes": caller.scope_ids,
            "terms": list(terms),
            "known": known,
            "posting_budget": POSTING_BUDGET,
            "lexical_limit": limit,
            **_corpus(caller),
            **parameters.values,
        },
    )
    new = {term: df for term, df, count in zip(terms, row["df"], known, strict=True) if count is None}
    counts.learn(tx.context.tenant_id, caller, new)
    return LexicalMatches(terms=terms, ids=row["ids"] or [], idf=row["idf"], leads=row["leads"])


async def fetch_candidates(
    tx: Transaction, caller: Caller, lexical: LexicalMatches, dense: DenseRequest, conditions: Conditions
) -> list[Row]:
    """The pool: the best by words, the nearest by vector, their neighbours, each with both measures."""
    parameters = Parameters()
    where, only = _where(conditions, parameters)
    statement = _candidates_statement(
        await tx.partition(),
        "dense_exact" if dense.exact else "dense_index",
        dense.dimensions,
        dense.space_id,
        caller.scope_ids is not None,
        where.as_string(None),
        only.as_string(None),
    )
    return await tx.fetch_statement(
        statement,
        {
            "scopes": caller.scope_ids,
            "terms": list(lexical.terms),
            "idf": list(lexical.idf),
            "leads": list(lexical.leads),
            "lexical": list(lexical.ids),
            "vector": HalfVector(dense.vector),
            "space": dense.space_id,
            "at": conditions.moment.at,
            "known_by": conditions.moment.known_by,
            "dense_limit": dense.limit,
            "anchors": dense.anchors,
            "reach": dense.reach,
            **_corpus(caller),
            **parameters.values,
        },
    )


def _where(conditions: Conditions, parameters: Parameters) -> tuple[sql.Composable, sql.Composable]:
    """All conditions, and those beside belief (which vectors carry themselves)."""
    only = all_of(of_types(conditions.types, parameters), compile_filter(conditions.filters, parameters))
    return all_of(believed(conditions.moment, parameters), only), only


def _corpus(caller: Caller) -> dict[str, float]:
    """How many memories BM25 is about, and how long they are on average."""
    memories = max(caller.memories, 1)
    return {"n": float(memories), "avg_dl": max(caller.terms / memories, 1.0)}


@lru_cache(maxsize=256)
def _lexical_statement(partition: int, narrowed: bool, where: str) -> str:
    """The text of `lexical` for one shape of question; values are parameters, so shapes are few."""
    slots = {**_tables(partition), "where": sql.SQL(where), "scopes_p": _scopes("p", narrowed)}
    return compose("lexical", slots).as_string(None)


@lru_cache(maxsize=256)
def _candidates_statement(
    partition: int, form: str, dimensions: int, space_id: int, narrowed: bool, where: str, only: str
) -> str:
    """The text of `candidates` for one shape of question."""
    unconditional = only == TRUE.as_string(None)
    join = "join {memory} m on m.tenant_id = e.tenant_id and m.memory_id = e.memory_id"
    slots: dict[str, sql.Composable] = {
        **_tables(partition),
        "where": sql.SQL(where),
        "dense_where": sql.SQL(only),
        "dense_join": sql.SQL("" if unconditional else join).format(**_tables(partition)),
        "dimensions": sql.Literal(dimensions),
        "space": sql.Literal(space_id),
        "scopes_e": _scopes("e", narrowed),
    }
    slots["dense"] = compose(form, slots)
    return compose("candidates", slots).as_string(None)


def _tables(partition: int) -> dict[str, sql.Composable]:
    """The tenant's own partitions: planning for one table instead of sixteen, and plans that can be kept.

    Each partition has its parent's policies, so naming it directly opens nothing.
    """
    return {
        table: sql.Identifier("recollect", f"{table}_{partition}")
        for table in ("memory", "posting", "embedding")
    }


@lru_cache(maxsize=16)
def _hits_statement(partition: int) -> str:
    return compose("fetch_hits", _tables(partition)).as_string(None)


def _scopes(table: str, narrowed: bool) -> sql.Composable:
    return sql.SQL(f"and {table}.scope_id = any(%(scopes)s::uuid[])" if narrowed else "")


class TermCounts:
    """In how many memories common terms stand, remembered for a minute.

    Counting a common term is most of the work of a lexical search, and its count hardly changes. Counts are kept
    for exactly the scopes they were counted in: another caller's never mix in.
    """

    #: Rarer terms are counted as fast as they are looked up.
    COMMON = 200
    KEPT_S = 60.0
    MOST = 50_000

    def __init__(self) -> None:
        self._counts: dict[tuple[str, object, str], tuple[float, float]] = {}

    def known(self, tenant: str, caller: Caller, terms: Sequence[str]) -> list[float | None]:
        """The counts that are still fresh."""
        now, scopes = time.monotonic(), _scope_key(caller)
        found = (self._counts.get((tenant, scopes, term)) for term in terms)
        return [entry[0] if entry is not None and entry[1] > now else None for entry in found]

    def learn(self, tenant: str, caller: Caller, counted: Mapping[str, float]) -> None:
        """Keep the counts of common terms."""
        if len(self._counts) > self.MOST:
            self._counts.clear()
        until, scopes = time.monotonic() + self.KEPT_S, _scope_key(caller)
        for term, count in counted.items():
            if count >= self.COMMON:
                self._counts[tenant, scopes, term] = (count, until)


def _scope_key(caller: Caller) -> object:
    return None if caller.scope_ids is None else tuple(sorted(caller.scope_ids))


async def fetch_hits(tx: Transaction, ids: Sequence[UUID], space_id: int) -> dict[UUID, Row]:
    """What hits show, by id, and the first vector of each, by which repeats are known."""
    statement = _hits_statement(await tx.partition())
    rows = await tx.fetch_statement(statement, {"ids": list(ids), "space": space_id})
    return {row["memory_id"]: row for row in rows}

"""The candidates of a query, from one statement (sql/search.sql), and what hits show.

The only decision here is the one TECH could measure: compare every visible vector up to `exact_rows` of them
(about a microsecond each, nothing missed), walk the HNSW index beyond.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
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


@dataclass(frozen=True, slots=True, kw_only=True)
class CandidateRequest:
    """What to look for: terms and vector, conditions, and how many of each."""

    terms: Sequence[str]
    vector: NDArray[np.float32] | None
    space_id: int
    dimensions: int
    moment: Moment
    types: Sequence[MemoryType] | None = None
    filters: Filter | None = None
    lexical_limit: int
    dense_limit: int
    anchors: int
    reach: int
    exact: bool


async def fetch_candidates(tx: Transaction, caller: Caller, request: CandidateRequest) -> list[Row]:
    """The pool: best by words, nearest by vector, their neighbours, each with both measures."""
    parameters = Parameters()
    narrowed = caller.scope_ids is not None
    only = all_of(of_types(request.types, parameters), compile_filter(request.filters, parameters))
    slots: dict[str, sql.Composable] = {
        "where": all_of(believed(request.moment, parameters), only),
        "dense_where": only,
        "dense_join": sql.SQL("")
        if only == TRUE
        else sql.SQL("join recollect.memory m on m.tenant_id = e.tenant_id and m.memory_id = e.memory_id"),
        "dimensions": sql.Literal(request.dimensions),
        "space": sql.Literal(request.space_id),
        "scopes_p": sql.SQL("and p.scope_id = any(%(scopes)s::uuid[])" if narrowed else ""),
        "scopes_e": sql.SQL("and e.scope_id = any(%(scopes)s::uuid[])" if narrowed else ""),
    }
    form = "dense_none" if request.vector is None else "dense_exact" if request.exact else "dense_index"
    slots["dense"] = compose(form, slots)
    return await tx.fetch(
        "candidates",
        slots,
        scopes=caller.scope_ids,
        terms=list(request.terms),
        vector=None if request.vector is None else HalfVector(request.vector),
        space=request.space_id,
        at=request.moment.at,
        known_by=request.moment.known_by,
        n=float(max(caller.memories, 1)),
        avg_dl=max(caller.terms / max(caller.memories, 1), 1.0),
        lexical_limit=request.lexical_limit,
        dense_limit=request.dense_limit,
        anchors=request.anchors,
        reach=request.reach,
        **parameters.values,
    )


async def fetch_hits(tx: Transaction, ids: Sequence[UUID]) -> dict[UUID, Row]:
    """What hits show, by id."""
    return {row["memory_id"]: row for row in await tx.fetch("fetch_hits", ids=list(ids))}


async def fetch_vectors(
    tx: Transaction, ids: Sequence[UUID], space_id: int
) -> dict[UUID, NDArray[np.float32]]:
    """The first vector of each memory."""
    rows = await tx.fetch("fetch_vectors", ids=list(ids), space=space_id)
    return {row["memory_id"]: np.asarray(row["embedding"].to_numpy(), dtype=np.float32) for row in rows}

"""One question asked of many groups of scopes at once (sql/grouped.sql), and the tree that groups are taken from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from typing import Any
from uuid import UUID

from psycopg import sql

from recollect.domain.layers import Layer
from recollect.storage.scopes import Caller
from recollect.storage.search import Conditions, DenseRequest, LexicalMatches, Shape, shaped
from recollect.storage.sql import compose
from recollect.storage.store import Row, Transaction

#: How many scopes a question can be split over; beyond it nobody reads a comparison.
MOST_SCOPES = 2_000
#: Where comparing every vector takes too long, so many of the nearest stand for them.
NEAREST = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class ByScope:
    """Groups of scopes: which scope belongs to which group; groups are numbered from 0."""

    scope_ids: Sequence[UUID]
    places: Sequence[int]

    def __len__(self) -> int:
        return len(set(self.places))


@dataclass(frozen=True, slots=True, kw_only=True)
class ByPeriod:
    """Groups of time: a beginning and an end each."""

    starts: Sequence[datetime]
    ends: Sequence[datetime]

    def __len__(self) -> int:
        return len(self.starts)


Grouping = ByScope | ByPeriod


async def fetch_scope_tree(tx: Transaction, layers: Sequence[Layer]) -> list[Row]:
    """The visible scopes of some layers, the most general first."""
    numbers = [layer.precedence for layer in layers]
    return await tx.fetch("scope_tree", layers=numbers, limit=MOST_SCOPES)


async def fetch_earliest(tx: Transaction) -> datetime | None:
    """When the oldest of the visible memories happened; None when there are none."""
    row = await tx.fetch_one("earliest")
    return None if row is None else row["event_at"]


async def fetch_grouped(
    tx: Transaction,
    caller: Caller,
    lexical: LexicalMatches,
    dense: DenseRequest,
    conditions: Conditions,
    grouping: Grouping,
) -> list[Any]:
    """The best of each group, `dense.limit` by vector and as many by words, each with all measures."""
    shape, values = await shaped(tx, caller, lexical, dense, conditions)
    values |= {"leads": list(lexical.leads), "per_group": dense.limit}
    if isinstance(grouping, ByScope):
        values |= {"grouped_scopes": list(grouping.scope_ids), "grouped_places": list(grouping.places)}
    else:
        values |= {"range_starts": list(grouping.starts), "range_ends": list(grouping.ends)}
    by = "scope" if isinstance(grouping, ByScope) else "period"
    return await tx.fetch_records(_statement(shape, by, dense.breadth is None), values)


@lru_cache(maxsize=64)
def _statement(shape: Shape, by: str, exact: bool) -> str:
    slots = {**shape.slots("e", "p"), "nearest": sql.Literal(NEAREST)}
    slots["grouping"] = compose(f"groups_of_{by}s")
    slots["dense"] = compose(f"{'exact' if exact else 'index'}_by_{by}", slots)
    slots["worded"] = compose(f"worded_by_{by}", slots)
    slots["measured"] = compose("measured", slots)
    return compose("grouped", slots).as_string(None)

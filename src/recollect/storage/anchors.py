"""Memories that tell when something happened (sql/anchors.sql). What their dates mean is decided in retrieval/times."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from functools import lru_cache
from uuid import UUID

from psycopg import sql

from recollect.storage.store import Row, Transaction, compose

#: A word in so many memories names no event.
_COMMON_FROM = 500
#: Memories with the words of an event that are looked at for a date.
_HITS = 60
_LIMIT = 24
#: A text without any of these says no date. Wide on purpose: the grammar decides, this only spares it work.
_DATED = (
    r"\d|yesterday|today|tonight|tomorrow|\m(last|next|this|ago|early|late|mid|end|noon|midnight|easter|christmas)\M"
    r"|\m(jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec|mon|tue|wed|thu|fri|sat|sun)"
)


async def fetch_dated(
    tx: Transaction, terms: Sequence[str], *, at: datetime, scope_ids: Sequence[UUID] | None = None
) -> list[Row]:
    """Memories the caller sees that say these terms and may date them, the most fitting first.

    `scope_ids` narrows to some of the visible scopes.
    """
    if not terms:
        return []
    statement = _statement(await tx.partition(), scope_ids is not None)
    return await tx.fetch_statement(
        statement,
        {
            "terms": list(terms),
            "scopes": None if scope_ids is None else list(scope_ids),
            "common_from": _COMMON_FROM,
            "hits": _HITS,
            "limit": _LIMIT,
            "dated": _DATED,
            "at": at,
        },
    )


@lru_cache(maxsize=64)
def _statement(partition: int, narrowed: bool) -> str:
    slots: dict[str, sql.Composable] = {
        "memory": sql.Identifier("recollect", f"memory_{partition}"),
        "posting": sql.Identifier("recollect", f"posting_{partition}"),
        "scopes_p": sql.SQL("and p.scope_id = any(%(scopes)s::uuid[])" if narrowed else ""),
    }
    return compose("dated_about", slots).as_string(None)

"""Memories that tell when something happened (sql/anchors.sql). Read in retrieval/anchors.py."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from functools import lru_cache
from uuid import UUID

from psycopg import sql

from recollect.storage.search import tables
from recollect.storage.store import Row, Transaction, compose

#: A word in so many memories names no event.
_COMMON_FROM = 500
#: Memories with the words of an event that are looked at for a date.
_HITS = 24
_LIMIT = 12
#: A text without any of these says no date. Wide on purpose: the grammar decides, this only spares it work. A bare
#: number is none: those of invoices and tickets are everywhere; nor is "this" or "last" alone.
_DATED = (
    r"\m(1[5-9]|20|21)\d\d\M|\m\d{1,2}[./-]\d{1,2}\M|\d(st|nd|rd|th)\M|\mq[1-4]\M|['’]\d\d\M"
    r"|\m(day|week|fortnight|month|year|quarter|weekend|decade|century)s?\M|\m(spring|summer|autumn|winter)\M"
    r"|\m(yesterday|today|tonight|tomorrow|ago|night|morning|afternoon|evening|noon|midnight|easter|christmas|halloween)\M"
    r"|\m(jan(uary)?|feb(ruary)?|mar(ch)?|apr(il)?|may|june?|july?|aug(ust)?|sept?(ember)?|oct(ober)?|nov(ember)?)\M"
    r"|\m(dec(ember)?|mon(day)?|tue(s(day)?)?|wed(nesday)?|thu(rs(day)?)?|fri(day)?|sat(urday)?|sun(day)?)s?\M"
)


async def fetch_dated(
    tx: Transaction,
    terms: Sequence[str],
    *,
    about: float,
    at: datetime,
    scope_ids: Sequence[UUID] | None = None,
) -> list[Row]:
    """Memories the caller sees that say these terms and may date them, the most fitting first.

    `about` is the share of the terms' weight that they must be able to say; `scope_ids` narrows to some of the
    visible scopes.
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
            "about": about,
            "limit": _LIMIT,
            "dated": _DATED,
            "at": at,
        },
    )


@lru_cache(maxsize=64)
def _statement(partition: int | None, narrowed: bool) -> str:
    slots: dict[str, sql.Composable] = {
        **tables(partition),
        "scopes_p": sql.SQL("and p.scope_id = any(%(scopes)s::uuid[])" if narrowed else ""),
    }
    return compose("dated_about", slots).as_string(None)

"""Facts in the store: those known of a subject, contradictions, what was derived from what, and when things happened.

Decides nothing: which fact replaces which is memories/supersession.py. A derived memory has `source` "memory:<id>" and
all its sources in `metadata.derived_from`; it is erased with the last of them.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime
from functools import lru_cache
from uuid import UUID

from psycopg import sql
from psycopg.types.json import Jsonb

from recollect.storage.search import tables
from recollect.storage.sql import compose
from recollect.storage.store import Row, Transaction
from recollect.storage.writes import record

#: What the source of a derived memory begins with.
DERIVED = "memory:"


async def lock_facts(tx: Transaction, subjects: Sequence[tuple[UUID, str]]) -> None:
    """Hold (scope, subject) pairs: whoever else states something about them waits until this transaction ends."""
    if subjects:
        await tx.execute("lock_facts", keys=[f"{scope}:{subject}" for scope, subject in subjects])


async def known_facts(
    tx: Transaction, scope_id: UUID, spellings: Sequence[str], *, now: datetime
) -> list[Row]:
    """What is believed of a subject in a scope."""
    return await tx.fetch("known_facts", scope=scope_id, subjects=list(spellings), now=now)


async def near_facts(
    tx: Transaction, scope_id: UUID, ids: Sequence[UUID], *, each: int, now: datetime
) -> list[Row]:
    """What is believed in a scope and comes nearest in meaning to some memories."""
    return await tx.fetch("near_facts", scope=scope_id, ids=list(ids), each=each, now=now)


async def restate(
    tx: Transaction, memory_id: UUID, scope_id: UUID, *, turn: UUID | None, reason: str, now: datetime
) -> None:
    """Count that a fact was said again in other words."""
    row = await tx.fetch_one(
        "restate_fact", id=memory_id, turn=None if turn is None else Jsonb(str(turn)), now=now
    )
    if row is not None:
        before = {"use_count": row["use_count"], "reason": reason}
        await record(tx, memory_id, scope_id, "reinforced", before, at=now)


async def forget_sources(tx: Transaction, ids: Sequence[UUID]) -> list[UUID]:
    """What was derived from these memories alone; what has other sources forgets these."""
    doomed: list[UUID] = []
    gone = {str(id) for id in ids}
    for row in await tx.fetch("derived_from", sources=[f"{DERIVED}{id}" for id in ids]):
        sources = row["sources"] if isinstance(row["sources"], list) else []
        left = [source for source in sources if source not in gone]
        if left:
            await tx.execute(
                "change_source", id=row["memory_id"], source=f"{DERIVED}{left[0]}", sources=json.dumps(left)
            )
        else:
            doomed.append(row["memory_id"])
    return doomed


async def scopes_of(tx: Transaction, ids: Sequence[UUID]) -> dict[UUID, UUID]:
    """The scope each memory is in."""
    rows = await tx.fetch("scopes_of_memories", ids=list(ids))
    return {row["memory_id"]: row["scope_id"] for row in rows}


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

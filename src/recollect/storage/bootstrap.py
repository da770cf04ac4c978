"""What a tenant's memories can be asked about, for synthetic tasks: from the entities known when they were written.

Never through a search: a task whose expected answer came from the search under test would prove nothing.
"""

from __future__ import annotations

from datetime import datetime

from recollect.storage.store import Row, Transaction

#: Entities of each kind that tasks are made about; a sample by name, the same every time.
SAMPLE = 300


async def spoken_in_scopes(tx: Transaction, now: datetime) -> list[Row]:
    """Entities by layer and scope: entity, name, layer, label, ids."""
    return await tx.fetch("bootstrap_scopes", now=now, limit=SAMPLE)


async def spoken_entities(tx: Transaction, now: datetime) -> list[Row]:
    """Entities with their memories: entity, name, ids."""
    return await tx.fetch("bootstrap_entities", now=now, limit=SAMPLE)


async def spoken_in_periods(tx: Transaction, now: datetime) -> list[Row]:
    """Entities by quarter of a year: entity, name, quarter, ids."""
    return await tx.fetch("bootstrap_periods", now=now, limit=SAMPLE)


async def bridges(tx: Transaction, now: datetime) -> list[Row]:
    """Entities that lead to others: entity, name, kind of the other, first and second memories."""
    return await tx.fetch("bootstrap_bridges", now=now, limit=SAMPLE)

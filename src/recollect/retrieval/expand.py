"""From the entities a question names to those the tenant's ontology relates to them: a customer's orders, say.

The user's own database is asked, which bounds its time and never fails a search. Memories speak of its rows in
words, so every row comes with the names a text may use for it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from recollect.domain.answers import RelatedEntity
from recollect.domain.names import entity_key
from recollect.domain.query import ResolvedEntity
from recollect.domaindb.database import DomainDatabase

#: More names would look up memories that have little to do with the question any more.
MAX_KEYS = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class Expanded:
    """The keys of entities to look for, the named ones first, and what went wrong on the way."""

    keys: tuple[str, ...]
    notes: tuple[str, ...] = ()


async def expand(database: DomainDatabase | None, entities: Sequence[ResolvedEntity]) -> Expanded:
    """Every key under which memories may speak of what the question is about."""
    named = [key for entity in entities for key in entity.keys]
    if database is None or not named:
        return Expanded(keys=tuple(dict.fromkeys(named)))
    expansion = await database.expand(list(entities))
    related = [key for entity in expansion.related for key in spoken_keys(entity)]
    keys = tuple(dict.fromkeys([*named, *expansion.ids, *related]))[:MAX_KEYS]
    return Expanded(keys=keys, notes=expansion.notes)


def spoken_keys(entity: RelatedEntity) -> tuple[str, ...]:
    """How texts name a row: "order:12345", "order 12345", "#12345", or by its label."""
    number = entity.id.partition(":")[2]
    names = [entity.label, f"{entity.type} {entity.label}", f"{entity.type} {number}"]
    return tuple(dict.fromkeys([entity.id, *(entity_key(name) for name in names)]))

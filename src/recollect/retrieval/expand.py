"""From the entities a question names to those the tenant's ontology relates to them: a customer's orders, say.

The user's own database is asked, which bounds its time and never fails a search. Memories speak of its rows in
words, so every row comes with the names a text may use for it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from recollect.domain.answers import RelatedEntity
from recollect.domain.names import entity_key
from recollect.domain.query import Understanding
from recollect.domaindb.answering import unapplied_notes
from recollect.domaindb.database import DomainDatabase

#: More names would look up memories that have little to do with the question any more.
MAX_KEYS = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class Expanded:
    """The keys of entities to look for, the named ones first, and what went wrong on the way.

    `relations` says of a key that the ontology led to whose it is: "order 12345 of Acme Corporation".
    """

    keys: tuple[str, ...]
    relations: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


async def expand(database: DomainDatabase | None, asked: Understanding) -> Expanded:
    """Every key under which memories may speak of what the question is about."""
    named = asked.entity_keys
    if database is None or not named:
        return Expanded(keys=named)
    expansion = await database.expand(asked.entities)
    owners = {key: entity.name for entity in asked.entities for key in entity.keys}
    relations = {
        key: f"{entity.type} {entity.label} of {owners.get(entity.source, entity.source)}"
        for entity in expansion.related
        for key in spoken_keys(entity)
    }
    keys = tuple(dict.fromkeys([*named, *expansion.ids, *relations]))[:MAX_KEYS]
    notes = expansion.notes
    if relations:
        known = [entity.mention_text for entity in asked.entities]
        known += [asked.time_range.phrase] if asked.time_range else []
        notes += tuple(unapplied_notes(asked.query, database.ontology, known))
    return Expanded(keys=keys, relations=relations, notes=notes)


def spoken_keys(entity: RelatedEntity) -> tuple[str, ...]:
    """How texts name a row: "order:12345", "order 12345", "#12345", or by its label."""
    number = entity.id.partition(":")[2]
    names = [entity.label, f"{entity.type} {entity.label}", f"{entity.type} {number}"]
    return tuple(dict.fromkeys([entity.id, *(entity_key(name) for name in names)]))

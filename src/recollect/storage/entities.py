"""Entities in the database: linked to memories when they are stored, looked up when a question names them.

An entity is known per scope: a row appears with its first mention there and goes with the last one, so a name never
outlives, nor leaks from, the memories that spoke of it. How names are found in texts and what a mention means is
decided above (`retrieval/understand`); this file keeps and finds rows.

A tenant's ontology is one document, read by all of it, written by its admins.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from recollect.domain.layers import Layer
from recollect.domain.names import (
    Entity,
    EntityGraph,
    Link,
    Name,
    entity_key,
    lookup_keys,
    mention_keys,
    prefixes,
    stored_keys,
)
from recollect.domain.ontology import EMPTY, DeclaredOntology
from recollect.domain.ontology_document import parse_ontology, to_document
from recollect.errors import ForbiddenError, InvalidInputError, NotFoundError
from recollect.storage import scopes
from recollect.storage.rows import from_row
from recollect.storage.scopes import describe_caller
from recollect.storage.store import Ids, Numbers, Row, Texts, Transaction

#: The scope that stands for the whole tenant.
EVERYONE = UUID(int=0)
#: Who speaks in most chats; no entities.
_ROLES = frozenset(
    {"user", "assistant", "system", "tool", "human", "ai", "bot", "agent", "developer", "function"}
)
#: Entities per look-up key. More than this share a word only when it says nothing.
_PER_KEY = 12
#: A tenant's declared names are matched against every text it stores.
_MAX_DECLARED = 20_000
#: Searches that a pronoun may refer back to.
_RECENT_SEARCHES = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Linked:
    """One memory and the names in it: `given` by its author, `names` in its text, and who speaks."""

    memory_id: UUID
    scope_id: UUID
    given: Sequence[str] = ()
    names: Sequence[Name] = ()
    speaker: str | None = None


async def link(tx: Transaction, links: Sequence[Linked], *, again: bool = False) -> None:
    """Link memories with the entities they name, making entities that their scopes did not know.

    `again`: some of the memories may be linked already, and what was only found may now be given.
    """
    mentions: dict[tuple[str, UUID], tuple[UUID, bool]] = {}
    seen: dict[tuple[UUID, str], tuple[str, str, str]] = {}
    for item in links:
        for name in item.given:
            for key in mention_keys(name):
                mentions[key, item.memory_id] = (item.scope_id, True)
            seen.setdefault((item.scope_id, entity_key(name)), (name, "name", "given"))
        for mention in item.names:
            for key in mention_keys(mention.text):
                mentions.setdefault((key, item.memory_id), (item.scope_id, False))
            seen.setdefault((item.scope_id, entity_key(mention.text)), (mention.text, mention.kind, "found"))
        # Who speaks is an entity, so that a question can name them, but not a mention of every turn: half of a
        # conversation would be "about" each of two people, and the speaker column tells as much for ranking.
        if item.speaker and item.speaker.casefold() not in _ROLES:
            seen.setdefault((item.scope_id, entity_key(item.speaker)), (item.speaker, "speaker", "found"))
    if mentions:
        ordered = sorted(mentions.items())
        columns: dict[str, Any] = {
            "entities": Texts(key for (key, _), _ in ordered),
            "ids": Ids(memory for (_, memory), _ in ordered),
        }
        await tx.execute(
            "insert_mentions",
            scopes=Ids(scope for _, (scope, _) in ordered),
            given=[given for _, (_, given) in ordered],
            **columns,
        )
        if again:
            about = [pair for pair, (_, given) in ordered if given]
            await tx.execute(
                "confirm_mentions", entities=[key for key, _ in about], ids=[memory for _, memory in about]
            )
    await _know(tx, seen)


async def _know(tx: Transaction, seen: Mapping[tuple[UUID, str], tuple[str, str, str]]) -> None:
    """Make the entities (scope, key) that are new, and the ways to them."""
    if not seen:
        return
    ordered = sorted(seen)
    rows = await tx.fetch(
        "insert_entities",
        entities=Texts(key for _, key in ordered),
        scopes=Ids(scope for scope, _ in ordered),
        names=Texts(seen[pair][0][:400] for pair in ordered),
        kinds=Texts(seen[pair][1] for pair in ordered),
        sources=Texts(seen[pair][2] for pair in ordered),
        canonicals=[None] * len(ordered),
    )
    await _insert_keys(tx, [(row["entity"], row["scope_id"], stored_keys(row["entity"])) for row in rows])


async def _insert_keys(
    tx: Transaction,
    entries: Iterable[tuple[str, UUID, Sequence[tuple[str, str]]]],
    *,
    source: str = "name",
) -> None:
    rows = [(key, kind, entity, scope) for entity, scope, keys in entries for kind, key in keys]
    if rows:
        keys, kinds, entities, scope_ids = zip(*rows, strict=True)
        await tx.execute(
            "insert_entity_keys",
            keys=Texts(keys),
            kinds=Texts(kinds),
            entities=Texts(entities),
            scopes=Ids(scope_ids),
            confidences=Numbers([1.0] * len(rows)),
            sources=Texts([source] * len(rows)),
        )


async def unlink(tx: Transaction, memory_ids: Sequence[UUID]) -> list[tuple[str, UUID]]:
    """Take memories' mentions away; returns the (entity, scope) pairs that may have lost their last one."""
    rows = await tx.fetch("delete_mentions", ids=list(memory_ids))
    return [(row["entity"], row["scope_id"]) for row in rows]


async def forget_unmentioned(tx: Transaction, pairs: Iterable[tuple[str, UUID]]) -> dict[str, int]:
    """Erase those entities that nothing in their scope names any more; returns the rows per table."""
    ordered = sorted(set(pairs))
    if not ordered:
        return {}
    gone = await tx.fetch(
        "delete_unmentioned",
        entities=[entity for entity, _ in ordered],
        scopes=[scope for _, scope in ordered],
    )
    if not gone:
        return {}
    keys = await tx.execute(
        "delete_entity_keys",
        entities=[row["entity"] for row in gone],
        scopes=[row["scope_id"] for row in gone],
    )
    return {"entity": len(gone), "entity_key": keys}


def speakers_of(rows: Iterable[Row]) -> list[tuple[str, UUID]]:
    """The entities of who spoke in some rows of memories."""
    return [(entity_key(row["speaker"]), row["scope_id"]) for row in rows if row["speaker"]]


async def declared_names(tx: Transaction) -> frozenset[str]:
    """The folded names and aliases that are declared for the whole tenant."""
    rows = await tx.fetch("declared_names", limit=_MAX_DECLARED)
    return frozenset(row["key"] for row in rows)


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What a question needs to be looked up: whole names, other keys, and whether it refers back."""

    names: Sequence[str]
    keys: Sequence[tuple[str, str]]
    session: str
    refers_back: bool
    since: datetime


async def find_entities(tx: Transaction, wanted: Wanted) -> list[Row]:
    """Everything the mentions of one question may mean, in one statement."""
    if not wanted.names and not wanted.keys and not wanted.refers_back:
        return []
    return await tx.fetch(
        "find_entities",
        names=Texts(wanted.names),
        kinds=Texts(kind for kind, _ in wanted.keys),
        keys=Texts(key for _, key in wanted.keys),
        prefixes=Texts(prefixes(wanted.keys)),
        per_key=_PER_KEY,
        user=tx.context.user_id or "",
        session=wanted.session,
        since=wanted.since,
        recent=_RECENT_SEARCHES if wanted.refers_back else 0,
    )


async def adopt_domain_entity(
    tx: Transaction, *, canonical_id: str, name: str, kind: str, mention: str
) -> None:
    """Remember, in the caller's own scope, which row of the domain database a name means."""
    scope_id = await _own_scope(tx)
    if scope_id is None:
        return
    await tx.fetch(
        "insert_entities",
        entities=[canonical_id],
        scopes=[scope_id],
        names=[name[:400]],
        kinds=[kind],
        sources=["domain"],
        canonicals=[canonical_id],
    )
    aliases = {key for text in (name, mention) for key in mention_keys(text)} - {canonical_id}
    await _insert_keys(tx, [(canonical_id, scope_id, [("alias", key) for key in sorted(aliases)])])


async def learn_alias(tx: Transaction, alias: str, entity: str, *, confidence: float) -> None:
    """Remember in the caller's own scope that a name turned out to mean an entity."""
    scope_id = await _own_scope(tx)
    key = entity_key(alias)
    if scope_id is not None and key != entity:
        await tx.execute(
            "learn_entity_key",
            key=key,
            entity=entity,
            scope=scope_id,
            confidence=confidence,
            source="learned",
        )


async def named_among(tx: Transaction, entities: Sequence[str], memory_ids: Iterable[UUID]) -> frozenset[str]:
    """Which of some entities the memories name."""
    rows = await tx.fetch("named_among", entities=list(entities), ids=list(memory_ids))
    return frozenset(row["entity"] for row in rows)


async def _own_scope(tx: Transaction) -> UUID | None:
    if tx.context.user_id is None:
        return None
    return await scopes.writable_scope(tx, Layer.USER, None)


async def declare(
    tx: Transaction, name: str, *, kind: str, aliases: Sequence[str], canonical: str | None
) -> Entity:
    """Declare an entity for the whole tenant."""
    if not tx.context.is_admin:
        raise ForbiddenError(
            "only an admin may declare entities for the whole tenant; use alias for your own"
        )
    entity = canonical or entity_key(name)
    await tx.execute(
        "declare_entity", entity=entity, scope=EVERYONE, name=name, kind=kind, canonical=canonical
    )
    keys = stored_keys(entity) if canonical is None else lookup_keys(entity_key(name))
    await _insert_keys(tx, [(entity, EVERYONE, keys)])
    spoken = [key for key in map(entity_key, (name, *aliases)) if key != entity]
    await _insert_keys(
        tx, [(entity, EVERYONE, [("alias", key) for key in dict.fromkeys(spoken)])], source="declared"
    )
    return await get_entity(tx, entity)


async def add_alias(tx: Transaction, alias: str, entity: str) -> Entity:
    """Call a visible entity by another name, in the caller's own scope (an admin's: in the whole tenant)."""
    known = await get_entity(tx, entity)
    scope_id = EVERYONE if tx.context.is_admin else await _own_scope(tx)
    if scope_id is None:
        raise ForbiddenError("an alias is kept in the scope of a user; say which user is asking")
    if scope_id == EVERYONE and known.source != "declared":
        # What the whole tenant may call it, the whole tenant must be able to see.
        await tx.execute(
            "declare_entity",
            entity=known.key,
            scope=scope_id,
            name=known.name,
            kind=known.kind,
            canonical=known.canonical,
        )
    await tx.execute(
        "learn_entity_key",
        key=entity_key(alias),
        entity=known.key,
        scope=scope_id,
        confidence=1.0,
        source="declared",
    )
    return await get_entity(tx, known.key)


async def list_entities(tx: Transaction, *, prefix: str, limit: int) -> list[Entity]:
    """Entities the caller sees whose folded names begin so."""
    last = prefix + "\U0010ffff" if prefix else None
    return [_to_entity(row) for row in await tx.fetch("list_entities", first=prefix, last=last, limit=limit)]


async def graph(tx: Transaction, name: str | None, *, limit: int) -> EntityGraph:
    """The entities around one, or those that most memories name, and how often two are named together."""
    centre = None if name is None else (await get_entity(tx, name)).key
    around = await tx.fetch("entities_around", centre=centre, limit=limit)
    rows = await tx.fetch("list_entities_by_key", keys=[row["entity"] for row in around])
    by_key = {row["entity"]: _to_entity(row) for row in rows}
    keys = [row["entity"] for row in around if row["entity"] in by_key]
    links = await tx.fetch("entity_links", keys=keys)
    return EntityGraph(
        entities=tuple(by_key[key] for key in keys),
        links=tuple(Link(**row) for row in links),
        centre=centre,
    )


async def get_entity(tx: Transaction, name: str) -> Entity:
    """A visible entity by name, alias or canonical id."""
    for key in dict.fromkeys([name, entity_key(name)]):
        rows = await tx.fetch("list_entities", first=key, last=key + "\x01", limit=1)
        if rows:
            return _to_entity(rows[0])
    wanted = Wanted(
        names=(),
        keys=[("alias", entity_key(name))],
        session="",
        refers_back=False,
        since=datetime.max,
    )
    for row in await find_entities(tx, wanted):
        if row["name"] is not None:
            return await get_entity(tx, row["entity"])
    raise NotFoundError(f"no entity {name!r} for this caller; see `recollect entities list`")


async def forget(tx: Transaction, name: str) -> int:
    """Forget what was declared or learned of an entity; returns how many rows. Memories keep their mentions."""
    entity = await get_entity(tx, name)
    scope_ids = [row["scope_id"] for row in await tx.fetch("forget_entities", entity=entity.key)]
    keys = await tx.fetch("forget_entity_keys", entity=entity.key, scopes=scope_ids)
    named = [row["scope_id"] for row in await tx.fetch("mentioned_in", entity=entity.key, scopes=scope_ids)]
    await _know(tx, {(scope, entity.key): (entity.name, entity.kind, "found") for scope in named})
    if not scope_ids and not keys:
        raise ForbiddenError(
            f"nothing that this caller may forget is declared of {name!r}; memories name it, delete those"
        )
    return len(scope_ids) + len(keys)


def _to_entity(row: Row) -> Entity:
    return from_row(Entity, row, key=row["entity"], aliases=tuple(row["aliases"] or ()))


async def find_ontology(tx: Transaction) -> DeclaredOntology | None:
    """What was declared through the API; None if nothing was.

    A document that this version can't read (a newer one wrote it) is an empty ontology with a note.
    """
    row = await tx.fetch_one("find_ontology")
    if row is None:
        return None
    notes: tuple[str, ...] = ()
    try:
        ontology = parse_ontology(row["document"])
    except InvalidInputError as error:
        ontology, notes = EMPTY, (f"the stored ontology can't be used: {error}; declare it anew",)
    return from_row(DeclaredOntology, row, ontology=ontology, source="stored", notes=notes)


async def store_ontology(tx: Transaction, document: Mapping[str, Any]) -> None:
    """Replace the tenant's ontology; the document has been parsed before."""
    await _check_admin(tx, "declare the ontology")
    await tx.execute("store_ontology", document=to_document(document), by=tx.context.user_id)


async def clear_ontology(tx: Transaction) -> bool:
    """Withdraw what was declared through the API; whether there was anything."""
    await _check_admin(tx, "clear the ontology")
    return await tx.execute("clear_ontology") > 0


async def _check_admin(tx: Transaction, what: str) -> None:
    await describe_caller(tx)  # a tenant that does not exist says so
    if not tx.context.is_admin:
        raise ForbiddenError(f"{tx.context.user_id or 'this caller'!r} may not {what}; an admin may")

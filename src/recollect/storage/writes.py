"""Memories into the database: rows through COPY and staging, repeats, conversations, changes.

What arrives here is checked, embedded and split into terms; this file only makes it durable, keeps the
counts right and records history. Erasing is in erase.py.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from numpy.typing import NDArray
from pgvector import HalfVector
from psycopg import sql
from psycopg.types.json import Jsonb

from recollect.domain.ids import new_id
from recollect.domain.layers import Layer, ScopeName
from recollect.domain.memory import Draft, Memory
from recollect.domain.names import Name
from recollect.domain.overview import MemoryEvent
from recollect.errors import ConflictError, ForbiddenError, InvalidInputError, MemoryNotFoundError
from recollect.storage import entities
from recollect.storage.entities import Linked
from recollect.storage.faults import translated
from recollect.storage.filters import FOREVER
from recollect.storage.happenings import tell_of
from recollect.storage.rows import MEMORY_COLUMNS, to_memory
from recollect.storage.store import Ids, Row, Transaction


@dataclass(frozen=True, slots=True, kw_only=True)
class Vectors:
    """The vectors of one text in one embedding space, one per window."""

    space_id: int
    parts: Sequence[NDArray[Any]]


@dataclass(frozen=True, slots=True, kw_only=True)
class NewMemory:
    """Everything one memory's rows are made of."""

    id: UUID
    draft: Draft
    scope_id: UUID
    digest: bytes
    terms: Counter[str]
    vectors: Sequence[Vectors]
    since: datetime
    until: datetime | None
    updated_at: datetime
    conversation_id: UUID | None = None
    position: int | None = None
    use_count: int = 0
    utility: float = 0.0
    superseded_by: UUID | None = None
    superseded_at: datetime | None = None
    version_of: UUID | None = None
    #: Found in the text.
    names: Sequence[Name] = ()

    def linked(self) -> Linked:
        """With which entities the memory is linked."""
        return linked(self.id, self.scope_id, self.draft, self.names)


def linked(memory_id: UUID, scope_id: UUID, draft: Draft | Memory, names: Sequence[Name]) -> Linked:
    """With which entities a memory is linked: what its author says it is about, and what its text names."""
    about = (draft.subject,) if draft.subject else ()
    return Linked(
        memory_id=memory_id,
        scope_id=scope_id,
        given=(*draft.entities, *about),
        names=names,
        speaker=draft.speaker,
    )


_MEMORY_TYPES = (
    "uuid uuid int2 text text bytea text text text text text text[] float8 int4 float8 jsonb text uuid int4 text"
    " timestamptz timestamptz timestamptz timestamptz uuid timestamptz uuid timestamptz timestamptz timestamptz text[]"
).split()
#: What `_memory_row` has, by name.
_MEMORY_COLUMNS = (
    "scope_id memory_id layer type text digest subject predicate object trigger action entities importance use_count"
    " utility metadata source conversation_id position speaker created_at valid_from valid_to expires_at superseded_by"
    " superseded_at version_of since until updated_at mentions"
).split()
_EMBEDDING_TYPES = ["int2", "uuid", "int2", "halfvec"]
_POSTING_TYPES = ["uuid", "text", "text", "int4"]
#: tf is a smallint; beyond this BM25 is saturated anyway.
_MAX_TF = 32_767


async def insert_memories(tx: Transaction, memories: Sequence[NewMemory]) -> set[UUID]:
    """Store memories with their vectors and postings; returns the ids that were new.

    `link_inserted` and `count_inserted` come after it, at the transaction's end.
    """
    if not memories:
        return set()
    # Of two lines with one id only the first is staged: its vectors and terms must be those of the row.
    staged = {memory.id: memory for memory in reversed(memories)}
    if tx.is_pipelined:
        return await _insert_one_by_one(tx, list(staged.values()))
    await tx.copy("copy_memories", _MEMORY_TYPES, [_memory_row(m) for m in staged.values()])
    inserted = {row["memory_id"] for row in await tx.fetch("insert_staged_memories")}
    new = _new_ones(memories, inserted)
    ids = Ids(inserted)
    await tx.copy("copy_embeddings", _EMBEDDING_TYPES, [row for m in new for row in _vector_rows(m)])
    await tx.execute("insert_staged_embeddings", ids=ids)
    await tx.copy("copy_postings", _POSTING_TYPES, [_posting_row(m) for m in new])
    await tx.execute("insert_staged_postings", ids=ids)
    return inserted


async def _insert_one_by_one(tx: Transaction, memories: Sequence[NewMemory]) -> set[UUID]:
    """A few memories without staging, which takes more exchanges than they are worth."""
    inserted = set()
    # In the order of staged ones, so that two writers of the same texts wait for each other and not in a circle.
    for memory in sorted(memories, key=lambda memory: (memory.scope_id, memory.digest, memory.id)):
        row = dict(zip(_MEMORY_COLUMNS, _memory_row(memory), strict=True))
        if await tx.fetch("insert_memory", **row):
            inserted.add(memory.id)
            await _insert_vectors(tx, memory.id, memory.vectors)
            await _insert_postings(tx, memory.id, memory.scope_id, memory.terms)
    return inserted


async def _insert_vectors(tx: Transaction, memory_id: UUID, vectors: Sequence[Vectors]) -> None:
    for space in vectors:
        parts = [HalfVector(part) for part in space.parts]
        if parts:
            await tx.execute(
                "insert_embeddings",
                space=space.space_id,
                ids=[memory_id] * len(parts),
                parts=list(range(len(parts))),
                embeddings=parts,
            )


async def _insert_postings(tx: Transaction, memory_id: UUID, scope_id: UUID, terms: Counter[str]) -> None:
    await tx.execute(
        "insert_postings_of",
        id=memory_id,
        scope=scope_id,
        terms=list(terms),
        tfs=[min(tf, _MAX_TF) for tf in terms.values()],
        length=terms.total(),
    )


async def link_inserted(
    tx: Transaction,
    memories: Sequence[NewMemory],
    inserted: Set[UUID],
    repeated: Sequence[tuple[UUID, UUID, Draft]] = (),
) -> None:
    """Link what was inserted, and what (id, scope, draft) was repeated, with entities.

    All of a transaction at once: entities are locked in the order of their keys.
    """
    links = [memory.linked() for memory in _new_ones(memories, inserted)]
    again = [linked(memory_id, scope_id, draft, ()) for memory_id, scope_id, draft in repeated]
    await entities.link(tx, links + again, again=bool(again))


async def count_inserted(tx: Transaction, memories: Sequence[NewMemory], inserted: Set[UUID]) -> None:
    """Add what was inserted to the counts of its scopes."""
    counts: dict[UUID, list[int]] = {}
    for memory in _new_ones(memories, inserted):
        _count(counts, memory.scope_id, 1, _active_parts(memory), memory.terms.total())
    await bump_tallies(tx, counts)


def _new_ones(memories: Sequence[NewMemory], inserted: Set[UUID]) -> list[NewMemory]:
    """Each inserted memory once; of lines with the same id the first was stored."""
    first = {memory.id: memory for memory in reversed(memories)}
    return [first[id] for id in dict.fromkeys(m.id for m in memories) if id in inserted]


def _memory_row(m: NewMemory) -> tuple[Any, ...]:
    d = m.draft
    return (
        m.scope_id, m.id, d.layer.precedence, d.type.value, d.text, m.digest, d.subject, d.predicate, d.object,
        d.trigger, d.action, list(d.entities), d.importance, m.use_count, m.utility, Jsonb(dict(d.metadata)), d.source,
        m.conversation_id, m.position, d.speaker, d.created_at, d.valid_from, d.valid_to, d.expires_at,
        m.superseded_by, m.superseded_at, m.version_of, m.since, m.until or FOREVER, m.updated_at,
        [name.text for name in m.names],
    )  # fmt: skip


def _vector_rows(m: NewMemory) -> list[tuple[Any, ...]]:
    return [
        (vectors.space_id, m.id, part, HalfVector(vector))
        for vectors in m.vectors
        for part, vector in enumerate(vectors.parts)
    ]


def _posting_row(m: NewMemory) -> tuple[Any, ...]:
    """All postings of a memory in one row: one for each would be most of what is copied."""
    often = max(m.terms.values(), default=0) > _MAX_TF
    tfs = " ".join(map(str, (min(tf, _MAX_TF) for tf in m.terms.values()) if often else m.terms.values()))
    return (m.id, " ".join(m.terms), tfs, m.terms.total())


def _active_parts(m: NewMemory) -> int:
    """Vectors in the space that is searched; the first one, by the intake's convention."""
    return len(m.vectors[0].parts) if m.vectors else 0


def _count(counts: dict[UUID, list[int]], scope: UUID, memories: int, vectors: int, terms: int) -> None:
    entry = counts.setdefault(scope, [0, 0, 0])
    entry[0] += memories
    entry[1] += vectors
    entry[2] += terms


async def bump_tallies(tx: Transaction, counts: Mapping[UUID, Sequence[int]]) -> None:
    """Add (memories, vectors, terms) to the counts of scopes."""
    if counts:
        memories, vectors, terms = zip(*counts.values(), strict=True)
        await tx.execute(
            "bump_tallies",
            scopes=list(counts),
            memories=list(memories),
            vectors=list(vectors),
            terms=list(terms),
        )


async def find_repeats(tx: Transaction, keys: Sequence[tuple[UUID, bytes]]) -> dict[tuple[UUID, bytes], UUID]:
    """Which (scope, digest) pairs are stored already."""
    if not keys:
        return {}
    scopes, digests = zip(*keys, strict=True)
    rows = await tx.fetch("find_repeats", scopes=Ids(scopes), digests=list(digests))
    return {(row["scope_id"], bytes(row["digest"])): row["memory_id"] for row in rows}


async def reinforce(
    tx: Transaction, memory_id: UUID, draft: Draft, *, times: int, until: datetime | None, now: datetime
) -> UUID:
    """Count a repeat of a memory; returns its scope."""
    row = await tx.fetch_one(
        "reinforce",
        id=memory_id,
        times=times,
        importance=draft.importance,
        metadata=Jsonb(dict(draft.metadata)),
        entities=list(draft.entities),
        expires_at=draft.expires_at,
        created_at=draft.created_at,
        until=until or FOREVER,
        now=now,
    )
    if row is None:
        raise MemoryNotFoundError(f"memory {memory_id} disappeared while it was repeated; add it again")
    if row["revived"]:
        await tx.execute("align_embeddings", ids=[memory_id])
    event = "revived" if row["revived"] else "reinforced"
    before = {name: value for name, value in row["before"].items() if value != row["after"][name]}
    await record(tx, memory_id, row["scope_id"], event, before, at=now)
    scope_id: UUID = row["scope_id"]
    return scope_id


async def owned_scope(tx: Transaction, name: ScopeName, owner: str) -> UUID:
    """An agent's or session's scope of a named user, made when it is missing; for imports by an admin."""
    scope: dict[str, Any] = {"layer": name.layer.precedence, "name": name.name}
    row = await tx.fetch_one("find_scope", owners=[owner], **scope)
    if row is None:
        # A refusal by the database must not take the rest of the transaction with it.
        with translated():
            async with tx.connection.transaction():
                parent = None
                if owner:
                    home: dict[str, Any] = {"layer": Layer.USER.precedence, "name": owner}
                    await tx.execute("insert_scope", scope=new_id(), owner="", parent=None, **home)
                    above = await tx.fetch_one("find_scope", owners=[""], **home)
                    parent = above["scope_id"] if above else None
                await tx.execute("insert_scope", scope=new_id(), owner=owner, parent=parent, **scope)
        row = await tx.fetch_one("find_scope", owners=[owner], **scope)
    if row is None or not row["writable"]:
        raise ForbiddenError(
            f"this caller may not write to {str(name)!r} of {owner!r}; that user or an admin may"
        )
    scope_id: UUID = row["scope_id"]
    return scope_id


async def take_positions(
    tx: Transaction, scope_id: UUID, name: str, turns: int, *, at_least: int = 0
) -> tuple[UUID, int]:
    """The conversation's id and the position of the first of `turns` new turns."""
    row = await tx.get_row(
        "take_positions", id=new_id(), scope=scope_id, name=name, turns=turns, at_least=at_least
    )
    return row["conversation_id"], row["turns"] - turns


async def record(
    tx: Transaction,
    memory_id: UUID,
    scope_id: UUID,
    event: str,
    before: Mapping[str, Any] | None,
    *,
    at: datetime,
) -> None:
    """Write a line of history."""
    await tx.execute(
        "insert_history",
        history_id=new_id(),
        id=memory_id,
        scope=scope_id,
        event=event,
        at=at,
        by=tx.context.user_id or tx.context.agent_id,
        before=None if before is None else Jsonb(dict(before)),
    )


async def lock_memory(tx: Transaction, memory_id: UUID) -> tuple[Memory, Row]:
    """One memory, locked for a change. Invisible and absent look the same."""
    row = await tx.fetch_one("lock_memory", {"columns": MEMORY_COLUMNS}, id=memory_id)
    if row is not None:
        return to_memory(row), row
    # Row-level security hides from "for update" what may only be read: tell the two apart.
    if await tx.fetch("select_memories", {"columns": MEMORY_COLUMNS}, ids=[memory_id]):
        raise ForbiddenError(f"memory {memory_id} may be read but not changed by this caller")
    raise MemoryNotFoundError(f"no memory {memory_id} for this caller")


async def change_memory(
    tx: Transaction, memory_id: UUID, columns: Mapping[str, Any], *, now: datetime
) -> None:
    """Set columns of one memory; names come from this program, values are parameters."""
    assignments = sql.SQL(", ").join(
        sql.SQL("{} = {}").format(sql.Identifier(name), sql.Placeholder(f"new_{name}")) for name in columns
    )
    values = {f"new_{name}": value for name, value in columns.items()}
    values["told"] = not columns.keys().isdisjoint(("text", "importance"))
    if not await tx.fetch("update_memory", {"assignments": assignments}, id=memory_id, now=now, **values):
        raise ForbiddenError(f"memory {memory_id} may be read but not changed by this caller")


async def archive_version(tx: Transaction, memory_id: UUID, row: Row, *, at: datetime) -> None:
    """Keep what a memory said until now as a superseded row of its own, so that `as_of` finds it."""
    archived = new_id()
    await tx.execute("archive_memory", id=memory_id, archived=archived, at=at)
    await tx.execute("move_embeddings", id=memory_id, archived=archived, at=at)
    await tx.execute("move_postings", id=memory_id, archived=archived)
    await tx.execute("share_mentions", id=memory_id, archived=archived)
    await bump_tallies(tx, {row["scope_id"]: (1, 0, 0)})


async def index_memory(
    tx: Transaction, memory_id: UUID, scope_id: UUID, terms: Counter[str], vectors: Sequence[Vectors]
) -> None:
    """Vectors and postings of a memory whose row exists (its text was changed)."""
    await _insert_vectors(tx, memory_id, vectors)
    await _insert_postings(tx, memory_id, scope_id, terms)
    await bump_tallies(tx, {scope_id: (0, len(vectors[0].parts) if vectors else 0, terms.total())})


async def unindex_memory(tx: Transaction, memory_id: UUID) -> None:
    """Take a memory's vectors and postings away, before others replace them."""
    counted = await tx.fetch("tally_of_memories", ids=[memory_id])
    await tx.execute("delete_embeddings", ids=[memory_id])
    await tx.execute("delete_postings", ids=[memory_id])
    await bump_tallies(tx, {row["scope_id"]: (0, -row["vectors"], -row["terms"]) for row in counted})


async def supersede(
    tx: Transaction, memory_id: UUID, by: UUID, *, now: datetime, reason: str | None = None
) -> Memory:
    """Retire a memory in favour of another, reversibly. History keeps the reason, which must quote no other memory."""
    if memory_id == by:
        raise InvalidInputError("a memory can't supersede itself")
    # One at a time per tenant: two memories must not retire each other.
    await tx.execute("lock_superseding")
    old, row = await lock_memory(tx, memory_id)
    if old.superseded_by == by:
        return old  # it is what was asked for; adding the newer fact may have done it
    if old.superseded_at is not None:
        raise ConflictError(f"memory {memory_id} is superseded already; restore it first")
    rows = await tx.fetch("select_memories", {"columns": MEMORY_COLUMNS}, ids=[by])
    if not rows:
        raise MemoryNotFoundError(f"no memory {by} for this caller")
    new = to_memory(rows[0])
    if new.superseded_at is not None:
        raise ConflictError(f"memory {by} is itself superseded; supersede by its successor")
    # Believed until the successor was learned, if that lies between; a later import must not rewrite the past.
    at = new.created_at if row["since"] < new.created_at <= now else now
    await change_memory(
        tx, memory_id, {"superseded_by": by, "superseded_at": at, "until": min(row["until"], at)}, now=now
    )
    await tx.execute("align_embeddings", ids=[memory_id])
    before = {"superseded_by": None} if reason is None else {"superseded_by": None, "reason": reason}
    await record(tx, memory_id, row["scope_id"], "superseded", before, at=now)
    await tell_of(tx, MemoryEvent.SUPERSEDED, [(row["scope_id"], memory_id)])
    return await get_memory(tx, memory_id)


async def restore(tx: Transaction, memory_id: UUID, *, until: datetime | None, now: datetime) -> Memory:
    """Believe a superseded memory again."""
    old, row = await lock_memory(tx, memory_id)
    if old.superseded_at is None:
        raise ConflictError(f"memory {memory_id} is not superseded; there is nothing to restore")
    if row["conversation_id"] is None:
        repeats = await find_repeats(tx, [(row["scope_id"], bytes(row["digest"]))])
        if repeats:
            raise ConflictError(f"the same text is active again as memory {next(iter(repeats.values()))}")
    await change_memory(
        tx,
        memory_id,
        {"superseded_by": None, "superseded_at": None, "version_of": None, "until": until or FOREVER},
        now=now,
    )
    await tx.execute("align_embeddings", ids=[memory_id])
    await record(
        tx, memory_id, row["scope_id"], "restored", {"superseded_by": _text(old.superseded_by)}, at=now
    )
    await tell_of(tx, MemoryEvent.RESTORED, [(row["scope_id"], memory_id)])
    return await get_memory(tx, memory_id)


def _text(value: object) -> str | None:
    return None if value is None else str(value)


async def get_memory(tx: Transaction, memory_id: UUID) -> Memory:
    """A memory by its id; an error if the caller may not see one."""
    rows = await tx.fetch("select_memories", {"columns": MEMORY_COLUMNS}, ids=[memory_id])
    if not rows:
        raise MemoryNotFoundError(f"no memory {memory_id} for this caller")
    return to_memory(rows[0])

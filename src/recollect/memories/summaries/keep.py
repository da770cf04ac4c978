"""A summary into the store, in one transaction with the proof that it still holds.

The memories it came from are held while it is stored: whoever deletes one of them waits and then finds the
summary, or was first and then it is not stored. A summary that is made anew replaces its words in place, under its
id, without a former version: what it said before is in the memories themselves, and an erased one must not live on
in an archive.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from recollect.domain.ids import new_id
from recollect.domain.memory import DEFAULT_IMPORTANCE, Draft, MemoryType
from recollect.domain.names import Name
from recollect.domain.tenancy import TenantContext
from recollect.domain.text import text_digest
from recollect.memories.intake import retained_until, store_embedded
from recollect.memories.summaries.abstract import Written
from recollect.storage import entities, erase, summaries, writes
from recollect.storage.store import Transaction
from recollect.storage.summaries import Place, Target
from recollect.storage.writes import NewMemory, Vectors
from recollect.text.names import find_names
from recollect.text.terms import terms
from recollect.workspace import Workspace

SOURCE = "consolidate"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Ready:
    """A summary with everything its rows need."""

    target: Target
    place: Place
    written: Written
    ends_at: datetime | None
    stale: bool
    digest: bytes
    terms: Counter[str]
    vectors: Vectors
    names: Sequence[Name]
    now: datetime


async def keep(
    workspace: Workspace,
    context: TenantContext,
    target: Target,
    place: Place,
    written: Written,
    *,
    ends_at: datetime | None,
    stale: bool,
    force: bool,
) -> str:
    """Store a summary; says whether it was "made", "refreshed" or "unchanged", or its sources have "moved"."""
    text = written.text

    async def store(tx: Transaction, vectors: Vectors) -> str:
        ready = _Ready(
            target=target,
            place=place,
            written=written,
            ends_at=ends_at,
            stale=stale,
            # Two conversations may be summed up in the same words and still be two.
            digest=text_digest(f"{target.key.kind} {target.key.about}\n{text}"),
            terms=Counter(terms(text)),
            vectors=vectors,
            names=find_names(written.words, known=await entities.declared_names(tx)),
            now=workspace.clock(),
        )
        return await _store(tx, ready, force=force)

    return await store_embedded(workspace, context, text, store)


async def _store(tx: Transaction, ready: _Ready, *, force: bool) -> str:
    key, now = ready.target.key, ready.now
    await tx.execute("lock_summary", scope=key.scope_id, kind=key.kind, about=key.about)
    sources = [(passage.id, passage.digest) for passage in ready.written.sources]
    # Sources before the summary's own row: whoever erases a source locks in this order, too.
    if not await summaries.hold_sources(tx, key, sources, now=now):
        return "moved"
    kept = await summaries.find_kept(tx, key)
    if kept is not None and kept.inputs == ready.target.inputs and not kept.stale and not force:
        return "unchanged"  # another process was faster, and saw the same
    if kept is None:
        memory_id = new_id()
        await _insert(tx, memory_id, ready)
    else:
        memory_id = kept.memory_id
        await _replace(tx, memory_id, ready)
    await summaries.store_links(
        tx, memory_id, ready.target, sources, model=ready.written.model, stale=ready.stale, now=now
    )
    return "made" if kept is None else "refreshed"


async def _insert(tx: Transaction, memory_id: UUID, ready: _Ready) -> None:
    draft = Draft(
        text=ready.written.text,
        layer=ready.place.layer,
        type=MemoryType.SUMMARY,
        entities=_entities(ready.target),
        importance=DEFAULT_IMPORTANCE[MemoryType.SUMMARY],
        metadata=ready.written.metadata,
        source=SOURCE,
        created_at=ready.now,
        valid_from=ready.written.begins_at,
        expires_at=ready.ends_at,
    )
    memory = NewMemory(
        id=memory_id,
        draft=draft,
        scope_id=ready.target.key.scope_id,
        digest=ready.digest,
        terms=ready.terms,
        vectors=[ready.vectors],
        names=ready.names,
        since=ready.now,
        until=await retained_until(tx, ready.place.layer, ready.now, ready.ends_at),
        updated_at=ready.now,
    )
    inserted = await writes.insert_memories(tx, [memory])
    await writes.link_inserted(tx, [memory], inserted)
    await writes.count_inserted(tx, [memory], inserted)


async def _replace(tx: Transaction, memory_id: UUID, ready: _Ready) -> None:
    """New words under the same id. Former versions (somebody changed it by hand) go with the old words."""
    before, row = await writes.lock_memory(tx, memory_id)
    versions = [version["memory_id"] for version in await tx.fetch("versions_of", ids=[memory_id])]
    if versions:
        erasure = erase.Erasure(tx)
        await erasure.memories(versions)
        await erasure.traces()
    columns: dict[str, Any] = {
        "text": ready.written.text,
        "digest": ready.digest,
        "metadata": ready.written.metadata,
        "created_at": ready.now,
        "valid_from": ready.written.begins_at,
        "expires_at": ready.ends_at,
        "since": ready.now,
        "until": await retained_until(tx, ready.place.layer, ready.now, ready.ends_at),
        "superseded_by": None,
        "superseded_at": None,
    }
    await writes.change_memory(tx, memory_id, columns, now=ready.now)
    scope_id: UUID = row["scope_id"]
    # Entities before counts, as everybody does.
    unlinked = await entities.unlink(tx, [memory_id])
    await entities.link(tx, [writes.linked(memory_id, scope_id, before, ready.names)])
    await entities.forget_unmentioned(tx, unlinked)
    await writes.unindex_memory(tx, memory_id)
    await writes.index_memory(tx, memory_id, scope_id, ready.terms, [ready.vectors])
    # Not what it said: that may be the words of a memory that is being forgotten.
    await writes.record(tx, memory_id, scope_id, "updated", None, at=ready.now)


def _entities(target: Target) -> tuple[str, ...]:
    return (target.title,) if target.key.kind == "entity" else ()

"""Changing a stored memory: update, supersede, restore.

A changed text is embedded anew, and what the memory said before stays as a superseded version, so that
`as_of` still answers with it. Every change leaves a line of history.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any
from uuid import UUID

from recollect.domain.codec import encode
from recollect.domain.memory import (
    Memory,
    check_entities,
    check_importance,
    check_period,
    check_time,
    compose_text,
)
from recollect.domain.overview import MemoryEvent
from recollect.domain.tenancy import TenantContext
from recollect.domain.text import check_metadata, check_text, text_digest
from recollect.errors import ConflictError, InvalidInputError
from recollect.memories.intake import retained_until, store_embedded
from recollect.storage import entities, writes
from recollect.storage.happenings import tell_of
from recollect.storage.store import Row, Transaction
from recollect.storage.writes import Vectors
from recollect.text.names import find_names
from recollect.text.terms import terms
from recollect.workspace import Workspace

#: What update may change; everything else is decided when a memory is added.
CHANGEABLE = frozenset(
    "text importance metadata entities subject predicate object trigger action source valid_from valid_to"
    " expires_at".split()
)
_COMPOSED = ("subject", "predicate", "object", "trigger", "action")
#: What a memory's links with entities are made from.
_LINKED = frozenset({"text", "entities", "subject"})
_PARTS = frozenset({"subject", "predicate", "object", "trigger", "action", "source"})


async def update_memory(
    workspace: Workspace, context: TenantContext, memory_id: UUID, changes: Mapping[str, Any]
) -> Memory:
    """Change the given fields of one memory."""
    if not changes:
        raise InvalidInputError(f"nothing to change; give one of {', '.join(sorted(CHANGEABLE))}")
    async with workspace.store.transaction(context) as tx:
        current = await writes.get_memory(tx, memory_id)
    checked = _check(changes, current)
    if "text" in checked and checked["text"] != current.text:
        return await _retext(workspace, context, current, checked)
    checked.pop("text", None)
    async with workspace.store.transaction(context) as tx:
        before, row = await writes.lock_memory(tx, memory_id)
        return await _apply(tx, before, row, checked, now=workspace.clock())


def _check(changes: Mapping[str, Any], current: Memory) -> dict[str, Any]:
    checked: dict[str, Any] = {}
    for name, value in changes.items():
        if name not in CHANGEABLE:
            raise InvalidInputError(
                f"{name!r} can't be changed; changeable are {', '.join(sorted(CHANGEABLE))}"
            )
        if name == "text":
            checked[name] = check_text(value)
        elif name == "importance":
            checked[name] = check_importance(value, current.type)
        elif name == "metadata":
            checked[name] = check_metadata(value)
        elif name == "entities":
            checked[name] = check_entities(value)
        elif name in _PARTS:
            checked[name] = None if value is None else check_text(value, what=name, limit=10_000)
        else:
            checked[name] = check_time(value, name)
    _recompose(checked, current)
    check_period(checked.get("valid_from", current.valid_from), checked.get("valid_to", current.valid_to))
    expires_at = checked.get("expires_at")
    if expires_at is not None and expires_at <= current.created_at:
        raise InvalidInputError(f"expires_at {expires_at.isoformat()} is not after created_at")
    return checked


def _recompose(checked: dict[str, Any], current: Memory) -> None:
    """A text that was made from a fact's or procedure's parts follows them; a text of its own does not."""
    parts = {name: getattr(current, name) for name in _COMPOSED}
    if "text" in checked or current.text != compose_text(current.type, parts):
        return
    composed = compose_text(current.type, {name: checked.get(name, value) for name, value in parts.items()})
    if composed:
        checked["text"] = check_text(composed)


async def _retext(
    workspace: Workspace, context: TenantContext, current: Memory, checked: dict[str, Any]
) -> Memory:
    """Change a memory whose text changes, too: embed first, then archive the old text and store the new."""
    text: str = checked["text"]
    indexed = f"{current.speaker}: {text}" if current.speaker else text

    async def store(tx: Transaction, vectors: Vectors) -> Memory:
        now = workspace.clock()
        digest = text_digest(text)
        before, row = await writes.lock_memory(tx, current.id)
        await _refuse_repeat(tx, row, digest)
        if row["superseded_at"] is None:
            await writes.archive_version(tx, current.id, row, at=now)
            await writes.change_memory(tx, current.id, {"since": now}, now=now)
        else:
            await writes.unindex_memory(tx, current.id)
        await writes.index_memory(tx, current.id, row["scope_id"], Counter(terms(indexed)), [vectors])
        return await _apply(tx, before, row, {**checked, "digest": digest}, now=now)

    return await store_embedded(workspace, context, indexed, store)


async def _refuse_repeat(tx: Transaction, row: Row, digest: bytes) -> None:
    """The same text in the same scope is one memory; turns and what is retired may say the same."""
    if row["conversation_id"] is not None or row["superseded_at"] is not None:
        return
    repeats = await writes.find_repeats(tx, [(row["scope_id"], digest)])
    others = [repeat for repeat in repeats.values() if repeat != row["memory_id"]]
    if others:
        raise ConflictError(f"the same text is stored already as memory {others[0]}")


async def _apply(
    tx: Transaction, before: Memory, row: Row, checked: Mapping[str, Any], *, now: datetime
) -> Memory:
    """Write the new values of a locked memory, and its history."""
    columns = dict(checked)
    unlinked = []
    if not columns.keys().isdisjoint(_LINKED):
        names = find_names(columns.get("text", before.text), known=await entities.declared_names(tx))
        columns["mentions"] = [name.text for name in names]
        after = replace(before, **{key: columns[key] for key in ("entities", "subject") if key in columns})
        unlinked = await entities.unlink(tx, [before.id])
        await entities.link(tx, [writes.linked(before.id, row["scope_id"], after, names)])
    if "entities" in columns:
        columns["entities"] = list(columns["entities"])
    if "expires_at" in columns and before.superseded_at is None:
        columns["until"] = await retained_until(tx, before.layer, before.created_at, columns["expires_at"])
    if columns:
        await writes.change_memory(tx, before.id, columns, now=now)
        await tx.execute("align_embeddings", ids=[before.id])
    await entities.forget_unmentioned(tx, unlinked)
    old = {name: encode(getattr(before, name)) for name in checked if name != "digest"}
    if old:
        await writes.record(tx, before.id, row["scope_id"], "updated", old, at=now)
        await tell_of(tx, MemoryEvent.UPDATED, [(row["scope_id"], before.id)])
    return await writes.get_memory(tx, before.id)


async def supersede(workspace: Workspace, context: TenantContext, memory_id: UUID, by: UUID) -> Memory:
    """Retire a memory in favour of another."""
    async with workspace.store.transaction(context) as tx:
        return await writes.supersede(tx, memory_id, by, now=workspace.clock())


async def restore(workspace: Workspace, context: TenantContext, memory_id: UUID) -> Memory:
    """Believe a superseded memory again."""
    async with workspace.store.transaction(context) as tx:
        memory, _ = await writes.lock_memory(tx, memory_id)
        until = await retained_until(tx, memory.layer, memory.created_at, memory.expires_at)
        return await writes.restore(tx, memory_id, until=until, now=workspace.clock())

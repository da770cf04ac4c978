"""From what a caller passed to durable memories.

check -> resolve scopes and repeats -> embed what is new -> store. Embedding happens outside any transaction: that of a
few memories while their scopes are looked up, that of a batch while the one before is being stored. A bad item is
reported with its position; it never takes a good one with it.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence, Set
from contextvars import copy_context
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import partial
from itertools import islice
from typing import Any, TypeVar
from uuid import UUID

from recollect.domain.ids import new_id
from recollect.domain.layers import OWNED_LAYERS, Layer, ScopeName
from recollect.domain.memory import Draft, make_draft
from recollect.domain.names import Name
from recollect.domain.overview import MemoryEvent
from recollect.domain.results import AddReport, Decision, ItemError
from recollect.domain.tenancy import TenantContext
from recollect.domain.text import text_digest
from recollect.errors import ConflictError, MemoryNotFoundError, RecollectError, StoreBusyError, StoreError
from recollect.memories.supersession import StatedFact, hold_subjects, settle_facts, state_fact
from recollect.providers.embedders import Embedder
from recollect.storage import reads, scopes, spaces, writes
from recollect.storage.connections import try_twice
from recollect.storage.entities import declared_names
from recollect.storage.faults import is_lost_race, is_row_fault
from recollect.storage.filters import FOREVER
from recollect.storage.happenings import tell_of
from recollect.storage.store import Transaction
from recollect.storage.writes import NewMemory, Vectors
from recollect.text.facts import Statement
from recollect.text.names import find_names
from recollect.text.terms import terms
from recollect.workspace import OpenSpace, Workspace, embed_windows

#: Large enough to fill COPY and the embedder's batches, small enough for a progress bar to move.
BATCH = 256
#: So many are stored one by one in a pipeline: staging takes nine exchanges with the database, whatever it stages.
_FEW = 4
#: Losing to other writers this often in a row is no longer chance: somebody deletes as fast as we add.
_ATTEMPTS = 25

Progress = Callable[[int, int | None], None]
T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """A line of an export: a memory's fields, and as extras what only the store knew (id, position, ...)."""

    fields: Mapping[str, Any]
    extras: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Stated:
    """A fact that was derived from another memory: its fields, and what was stated."""

    fields: Mapping[str, Any]
    statement: Statement


#: What one memory comes as: its fields, a fact, a line of an export, or why it could not be read.
Given = Mapping[str, Any] | Stated | Kept | RecollectError


@dataclass(slots=True, kw_only=True)
class Item:
    """One memory on its way through a batch."""

    index: int
    draft: Draft
    extras: Mapping[str, Any] = field(default_factory=dict)
    statement: Statement | None = None
    decisions: list[Decision] = field(default_factory=list)
    scope_id: UUID | None = None
    digest: bytes = b""
    stored_id: UUID | None = None
    repeat_of: UUID | None = None
    unchanged: bool = False
    error: RecollectError | None = None


async def add_items(
    workspace: Workspace,
    context: TenantContext,
    source: Iterable[tuple[int, Given]],
    *,
    total: int | None = None,
    progress: Progress | None = None,
) -> AddReport:
    """Store (index, memory) pairs in batches."""
    ids: dict[int, UUID | None] = {}
    errors: list[ItemError] = []
    decisions: list[Decision] = []
    added = reinforced = unchanged = done = 0
    large = False
    fresh: Counter[UUID] = Counter()
    pending: asyncio.Task[list[Item]] | None = None

    def settle(items: Sequence[Item]) -> None:
        nonlocal added, reinforced, unchanged, done
        for item in items:
            ids[item.index] = item.stored_id
            decisions.extend(item.decisions)
            if item.error is not None:
                errors.append(ItemError(index=item.index, code=item.error.code, message=str(item.error)))
            elif item.repeat_of is not None:
                reinforced += 1
            elif item.unchanged:
                unchanged += 1
            else:
                added += 1
                fresh[_scope(item)] += 1
        done += len(items)
        if progress is not None:
            progress(done, total)

    try:
        for batch in _batches(source):
            items, bad = _check(batch, workspace.clock(), context)
            for index, error in bad:
                ids[index] = None
                errors.append(ItemError(index=index, code=error.code, message=str(error)))
            done += len(bad)
            if not items:
                settle(items)
                await asyncio.sleep(0)  # nothing here waits, and others have a turn, too
                continue
            prepared = await try_twice(partial(_prepare, workspace, context, items))
            large = prepared.large
            if pending is not None:
                settle(await pending)
            pending = asyncio.create_task(_store(workspace, context, items, prepared))
        if pending is not None:
            settle(await pending)
            pending = None
    finally:
        if pending is not None:
            await asyncio.gather(pending, return_exceptions=True)
    if added:
        await workspace.settle(context, added=added, large=large)
        await workspace.handover.added(workspace.store, context, fresh)
    ordered = sorted(ids)
    return AddReport(
        ids=tuple(ids[index] for index in ordered),
        added=added,
        reinforced=reinforced,
        unchanged=unchanged,
        errors=tuple(sorted(errors, key=lambda e: e.index)),
        decisions=tuple(decisions),
    )


def _batches(source: Iterable[Any]) -> Iterator[list[Any]]:
    iterator = iter(source)
    while batch := list(islice(iterator, BATCH)):
        yield batch


def _check(
    batch: Sequence[tuple[int, Given]], now: datetime, context: TenantContext
) -> tuple[list[Item], list[tuple[int, RecollectError]]]:
    items, bad = [], []
    for index, given in batch:
        try:
            if isinstance(given, RecollectError):
                raise given
            if isinstance(given, Kept):
                items.append(Item(index=index, draft=make_draft(given.fields, now=now), extras=given.extras))
            elif isinstance(given, Stated):
                draft = make_draft(given.fields, now=now)
                items.append(Item(index=index, draft=draft, statement=given.statement))
            else:
                draft, statement = state_fact(make_draft(given, now=now), context)
                items.append(Item(index=index, draft=draft, statement=statement))
        except RecollectError as error:
            bad.append((index, error))
    return items, bad


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """What was computed for a batch before its transaction: vectors and terms by the items' positions.

    `large` says that the caller's memories have outgrown exact search, as far as the caller sees.
    """

    opened: OpenSpace
    retention: dict[Layer, int]
    vectors: dict[int, list[Any]]
    terms: dict[int, Counter[str]]
    names: dict[int, list[Name]]
    large: bool


async def _prepare(workspace: Workspace, context: TenantContext, items: list[Item]) -> Prepared:
    """Resolve scopes and repeats, and embed what is new.

    A few are embedded while the database is asked, even if it then knows them: embedding takes longer than the answer.
    """
    opened = await workspace.open_space(context)
    reading = _read(opened.embedder, items) if len(items) <= _FEW else None
    try:
        async with workspace.store.transaction(context) as tx:
            caller = await scopes.describe_caller(tx)
            retention = {Layer(k): v for k, v in (await scopes.get_tenant(tx)).retention_days.items()}
            await _resolve_scopes(tx, items)
            good = [item for item in items if item.error is None]
            for item in good:
                item.digest = text_digest(item.draft.text)
            await _find_repeats(tx, good)
            declared = await declared_names(tx)
        fresh = [item for item in good if item.repeat_of is None]
        if fresh:
            reading = reading or _read(opened.embedder, fresh)
        names = await asyncio.to_thread(_names, fresh, declared) if fresh else {}
        vectors, counted = await reading if fresh and reading else ({}, {})
    finally:
        if reading is not None and not reading.cancel() and not reading.cancelled():
            reading.exception()  # nobody waits for it any more, nor for its fault
    return Prepared(
        opened=opened,
        retention=retention,
        vectors=vectors,
        terms=counted,
        names=names,
        large=caller.vectors + len(fresh) > spaces.EXACT_ROWS,
    )


def _names(items: Sequence[Item], declared: Set[str]) -> dict[int, list[Name]]:
    """The names in some items, by their positions."""
    return {item.index: find_names(item.draft.text, known=declared) for item in items}


def _read(
    embedder: Embedder, items: Sequence[Item]
) -> asyncio.Future[tuple[dict[int, list[Any]], dict[int, Counter[str]]]]:
    """The vectors and terms of some items, by their positions, from a thread that begins at once."""
    texts = {item.index: item.draft.indexed_text for item in items}

    def read() -> tuple[dict[int, list[Any]], dict[int, Counter[str]]]:
        vectors = embed_windows(embedder, list(texts.values()))
        counted = {index: Counter(terms(text)) for index, text in texts.items()}
        return dict(zip(texts, vectors, strict=True)), counted

    return asyncio.get_running_loop().run_in_executor(None, copy_context().run, read)


async def _resolve_scopes(tx: Transaction, items: Sequence[Item]) -> None:
    """Each distinct scope once; a scope that can't be written to is the error of its items alone."""
    resolved: dict[tuple[Layer, ScopeName | None, str | None], UUID | RecollectError] = {}
    for item in items:
        layer, name = item.draft.layer, item.draft.scope
        owner = item.extras.get("owner") if layer in OWNED_LAYERS else None
        if (layer, name, owner) not in resolved:
            try:
                if name is not None and owner is not None:
                    place = await writes.owned_scope(tx, name, owner)
                else:
                    place = await scopes.writable_scope(tx, layer, name)
                resolved[layer, name, owner] = place
            except StoreError:
                raise
            except RecollectError as error:
                resolved[layer, name, owner] = error
        scope = resolved[layer, name, owner]
        if isinstance(scope, UUID):
            item.scope_id = scope
        else:
            item.error = scope


async def _find_repeats(tx: Transaction, items: Sequence[Item]) -> None:
    """Mark repeats of stored memories, and of earlier items of the same batch. Turns never repeat."""
    for item in items:
        item.repeat_of = item.stored_id = None
    plain = [item for item in items if item.draft.conversation is None and not item.extras]
    stored = await writes.find_repeats(tx, [(_scope(item), item.digest) for item in plain])
    first: dict[tuple[UUID, bytes], Item] = {}
    for item in plain:
        key = (_scope(item), item.digest)
        if key in stored:
            item.repeat_of = item.stored_id = stored[key]
        elif key in first:
            item.repeat_of = item.stored_id = first[key].stored_id
        else:
            item.stored_id = new_id()
            first[key] = item
    for item in items:
        if item.stored_id is None:
            item.stored_id = item.extras.get("id") or new_id()


def _scope(item: Item) -> UUID:
    assert item.scope_id is not None
    return item.scope_id


async def _store(
    workspace: Workspace, context: TenantContext, items: list[Item], prepared: Prepared
) -> list[Item]:
    """Make a batch durable; when the database refuses a value, find out whose it was."""
    for attempt in range(1, _ATTEMPTS + 1):
        good = [item for item in items if item.error is None]
        try:
            await try_twice(partial(_store_together, workspace, context, good, prepared))
            return items
        except MemoryNotFoundError:
            # What an item repeats was erased after we looked: it is the first of its text again.
            if attempt == _ATTEMPTS:
                raise
            prepared = await _prepare(workspace, context, good)
        except StoreBusyError as error:
            if attempt == _ATTEMPTS or not is_lost_race(error):
                raise
        except RecollectError as error:
            if not (is_row_fault(error) or isinstance(error, _TakenIdError)):
                raise
            if len(good) == 1:
                good[0].error, good[0].stored_id = error, None
                return items
            for item in good:
                await _store(workspace, context, [item], prepared)
            return items
    return items


async def _store_together(
    workspace: Workspace, context: TenantContext, items: Sequence[Item], prepared: Prepared
) -> None:
    now = workspace.clock()
    few = len(items) <= _FEW
    async with workspace.store.transaction(context) as tx, tx.pipeline(when=few):
        active = await spaces.share_switch_lock(tx)
        if active == prepared.opened.space.id:
            await _write(tx, items, prepared, now)
            return
    # The store was re-embedded between embedding and storing: embed again for the new space.
    await workspace.open_space(context, active)
    again = await _prepare(workspace, context, list(items))
    await _store_together(workspace, context, [item for item in items if item.error is None], again)


async def _write(tx: Transaction, items: Sequence[Item], prepared: Prepared, now: datetime) -> None:
    """Rows of memories first, then entities, counts last: whoever changes a memory locks in this order."""
    fresh = [item for item in items if item.repeat_of is None]
    await hold_subjects(tx, [(_scope(item), item.statement.subject) for item in fresh if item.statement])
    places = await _take_places(tx, fresh)
    memories = [_new_memory(item, prepared, places.get(item.index), now) for item in fresh]
    inserted = await writes.insert_memories(tx, memories)
    unseen = set(inserted)
    for item in fresh:
        assert item.stored_id is not None
        if item.stored_id in unseen:
            unseen.discard(item.stored_id)
        elif item.extras:
            item.unchanged = True
            item.stored_id = await _known_as(tx, item)
        else:
            # Somebody stored the same text meanwhile: this one is the repeat.
            stored = await writes.find_repeats(tx, [(_scope(item), item.digest)])
            item.repeat_of = item.stored_id = stored.get((_scope(item), item.digest), item.stored_id)
    repeats: dict[UUID, list[Draft]] = {}
    for item in items:
        if item.repeat_of is not None:
            repeats.setdefault(item.repeat_of, []).append(item.draft)
    repeated: list[tuple[UUID, UUID, Draft]] = []
    for memory_id in sorted(repeats):
        drafts = repeats[memory_id]
        joined = _joined(drafts)
        until = _until(joined, prepared.retention)
        scope_id = await writes.reinforce(tx, memory_id, joined, times=len(drafts), until=until, now=now)
        repeated.append((memory_id, scope_id, joined))
    await _settle_facts(tx, fresh, inserted, now)
    await writes.link_inserted(tx, memories, inserted, repeated)
    await writes.count_inserted(tx, memories, inserted)
    added = [(_scope(item), item.stored_id) for item in fresh if item.stored_id in inserted]
    await tell_of(tx, MemoryEvent.ADDED, [(scope, id) for scope, id in added if id is not None])


async def _settle_facts(tx: Transaction, fresh: Sequence[Item], inserted: Set[UUID], now: datetime) -> None:
    """Let what was newly stated retire, reinforce or contradict what is known."""
    stated = {
        item.stored_id: StatedFact(
            memory_id=item.stored_id,
            scope_id=_scope(item),
            statement=item.statement,
            created_at=item.draft.created_at,
        )
        for item in fresh
        if item.statement is not None and item.stored_id is not None and item.stored_id in inserted
    }
    decided = await settle_facts(tx, list(stated.values()), now=now) if stated else {}
    for item in fresh:
        item.decisions = decided.get(item.stored_id, []) if item.stored_id else []


async def _known_as(tx: Transaction, item: Item) -> UUID:
    """Under which id a line is stored that was not inserted: its own, or that of the same text."""
    assert item.stored_id is not None
    if await reads.get_memories(tx, [item.stored_id]):
        return item.stored_id
    stored = await writes.find_repeats(tx, [(_scope(item), item.digest)])
    if stored:
        return next(iter(stored.values()))
    raise _TakenIdError(f"the id {item.stored_id} is taken by a memory this caller can't see")


class _TakenIdError(ConflictError):
    """An id that can't be used is the error of its line alone, like a refusal by the database."""


def _joined(drafts: Sequence[Draft]) -> Draft:
    """Several repeats of one text as one: the last says when, all say what."""
    metadata: dict[str, Any] = {}
    for draft in drafts:
        metadata |= draft.metadata
    return replace(
        drafts[-1],
        metadata=metadata,
        entities=tuple(dict.fromkeys(name for draft in drafts for name in draft.entities)),
        importance=max(draft.importance for draft in drafts),
    )


async def _take_places(tx: Transaction, items: Sequence[Item]) -> dict[int, tuple[UUID, int]]:
    """Positions in conversations, in the order the turns came."""
    turns: dict[tuple[UUID, str], list[Item]] = {}
    for item in items:
        if item.draft.conversation is not None:
            turns.setdefault((_scope(item), item.draft.conversation), []).append(item)
    places: dict[int, tuple[UUID, int]] = {}
    for (scope_id, name), group in sorted(turns.items(), key=lambda entry: entry[0]):
        given = [item.extras["position"] for item in group if item.extras.get("position") is not None]
        fresh = [item for item in group if item.extras.get("position") is None]
        at_least = max(given, default=-1) + 1
        conversation, position = await writes.take_positions(
            tx, scope_id, name, len(fresh), at_least=at_least
        )
        for item in group:
            kept = item.extras.get("position")
            places[item.index] = (conversation, kept if kept is not None else position)
            position += kept is None
    return places


def _new_memory(item: Item, prepared: Prepared, place: tuple[UUID, int] | None, now: datetime) -> NewMemory:
    extras = item.extras
    until = _until(item.draft, prepared.retention)
    superseded_at = extras.get("superseded_at")
    if superseded_at is not None:
        until = superseded_at if until is None else min(until, superseded_at)
    assert item.stored_id is not None
    return NewMemory(
        id=item.stored_id,
        draft=item.draft,
        scope_id=_scope(item),
        digest=item.digest,
        terms=prepared.terms[item.index],
        names=prepared.names[item.index],
        vectors=[Vectors(space_id=prepared.opened.space.id, parts=prepared.vectors[item.index])],
        until=until,
        conversation_id=place[0] if place else None,
        position=place[1] if place else None,
        use_count=extras.get("use_count", 0),
        utility=extras.get("utility", 0.0),
        superseded_by=extras.get("superseded_by"),
        superseded_at=superseded_at,
        version_of=extras.get("version_of"),
        # Dated ahead, a memory is still known from now on: an add is found at once.
        since=extras.get("since") or min(item.draft.created_at, now),
        updated_at=extras.get("updated_at") or now,
    )


async def store_embedded(
    workspace: Workspace,
    context: TenantContext,
    text: str,
    store: Callable[[Transaction, Vectors], Awaitable[T]],
) -> T:
    """Embed a text, and store it in one transaction; both again when the store was re-embedded in between."""
    while True:
        opened = await workspace.open_space(context)
        [parts] = await asyncio.to_thread(embed_windows, opened.embedder, [text])
        async with workspace.store.transaction(context) as tx:
            active = await spaces.share_switch_lock(tx)
            if active == opened.space.id:
                return await store(tx, Vectors(space_id=active, parts=parts))
        await workspace.open_space(context, active)


async def retained_until(
    tx: Transaction, layer: Layer, created_at: datetime, expires_at: datetime | None
) -> datetime:
    """When a memory ceases to be believed, by its own expiry and its layer's retention."""
    days = (await scopes.get_tenant(tx)).retention_days.get(layer.value)
    return believed_until(created_at, expires_at, days) or FOREVER


def _until(draft: Draft, retention: Mapping[Layer, int]) -> datetime | None:
    return believed_until(draft.created_at, draft.expires_at, retention.get(draft.layer))


def believed_until(
    created_at: datetime, expires_at: datetime | None, retention_days: int | None
) -> datetime | None:
    """The earlier of a memory's own expiry and its layer's retention; None for neither."""
    kept = None if retention_days is None else created_at + timedelta(days=retention_days)
    ends = [end for end in (expires_at, kept) if end is not None]
    return min(ends) if ends else None

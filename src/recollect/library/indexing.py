"""Embedding what is missing of a document, batch by batch, each committed before the next is embedded.

What is missing is asked of the store, so it does not matter who began and who died: whoever comes next goes on. The
text itself is kept before (`intake.py`). Two that index one document at once do some work twice and store it once.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any
from uuid import UUID

from recollect.domain.tenancy import TenantContext
from recollect.errors import DocumentNotFoundError, RecollectError, StoreBusyError
from recollect.library.passages import Passage, search_text, split_passages
from recollect.providers.embedders import Embedder
from recollect.storage import library, spaces
from recollect.storage.connections import Connection
from recollect.storage.library import NewPassage
from recollect.storage.spaces import Space
from recollect.storage.store import Row, Transaction
from recollect.storage.upkeep import analyze_library
from recollect.text.terms import terms
from recollect.workspace import ANALYZE_FROM, OpenSpace, Workspace

#: Of a batch: large enough to fill the embedder's own batches, small enough to lose little and to show progress.
_BATCH_PASSAGES = 256
#: Text that is fetched at once to fill a batch, in tokens.
_BATCH_TOKENS = 40_000
#: How often a document that a worker indexes is looked at, and when its indexing is taken over after nothing moved.
_POLL_S = 0.5
_PATIENCE_S = 15.0

Progress = Callable[[int, int | None], None]


async def follow(
    workspace: Workspace, context: TenantContext, document: UUID, progress: Progress | None
) -> bool:
    """Wait while a worker indexes; False when none does, so that the caller had better do it."""
    seen, still_s = -1, 0.0
    while True:
        async with workspace.store.transaction(context) as tx:
            documents = await library.find_documents(tx, ids=[document])
            counted = await tx.fetch_one("count_sections", document=document)
        if not documents or documents[0].state != "indexing":
            return True
        assert counted is not None
        if progress is not None:
            progress(counted["indexed"], counted["sections"])
        still_s = 0.0 if counted["indexed"] > seen else still_s + _POLL_S
        seen = max(seen, counted["indexed"])
        if still_s >= _PATIENCE_S:
            return False
        await asyncio.sleep(_POLL_S)


async def resume_indexing(workspace: Workspace, context: TenantContext, document: UUID | None = None) -> int:
    """Go on where indexing was interrupted, in one document or in all the caller may write; how many were embedded."""
    async with workspace.store.transaction(context) as tx:
        rows = [] if document else await tx.fetch("unready_documents")
    embedded = 0
    for id_ in [document] if document else [row["document_id"] for row in rows]:
        try:
            embedded += await index_document(workspace, context, id_)
        except DocumentNotFoundError:
            continue  # removed since
    return embedded


async def index_document(
    workspace: Workspace,
    context: TenantContext,
    document: UUID,
    *,
    progress: Progress | None = None,
    one_of_many: bool = False,
) -> int:
    """Embed and store what is missing of a document; returns how many passages were embedded.

    Two that index the same document at once do some work twice and store it once. Whoever indexes many tells the
    planner of them himself (`note_growth`), once.
    """
    try:
        embedded = await _index(workspace, context, document, progress)
    except (StoreBusyError, DocumentNotFoundError):
        raise
    except RecollectError as error:
        async with workspace.store.transaction(context) as tx:
            await tx.execute("set_document_state", document=document, state="failed", error=str(error))
        raise
    if not one_of_many:
        await note_growth(workspace, embedded)
    return embedded


async def note_growth(workspace: Workspace, embedded: int) -> None:
    """Bring the planner's statistics up to date after so many passages, where we may."""
    if embedded >= ANALYZE_FROM and workspace.store.door.owner is not None:
        await analyze_library(workspace.store)


async def _index(
    workspace: Workspace, context: TenantContext, document: UUID, progress: Progress | None
) -> int:
    opened = await workspace.open_space(context)
    embedded, after = 0, -1
    pending: asyncio.Task[bool] | None = None
    try:
        while True:
            async with workspace.store.transaction(context) as tx:
                batch = await _next_batch(tx, document, opened, after)
            if pending is not None:
                stored, pending = await pending, None
                if (
                    not stored
                ):  # the store was re-embedded: what was embedded for the old space does not count
                    opened = await workspace.open_space(context, await _active(workspace, context))
                    embedded, after = 0, -1
                    continue
                await _report(workspace, context, document, progress)
            if batch is None:
                break
            after = batch.last_number
            vectors, counted = await asyncio.to_thread(_embed, opened, batch.texts)
            embedded += len(batch.texts)
            pending = asyncio.create_task(
                _store(workspace, context, document, opened, batch, vectors, counted)
            )
            if batch.unfinished:  # the same section goes on: it must see what was stored
                await asyncio.wait([pending])
    finally:
        if pending is not None:
            await asyncio.gather(pending, return_exceptions=True)
    async with workspace.store.transaction(context) as tx:
        await tx.execute("set_document_state", document=document, state="ready", error=None)
    return embedded


@dataclass(frozen=True, slots=True, kw_only=True)
class _Batch:
    """Passages to embed: their section and part, and the sections that are complete with them."""

    texts: list[str]
    places: list[tuple[int, int, Passage, int]]
    read: dict[int, bytes]
    complete: list[int]
    last_number: int
    unfinished: bool


async def _next_batch(tx: Transaction, document: UUID, opened: OpenSpace, after: int) -> _Batch | None:
    documents = await library.find_documents(tx, ids=[document])
    if not documents:
        raise DocumentNotFoundError(f"the document {document} was removed while it was being indexed")
    rows = await tx.fetch(
        "waiting_sections", document=document, space=opened.space.id, after=after, budget=_BATCH_TOKENS
    )
    if not rows:
        return None
    return await asyncio.to_thread(_cut, rows, documents[0].title, after)


def _cut(rows: Sequence[dict[str, Any]], title: str, after: int) -> _Batch:
    batch = _Batch(texts=[], places=[], read={}, complete=[], last_number=after, unfinished=False)
    last = after
    for row in rows:
        passages = passages_of(row["heading"], row["text"])
        wanted = passages[row["done"] :]
        room = _BATCH_PASSAGES - len(batch.texts)
        if batch.texts and room <= 0:
            break
        batch.read[row["section"]] = bytes(row["digest"])
        for part, passage in list(enumerate(passages))[row["done"] : row["done"] + room]:
            batch.texts.append(search_text(passage, title=title, path=row["path"]))
            batch.places.append((row["section"], part, passage, row["number"]))
        if len(wanted) > room:
            return replace(batch, last_number=last, unfinished=True)
        batch.complete.append(row["section"])
        last = row["number"]
    return replace(batch, last_number=last)


def passages_of(heading: str, text: str) -> list[Passage]:
    """The passages of a section's text without its heading; the section's first line is 0."""
    lines = text.split("\n")
    titled = bool(heading) and " ".join(lines[0].strip("#= \t").split()) == " ".join(heading.split())
    return split_passages(lines[titled:], line_start=int(titled))


def _embed(opened: OpenSpace, texts: Sequence[str]) -> tuple[Any, list[Counter[str]]]:
    return (opened.embedder.embed(texts) if texts else [], [Counter(terms(text)) for text in texts])


async def _store(
    workspace: Workspace,
    context: TenantContext,
    document: UUID,
    opened: OpenSpace,
    batch: _Batch,
    vectors: Any,
    counted: Sequence[Counter[str]],
) -> bool:
    """False when the store was re-embedded between embedding and storing."""
    passages = [
        NewPassage(
            section=section,
            part=part,
            line_first=passage.line_start,
            line_last=passage.line_end,
            terms=words,
            vector=vector,
        )
        for (section, part, passage, _), vector, words in zip(batch.places, vectors, counted, strict=True)
    ]
    async with workspace.store.transaction(context) as tx:
        if await spaces.share_switch_lock(tx) != opened.space.id:
            return False
        await library.store_passages(
            tx,
            document,
            space_id=opened.space.id,
            read=batch.read,
            passages=passages,
            complete=batch.complete,
        )
    return True


async def _active(workspace: Workspace, context: TenantContext) -> int | None:
    async with workspace.store.transaction(context) as tx:
        return await spaces.share_switch_lock(tx)


async def _report(
    workspace: Workspace, context: TenantContext, document: UUID, progress: Progress | None
) -> None:
    if progress is None:
        return
    async with workspace.store.transaction(context) as tx:
        row = await tx.fetch_one("count_sections", document=document)
    if row is not None:
        progress(row["indexed"], row["sections"])


async def fill_passages(
    connection: Connection, embedder: Embedder, tenant: str, source: Space, target: Space
) -> AsyncIterator[int]:
    """Embed a tenant's passages into another space; gives how many, batch by batch."""
    while rows := await library.missing_passages(
        connection, tenant, target, from_space=source.id, limit=_BATCH_PASSAGES
    ):
        vectors = await asyncio.to_thread(_embed_passages, embedder, rows)
        await library.fill_passages(connection, tenant, target, rows, vectors, from_space=source.id)
        yield len(rows)


def _embed_passages(embedder: Embedder, rows: list[Row]) -> Any:
    cut: dict[tuple[Any, int], list[Passage]] = {}
    texts = []
    for row in rows:
        key = (row["document_id"], row["section"])
        if key not in cut:
            cut[key] = passages_of(row["heading"], row["text"])
        passage = passage_of(cut[key], part=row["part"], first=row["line_first"], last=row["line_last"])
        if passage is None:
            passage = _by_lines(row, cut[key])
        texts.append(search_text(passage, title=row["title"], path=row["path"]))
    return embedder.embed(texts)


def passage_of(parts: Sequence[Passage], *, part: int, first: int, last: int) -> Passage | None:
    """The passage that was stored as this part of its section; None when the section is cut otherwise today.

    The number and the lines must agree; after a change of how sections are cut, the lines decide.
    """
    if part < len(parts) and (parts[part].line_start, parts[part].line_end) == (first, last):
        return parts[part]
    same = [part for part in parts if (part.line_start, part.line_end) == (first, last)]
    # What older versions did not have are passages of single strange sentences, beside those of the whole text.
    return next((passage for passage in same if not passage.strange), same[0] if same else None)


def _by_lines(row: Row, parts: Sequence[Passage]) -> Passage:
    """Lines that are no passage today: in the entries of the one they begin in."""
    first, last = row["line_first"], row["line_last"]
    lines = row["text"].split("\n")[first : last + 1]
    around = [part for part in parts if part.line_start <= first <= part.line_end and not part.strange]
    return Passage(
        line_start=first,
        line_end=last,
        text="\n".join(line.strip() for line in lines if line.strip()),
        entries=around[0].entries if around else (),
    )

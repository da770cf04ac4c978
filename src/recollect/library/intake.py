"""From a file's bytes to a document that can be found.

read -> keep the text -> embed what is new. The text is durable before anything is embedded (state "indexing"), and
passages are committed batch by batch, so that whoever dies in between loses nothing: the next `add_document` of the
same file, `resume_indexing`, or a worker embeds only what is missing. A changed document keeps the passages of the
sections that stayed. Whole folders are `folders.py`, getting documents out again is `shelf.py`.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any
from uuid import UUID

from recollect.domain.documents import ReadDocument, Section
from recollect.domain.layers import Layer, ScopeName
from recollect.domain.library import Document, DocumentReport
from recollect.domain.tenancy import TenantContext
from recollect.domain.text import check_name
from recollect.errors import (
    DocumentNotFoundError,
    InvalidInputError,
    RecollectError,
    StoreBusyError,
)
from recollect.library.passages import PASSAGES_VERSION, Passage, search_text, split_passages
from recollect.library.reading import ReadingLimits, read_document
from recollect.providers.tokens import count_tokens
from recollect.retrieval.terms import terms
from recollect.storage import library, scopes, spaces
from recollect.storage.jobs import enqueue
from recollect.storage.library import NewDocument, NewPassage
from recollect.storage.store import Transaction
from recollect.storage.upkeep import analyze_library
from recollect.workspace import ANALYZE_FROM, OpenSpace, Workspace

MAX_TAGS = 50
#: Of a batch: large enough to fill the embedder's own batches, small enough to lose little and to show progress.
_BATCH_PASSAGES = 256
#: Text that is fetched at once to fill a batch, in tokens.
_BATCH_TOKENS = 40_000
#: How often a document that a worker indexes is looked at, and when its indexing is taken over after nothing moved.
_POLL_S = 0.5
_PATIENCE_S = 15.0

Progress = Callable[[int, int | None], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Placement:
    """Where a document goes, and how it is labelled."""

    layer: Layer
    scope: ScopeName | None = None
    #: None leaves those of a document that is there already.
    tags: tuple[str, ...] | None = None


def check_placement(*, layer: str = "user", scope: str | None = None, tags: object = None) -> Placement:
    """Read what a caller said about where a document goes."""
    if isinstance(tags, str):
        raise InvalidInputError(f"tags must be a list, not the string {tags!r}; write [{tags!r}]")
    if tags is not None and not isinstance(tags, Sequence | set | frozenset):
        raise InvalidInputError(f"tags must be a list of strings, not {type(tags).__name__}")
    labels = None if tags is None else tuple(dict.fromkeys(check_name(tag, what="tag") for tag in tags))
    if labels and len(labels) > MAX_TAGS:
        raise InvalidInputError(f"{len(labels)} tags on one document, the limit is {MAX_TAGS}")
    head = (scope or "").partition("/")[0]
    # A scope such as "team/api" says its layer; the default must not contradict it.
    said = head if layer == "user" and scope and "/" in scope and head in set(Layer) else layer
    named = None if scope is None else ScopeName.parse(scope, default_layer=Layer.parse(said))
    return Placement(layer=Layer.parse(said), scope=named, tags=labels)


async def add_document(
    workspace: Workspace,
    context: TenantContext,
    data: bytes,
    *,
    name: str,
    title: str | None = None,
    id: str | None = None,
    tags: Sequence[str] | None = None,
    layer: str = "user",
    scope: str | None = None,
    source: str | None = None,
    kind: str | None = None,
    wait: bool = False,
    progress: Progress | None = None,
) -> DocumentReport:
    """Add a file to the library, or bring the document of this id up to date.

    `name` is the file's name; `id` is what the document is called (the name, when not given). A large one is handed
    to the workers when there is a queue; `wait` follows it. `progress(done, total)` counts sections.
    """
    placement = check_placement(layer=layer, scope=scope, tags=tags)
    called = check_name(name if id is None else id, what="id")
    shown = None if title is None else check_name(title, what="title")
    origin = None if source is None else check_name(source[:200], what="source")
    stored = await _keep_text(
        workspace, context, data, placement, name=name, called=called, title=shown, source=origin, kind=kind
    )
    if stored.document.state == "ready":
        return stored
    return await _index_or_queue(workspace, context, stored, wait=wait, progress=progress)


async def keep_file(
    workspace: Workspace,
    context: TenantContext,
    data: bytes,
    placement: Placement,
    *,
    name: str,
    called: str,
    source: str | None,
) -> DocumentReport:
    """The first half of adding: the text is kept, nothing is embedded. For whoever overlaps the two."""
    return await _keep_text(
        workspace, context, data, placement, name=name, called=called, title=None, source=source, kind=None
    )


async def _keep_text(
    workspace: Workspace,
    context: TenantContext,
    data: bytes,
    placement: Placement,
    *,
    name: str,
    called: str,
    title: str | None,
    source: str | None,
    kind: str | None,
) -> DocumentReport:
    if not isinstance(data, bytes):
        raise InvalidInputError(
            f"a document is bytes, not {type(data).__name__}; read the file in binary mode"
        )
    digest = hashlib.sha256(b"%d:" % PASSAGES_VERSION + data).digest()
    async with workspace.store.transaction(context) as tx:
        await scopes.describe_caller(tx)
        scope_id = await scopes.writable_scope(tx, placement.layer, placement.scope)
        known = await _known(tx, scope_id, called)
        if known is not None and known.digest == digest.hex() and title in (None, known.title):
            labels = None if placement.tags is None else list(placement.tags)
            await tx.execute("label_document", document=known.id, tags=labels, source=source)
            known = await _known(tx, scope_id, called)
            if known is not None:
                return DocumentReport(document=known, outcome="unchanged", kept=known.sections)
    read = await asyncio.to_thread(_read, workspace, data, name, kind, title)
    earlier = known.tags if known is not None else ()
    new = await asyncio.to_thread(
        _prepare,
        read,
        called,
        digest,
        source or (known.source if known else None),
        earlier if placement.tags is None else placement.tags,
    )
    async with workspace.store.transaction(context) as tx:
        scope_id = await scopes.writable_scope(tx, placement.layer, placement.scope)
        stored = await library.store_text(
            tx, new, scope_id=scope_id, layer=placement.layer, now=workspace.clock()
        )
        [document] = await library.find_documents(tx, ids=[stored.id])
    outcome = "added" if stored.created else "updated"
    return DocumentReport(document=document, outcome=outcome, kept=stored.kept)


async def _known(tx: Transaction, scope_id: UUID, name: str) -> Document | None:
    found = await library.find_documents(tx, names=[name], scope=scope_id)
    return found[0] if found else None


def _read(workspace: Workspace, data: bytes, name: str, kind: str | None, title: str | None) -> ReadDocument:
    limits = ReadingLimits(max_file_bytes=workspace.settings.library_max_file_bytes)
    read = read_document(data, name=name, kind=kind, limits=limits)
    return read if title is None else replace(read, title=title)


def _prepare(
    read: ReadDocument, name: str, digest: bytes, source: str | None, tags: Sequence[str]
) -> NewDocument:
    lines = read.lines
    read = replace(read, sections=tile(read.sections, len(lines)))
    texts = ["\n".join(lines[s.line_start - 1 : s.line_end]) for s in read.sections]
    return NewDocument(
        name=name,
        read=read,
        digest=digest,
        source=source,
        tags=tags,
        texts=texts,
        tokens=[count_tokens(text) for text in texts],
        digests=[
            section_digest(read.title, section.path, text)
            for section, text in zip(read.sections, texts, strict=True)
        ],
    )


def tile(sections: Sequence[Section], lines: int) -> tuple[Section, ...]:
    """The sections without gaps or overlaps between them, so that their texts add up to the whole text."""
    tiled = []
    for index, section in enumerate(sections):
        start = 1 if index == 0 else section.line_start
        end = sections[index + 1].line_start - 1 if index + 1 < len(sections) else lines
        if end >= start:
            tiled.append(replace(section, line_start=start, line_end=end))
    return tuple(tiled)


def section_digest(title: str, path: str, text: str) -> bytes:
    """Of all that a section's passages are made of: equal digests have equal passages."""
    parts = (str(PASSAGES_VERSION), title, path, text)
    return hashlib.sha256("\x00".join(parts).encode("utf-8", "surrogatepass")).digest()


async def _index_or_queue(
    workspace: Workspace,
    context: TenantContext,
    report: DocumentReport,
    *,
    wait: bool,
    progress: Progress | None,
) -> DocumentReport:
    document = report.document
    if document.tokens >= workspace.settings.library_queue_tokens:
        async with workspace.store.transaction(context) as tx:
            queued = await enqueue(tx, "index", str(document.id), {"document": str(document.id)})
        if queued is not None and not wait:
            outcome = "queued" if report.outcome != "unchanged" else report.outcome
            return replace(report, outcome=outcome)
        if queued is not None and await _follow(workspace, context, document.id, progress):
            return await _refreshed(workspace, context, report, 0)
    embedded = await index_document(workspace, context, document.id, progress=progress)
    return await _refreshed(workspace, context, report, embedded)


async def _refreshed(
    workspace: Workspace, context: TenantContext, report: DocumentReport, embedded: int
) -> DocumentReport:
    async with workspace.store.transaction(context) as tx:
        found = await library.find_documents(tx, ids=[report.document.id])
    if not found:
        raise DocumentNotFoundError(
            f"the document {report.document.name!r} was removed while it was being indexed"
        )
    if found[0].state == "failed":
        raise InvalidInputError(f"{report.document.name!r} could not be indexed: {found[0].error}")
    return replace(report, document=found[0], embedded=embedded)


async def _follow(
    workspace: Workspace, context: TenantContext, document: UUID, progress: Progress | None
) -> bool:
    """Wait while a worker indexes; False when none does, so that the caller had better do it."""
    seen, still_s = -1, 0.0
    while True:
        async with workspace.store.transaction(context) as tx:
            found = await library.find_documents(tx, ids=[document])
            counted = await tx.fetch_one("count_sections", document=document)
        if not found or found[0].state != "indexing":
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
    for one in [document] if document else [row["document_id"] for row in rows]:
        try:
            embedded += await index_document(workspace, context, one)
        except DocumentNotFoundError:
            continue  # removed since
    return embedded


async def index_document(
    workspace: Workspace, context: TenantContext, document: UUID, *, progress: Progress | None = None
) -> int:
    """Embed and store what is missing of a document; returns how many passages were embedded.

    Two that index the same document at once do some work twice and store it once.
    """
    try:
        embedded = await _index(workspace, context, document, progress)
    except (StoreBusyError, DocumentNotFoundError):
        raise
    except RecollectError as error:
        async with workspace.store.transaction(context) as tx:
            await tx.execute("set_document_state", document=document, state="failed", error=str(error))
        raise
    if embedded >= ANALYZE_FROM and workspace.store.door.owner is not None:
        await analyze_library(workspace.store)
    return embedded


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
    held = await library.find_documents(tx, ids=[document])
    if not held:
        raise DocumentNotFoundError(f"the document {document} was removed while it was being indexed")
    rows = await tx.fetch(
        "waiting_sections", document=document, space=opened.space.id, after=after, budget=_BATCH_TOKENS
    )
    if not rows:
        return None
    return await asyncio.to_thread(_cut, rows, held[0].title, after)


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

"""From a file's bytes to a document that can be found.

read -> keep the text -> embed what is new. The text is durable before anything is embedded (state "indexing"), and
passages are committed batch by batch (`indexing.py`), so that whoever dies in between loses nothing: the next
`add_document` of the same file, `resume_indexing`, or a worker embeds only what is missing. A changed document keeps
the passages of the sections that stayed. Whole folders are `folders.py`, getting documents out again is `shelf.py`.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from uuid import UUID

from recollect.domain.layers import Layer, ScopeName, read_place
from recollect.domain.library import Document, DocumentReport, ReadDocument, Section
from recollect.domain.tenancy import TenantContext
from recollect.domain.text import check_name
from recollect.errors import DocumentNotFoundError, InvalidInputError
from recollect.library.indexing import Progress, follow, index_document
from recollect.library.passages import PASSAGES_VERSION
from recollect.library.reading import read_document
from recollect.providers.tokens import count_tokens
from recollect.storage import library, scopes
from recollect.storage.library import NewDocument
from recollect.storage.store import Transaction
from recollect.storage.upkeep import enqueue
from recollect.workspace import Workspace

MAX_TAGS = 50
#: Documents of so many tokens are a worker's: about 2 MB, for which the built-in embedder takes minutes.
QUEUE_TOKENS = 500_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Placement:
    """Where a document goes, and how it is labelled."""

    layer: Layer
    scope: ScopeName | None = None
    #: None leaves those of a document that is there already.
    tags: tuple[str, ...] | None = None


def check_placement(*, layer: str | None = None, scope: str | None = None, tags: object = None) -> Placement:
    """Read what a caller said about where a document goes."""
    if isinstance(tags, str):
        raise InvalidInputError(f"tags must be a list, not the string {tags!r}; write [{tags!r}]")
    if tags is not None and not isinstance(tags, Sequence | set | frozenset):
        raise InvalidInputError(f"tags must be a list of strings, not {type(tags).__name__}")
    labels = None if tags is None else tuple(dict.fromkeys(check_name(tag, what="tag") for tag in tags))
    if labels and len(labels) > MAX_TAGS:
        raise InvalidInputError(f"{len(labels)} tags on one document, the limit is {MAX_TAGS}")
    place, named = read_place(layer, scope)
    return Placement(layer=place, scope=named, tags=labels)


async def add_document(
    workspace: Workspace,
    context: TenantContext,
    data: bytes,
    *,
    name: str,
    title: str | None = None,
    id: str | None = None,
    tags: Sequence[str] | None = None,
    layer: str | None = None,
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
    stored = await keep_text(
        workspace, context, data, placement, name=name, called=called, title=shown, source=origin, kind=kind
    )
    document = stored.document
    if document.state == "ready":
        return stored
    if document.tokens >= QUEUE_TOKENS:
        async with workspace.store.transaction(context) as tx:
            queued = await enqueue(tx, "index", str(document.id), {"document": str(document.id)})
        if queued is not None and not wait:
            return stored if stored.outcome == "unchanged" else replace(stored, outcome="queued")
        if queued is not None and await follow(workspace, context, document.id, progress):
            return await _refreshed(workspace, context, stored, 0)
    embedded = await index_document(workspace, context, document.id, progress=progress)
    return await _refreshed(workspace, context, stored, embedded)


async def keep_text(
    workspace: Workspace,
    context: TenantContext,
    data: bytes,
    placement: Placement,
    *,
    name: str,
    called: str,
    source: str | None,
    title: str | None = None,
    kind: str | None = None,
) -> DocumentReport:
    """The first half of adding: the text is kept, nothing is embedded. For whoever overlaps the two."""
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
    read = await asyncio.to_thread(read_document, data, name=name, kind=kind)
    earlier = known.tags if known is not None else ()
    new = await asyncio.to_thread(
        _prepare,
        read if title is None else replace(read, title=title),
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
    documents = await library.find_documents(tx, names=[name], scope=scope_id)
    return documents[0] if documents else None


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


async def _refreshed(
    workspace: Workspace, context: TenantContext, report: DocumentReport, embedded: int
) -> DocumentReport:
    async with workspace.store.transaction(context) as tx:
        documents = await library.find_documents(tx, ids=[report.document.id])
    if not documents:
        raise DocumentNotFoundError(
            f"the document {report.document.name!r} was removed while it was being indexed"
        )
    if documents[0].state == "failed":
        raise InvalidInputError(f"{report.document.name!r} could not be indexed: {documents[0].error}")
    return replace(report, document=documents[0], embedded=embedded)

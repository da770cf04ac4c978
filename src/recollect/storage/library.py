"""Documents, sections and passages in the database (sql/library.sql).

What arrives here is read, cut and embedded; this file makes it durable and finds it again. A change of a document
keeps the sections that stayed, with their passages. Erasing leaves nothing of a document in any table.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from numpy.typing import NDArray
from pgvector import HalfVector
from pgvector.psycopg import register_vector_async
from psycopg.types.json import Jsonb

from recollect.domain.ids import new_id
from recollect.domain.layers import Layer, ScopeName
from recollect.domain.library import Document, Gap, ReadDocument, Section
from recollect.errors import DocumentNotFoundError, ForbiddenError
from recollect.storage.connections import Connection
from recollect.storage.oracle import forget_documents
from recollect.storage.rows import from_row
from recollect.storage.spaces import Space
from recollect.storage.store import Ids, Row, Transaction

_PASSAGE_TYPES = ["int4", "int4", "int4", "int4", "int4", "halfvec"]
_POSTING_TYPES = ["text", "int4", "int4", "int2", "int4"]
_MAX_TF = 32_767


@dataclass(frozen=True, slots=True, kw_only=True)
class NewDocument:
    """A document that was read: `texts`, `tokens` and `digests` are those of its sections, which tile the text."""

    name: str
    read: ReadDocument
    digest: bytes
    source: str | None
    tags: Sequence[str]
    texts: Sequence[str]
    tokens: Sequence[int]
    digests: Sequence[bytes]


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredDocument:
    """What storing a text did: its id, whether it is new, and how many of its sections were there already."""

    id: UUID
    created: bool
    kept: int


@dataclass(frozen=True, slots=True, kw_only=True)
class NewPassage:
    """One passage of a section; lines count from the section's first, which is 0."""

    section: int
    part: int
    line_first: int
    line_last: int
    terms: Counter[str]
    vector: NDArray[Any]


def to_document(row: Row) -> Document:
    """A row of `find_documents` as a value."""
    layer = Layer.from_precedence(row["layer"])
    gaps = tuple(Gap.read(gap) for gap in row["gaps"])
    scope = str(ScopeName(layer, row["scope_name"]))
    return from_row(Document, row, id=row["document_id"], layer=layer, scope=scope, gaps=gaps)


async def find_documents(
    tx: Transaction,
    *,
    names: Sequence[str] | None = None,
    ids: Sequence[UUID] | None = None,
    scope: UUID | None = None,
    tags: Sequence[str] | None = None,
    after: str = "",
    limit: int = 100_000,
) -> list[Document]:
    """Visible documents that meet all conditions, by name; of one name the most specific layer first."""
    rows = await tx.fetch(
        "find_documents",
        names=None if names is None else list(names),
        ids=None if ids is None else list(ids),
        scope=scope,
        tags=None if tags is None else list(tags),
        after=after,
        limit=limit,
    )
    return [to_document(row) for row in rows]


async def store_text(
    tx: Transaction, new: NewDocument, *, scope_id: UUID, layer: Layer, now: datetime
) -> StoredDocument:
    """Keep a document's text; sections that stayed keep their passages, the others wait for indexing."""
    read = new.read
    values: dict[str, Any] = {
        "title": read.title,
        "kind": read.kind,
        "source": new.source,
        "tags": list(new.tags),
        "digest": new.digest,
        "lines": read.sections[-1].line_end,
        "tokens": sum(new.tokens),
        "pages": Jsonb([page.document() for page in read.pages]),
        "gaps": Jsonb([gap.document() for gap in read.gaps]),
        "notes": list(read.notes),
        "by": tx.context.user_id or tx.context.agent_id,
        "now": now,
    }
    created = await tx.execute(
        "insert_document",
        document=new_id(),
        scope=scope_id,
        layer=layer.precedence,
        name=new.name,
        **values,
    )
    row = await tx.fetch_one("lock_document", scope=scope_id, name=new.name)
    if row is None:
        raise ForbiddenError(f"the document {new.name!r} may be read but not changed by this caller")
    document: UUID = row["document_id"]
    if not created:
        await tx.execute("update_document", document=document, **values)
    kept = await _store_sections(tx, document, scope_id, new)
    await tx.execute("set_document_state", document=document, state="ready", error=None)
    return StoredDocument(id=document, created=bool(created), kept=kept)


async def _store_sections(tx: Transaction, document: UUID, scope_id: UUID, new: NewDocument) -> int:
    known = await tx.fetch("section_digests", document=document)
    free: dict[bytes, list[int]] = {}
    for row in known:
        free.setdefault(bytes(row["digest"]), []).append(row["section"])
    following = max((row["section"] for row in known), default=-1) + 1
    kept: list[tuple[int, Section]] = []
    fresh: list[tuple[int, int, Section]] = []
    for index, section in enumerate(new.read.sections):
        same = free.get(new.digests[index])
        if same:
            kept.append((same.pop(0), section))
        else:
            fresh.append((following, index, section))
            following += 1
    gone = [key for keys in free.values() for key in keys]
    if gone:
        for query in ("delete_passage_postings", "delete_passages", "delete_sections"):
            await tx.execute(query, document=document, sections=gone)
    if kept:
        await tx.execute(
            "move_sections",
            document=document,
            sections=[key for key, _ in kept],
            **_places([section for _, section in kept]),
        )
    if fresh:
        sections = [section for _, _, section in fresh]
        await tx.execute(
            "insert_sections",
            document=document,
            scope=scope_id,
            sections=[key for key, _, _ in fresh],
            headings=[section.heading for section in sections],
            paths=[section.path for section in sections],
            tokens=[new.tokens[index] for _, index, _ in fresh],
            digests=[new.digests[index] for _, index, _ in fresh],
            texts=[new.texts[index] for _, index, _ in fresh],
            **_places(sections),
        )
    return len(kept)


def _places(sections: Sequence[Section]) -> dict[str, Any]:
    return {
        "numbers": [section.number for section in sections],
        "parents": [section.parent for section in sections],
        "levels": [section.level for section in sections],
        "starts": [section.line_start for section in sections],
        "ends": [section.line_end for section in sections],
        "firsts": [section.pages[0] if section.pages else None for section in sections],
        "lasts": [section.pages[1] if section.pages else None for section in sections],
    }


async def store_passages(
    tx: Transaction,
    document: UUID,
    *,
    space_id: int,
    read: Mapping[int, bytes],
    passages: Sequence[NewPassage],
    complete: Sequence[int],
) -> int:
    """Keep passages of a document, and mark the sections that are complete with them; returns how many were kept.

    `read` has the digest of each section as it was read. One that was changed or taken away since is passed over;
    a document that was removed since is an error.
    """
    row = await tx.fetch_one("hold_document", document=document)
    if row is None:
        raise DocumentNotFoundError(f"the document {document} was removed while it was being indexed")
    waiting = {
        row["section"]
        for row in await tx.fetch(
            "still_waiting", document=document, sections=list(read), digests=list(read.values())
        )
    }
    wanted = [passage for passage in passages if passage.section in waiting]
    await tx.copy(
        "copy_passages",
        _PASSAGE_TYPES,
        [
            (p.section, p.part, p.line_first, p.line_last, p.terms.total(), HalfVector(p.vector))
            for p in wanted
        ],
    )
    place: dict[str, Any] = {"document": document, "scope": row["scope_id"]}
    await tx.execute("insert_staged_passages", space=space_id, **place)
    await tx.copy(
        "copy_passage_postings",
        _POSTING_TYPES,
        [
            (term, p.section, p.part, min(tf, _MAX_TF), p.terms.total())
            for p in wanted
            for term, tf in p.terms.items()
        ],
    )
    await tx.execute("insert_staged_passage_postings", **place)
    await tx.execute(
        "mark_indexed", document=document, sections=[section for section in complete if section in waiting]
    )
    return len(wanted)


async def fetch_passages(
    tx: Transaction,
    vector: NDArray[Any],
    *,
    space_id: int,
    terms: Sequence[str],
    documents: Sequence[UUID] | None,
    dense_limit: int,
    lexical_limit: int,
) -> list[Row]:
    """The passages nearest to a question and those with the best BM25, each with both measures."""
    return await tx.fetch(
        "search_passages",
        vector=HalfVector(vector),
        space=space_id,
        terms=list(terms),
        documents=None if documents is None else Ids(documents),
        dense_limit=dense_limit,
        lexical_limit=lexical_limit,
    )


async def erase_documents(tx: Transaction, ids: Sequence[UUID]) -> Counter[str]:
    """Erase documents with everything made from them; the rows per table."""
    if not ids:
        return Counter()
    row = await tx.get_row("erase_documents", ids=Ids(ids))
    rows = Counter({table: count for table, count in row.items() if count})
    # Answers quote documents: those that quote one of these go with it, whoever asked.
    rows["consultation"] = await forget_documents(tx, ids)
    return +rows


async def erase_documents_of(tx: Transaction, scopes: Sequence[UUID]) -> Counter[str]:
    """Erase all documents of scopes."""
    rows = await tx.fetch("documents_of", scopes=list(scopes))
    return await erase_documents(tx, [row["document_id"] for row in rows])


async def missing_passages(
    connection: Connection, tenant: str, space: Space, *, from_space: int, limit: int
) -> list[Row]:
    """The next passages that have no vector in a space that is being filled."""
    return await connection.fetch(
        "missing_passages", tenant=tenant, space=space.id, from_space=from_space, limit=limit
    )


async def fill_passages(
    connection: Connection,
    tenant: str,
    space: Space,
    rows: Sequence[Row],
    vectors: Sequence[NDArray[Any]],
    *,
    from_space: int,
) -> None:
    """Store the vectors of passages in a space that is being filled."""
    await register_vector_async(connection)
    await connection.fetch(
        "insert_passages",
        tenant=tenant,
        space=space.id,
        from_space=from_space,
        ids=[row["document_id"] for row in rows],
        sections=[row["section"] for row in rows],
        parts=[row["part"] for row in rows],
        embeddings=[HalfVector(vector) for vector in vectors],
    )

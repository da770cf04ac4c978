"""Getting documents out of the library: by name or id, their lines, their sections, their whole text; removing them.

Everything happens in the caller's transaction: what a caller may not see is not found here either. Searching is
`lookup.py`.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from uuid import UUID

from recollect.domain.layers import ScopeName
from recollect.domain.library import Document, PageSpan, Section
from recollect.domain.results import Receipt
from recollect.domain.tenancy import TenantContext
from recollect.domain.text import check_name
from recollect.errors import DocumentNotFoundError, ForbiddenError, InvalidInputError
from recollect.storage import erase, library, scopes
from recollect.storage.rows import from_row
from recollect.storage.store import Transaction
from recollect.workspace import Workspace

#: What a citation of a library document is called.
DOCUMENT = "document"
#: Of the documents that a message suggests.
_SUGGESTIONS = 3


async def find_document(
    tx: Transaction, name_or_id: str | UUID, *, scope: ScopeName | None = None
) -> Document | None:
    """A visible document by its name or id; None when there is none. Of one name, that of the most specific layer."""
    place = None if scope is None else (await scopes.get_scope(tx, scope))["scope_id"]
    if not isinstance(name_or_id, UUID):
        documents = await library.find_documents(
            tx, names=[check_name(name_or_id, what="document")], scope=place
        )
        if documents:
            return documents[0]
        try:
            name_or_id = UUID(name_or_id)
        except ValueError:
            return None
    documents = await library.find_documents(tx, ids=[name_or_id], scope=place)
    return documents[0] if documents else None


async def get_document(
    tx: Transaction, name_or_id: str | UUID, *, scope: ScopeName | None = None
) -> Document:
    """A visible document by its name or id; an error that suggests close names otherwise."""
    document = await find_document(tx, name_or_id, scope=scope)
    if document is None:
        raise DocumentNotFoundError(await _not_found(tx, str(name_or_id)))
    return document


async def get_documents(tx: Transaction, names_or_ids: Sequence[str | UUID]) -> list[Document]:
    """Several documents, in this order; one that is not there is an error."""
    if isinstance(names_or_ids, str):
        raise InvalidInputError(
            f"documents must be a list, not the string {names_or_ids!r}; write [{names_or_ids!r}]"
        )
    return [await get_document(tx, id_) for id_ in dict.fromkeys(names_or_ids)]


async def _not_found(tx: Transaction, wanted: str) -> str:
    known = {row["name"]: row["title"] for row in await tx.fetch("document_names")}
    if not known:
        return f"no document {wanted!r}: the library has none yet; add one with `recollect library add PATH`"
    close = suggest(wanted, known)
    if close:
        return f"no document {wanted!r}; did you mean {' or '.join(map(repr, close))}?"
    return f"no document {wanted!r}; `recollect library list` shows what there is"


def suggest(wanted: str, known: Mapping[str, str]) -> list[str]:
    """Names close to what was asked for, by name or by title."""
    folded = wanted.casefold()
    by_key: dict[str, str] = {}
    for name, title in known.items():
        # A file is asked for by its last part, too.
        for key in (name, name.rpartition("/")[2], title):
            by_key.setdefault(key.casefold(), name)
    inside = [name for key, name in by_key.items() if folded and folded in key]
    near = difflib.get_close_matches(folded, by_key, n=_SUGGESTIONS, cutoff=0.6)
    return list(dict.fromkeys([*(by_key[key] for key in near), *inside]))[:_SUGGESTIONS]


async def list_documents(
    tx: Transaction,
    *,
    tags: Sequence[str] | None = None,
    scope: ScopeName | None = None,
    after: str = "",
    limit: int = 100_000,
) -> list[Document]:
    """Visible documents by name: those with all the tags, of one scope, with names behind `after`."""
    place = None if scope is None else (await scopes.get_scope(tx, scope))["scope_id"]
    return await library.find_documents(tx, tags=tags or None, scope=place, after=after, limit=limit)


async def sections_of(tx: Transaction, document: Document) -> tuple[Section, ...]:
    """The tree of a document's sections, in order."""
    rows = await tx.fetch("list_sections", document=document.id)
    return tuple(
        from_row(
            Section,
            row,
            pages=None if row["page_first"] is None else (row["page_first"], row["page_last"]),
        )
        for row in rows
    )


async def pages_of_document(tx: Transaction, document: Document) -> tuple[PageSpan, ...]:
    """Which lines stand on which page; empty in a text without pages."""
    row = await tx.fetch_one("document_pages", document=document.id)
    return () if row is None else tuple(PageSpan.read(page) for page in row["pages"])


async def load_lines(tx: Transaction, document: Document, first: int, last: int) -> list[str]:
    """Lines of a document, both ends included, as far as it has them."""
    if first < 1 or last < first:
        raise InvalidInputError(f"lines {first} to {last} make no sense; the first line is 1")
    rows = await tx.fetch("document_lines", document=document.id, first=first, last=last)
    lines: list[str] = []
    for row in rows:
        own = row["text"].split("\n")
        lines += own[max(first - row["line_start"], 0) : last - row["line_start"] + 1]
    return lines


async def load_texts(tx: Transaction, documents: Sequence[Document]) -> dict[UUID, str]:
    """The whole texts of documents, by id."""
    rows = await tx.fetch("document_texts", ids=[document.id for document in documents])
    return {row["document_id"]: row["text"] for row in rows}


async def load_text(tx: Transaction, document: Document) -> str:
    """The whole text of a document."""
    return (await load_texts(tx, [document])).get(document.id, "")


async def remove_document(
    workspace: Workspace,
    context: TenantContext,
    name_or_id: str | UUID,
    *,
    scope: ScopeName | None = None,
    vacuum: bool = True,
) -> Receipt:
    """Erase a document with its sections and passages."""
    async with workspace.store.transaction(context) as tx:
        document = await get_document(tx, name_or_id, scope=scope)
        rows = await library.erase_documents(tx, [document.id])
        if not rows["document"]:
            raise ForbiddenError(f"the document {document.name!r} may be read but not removed by this caller")
    vacuumed = "none"
    if vacuum:
        tables = (*erase.ORACLE_TABLES, *erase.LIBRARY_TABLES)
        vacuumed = await erase.vacuum(workspace.store, context.tenant_id, tables)
    what = f"document {document.name} ({document.id})"
    return erase.make_receipt(context.tenant_id, what, [], rows, vacuumed, now=workspace.clock())

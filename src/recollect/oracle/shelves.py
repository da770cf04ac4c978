"""The library as a consultation sees it: documents by name, their lines, and places by meaning.

Every call is in the caller's own transaction, so nothing is read that the caller may not see.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING

from recollect.domain.library import Document
from recollect.library import lookup, shelf
from recollect.library.material import DOCUMENT, Entry, Lead, Volume
from recollect.library.ranking import ANSWERED

if TYPE_CHECKING:
    from recollect.domain.tenancy import TenantContext
    from recollect.storage.store import Transaction
    from recollect.workspace import Workspace


#: Of a question that is looked up; a longer problem says first what it is about.
_MAX_QUESTION_CHARS = 4_000


class Shelves:
    """The library of one caller."""

    #: What a search says below it is not in the documents.
    threshold = ANSWERED

    def __init__(self, workspace: Workspace, context: TenantContext) -> None:
        self._workspace = workspace
        self._context = context
        #: What a look could not look through.
        self.notes: list[str] = []
        #: Where looks go, by the documents that they name; until `refresh`.
        self._grounds: dict[tuple[str, ...] | None, lookup.Ground] = {}

    async def find(self, names: Sequence[str]) -> Sequence[Entry]:
        """Documents by name or id, in order; an unknown one is a `DocumentNotFoundError` with suggestions."""
        async with self._workspace.store.transaction(self._context) as tx:
            documents = await shelf.get_documents(tx, names)
            return [
                await _entry(tx, document)
                for document in {document.id: document for document in documents}.values()
            ]

    async def describe(self, doc_ids: Sequence[str]) -> Sequence[Entry]:
        """Documents that a look found; one that is gone by now is left out."""
        async with self._workspace.store.transaction(self._context) as tx:
            documents = [await shelf.find_document(tx, id_) for id_ in doc_ids]
            return [
                _described(document, id_) if id_ == document.name else await _entry(tx, document)
                for id_, document in zip(doc_ids, documents, strict=True)
                if document is not None
            ]

    async def list(self) -> Sequence[Entry]:
        """Every document that the caller sees, by name."""
        async with self._workspace.store.transaction(self._context) as tx:
            documents = await shelf.list_documents(tx)
            names = Counter(document.name for document in documents)
            # Only of one name that several have it must be asked which of them it means.
            return [
                _described(document, document.name)
                if names[document.name] == 1
                else await _entry(tx, document)
                for document in documents
            ]

    async def open(self, doc_id: str) -> Volume:
        """One document, whole."""
        async with self._workspace.store.transaction(self._context) as tx:
            document = await shelf.get_document(tx, doc_id)
            text = await shelf.load_text(tx, document)
            sections = await shelf.sections_of(tx, document)
            pages = await shelf.pages_of_document(tx, document)
        return Volume(
            **asdict(_described(document, doc_id)),
            lines=text.split("\n"),
            sections=sections,
            pages=pages,
            gaps=document.gaps,
        )

    async def texts(self, doc_ids: Sequence[str]) -> dict[tuple[str, str], str]:
        """The texts of documents as they are now, as citations name them; those that are gone are left out."""
        async with self._workspace.store.transaction(self._context) as tx:
            documents = {id_: await shelf.find_document(tx, id_) for id_ in doc_ids}
            texts = await shelf.load_texts(
                tx, [document for document in documents.values() if document is not None]
            )
        return {
            (DOCUMENT, name): texts.get(document.id, "")
            for name, document in documents.items()
            if document is not None
        }

    async def size(self) -> tuple[int, int]:
        """How many documents the caller sees, and their tokens."""
        async with self._workspace.store.transaction(self._context) as tx:
            row = await tx.fetch_one("library_size")
        return (row["documents"], row["tokens"]) if row is not None else (0, 0)

    def refresh(self) -> None:
        """Later looks see what was added, removed or embedded anew since the first."""
        self._grounds.clear()

    async def look(self, question: str, *, doc_ids: Sequence[str] | None, limit: int) -> Sequence[Lead]:
        """Places by meaning, the best first."""
        named = None if doc_ids is None else tuple(doc_ids)
        if named not in self._grounds:
            self._grounds[named] = await lookup.read_ground(self._workspace, self._context, named)
        results = await lookup.search_sections(
            self._workspace,
            self._context,
            question[:_MAX_QUESTION_CHARS],
            limit=limit,
            ground=self._grounds[named],
        )
        self.notes += [note for note in results.notes if note not in self.notes]
        return [
            Lead(
                doc_id=hit.citation.file_path,
                line_start=hit.lines[0],
                line_end=hit.lines[1],
                score=hit.score,
                path=hit.path,
                supports=hit.citation.supports,
            )
            for hit in results
        ]


async def _entry(tx: Transaction, document: Document) -> Entry:
    """In the catalogue a document has the name it is cited by: its id where a nearer one has the same name."""
    nearest = await shelf.find_document(tx, document.name)
    return _described(document, document.name if nearest and nearest.id == document.id else str(document.id))


def _described(document: Document, doc_id: str) -> Entry:
    return Entry(
        doc_id=doc_id,
        kind=DOCUMENT,
        title=document.title,
        digest=document.digest,
        tokens=document.tokens,
        key=str(document.id),
    )

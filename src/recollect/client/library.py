"""The client's face for the knowledge library: `r.library`.

Checks, hands over, decides nothing. Adding is library/intake.py, searching library/lookup.py,
the rest library/shelf.py.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from os import PathLike
from uuid import UUID

from recollect.client.arguments import checked
from recollect.client.session import Face
from recollect.domain.layers import ScopeName
from recollect.domain.library import Document, DocumentReport, FolderReport, Section, SectionResults
from recollect.domain.results import Receipt
from recollect.domain.text import check_whole

MAX_DOCUMENTS = 100_000
OnProgress = Callable[[int, int | None], None]
#: `list` is a verb of the library, so the type needs another name inside it.
Documents = list[Document]


@checked
class AsyncLibrary(Face):
    """Whole documents: kept with their lines and pages, found by section, cited by line."""

    async def add(
        self,
        source: str | PathLike[str] | bytes,
        *,
        id: str | None = None,
        name: str | None = None,
        title: str | None = None,
        tags: Sequence[str] | None = None,
        layer: str | None = None,
        scope: str | None = None,
        kind: str | None = None,
        wait: bool = False,
        progress: OnProgress | None = None,
    ) -> DocumentReport:
        """Add a file by its path, or its bytes with a `name`; an unchanged one is left alone, a changed one follows.

        `id` is what the document is called, such as "fastapi-docs"; its file name when not given. Where there is a
        worker, a large document is handed to it once its text is kept: `wait` stays until it is indexed. `progress`
        counts sections.
        """
        from recollect.library.folders import load_document
        from recollect.library.intake import add_document

        workspace = await self._workspace()
        data, called, origin = await load_document(source, name=name)
        return await add_document(
            workspace, self._context, data, name=called, id=id, title=title, tags=tags, layer=layer, scope=scope,
            source=origin, kind=kind, wait=wait, progress=progress,
        )  # fmt: skip

    async def add_folder(
        self,
        folder: str | PathLike[str],
        *,
        id: str | None = None,
        tags: Sequence[str] | None = None,
        layer: str | None = None,
        scope: str | None = None,
        progress: OnProgress | None = None,
    ) -> FolderReport:
        """Add all files below a folder but those git ignores; one that can't be read is reported.

        A file is called by the folder's name (or `id`) and its path, such as "docs/guide/start.md". `progress` counts
        files.
        """
        from recollect.library.folders import add_folder
        from recollect.library.intake import check_placement

        placement = check_placement(layer=layer, scope=scope, tags=tags)
        workspace = await self._workspace()
        context = self._context
        return await add_folder(workspace, context, folder, placement, id=id, progress=progress)

    async def resume(self) -> int:
        """Index what an interruption left; returns how many passages were embedded."""
        from recollect.library.indexing import resume_indexing

        return await resume_indexing(await self._workspace(), self._context)

    async def list(
        self,
        *,
        tags: Sequence[str] | None = None,
        scope: str | None = None,
        after: str = "",
        limit: int = 1_000,
    ) -> Documents:
        """Documents the caller sees, by name; with all of the tags, of one scope, with names behind `after`."""
        from recollect.library import shelf

        check_whole("limit", limit, most=MAX_DOCUMENTS)
        place = None if scope is None else ScopeName.parse(scope)
        async with self._transaction() as tx:
            return await shelf.list_documents(tx, tags=tags, scope=place, after=after, limit=limit)

    async def get(self, document: str | UUID, *, scope: str | None = None) -> Document:
        """One document by its name or id, without its text."""
        from recollect.library import shelf

        place = None if scope is None else ScopeName.parse(scope)
        async with self._transaction() as tx:
            return await shelf.get_document(tx, document, scope=place)

    async def sections(self, document: str | UUID) -> tuple[Section, ...]:
        """The tree of a document's sections, in order."""
        from recollect.library import shelf

        async with self._transaction() as tx:
            return await shelf.sections_of(tx, await shelf.get_document(tx, document))

    async def text(
        self, document: str | UUID, *, line_start: int | None = None, line_end: int | None = None
    ) -> str:
        """The text of a document, or some lines of it, both ends included."""
        from recollect.library import shelf

        async with self._transaction() as tx:
            record = await shelf.get_document(tx, document)
            if line_start is None and line_end is None:
                return await shelf.load_text(tx, record)
            first = 1 if line_start is None else line_start
            last = record.lines if line_end is None else line_end
            return "\n".join(await shelf.load_lines(tx, record, first, last))

    async def search(
        self,
        query: str,
        *,
        documents: Sequence[str | UUID] | None = None,
        tags: Sequence[str] | None = None,
        limit: int = 10,
    ) -> SectionResults:
        """The sections that answer a question best, each with the lines to cite."""
        from recollect.library.lookup import search_sections

        workspace = await self._workspace()
        context = self._context
        return await search_sections(workspace, context, query, documents=documents, tags=tags, limit=limit)

    async def remove(self, document: str | UUID, *, scope: str | None = None, vacuum: bool = True) -> Receipt:
        """Erase a document with everything made from it."""
        from recollect.library import shelf

        place = None if scope is None else ScopeName.parse(scope)
        workspace = await self._workspace()
        context = self._context
        return await shelf.remove_document(workspace, context, document, scope=place, vacuum=vacuum)

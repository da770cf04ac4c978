"""Reading the citations of a recorded result again, months later if need be: `recollect verify RESULT.json`.

Files are read from the folder that the result was made in, or another one, through the same jail; documents and
memories as the caller may see them now. A result that cites files alone, as every exploration's does, needs no
database. Nothing is changed.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING
from uuid import UUID

from recollect.codebase.evidence import Pages
from recollect.codebase.tree import open_tree
from recollect.domain.codebase import KIND
from recollect.domain.findings import Citation
from recollect.domain.oracle import Verification
from recollect.domain.text import MAX_NAME_CHARS
from recollect.errors import NotFoundError
from recollect.library.material import DOCUMENT, FILE
from recollect.library.reading.markdown import split_pages
from recollect.oracle.shelves import Shelves
from recollect.runs.citations import read_citations, verify
from recollect.storage.reads import get_memories

if TYPE_CHECKING:
    from recollect.domain.tenancy import TenantContext
    from recollect.runs.inquiry import Texts
    from recollect.workspace import Workspace

_MEMORY = "memory"


def folder_of(document: object) -> str | None:
    """The folder that a result says it was made in: an exploration's root, a consultation's working folder."""
    place = document
    keys = ("root",) if _is_exploration(document) else ("consultation", "settings", "working_dir")
    for key in keys:
        place = place.get(key) if isinstance(place, Mapping) else None
    return place if isinstance(place, str) and place else None


async def verify_result(
    open_workspace: Callable[[], Awaitable[Workspace]],
    context: TenantContext,
    document: object,
    *,
    working_dir: str | None = None,
    allowed_roots: Iterable[Path] | None = None,
) -> Verification:
    """What reading every citation again shows."""
    citations = read_citations(document)
    texts = dict(
        await asyncio.to_thread(
            _files,
            citations,
            working_dir or folder_of(document),
            allowed_roots,
            pages=_is_exploration(document),
        )
    )
    documents = [name for name in _named(citations, DOCUMENT) if _could_be_a_name(name)]
    memories = [id for name in _named(citations, _MEMORY) if (id := _uuid(name)) is not None]
    if documents:
        texts |= await Shelves(await open_workspace(), context).texts(documents)
    if memories:
        async with (await open_workspace()).store.transaction(context) as tx:
            texts |= {(_MEMORY, str(memory.id)): memory.text for memory in await get_memories(tx, memories)}
    return Verification.of(
        tuple(verify(citation, lambda kind, path: texts.get((kind, path))) for citation in citations)
    )


def _files(
    citations: Sequence[Citation],
    folder: str | None,
    allowed_roots: Iterable[Path] | None,
    *,
    pages: bool,
) -> Texts:
    """The cited files as they are now. Consultations read them without form feeds, explorations with `pages`."""
    named = _named(citations, FILE)
    if not named or folder is None:
        return {}
    try:
        tree = Pages(open_tree(folder, allowed_roots=allowed_roots))
    except NotFoundError:
        # The folder is gone: what it held can't be confirmed, which is what `unsupported` says.
        return {}
    texts = {(FILE, path): text for path in named if (text := tree.text(path)) is not None}
    return texts if pages else {at: "\n".join(split_pages(text)[0]) for at, text in texts.items()}


def _named(citations: Sequence[Citation], kind: str) -> list[str]:
    return list(dict.fromkeys(citation.file_path for citation in citations if citation.kind == kind))


def _is_exploration(document: object) -> bool:
    return isinstance(document, Mapping) and document.get("kind") == KIND


def _uuid(text: str) -> UUID | None:
    try:
        return UUID(text)
    except ValueError:
        return None


def _could_be_a_name(text: str) -> bool:
    """Whether a document could be called so; a damaged result may hold anything."""
    return bool(text.strip()) and len(text) <= MAX_NAME_CHARS and text.isprintable()

"""Reading the citations of a recorded result again, months later if need be: `recollect verify RESULT.json`.

Documents are read from the library as the caller may see it, files from the working folder the consultation had, or
another one. Nothing is changed.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import UUID

from recollect.domain.findings import Citation
from recollect.domain.oracle import Verification
from recollect.domain.text import MAX_NAME_CHARS
from recollect.errors import NotFoundError
from recollect.library.bundle import FileBundler
from recollect.library.material import DOCUMENT, FILE
from recollect.oracle.shelves import Shelves
from recollect.runs.citations import read_citations, verify
from recollect.storage.reading import get_memories

if TYPE_CHECKING:
    from recollect.domain.tenancy import TenantContext
    from recollect.workspace import Workspace

_MEMORY = "memory"


def read_result(document: object) -> tuple[tuple[Citation, ...], str | None]:
    """The citations of a result, and the working folder it was made in."""
    citations = read_citations(document)
    assert isinstance(document, Mapping)
    consultation = document.get("consultation")
    settings: Any = consultation.get("settings") if isinstance(consultation, Mapping) else None
    folder = settings.get("working_dir") if isinstance(settings, Mapping) else None
    return citations, folder if isinstance(folder, str) else None


async def verify_result(
    workspace: Workspace, context: TenantContext, document: object, *, working_dir: str | None = None
) -> Verification:
    """What reading every citation again shows."""
    citations, recorded = read_result(document)
    texts = await _texts(workspace, context, citations, working_dir or recorded)
    checked = tuple(verify(citation, lambda kind, path: texts.get((kind, path))) for citation in citations)
    return Verification.of(checked)


async def _texts(
    workspace: Workspace, context: TenantContext, citations: Sequence[Citation], working_dir: str | None
) -> dict[tuple[str, str], str]:
    texts: dict[tuple[str, str], str] = {}
    named = {
        kind: list(dict.fromkeys(citation.file_path for citation in citations if citation.kind == kind))
        for kind in (DOCUMENT, FILE, _MEMORY)
    }
    texts |= await Shelves(workspace, context).texts(
        [one for one in named[DOCUMENT] if _could_be_a_name(one)]
    )
    if named[FILE] and working_dir is not None:
        roots = workspace.settings.roots
        for path, text in (await asyncio.to_thread(_read_files, working_dir, named[FILE], roots)).items():
            texts[FILE, path] = text
    if named[_MEMORY]:
        ids = [id for one in named[_MEMORY] if (id := _uuid(one)) is not None]
        async with workspace.store.transaction(context) as tx:
            for memory in await get_memories(tx, ids):
                texts[_MEMORY, str(memory.id)] = memory.text
    return texts


def _read_files(working_dir: str, paths: Sequence[str], roots: Sequence[Path] | None) -> dict[str, str]:
    try:
        bundle = FileBundler(working_dir, allowed_roots=roots).bundle(paths)
    except NotFoundError:
        # The folder is gone: what it held can't be confirmed, which is what `unsupported` says.
        return {}
    return {file.path: file.text for file in bundle.files}


def _uuid(text: str) -> UUID | None:
    try:
        return UUID(text)
    except ValueError:
        return None


def _could_be_a_name(text: str) -> bool:
    """Whether a document could be called so; a damaged result may hold anything."""
    return bool(text.strip()) and len(text) <= MAX_NAME_CHARS and text.isprintable()

"""Adding a whole folder: every file git would keep, one after another, the next one read while one is embedded.

A file that can't be read is reported and the others go on. What one file needs is `intake.py`.
"""

from __future__ import annotations

import asyncio
import os
import re
import stat
from dataclasses import replace
from pathlib import Path

from recollect.domain.library import DocumentReport, FileError, FolderReport
from recollect.domain.tenancy import TenantContext
from recollect.domain.text import MAX_NAME_CHARS, check_name
from recollect.errors import (
    DocumentReaderMissingError,
    DocumentUnsupportedError,
    InvalidInputError,
    RecollectError,
    StoreError,
)
from recollect.files.patterns import Glob
from recollect.files.walk import Walked, walk
from recollect.library.indexing import Progress, index_document, note_growth
from recollect.library.intake import Placement, keep_text
from recollect.library.reading.sections import DEFAULT_LIMITS
from recollect.storage import library
from recollect.workspace import Workspace

#: Of a source that is shown with a document.
_SOURCE_CHARS = 200


async def load_document(
    source: str | os.PathLike[str] | bytes, *, name: str | None
) -> tuple[bytes, str, str | None]:
    """The bytes of a file, what it is called, and where it lies."""
    if not isinstance(source, bytes):
        return await asyncio.to_thread(_load, source, name)
    if name is None:
        raise InvalidInputError("bytes need a file name, such as name='guide.md', to tell what they are")
    return source, name, None


def _load(path: str | os.PathLike[str], name: str | None) -> tuple[bytes, str, str]:
    if re.match(r"[a-z]{2,10}://", os.fspath(path), re.IGNORECASE):
        raise InvalidInputError(
            f"{os.fspath(path)!r} is an address, and the library takes files; download it and add the file, "
            "or its bytes with a name"
        )
    try:
        place = Path(os.path.expanduser(os.fspath(path)))
        data = read_regular(place)
    except (OSError, ValueError, TypeError) as error:
        reason = (error.strerror or str(error)).lower() if isinstance(error, OSError) else str(error)
        raise InvalidInputError(f"can't read {str(path)!r}: {reason}") from error
    return data, name or place.name, str(place.resolve())[-_SOURCE_CHARS:]


def read_regular(path: Path) -> bytes:
    """At most one byte more than the limit, to see that there is more. A folder, a pipe or a device is an OSError."""
    # Without O_NONBLOCK a pipe would wait for a writer for ever.
    handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    mode = os.fstat(handle).st_mode
    if not stat.S_ISREG(mode):
        os.close(handle)
        folder = stat.S_ISDIR(mode)
        raise OSError("it is a folder; add it with add_folder" if folder else "it is not a regular file")
    with os.fdopen(handle, "rb") as file:
        return file.read(DEFAULT_LIMITS.max_file_bytes + 1)


#: More files than any documentation has.
MAX_FILES = 50_000


async def add_folder(
    workspace: Workspace,
    context: TenantContext,
    folder: str | os.PathLike[str],
    placement: Placement,
    *,
    id: str | None = None,
    progress: Progress | None = None,
) -> FolderReport:
    """Add every file below a folder; each is called by the folder's name (or `id`) and its path in it.

    `progress(done, total)` counts files. Stores that can't be reached stop it; what was added stays.
    """
    root, walked = await asyncio.to_thread(_walk, folder)
    prefix = check_name((root.name or "folder") if id is None else id, what="id").strip("/")
    reports: dict[str, DocumentReport] = {}
    errors: list[FileError] = []
    left_out = list(walked.left_out)
    indexing: tuple[str, asyncio.Task[DocumentReport]] | None = None

    async def settle() -> None:
        nonlocal indexing
        if indexing is None:
            return
        path, task = indexing
        indexing = None
        try:
            reports[path] = await task
        except StoreError:
            raise
        except RecollectError as error:
            errors.append(FileError(path=path, code=error.code, message=str(error)))

    try:
        for done, path in enumerate(walked.paths):
            try:
                report = await _keep(workspace, context, root, path, placement, prefix)
            except (DocumentUnsupportedError, DocumentReaderMissingError) as error:
                left_out.append((path, str(error)))
            except StoreError:
                raise
            except (RecollectError, OSError) as error:
                code = error.code if isinstance(error, RecollectError) else "invalid_document"
                errors.append(FileError(path=path, code=code, message=str(error)))
            else:
                await settle()
                if report.document.state == "ready":
                    reports[path] = report
                else:
                    indexing = path, asyncio.create_task(_index(workspace, context, report))
            if progress is not None:
                progress(done + 1, len(walked.paths))
        await settle()
    finally:
        if indexing is not None:
            await asyncio.gather(indexing[1], return_exceptions=True)
    ordered = [reports[path] for path in walked.paths if path in reports]
    await note_growth(workspace, sum(report.embedded for report in ordered))
    return FolderReport(reports=tuple(ordered), errors=tuple(errors), left_out=tuple(left_out))


def _walk(folder: str | os.PathLike[str]) -> tuple[Path, Walked]:
    root = Path(os.path.realpath(os.path.expanduser(os.fspath(folder))))
    if not os.path.isdir(root):
        raise InvalidInputError(f"{str(folder)!r} is not a folder that can be read")
    from pathspec import GitIgnoreSpec

    return root, walk(root, [Glob("**")], GitIgnoreSpec([]), within=None, max_files=MAX_FILES)


async def _keep(
    workspace: Workspace, context: TenantContext, root: Path, path: str, placement: Placement, prefix: str
) -> DocumentReport:
    name = f"{prefix}/{path}"
    if len(name) > MAX_NAME_CHARS:
        raise InvalidInputError(
            f"{name!r} is too long for a document's id ({MAX_NAME_CHARS} characters); add it alone with an id"
        )
    data = await asyncio.to_thread(read_regular, root / path)
    return await keep_text(
        workspace, context, data, placement, name=path, called=name, source=str(root / path)[:MAX_NAME_CHARS]
    )


async def _index(workspace: Workspace, context: TenantContext, report: DocumentReport) -> DocumentReport:
    embedded = await index_document(workspace, context, report.document.id, one_of_many=True)
    async with workspace.store.transaction(context) as tx:
        documents = await library.find_documents(tx, ids=[report.document.id])
    return replace(report, document=documents[0] if documents else report.document, embedded=embedded)

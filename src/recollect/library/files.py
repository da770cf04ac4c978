"""Reading a file from the disk for the library: regular files only, and never more than the limit."""

from __future__ import annotations

import asyncio
import os
import re
import stat
from pathlib import Path

from recollect.errors import InvalidInputError

#: Of a source that is shown with a document.
_SOURCE_CHARS = 200


async def load_file(path: str | os.PathLike[str], *, name: str | None, limit: int) -> tuple[bytes, str, str]:
    """The bytes of a file, what it is called, and where it lies. One byte beyond the limit says there is more."""
    return await asyncio.to_thread(_load, path, name, limit)


def _load(path: str | os.PathLike[str], name: str | None, limit: int) -> tuple[bytes, str, str]:
    if re.match(r"[a-z]{2,10}://", os.fspath(path), re.IGNORECASE):
        raise InvalidInputError(
            f"{os.fspath(path)!r} is an address, and the library takes files; download it and add the file, "
            "or its bytes with a name"
        )
    try:
        place = Path(os.path.expanduser(os.fspath(path)))
        data = read_regular(place, limit)
    except (OSError, ValueError, TypeError) as error:
        reason = (error.strerror or str(error)).lower() if isinstance(error, OSError) else str(error)
        raise InvalidInputError(f"can't read {str(path)!r}: {reason}") from error
    return data, name or place.name, str(place.resolve())[-_SOURCE_CHARS:]


def read_regular(path: Path, limit: int) -> bytes:
    """At most one byte more than the limit. A folder, a pipe or a device is an OSError."""
    # Without O_NONBLOCK a pipe would wait for a writer for ever.
    handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    mode = os.fstat(handle).st_mode
    if not stat.S_ISREG(mode):
        os.close(handle)
        folder = stat.S_ISDIR(mode)
        raise OSError("it is a folder; add it with add_folder" if folder else "it is not a regular file")
    with os.fdopen(handle, "rb") as file:
        return file.read(limit + 1)

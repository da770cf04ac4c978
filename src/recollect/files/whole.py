"""Writing a file so that it is there whole or not at all, whatever fails on the way."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any


@contextmanager
def whole_file(path: str | os.PathLike[str], *, mode: str = "w") -> Iterator[IO[Any]]:
    """A file, its owner's alone, that takes its place when the block ends; if it fails, the old one stays.

    A pipe or a device can't be exchanged, and is written as it is.
    """
    target = Path(os.path.realpath(path))
    encoding = None if "b" in mode else "utf-8"
    if target.exists() and not target.is_file():
        with target.open(mode, encoding=encoding) as stream:
            yield stream
        return
    handle, part = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name[:100]}.", suffix=".part")
    try:
        with os.fdopen(handle, mode, encoding=encoding) as stream:
            yield stream
        os.replace(part, target)
    except BaseException:
        Path(part).unlink(missing_ok=True)
        raise

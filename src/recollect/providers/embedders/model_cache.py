"""Files Recollect makes for itself in the cache folder: built graphs, and notes about other files.

Everything here can be thrown away at any time. A file is written beside its place and moved there in
one step, so several processes may write the same one at once, and it carries its own checksum, so a
file cut short by a full disk or a crash is noticed and made again.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import logging
import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from recollect.files.private import private_folder

log = logging.getLogger("recollect.embedders")

_DIGEST_BYTES = hashlib.sha256().digest_size


def cached_bytes(cache_dir: Path, name: str, build: Callable[[], bytes]) -> bytes:
    """What `build` gives, taken from the cache if a whole copy is there."""
    checked = read_checked(cache_dir / name)
    if checked is not None:
        return checked
    made = build()
    _write(cache_dir / name, hashlib.sha256(made).digest() + made)
    return made


def read_checked(path: Path) -> bytes | None:
    """The content of a cached file, or None when it is not there or not whole."""
    try:
        stored = path.read_bytes()
    except OSError:
        return None
    digest, content = stored[:_DIGEST_BYTES], memoryview(stored)[_DIGEST_BYTES:]
    if not content or hashlib.sha256(content).digest() != digest:
        log.warning("the cached file %r is damaged and will be made again", str(path))
        return None
    return bytes(content)


def read_note(cache_dir: Path, name: str) -> dict[str, Any] | None:
    """A small JSON object written by `write_note`, or None."""
    try:
        note = json.loads((cache_dir / name).read_bytes())
    except (OSError, ValueError):
        return None
    return note if isinstance(note, dict) else None


def write_note(cache_dir: Path, name: str, note: dict[str, Any]) -> None:
    """Keep a small JSON object under `name`."""
    _write(cache_dir / name, json.dumps(note).encode())


def _write(path: Path, content: bytes) -> None:
    temporary: str | None = None
    try:
        private_folder(path.parent)
        handle, temporary = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        os.replace(temporary, path)
    except OSError as error:
        # The cache only saves time: a read-only folder or a full disk must not stop a search.
        log.warning("can't write %r: %s; it will be made again next time", str(path), error)
        if temporary is not None:
            with contextlib.suppress(OSError):
                os.unlink(temporary)

"""Model files: those that came in a package, and those that Recollect makes for itself in the cache folder.

Files are found without importing their package and mapped into memory, so opening a model costs
neither a copy nor a read of what is not used.
"""

from __future__ import annotations

import hashlib
import json
import logging
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recollect.errors import EmbedderFailedError, EmbedderMissingError
from recollect.files.jail import private_folder
from recollect.files.whole import whole_file

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
    try:
        private_folder(path.parent)
        with whole_file(path, mode="wb") as file:
            file.write(content)
    except OSError as error:
        # The cache only saves time: a read-only folder or a full disk must not stop a search.
        log.warning("can't write %r: %s; it will be made again next time", str(path), error)


_DTYPES = {"F32": np.float32, "F16": np.float16, "I64": np.int64}


def package_file(module: str, *parts: str, install: str) -> Path:
    """The path of a file inside an installed package, which is not imported."""
    spec = find_spec(module)
    if spec is None or not spec.submodule_search_locations:
        raise EmbedderMissingError(f"the package {module!r} is not installed; run: {install}")
    path = Path(spec.submodule_search_locations[0]).joinpath(*parts)
    if not path.is_file():
        raise EmbedderMissingError(
            f"the package {module!r} has no file {path.name!r}; install it again: {install}"
        )
    return path


def file_sha256(path: Path, *, cache_dir: Path) -> str:
    """The SHA-256 of a file, remembered in `cache_dir` as long as the file's size and time stay the same.

    Hashing the MiniLM weights reads 91 MB, which a one-off `recollect search` should not pay for.
    """
    stat = path.stat()
    stamp = {"path": str(path), "size": stat.st_size, "mtime_ns": stat.st_mtime_ns}
    name = f"sha256-{hashlib.sha256(str(path).encode()).hexdigest()[:16]}.json"
    note = read_note(cache_dir, name)
    if note is not None and {key: note.get(key) for key in stamp} == stamp:
        remembered = note.get("sha256")
        if isinstance(remembered, str):
            return remembered
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    write_note(cache_dir, name, {**stamp, "sha256": digest})
    return digest


def read_tensors(path: Path) -> dict[str, NDArray[Any]]:
    """The tensors of a safetensors file by name, mapped, not copied.

    The format: eight bytes with the length of a JSON header, the header, then the raw numbers.
    """
    try:
        raw = np.memmap(path, mode="r", dtype=np.uint8)
        header_end = 8 + int.from_bytes(raw[:8].tobytes(), "little")
        header = json.loads(raw[8:header_end].tobytes())
        header.pop("__metadata__", None)
        tensors = {}
        for name, entry in header.items():
            first, end = entry["data_offsets"]
            numbers = raw[header_end + first : header_end + end].view(_DTYPES[entry["dtype"]])
            tensors[name] = np.asarray(numbers).reshape(entry["shape"])
        return tensors
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise EmbedderFailedError(
            f"the model file {str(path)!r} can't be read: {error}; reinstall the package it came with"
        ) from error


def check_weights(file: Path, sha256: str, *, cache_dir: Path, install: str) -> None:
    """Refuse weights that are not the published ones."""
    digest = file_sha256(file, cache_dir=cache_dir)
    if digest != sha256:
        raise EmbedderFailedError(
            f"the weights in {str(file)!r} have the SHA-256 {digest!r} instead of {sha256!r}; "
            f"install them again: {install} --force-reinstall"
        )

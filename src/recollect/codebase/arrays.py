"""Whole-tree statistics as arrays on the disk, built once for a state of the tree and mapped into memory after that.

Files and definitions have numbers; a term or name is looked up by its key (`terms.term_key`) in a sorted list of keys.
The records they are built from are `records.py`'s; how files refer to each other is `links.py`'s.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from recollect.codebase.links import Array, FileNames, link
from recollect.codebase.records import HEADER, KINDS, LAYOUT
from recollect.files.jail import private_file, private_folder

_DONE = "complete"
_FIELD = KINDS.index("field")


def split_numbers(blob: bytes) -> dict[str, Any]:
    """A record's numbers by the names of `LAYOUT`, with the term of each posting, the modules, lines and length."""
    *counts, lines, length = HEADER.unpack_from(blob)
    numbers: dict[str, Any] = {"lines": lines, "length": length}
    offset = HEADER.size
    for name, kind, count in LAYOUT:
        numbers[name] = np.frombuffer(blob, dtype=kind, count=counts[count], offset=offset)
        offset += numbers[name].nbytes
    modules = blob[offset:].decode("utf-8", "replace")
    posting_keys = numbers["term_keys"][numbers["posting_terms"]]
    return {**numbers, "posting_keys": posting_keys, "modules": modules.split("\n") if modules else []}


class Arrays:
    """The arrays of a state of a tree, mapped from their files.

    All at once: another process that sees the tree change takes the files away, and what is mapped stays.
    """

    def __init__(self, folder: Path) -> None:
        self._arrays: dict[str, Array] = {
            # `glob` gives nothing of a folder that it may not read.
            file.stem: np.load(file, mmap_mode="r")
            for file in folder.iterdir()
            if file.suffix == ".npy"
        }

    def __getitem__(self, name: str) -> Array:
        return self._arrays[name]

    def close(self) -> None:
        """Let go of the files: each is a handle, and whoever holds this may live on for long."""
        self._arrays.clear()

    def rows(self, table: str, key: int) -> slice:
        """Where the rows of a key stand in a table; an empty slice when it has none."""
        keys = self[f"{table}_keys"]
        place = int(np.searchsorted(keys, np.uint64(key)))
        if place >= len(keys) or int(keys[place]) != key:
            return slice(0, 0)
        offsets = self[f"{table}_offsets"]
        return slice(int(offsets[place]), int(offsets[place + 1]))


def open_arrays(folder: Path) -> Arrays | None:
    """The arrays in a folder, or None when they were not finished, or are damaged."""
    try:
        return Arrays(folder) if (folder / _DONE).exists() else None
    except (OSError, ValueError, EOFError):
        return None


def build_arrays(folder: Path, rows: Iterable[tuple[str, str | None, bytes]]) -> Arrays:
    """Build the arrays of files (path, language, numbers), in the order that numbers them.

    Written beside and moved into place: another process may be doing the same.
    """
    private_folder(folder.parent)
    work = Path(tempfile.mkdtemp(prefix=".", dir=folder.parent))
    try:
        _build(work, rows)
        (work / _DONE).touch(mode=0o600)
        # Mapped before it is moved: nobody takes this folder away.
        built = Arrays(work)
        try:
            work.rename(folder)
        except OSError:
            if open_arrays(folder) is None:
                shutil.rmtree(folder, ignore_errors=True)
                work.rename(folder)
    finally:
        shutil.rmtree(work, ignore_errors=True)
    _remove_others(folder)
    return built


def _remove_others(folder: Path) -> None:
    """Take away what stands beside a folder; what can't be is left to the next time."""
    with suppress(OSError):
        for other in folder.parent.iterdir():
            if other.is_dir() and other != folder and not other.name.startswith("."):
                # Whoever still has them mapped keeps them until it lets go.
                shutil.rmtree(other, ignore_errors=True)


def _build(folder: Path, rows: Iterable[tuple[str, str | None, bytes]]) -> None:
    files = [(path, language, split_numbers(blob)) for path, language, blob in rows]
    records = [record for *_, record in files]

    def column(name: str, kind: Any) -> Array:
        parts = [record[name] for record in records]
        return np.concatenate(parts).astype(kind, copy=False) if parts else np.zeros(0, dtype=kind)

    def sizes(name: str) -> Array:
        return np.array([len(record[name]) for record in records], dtype=np.int64)

    _save(folder, "file_lengths", np.array([record["length"] for record in records], dtype=np.int32))
    _save(folder, "file_lines", np.array([record["lines"] for record in records], dtype=np.int32))
    numbers = np.arange(len(records), dtype=np.int32)
    _table(
        folder,
        "term",
        column("term_keys", np.uint64),
        np.repeat(numbers, sizes("term_keys")),
        column("term_counts", np.int32),
    )
    first = np.concatenate(([0], np.cumsum(sizes("definition_keys"))))
    definition_files = np.repeat(numbers, sizes("definition_keys"))
    definition_keys = column("definition_keys", np.uint64)
    kinds = column("definition_kinds", np.uint8)
    _save(folder, "definition_files", definition_files)
    _save(folder, "definition_first", first)
    _save(folder, "definition_kinds", kinds)
    _save(folder, "definition_lengths", column("definition_lengths", np.int32))
    _table(folder, "name", definition_keys, np.arange(len(definition_keys), dtype=np.int32), None)
    _table(
        folder,
        "unit",
        column("posting_keys", np.uint64),
        column("posting_definitions", np.int32)
        + np.repeat(first[:-1], sizes("posting_definitions")).astype(np.int32),
        column("posting_counts", np.int32),
    )
    reference_keys = column("reference_keys", np.uint64)
    reference_files = np.repeat(numbers, sizes("reference_keys"))
    strong = column("strong", np.int32)
    weak = column("weak", np.int32)
    _table(folder, "use", reference_keys, reference_files, strong + weak)
    linkable = kinds != _FIELD
    sources, targets, weights = link(
        [path for path, *_ in files],
        [language for _, language, _ in files],
        [record["modules"] for record in records],
        defined=FileNames(keys=definition_keys[linkable], files=definition_files[linkable]),
        used=FileNames(keys=reference_keys, files=reference_files),
        strong=strong,
        weak=weak,
    )
    _save(folder, "graph_sources", sources)
    _save(folder, "graph_targets", targets)
    _save(folder, "graph_weights", weights)


def _table(folder: Path, name: str, keys: Array, ids: Array, counts: Array | None) -> None:
    """Rows by key: the keys once each, where the rows of each begin, and the rows in the order they came."""
    order = np.argsort(keys, kind="stable")
    keys = keys[order]
    starts = (
        np.flatnonzero(np.concatenate(([True], keys[1:] != keys[:-1])))
        if len(keys)
        else np.zeros(0, np.int64)
    )
    _save(folder, f"{name}_keys", keys[starts])
    _save(folder, f"{name}_offsets", np.concatenate((starts, [len(keys)])).astype(np.int64))
    del keys
    _save(folder, f"{name}_ids", ids[order].astype(np.int32))
    if counts is not None:
        _save(folder, f"{name}_counts", counts[order])


def _save(folder: Path, name: str, values: Array) -> None:
    with open(folder / f"{name}.npy", "wb", opener=private_file) as file:
        np.save(file, values, allow_pickle=False)

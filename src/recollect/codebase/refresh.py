"""Bringing the store up to date with a tree: only what changed is read, and only what was never seen is parsed.

A file with the size, time stamp and inode it had is unchanged. Of the others the content decides: one that was parsed
before, under any name, is not parsed again. A time stamp too near to the look itself proves nothing, so such a file's
content is compared next time as well.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path

from recollect.codebase.pool import Parsed, parse_files
from recollect.codebase.records import FileRecord
from recollect.codebase.store import KnownFile, Store
from recollect.codebase.tree import Skipped, SourceFile, read_text_file
from recollect.files.jail import Jail

#: `progress(done, total)` counts files.
Progress = Callable[[int, int], None]

#: File systems keep time in steps of up to two seconds.
_SETTLED_NS = 2_000_000_000
_COMMIT_EVERY = 500
_LOOK_UP_AT_ONCE = 5_000
_LATE = "the time was up before it was read; the next run goes on from here"


@dataclass(frozen=True, slots=True, kw_only=True)
class Refreshed:
    """What it cost: files of the tree, how many were parsed now, how many were as before, and the seconds it took."""

    files: int
    parsed: int
    unchanged: int
    seconds: float


def refresh(
    store: Store,
    tree: int,
    root: Path,
    files: Sequence[SourceFile],
    *,
    progress: Progress | None = None,
    workers: int | None = None,
    deadline_s: float | None = None,
) -> tuple[dict[str, KnownFile], Refreshed, list[Skipped]]:
    """The files as they are known now, what that cost, and notes about those without a record."""
    begun = time.monotonic()
    looked_ns = time.time_ns()
    stop_at = None if deadline_s is None else begun + deadline_s
    before = store.files(tree)
    known: dict[str, KnownFile] = {}
    doubtful: list[SourceFile] = []
    for file in files:
        was = before.get(file.path)
        if was is not None and was.certain and (was.size, was.mtime_ns, was.inode) == _stamp(file):
            known[file.path] = was
        else:
            doubtful.append(file)
    gone = before.keys() - {file.path for file in files}
    unchanged = len(known)
    if gone:
        with store.transaction():
            store.drop_files(tree, gone)
    new = _Keeping(store, tree, looked_ns)
    unseen = new.settle_known(root, doubtful, before) if before or doubtful else []
    done, parsed = len(files) - len(unseen), 0
    if progress is not None:
        progress(done, len(files))
    with closing(_until(parse_files(root, unseen, workers=workers), stop_at)) as results:
        for path, sha256, record in results:
            parsed += isinstance(record, FileRecord)
            new.keep(path, sha256, record)
            done += 1
            if progress is not None:
                progress(done, len(files))
    new.finish()
    known |= new.known
    late = [Skipped(path=file.path, why=_LATE) for file in unseen if file.path not in new.known]
    notes = [Skipped(path=path, why=one.note) for path, one in sorted(known.items()) if one.note]
    cost = Refreshed(files=len(files), parsed=parsed, unchanged=unchanged, seconds=time.monotonic() - begun)
    return known, cost, [*notes, *late]


class _Keeping:
    """Writes what was found, some hundred files at a time."""

    def __init__(self, store: Store, tree: int, looked_ns: int) -> None:
        self.known: dict[str, KnownFile] = {}
        self._store = store
        self._tree = tree
        self._looked_ns = looked_ns
        self._stamps: dict[str, KnownFile] = {}
        self._waiting: list[tuple[str, FileRecord | None, KnownFile]] = []

    def settle_known(
        self, root: Path, files: Sequence[SourceFile], before: dict[str, KnownFile]
    ) -> list[SourceFile]:
        """Read and compare files whose content may have a record; those that have none are given back."""
        self._stamps = {file.path: self._stamped(file) for file in files}
        if not files or not self._store.any_content():
            return list(files)
        unseen: list[SourceFile] = []
        with Jail(root) as jail:
            for start in range(0, len(files), _LOOK_UP_AT_ONCE):
                hashes: dict[str, str] = {}
                part = files[start : start + _LOOK_UP_AT_ONCE]
                for file in part:
                    data, why = read_text_file(jail, file.path)
                    if data is None:
                        self.keep(file.path, "", why)
                    else:
                        hashes[file.path] = hashlib.sha256(data).hexdigest()
                seen = self._store.known(sorted(set(hashes.values())))
                for file in part:
                    sha256 = hashes.get(file.path)
                    if sha256 in seen:
                        self.keep(file.path, str(sha256), None)
                    elif sha256 is not None:
                        unseen.append(file)
        return unseen

    def keep(self, path: str, sha256: str, record: FileRecord | str | None) -> None:
        """A file's record, why it has none, or nothing when its content has one already."""
        why = record if isinstance(record, str) else ""
        known = replace(self._stamps[path], sha256=sha256 or None, note=why)
        self.known[path] = known
        self._waiting.append((path, record if isinstance(record, FileRecord) else None, known))
        if len(self._waiting) >= _COMMIT_EVERY:
            self.finish()

    def finish(self) -> None:
        """Write what waits."""
        if not self._waiting:
            return
        with self._store.transaction():
            for path, record, known in self._waiting:
                if record is not None and known.sha256 is not None:
                    self._store.add_content(known.sha256, record)
                self._store.put_file(self._tree, path, known)
        self._waiting.clear()

    def _stamped(self, file: SourceFile) -> KnownFile:
        settled = self._looked_ns - file.mtime_ns > _SETTLED_NS
        return KnownFile(file.size, file.mtime_ns, file.inode, settled, None, "")


def _stamp(file: SourceFile) -> tuple[int, int, int]:
    return file.size, file.mtime_ns, file.inode


def _until(results: Generator[Parsed, None, None], stop_at: float | None) -> Generator[Parsed, None, None]:
    """Results until the time is up."""
    with closing(results):
        for result in results:
            yield result
            if stop_at is not None and time.monotonic() > stop_at:
                return

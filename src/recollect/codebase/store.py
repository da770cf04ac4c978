"""What is kept of source trees between runs, and bringing it up to date: a SQLite file, by content hash.

It is a cache: a damaged file is made anew, and where none can be written a temporary file serves the run. Every
query is in `store.sql`, by name. What the records mean is not known here: see `records.py`.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shutil
import sqlite3
import tempfile
import threading
import time
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass, replace
from functools import cache
from importlib import resources
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from recollect.codebase.pool import parse_files
from recollect.codebase.records import FORMAT, FileRecord
from recollect.codebase.symbols.grammars import grammar_modules
from recollect.codebase.tree import BINARY, Skipped, SourceFile, read_text_file
from recollect.files.jail import Jail, private_file, private_folder

_BUSY_S = 60.0
#: Trees nobody has opened for so long are forgotten.
_KEPT_DAYS = 60
_DAY_S = 86_400


@dataclass(frozen=True, slots=True)
class KnownFile:
    """A file as it was seen last. `settled`: its time stamp was old enough then to tell a later change."""

    size: int
    mtime_ns: int
    inode: int
    settled: bool
    sha256: str | None
    note: str

    @property
    def stamp(self) -> tuple[int, int, int]:
        """What changes with the file."""
        return self.size, self.mtime_ns, self.inode

    @property
    def certain(self) -> bool:
        """Whether an equal stamp means an equal file: what could not be opened may be open now."""
        return self.settled and (self.sha256 is not None or self.note == BINARY)


@cache
def queries() -> dict[str, str]:
    """Every query by its name."""
    text = resources.files(__package__).joinpath("store.sql").read_text(encoding="utf-8")
    parts = (part.partition("\n") for part in text.split("-- name: ")[1:])
    return {name.strip(): body.strip() for name, _, body in parts}


@cache
def fingerprint() -> str:
    """Changes when files would be read differently: other queries, another format, other grammars installed."""
    folder = resources.files("recollect.codebase.symbols").joinpath("queries")
    texts = sorted((file.name, file.read_text(encoding="utf-8")) for file in folder.iterdir())
    installed = [module for module in grammar_modules() if find_spec(module) is not None]
    return f"{zlib.crc32(repr((FORMAT, texts, installed)).encode()):08x}"


class Store:
    """The SQLite file. May be used from several threads, one at a time; several processes share the file."""

    def __init__(self, folder: Path) -> None:
        self.note = ""
        self._temporary: Path | None = None
        self._lock = threading.RLock()
        try:
            self.folder, self._connection = folder, _open(folder)
        except (OSError, sqlite3.Error) as error:
            self.note = f"the index can't be kept in {str(folder)!r} ({error}), so the next run starts anew"
            self.folder = self._temporary = Path(tempfile.mkdtemp(prefix="recollect-codebase-"))
            self._connection = _open(self.folder)

    def close(self) -> None:
        """Let go of the file."""
        with self._lock:
            self._connection.close()
        if self._temporary is not None:
            shutil.rmtree(self._temporary, ignore_errors=True)

    @contextlib.contextmanager
    def transaction(self) -> Iterator[None]:
        """Everything in it is kept, or nothing."""
        with self._lock:
            self._connection.execute("begin immediate")
            try:
                yield
            except BaseException:
                self._connection.execute("rollback")
                raise
            self._connection.execute("commit")

    def open_tree(self, root: str) -> int:
        """The number of a tree, remembered as used today."""
        day = _today()
        rows = self._run("get_tree", root=root)
        if rows and rows[0][1] == day:
            return int(rows[0][0])
        with self.transaction():
            self._run("drop_old_trees", day=day - _KEPT_DAYS)
            self._run("drop_old_contents", day=day - _KEPT_DAYS)
            self._run("drop_old_vectors", day=day - _KEPT_DAYS)
            self._run("add_tree", root=root, day=day)
            return int(self._run("get_tree", root=root)[0][0])

    def files(self, tree: int) -> dict[str, KnownFile]:
        """What was known of a tree's files, by path."""
        return {path: KnownFile(*known) for path, *known in self._run("tree_files", tree=tree)}

    def any_content(self) -> bool:
        """Whether there is any record at all."""
        return bool(self._run("any_content"))

    def known(self, hashes: Sequence[str]) -> set[str]:
        """Which of these contents have a record."""
        return {row[0] for row in self._run("known_contents", hashes=json.dumps(list(hashes)))}

    def add_content(self, sha256: str, record: FileRecord) -> None:
        """Keep a record."""
        values = {**asdict(record), "sha256": sha256, "day": _today()}
        self._run("add_content", **values)
        self._run("add_record", **values)

    def put_file(self, tree: int, path: str, known: KnownFile) -> None:
        """Remember a file as it was seen."""
        self._run("put_file", tree=tree, path=path, **asdict(known))

    def drop_files(self, tree: int, paths: Iterable[str]) -> None:
        """Forget files that are gone."""
        for path in paths:
            self._run("drop_file", tree=tree, path=path)

    def contents(self, tree: int) -> Iterator[tuple[str, str | None, bytes]]:
        """Path, language and numbers of every file with a record, by path."""
        with self._lock:
            cursor = self._connection.execute(queries()["tree_contents"], {"tree": tree})
            yield from cursor

    def languages(self, tree: int) -> list[tuple[str, str | None, int, str]]:
        """Path, language, lines and note of every file with a record, by path."""
        return self._run("tree_languages", tree=tree)

    def symbols(self, sha256: str) -> tuple[str | None, int, bytes, bytes] | None:
        """Language, lines, definitions and references of a content."""
        rows = self._run("get_symbols", sha256=sha256)
        return rows[0] if rows else None

    def vectors(self, space: str, hashes: Sequence[str]) -> dict[str, bytes]:
        """The vectors that are kept of these texts, by their hashes."""
        wanted = json.dumps(list(hashes))
        self._run("keep_vectors", space=space, hashes=wanted, day=_today())
        return dict(self._run("get_vectors", space=space, hashes=wanted))

    def add_vectors(self, space: str, vectors: Mapping[str, bytes]) -> None:
        """Keep vectors by the hashes of their texts."""
        with self.transaction():
            for sha256, vector in vectors.items():
                self._run("add_vector", sha256=sha256, space=space, vector=vector, day=_today())

    def _run(self, name: str, **values: Any) -> list[Any]:
        with self._lock:
            return self._connection.execute(queries()[name], values).fetchall()


def _open(folder: Path) -> sqlite3.Connection:
    private_folder(folder)
    file = folder / f"symbols-{fingerprint()}.sqlite"
    try:
        return _connect(file)
    except sqlite3.DatabaseError as error:
        if isinstance(error, sqlite3.OperationalError):
            raise
        # Damaged: it is a cache.
        for part in folder.glob(f"{file.name}*"):
            part.unlink(missing_ok=True)
        return _connect(file)


def _connect(file: Path) -> sqlite3.Connection:
    os.close(private_file(file, os.O_RDWR | os.O_CREAT))
    connection = sqlite3.connect(file, timeout=_BUSY_S, isolation_level=None, check_same_thread=False)
    try:
        # A cache may lose its last minutes with the power, but must not slow the run down.
        connection.execute("pragma journal_mode = wal")
        connection.execute("pragma synchronous = off")
        connection.execute("pragma foreign_keys = on")
        connection.executescript(queries()["schema"])
        check = (
            connection.execute("pragma quick_check(1)").fetchone()
            if file.stat().st_size < 1 << 20
            else ("ok",)
        )
        if check[0] != "ok":
            raise sqlite3.DatabaseError(str(check[0]))
    except BaseException:
        connection.close()
        raise
    return connection


def _today() -> int:
    return int(time.time() // _DAY_S)


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
        if was is not None and was.certain and was.stamp == (file.size, file.mtime_ns, file.inode):
            known[file.path] = was
        else:
            doubtful.append(file)
    gone = before.keys() - {file.path for file in files}
    unchanged = len(known)
    if gone:
        with store.transaction():
            store.drop_files(tree, gone)
    new = _Keeping(store, tree, looked_ns)
    unseen = new.settle_known(root, doubtful)
    done, parsed = len(files) - len(unseen), 0
    if progress is not None:
        progress(done, len(files))
    with closing(parse_files(root, unseen, workers=workers)) as results:
        for path, sha256, record in results:
            parsed += isinstance(record, FileRecord)
            new.keep(path, sha256, record)
            done += 1
            if progress is not None:
                progress(done, len(files))
            if stop_at is not None and time.monotonic() > stop_at:
                break
    new.finish()
    known |= new.known
    late = [Skipped(path=file.path, why=_LATE) for file in unseen if file.path not in new.known]
    notes = [Skipped(path=path, why=file.note) for path, file in sorted(known.items()) if file.note]
    cost = Refreshed(files=len(files), parsed=parsed, unchanged=unchanged, seconds=time.monotonic() - begun)
    return known, cost, [*notes, *late]


class _Keeping:
    """Writes what was read, some hundred files at a time."""

    def __init__(self, store: Store, tree: int, looked_ns: int) -> None:
        self.known: dict[str, KnownFile] = {}
        self._store = store
        self._tree = tree
        self._looked_ns = looked_ns
        self._stamps: dict[str, KnownFile] = {}
        self._waiting: list[tuple[str, FileRecord | None, KnownFile]] = []

    def settle_known(self, root: Path, files: Sequence[SourceFile]) -> list[SourceFile]:
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
        """A file's record, why it has none, or nothing when its content has a record already."""
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

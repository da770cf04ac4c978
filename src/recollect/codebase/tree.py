"""A source tree that can be read and nothing else: what every tool of an exploration works on.

A path is relative to the root and stays below it: no `..`, no absolute path, no symbolic link out. Only regular files
are opened, never more than a limit of bytes, and what can't be read is a `Skipped` with a reason or a clear error.
Nothing is written here or anywhere below. What stands in the files is not known here: see `symbols/` and `grep.py`.
"""

from __future__ import annotations

import hashlib
import os
import re
import stat
import threading
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from recollect.codebase.languages import classify
from recollect.errors import ForbiddenError, InvalidInputError, SourceError, SourceNotFoundError
from recollect.files.decode import canonical, decode, looks_binary
from recollect.files.jail import Jail, open_root
from recollect.files.walk import entries, is_ignored

#: Larger files were made by a program or hold data; a source file of this size would be half a million lines.
MAX_FILE_BYTES = 16_000_000
#: What a `read` gives back at most.
MAX_READ_BYTES = 1_000_000
#: Files of a tree; a large monorepo has some hundred thousand.
MAX_FILES = 200_000
#: Notes about what was left out; a folder of pictures needs no note for each.
MAX_NOTES = 1_000
_MAX_PATH_CHARS = 4_096
#: Why a file is left alone that holds no text.
BINARY = "it is binary"
#: Folders that tools fill, in trees without an ignore file too.
_FILLED_BY_TOOLS = frozenset(
    ".hg .svn __pycache__ node_modules site-packages .tox .nox .venv .mypy_cache .pytest_cache .ruff_cache".split()
)
#: What `canonical` would change in a text of plain ASCII.
_UNUSUAL = re.compile(rb"[\x00\x0b\r\x1c-\x1e]")


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceFile:
    """A file that may be read. `path` is relative to the root, with slashes; `language` is None without a grammar."""

    path: str
    size: int
    mtime_ns: int
    inode: int
    language: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Skipped:
    """A file or folder that is left alone, and why."""

    path: str
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceText:
    """Lines of a file, counted from 1; between them stands a line feed, whatever the file has.

    `sha256` is of the whole file's bytes. A limit may end it before the last line that was wanted.
    """

    path: str
    text: str
    last_line: int
    total_lines: int
    sha256: str


class SourceTree:
    """A root; made by `open_tree`. Its files are listed once: to see what changed, open it again."""

    def __init__(
        self, root: Path, *, allowed_roots: Sequence[Path] | None = None, max_files: int = MAX_FILES
    ) -> None:
        self.root = root
        self._allowed_roots = allowed_roots
        self._max_files = max_files
        self._lock = threading.Lock()
        self._listing: tuple[dict[str, SourceFile], tuple[Skipped, ...]] | None = None

    def files(self) -> Sequence[SourceFile]:
        """Every file that git would keep and that may hold text, by path; listed on the first call and kept."""
        return tuple(self._look()[0].values())

    @property
    def was_walked(self) -> bool:
        """Whether its files are known; asking for them would walk it."""
        return self._listing is not None

    @property
    def skipped(self) -> Sequence[Skipped]:
        """What `files` left out although git keeps it, and why."""
        return self._look()[1]

    def find(self, path: str) -> SourceFile | None:
        """The file of this path among `files`, or None."""
        return self._look()[0].get(path)

    def resolve(self, path: str | os.PathLike[str]) -> str:
        """The path of a file or folder relative to the root, with links followed; '.' is the root.

        An absolute path is taken when it lies in the tree. What leads out is a `ForbiddenError`, what is not there a
        `SourceNotFoundError`.
        """
        text = os.fspath(path)
        if not isinstance(text, str) or "\x00" in text or not text or len(text) > _MAX_PATH_CHARS:
            raise InvalidInputError(f"{str(text)[:80]!r} is not a path; give one relative to the tree")
        # Compared by its words first: what lies outside does not even exist for a caller.
        written = os.path.normpath(os.path.join(self.root, text))
        if not self._is_inside(written):
            raise ForbiddenError(
                f"the path {text[:200]!r} leads out of the tree; give one relative to its root"
            )
        try:
            real = os.path.realpath(written, strict=True)
        except OSError as error:
            raise SourceNotFoundError(
                f"the tree has no file or folder {text[:200]!r}; list its files to see what is there"
            ) from error
        if not self._is_inside(real):
            raise ForbiddenError(f"the path {text[:200]!r} leads out of the tree through a symbolic link")
        relative = os.path.relpath(real, self.root).replace(os.sep, "/")
        if ".git" in relative.split("/"):
            raise ForbiddenError(f"the path {text[:200]!r} lies in git's own folder, which is not read")
        return relative

    def read(self, path: str, start: int | None = None, end: int | None = None) -> SourceText:
        """Lines `start` to `end` of a file, both counted and from 1; the whole file by default.

        At most `MAX_READ_BYTES` come back. A file that can't be read is a `SourceError`.
        """
        first = 1 if start is None else start
        if first < 1 or (end is not None and end < first):
            raise InvalidInputError(
                f"lines {start!r} to {end!r} are no range; count from one, the first before the last"
            )
        name = self.resolve(path)
        data = self.read_bytes(name)
        lines = text_of(data).split("\n")
        if first > len(lines):
            raise SourceError(f"{name!r} has {len(lines):,} lines, none is number {first:,}")
        kept = _within(lines[first - 1 : end], MAX_READ_BYTES)
        return SourceText(
            path=name,
            text="\n".join(kept),
            last_line=first + len(kept) - 1,
            total_lines=len(lines),
            sha256=hashlib.sha256(data).hexdigest(),
        )

    def read_bytes(self, path: str) -> bytes:
        """The bytes of a text file; what is larger than the limit, binary, or ignored by git is a `SourceError`."""
        name = self.resolve(path)
        if self.find(name) is None and is_ignored(self.root, name, within=self._allowed_roots):
            raise SourceError(f"{name!r} is ignored by git, and so it is not read")
        with self.jail() as jail:
            data, why = read_text_file(jail, name, limit=MAX_FILE_BYTES)
        if data is None:
            raise SourceError(f"{name!r} is not read: {why}")
        return data

    def jail(self) -> Jail:
        """What opens this tree's files, for a thread."""
        return Jail(self.root)

    def _is_inside(self, path: str) -> bool:
        root = str(self.root)
        return path == root or path.startswith(root if root.endswith(os.sep) else root + os.sep)

    def _look(self) -> tuple[dict[str, SourceFile], tuple[Skipped, ...]]:
        with self._lock:
            if self._listing is None:
                self._listing = _look(self.root, self._allowed_roots, self._max_files)
            return self._listing


def open_tree(
    root: str | os.PathLike[str],
    *,
    allowed_roots: Iterable[str | os.PathLike[str]] | None = None,
    max_files: int = MAX_FILES,
) -> SourceTree:
    """The tree below a folder. With `allowed_roots` the folder must lie in any of them (`ForbiddenError`)."""
    real, roots = open_root(root, allowed_roots)
    return SourceTree(real, allowed_roots=roots, max_files=max_files)


def read_text_file(jail: Jail, path: str, *, limit: int = MAX_FILE_BYTES) -> tuple[bytes | None, str]:
    """The bytes of a text file, or None and why it is left alone. Never raises for what the file is."""
    try:
        data = jail.read(path, limit)
    except (OSError, ValueError) as error:
        reason = (error.strerror or str(error)) if isinstance(error, OSError) else str(error)
        return None, f"it can't be opened: {reason.lower()}"
    if data is None:
        return None, "it is not a regular file"
    if len(data) > limit:
        return None, f"it is larger than {limit:,} bytes"
    if looks_binary(data):
        return None, BINARY
    return data, ""


def text_of(data: bytes) -> str:
    """The text of a file's bytes with line feeds alone."""
    if data.isascii() and _UNUSUAL.search(data) is None:
        return data.decode("ascii").rstrip()
    return canonical(decode(data)[0])[0]


def _within(lines: Sequence[str], limit: int) -> Sequence[str]:
    """As many lines as fit; of a first line that is too long its beginning."""
    size = 0
    for number, line in enumerate(lines):
        size += len(line.encode("utf-8", "replace")) + 1
        if size > limit + 1:
            if number == 0:
                return [line.encode("utf-8", "replace")[:limit].decode("utf-8", "ignore")]
            return lines[:number]
    return lines


class _Filled:
    """Matches folders that tools fill."""

    def match_file(self, path: str) -> bool:
        return path.endswith("/") and path[:-1].rpartition("/")[2] in _FILLED_BY_TOOLS


def _look(
    root: Path, within: Sequence[Path] | None, max_files: int
) -> tuple[dict[str, SourceFile], tuple[Skipped, ...]]:
    files: list[SourceFile] = []
    notes: list[Skipped] = []
    unsaid = 0
    for path, why, entry in entries(root, unwanted=_Filled(), within=within, max_entries=4 * max_files):
        file, reason = (None, why) if entry is None else _source_file(root, path, entry)
        if file is not None and len(files) >= max_files:
            notes.append(Skipped(path=path, why=f"the tree has more than {max_files:,} files; it and what follows"
                                                " were not looked at"))  # fmt: skip
            break
        if file is not None:
            files.append(file)
        elif len(notes) < MAX_NOTES or reason.endswith("…"):
            notes.append(Skipped(path=path, why=reason))
        else:
            unsaid += 1
    if unsaid:
        notes.append(Skipped(path=".", why=f"{unsaid:,} more files were left out for such reasons"))
    files.sort(key=lambda file: file.path)
    return {file.path: file for file in files}, tuple(notes)


def _source_file(root: Path, path: str, entry: os.DirEntry[str]) -> tuple[SourceFile | None, str]:
    """The file, or why it is left out."""
    binary, language = classify(entry.name)
    if binary:
        return None, "its name is that of a binary file"
    try:
        if entry.is_symlink():
            inside = Path(os.path.realpath(root / path)).is_relative_to(root)
            return None, (
                "it is a symbolic link, and what it points to is read by its own name"
                if inside
                else "it is a symbolic link out of the tree"
            )
        status = entry.stat(follow_symlinks=False)
    except OSError as error:
        return None, f"it can't be looked at: {(error.strerror or str(error)).lower()}"
    if not stat.S_ISREG(status.st_mode):
        return None, f"it is {_kind(status.st_mode)}, not a regular file"
    if status.st_size > MAX_FILE_BYTES:
        return None, f"it is larger than {MAX_FILE_BYTES:,} bytes"
    return (
        SourceFile(
            path=path,
            size=status.st_size,
            mtime_ns=status.st_mtime_ns,
            inode=status.st_ino,
            language=language,
        ),
        "",
    )


def _kind(mode: int) -> str:
    if stat.S_ISFIFO(mode):
        return "a pipe"
    if stat.S_ISSOCK(mode):
        return "a socket"
    return "a device"

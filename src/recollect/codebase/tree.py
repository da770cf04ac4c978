"""A source tree that can be read and nothing else: the jail every tool of an exploration stands in.

A path is relative to the root and stays below it: no `..`, no absolute path, no symbolic link out. Only regular files
are opened, never more than a limit of bytes, and what can't be read is a `Skipped` with a reason or a clear error.
Nothing is written here or anywhere below. What stands in the files is not known here: see `symbols/` and `grep.py`.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

#: Larger files were made by a program or hold data; a source file of this size would be half a million lines.
MAX_FILE_BYTES = 16_000_000
#: What one `read` gives back at most.
MAX_READ_BYTES = 1_000_000
#: Files of one tree; a large monorepo has some hundred thousand.
MAX_FILES = 200_000


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
    """Lines of a file, counted from one; between them stands one line feed, whatever the file has.

    `sha256` is of the whole file's bytes. `truncated` says that the end was not reached because of a limit.
    """

    path: str
    text: str
    first_line: int
    last_line: int
    total_lines: int
    sha256: str
    encoding: str
    truncated: bool = False


class SourceTree:
    """One root; made by `open_tree`."""

    def __init__(self, root: Path, *, allowed_roots: Sequence[Path] | None = None) -> None:
        self.root = root
        self._allowed_roots = allowed_roots

    def files(self) -> Sequence[SourceFile]:
        """Every file that git would keep and that may hold text, by path; found on the first call and kept."""
        raise NotImplementedError

    @property
    def skipped(self) -> Sequence[Skipped]:
        """What `files` left out although git keeps it, and why."""
        raise NotImplementedError

    def find(self, path: str) -> SourceFile | None:
        """The file of this path among `files`, or None."""
        raise NotImplementedError

    def resolve(self, path: str) -> str:
        """The path of a file or folder relative to the root, with links followed; '.' is the root.

        An absolute path is taken when it lies in the tree. What leads out is a `ForbiddenError`, what is not there a
        `SourceNotFoundError`.
        """
        raise NotImplementedError

    def read(self, path: str, start: int | None = None, end: int | None = None) -> SourceText:
        """Lines `start` to `end` of a file, both counted and from one; the whole file by default.

        At most `MAX_READ_BYTES` come back. A file that can't be read is a `SourceError`.
        """
        raise NotImplementedError

    def read_bytes(self, path: str, *, limit: int = MAX_FILE_BYTES) -> bytes:
        """The file's bytes; a `SourceError` when it has more than the limit or is not a regular file."""
        raise NotImplementedError


def open_tree(
    root: str | os.PathLike[str], *, allowed_roots: Iterable[str | os.PathLike[str]] | None = None
) -> SourceTree:
    """The tree below a folder. With `allowed_roots` the folder must lie in one of them (`ForbiddenError`)."""
    raise NotImplementedError

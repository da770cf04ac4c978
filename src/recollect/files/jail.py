"""Opening a file below a root, and nowhere else, even while the tree changes under our feet.

Each folder on the way is opened by its own name, relative to the one before, and without following links: what was a
folder when the path was checked and is a link out of the tree now is refused by the kernel. Where the system has no
such calls (Windows) the path is resolved and compared instead.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from collections.abc import Iterable
from pathlib import Path
from types import TracebackType

from recollect.errors import ForbiddenError, InvalidInputError, SourceNotFoundError

_BENEATH = os.open in os.supports_dir_fd and hasattr(os, "O_NOFOLLOW") and hasattr(os, "O_DIRECTORY")
# Without O_NONBLOCK a pipe would wait for a writer for ever.
_READ = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)


def open_root(
    folder: str | os.PathLike[str], allowed_roots: Iterable[str | os.PathLike[str]] | None = None
) -> tuple[Path, list[Path] | None]:
    """A folder that may be read, without links, and the roots it was held to: with some it must lie in one of them."""
    text = os.fspath(folder)
    if not isinstance(text, str) or not text or "\x00" in text:
        raise InvalidInputError(f"{str(text)[:80]!r} is not a folder's path")
    real = Path(os.path.realpath(os.path.expanduser(text)))
    roots = None if allowed_roots is None else [Path(os.path.realpath(root)) for root in allowed_roots]
    # Allowed or not comes first: what lies outside is not even said to exist.
    if roots is not None and not any(real.is_relative_to(root) for root in roots):
        raise ForbiddenError(
            f"the folder {text!r} is outside the allowed roots"
            f" ({', '.join(map(str, roots)) or 'there are none'}); choose one inside"
        )
    if not os.path.isdir(real) or not os.access(real, os.R_OK | os.X_OK):
        raise SourceNotFoundError(f"{text!r} is not a folder that can be read")
    return real, roots


class Jail:
    """Opens files below one root. The last folder stays open, so that its other files cost one call each.

    Not for two threads at once: each makes its own.
    """

    def __init__(self, root: Path) -> None:
        self._root = root
        self._folder = ""
        self._handle: int | None = None

    def read(self, path: str, limit: int) -> bytes | None:
        """At most `limit` + 1 bytes of a regular file; None when it is something else. May raise `OSError`."""
        handle = self._open(path)
        try:
            status = os.fstat(handle)
            if not stat.S_ISREG(status.st_mode):
                return None
            data = os.read(handle, min(status.st_size, limit) + 1)
            if len(data) == status.st_size or not data:
                return data
            # It grew, or the file system gives little at a time.
            parts = [data]
            left = limit + 1 - len(data)
            while left > 0 and (more := os.read(handle, min(left, 1 << 20))):
                parts.append(more)
                left -= len(more)
            return b"".join(parts)
        finally:
            os.close(handle)

    def close(self) -> None:
        """Let go of the folder. Closing twice is fine."""
        if self._handle is not None:
            os.close(self._handle)
            self._handle = None

    def __enter__(self) -> Jail:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __del__(self) -> None:
        with contextlib.suppress(Exception):
            self.close()

    def _open(self, path: str) -> int:
        if not _BENEATH:
            return self._open_checked(path)
        folder, _, name = path.rpartition("/")
        if self._handle is None or folder != self._folder:
            self.close()
            self._handle = self._open_folder(folder)
            self._folder = folder
        return os.open(name, _READ | os.O_NOFOLLOW, dir_fd=self._handle)

    def _open_folder(self, folder: str) -> int:
        handle = os.open(self._root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        for part in folder.split("/") if folder else ():
            if part in {"", ".", ".."}:
                os.close(handle)
                raise OSError(errno.EPERM, f"the path has {part!r} in it")
            try:
                deeper = os.open(
                    part, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=handle
                )
            finally:
                os.close(handle)
            handle = deeper
        return handle

    def _open_checked(self, path: str) -> int:
        real = Path(os.path.realpath(self._root / path, strict=True))
        if not real.is_relative_to(self._root):
            raise OSError(errno.EPERM, "it leads out of the tree")
        return os.open(real, _READ)


def private_folder(folder: Path) -> None:
    """Make a folder for its owner alone, and so whatever is missing above it; what is there stays as it is.

    `Path.mkdir` gives its mode to the last folder only: the others would be open to everybody.
    """
    for parent in reversed([folder, *folder.parents]):
        if not parent.is_dir():
            parent.mkdir(mode=0o700, exist_ok=True)


def private_file(path: str | os.PathLike[str], flags: int) -> int:
    """Open a file that is its owner's alone if it is made now; an `opener` of `open`."""
    return os.open(path, flags, 0o600)

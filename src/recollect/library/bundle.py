"""Gathering the files of a working folder for a consultation: `FileBundler`.

Which files is said by globs; what git ignores, what is binary and what lies outside stays out, and the result says
what was left out and why. Nothing is followed out of the folder: no symbolic link, no `..`, no absolute path
(`files/jail.py`). The walk itself is `files/walk.py`; what is done with the files is not known here.
"""

from __future__ import annotations

import hashlib
import math
import os
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from recollect.errors import InvalidInputError
from recollect.files.decode import canonical, decode, looks_binary
from recollect.files.jail import Jail, open_root
from recollect.files.patterns import Glob, check_glob
from recollect.files.walk import TOO_LATE, Walked, walk
from recollect.library.reading.markdown import split_pages
from recollect.providers.tokens import count_tokens

#: Source files are smaller; larger ones were made by a program.
MAX_FILE_BYTES = 1_000_000
#: More than a consultation can read; keeps a glob on a home folder from running for minutes.
MAX_FILES = 20_000
_PACKED = (b"%PDF-", b"PK\x03\x04", b"\x1f\x8b", b"\x89PNG", b"\xff\xd8\xff", b"GIF8")


@dataclass(frozen=True, slots=True, kw_only=True)
class BundledFile:
    """A file that was read. `path` is relative to the working folder; `sha256` is of the file's bytes."""

    path: str
    text: str
    tokens: int
    lines: int
    sha256: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Bundle:
    """The files in the order of the globs that named them, then by path; and (path, reason) of what was left out."""

    files: tuple[BundledFile, ...]
    left_out: tuple[tuple[str, str], ...]
    tokens: int


class FileBundler:
    """Bundles files of one working folder.

    With `allowed_roots` the folder must lie in one of them; a server passes them, a program on its own machine may
    not care.
    """

    def __init__(
        self,
        working_dir: str | os.PathLike[str],
        *,
        allowed_roots: Iterable[str | os.PathLike[str]] | None = None,
        max_file_bytes: int = MAX_FILE_BYTES,
    ) -> None:
        self.root, self._roots = open_root(working_dir, allowed_roots)
        self._max_file_bytes = max_file_bytes

    def bundle(
        self, patterns: Sequence[str], *, max_tokens: int | None = None, until: float = math.inf
    ) -> Bundle:
        """Read the files these globs name.

        A glob is relative to the working folder: `*` stays within a folder, `**` does not, a folder means all in it.
        `!glob` leaves out, anywhere in the tree, whatever the order. Beyond `max_tokens` files are left out, and
        smaller ones after them still come in; so are those that were not read `until` then, by the monotonic clock.
        """
        wanted, unwanted = _specs(patterns)
        walked = walk(self.root, wanted, unwanted, within=self._roots, max_files=MAX_FILES, until=until)
        left_out = list(walked.left_out)
        left_out += self._named_but_missing(wanted, walked)
        files: list[BundledFile] = []
        total = 0
        with Jail(self.root) as jail:
            for path in walked.paths:
                if max_tokens is not None and total >= max_tokens:
                    left_out.append((path, f"the cap of {max_tokens:,} tokens is used up"))
                    continue
                if time.monotonic() > until:
                    left_out.append((path, TOO_LATE))
                    continue
                read = self._read(jail, path)
                if isinstance(read, str):
                    left_out.append((path, read))
                elif max_tokens is not None and total + read.tokens > max_tokens:
                    left_out.append(
                        (path, f"its {read.tokens:,} tokens are beyond the cap of {max_tokens:,}")
                    )
                else:
                    files.append(read)
                    total += read.tokens
        return Bundle(files=tuple(files), left_out=tuple(left_out), tokens=total)

    def _named_but_missing(self, globs: Sequence[Glob], walked: Walked) -> list[tuple[str, str]]:
        """A file named without wildcards that did not come: the user should hear why."""
        seen = {*walked.paths, *(path for path, _ in walked.left_out)}
        missing = []
        for glob in globs:
            path = glob.literal
            if not path or path in seen or any(other.startswith(f"{path}/") for other in seen):
                continue
            there = os.path.lexists(self.root / path)
            missing.append((path, "it is ignored, excluded or empty" if there else "there is no such file"))
        return missing

    def _read(self, jail: Jail, path: str) -> BundledFile | str:
        """The file, or why it is left out. A link within the folder is read by the name it leads to."""
        try:
            real = Path(os.path.realpath(self.root / path, strict=True))
            inside = real.relative_to(self.root).as_posix() if real.is_relative_to(self.root) else None
            data = None if inside is None else jail.read(inside, self._max_file_bytes)
        except OSError as error:
            return f"it can't be read: {(error.strerror or str(error)).lower()}"
        if data is None:
            return "it is not a regular file of the working directory"
        if len(data) > self._max_file_bytes:
            return f"it is larger than {self._max_file_bytes:,} bytes"
        if data.startswith(_PACKED) or looks_binary(data):
            return "it is binary"
        lines, _ = split_pages(canonical(decode(data)[0])[0])
        text = "\n".join(lines)
        return BundledFile(
            path=path,
            text=text,
            tokens=count_tokens(text),
            lines=len(lines),
            sha256=hashlib.sha256(data).hexdigest(),
        )


def _specs(patterns: Sequence[str]) -> tuple[list[Glob], Any]:
    """One matcher for each glob that adds, in order, and one for all that leave out."""
    from pathspec import GitIgnoreSpec

    if isinstance(patterns, str) or not all(isinstance(pattern, str) for pattern in patterns):
        raise InvalidInputError(f"patterns must be a list of globs, not {patterns!r}")
    adding: list[Glob] = []
    leaving: list[str] = []
    for pattern in patterns:
        if not pattern.startswith("!"):
            adding.append(Glob(pattern))
            continue
        glob = pattern.removeprefix("!").removeprefix("./")
        check_glob(glob)
        try:
            GitIgnoreSpec.from_lines([glob])
        except ValueError as error:
            raise InvalidInputError(f"the glob {pattern!r} can't be read: {error}") from error
        leaving.append(glob)
    if not adding and leaving:
        adding.append(Glob("**"))
    return adding, GitIgnoreSpec.from_lines(leaving)

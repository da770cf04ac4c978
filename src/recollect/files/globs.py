"""Globs that name files of a working folder, and those that lead out of it.

A path is matched part by part, in time proportional to its length times the glob's: no glob can be made to run long.
"""

from __future__ import annotations

import fnmatch
import re

from recollect.errors import InvalidInputError

_DRIVE = re.compile(r"[A-Za-z]:")
_WILDCARD = re.compile(r"[*?\[]")
_MAX_CHARS = 1_000


class Glob:
    """`*`, `?` and `[...]` stay within a folder, `**` is any number of folders; a folder's name means all in it."""

    def __init__(self, pattern: str) -> None:
        check_glob(pattern)
        parts = [part for part in pattern.split("/") if part not in {"", "."}]
        self.literal = "" if _WILDCARD.search(pattern) else "/".join(parts)
        #: None stands for `**`; two of them in a row are one.
        self._parts: list[re.Pattern[str] | None] = []
        for part in parts:
            if part != "**":
                self._parts.append(re.compile(fnmatch.translate(part)))
            elif not self._parts or self._parts[-1] is not None:
                self._parts.append(None)
        self._whole_folder = not parts or pattern.endswith("/") or _WILDCARD.search(parts[-1]) is None

    def match_file(self, path: str) -> bool:
        """Whether this file, or a folder it is in, is meant."""
        end = len(self._parts)
        reached = self._closed({0})
        for part in path.split("/"):
            if end in reached and self._whole_folder:
                return True
            after = set()
            for position in reached:
                if position == end:
                    continue
                wanted = self._parts[position]
                if wanted is None:
                    after.add(position)
                elif wanted.match(part):
                    after.add(position + 1)
            reached = self._closed(after)
            if not reached:
                return False
        return end in reached

    def _closed(self, positions: set[int]) -> set[int]:
        """These positions, and those behind a `**` that matches no folder at all."""
        behind = {
            position + 1
            for position in positions
            if position < len(self._parts) and self._parts[position] is None
        }
        return positions | behind


def check_glob(pattern: str) -> None:
    """Refuse what is absolute or leads upwards."""
    if not isinstance(pattern, str) or len(pattern) > _MAX_CHARS:
        raise InvalidInputError(
            f"a glob is a string of at most {_MAX_CHARS:,} characters, not {str(pattern)[:60]!r}"
        )
    if "\x00" in pattern or "\n" in pattern:
        raise InvalidInputError(f"the glob {pattern!r} has control characters")
    if pattern.startswith(("/", "\\", "~")) or _DRIVE.match(pattern):
        raise InvalidInputError(
            f"the glob {pattern!r} is absolute; give it relative to the working directory"
        )
    if ".." in re.split(r"[/\\]", pattern):
        raise InvalidInputError(f"the glob {pattern!r} leads out of the working directory; leave out '..'")

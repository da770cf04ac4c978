"""Regular expressions over documents, and globs that name files, both in linear time.

The engine is RE2: no expression makes it backtrack, so none can hang it; what it can't do (references back, looking
around) it refuses, and the refusal says so. Lines are searched one by one.
"""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from recollect.errors import DocumentReaderMissingError, InvalidInputError

MAX_PATTERN_CHARS = 1_000
#: What one compiled expression may take; a counted repetition of a thousand needs more, and is refused.
_MAX_MEMORY_BYTES = 8 * 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Match:
    """A line that matches, and the part of it that does."""

    line: int
    text: str
    matched: str


def search_lines(pattern: str, lines: Sequence[str], *, limit: int) -> tuple[list[Match], int]:
    """The first matches, and how many lines match in all. A pattern that can't be used is an `InvalidInputError`."""
    regex = compile_pattern(pattern)
    matches: list[Match] = []
    total = 0
    for number, line in enumerate(lines, 1):
        match = regex.search(line)
        if match is None:
            continue
        total += 1
        if len(matches) < limit:
            matches.append(Match(line=number, text=line, matched=match.group(0)))
    return matches, total


def escape(text: str) -> str:
    """A pattern that matches this text and nothing else."""
    return "".join(letter if letter.isalnum() or letter in "_ " else f"\\{letter}" for letter in text)


def compile_pattern(pattern: str, *, ignore_case: bool = False, of_bytes: bool = False) -> Any:
    """The expression, ready to search.

    With `of_bytes` it searches UTF-8 as it is: `^` and `$` are ends of lines, and groups are not told apart.
    """
    try:
        import re2  # type: ignore[import-untyped]
    except ImportError as error:
        raise DocumentReaderMissingError(
            "searching by pattern needs google-re2, which is not installed: pip install 'recollect[code]'"
        ) from error
    if len(pattern) > MAX_PATTERN_CHARS:
        raise InvalidInputError(
            f"the regex has {len(pattern):,} characters, the limit is {MAX_PATTERN_CHARS:,}"
        )
    options = re2.Options()
    options.log_errors = False
    options.max_mem = _MAX_MEMORY_BYTES
    options.case_sensitive = not ignore_case
    options.never_capture = of_bytes
    try:
        # Brackets around it, or `a|b` would have the flag for `a` alone; checked without, for the message's sake.
        plain = re2.compile(pattern, options=options)
        return (
            re2.compile(f"(?m:{pattern})".encode("utf-8", "replace"), options=options) if of_bytes else plain
        )
    except re2.error as error:
        reason = error.args[0] if error.args else error
        if isinstance(reason, bytes):
            reason = reason.decode("utf-8", "replace")
        raise InvalidInputError(
            f"the regex {pattern!r} can't be used: {reason}; there is no looking around and no reference back"
        ) from error


def touching(lines: Iterable[int], context: int, last_line: int) -> list[tuple[int, int]]:
    """Ranges of lines around some, in order; those that touch are one."""
    ranges: list[tuple[int, int]] = []
    for line in sorted(lines):
        first, last = max(line - context, 1), min(line + context, last_line)
        if ranges and first <= ranges[-1][1] + 1:
            ranges[-1] = (ranges[-1][0], max(last, ranges[-1][1]))
        else:
            ranges.append((first, last))
    return ranges


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

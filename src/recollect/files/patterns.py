"""Regular expressions over documents, in linear time.

The engine is RE2: no expression makes it backtrack, so none can hang it; what it can't do (references back, looking
around) it refuses, and the refusal says so. Lines are searched one by one.
"""

from __future__ import annotations

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

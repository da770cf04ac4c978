"""Searching a tree by regular expression, in linear time (RE2), with bounded output.

Lines are matched one by one, as ripgrep does; files are those of `SourceTree.files`. A pattern that can't be used is an
`InvalidInputError`; a deadline that passes is said in the result, not raised.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from recollect.codebase.tree import Skipped, SourceTree


@dataclass(frozen=True, slots=True, kw_only=True)
class GrepMatch:
    """A line that matches, with the lines around it."""

    path: str
    line: int
    text: str
    before: tuple[str, ...] = ()
    after: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class GrepResult:
    """Matches by path and line. `stopped_by` is 'limit' or 'deadline' when there may be more."""

    matches: tuple[GrepMatch, ...]
    files_searched: int
    files_matched: int
    skipped: tuple[Skipped, ...] = ()
    stopped_by: str | None = None


def grep(
    tree: SourceTree,
    pattern: str,
    paths: Sequence[str] = (),
    *,
    context_lines: int = 2,
    limit: int = 200,
    ignore_case: bool = False,
    timeout_s: float | None = None,
) -> GrepResult:
    """Search the files that `paths` name (files, folders or globs; none means all)."""
    raise NotImplementedError

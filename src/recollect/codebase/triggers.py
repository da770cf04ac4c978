"""When an exploration is worth it: `should_explore`. Below these marks reading the files directly is cheaper.

A rule over numbers and words that the caller has: nothing is opened but the list of a tree's files, if a tree is given.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass

from recollect.codebase.words import is_across
from recollect.domain.text import check_whole

#: More context than this is explored instead of read.
MAX_CONTEXT_TOKENS = 100_000
#: An agent that failed more often than this needs to look deeper.
MAX_FAILURES = 4
#: Source code has about so many bytes to a token.
BYTES_PER_TOKEN = 3.5

#: A file as people write it in a question.
_FILE = re.compile(r"\b[\w./-]+\.(?:py|pyi|js|jsx|ts|tsx|go|rs|java|c|h|cc|cpp|hpp|rb|php|cs|sh)\b")


@dataclass(frozen=True, slots=True, kw_only=True)
class Trigger:
    """Whether to explore, and what speaks for it. As a condition it is `explore`."""

    explore: bool
    reasons: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return self.explore


def should_explore(
    query: str = "",
    *,
    context_tokens: int | None = None,
    root: str | os.PathLike[str] | None = None,
    files: Sequence[str] = (),
    fail_count: int = 0,
    explicit: bool = False,
) -> Trigger:
    """Explore when any of these holds.

    - the context has more than 100,000 tokens: `context_tokens`, or those of the tree below `root`;
    - the question is about dependencies between files, or names several (`files` counts too);
    - `fail_count`, how often the same task has failed, is more than four;
    - somebody wants it: `explicit`.
    """
    check_whole("context_tokens", context_tokens or 0, least=0)
    check_whole("fail_count", fail_count, least=0)
    tokens = context_tokens or 0
    if context_tokens is None and root is not None:
        tokens = tree_tokens(root)
    signs = (
        "it was asked for" if explicit else "",
        large_context(tokens),
        several_files(query, files_in(query, files)),
        failed_often(fail_count),
    )
    reasons = tuple(filter(None, signs))
    return Trigger(explore=bool(reasons), reasons=reasons)


def files_in(query: str, files: Sequence[str] = ()) -> tuple[str, ...]:
    """The files that are given and those that a question names."""
    return tuple(dict.fromkeys([*files, *_FILE.findall(query)]))


def large_context(tokens: int) -> str:
    """In words that there is more than is worth reading; empty when there is not."""
    if tokens <= MAX_CONTEXT_TOKENS:
        return ""
    return f"the context has about {tokens:,} tokens, more than {MAX_CONTEXT_TOKENS:,}"


def several_files(query: str, files: Sequence[str]) -> str:
    """In words that it is about several files; empty when it is not."""
    if len(files) > 1:
        return f"it is about {len(files)} files"
    return "the question is about dependencies between files" if is_across(query) else ""


def failed_often(count: int) -> str:
    """In words that it failed too often for another try as before; empty when it did not."""
    return f"it has failed {count} times, more than {MAX_FAILURES}" if count > MAX_FAILURES else ""


def tree_tokens(root: str | os.PathLike[str]) -> int:
    """About how many tokens the source files below a folder have, by their sizes."""
    from recollect.codebase.tree import open_tree

    return round(sum(file.size for file in open_tree(root).files()) / BYTES_PER_TOKEN)

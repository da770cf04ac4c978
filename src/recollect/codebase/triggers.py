"""When an exploration is worth it: `should_explore`. Below these marks reading the files directly is cheaper.

A rule over numbers and words that the caller has: nothing is opened but the list of a tree's files, if one is given.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass

from recollect.codebase.wording import is_across
from recollect.errors import InvalidInputError

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
    - somebody asked for it: `explicit`.
    """
    for name, number in (("context_tokens", context_tokens or 0), ("fail_count", fail_count)):
        if isinstance(number, bool) or not isinstance(number, int) or number < 0:
            raise InvalidInputError(f"{name} {number!r} is not a whole number from 0 on")
    reasons = []
    if explicit:
        reasons.append("it was asked for")
    tokens = context_tokens
    if tokens is None and root is not None:
        tokens = tree_tokens(root)
    if tokens is not None and tokens > MAX_CONTEXT_TOKENS:
        reasons.append(f"the context has about {tokens:,} tokens, more than {MAX_CONTEXT_TOKENS:,}")
    named = {*files, *_FILE.findall(query)}
    if len(named) > 1:
        reasons.append(f"it is about {len(named)} files")
    elif is_across(query):
        reasons.append("the question is about dependencies between files")
    if fail_count > MAX_FAILURES:
        reasons.append(f"it has failed {fail_count} times, more than {MAX_FAILURES}")
    return Trigger(explore=bool(reasons), reasons=tuple(reasons))


def tree_tokens(root: str | os.PathLike[str]) -> int:
    """About how many tokens the source files below a folder have, by their sizes."""
    from recollect.codebase.tree import open_tree

    return round(sum(file.size for file in open_tree(root).files()) / BYTES_PER_TOKEN)

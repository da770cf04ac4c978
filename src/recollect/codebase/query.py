"""What a person asks about code, taken apart: names, paths, places, stack traces, words.

`read_query` reads the text of a question or an issue and the hints beside it; nothing here knows a tree. Finding the
files that are meant is `ranking.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """A file as a text names it, perhaps only its end, and a line (from one), when one is given.

    `function` is the name a stack trace gives beside it.
    """

    path: str
    line: int | None = None
    function: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class CodeQuery:
    """A query taken apart.

    `identifiers` are names as written, `dotted` those with a qualifier (`a.b.C`, `A::b`), both with how often they are
    mentioned. `places` are files and lines, `frames` those of stack traces, innermost first. `hinted_*` are what the
    hints name. `words` are the terms of the text (`terms.py`), with a weight each.
    """

    text: str
    identifiers: dict[str, float]
    dotted: dict[str, float]
    places: tuple[Place, ...]
    frames: tuple[Place, ...]
    globs: tuple[str, ...]
    hinted_places: tuple[Place, ...]
    hinted_names: tuple[str, ...]
    words: dict[str, float]
    about_tests: bool


def read_query(query: str, hints: Sequence[str] = ()) -> CodeQuery:
    """Take a query apart. Hints are paths, symbols, globs, `file:line`, or pasted stack traces."""
    raise NotImplementedError

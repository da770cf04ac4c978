"""Which files of a tree a query is about, without a model.

    rank(index, read_query(text, hints), limit=10)  -> list[RankedFile], best first

Several signals (words in files and in definitions, names that are defined or used, paths, stack traces, the reference
graph from these) are put together by a small linear formula. Taking a query apart is `query.py`, the graph `graph.py`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from recollect.codebase.query import CodeQuery

if TYPE_CHECKING:
    from recollect.codebase.index import CodeIndex


@dataclass(frozen=True, slots=True, kw_only=True)
class RankedSpan:
    """Lines that speak for a file. `name` is the definition's, or empty; `why` says what matched, in a few words."""

    name: str
    kind: str
    start_line: int
    end_line: int
    score: float
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RankedFile:
    """A file, and what speaks for it: spans best first. `confidence` is between 0 and 1, `signals` are the parts of the score."""

    path: str
    score: float
    confidence: float
    spans: tuple[RankedSpan, ...]
    signals: Mapping[str, float]


def rank(index: CodeIndex, query: CodeQuery, limit: int = 10) -> list[RankedFile]:
    """The files a query is about, best first; files nothing speaks for are left out. Tests rank lower, unless asked for."""
    raise NotImplementedError

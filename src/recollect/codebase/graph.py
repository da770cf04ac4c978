"""Personalised PageRank over the reference graph of a tree: what matters near the files one starts from."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np

    from recollect.codebase.index import ReferenceGraph

    FloatArray = np.ndarray[Any, np.dtype[np.float64]]


def personalised_pagerank(
    graph: ReferenceGraph, seeds: FloatArray, *, damping: float = 0.6, iterations: int = 20
) -> FloatArray:
    """How often a walker from the seeds (weights by number of file) stands at each file; it sums to one."""
    raise NotImplementedError

"""Personalised PageRank over the reference graph of a tree: what matters near the files one starts from.

Knows numbers of files only. Which files to start from is `ranking.py`'s business, how the graph is made `index.py`'s.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np

    from recollect.codebase.index import ReferenceGraph

    FloatArray = np.ndarray[Any, np.dtype[np.float64]]

#: A walker goes on with this chance, else back to a seed: the neighbourhood counts, not the tree's centre.
DAMPING = 0.6
#: From what is used back to its users: half as likely as from users to what they use.
BACKWARDS = 0.5
#: With this damping less than 0.00004 of the mass still moves after so many steps.
ITERATIONS = 20


def personalised_pagerank(
    graph: ReferenceGraph, seeds: FloatArray, *, damping: float = DAMPING, iterations: int = ITERATIONS
) -> FloatArray:
    """How often a walker from the seeds (weights by number of file) stands at each file; it sums to one.

    Without a seed it is zero everywhere. A file without edges sends the walker back to the seeds.
    """
    import numpy as np

    files = len(seeds)
    total = float(seeds.sum())
    if total <= 0:
        return np.zeros(files)
    start = np.asarray(seeds, dtype=np.float64) / total
    if not len(graph.sources):
        return start
    source = np.concatenate([graph.sources, graph.targets])
    target = np.concatenate([graph.targets, graph.sources])
    weight = np.concatenate([graph.weights, graph.weights * BACKWARDS]).astype(np.float64)
    out = np.bincount(source, weight, minlength=files)
    share = weight / np.maximum(out[source], 1e-12)
    mass = start
    for _ in range(iterations):
        moved = damping * np.bincount(target, mass[source] * share, minlength=files)
        mass = moved + (1.0 - moved.sum()) * start
    return mass

"""What was missing: raised for gaps in documents that were read, and the week's most wanted, grouped by meaning."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import timedelta
from itertools import islice
from typing import TYPE_CHECKING, Any

from recollect.domain.oracle import CapabilityGroup, CapabilityRequest
from recollect.library.material import Volume

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from recollect.domain.tenancy import TenantContext
    from recollect.workspace import Workspace

#: Two requests whose vectors are at least this close ask for the same thing. Of ten made-up ones, pairs of one meaning
#: have 0.47 to 0.83 with MiniLM, and others at most 0.42.
ALIKE = 0.5
#: The latest requests that are grouped.
_CONSIDERED = 2_000
#: Of each document: a book of scanned pages has hundreds of gaps and misses one thing.
_PER_DOCUMENT = 5


def gaps_of(volume: Volume) -> dict[str, dict[str, Any]]:
    """What would be needed to read all of a document, and where its first gap of that kind is."""
    gaps: dict[str, dict[str, Any]] = {}
    for gap in volume.gaps:
        about = {"doc_id": volume.doc_id, "where": gap.where, "gap": gap.description}
        gaps.setdefault(gap.capability or gap.description, about)
    return dict(islice(gaps.items(), _PER_DOCUMENT))


async def top_requests(
    workspace: Workspace, context: TenantContext, *, days: int | None, limit: int = 5
) -> list[CapabilityGroup]:
    """What was missed most, by whoever the caller may know of."""
    from recollect.storage.oracle import list_capability_requests

    since = None if days is None else workspace.clock() - timedelta(days=days)
    async with workspace.store.transaction(context) as tx:
        requests = await list_capability_requests(tx, since=since, limit=_CONSIDERED)
    if not requests:
        return []
    embedder = (await workspace.open_space(context)).embedder
    texts = [request.description for request in requests]
    vectors = await asyncio.to_thread(embedder.embed, texts)
    return group_by_meaning(requests, vectors, limit=limit)


def group_by_meaning(
    requests: Sequence[CapabilityRequest], vectors: NDArray[np.float32], *, limit: int = 5
) -> list[CapabilityGroup]:
    """The groups with the most requests first; `vectors` are unit vectors of the descriptions, in order.

    The most central request takes what is like it, then the next of those that are left.
    """
    import numpy as np

    by_text: dict[str, list[int]] = {}
    for at, request in enumerate(requests):
        by_text.setdefault(" ".join(request.description.split()).casefold(), []).append(at)
    places = list(by_text.values())
    if not places:
        return []
    distinct = vectors[[members[0] for members in places]]
    near = (distinct @ distinct.T) >= ALIKE
    np.fill_diagonal(near, True)
    weights = np.array([len(members) for members in places])
    left = np.ones(len(places), dtype=bool)
    groups: list[CapabilityGroup] = []
    while left.any():
        centre = int(np.argmax(np.where(left, near @ (weights * left), -1)))
        taken = np.flatnonzero(near[centre] & left)
        members = [
            at for place in (centre, *(int(row) for row in taken if row != centre)) for at in places[place]
        ]
        groups.append(
            CapabilityGroup(
                description=requests[members[0]].description,
                count=len(members),
                requests=tuple(requests[at] for at in members),
            )
        )
        left[taken] = False
    groups.sort(key=lambda group: -group.count)
    return groups[:limit]

"""What was missing: raised for gaps in documents that were read, and the week's most wanted, grouped by meaning."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from recollect.domain.ids import new_id
from recollect.domain.oracle import CapabilityGroup, CapabilityRequest, EventType
from recollect.library.material import Volume

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from recollect.domain.tenancy import TenantContext
    from recollect.oracle.consult import Consultation
    from recollect.workspace import Workspace

#: Two requests whose vectors are at least this close ask for the same thing. Of ten made-up ones, pairs of one meaning
#: have 0.47 to 0.83 with MiniLM, and others at most 0.42.
ALIKE = 0.5
#: The latest requests that are grouped.
_CONSIDERED = 2_000
#: Of each document: a book of scanned pages has hundreds of gaps and misses one thing.
_PER_DOCUMENT = 5


class Wanted:
    """Collects the requests of one consultation."""

    def __init__(self, consultation: Consultation) -> None:
        self.requests: list[CapabilityRequest] = []
        self._asked = consultation

    def add(self, description: str, context: Mapping[str, Any], *, raised_by: str) -> None:
        """Something is missing; the same for the same document counts once."""
        about = (description, context.get("doc_id"))
        if any((request.description, request.context.get("doc_id")) == about for request in self.requests):
            return
        consultation, told = self._asked, {**context, "problem": self._asked.question}
        request = CapabilityRequest(
            id=new_id(),
            at=consultation.workspace.clock(),
            description=description,
            raised_by=raised_by,
            context=told,
            consultation_id=consultation.id,
            workflow=consultation.request.workflow,
            agent=consultation.request.agent,
        )
        self.requests.append(request)
        consultation.say(
            EventType.ORACLE_CAPABILITY_REQUESTED,
            description=description,
            raised_by=raised_by,
            context=told,
        )

    def add_gaps(self, volumes: Sequence[Volume], *, attempted_tools: Sequence[str]) -> None:
        """What could not be read of the documents that were consulted."""
        for volume in volumes:
            seen: set[str] = set()
            for gap in volume.gaps:
                description = gap.capability or gap.description
                if description in seen or len(seen) >= _PER_DOCUMENT:
                    continue
                seen.add(description)
                self.add(
                    description,
                    {
                        "doc_id": volume.doc_id,
                        "where": gap.where,
                        "gap": gap.description,
                        "attempted_tools": list(attempted_tools),
                    },
                    raised_by="engine",
                )


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

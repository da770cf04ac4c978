"""Documents that are there already, for benchmarks and tests of the tools over them: no store is opened."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from recollect.errors import NotFoundError
from recollect.library.extract import rank
from recollect.library.material import Entry, Lead, Volume, unknown_document


@dataclass(slots=True)
class PlainMaterial:
    """Volumes by id, searched in memory."""

    volumes: Mapping[str, Volume]
    threshold: float = 0.35

    @property
    def entries(self) -> Mapping[str, Entry]:
        """The catalogue, by id."""
        return dict(self.volumes)

    async def catalogue(self) -> Sequence[Entry]:
        """All of them."""
        return list(self.entries.values())

    async def open(self, doc_id: str) -> Volume:
        """One document, whole."""
        volume = self.volumes.get(doc_id)
        if volume is None:
            raise NotFoundError(unknown_document(doc_id, self.volumes))
        return volume

    async def look(
        self, question: str, *, doc_ids: Sequence[str] | None = None, limit: int = 10
    ) -> Sequence[Lead]:
        """Passages by the share of the question's words in them."""
        named = self.volumes if doc_ids is None else [id_ for id_ in doc_ids if id_ in self.volumes]
        return rank(question, [self.volumes[one] for one in named], limit=limit)

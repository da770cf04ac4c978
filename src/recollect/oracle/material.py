"""The material of one consultation: documents of the library and files of a working folder, behind one door.

Documents are read from the library when they are needed, files were read when they were bundled. A look that finds a
document which was not in the catalogue adds it. Where documents are stored is `shelves.py`.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from recollect.errors import NotFoundError
from recollect.library.bundle import BundledFile
from recollect.library.extract import rank
from recollect.library.material import FILE, Entry, Lead, Volume, unknown_document
from recollect.library.reading import read_document

if TYPE_CHECKING:
    from recollect.oracle.shelves import Shelves
    from recollect.providers.embedders import Embedder

#: From this share of its terms and meaning on a passage of a file answers; measured on small projects only.
_FILES_THRESHOLD = 0.35


class ConsultedMaterial:
    """Documents and files of a consultation. `whole_library`: a look may find more than the catalogue has."""

    def __init__(
        self,
        door: Shelves | None,
        *,
        documents: Sequence[Entry] = (),
        files: Sequence[BundledFile] = (),
        whole_library: bool = False,
        embedder: Embedder | None = None,
    ) -> None:
        self._door = door
        self.whole_library = whole_library
        self._embedder = embedder
        #: The score from which a lead is an answer.
        self.threshold = door.threshold if door is not None else _FILES_THRESHOLD
        self._files = {file.path: file_volume(file) for file in files}
        #: The documents that were read so far, and the catalogue, by id.
        self.opened: dict[str, Volume] = dict(self._files)
        self.entries: dict[str, Entry] = {entry.doc_id: entry for entry in documents}
        for volume in self._files.values():
            # A document and a file of one name: the document keeps it, since somebody gave it on purpose.
            self.entries.setdefault(volume.doc_id, volume)
        #: Documents of the library that are only listed: they are not part of what is measured.
        self._known: dict[str, Entry] = {}
        self._listed = False
        self._looks: dict[tuple[str, tuple[str, ...] | None], Sequence[Lead]] = {}

    async def open(self, doc_id: str) -> Volume:
        """One document, whole."""
        volume = self.opened.get(doc_id)
        if volume is not None:
            return volume
        if self._door is not None and doc_id not in self.entries and self.whole_library:
            # Nothing found it yet, but whoever names it may know it from somewhere.
            for entry in await self._door.describe([doc_id]):
                self.entries[entry.doc_id] = entry
        if self._door is None or doc_id not in self.entries:
            raise NotFoundError(unknown_document(doc_id, [entry.doc_id for entry in await self.catalogue()]))
        self.opened[doc_id] = await self._door.open(doc_id)
        return self.opened[doc_id]

    async def catalogue(self) -> Sequence[Entry]:
        """What the consultation may open: all of the library where no documents were named, and the files."""
        if self._door is not None and self.whole_library and not self._listed:
            # Said afterwards: calls of one step run at the same time, and the second must not see half of a list.
            for entry in await self._door.list():
                self._known.setdefault(entry.doc_id, entry)
            self._listed = True
        return list(
            {
                **self.entries,
                **{id: entry for id, entry in self._known.items() if id not in self.entries},
            }.values()
        )

    async def look(
        self, question: str, *, doc_ids: Sequence[str] | None = None, limit: int = 10
    ) -> Sequence[Lead]:
        """Places that a question's meaning leads to; the same question is looked up once."""
        key = (question, None if doc_ids is None else tuple(doc_ids))
        if key not in self._looks:
            leads = [
                *await self._look_in_library(question, doc_ids, limit),
                *await self._look_in_files(*key, limit),
            ]
            self._looks[key] = sorted(leads, key=lambda lead: -lead.score)[:limit]
        return self._looks[key]

    async def _look_in_library(
        self, question: str, doc_ids: Sequence[str] | None, limit: int
    ) -> Sequence[Lead]:
        if self._door is None:
            return []
        known = [entry for entry in self.entries if entry not in self._files]
        wanted = known if doc_ids is None else [id_ for id_ in doc_ids if id_ in known]
        everywhere = doc_ids is None and self.whole_library
        if not wanted and not everywhere:
            return []
        leads = await self._door.look(question, doc_ids=None if everywhere else wanted, limit=limit)
        new = list(dict.fromkeys(lead.doc_id for lead in leads if lead.doc_id not in self.entries))
        for entry in await self._door.describe(new) if new else ():
            self.entries[entry.doc_id] = entry
        return [lead for lead in leads if lead.doc_id in self.entries]

    async def _look_in_files(
        self, question: str, doc_ids: Sequence[str] | None, limit: int
    ) -> Sequence[Lead]:
        named = list(self._files) if doc_ids is None else [id_ for id_ in doc_ids if id_ in self._files]
        if not named:
            return []
        volumes = [self._files[name] for name in named]
        leads = await asyncio.to_thread(rank, question, volumes, limit=limit, embedder=self._embedder)
        return [_scaled(lead, self.threshold) for lead in leads]


def file_volume(file: BundledFile) -> Volume:
    """A bundled file, with sections as far as its own lines have them."""
    read = read_document(file.text.encode("utf-8", "surrogatepass"), name=file.path)
    if read.text != file.text:
        # A reader that lays a text out anew (HTML) has other lines than the file that is cited.
        read = read_document(file.text.encode("utf-8", "surrogatepass"), name=file.path, kind="text")
    return Volume(
        doc_id=file.path,
        kind=FILE,
        title=file.path,
        digest=hashlib.sha256(file.text.encode("utf-8", "surrogatepass")).hexdigest(),
        tokens=file.tokens,
        lines=file.text.split("\n"),
        sections=read.sections,
    )


def _scaled(lead: Lead, threshold: float) -> Lead:
    """The score of a file's passage on the library's scale: what just answers there just answers here."""
    score = lead.score
    if score < _FILES_THRESHOLD:
        return replace(lead, score=score / _FILES_THRESHOLD * threshold)
    above = (score - _FILES_THRESHOLD) / (1.0 - _FILES_THRESHOLD)
    return replace(lead, score=threshold + above * (1.0 - threshold))

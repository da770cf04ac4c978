"""The library's part of `recollect reembed`: passages get a vector in the space that is being filled.

Passages are cut again from the kept text, which gives the same ones: how they are cut is part of what a section's
digest says. Those that an older version has cut are found by their lines. When and for whom is decided in
memories/reembed.py.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from typing import Any

from recollect.library.indexing import passages_of
from recollect.library.passages import Passage, search_text
from recollect.providers.embedders import Embedder
from recollect.storage import library
from recollect.storage.connections import Connection
from recollect.storage.spaces import Space
from recollect.storage.store import Row

_BATCH = 256


async def fill_passages(
    connection: Connection, embedder: Embedder, tenant: str, source: Space, target: Space
) -> AsyncIterator[int]:
    """Embed a tenant's passages into another space; gives how many, batch by batch."""
    while rows := await library.missing_passages(
        connection, tenant, target, from_space=source.id, limit=_BATCH
    ):
        vectors = await asyncio.to_thread(_embed, embedder, rows)
        await library.fill_passages(connection, tenant, target, rows, vectors, from_space=source.id)
        yield len(rows)


def _embed(embedder: Embedder, rows: list[Row]) -> Any:
    cut: dict[tuple[Any, int], list[Passage]] = {}
    texts = []
    for row in rows:
        key = (row["document_id"], row["section"])
        if key not in cut:
            cut[key] = passages_of(row["heading"], row["text"])
        passage = passage_of(cut[key], part=row["part"], first=row["line_first"], last=row["line_last"])
        if passage is None:
            passage = _by_lines(row, cut[key])
        texts.append(search_text(passage, title=row["title"], path=row["path"]))
    return embedder.embed(texts)


def passage_of(parts: Sequence[Passage], *, part: int, first: int, last: int) -> Passage | None:
    """The passage that was stored as this part of its section; None when the section is cut otherwise today.

    The number and the lines must agree; after a change of how sections are cut, the lines decide.
    """
    if part < len(parts) and (parts[part].line_start, parts[part].line_end) == (first, last):
        return parts[part]
    same = [part for part in parts if (part.line_start, part.line_end) == (first, last)]
    # What older versions did not have are passages of single strange sentences, beside those of the whole text.
    return next((one for one in same if not one.strange), same[0] if same else None)


def _by_lines(row: Row, parts: Sequence[Passage]) -> Passage:
    """Lines that are no passage today: in the entries of the one they begin in."""
    first, last = row["line_first"], row["line_last"]
    lines = row["text"].split("\n")[first : last + 1]
    around = [part for part in parts if part.line_start <= first <= part.line_end and not part.strange]
    return Passage(
        line_start=first,
        line_end=last,
        text="\n".join(line.strip() for line in lines if line.strip()),
        entries=around[0].entries if around else (),
    )

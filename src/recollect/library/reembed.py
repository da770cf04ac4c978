"""The library's part of `recollect reembed`: passages get a vector in the space that is being filled.

Passages are cut again from the kept text, which gives the same ones: how they are cut is part of what a section's
digest says. When and for whom is decided in memories/reembed.py.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

from recollect.library.indexing import passages_of
from recollect.library.passages import Passage, search_text
from recollect.providers.embedders import Embedder
from recollect.storage import library
from recollect.storage.spaces import Space
from recollect.storage.store import Connection, Row

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
        parts = cut[key]
        # Cut by an older version: its lines still say what it is.
        passage = parts[row["part"]] if row["part"] < len(parts) else _by_lines(row)
        texts.append(search_text(passage, title=row["title"], path=row["path"]))
    return embedder.embed(texts)


def _by_lines(row: Row) -> Passage:
    lines = row["text"].split("\n")[row["line_first"] : row["line_last"] + 1]
    return Passage(line_start=row["line_first"], line_end=row["line_last"], text="\n".join(lines))

"""What the integrations ask of a client, whether it waits (`Recollect`) or is awaited (`AsyncRecollect`)."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from operator import attrgetter
from typing import Any
from uuid import UUID

from recollect.client.async_client import AsyncRecollect
from recollect.client.sync_client import Recollect
from recollect.domain.library import SectionHit
from recollect.domain.memory import Memory
from recollect.domain.results import Hit
from recollect.domain.text import MAX_LIMIT

Client = Recollect | AsyncRecollect
#: Ids or sources in one request: a server gets them in an address.
BATCH = 100


async def ask(client: Client, verb: str, *args: Any, **kwargs: Any) -> Any:
    """What a verb ("search", "library.search") answers."""
    method = attrgetter(verb)(client)
    if isinstance(client, AsyncRecollect):
        return await method(*args, **kwargs)
    return await asyncio.to_thread(method, *args, **kwargs)


async def list_all(client: Client, limit: int | None, **conditions: Any) -> list[Memory]:
    """Memories page by page, up to a limit."""
    memories: list[Memory] = []
    cursor: str | None = None
    while limit is None or len(memories) < limit:
        size = MAX_LIMIT if limit is None else min(limit - len(memories), MAX_LIMIT)
        page = await ask(client, "list", limit=size, cursor=cursor, **conditions)
        memories += page
        cursor = page.next_cursor
        if cursor is None:
            break
    return memories


async def memories_of(client: Client, hits: Sequence[Hit], **conditions: Any) -> dict[UUID, Memory]:
    """The memories that hits are of, by id; those that do not meet the conditions are missing."""
    memories: dict[UUID, Memory] = {}
    for start in range(0, len(hits), BATCH):
        ids = [str(hit.id) for hit in hits[start : start + BATCH]]
        page = await ask(client, "list", limit=BATCH, filters={"id": {"$in": ids}}, **conditions)
        memories |= {memory.id: memory for memory in page}
    return memories


def metadata_of(hit: Hit | SectionHit) -> dict[str, Any]:
    """A hit's own metadata, and with it where it comes from."""
    if isinstance(hit, SectionHit):
        return {"document": hit.document, "section": hit.path, "lines": list(hit.lines)}
    more: dict[str, Any] = {"scope": hit.scope, "created_at": hit.created_at.isoformat()}
    more |= {"speaker": hit.speaker} if hit.speaker else {}
    more |= {"outdated": True} if hit.outdated else {}
    return {**hit.metadata, **more}

"""What people say about a memory that was recalled: recorded, and learned from at once where the speaker may write.

Whoever may see a memory may judge it. A judgement given again within a day is the same judgement, not a second one:
nobody talks a shared memory up or down by repeating themselves.
"""

from __future__ import annotations

import asyncio
import time
from dataclasses import replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING
from uuid import UUID

from recollect.domain.ids import new_id
from recollect.domain.learning import Feedback, FeedbackKind
from recollect.errors import InvalidInputError, NotFoundError
from recollect.learning.events import EventLog
from recollect.learning.rewards import UTILITY_REWARDS
from recollect.learning.utility import read_baseline
from recollect.storage import learning as storage
from recollect.storage.writes import get_memory

if TYPE_CHECKING:
    from collections.abc import Sequence

    from recollect.domain.tenancy import TenantContext
    from recollect.storage.store import Row, Store, Transaction

REPEATED_WITHIN = timedelta(days=1)
#: Searches are written half a second later, in the background; on a busy machine a little more.
_ON_ITS_WAY_S = 2.0
_LOOK_AGAIN_S = 0.1


async def give_feedback(
    store: Store,
    log: EventLog,
    context: TenantContext,
    *,
    memory_id: UUID,
    kind: FeedbackKind,
    score: float,
    query_id: UUID | None,
    now: datetime,
) -> Feedback:
    """Record a judgement of a memory, of one of a search's hits when `query_id` names the search."""
    user = _judge(context)
    if query_id is not None:
        await _written(store, log, context, query_id)
    given = Feedback(
        id=new_id(), memory_id=memory_id, kind=kind, score=score, at=now, query_id=query_id, applied=False
    )
    async with store.transaction(context) as tx:
        await get_memory(tx, memory_id)
        if query_id is not None:
            search = await _search(tx, query_id, [memory_id])
            await storage.mark_event(tx, user=search["user_id"], query=query_id, outcome="feedback")
            if score > 0:
                await log.guesses.confirm(tx, query_id, [memory_id])
        since = now - REPEATED_WITHIN
        row = await tx.fetch_one(
            "find_feedback", user=user, memory=memory_id, kind=kind.value, query=query_id, since=since
        )
        if row is not None:
            await tx.execute("rescore_feedback", id=row["feedback_id"], score=score, at=now)
            return replace(given, id=row["feedback_id"], applied=row["applied"])
        step = UTILITY_REWARDS.step(score, await read_baseline(tx))
        moved = await storage.reward_memories(tx, {memory_id: (0, step)})
        given = replace(given, applied=bool(moved))
        await tx.execute(
            "insert_feedback",
            id=given.id,
            memory=memory_id,
            query=query_id,
            user=user,
            kind=kind.value,
            score=score,
            at=now,
            applied=given.applied,
        )
    log.judged(context.tenant_id)
    return given


async def report_used(
    store: Store, log: EventLog, context: TenantContext, query_id: UUID, memory_ids: Sequence[UUID]
) -> None:
    """Record which of a search's memories served the caller's response; none is an answer, too."""
    _judge(context)
    await _written(store, log, context, query_id)
    async with store.transaction(context) as tx:
        await _search(tx, query_id, memory_ids)
    log.mark_used(context, query_id, memory_ids, reported=True)
    await log.flush()


async def _written(store: Store, log: EventLog, context: TenantContext, query_id: UUID) -> None:
    """Wait until a search that is a moment old is recorded: by this process, or by the one that carried it out."""
    await log.flush()
    last = time.monotonic() + _ON_ITS_WAY_S
    while abs(time.time() - _made_at(query_id)) < _ON_ITS_WAY_S and time.monotonic() < last:
        async with store.transaction(context) as tx:
            if await tx.fetch_one("find_event", query=query_id) is not None:
                return
        await asyncio.sleep(_LOOK_AGAIN_S)


def _made_at(id: UUID) -> float:
    """When an id of ours was made (RFC 9562, version 7: milliseconds in its first 48 bits)."""
    return (id.int >> 80) / 1000


def _judge(context: TenantContext) -> str:
    if context.user_id is None:
        raise InvalidInputError("feedback is somebody's; give the context a user_id")
    return context.user_id


async def _search(tx: Transaction, query_id: UUID, memory_ids: Sequence[UUID]) -> Row:
    event = await tx.fetch_one("find_event", query=query_id)
    if event is None:
        raise NotFoundError(
            f"no search {query_id} of this caller is recorded; leave query_id out, or look whether `learning` is on"
        )
    hits = await tx.fetch("find_hit", query=query_id, ids=list(memory_ids))
    strangers = set(memory_ids) - {row["memory_id"] for row in hits}
    if strangers:
        raise InvalidInputError(
            f"search {query_id} did not return memory {sorted(map(str, strangers))[0]}; name one of its hits"
        )
    return event

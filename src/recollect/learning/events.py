"""The log of searches and runs: recorded without waiting, written in the background, never in the way of a search.

`record` and `mark_used` put a note into a bounded queue and return. A task on the workspace's loop writes the queue
in batches, a moment later and when the workspace closes. Whatever goes wrong there becomes one log line and a count:
a search never fails because it could not be remembered. The query's text is stored only where the tenant keeps
questions; its terms are, as keyed hashes that mean nothing outside this tenant of this store.

Names that were guessed and turned out right become aliases (`Guesses`): a misspelt or shortened name in a question is
read as a similar one; when a memory about that entity then served, the next question finds it by the alias. Guesses
stay in this process, and not for long.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
import math
from collections import OrderedDict, deque
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from itertools import groupby
from typing import TYPE_CHECKING, Any
from uuid import UUID

from recollect.domain.learning import EventCounts, Guess, RetrievalEvent, ShownHit
from recollect.domain.query import QueryType
from recollect.learning.rewards import UTILITY_REWARDS
from recollect.learning.runs import run_row
from recollect.learning.utility import read_baseline
from recollect.storage import entities
from recollect.storage import learning as storage
from recollect.storage.learning import HOUR

if TYPE_CHECKING:
    from recollect.domain.tenancy import TenantContext
    from recollect.domain.trajectory import Trajectory
    from recollect.storage.store import Store, Transaction


#: Searches whose guesses are kept; somebody who reports a use later than that teaches no alias.
_KEPT = 1_000
#: How sure an alias is that proved right once; the short form of a name is as sure.
PROVEN = 0.95


class Guesses:
    """The guesses of the latest searches."""

    def __init__(self) -> None:
        self._by_search: OrderedDict[UUID, tuple[Guess, ...]] = OrderedDict()

    def note(self, event: RetrievalEvent) -> None:
        """Remember what a search guessed, if it did."""
        if event.guesses:
            self._by_search[event.query_id] = event.guesses
            if len(self._by_search) > _KEPT:
                self._by_search.popitem(last=False)

    async def confirm(self, tx: Transaction, query_id: UUID, memory_ids: Collection[UUID]) -> None:
        """Memories of a search served: learn the guesses about what they name."""
        guesses = self._by_search.get(query_id, ())
        if not guesses or not memory_ids:
            return
        named = await entities.named_among(tx, [guess.entity for guess in guesses], memory_ids)
        for guess in guesses:
            if guess.entity in named:
                await entities.learn_alias(
                    tx, guess.alias, guess.entity, confidence=max(guess.confidence, PROVEN)
                )


_log = logging.getLogger("recollect.learning")

#: About 20 MB of events at ten hits each; a store that is away for longer loses the newest.
MAX_QUEUED = 5_000
FLUSH_AFTER_S = 0.5
_BATCH = 200
#: A question that follows later than this is a new one.
REFINED_WITHIN = timedelta(minutes=10)
#: Terms kept of one question; longer ones are documents, and nobody refines those word by word.
_MAX_TERMS = 64
#: Stems that say where to look or how much is wanted, not what a question is about: two that share these alone have
#: nothing in common.
_FRAME = frozenset(
    "across team project compani organ organis user peopl everyon everybodi agent session scope group depart all everi"
    " list compar differ between latest recent new last first count number mani total summari summar overview".split()
)


@dataclass(frozen=True, slots=True)
class _Use:
    """Which memories of a search were used, and whether the caller said so or Recollect assembled them."""

    query_id: UUID
    memory_ids: tuple[UUID, ...]
    reported: bool


#: What waits: a search, what was used of one, or the row of a run of the recursive engine.
Note = RetrievalEvent | _Use | Mapping[str, Any]


class EventLog:
    """What searches of one workspace leave behind, on its way to the store."""

    def __init__(self, store: Store, *, enabled: bool = True, capacity: int = MAX_QUEUED) -> None:
        self.enabled = enabled
        self._store = store
        self._capacity = capacity
        self._queue: deque[tuple[TenantContext, Note]] = deque()
        self._writing = asyncio.Lock()
        self._wake = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._store_id: UUID | None = None
        self.guesses = Guesses()
        #: Hears in which tenant somebody has said what served.
        self.on_judged: Callable[[str], None] | None = None
        self._written = self._dropped = self._failed = 0

    @property
    def counts(self) -> EventCounts:
        """How many notes wait, were written, were dropped because too many waited, or were refused."""
        return EventCounts(
            queued=len(self._queue), written=self._written, dropped=self._dropped, failed=self._failed
        )

    def record(self, context: TenantContext, event: RetrievalEvent) -> None:
        """Remember a search. Returns at once; whoever has no user id is not remembered."""
        self._put(context, event)
        if self.enabled:
            self.guesses.note(event)

    def mark_used(
        self, context: TenantContext, query_id: UUID, memory_ids: Iterable[UUID], *, reported: bool = False
    ) -> None:
        """Remember what was used of a search's hits. Returns at once.

        `reported` says that the caller named them; otherwise Recollect put them into a context, which says little
        about any one of them.
        """
        self._put(context, _Use(query_id, tuple(memory_ids), reported))

    def record_run(
        self,
        context: TenantContext,
        trajectory: Trajectory,
        *,
        query_id: UUID | None = None,
        memory_ids: Iterable[UUID] = (),
    ) -> None:
        """Remember a run and, by `query_id`, the search it served. Returns at once; its words are not kept.

        `memory_ids` are the memories it met beside its findings: the run goes when one of them is deleted.
        """
        if self.enabled and context.user_id is not None:
            self._put(context, run_row(trajectory, query_id=query_id, memory_ids=memory_ids))

    def judged(self, tenant_id: str) -> None:
        """Somebody has said what a memory was worth: there is something to learn from."""
        if self.enabled and self.on_judged is not None:
            self.on_judged(tenant_id)

    def _put(self, context: TenantContext, note: Note) -> None:
        if not self.enabled or context.user_id is None:
            return
        if len(self._queue) >= self._capacity:
            self._dropped += 1
            return
        self._queue.append((context, note))
        if self._task is None or self._task.done():
            try:
                self._task = asyncio.get_running_loop().create_task(self._write_soon())
            except RuntimeError:
                return  # no loop in this thread; the next flush or close takes it along

    async def _write_soon(self) -> None:
        try:
            async with asyncio.timeout(FLUSH_AFTER_S):
                await self._wake.wait()
        except TimeoutError:
            pass
        await self.flush()

    async def flush(self) -> None:
        """Write everything that waits. Raises nothing that the store says."""
        async with self._writing:
            while self._queue:
                batch = [self._queue.popleft() for _ in range(min(_BATCH, len(self._queue)))]
                for context, notes in groupby(batch, key=lambda note: note[0]):
                    await self._write(context, [note for _, note in notes])

    async def close(self) -> None:
        """Write what waits, and stop."""
        self._wake.set()
        if self._task is not None:
            await asyncio.gather(self._task, return_exceptions=True)
        await self.flush()

    async def _write(self, context: TenantContext, notes: Sequence[Note]) -> None:
        # Apart: a use waits for memories, which somebody may hold who waits for the lock on traces.
        uses = [note for note in notes if isinstance(note, _Use)]
        made = [note for note in notes if not isinstance(note, _Use)]
        parts = ((made, partial(self._write_made, notes=made)), (uses, partial(self._write_uses, uses=uses)))
        for part, write in parts:
            count = len(part)
            if not count:
                continue
            try:
                async with self._store.transaction(context) as tx:
                    await write(tx)
            except Exception as error:
                # Anything at all: a tenant that was forgotten, a disk that is full, a bug here. Searches go on.
                self._failed += count
                # By its code: the database's own words may quote what was asked.
                reason = getattr(error, "code", type(error).__name__)
                _log.warning("%d notes about searches were not stored: %s", count, reason)
            else:
                self._written += count

    async def _write_made(self, tx: Transaction, notes: Sequence[RetrievalEvent | Mapping[str, Any]]) -> None:
        await tx.fetch("lock_traces")
        await self._write_events(tx, [note for note in notes if isinstance(note, RetrievalEvent)])
        runs = [note for note in notes if not isinstance(note, RetrievalEvent)]
        if runs:
            user, session = tx.context.user_id or "", tx.context.session_id or ""
            await tx.execute("insert_runs", user=user, session=session, runs=storage.to_json(runs))

    async def _write_uses(self, tx: Transaction, uses: Sequence[_Use]) -> None:
        user = tx.context.user_id or ""
        await tx.execute("lock_hit_memories", user=user, queries=[use.query_id for use in uses])
        for use in uses:
            await _write_use(tx, use)
            if use.reported:
                await self.guesses.confirm(tx, use.query_id, use.memory_ids)
        if any(use.reported for use in uses):
            self.judged(tx.context.tenant_id)

    async def _write_events(self, tx: Transaction, events: Sequence[RetrievalEvent]) -> None:
        if not events:
            return
        if self._store_id is None:
            self._store_id = (await tx.get_row("store_identity"))["store_id"]
        user = tx.context.user_id or ""
        for session, grouped in groupby(events, key=lambda event: session_of(tx.context, event.at)):
            seen: list[tuple[RetrievalEvent, list[int]]] = []
            rows = []
            hits = []
            for event in grouped:
                about = [term for term in event.terms if term not in _FRAME]
                terms = hash_terms(about[:_MAX_TERMS], self._store_id, tx.context.tenant_id)
                refines = await _refined_by(tx, event, terms, seen)
                seen.append((event, terms))
                rows.append(_event_row(event, terms, refines))
                hits += [_hit_row(event.query_id, hit) for hit in event.hits]
            await tx.execute("insert_events", user=user, session=session, events=storage.to_json(rows))
            if hits:
                await tx.execute("insert_hits", user=user, hits=storage.to_json(hits))
            refined = [row["refines"] for row in rows if row["refines"] is not None]
            if refined:
                await tx.execute("mark_refined", user=user, ids=refined)


async def _refined_by(
    tx: Transaction,
    event: RetrievalEvent,
    terms: Sequence[int],
    seen: Sequence[tuple[RetrievalEvent, list[int]]],
) -> UUID | None:
    """The question that this one asks again in other words; the latest one, if there are several."""
    since = event.at - REFINED_WITHIN
    for earlier, known in reversed(seen):
        if since <= earlier.at <= event.at and is_refinement(known, terms):
            return earlier.query_id
    # Of a session that is an hour the question before may be in the hour before.
    for session in dict.fromkeys(session_of(tx.context, at) for at in (event.at, since)):
        user = tx.context.user_id or ""
        for row in await tx.fetch(
            "session_events", user=user, session=session, query=event.query_id, since=since, at=event.at
        ):
            if is_refinement(row["terms"], terms):
                return UUID(str(row["query_id"]))
    return None


async def _write_use(tx: Transaction, use: _Use) -> None:
    """Mark what was used, and let those memories learn from it whose scope the caller may write to."""
    user = tx.context.user_id or ""
    hits = await tx.fetch("mark_hits", user=user, query=use.query_id, ids=list(use.memory_ids))
    outcome = "context" if not use.reported else "used" if use.memory_ids else "ignored"
    if not use.reported and not use.memory_ids:
        return
    await storage.mark_event(tx, user=user, query=use.query_id, outcome=outcome)
    fresh = [row["memory_id"] for row in hits if row["used"] and not row["applied"]]
    if not fresh:
        return
    baseline = await read_baseline(tx)
    reward = UTILITY_REWARDS.reported if use.reported else UTILITY_REWARDS.assembled
    step = UTILITY_REWARDS.step(reward, baseline)
    moved = await storage.reward_memories(tx, {id: (1, step) for id in fresh})
    await storage.settle_hits(tx, [(use.query_id, id) for id in moved])


def log_retrieval_event(
    log: EventLog,
    context: TenantContext,
    event: RetrievalEvent,
    *,
    used_in_response: Sequence[UUID] | None = None,
) -> None:
    """Remember a search and, where the caller knows it already, which of its memories served the response."""
    log.record(context, event)
    if used_in_response is not None:
        log.mark_used(context, event.query_id, used_in_response, reported=True)


def session_of(context: TenantContext, at: datetime) -> str:
    """The session a question belongs to. Without one of the caller's own, what they ask within an hour is one.

    By the clock alone, so that processes that answer the same caller agree on it.
    """
    return context.session_id or f"{HOUR}{at:%Y-%m-%dT%H} {context.agent_id or ''}".rstrip()


def hash_terms(terms: Iterable[str], store_id: UUID, tenant_id: str) -> list[int]:
    """Terms as signed 64-bit numbers that can be compared within one tenant of one store, and nowhere else."""
    key = hashlib.blake2b(store_id.bytes + tenant_id.encode(), digest_size=32).digest()
    hashes = {
        int.from_bytes(hashlib.blake2b(term.encode(), digest_size=8, key=key).digest(), "big", signed=True)
        for term in terms
    }
    return sorted(hashes)


def is_refinement(earlier: Iterable[int], later: Iterable[int]) -> bool:
    """Whether two questions are about the same in other words: a third of the shorter one's terms are shared.

    The very same terms are a repeat (another page, a retry), not a better question.
    """
    before, after = set(earlier), set(later)
    shared = len(before & after)
    return shared > 0 and before != after and 3 * shared >= min(len(before), len(after))


def _flags(kind: QueryType) -> list[str]:
    names = ("entity_focused", "time_focused", "procedural", "requires_domain_db")
    return [name for name in names if getattr(kind, name)]


def _event_row(event: RetrievalEvent, terms: Sequence[int], refines: UUID | None) -> dict[str, Any]:
    return {
        "query_id": event.query_id,
        "at": event.at,
        "category": event.query_type.category.value,
        "flags": _flags(event.query_type),
        "strategy": event.strategy.name,
        "arm": event.arm,
        "propensity": event.propensity,
        "weights": _numbers(event.strategy.weights),
        "terms": terms,
        "entities": list(event.entities),
        "refines": refines,
        "hits": len(event.hits),
        "latency_ms": _number(event.latency_ms),
        "question": event.question,
        "found": [hit.id for hit in event.hits],
        "stages": _numbers(event.stages),
    }


def _hit_row(query_id: UUID, hit: ShownHit) -> dict[str, Any]:
    return {
        "query_id": query_id,
        "memory_id": hit.id,
        "place": hit.place,
        "score": _number(hit.score),
        "signals": _numbers(hit.signals),
    }


def _numbers(values: Mapping[str, float]) -> dict[str, float]:
    return {name: _number(value) for name, value in values.items()}


def _number(value: float) -> float:
    """A plain float of a few digits: signals come from numpy, and one NaN must not lose a batch."""
    number = float(value)
    return round(number, 5) if math.isfinite(number) else 0.0

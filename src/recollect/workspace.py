"""An open store together with the embedder its vectors were made with.

Features (memories, retrieval) work on a Workspace; clients share one between callers. The embedder is opened
when it is first needed, by the name the store recorded. Knows no tenant, no ranking, no surface.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, Any

from recollect.config import Settings
from recollect.domaindb.database import DomainDatabases
from recollect.errors import EmbedderMismatchError, RecollectError
from recollect.learning.events import EventLog
from recollect.learning.strategies import PolicyBook, StrategyBook
from recollect.providers.embedders import LOCAL, Embedder, best_installed, better_than, open_embedder
from recollect.providers.models import ChatModel, model_of
from recollect.providers.runtime import opened_once
from recollect.storage import spaces
from recollect.storage.scopes import create_tenant
from recollect.storage.search import TermCounts
from recollect.storage.spaces import Space
from recollect.storage.store import Store, Transaction
from recollect.storage.upkeep import Handover, analyze

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from recollect.domain.tenancy import TenantContext
    from recollect.domaindb.database import DomainDatabase
    from recollect.providers.judge.model import Judge

_log = logging.getLogger("recollect.embedders")

#: How long closing waits for an index that is being built; the portal allows ten seconds for all of it.
CHORES_S = 5.0
#: How long the size of an index is taken for known.
INDEXED_S = 60.0
#: From this many new memories on, the planner's picture of the tables is wrong enough to matter.
ANALYZE_FROM = 200


#: The clock, unless a test brings its own.
utc_now = partial(datetime.now, UTC)


@dataclass(frozen=True, slots=True)
class OpenSpace:
    """The active space and an embedder that embeds into it."""

    space: Space
    embedder: Embedder


class Workspace:
    """A store, its embedder and a clock."""

    def __init__(self, settings: Settings, store: Store, clock: Callable[[], datetime] = utc_now) -> None:
        self.settings = settings
        self.store = store
        self.clock = clock
        self.term_counts = TermCounts()
        self.handover = Handover()
        self.events = EventLog(store, enabled=settings.learning)
        self.strategies = StrategyBook(enabled=settings.learning, explore=settings.learning_explore)
        self.policies = PolicyBook(enabled=settings.learning, explore=settings.learning_explore)
        self.domains = DomainDatabases(settings, store)
        self._open: OpenSpace | None = None
        self._judge: Judge | None = None
        #: Why there is no judge, once that was tried.
        self.judge_fault: str | None = None
        self._models: dict[str, ChatModel] = {}
        self._opening = asyncio.Lock()
        self._indexed: dict[tuple[str, int], tuple[int, float]] = {}
        self._chores: set[asyncio.Task[Any]] = set()

    @classmethod
    async def open(cls, settings: Settings, clock: Callable[[], datetime] = utc_now) -> Workspace:
        """Start or join the database; the embedder comes later."""
        store = await Store.open(
            settings.home,
            settings.database_url,
            pool_size=settings.pool_size,
            statement_timeout_s=settings.statement_timeout_s,
        )
        return cls(settings, store, clock)

    async def close(self) -> None:
        """Finish chores that are nearly done, then let go of the connections."""
        if self._chores:
            # An index that takes longer is built by whoever adds next, or by `recollect db index`.
            _, unfinished = await asyncio.wait(self._chores, timeout=CHORES_S)
            for chore in unfinished:
                chore.cancel()
            await asyncio.gather(*self._chores, return_exceptions=True)
        await self.events.close()
        for model in self._models.values():
            await model.close()
        await self.domains.close()
        await self.store.close()

    async def domain(self, context: TenantContext, tx: Transaction | None = None) -> DomainDatabase | None:
        """The tenant's own database; None without one. Inside a transaction, pass it: none is opened then."""
        return await self.domains.find(context, tx)

    def model(self, name: str | None = None) -> ChatModel | None:
        """A chat model, opened when it is first asked for: the named one, else that of the settings, else None."""
        s = self.settings
        name = name or s.model
        if name is None:
            return None
        if name not in self._models:
            self._models[name] = model_of(name, s)
        return self._models[name]

    async def ensure_tenant(self, context: TenantContext) -> None:
        """The default tenant exists without anybody creating it."""
        async with self.store.transaction(context) as tx:
            if await tx.fetch_one("get_tenant") is not None:
                return
        await create_tenant(self.store, context.tenant_id, None)

    async def open_space(self, context: TenantContext, active_id: int | None = None) -> OpenSpace:
        """The active space with its embedder. `active_id` is what a query just saw: a switch is noticed."""
        current = self._open
        if current is not None and active_id in (None, current.space.id):
            return current
        async with self._opening:
            if self._open is None or (active_id is not None and self._open.space.id != active_id):
                self._open = await self._resolve(context)
            return self._open

    async def _resolve(self, context: TenantContext) -> OpenSpace:
        async with self.store.transaction(context) as tx:
            recorded = next((s for s in await spaces.list_spaces(tx) if s.state == "active"), None)
        wanted = self.settings.embedder
        embedder = await self.load_embedder(recorded.name if recorded and wanted == "auto" else wanted)
        made = embedder.space
        if recorded is None:
            recorded = await spaces.record_space(
                self.store, made.name, made.dimensions, made.fingerprint, state="active"
            )
            advice = better_than(made.name) if wanted == "auto" else None
            if advice is not None:
                _log.warning("%s", advice)
        if (recorded.name, recorded.fingerprint) != (made.name, made.fingerprint):
            detail = f"embedded with {recorded.name!r}" + (
                " of another build" if recorded.name == made.name else ""
            )
            raise EmbedderMismatchError(
                f"the store was {detail}, but the embedder is {made.name!r}; "
                f"set embedder={recorded.name!r}, or run `recollect reembed {made.name}`"
            )
        return OpenSpace(recorded, embedder)

    def adopt(self, space: Space, embedder: Embedder) -> None:
        """Go on in a space this process has just made the active one, whatever the settings say."""
        self.settings = self.settings.replace(embedder=embedder.space.name)
        self._open = OpenSpace(space, embedder)

    async def load_embedder(self, name: str) -> Embedder:
        """Open an embedder by name, off the event loop. One that runs in this process is shared by its clients."""
        s = self.settings
        wanted = best_installed() if name == "auto" else name
        cache = s.home / "models"

        def open_it() -> Embedder:
            return open_embedder(
                wanted,
                cache_dir=cache,
                api_key=s.embedder_api_key,
                base_url=s.embedder_base_url,
            )

        if wanted not in LOCAL:
            return await asyncio.to_thread(open_it)
        return await asyncio.to_thread(opened_once, (wanted, cache), open_it)

    async def judge(self) -> Judge | None:
        """The judge, opened when it is first needed; None when it can't run, and `judge_fault` says why."""
        if self._judge is None and self.judge_fault is None:
            async with self._opening:
                if self._judge is None and self.judge_fault is None:
                    cache = self.settings.home / "models"
                    try:
                        from recollect.providers.judge.model import open_judge

                        self._judge = await asyncio.to_thread(
                            opened_once,
                            ("judge", cache),
                            lambda: open_judge(cache_dir=cache),
                        )
                    except (RecollectError, ImportError) as error:
                        self.judge_fault = str(error)
        return self._judge

    async def indexed_rows(self, tx: Transaction, space: Space) -> int | None:
        """About how many rows the vector index of the caller's partition has, remembered a while; None without one."""
        key, now = (tx.context.tenant_id, space.id), time.monotonic()
        rows, until = self._indexed.get(key, (0, 0.0))
        if now < until:
            return rows
        count = await spaces.indexed_rows(tx, space)
        if count is not None:
            self._indexed[key] = (count, now + INDEXED_S)
        return count

    async def settle(self, context: TenantContext, *, added: int, large: bool) -> None:
        """After an intake: statistics for the planner, and the vector index once exact search is outgrown.

        Only the owner can; as the application role both are left to autovacuum and `recollect db index`.
        A single add does not wait for an index.
        """
        if self.store.door.owner is None:
            return
        if added >= ANALYZE_FROM:
            await analyze(self.store, context.tenant_id)
        if large:
            await self.build_index(context, wait=added > 1)

    async def build_index(self, context: TenantContext, *, wait: bool) -> bool:
        """Build the vector index of a tenant's partition if it has none."""
        space = (await self.open_space(context)).space
        async with self.store.transaction(context) as tx:
            if await self.indexed_rows(tx, space) is not None:
                return False
        chore = asyncio.create_task(spaces.build_index(self.store, context.tenant_id, space))
        self._chores.add(chore)
        chore.add_done_callback(self._chores.discard)
        if wait:
            await chore
        return True


def embed_windows(embedder: Embedder, texts: Sequence[str]) -> list[list[NDArray[np.float32]]]:
    """The vectors of each text, one per window of the embedder. Blocking."""
    pieces = [embedder.split(text) for text in texts]
    vectors = iter(embedder.embed([piece for windows in pieces for piece in windows]))
    return [[next(vectors) for _ in windows] for windows in pieces]

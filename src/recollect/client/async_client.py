"""The one door: `AsyncRecollect`. `sync_client.py` has the same without `await`.

Its verbs for memories are in `memories.py`, those that answer in words in `oracle.py`, what looks after the store is
here; `session.py` opens and closes. A client checks what it is given and hands it to the feature that does the work; it
decides nothing itself.
"""

from __future__ import annotations

from collections.abc import Sequence

from recollect.client.arguments import checked
from recollect.client.entities import AsyncEntities, AsyncOntology
from recollect.client.events import AsyncEvents, AsyncTraces
from recollect.client.learning import AsyncLearning
from recollect.client.library import AsyncLibrary
from recollect.client.memories import UNCHANGED as UNCHANGED
from recollect.client.memories import MemoryVerbs, Progress
from recollect.client.oracle import AsyncConsultations, AsyncExplorations, OracleVerbs
from recollect.client.tenancy import AsyncKeys, AsyncMembers, AsyncScopes, AsyncTenants
from recollect.domain.overview import Overview
from recollect.domain.results import Check, ConsolidateReport, Receipt, ReembedReport, StoreStatus
from recollect.domain.text import check_whole

#: Searches are recorded for longer, but a page at a glance looks back a week at most.
MAX_MINUTES = 7 * 24 * 60


@checked
class AsyncRecollect(MemoryVerbs, OracleVerbs):
    """Memories of agents: stored durably, isolated by tenant and scope, found by meaning and by words.

    With nothing given, the store is an embedded PostgreSQL under the platform's user data folder, and the
    caller is this operating system's user with every right to it. With a `url`, and a key for it, the same verbs are
    asked of a server.
    """

    @property
    def tenants(self) -> AsyncTenants:
        """Create, list and forget tenants; set their retention and routing."""
        return AsyncTenants(self)

    @property
    def scopes(self) -> AsyncScopes:
        """Create, list, move and delete scopes."""
        return AsyncScopes(self)

    @property
    def members(self) -> AsyncMembers:
        """Who belongs to which scope."""
        return AsyncMembers(self)

    @property
    def entities(self) -> AsyncEntities:
        """Declare, list and forget entities; call them by other names."""
        return AsyncEntities(self)

    @property
    def library(self) -> AsyncLibrary:
        """Whole documents: add, list, search, read and remove them."""
        return AsyncLibrary(self)

    @property
    def events(self) -> AsyncEvents:
        """What happened lately to memories and in consultations."""
        return AsyncEvents(self)

    @property
    def traces(self) -> AsyncTraces:
        """Searches as they were recorded: whose, what they found, and how long their stages took."""
        return AsyncTraces(self)

    @property
    def keys(self) -> AsyncKeys:
        """Keys by which applications speak to a server: make, list, rotate and revoke them. For admins."""
        return AsyncKeys(self)

    @property
    def learning(self) -> AsyncLearning:
        """What searches have taught: status, training, experiments. For admins."""
        return AsyncLearning(self)

    @property
    def ontology(self) -> AsyncOntology:
        """What the tenant's own database is about, and what it says."""
        return AsyncOntology(self)

    @property
    def consultations(self) -> AsyncConsultations:
        """What the oracle was asked: list, show, ask again."""
        return AsyncConsultations(self)

    @property
    def explorations(self) -> AsyncExplorations:
        """What explorations of code found: list, show, play again."""
        return AsyncExplorations(self)

    async def forget_user(self, user_id: str) -> Receipt:
        """Erase a user: own memories, sessions, agents, memberships, and records of explorations."""
        from recollect.memories.deletion import forget_user

        receipt = await forget_user(await self._workspace(), self._context, user_id)
        return await self._forget_explorations(receipt, user_id)

    async def sweep(self) -> Receipt:
        """Erase memories that have expired or passed their layer's retention (they are invisible already)."""
        from recollect.memories.deletion import sweep

        return await sweep(await self._workspace(), self._context)

    async def consolidate(
        self,
        *,
        scope: str | None = None,
        kinds: Sequence[str] = ("session", "scope", "entity"),
        entity: str | None = None,
        conversation: str | None = None,
        force: bool = False,
        progress: Progress | None = None,
    ) -> ConsolidateReport:
        """Summarise conversations, scopes and entities that have enough memories, where that is not done or stale.

        A summary is a memory of type `summary` in the scope it is of; `metadata["sources"]` names the memories it
        came from. `entity` or `conversation` asks for that one alone; `force` makes again what is up to date.
        """
        from recollect.memories.summaries.consolidate import ConsolidateRequest, consolidate

        request = ConsolidateRequest.check(
            scope=scope, kinds=kinds, entity=entity, conversation=conversation, force=force
        )
        return await consolidate(await self._workspace(), self._context, request, progress)

    async def reembed(
        self, embedder: str | None = None, *, progress: Progress | None = None
    ) -> ReembedReport:
        """Embed the whole store anew with another embedder, while it answers. Resumes when it was interrupted."""
        from recollect.library.indexing import fill_passages
        from recollect.memories.reembed import reembed

        return await reembed(await self._workspace(), self._context, embedder, progress, fill_passages)

    async def build_index(self) -> bool:
        """Build the tenant's vector index now, without blocking writers; False when there is one already.

        Large intakes do it by themselves; this is for stores that grew one memory at a time. Needs operator.
        """
        self._need_operator("build indexes")
        return await (await self._workspace()).build_index(self._context, wait=True)

    async def compact(self) -> int:
        """Rewrite every table, so that nothing erased is left in any data page; returns the bytes freed.

        Tables are locked one after another while they are rewritten. Needs operator.
        """
        from recollect.storage.upkeep import compact

        self._need_operator("rewrite the store")
        return await compact((await self._workspace()).store)

    async def status(self) -> StoreStatus:
        """Versions, embedder and size of the store."""
        from recollect.storage.upkeep import store_status

        workspace = await self._workspace()
        return await store_status(workspace.store, self._context)

    async def overview(self, *, minutes: int = 60) -> Overview:
        """What you may see at a glance: memories by layer and type, and how searches went in the last minutes."""
        from recollect.storage.happenings import overview

        check_whole("minutes", minutes, most=MAX_MINUTES)
        workspace = await self._workspace()
        await workspace.events.flush()
        async with workspace.store.transaction(self._context) as tx:
            return await overview(tx, now=workspace.clock(), minutes=minutes)

    async def doctor(self, *, isolation: bool = False, indexes: bool = False) -> Sequence[Check]:
        """Look for what is wrong with the store.

        `isolation` also attacks the walls between tenants and scopes, `indexes` compares each with its table, which
        reads all of both.
        """
        from recollect.doctor import examine

        workspace = await self._workspace()
        return await examine(workspace, self._context, isolation=isolation, indexes=indexes)

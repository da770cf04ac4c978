"""The one door: `AsyncRecollect`. `sync_client.py` has the same without `await`.

A client checks what it is given and hands it to the feature that does the work; it decides nothing itself.
Opening is lazy: the first call starts or joins the database. `for_context` gives another caller's view on the
same connections.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from datetime import datetime, tzinfo
from os import PathLike
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, TextIO
from uuid import UUID

from recollect.client.arguments import checked
from recollect.client.entities import AsyncEntities
from recollect.client.events import AsyncEvents, AsyncTraces
from recollect.client.keys import AsyncKeys
from recollect.client.learning import AsyncLearning
from recollect.client.library import AsyncLibrary
from recollect.client.ontology import AsyncOntology
from recollect.client.oracle import AsyncConsultations, AsyncExplorations
from recollect.client.tenancy import AsyncMembers, AsyncScopes, AsyncTenants
from recollect.config import Settings
from recollect.domain.codebase import ExplorePlan, RLMResult
from recollect.domain.context import AugmentedContext
from recollect.domain.filters import parse_filters
from recollect.domain.findings import Answer
from recollect.domain.ids import parse_id
from recollect.domain.layers import ScopeName, parse_layers
from recollect.domain.learning import Feedback, FeedbackKind, check_score
from recollect.domain.memory import Memory, check_time, make_draft, message_fields, parse_types
from recollect.domain.oracle import (
    Advice,
    CapabilityGroup,
    DryRun,
    OracleConsultResult,
    OracleEvent,
    Verification,
)
from recollect.domain.overview import Overview
from recollect.domain.query import Understanding
from recollect.domain.results import (
    AddReport,
    Check,
    Conflict,
    ConsolidateReport,
    HistoryEntry,
    Inference,
    Page,
    Receipt,
    ReembedReport,
    SearchResults,
    StoreStatus,
)
from recollect.domain.tenancy import LOCAL_TENANT, TenantContext
from recollect.domain.text import MAX_LIMIT, check_whole
from recollect.errors import ConflictError, ForbiddenError, InvalidInputError
from recollect.runs.events import Event

if TYPE_CHECKING:
    from recollect.client.remote import Server
    from recollect.codebase.explore import RLMOrchestrator
    from recollect.retrieval.training import Learner
    from recollect.runs.cache import Cache
    from recollect.runs.source import Source
    from recollect.storage.reading import Selection
    from recollect.storage.store import Transaction
    from recollect.workspace import Workspace

Progress = Callable[[int, int | None], None]
#: `list` is a verb of the client, so the type needs another name inside it.
Memories = list[Memory]
Conflicts = list[Conflict]
Sources = list["Source"]


class _Unchanged:
    """Stands for "leave this field as it is", where None means "empty it"."""

    def __repr__(self) -> str:
        return "UNCHANGED"


UNCHANGED: Any = _Unchanged()
#: Searches are recorded for longer, but a page at a glance looks back a week at most.
MAX_MINUTES = 7 * 24 * 60


class _Shared:
    """What the clients of one store share: the workspace, opened once, closed by the client that made it."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.workspace: Workspace | None = None
        self.lock: asyncio.Lock | None = None
        self.tenants_seen: set[str] = set()
        #: Answers of tools over code, for as long as the client lives.
        self.explored: Cache | None = None
        self.learner: Learner | None = None
        self.closed = False

    async def open(self, context: TenantContext) -> Workspace:
        from recollect.workspace import Workspace

        if self.closed:
            raise ConflictError("this client is closed; make a new one")
        self.lock = self.lock or asyncio.Lock()
        async with self.lock:
            if self.workspace is None:
                self.workspace = await Workspace.open(self.settings)
                self.workspace.events.on_judged = self.learn
            # Only the newcomer's tenant makes itself; any other is created on purpose.
            own = self.settings.tenant
            if context.tenant_id == own and own == LOCAL_TENANT and own not in self.tenants_seen:
                await self.workspace.ensure_tenant(context)
                self.tenants_seen.add(own)
        return self.workspace

    async def close(self) -> None:
        self.closed = True
        if self.learner is not None:
            await self.learner.close()
        if self.workspace is not None:
            workspace, self.workspace = self.workspace, None
            await workspace.close()

    def learn(self, tenant_id: str) -> None:
        """Somebody has said what served: learn from it, later and in the background."""
        from recollect.retrieval.training import Learner

        if self.workspace is not None:
            self.learner = self.learner or Learner(self.workspace)
            self.learner.hear(tenant_id)


@checked
class AsyncRecollect:
    """Memories of agents: stored durably, isolated by tenant and scope, found by meaning and by words.

    With nothing given, the store is an embedded PostgreSQL under the platform's user data folder, and the
    caller is this operating system's user with every right to it. With a `url`, and a key for it, the same verbs are
    asked of a server.
    """

    def __init__(
        self,
        home: str | PathLike[str] | None = None,
        database_url: str | None = None,
        context: TenantContext | None = None,
        settings: Settings | None = None,
        *,
        url: str | None = None,
        api_key: str | None = None,
    ) -> None:
        settings = _settings(settings, home=home, database_url=database_url, url=url, api_key=api_key)
        self._shared = _Shared(settings)
        self._owner = True
        self._server: Server | None = None
        own = TenantContext(tenant_id=settings.tenant, user_id=settings.user, roles=("admin", "operator"))
        if settings.url is not None:
            from recollect.client.remote import Server

            self._server = Server(settings, context)
            if self._server.tenant_id is not None:
                own = TenantContext(tenant_id=self._server.tenant_id)
        self._context = context or own

    @property
    def tenant_context(self) -> TenantContext:
        """Who is asking."""
        return self._context

    @property
    def settings(self) -> Settings:
        """The settings this client was made with."""
        return self._shared.settings

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

    def for_context(self, context: TenantContext) -> AsyncRecollect:
        """The same store as another caller sees it, on the same connections; a server's key must speak for them."""
        other = object.__new__(type(self))
        other._server = None if self._server is None else self._server.for_context(context)
        other._shared = self._shared
        other._context = context
        other._owner = False
        return other

    async def open(self) -> Self:
        """Start or join the database now instead of at the first call; a server is there already."""
        if self._server is None:
            await self._workspace()
        return self

    async def close(self) -> None:
        """Close the connections; the embedded server runs on for others.

        What `for_context` gave stands on the connections of the client it came from: closing it closes nothing.
        """
        if self._owner and self._server is not None:
            await self._server.close()
        elif self._owner:
            await self._shared.close()

    async def __aenter__(self) -> Self:
        return await self.open()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    @property
    def _open_workspace(self) -> Workspace | None:
        """The store, if anything has opened it."""
        return self._shared.workspace

    async def _workspace(self) -> Workspace:
        if self._server is not None:
            raise InvalidInputError("this needs the store itself; run it where the server runs")
        return await self._shared.open(self._context)

    # Memories -------------------------------------------------------------------------------------

    async def add(
        self,
        text_or_messages: str | bytes | Sequence[Mapping[str, Any]] | None,
        *,
        layer: str | None = None,
        scope: str | None = None,
        type: str = "episodic",
        subject: str | None = None,
        predicate: str | None = None,
        object: str | None = None,
        trigger: str | None = None,
        action: str | None = None,
        entities: Sequence[str] = (),
        importance: float | None = None,
        metadata: Mapping[str, Any] | None = None,
        created_at: datetime | str | None = None,
        valid_from: datetime | str | None = None,
        valid_to: datetime | str | None = None,
        expires_at: datetime | str | None = None,
        conversation: str | None = None,
        speaker: str | None = None,
        source: str | None = None,
        infer: bool = False,
    ) -> Memory | Memories | Inference:
        """Store a memory, or one memory per message of a conversation. Returns when it is durable.

        `scope`, such as "team/api", says who shares it; `layer` alone is the team (project, org ...) the caller stands
        in, and with neither it is the caller's own.
        A repeat of the same text in the same scope reinforces the memory that is there; turns of a
        conversation are never merged. A fact (`type="semantic"`) retires an older value of the same thing;
        `restore` undoes it. With `infer` facts are derived from what is said, by rule and with a chat model if one is
        set, and an `Inference` tells what was stored and why.
        """
        fields = {
            "layer": layer, "scope": scope, "type": type, "subject": subject, "predicate": predicate,
            "object": object, "trigger": trigger, "action": action, "entities": entities, "importance": importance,
            "metadata": metadata, "created_at": created_at, "valid_from": valid_from, "valid_to": valid_to,
            "expires_at": expires_at, "conversation": conversation, "speaker": speaker, "source": source,
        }  # fmt: skip
        from recollect.memories.intake import add_items

        workspace = await self._workspace()
        given = text_or_messages
        single = given is None or isinstance(given, str | bytes)
        if given is None or isinstance(given, str | bytes):
            items = [{**fields, "text": given}]
        else:
            items = message_fields(given, fields)
        now = workspace.clock()
        for item in items:
            make_draft(item, now=now)  # one bad message refuses the whole call: nothing is half stored
        if infer:
            from recollect.memories.infer import infer as derive

            return await derive(workspace, self._context, items)
        report = await add_items(workspace, self._context, list(enumerate(items)))
        if report.errors:
            raise report.errors[0].to_error()
        memories = await self._get_many([id for id in report.ids if id is not None])
        if len(memories) < len(items):
            raise ConflictError("what was added is gone again: another caller deleted it in this moment")
        return memories[0] if single else memories

    async def add_many(
        self, items: Iterable[Mapping[str, Any]], *, progress: Progress | None = None
    ) -> AddReport:
        """Store many memories in batches. An item is a dict with `text` and the keys of `add`.

        A bad item is reported with its position and code, and does not keep the others from being stored.
        `progress(done, total)` is called after each batch; total is None when items has no length.
        """
        from recollect.memories.intake import add_items

        workspace = await self._workspace()
        total = len(items) if isinstance(items, Sequence) else None
        return await add_items(workspace, self._context, enumerate(items), total=total, progress=progress)

    async def get(self, id: UUID | str) -> Memory:
        """One memory by id."""
        from recollect.storage.writing import get_memory

        async with (await self._workspace()).store.transaction(self._context) as tx:
            return await get_memory(tx, parse_id(id))

    async def _get_many(self, ids: Sequence[UUID]) -> Memories:
        from recollect.storage.reading import get_memories

        workspace = await self._workspace()
        return await workspace.store.read(self._context, lambda tx: get_memories(tx, ids))

    async def list(
        self,
        *,
        limit: int = 50,
        cursor: str | None = None,
        layers: Sequence[str] | None = None,
        scope: str | None = None,
        types: Sequence[str] | None = None,
        filters: Mapping[str, Any] | None = None,
        conversation: str | None = None,
        include_superseded: bool = False,
        as_of: datetime | str | None = None,
        order: str = "newest",
    ) -> Page:
        """One page of memories, the newest (or `order="oldest"`) first; its `next_cursor` leads to the next one."""
        from recollect.storage.reading import ORDERS, list_memories

        if order not in ORDERS:
            raise InvalidInputError(f"order must be one of {', '.join(ORDERS)}, not {order!r}")
        workspace = await self._workspace()
        async with workspace.store.transaction(self._context) as tx:
            chosen = await _selection(
                tx, workspace.clock(), layers, scope, types, filters, conversation, include_superseded, as_of
            )
            return await list_memories(
                tx,
                chosen,
                limit=check_whole("limit", limit, most=MAX_LIMIT),
                cursor=cursor,
                oldest=order == "oldest",
            )

    async def count(
        self,
        *,
        layers: Sequence[str] | None = None,
        scope: str | None = None,
        types: Sequence[str] | None = None,
        filters: Mapping[str, Any] | None = None,
        conversation: str | None = None,
        include_superseded: bool = False,
        as_of: datetime | str | None = None,
    ) -> int:
        """How many memories `list` would show on all of its pages."""
        from recollect.storage.reading import count_memories

        workspace = await self._workspace()
        async with workspace.store.transaction(self._context) as tx:
            chosen = await _selection(
                tx, workspace.clock(), layers, scope, types, filters, conversation, include_superseded, as_of
            )
            return await count_memories(tx, chosen)

    async def update(
        self,
        id: UUID | str,
        *,
        text: str | None = UNCHANGED,
        importance: float | None = UNCHANGED,
        metadata: Mapping[str, Any] | None = UNCHANGED,
        entities: Sequence[str] | None = UNCHANGED,
        subject: str | None = UNCHANGED,
        predicate: str | None = UNCHANGED,
        object: str | None = UNCHANGED,
        trigger: str | None = UNCHANGED,
        action: str | None = UNCHANGED,
        source: str | None = UNCHANGED,
        valid_from: datetime | str | None = UNCHANGED,
        valid_to: datetime | str | None = UNCHANGED,
        expires_at: datetime | str | None = UNCHANGED,
    ) -> Memory:
        """Change the given fields of a memory; None empties a field. What it said before stays in `history`."""
        from recollect.memories.changing import update_memory

        given = {
            "text": text, "importance": importance, "metadata": metadata, "entities": entities, "subject": subject,
            "predicate": predicate, "object": object, "trigger": trigger, "action": action, "source": source,
            "valid_from": valid_from, "valid_to": valid_to, "expires_at": expires_at,
        }  # fmt: skip
        changes = {name: value for name, value in given.items() if value is not UNCHANGED}
        return await update_memory(await self._workspace(), self._context, parse_id(id), changes)

    async def delete(
        self,
        id: UUID | str | None = None,
        *,
        filters: Mapping[str, Any] | None = None,
        layers: Sequence[str] | None = None,
        scope: str | None = None,
        types: Sequence[str] | None = None,
        conversation: str | None = None,
        vacuum: bool = True,
    ) -> Receipt:
        """Erase one memory, or all that meet the conditions, from every table and index; returns a receipt.

        `vacuum=False` leaves the cleaning of data files to a later vacuum, for many deletes in a row.
        """
        from recollect.memories import forgetting

        workspace = await self._workspace()
        conditions = (filters, layers, scope, types, conversation)
        if id is not None:
            if any(condition is not None for condition in conditions):
                raise InvalidInputError("delete takes an id or conditions, not both")
            return await forgetting.delete_one(workspace, self._context, parse_id(id), vacuum=vacuum)
        return await forgetting.delete_matching(
            workspace,
            self._context,
            layers=parse_layers(layers),
            scope=None if scope is None else ScopeName.parse(scope),
            types=parse_types(types),
            filters=parse_filters(_with_conversation(filters, conversation)),
            vacuum=vacuum,
        )

    async def history(self, id: UUID | str) -> Sequence[HistoryEntry]:
        """Every change of a memory, the oldest first."""
        from recollect.storage import reading
        from recollect.storage.writing import get_memory

        async with (await self._workspace()).store.transaction(self._context) as tx:
            return await reading.list_history(tx, await get_memory(tx, parse_id(id)))

    async def feedback(
        self,
        memory_id: UUID | str,
        kind: str,
        *,
        score: float | None = None,
        query_id: UUID | str | None = None,
    ) -> Feedback:
        """Say what a recalled memory was worth: helpful, irrelevant, outdated, inaccurate or duplicate.

        `score` from -1 to 1 says how much; each kind has its own when none is given. `query_id` names the search
        that returned it (`results.query_id`), which lets rankings learn from it, too.
        """
        from recollect.learning.feedback import give_feedback

        meant = FeedbackKind.parse(kind)
        workspace = await self._workspace()
        return await give_feedback(
            workspace.store,
            workspace.events,
            self._context,
            memory_id=parse_id(memory_id, what="memory_id"),
            kind=meant,
            score=check_score(score, meant),
            query_id=None if query_id is None else parse_id(query_id, what="query_id"),
            now=workspace.clock(),
        )

    async def supersede(self, id: UUID | str, *, by: UUID | str) -> Memory:
        """Retire a memory in favour of another one; `restore` undoes it."""
        from recollect.memories import changing

        workspace = await self._workspace()
        return await changing.supersede(workspace, self._context, parse_id(id), parse_id(by, what="by"))

    async def restore(self, id: UUID | str) -> Memory:
        """Believe a superseded memory again."""
        from recollect.memories import changing

        return await changing.restore(await self._workspace(), self._context, parse_id(id))

    async def conflicts(self, *, limit: int = 50) -> Conflicts:
        """Pairs of memories that are both believed and contradict each other, the newest first."""
        from recollect.memories.supersession import list_conflicts

        return await list_conflicts(
            await self._workspace(), self._context, limit=check_whole("limit", limit, most=MAX_LIMIT)
        )

    async def explain(
        self,
        query: str,
        *,
        layers: Sequence[str] | None = None,
        scope: str | None = None,
        now: datetime | str | None = None,
        timezone: str | tzinfo | None = None,
    ) -> Understanding:
        """How a search would read a query: its category, entities, time range and weights, without searching.

        Names are looked up in everything the caller sees.
        """
        from recollect.retrieval.ask import explain_query
        from recollect.retrieval.request import SearchRequest

        workspace = await self._workspace()
        request = SearchRequest.check(
            self.settings, clock=workspace.clock(), query=query, layers=layers, scope=scope, now=now, timezone=timezone
        )  # fmt: skip
        return await explain_query(workspace, self._context, request)

    async def search(
        self,
        query: str,
        *,
        limit: int = 10,
        threshold: float = 0.7,
        layers: Sequence[str] | None = None,
        scope: str | None = None,
        types: Sequence[str] | None = None,
        filters: Mapping[str, Any] | None = None,
        as_of: datetime | str | None = None,
        now: datetime | str | None = None,
        timezone: str | tzinfo | None = None,
        explain: bool = False,
        diverse: bool = False,
    ) -> SearchResults:
        """The memories that answer a query, by layer precedence, then score.

        `score` is calibrated: 0.7 and above means relevant, and nothing is returned when nothing is.
        `as_of` searches what was believed at a time; `now` is the time the question is asked at, which decides
        what has expired; `timezone` ("Europe/Lisbon", default: the setting) is the one it names days in.
        `diverse` prefers, among relevant memories, those that do not say the same.
        """
        from recollect.retrieval.pipeline import SearchRequest, search

        workspace = await self._workspace()
        request = SearchRequest.check(
            self.settings, clock=workspace.clock(), query=query, limit=limit, threshold=threshold, layers=layers,
            scope=scope, types=types, filters=filters, as_of=as_of, now=now, timezone=timezone, explain=explain,
            diverse=diverse,
        )  # fmt: skip
        return await search(workspace, self._context, request)

    async def context(
        self,
        query: str,
        *,
        max_tokens: int = 3000,
        limit: int = 15,
        threshold: float = 0.7,
        layers: Sequence[str] | None = None,
        scope: str | None = None,
        types: Sequence[str] | None = None,
        filters: Mapping[str, Any] | None = None,
        as_of: datetime | str | None = None,
        now: datetime | str | None = None,
        timezone: str | tzinfo | None = None,
        domain: bool = True,
    ) -> AugmentedContext:
        """What is known about a question, as text for a model's prompt that has at most `max_tokens` tokens.

        Summaries come first, then what scores best; a memory is in it whole or not at all, and `omitted` says how
        many relevant ones are not. With a domain database, current data joins it; `domain=False` leaves that out.
        """
        from recollect.retrieval.assemble import ContextAssembler, check_max_tokens
        from recollect.retrieval.pipeline import SearchRequest

        budget = check_max_tokens(max_tokens)
        workspace = await self._workspace()
        request = SearchRequest.check(
            self.settings, clock=workspace.clock(), query=query, limit=limit, threshold=threshold, layers=layers,
            scope=scope, types=types, filters=filters, as_of=as_of, now=now, timezone=timezone, diverse=True,
        )  # fmt: skip
        assembler = ContextAssembler(workspace, self._context)
        return await assembler.assemble(request, max_tokens=budget, domain=domain)

    async def export_jsonl(
        self,
        target: str | PathLike[str] | TextIO,
        *,
        filters: Mapping[str, Any] | None = None,
        progress: Progress | None = None,
    ) -> int:
        """Write everything visible, superseded memories too, as JSON lines; returns how many memories."""
        from recollect.memories.transfer import export_jsonl

        workspace = await self._workspace()
        condition = parse_filters(filters)
        with _opened(target, write=True) as stream:
            return await export_jsonl(workspace, self._context, stream, filters=condition, progress=progress)

    async def import_jsonl(
        self,
        source: str | PathLike[str] | Iterable[str] | Iterable[bytes],
        *,
        progress: Progress | None = None,
    ) -> AddReport:
        """Store the lines of an export (ids are kept, repeats change nothing), or lines that have `text`.

        A broken line is reported by its number; the rest is stored.
        """
        from recollect.memories.transfer import import_jsonl

        workspace = await self._workspace()
        with _opened(source) as stream:
            return await import_jsonl(workspace, self._context, stream, progress=progress)

    # The oracle -----------------------------------------------------------------------------------

    async def ask(
        self,
        question: str,
        sources: Sequence[str] = ("memories", "library"),
        working_dir: str | PathLike[str] | None = None,
        depth: str = "auto",
        model: str | None = None,
        *,
        on_event: Callable[[Any], Awaitable[None] | None] | None = None,
    ) -> Answer:
        """Answer a question in words, from memories, documents and, with `working_dir`, the code below that folder.

        Lists come as lists, counts with their rows, comparisons as tables, and every part with its citations. When no
        source answers, `found` is False. No model is asked unless one is named, here or in the settings; `depth` is
        "quick", "thorough" or "auto", as in `oracle_consult`. All sources share one budget: `model_max_usd` and
        `rlm_timeout` of the settings. `on_event` hears what the sources do, and gets an `AnswerPart` for each of
        them as soon as it has answered.
        """
        from recollect.codebase.source import CodeSource
        from recollect.oracle.source import LibrarySource
        from recollect.retrieval.told import MemorySource
        from recollect.runs.ask import AskRequest, ask

        request = AskRequest.check(
            question=question, sources=sources, working_dir=working_dir, depth=depth, model=model
        )
        workspace = await self._workspace()
        able: Sources = [
            kind(workspace, self._context)
            for kind in (MemorySource, LibrarySource)
            if kind.name in request.sources
        ]
        if request.working_dir is not None:
            able.append(CodeSource(self._orchestrator(request.working_dir, request.model)))
        return await ask(self.settings, able, request, on_event=on_event)

    async def oracle_consult(
        self,
        problem: str,
        depth_hint: str = "auto",
        working_dir: str | PathLike[str] | None = None,
        doc_ids: Sequence[str] | None = None,
        files: Sequence[str] | None = None,
        model: str | None = None,
        max_input_tokens: int | None = None,
        *,
        session: str | None = None,
        workflow: str | None = None,
        agent: str | None = None,
        on_event: Callable[[OracleEvent], Awaitable[None] | None] | None = None,
    ) -> OracleConsultResult:
        """Answer a problem from documents of the library and code of a folder, with citations that were checked.

        Without `doc_ids` the library is searched for what is about it; `files` are globs in `working_dir` (all of it
        when not given, `!glob` leaves out). `depth_hint` is "quick" (one look), "thorough" (read step by step) or
        "auto". No model is asked unless one is named, here or in the settings. Follow-ups in the same `session` reuse
        what was read. `on_event` hears what happens.
        """
        from recollect.oracle.consult import consult
        from recollect.oracle.request import ConsultRequest

        request = ConsultRequest.check(
            problem=problem, depth_hint=depth_hint, working_dir=working_dir, doc_ids=doc_ids, files=files,
            model=model, max_input_tokens=max_input_tokens, session=session, workflow=workflow, agent=agent,
        )  # fmt: skip
        return await consult(await self._workspace(), self._context, request, on_event=on_event)

    async def oracle_dry_run(
        self,
        problem: str,
        depth_hint: str = "auto",
        working_dir: str | PathLike[str] | None = None,
        doc_ids: Sequence[str] | None = None,
        files: Sequence[str] | None = None,
        model: str | None = None,
        max_input_tokens: int | None = None,
    ) -> DryRun:
        """What `oracle_consult` would read, and the most it would take in calls, tokens and dollars. Needs no key."""
        from recollect.oracle.dry_run import dry_run
        from recollect.oracle.request import ConsultRequest

        request = ConsultRequest.check(
            problem=problem, depth_hint=depth_hint, working_dir=working_dir, doc_ids=doc_ids, files=files,
            model=model, max_input_tokens=max_input_tokens,
        )  # fmt: skip
        return await dry_run(await self._workspace(), self._context, request)

    async def advise(
        self,
        task: str,
        *,
        agent: str | None = None,
        path: str | PathLike[str] | None = None,
        notes: str = "",
        files: Sequence[str] = (),
        fail_count: int = 0,
    ) -> Sequence[Advice]:
        """Whether a task is worth a consultation or an exploration: the triggers of recipes and presets that hold.

        `path` is the folder with the code, `notes` what the project says of itself, `files` those that a change
        touches, `fail_count` how often the task has failed; `agent` names one recipe or preset. Each advice has the
        arguments for `oracle_consult` or `explore`. No model is asked; words of a task are read in English.
        """
        from recollect.oracle.advice import advise

        return await advise(
            await self._workspace(), self._context, task,
            agent=agent, path=path, notes=notes, files=files, fail_count=fail_count,
        )  # fmt: skip

    async def capabilities(self, *, days: int | None = None, limit: int = 5) -> Sequence[CapabilityGroup]:
        """What consultations missed most, requests of one meaning together; of the last days, or of all time."""
        from recollect.oracle.capabilities import top_requests

        if days is not None:
            check_whole("days", days, most=36_500)
        return await top_requests(
            await self._workspace(),
            self._context,
            days=days,
            limit=check_whole("limit", limit, most=MAX_LIMIT),
        )

    async def verify(
        self,
        result: Mapping[str, Any] | OracleConsultResult | RLMResult,
        *,
        working_dir: str | PathLike[str] | None = None,
    ) -> Verification:
        """Read every citation of a result again: quoted, moved, stale or unsupported.

        `working_dir` is where cited files are now; the folder the result was made in when not given. The result of an
        exploration is verified without the database.
        """
        from recollect.oracle.verify import verify_result

        document = result.document() if isinstance(result, OracleConsultResult | RLMResult) else result
        folder = None if working_dir is None else str(working_dir)
        return await verify_result(
            self._workspace, self._context, document, working_dir=folder, allowed_roots=self.settings.roots
        )

    # Code -----------------------------------------------------------------------------------------

    async def explore(
        self,
        path: str | PathLike[str],
        query: str = "",
        context_hints: Sequence[str] | None = None,
        *,
        task_id: str | None = None,
        preset: str | None = None,
        model: str | None = None,
        max_subcalls: int | None = None,
        max_subcalls_per_iteration: int | None = None,
        timeout_seconds: float | None = None,
        max_tokens: int | None = None,
        max_usd: float | None = None,
        audit_dir: str | PathLike[str] | None = None,
        resume: bool = False,
        on_event: Callable[[Event], Awaitable[None] | None] | None = None,
        progress: Progress | None = None,
    ) -> RLMResult:
        """Answer a question about the code below a folder, with checked citations. Opens no database.

        `context_hints` are paths, symbols, globs, `file:line` and pasted stack traces to begin with; `preset` is 'repo
        mapper', 'architecture surveyor', 'debugger' or 'validation'. Limits that are not given are those of the
        settings. `resume` takes up a run of the same `task_id` that broke off. Where the store is open, as in a server,
        its events tell of it too.
        """
        orchestrator = self._orchestrator(path, model, audit_dir=audit_dir)
        return await orchestrator.explore(
            task_id, query, context_hints, max_subcalls, max_subcalls_per_iteration, timeout_seconds,
            max_tokens=max_tokens, max_usd=max_usd, preset=preset, resume=resume, on_event=on_event,
            on_progress=progress,
        )  # fmt: skip

    def _orchestrator(
        self,
        path: str | PathLike[str],
        model: str | None,
        audit_dir: str | PathLike[str] | None = None,
    ) -> RLMOrchestrator:
        """What explores a folder for this caller, with what this process has read before."""
        from recollect.codebase.explore import RLMOrchestrator
        from recollect.runs.cache import Cache

        self._shared.explored = self._shared.explored or Cache()
        workspace = self._open_workspace
        return RLMOrchestrator(
            path, settings=self.settings, model=model, audit_dir=audit_dir, cache=self._shared.explored,
            context=self._context, store=None if workspace is None else workspace.store,
        )  # fmt: skip

    async def explore_dry_run(
        self,
        path: str | PathLike[str],
        query: str = "",
        context_hints: Sequence[str] | None = None,
        *,
        task_id: str | None = None,
        preset: str | None = None,
        model: str | None = None,
        max_subcalls: int | None = None,
        max_subcalls_per_iteration: int | None = None,
        timeout_seconds: float | None = None,
        max_tokens: int | None = None,
        max_usd: float | None = None,
        audit_dir: str | PathLike[str] | None = None,
    ) -> ExplorePlan:
        """Where `explore` would begin, and the most it would take in calls, tokens and dollars. Needs no key."""
        from recollect.codebase.dry_run import dry_run
        from recollect.codebase.explore import RLMOrchestrator
        from recollect.codebase.request import ExploreRequest

        request = ExploreRequest.check(
            self.settings, query=query, task_id=task_id, context_hints=context_hints, preset=preset,
            max_subcalls=max_subcalls, max_subcalls_per_iteration=max_subcalls_per_iteration,
            timeout_seconds=timeout_seconds, max_tokens=max_tokens, max_usd=max_usd,
        )  # fmt: skip
        orchestrator = RLMOrchestrator(path, settings=self.settings, audit_dir=audit_dir)
        return await dry_run(orchestrator, request, model)

    # The store ------------------------------------------------------------------------------------

    async def forget_user(self, user_id: str) -> Receipt:
        """Erase a user: own memories, sessions, agents, memberships, and records of explorations."""
        from recollect.memories.forgetting import forget_user

        receipt = await forget_user(await self._workspace(), self._context, user_id)
        return await self._forget_explorations(receipt, user_id)

    async def _forget_explorations(self, receipt: Receipt, user_id: str | None = None) -> Receipt:
        from recollect.codebase.erasure import forget_explorations

        self._shared.explored = None
        return await asyncio.to_thread(
            forget_explorations, self.settings, receipt, tenant_id=receipt.tenant_id, user_id=user_id
        )

    async def sweep(self) -> Receipt:
        """Erase memories that have expired or passed their layer's retention (they are invisible already)."""
        from recollect.memories.forgetting import sweep

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

    def _need_operator(self, what: str) -> None:
        if not self._context.is_operator:
            raise ForbiddenError(f"only an operator may {what}; add 'operator' to the context's roles")

    async def _tenant_is_gone(self, receipt: Receipt) -> Receipt:
        self._shared.tenants_seen.discard(receipt.tenant_id)
        return await self._forget_explorations(receipt)

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


def _settings(settings: Settings | None, **given: Any) -> Settings:
    """Settings as given, or as loaded, with what was said beside them."""
    said = {name: value for name, value in given.items() if value is not None}
    return Settings.load(**said) if settings is None else settings.replace(**said)


async def _selection(
    tx: Transaction,
    now: datetime,
    layers: Sequence[str] | None,
    scope: str | None,
    types: Sequence[str] | None,
    filters: Mapping[str, Any] | None,
    conversation: str | None,
    include_superseded: bool,
    as_of: datetime | str | None,
) -> Selection:
    """Which memories are meant."""
    from recollect.storage import scopes
    from recollect.storage.filters import Moment
    from recollect.storage.reading import Selection

    past = check_time(as_of, "as_of")
    await scopes.describe_caller(tx)
    place = None if scope is None else await scopes.get_scope(tx, ScopeName.parse(scope))
    return Selection(
        scopes=None if place is None else [place["scope_id"]],
        layers=parse_layers(layers),
        types=parse_types(types),
        filters=parse_filters(_with_conversation(filters, conversation)),
        moment=Moment.as_of(past) if past else None if include_superseded else Moment.now(now),
    )


def _with_conversation(
    filters: Mapping[str, Any] | None, conversation: str | None
) -> Mapping[str, Any] | None:
    if conversation is None:
        return filters
    named = {"conversation": conversation}
    return named if not filters else {"$and": [dict(filters), named]}


@contextmanager
def _opened(place: Any, *, write: bool = False) -> Iterator[Any]:
    """A stream as it is, or a file opened for the call; what is written is there whole or not at all."""
    from recollect.files.whole import whole_file
    from recollect.storage.embedded.folder import reporting

    if not isinstance(place, str | PathLike):
        yield place
        return
    with ExitStack() as opened:
        try:
            if write:
                stream: Any = opened.enter_context(whole_file(place))
            else:
                stream = opened.enter_context(open(place, "rb"))
        except OSError as error:
            raise InvalidInputError(f"can't open {str(place)!r}: {error.strerror}") from error
        # Outside of the file, which may fail when it is closed.
        with reporting("write" if write else "read", Path(place), "try again"), opened.pop_all():
            yield stream

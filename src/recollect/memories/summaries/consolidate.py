"""What to summarise, what is out of date, and making it.

Only what is stale is made again: a summary remembers a digest of all it looked at, so a memory that was added,
changed, superseded or erased since shows. Each summary is made on its own; what is interrupted goes on with the
next run. Two runs at once make each summary once.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from uuid import UUID

from recollect.domain.layers import ScopeName
from recollect.domain.names import entity_key
from recollect.domain.results import ConsolidateReport
from recollect.domain.tenancy import TenantContext
from recollect.domain.text import check_name
from recollect.errors import ForbiddenError, InvalidInputError, ModelError, ModelOutputError, StoreBusyError
from recollect.memories.summaries.abstract import Written, compose, most_shown, rephrase
from recollect.memories.summaries.extract import Chosen, Passage, choose
from recollect.memories.summaries.keep import keep
from recollect.providers.models import ChatModel, Purse
from recollect.storage import erase, scopes, summaries
from recollect.storage.faults import is_lost_race
from recollect.storage.rows import from_row
from recollect.storage.store import Transaction
from recollect.storage.summaries import KINDS, Kept, Place, SummaryKey, Target
from recollect.text.terms import terms
from recollect.workspace import Workspace

#: The newest memories of a scope that one summary looks at: reading and cutting more takes over a minute.
MAX_INPUTS = 20_000
#: Entities of one scope that get a summary, the most spoken of first; a large store has thousands of names.
MAX_ENTITIES = 100
#: Turns, or memories, that there must be before they are summarised.
_LEAST = {"session": 6, "scope": 20, "entity": 5}
_ATTEMPTS = 10
#: So many are named in a note.
_NAMED = 3

Progress = Callable[[int, int | None], None]
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsolidateRequest:
    """What a caller asked to be summarised. None means: whatever there is."""

    scope: ScopeName | None = None
    scope_id: UUID | None = None
    kinds: tuple[str, ...] = KINDS
    entity: str | None = None
    conversation: str | None = None
    force: bool = False

    @classmethod
    def check(
        cls,
        *,
        scope: str | None,
        kinds: Sequence[str],
        entity: str | None,
        conversation: str | None,
        force: bool,
    ) -> ConsolidateRequest:
        """Read a caller's arguments. Naming an entity or a conversation asks for that alone."""
        if isinstance(kinds, str) or not isinstance(kinds, Sequence) or not kinds:
            raise InvalidInputError(f"kinds must be a list of {', '.join(KINDS)}, not {kinds!r}")
        for kind in kinds:
            if kind not in KINDS:
                raise InvalidInputError(f"unknown kind {kind!r}; kinds are {', '.join(KINDS)}")
        named = {"entity": entity, "session": conversation}
        wanted = [kind for kind in named if named[kind] is not None] or list(kinds)
        return cls(
            scope=None if scope is None else ScopeName.parse(scope),
            kinds=tuple(kind for kind in KINDS if kind in wanted),
            entity=None if entity is None else entity_key(check_name(entity, what="entity")),
            conversation=None if conversation is None else check_name(conversation, what="conversation"),
            force=bool(force),
        )

    def about(self, kind: str) -> str | None:
        """The one thing of a kind that is asked for, if it is only one."""
        return {"session": self.conversation, "entity": self.entity}.get(kind)


@dataclass(slots=True)
class _Plan:
    """What there is to do."""

    places: dict[UUID, Place]
    todo: list[Target] = field(default_factory=list)
    known: dict[SummaryKey, UUID] = field(default_factory=dict)
    unchanged: int = 0
    gone: list[Kept] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


async def consolidate(
    workspace: Workspace,
    context: TenantContext,
    request: ConsolidateRequest,
    progress: Progress | None = None,
) -> ConsolidateReport:
    """Make what summaries are missing or stale, and take away those of things that are no more."""
    maker = _Maker(workspace, context, force=request.force, model=None)
    try:
        model = workspace.model()
        if model is not None:
            maker.model = model.charged_to(Purse(max_usd=workspace.settings.budget.max_usd))
    except ModelError as error:  # its package is not installed
        maker.notes.append(f"quoted instead of rephrased: {error}")
    async with workspace.store.transaction(context) as tx:
        plan = await _plan(tx, workspace, request)
    counts: Counter[str] = Counter(unchanged=plan.unchanged)
    total = len(plan.todo) + len(plan.gone)
    for done, kept in enumerate(plan.gone, 1):
        counts["removed"] += await maker.remove(kept.memory_id)
        if progress is not None:
            progress(done, total)
    for done, target in enumerate(plan.todo, len(plan.gone) + 1):
        outcome = await maker.make(target, plan.places[target.key.scope_id])
        if outcome == "nothing":
            # What it said is no longer there, and nothing has taken its place.
            known = plan.known.get(target.key)
            outcome = "removed" if known is not None and await maker.remove(known) else "skipped"
        counts[outcome] += 1
        if progress is not None:
            progress(done, total)
    return ConsolidateReport(
        made=counts["made"],
        refreshed=counts["refreshed"],
        unchanged=counts["unchanged"],
        removed=counts["removed"],
        skipped=counts["skipped"],
        notes=tuple(dict.fromkeys([*plan.notes, *maker.notes, *maker.without_words()])),
    )


async def _plan(tx: Transaction, workspace: Workspace, request: ConsolidateRequest) -> _Plan:
    await scopes.describe_caller(tx)
    scope_id = request.scope_id
    if request.scope is not None:
        scope_id = (await scopes.get_scope(tx, request.scope))["scope_id"]
    places = {place.scope_id: place for place in await summaries.list_places(tx, scope_id)}
    if request.scope is not None and not places:
        raise ForbiddenError(
            f"this caller may read {str(request.scope)!r} but not write summaries to it; become a member of it first"
        )
    plan = _Plan(places=places)
    now = workspace.clock()
    for kind in request.kinds:
        about = request.about(kind)
        targets = await summaries.list_targets(
            tx, kind, list(places), about=about, least=_LEAST[kind], now=now
        )
        abouts = None if about is None else [about]
        kept = {k.key: k for k in await summaries.list_kept(tx, list(places), [kind], abouts)}
        _sort(plan, targets, kept, force=request.force)
    return plan


def _sort(plan: _Plan, targets: Sequence[Target], kept: dict[SummaryKey, Kept], *, force: bool) -> None:
    """Of one kind: what is to be made, what is still right, what is to go."""
    entities: Counter[UUID] = Counter()
    left_out = 0
    for target in targets:
        known = kept.pop(target.key, None)
        if target.key.kind == "entity":
            entities[target.key.scope_id] += 1
            if known is None and entities[target.key.scope_id] > MAX_ENTITIES:
                left_out += 1
                continue
        if known is not None and known.inputs == target.inputs and not known.stale and not force:
            plan.unchanged += 1
        else:
            plan.todo.append(target)
            if known is not None:
                plan.known[target.key] = known.memory_id
    plan.gone += kept.values()
    if left_out:
        plan.notes.append(
            f"{left_out} entities beyond the {MAX_ENTITIES} most spoken of in a scope have no summary; "
            "name one with entity=... to make it"
        )


async def rebuild(workspace: Workspace, context: TenantContext, keys: Sequence[SummaryKey]) -> int:
    """Make summaries again whose sources were erased, from what is left; returns how many.

    Nobody who deletes waits for a model: it quotes, and with a model set the next run says it anew. What fails is
    logged only; the erased words are gone already, and the next run makes the summary.
    """
    rebuilt = 0
    maker = _Maker(workspace, context, force=True, model=None, stale=workspace.settings.model is not None)
    for key in keys:
        try:
            async with workspace.store.transaction(context) as tx:
                places = await summaries.list_places(tx, key.scope_id)
                target = await maker.look(tx, key)
            if places and target is not None:
                rebuilt += await maker.make(target, places[0]) in {"made", "refreshed"}
        except Exception as error:
            _log.warning("a summary was not made again after a delete: %s", error)
    return rebuilt


class _Maker:
    """Makes one summary after the other; remembers that the model is gone, and what there is to say about it."""

    def __init__(
        self,
        workspace: Workspace,
        context: TenantContext,
        *,
        force: bool,
        model: ChatModel | None,
        stale: bool = False,
    ) -> None:
        self.workspace = workspace
        self.context = context
        self.force = force
        self.model = model
        self.stale = stale
        self.notes: list[str] = []
        self.wordless: list[str] = []

    async def look(self, tx: Transaction, key: SummaryKey) -> Target | None:
        """A thing as it is now; None when it has not enough memories."""
        targets = await summaries.list_targets(
            tx,
            key.kind,
            [key.scope_id],
            about=key.about,
            least=_LEAST[key.kind],
            now=self.workspace.clock(),
        )
        return targets[0] if targets else None

    def without_words(self) -> list[str]:
        """A note about what has nothing to quote; many are counted, not named."""
        if not self.wordless:
            return []
        more = len(self.wordless) - _NAMED
        names = ", ".join(self.wordless[:_NAMED]) + (f" and {more} more" if more > 0 else "")
        return [f"nothing worth quoting, only small talk or questions: {names}"]

    async def remove(self, memory_id: UUID) -> bool:
        """Take a summary away; False when somebody else did."""
        async with self.workspace.store.transaction(self.context) as tx:
            erasure = erase.Erasure(tx)
            await erasure.memories([memory_id])
            await erasure.traces()
        return bool(erasure.ids)

    async def make(self, target: Target, place: Place) -> str:
        """Make one summary; when its sources change meanwhile, again."""
        for _ in range(_ATTEMPTS):
            try:
                outcome = await self._attempt(target, place)
            except StoreBusyError as error:
                if not is_lost_race(error):
                    raise
                outcome = "moved"
            if outcome != "moved":
                return outcome
            async with self.workspace.store.transaction(self.context) as tx:
                now = await self.look(tx, target.key)
            if now is None:
                return "nothing"
            target = now
        self.notes.append(
            f"{_named(target, place)} changes faster than it can be summarised; try again later"
        )
        return "skipped"

    async def _attempt(self, target: Target, place: Place) -> str:
        workspace, key = self.workspace, target.key
        async with workspace.store.transaction(self.context) as tx:
            rows = await summaries.read_inputs(tx, key, limit=MAX_INPUTS, now=workspace.clock())
        passages = [from_row(Passage, row, id=row["memory_id"], digest=bytes(row["digest"])) for row in rows]
        if not passages:
            return "moved"
        if target.memories > MAX_INPUTS:
            self.notes.append(
                f"{_named(target, place)}: only its newest {MAX_INPUTS:,} memories were looked at"
            )
        written = await self._write(target, place, passages)
        if written is None:
            self.wordless.append(_named(target, place))
            return "nothing"
        until = {row["memory_id"]: row for row in rows}
        ends_at: datetime | None = summaries.earliest_end([until[source.id] for source in written.sources])
        return await keep(
            workspace,
            self.context,
            target,
            place,
            written,
            ends_at=ends_at,
            stale=self.stale,
            force=self.force,
        )

    async def _write(self, target: Target, place: Place, passages: Sequence[Passage]) -> Written | None:
        about = terms(target.title) if target.key.kind == "entity" else ()
        embedder = (await self.workspace.open_space(self.context)).embedder
        if self.model is not None:
            sentences, words = most_shown(self.model)
            most = await asyncio.to_thread(
                choose, passages, embedder.embed, about=about, max_sentences=sentences, max_words=words
            )
            places = sorted({index for sentence in most for index in sentence.passages})
            rephrased = await self._ask(self.model, target, place, passages, places) if places else []
            if rephrased:
                return compose(target, place, passages, rephrased, read=places, model=self.model.name)
        chosen = await asyncio.to_thread(choose, passages, embedder.embed, about=about)
        return compose(target, place, passages, chosen) if chosen else None

    async def _ask(
        self,
        model: ChatModel,
        target: Target,
        place: Place,
        passages: Sequence[Passage],
        places: Sequence[int],
    ) -> list[Chosen]:
        """The model's sentences; none when it can't be asked or says what is not there, and a note why."""
        name = _named(target, place)
        try:
            sentences = await rephrase(
                model, target.title or f"{place.layer.value}/{place.name}", passages, places
            )
        except ModelError as error:
            self.notes.append(f"quoted instead of rephrased: {error}")
            if not isinstance(error, ModelOutputError):
                self.model = None  # waiting for it once is enough
            return []
        if not sentences:
            self.notes.append(
                f"{name}: quoted instead of rephrased, the model's sentences were not in the memories"
            )
        return sentences


def _named(target: Target, place: Place) -> str:
    scope = f"{place.layer.value}/{place.name}"
    if target.key.kind == "scope":
        return scope
    return f"{'conversation' if target.key.kind == 'session' else 'entity'} {target.title!r} of {scope}"

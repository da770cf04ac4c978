"""The client's verbs for memories: storing, changing, finding and forgetting them.

They check, hand over and decide nothing: the work is done in `memories/`, `retrieval/` and `storage/`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from datetime import datetime, tzinfo
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO
from uuid import UUID

from recollect.client.arguments import checked
from recollect.client.session import Session
from recollect.domain.context import AugmentedContext
from recollect.domain.filters import parse_filters
from recollect.domain.ids import parse_id
from recollect.domain.layers import ScopeName, parse_layers
from recollect.domain.learning import Feedback, FeedbackKind, check_score
from recollect.domain.memory import Memory, check_time, make_draft, message_fields, parse_types
from recollect.domain.query import Understanding
from recollect.domain.results import (
    AddReport,
    Conflict,
    HistoryEntry,
    Inference,
    Page,
    Receipt,
    SearchResults,
)
from recollect.domain.text import MAX_LIMIT, check_whole
from recollect.domain.trajectory import RunPlan
from recollect.errors import ConflictError, InvalidInputError

if TYPE_CHECKING:
    from recollect.storage.reads import Selection
    from recollect.storage.store import Transaction

Progress = Callable[[int, int | None], None]
#: `list` is a verb of the client, so the type needs another name inside it.
Memories = list[Memory]
Conflicts = list[Conflict]


class _Unchanged:
    """Stands for "leave this field as it is", where None means "empty it"."""

    def __repr__(self) -> str:
        return "UNCHANGED"


UNCHANGED: Any = _Unchanged()


@checked
class MemoryVerbs(Session):
    """Memories: stored, changed, found and forgotten."""

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
        from recollect.storage.writes import get_memory

        async with self._transaction() as tx:
            return await get_memory(tx, parse_id(id))

    async def _get_many(self, ids: Sequence[UUID]) -> Memories:
        from recollect.storage.reads import get_memories

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
        from recollect.storage.reads import ORDERS, list_memories

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
        from recollect.storage.reads import count_memories

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
        from recollect.memories.changes import update_memory

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
        from recollect.memories import deletion

        workspace = await self._workspace()
        conditions = (filters, layers, scope, types, conversation)
        if id is not None:
            if any(condition is not None for condition in conditions):
                raise InvalidInputError("delete takes an id or conditions, not both")
            return await deletion.delete_one(workspace, self._context, parse_id(id), vacuum=vacuum)
        return await deletion.delete_matching(
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
        from recollect.storage import reads
        from recollect.storage.writes import get_memory

        async with self._transaction() as tx:
            return await reads.list_history(tx, await get_memory(tx, parse_id(id)))

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
        from recollect.memories import changes

        workspace = await self._workspace()
        return await changes.supersede(workspace, self._context, parse_id(id), parse_id(by, what="by"))

    async def restore(self, id: UUID | str) -> Memory:
        """Believe a superseded memory again."""
        from recollect.memories import changes

        return await changes.restore(await self._workspace(), self._context, parse_id(id))

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
        from recollect.retrieval.look import explain_query
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

    async def search_dry_run(
        self, query: str, *, layers: Sequence[str] | None = None, scope: str | None = None
    ) -> RunPlan:
        """The most that `search`, or `context`, would take of the model that plans it, in requests, tokens and dollars.

        A search asks a model only where `root_model` is set, and only for a complex query. Needs no key.
        """
        from recollect.retrieval.recursive.dry_run import dry_run
        from recollect.retrieval.request import SearchRequest

        workspace = await self._workspace()
        request = SearchRequest.check(
            self.settings, clock=workspace.clock(), query=query, layers=layers, scope=scope
        )
        return await dry_run(workspace, self._context, request)

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
    from recollect.storage.reads import Selection

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
            raise InvalidInputError(f"can't open {str(place)!r}: {str(error.strerror).lower()}") from error
        # Outside of the file, which may fail when it is closed.
        with reporting("write" if write else "read", Path(place), "try again"), opened.pop_all():
            yield stream

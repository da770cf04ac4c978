"""Attacks through the program's own features, as a client would call them: hostile text, other people's ids."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from typing import Any
from uuid import UUID, uuid4

import psycopg

from recollect.doctor.arena import Arena, Tally, describe, readable_scopes
from recollect.doctor.rules import Place
from recollect.doctor.world import World
from recollect.domain.filters import COLUMNS, parse_filters
from recollect.domain.layers import PERSONAL_LAYERS, ScopeName
from recollect.domain.results import Check
from recollect.domain.tenancy import TenantContext
from recollect.errors import ForbiddenError, InvalidInputError, NotFoundError, RecollectError
from recollect.memories import changes, deletion, transfer
from recollect.memories.intake import add_items
from recollect.retrieval.pipeline import SearchRequest, search
from recollect.storage import reads, scopes, writes
from recollect.workspace import Workspace

#: Text that ends a statement, a literal, an identifier, a parameter or a slot, wherever it might be pasted.
HOSTILE = (
    "'; delete from recollect.memory; --",
    "' or '1'='1",
    "') or true --",
    '"; drop schema recollect cascade; --',
    "$$; select pg_sleep(0); $$",
    "%s %(tenant)s %% %b",
    "{where} {columns} {0}",
    "\\'; reset all; --",
    "E'\\x27' union select text from recollect.memory",
    "'::jsonb || '{\"admin\": true}",
    '", "admin": true, "user": "root',
    "robert'); set local recollect.tenant = 'x'; --",
    "a/*b*/c",
    "\u02bc\u2019\uff07 or 1=1",
)


async def everybody_finds_only_their_own(workspace: Workspace, arena: Arena) -> Check:
    """List, search and export as every kind of caller give exactly what the rules allow."""
    tally = Tally("list, search and export show exactly what the rules allow")
    for world in (arena.mine, arena.theirs):
        for place in world.places:
            await _add(workspace, _writer(world, place), text=_text(world, place), scope=place)
    for context in arena.mine.callers():
        allowed = readable_scopes(arena.mine, context)
        expected = {_text(arena.mine, place) for place in arena.mine.places if place.id in allowed}
        listed = {memory.text for memory in await _list(workspace, context)}
        tally.note(
            f"list as {describe(context)}", len({t for t in listed if t.startswith("found")} ^ expected)
        )
        tally.note(f"list of another tenant as {describe(context)}", _telling(listed, arena.theirs))
        exported = await _export(workspace, context)
        tally.note(f"export as {describe(context)}", _telling(exported, arena.theirs))
        memories = {line for line in exported if json.loads(line)["kind"] == "memory" and "found" in line}
        tally.expect(f"export as {describe(context)}, lines", len(memories) == len(expected))
        for words in (arena.mine.token, arena.theirs.token, f"found {arena.theirs.token} team web secret"):
            hits = {hit.text for hit in await _search(workspace, context, words)}
            tally.note(
                f"search as {describe(context)}", len({t for t in hits if t.startswith("found")} - expected)
            )
            tally.note(f"search of another tenant as {describe(context)}", _telling(hits, arena.theirs))
    own_hits = await _search(workspace, arena.mine.admin, arena.mine.token)
    tally.expect("an admin's search found nothing, so the attack proves nothing", len(own_hits) > 0)
    return tally.check()


def _text(world: World, place: Place) -> str:
    return f"found {world.token} secret of {place.layer.value} {place.name} {place.owner}"


def _telling(texts: Iterable[str], world: World) -> int:
    """How many texts speak of a tenant."""
    return sum(world.token in text for text in texts)


def _writer(world: World, place: Place) -> TenantContext:
    """Somebody who may write to a scope: its owner where it has one, else an admin."""
    if place.layer not in PERSONAL_LAYERS:
        return world.admin
    user = place.owner or (place.name if place.layer.value == "user" else None)
    agent = place.name if place.layer.value == "agent" else None
    session = place.name if place.layer.value == "session" else None
    return world.as_user(user, agent_id=agent, session_id=session)


async def _add(workspace: Workspace, context: TenantContext, *, scope: Place | str, **fields: Any) -> UUID:
    name = scope if isinstance(scope, str) else f"{scope.layer.value}/{scope.name}"
    report = await add_items(workspace, context, [(0, {**fields, "scope": name})])
    if report.errors:
        raise report.errors[0].to_error()
    assert report.ids[0] is not None
    return report.ids[0]


async def _list(workspace: Workspace, context: TenantContext, filters: object = None) -> list[Any]:
    memories: list[Any] = []
    cursor = None
    while True:
        async with workspace.store.transaction(context) as tx:
            chosen = reads.Selection(filters=parse_filters(filters))
            page = await reads.list_memories(tx, chosen, limit=500, cursor=cursor)
        memories += page
        cursor = page.next_cursor
        if cursor is None:
            return memories


async def _export(workspace: Workspace, context: TenantContext) -> list[str]:
    target = io.StringIO()
    await transfer.export_jsonl(workspace, context, target)
    return target.getvalue().splitlines()


async def _search(workspace: Workspace, context: TenantContext, query: str, **parts: Any) -> Sequence[Any]:
    request = SearchRequest.check(
        workspace.settings,
        query=query,
        clock=workspace.clock(),
        threshold=0.0,
        limit=100,
        explain=True,
        **parts,
    )
    return await search(workspace, context, request)


async def hidden_ids_look_like_no_ids(workspace: Workspace, arena: Arena) -> Check:
    """Every call that takes an id answers the same for somebody else's memory and for none at all."""
    tally = Tally("ids of hidden memories look like ids of none")
    mine, theirs = arena.mine, arena.theirs
    hidden = mine.memories[mine.place("user/bob").id]
    foreign = theirs.memories[theirs.place("user/ana").id]
    for context in (mine.as_user("ana"), mine.as_user("cleo"), mine.admin):
        own = await _add(workspace, context, text=f"own {uuid4()}", scope=f"user/{context.user_id}")
        targets = [foreign] if context.is_admin else [foreign, hidden]
        for verb, call in _calls(workspace, context, own).items():
            none = await _answer(call(uuid4()))
            tally.expect(f"{verb} of no memory as {context.user_id}", none is not None)
            for target in targets:
                tally.expect(f"{verb} as {context.user_id}", await _answer(call(target)) == none)
        for target in targets:
            tally.note("list by id", len(await _list(workspace, context, {"id": str(target)})))
            receipt = await deletion.delete_matching(
                workspace, context, layers=None, scope=None, types=None,
                filters=parse_filters({"id": str(target)}), vacuum=False,
            )  # fmt: skip
            tally.note("delete by filter", receipt.memories)
    return tally.check()


def _calls(
    workspace: Workspace, context: TenantContext, own: UUID
) -> dict[str, Callable[[UUID], Awaitable[Any]]]:
    async def get(id: UUID) -> None:
        async with workspace.store.transaction(context) as tx:
            await reads.list_history(tx, await writes.get_memory(tx, id))

    return {
        "get and history": get,
        "update": lambda id: changes.update_memory(workspace, context, id, {"importance": 1.0}),
        "update of the text": lambda id: changes.update_memory(workspace, context, id, {"text": "x"}),
        "delete": lambda id: deletion.delete_one(workspace, context, id, vacuum=False),
        "supersede": lambda id: changes.supersede(workspace, context, id, own),
        "supersede by": lambda id: changes.supersede(workspace, context, own, id),
        "restore": lambda id: changes.restore(workspace, context, id),
    }


async def _answer(call: Awaitable[Any]) -> tuple[type[Exception], str] | None:
    """How a call was refused, without the ids in it; None when it was not."""
    try:
        await call
    except RecollectError as error:
        return type(error), re.sub(r"[0-9a-f]{8}-[0-9a-f-]{27}", "?", str(error))
    return None


async def closed_scopes_stay_closed(workspace: Workspace, arena: Arena) -> Check:
    """Writing, creating and inviting where one may not; names of others answer like names of nobody."""
    tally = Tally("closed scopes take no memory, member or child")
    mine = arena.mine
    ana, cleo, zoe = mine.as_user("ana"), mine.as_user("cleo"), mine.as_user("zoe")
    company = f"company/{mine.tenant_id}"
    for context, scope in ((ana, "org/west"), (ana, company), (ana, "team/web"), (ana, "user/bob"), (cleo, company),
                           (cleo, "user/ana"), (cleo, "team/sea"), (zoe, company), (zoe, "team/api")):  # fmt: skip
        answer = await _answer(_add(workspace, context, text=f"planted {uuid4()}", scope=scope))
        refused = answer is not None and issubclass(answer[0], ForbiddenError | NotFoundError)
        tally.expect(f"add to {scope} as {context.user_id}", refused)
    for real, unreal in (("user/bob", "user/bub"), ("team/web", "team/wub"), ("org/east", "org/eost")):
        answers = [await _answer(_add(workspace, ana, text="x", scope=name)) for name in (real, unreal)]
        same = {
            answer and (answer[0], answer[1].replace(real, "?").replace(unreal, "?")) for answer in answers
        }
        tally.expect(f"{real} answers unlike {unreal}", len(same) == 1)
    for context, user, scope in ((ana, "zoe", "team/api"), (ana, "ana", "org/west"), (cleo, "cleo", company),
                                 (zoe, "zoe", "team/api"), (cleo, "zoe", "team/sea")):  # fmt: skip
        tally.expect(
            f"{context.user_id} makes {user} a lead of {scope}",
            await _invite(workspace, context, user, scope) is not None,
        )
    for context, name, parent in (
        (ana, "project/x", "team/api"),
        (cleo, "team/x", "org/east"),
        (cleo, "org/x", company),
    ):
        tally.expect(
            f"{context.user_id} creates {name}",
            await _answer(_create(workspace, context, name, parent)) is not None,
        )
    # A membership counts from the next call on, and ends with the next call.
    before = len(await _list(workspace, zoe))
    await _invite(workspace, mine.admin, "zoe", "team/web", role="member")
    during = len(await _list(workspace, zoe))
    async with workspace.store.transaction(mine.admin) as tx:
        await scopes.remove_member(tx, "zoe", ScopeName.parse("team/web"))
    tally.expect("a new membership shows nothing, so the attack proves nothing", during > before)
    tally.note("after the end of a membership", len(await _list(workspace, zoe)) - before)
    return tally.check()


async def _invite(
    workspace: Workspace, context: TenantContext, user: str, scope: str, role: str = "lead"
) -> Any:
    async def call() -> None:
        async with workspace.store.transaction(context) as tx:
            await scopes.add_member(tx, user, ScopeName.parse(scope), role)

    return await _answer(call())


async def _create(workspace: Workspace, context: TenantContext, name: str, parent: str) -> None:
    async with workspace.store.transaction(context) as tx:
        await scopes.create_scope(tx, ScopeName.parse(name), ScopeName.parse(parent))


async def hostile_text_stays_text(workspace: Workspace, arena: Arena) -> Check:
    """SQL in every text field of every call: stored as it is, or refused; never run."""
    tally = Tally("SQL in text fields, filters, names and cursors stays text")
    mine, theirs = arena.mine, arena.theirs
    ana = mine.as_user("ana")
    before = [len(await _list(workspace, world.admin)) for world in (mine, theirs)]
    added = 0
    for text in HOSTILE:
        stored = await _add(
            workspace, ana, text=text + " 1", scope="user/ana", subject=text, predicate=text, object=text, trigger=text,
            action=text, entities=[text], metadata={text: {text: text}}, conversation=text, speaker=text, source=text,
        )  # fmt: skip
        added += 1
        async with workspace.store.transaction(ana) as tx:
            memory = await writes.get_memory(tx, stored)
        parts = (memory.subject, memory.predicate, memory.object, memory.trigger, memory.action, memory.speaker,
                 memory.source, memory.conversation, memory.entities[0], memory.text[:-2])  # fmt: skip
        tally.expect(f"add of {text!r}", set(parts) == {text.strip()} | {text} or set(parts) == {text})
        tally.expect(f"metadata {text!r}", memory.metadata == {text: {text: text}})
        changed = await changes.update_memory(
            workspace, ana, stored, {"text": text + " 2", "subject": text + " 2"}
        )
        tally.expect(f"update to {text!r}", changed.text == text + " 2")
        for what, call in _uses(workspace, arena, text):
            try:
                entries = await call
            except RecollectError as error:
                tally.expect(f"{what} with {text!r} reached the database: {error}", _is_ours(error))
            else:
                tally.note(f"{what} with {text!r}", _telling((entry.text for entry in entries), theirs))
    after = [len(await _list(workspace, world.admin)) for world in (mine, theirs)]
    # An update keeps what the memory said before, as a version of its own.
    tally.expect("rows of this tenant", after[0] == before[0] + 2 * added)
    tally.expect("rows of the other tenant", after[1] == before[1])
    return tally.check()


def _is_ours(error: RecollectError) -> bool:
    """Whether the program refused by itself; a complaint of the database's parser means the text was run."""
    return isinstance(error, InvalidInputError | NotFoundError | ForbiddenError) and not isinstance(
        error.__cause__, psycopg.errors.SyntaxError
    )


def _uses(workspace: Workspace, arena: Arena, text: str) -> Iterator[tuple[str, Awaitable[Sequence[Any]]]]:
    """Every place a caller's text goes to, besides a memory's own fields."""
    mine = arena.mine
    ana = mine.as_user("ana")
    yield "search", _search(workspace, ana, text)
    words = [column for column, kind in COLUMNS.items() if kind is str]
    for column in COLUMNS:
        ways = [{column: text}, {column: {"$in": [text]}}, {column: {"$ne": text}}]
        yield f"filter on {column}", _list(workspace, ana, {"$or": ways})
        yield f"comparison with {column}", _list(workspace, ana, {column: {"$gte": text}})
    yield "search filter", _search(workspace, ana, "x", filters={"$or": [{word: text} for word in words]})
    for raw in ({text: "x"}, {"x": text}, {f"metadata.{text}": {"$exists": True}}, {"$or": [{text: text}, {"x": text}]},
                {"$not": {text: {"$in": [text]}}}, {text: {"$gte": text}}):  # fmt: skip
        yield "filter", _list(workspace, ana, raw)
    yield (
        "search filter",
        _search(workspace, ana, "x", filters={text: text, f"metadata.{text}": {"$gte": text}}),
    )
    yield "scope", _search(workspace, ana, "x", scope=f"team/{text}")
    yield "cursor", _at_cursor(workspace, ana, text)
    yield "new scope", _shape_scope(workspace, mine.admin, text)
    for field in ("user_id", "agent_id", "session_id", "tenant_id"):
        parts = {"tenant_id": mine.tenant_id, "user_id": "zoe", field: text}
        yield field, _list_as(workspace, parts)
    for role in (text, f"lead:{text}", f"lead:team/{text}"):
        yield "role", _list_as(workspace, {"tenant_id": mine.tenant_id, "user_id": "zoe", "roles": (role,)})


async def _list_as(workspace: Workspace, parts: dict[str, Any]) -> Sequence[Any]:
    return await _list(workspace, TenantContext(**parts))


async def _at_cursor(workspace: Workspace, context: TenantContext, text: str) -> Sequence[Any]:
    async with workspace.store.transaction(context) as tx:
        return await reads.list_memories(tx, reads.Selection(), limit=10, cursor=text)


async def _shape_scope(workspace: Workspace, context: TenantContext, text: str) -> Sequence[Any]:
    async with workspace.store.transaction(context) as tx:
        name = ScopeName.parse(f"project/{text}")
        await scopes.create_scope(tx, name, ScopeName.parse("team/api"))
        await scopes.add_member(tx, text, name, "lead")
        await scopes.remove_member(tx, text, name)
    return []


ATTACKS: tuple[Callable[[Workspace, Arena], Awaitable[Check]], ...] = (
    everybody_finds_only_their_own,
    hidden_ids_look_like_no_ids,
    closed_scopes_stay_closed,
    hostile_text_stays_text,
)

"""What a session keeps between its questions: the answers of tools.

In this process all of them, keyed by tenant, user and session, so nobody is answered from somebody else's reading; the
oldest sessions go when there are too many, and any that is ended, or was not used for a day. What a model answered has
cost money and time, so it is stored with its consultation as well, and a follow-up in another process finds it
(`write_answers`, `read_answers`). It goes with the consultation, which goes with any document it quotes. Everything
else is read again in milliseconds.
"""

from __future__ import annotations

import json
from collections import OrderedDict
from collections.abc import Collection, Iterable, Mapping
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from recollect.oracle.shelves import Shelves
from recollect.runs.cache import Cache, CacheKey
from recollect.runs.environment import Observation
from recollect.storage import oracle as storage
from recollect.storage.happenings import tell

if TYPE_CHECKING:
    from recollect.domain.tenancy import TenantContext
    from recollect.workspace import Workspace

_MAX_SESSIONS = 64
#: Characters of answers that one session keeps.
_MAX_CHARS = 4_000_000
#: Characters of model answers that one consultation stores.
_MAX_STORED_CHARS = 400_000
#: Consultations of a session whose answers are taken up.
_TAKEN_UP = 20
#: The tools that ask a model.
_ASKING_TOOLS = frozenset({"query_subset", "summarize", "map_rows"})

#: A session that nobody went on with for so long begins anew. Less than events are kept, which say that one was ended.
MAX_AGE = timedelta(days=1)
SESSION_ENDED = "session_ended"

_Key = tuple[str, str | None, tuple[str, ...], str]
#: Each with when it was last used.
_kept: WeakKeyDictionary[Workspace, OrderedDict[_Key, tuple[Cache, datetime]]] = WeakKeyDictionary()


def cache_of(workspace: Workspace, context: TenantContext, session: str) -> Cache:
    """The cache of a session, made when it is first asked for."""
    sessions = _kept.setdefault(workspace, OrderedDict())
    # Roles decide what a caller sees, so they are part of who asks.
    key = (context.tenant_id, context.user_id, tuple(sorted(context.roles)), session)
    now = workspace.clock()
    cache, used_at = sessions.pop(key, (None, now))
    if cache is None or now - used_at > MAX_AGE:
        cache = Cache(max_chars=_MAX_CHARS)
    sessions[key] = (cache, now)
    while len(sessions) > _MAX_SESSIONS:
        sessions.popitem(last=False)
    return cache


async def end_session(workspace: Workspace, context: TenantContext, session: str) -> None:
    """Forget what a session keeps, in every process: the next question in it begins anew."""
    sessions = _kept.get(workspace, OrderedDict())
    caller = (context.tenant_id, context.user_id, session)
    for key in [key for key in sessions if (key[0], key[1], key[3]) == caller]:
        del sessions[key]
    async with workspace.store.transaction(context) as tx:
        await tell(tx, SESSION_ENDED, None, {"session": session})


def write_answers(cache: Cache, before: Collection[CacheKey], roles: Iterable[str]) -> dict[str, Any] | None:
    """What models answered since `before`, as JSON; None when nothing. The latest are kept when they are too many."""
    rows: list[dict[str, Any]] = []
    chars = 0
    for key, observation in reversed(cache.entries().items()):
        if key in before or key.tool not in _ASKING_TOOLS or "note" in observation.value:
            continue  # there already, no model's, or not answered
        row = {"key": list(key), **observation.document()}
        chars += len(json.dumps(row))
        if chars > _MAX_STORED_CHARS:
            break
        rows.append(row)
    return {"roles": sorted(roles), "calls": rows[::-1]} if rows else None


def read_answers(
    cache: Cache, stored: Mapping[str, Any], *, roles: Iterable[str], seen: Collection[str]
) -> None:
    """Take stored answers up. Those of another role, or from material the caller can't see now, stay out."""
    if stored.get("roles") != sorted(roles):
        return
    for row in stored.get("calls", ()):
        try:
            key = CacheKey(*row["key"])
            read = {str(span[0]) for span in row["value"].get("spans", ())}
            observation = Observation.read(row)
        except (KeyError, TypeError, ValueError, AttributeError, IndexError):
            continue  # of another version; it is asked again
        if read <= set(seen) and cache.find(key) is None:
            cache.put(key, observation)


async def take_up(
    workspace: Workspace, context: TenantContext, session: str, cache: Cache, *, files: Collection[str]
) -> None:
    """What models answered in a session before, in whatever process; `files` are those at hand now."""
    if context.user_id is None:
        return
    async with workspace.store.transaction(context) as tx:
        stored = await storage.session_answers(
            tx,
            session=session,
            user=context.user_id,
            since=workspace.clock() - MAX_AGE,
            limit=_TAKEN_UP,
        )
    named = {
        str(span[0])
        for answers in stored
        for row in answers.get("calls", ())
        if isinstance(row.get("value"), Mapping)
        for span in row["value"].get("spans", ())
    }
    documents = await Shelves(workspace, context).describe(sorted(named - set(files)))
    seen = {*files, *(document.doc_id for document in documents)}
    for answers in stored:
        read_answers(cache, answers, roles=context.roles, seen=seen)

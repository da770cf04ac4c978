"""What a session keeps between its questions: the answers of tools, in this process, for a while.

Keyed by tenant, user and session, so nobody is answered from somebody else's reading. The oldest sessions go when there
are too many; what was answered is in the store.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from recollect.recursion.cache import Cache

if TYPE_CHECKING:
    from recollect.domain.tenancy import TenantContext
    from recollect.workspace import Workspace

_MAX_SESSIONS = 64
#: Characters of answers that one session keeps.
_MAX_CHARS = 4_000_000

_Key = tuple[str, str | None, tuple[str, ...], str]
_kept: WeakKeyDictionary[Workspace, OrderedDict[_Key, Cache]] = WeakKeyDictionary()


def cache_of(workspace: Workspace, context: TenantContext, session: str) -> Cache:
    """The cache of a session, made when it is first asked for."""
    sessions = _kept.setdefault(workspace, OrderedDict())
    # Roles decide what a caller sees, so they are part of who asks.
    key = (context.tenant_id, context.user_id, tuple(sorted(context.roles)), session)
    cache = sessions.get(key)
    if cache is None:
        cache = sessions[key] = Cache(max_chars=_MAX_CHARS)
    sessions.move_to_end(key)
    while len(sessions) > _MAX_SESSIONS:
        sessions.popitem(last=False)
    return cache


def end_session(workspace: Workspace, context: TenantContext, session: str) -> bool:
    """Forget what a session keeps; False when it kept nothing."""
    sessions = _kept.get(workspace, OrderedDict())
    ended = [
        key for key in sessions if (key[0], key[1], key[3]) == (context.tenant_id, context.user_id, session)
    ]
    for key in ended:
        del sessions[key]
    return bool(ended)

"""Who asks: the holder of a key, and for whom.

A key is shown as `Authorization: Bearer rcl_...`. It is bound to who it speaks for; a few headers say more, and none of
them gives a right that the key does not have. What a key opens is asked of the store, and remembered for some seconds.
"""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING

from starlette.datastructures import Headers

from recollect.errors import ForbiddenError, RecollectError, UnauthorizedError
from recollect.surfaces.http.limits import TooManyRequestsError, refuse_early
from recollect.surfaces.http.problems import refuse

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.types import ASGIApp, Receive, Scope, Send

    from recollect.client.async_client import AsyncRecollect
    from recollect.domain.tenancy import TenantContext

#: A revoked key is refused by every server after this at the latest.
REMEMBERED_S = 5.0
_MOST = 10_000
#: Where the caller stands: these grant nothing.
_STANDING = {
    "recollect-session": "session_id",
    "recollect-project": "project_id",
    "recollect-team": "team_id",
    "recollect-org": "org_id",
}
#: In whose name: an admin's key may speak for any user, and then has that user's rights only.
USER_HEADER, AGENT_HEADER = "recollect-user", "recollect-agent"


class Doorkeeper:
    """Turns the headers of a request into a caller's view on the store."""

    def __init__(self, client: AsyncRecollect) -> None:
        self._client = client
        self._known: OrderedDict[str, tuple[float, TenantContext]] = OrderedDict()
        self._asking: dict[str, asyncio.Future[TenantContext]] = {}

    async def admit(self, headers: Mapping[str, str]) -> AsyncRecollect:
        """The store as the caller sees it. Raises UnauthorizedError without a key that opens something."""
        return self._client.for_context(standing(await self._context(_token(headers)), headers))

    def forget(self, token: str) -> None:
        """Ask the store anew who a key speaks for."""
        self._known.pop(token, None)

    async def _context(self, token: str) -> TenantContext:
        now = time.monotonic()
        known = self._known.get(token)
        if known is not None and known[0] > now:
            return known[1]
        self._known.pop(token, None)
        asking = self._asking.get(token)
        if asking is None:
            # Many requests with one key come at the same moment; the store is asked once.
            asking = self._asking[token] = asyncio.ensure_future(self._client.keys.context_of(token))
            asking.add_done_callback(lambda _: self._asking.pop(token, None))
        context = await asyncio.shield(asking)
        self._known[token] = (now + REMEMBERED_S, context)
        while len(self._known) > _MOST:
            self._known.popitem(last=False)
        return context


#: Admits the sender of a request by its headers, or raises.
Admit = Callable[[Mapping[str, str]], Awaitable["AsyncRecollect"]]


class Guarded:
    """An application behind the door: without a key nothing of it is seen, and nothing that was sent is read.

    `is_open` names the paths that need no key. Whoever came in is found by `caller_of`.
    """

    def __init__(
        self, app: ASGIApp, admit: Admit, *, is_open: Callable[[str], bool] = lambda path: False
    ) -> None:
        self._app, self._admit, self._is_open = app, admit, is_open

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request."""
        if scope["type"] == "http" and not self._is_open(scope["path"]):
            try:
                scope["recollect.caller"] = await self._admit(Headers(scope=scope))
            except RecollectError as error:
                await refuse_early(refuse(error), receive, send)
                return
            except TooManyRequestsError as error:
                await refuse_early(error.response(), receive, send)
                return
        await self._app(scope, receive, send)


def caller_of(request: Request) -> AsyncRecollect:
    """The store as the sender of a request sees it."""
    caller: AsyncRecollect = request.scope["recollect.caller"]
    return caller


def _token(headers: Mapping[str, str]) -> str:
    scheme, _, token = headers.get("authorization", "").strip().partition(" ")
    if scheme.lower() != "bearer" or not token.strip():
        raise UnauthorizedError(
            "this needs a key: `Authorization: Bearer rcl_...`; `recollect keys create` makes one"
        )
    return token.strip()


def standing(context: TenantContext, headers: Mapping[str, str]) -> TenantContext:
    """The key's caller, and where the headers say that they stand."""
    user, agent = headers.get(USER_HEADER), headers.get(AGENT_HEADER)
    if user is not None and user != context.user_id:
        if not context.is_admin:
            raise ForbiddenError(
                f"only an admin's key may speak for another user; this one is not for {user!r}"
            )
        context = context.replace(user_id=user, agent_id=None, roles=())
    if agent is not None and agent != context.agent_id:
        if context.agent_id is not None:
            raise ForbiddenError(f"this key is for agent {context.agent_id!r}, not for {agent!r}")
        context = context.replace(agent_id=agent)
    places = {field: headers[header] for header, field in _STANDING.items() if header in headers}
    return context.replace(**places) if places else context

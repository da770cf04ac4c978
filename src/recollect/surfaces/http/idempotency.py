"""`Idempotency-Key`: a write that is sent again is not carried out again, and gets the answer of the first time.

The key is the caller's own: other users' keys are other keys. An error is not kept: what failed may be tried again.
"""

from __future__ import annotations

import hashlib
from collections.abc import Awaitable, Callable
from http import HTTPStatus
from typing import TYPE_CHECKING

from fastapi import Request
from fastapi.responses import Response

from recollect.errors import ConflictError, InvalidInputError, RecollectError, StoreError
from recollect.storage import replies
from recollect.storage.connections import try_twice
from recollect.storage.store import request_claim
from recollect.surfaces.http.problems import respond

if TYPE_CHECKING:
    from recollect.client.async_client import AsyncRecollect

HEADER = "idempotency-key"
REPLAYED = "Idempotent-Replayed"
_MAX_CHARS = 255


async def once(
    request: Request, client: AsyncRecollect, carry_out: Callable[[], Awaitable[Response]]
) -> Response:
    """Carry a request out, unless it was before under the same key."""
    key = request.headers.get(HEADER)
    if key is None:
        return await carry_out()
    if not 0 < len(key) <= _MAX_CHARS or not key.isprintable():
        raise InvalidInputError(f"an Idempotency-Key has 1 to {_MAX_CHARS} printable characters")
    workspace = await client._workspace()
    context = client.tenant_context
    asked = await _fingerprint(request)
    async with workspace.store.transaction(context) as tx:
        claim = await replies.claim(tx, key, asked, now=workspace.clock())
    if isinstance(claim, replies.Reply):
        return _again(claim, asked)
    before = request_claim.set(claim)
    try:
        response = await carry_out()
    except BaseException as error:
        request_claim.reset(before)
        # What the store failed at may be stored all the same, or the transaction before it.
        sure = isinstance(error, RecollectError) and not isinstance(error, StoreError)
        async with workspace.store.transaction(context) as tx:
            await replies.release(tx, claim, sure=sure)
        raise
    request_claim.reset(before)

    async def settle() -> None:
        async with workspace.store.transaction(context) as tx:
            if response.status_code < HTTPStatus.BAD_REQUEST:
                body = bytes(response.body).decode()
                await replies.settle(tx, claim, status=response.status_code, body=body)
            else:
                await replies.release(tx, claim, sure=True)

    await try_twice(settle, only_reads=True)  # saying it twice changes nothing
    return response


def _again(known: replies.Reply, asked: bytes) -> Response:
    if known.request != asked:
        raise ConflictError("this Idempotency-Key was used for another request; take a new one for each")
    if known.status == 0:
        raise ConflictError(
            "the request with this Idempotency-Key was carried out, at least in part, but its answer was lost; "
            "look for what it did"
        )
    if known.status is None:
        return respond(
            HTTPStatus.CONFLICT,
            "in_progress",
            "the first request with this Idempotency-Key is still being carried out",
            headers={"Retry-After": "1"},
        )
    return Response(
        known.body, status_code=known.status, media_type="application/json", headers={REPLAYED: "true"}
    )


async def _fingerprint(request: Request) -> bytes:
    said = f"{request.method} {request.url.path}?{request.url.query}\n".encode()
    return hashlib.sha256(said + await request.body()).digest()

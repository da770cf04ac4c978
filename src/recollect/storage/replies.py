"""Answers that were given, by the key a caller sent with the request: sent again, it is not carried out again.

They are kept for a day. They may quote memories and documents, so they go with the first of those that is erased. The
transaction that carries a request out also notes that it did: if the answer is lost with the connection or the process,
the request still happens once.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from recollect.storage.store import Claim, Transaction

KEPT = timedelta(days=1)
#: A request that has not ended after this was lost with the process that carried it out.
STUCK = timedelta(minutes=15)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """What is known of a key: the request's hash, and the answer unless it is still being worked on.

    The status is 0 as long as it was carried out and has no answer.
    """

    request: bytes
    status: int | None
    body: str | None


async def claim(tx: Transaction, key: str, request: bytes, *, now: datetime) -> Claim | Reply:
    """Take a key for a request; else what it stands for."""
    who = tx.context.user_id or ""
    taken = await tx.fetch_one(
        "claim_reply",
        user=who,
        key=key,
        request=request,
        now=now,
        kept_since=now - KEPT,
        stuck_since=now - STUCK,
    )
    if taken is not None:
        return Claim(who, key, now)
    row = await tx.fetch_one("find_reply", user=who, key=key)
    if row is None:  # it ended without an answer in this very moment
        return await claim(tx, key, request, now=now)
    return Reply(request=bytes(row["request"]), status=row["status"], body=row["body"])


async def settle(tx: Transaction, claim: Claim, *, status: int, body: str) -> None:
    """Keep the answer to a request."""
    await tx.execute("settle_reply", user=claim.user, key=claim.key, at=claim.at, status=status, body=body)


async def release(tx: Transaction, claim: Claim, *, sure: bool) -> None:
    """Nothing came of it; when that is not `sure`, what the transaction noted decides."""
    await tx.execute("release_reply", user=claim.user, key=claim.key, at=claim.at, sure=sure)

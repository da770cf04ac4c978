"""Summaries in the database: what there is to summarise, what summaries there are, where they came from.

A summary is a memory; these rows beside it say of what, from which memories, and what was looked at. Everything
is read and written scope by scope: a summary sees memories of exactly its own scope, so whoever may read it may
read what it came from. The words are chosen in memories/summaries/.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from recollect.domain.layers import Layer
from recollect.storage.filters import FOREVER
from recollect.storage.rows import from_row
from recollect.storage.store import Row, Transaction

KINDS = ("session", "scope", "entity")


@dataclass(frozen=True, slots=True, kw_only=True)
class SummaryKey:
    """What a summary is of; there is at most one of each. `about` is '' for a whole scope."""

    scope_id: UUID
    kind: str
    about: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """A scope that may be summarised."""

    scope_id: UUID
    layer: Layer
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """Something with enough memories to be summarised. `inputs` is a digest of all of them as they are."""

    key: SummaryKey
    title: str
    memories: int
    inputs: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """A summary as it is stored."""

    memory_id: UUID
    key: SummaryKey
    inputs: bytes
    stale: bool


async def list_places(tx: Transaction, scope_id: UUID | None = None) -> list[Place]:
    """The scopes the caller may write summaries into."""
    rows = await tx.fetch("summary_scopes", scope=scope_id)
    return [from_row(Place, row, layer=Layer.from_precedence(row["layer"])) for row in rows]


async def list_targets(
    tx: Transaction, kind: str, scopes: Sequence[UUID], *, about: str | None, least: int, now: datetime
) -> list[Target]:
    """What has at least `least` memories, of one kind."""
    rows = await tx.fetch(f"{kind}_targets", scopes=list(scopes), about=about, least=least, now=now)
    return [
        from_row(Target, row, key=_key({**row, "kind": kind}), inputs=bytes(row["inputs"])) for row in rows
    ]


async def list_kept(
    tx: Transaction, scopes: Sequence[UUID], kinds: Sequence[str], abouts: Sequence[str] | None
) -> list[Kept]:
    """The stored summaries of some scopes and kinds."""
    rows = await tx.fetch(
        "list_summaries",
        scopes=list(scopes),
        kinds=list(kinds),
        abouts=None if abouts is None else list(abouts),
    )
    return [from_row(Kept, row, key=_key(row), inputs=bytes(row["inputs"])) for row in rows]


async def read_inputs(tx: Transaction, key: SummaryKey, *, limit: int, now: datetime) -> list[Row]:
    """The memories to summarise, the oldest first; of too many the newest."""
    rows = await tx.fetch(f"{key.kind}_inputs", scope=key.scope_id, about=key.about, limit=limit, now=now)
    return rows[::-1]


async def find_kept(tx: Transaction, key: SummaryKey) -> Kept | None:
    """The summary of one thing."""
    row = await tx.fetch_one("find_summary", scope=key.scope_id, kind=key.kind, about=key.about)
    return None if row is None else from_row(Kept, row, key=key, inputs=bytes(row["inputs"]))


async def hold_sources(
    tx: Transaction, key: SummaryKey, sources: Sequence[tuple[UUID, bytes]], *, now: datetime
) -> bool:
    """Keep sources as they are until the transaction ends; False if one was changed or erased already."""
    rows = await tx.fetch("share_sources", ids=[id for id, _ in sources], scope=key.scope_id, now=now)
    return {row["memory_id"]: bytes(row["digest"]) for row in rows} == dict(sources)


async def store_links(
    tx: Transaction,
    memory_id: UUID,
    target: Target,
    sources: Sequence[tuple[UUID, bytes]],
    *,
    model: str | None,
    stale: bool,
    now: datetime,
) -> None:
    """Write down of what a memory is the summary, and from which memories it came."""
    key = target.key
    await tx.execute(
        "store_summary",
        id=memory_id,
        scope=key.scope_id,
        kind=key.kind,
        about=key.about,
        now=now,
        model=model,
        stale=stale,
        inputs=target.inputs,
    )
    await tx.execute("delete_sources", ids=[memory_id])
    ids, digests = zip(*sources, strict=True)
    await tx.execute("insert_sources", id=memory_id, scope=key.scope_id, ids=list(ids), digests=list(digests))


async def find_citing(tx: Transaction, ids: Sequence[UUID]) -> list[tuple[UUID, SummaryKey]]:
    """The summaries that came from any of these memories."""
    return [(row["memory_id"], _key(row)) for row in await tx.fetch("summaries_citing", ids=list(ids))]


async def adopt_imported(tx: Transaction, ids: Sequence[UUID]) -> None:
    """Link imported summaries with what they came from, so that deleting a source still reaches them."""
    if await tx.execute("adopt_summaries", ids=list(ids)):
        await tx.execute("adopt_sources", ids=list(ids))


def earliest_end(rows: Sequence[Row]) -> datetime | None:
    """When the first of some memories ceases to be believed; None for never."""
    end: datetime = min((row["until"] for row in rows), default=FOREVER)
    return end if end < FOREVER else None


def _key(row: Row) -> SummaryKey:
    return from_row(SummaryKey, row)

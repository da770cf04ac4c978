"""`RecollectStore`: LangGraph's `BaseStore` on a store of Recollect. Needs the extra `langgraph`.

An item is a memory: what is searchable in its value is the text, and the value itself, with namespace and key, is the
metadata under `langgraph`. Its address is its `source`, by which the store has an index. langgraph_items.py knows the
form of an item; here is what asks the client.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from recollect.client.async_client import AsyncRecollect
from recollect.client.sync_client import Recollect
from recollect.contrib import langgraph_items as items
from recollect.contrib.clients import BATCH, list_all, memories_of
from recollect.contrib.langgraph_items import Namespace
from recollect.domain.layers import ScopeName
from recollect.domain.memory import Memory, make_draft
from recollect.domain.text import MAX_LIMIT
from recollect.errors import IntegrationMissingError, InvalidInputError

try:
    from langgraph.store.base import (
        BaseStore,
        GetOp,
        Item,
        ListNamespacesOp,
        Op,
        PutOp,
        Result,
        SearchItem,
        SearchOp,
        TTLConfig,
        get_text_at_path,
    )
except ModuleNotFoundError as error:
    raise IntegrationMissingError(
        "recollect.contrib.langgraph needs LangGraph: pip install 'recollect[langgraph]'"
    ) from error

#: Where the items of a namespace live: one scope, or a rule.
Scope = str | Callable[[Namespace], str | None] | None


class RecollectStore(BaseStore):
    """Items of LangGraph as memories: durable, isolated, and found by meaning and by words.

    Items live in `scope` ("team/api", or a function of the namespace), the caller's own when not given. `fields` are
    the paths in values that are searched ("text", "facts[*].content"); all that is in a value when not given. `ttl` is
    LangGraph's configuration of how long items live. A store on an `AsyncRecollect` has the asynchronous methods only.
    """

    supports_ttl = True

    def __init__(
        self,
        client: Recollect | AsyncRecollect,
        *,
        scope: Scope = None,
        fields: Sequence[str] | None = None,
        ttl: TTLConfig | None = None,
    ) -> None:
        if isinstance(scope, str):
            ScopeName.parse(scope)
        if isinstance(fields, str):
            raise InvalidInputError(f"fields must be a list of paths, not the string {fields!r}")
        self.ttl_config = ttl
        self._face = client if isinstance(client, Recollect) else None
        self._client = client._async if isinstance(client, Recollect) else client
        self._scope = scope
        self._fields = fields

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """Do several things; what is read is as it was before what is written."""
        if self._face is None:
            raise InvalidInputError(
                "this store stands on an AsyncRecollect: use aget, aput, asearch, ..., or make it of a Recollect"
            )
        return self._face._portal.run(self._run(list(ops)))

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """Do several things; what is read is as it was before what is written."""
        given = list(ops)
        if self._face is None:
            return await self._run(given)
        # The client's connections belong to the loop of its portal.
        return await asyncio.to_thread(self._face._portal.run, self._run(given))

    async def _run(self, ops: Sequence[Op]) -> list[Result]:
        results: list[Result] = [None] * len(ops)
        puts: dict[tuple[Namespace, str], PutOp] = {}
        wanted: dict[int, GetOp] = {}
        for index, op in enumerate(ops):
            if isinstance(op, PutOp):
                puts[tuple(op.namespace), str(op.key)] = op
            elif isinstance(op, GetOp):
                wanted[index] = op
            elif isinstance(op, SearchOp):
                results[index] = list(await self._search(op))
            elif isinstance(op, ListNamespacesOp):
                results[index] = await self._namespaces(op)
            else:
                raise InvalidInputError(f"unknown operation {type(op).__name__}")
        if wanted:
            await self._get(wanted, results)
        if puts:
            await self._put(puts)
        return results

    # Reading --------------------------------------------------------------------------------------

    async def _get(self, wanted: Mapping[int, GetOp], results: list[Result]) -> None:
        """Put the wanted items among the results."""
        places = {index: self._address(tuple(op.namespace), str(op.key)) for index, op in wanted.items()}
        there = await self._at(places.values())
        for index, op in wanted.items():
            memory = next(iter(there.get(places[index], ())), None)
            if memory is not None:
                results[index] = Item(**_fields(memory))
                if op.refresh_ttl:
                    await self._refresh([memory])

    async def _search(self, op: SearchOp) -> list[SearchItem]:
        condition = self._below(op.namespace_prefix)
        condition.append(items.value_filter(op.filter or {}))
        if op.limit <= 0:
            return []
        if op.query:
            scored = await self._ranked(op, condition)
        else:
            listed = await list_all(self._client, op.offset + op.limit, filters={"$and": condition})
            scored = [(memory, None) for memory in listed[op.offset :]]
        if op.refresh_ttl:
            await self._refresh([memory for memory, _ in scored])
        return [SearchItem(**_fields(memory), score=score) for memory, score in scored]

    async def _ranked(
        self, op: SearchOp, condition: list[dict[str, Any]]
    ) -> list[tuple[Memory, float | None]]:
        """The best first. Nothing is left out for its score: who asks LangGraph's way expects `limit` items."""
        searchable = {"$and": [*condition, {f"{items.ROOT}.indexed": {"$ne": False}}]}
        limit = min(op.offset + op.limit, MAX_LIMIT)
        hits = await self._client.search(str(op.query), limit=limit, threshold=0.0, filters=searchable)
        best = sorted(hits, key=lambda hit: -hit.score)[op.offset :]
        memories = await memories_of(self._client, best)
        return [(memories[hit.id], hit.score) for hit in best if hit.id in memories]

    async def _namespaces(self, op: ListNamespacesOp) -> list[Namespace]:
        """Every item is looked at: a namespace is nothing but where items are."""
        conditions = [
            (condition.match_type, tuple(condition.path)) for condition in op.match_conditions or ()
        ]
        prefixes = [path for kind, path in conditions if kind == "prefix"]
        filters = {"$and": [*self._below(()), *(items.prefix_filter(path) for path in prefixes)]}
        namespaces = {
            items.item_of(memory.metadata)["namespace"]
            for memory in await list_all(self._client, None, filters=filters)
        }
        return items.select_namespaces(
            namespaces, conditions, max_depth=op.max_depth, limit=op.limit, offset=op.offset
        )

    def _below(self, prefix: Sequence[str]) -> list[dict[str, Any]]:
        """Conditions on items in a namespace and all below it."""
        conditions = [{f"{items.ROOT}.key": {"$exists": True}}, items.prefix_filter(prefix)]
        if not callable(self._scope) and (own := self._place(())) is not None:
            conditions.append({"scope": own})
        return conditions

    async def _refresh(self, memories: Sequence[Memory]) -> None:
        """Let items that live from their last use live on."""
        now = datetime.now(UTC)
        for memory in memories:
            end = items.refreshed(memory.metadata, memory.expires_at, now)
            if end is not None:
                await self._client.update(memory.id, expires_at=end)

    # Writing --------------------------------------------------------------------------------------

    async def _put(self, puts: Mapping[tuple[Namespace, str], PutOp]) -> None:
        now = datetime.now(UTC)
        changes: dict[tuple[str | None, str], dict[str, Any] | None] = {}
        for (namespace, key), op in puts.items():
            place = self._address(namespace, key)
            changes[place] = None if op.value is None else self._fields_of(namespace, key, op, place, now)
        for fields in changes.values():
            if fields is not None:
                make_draft(fields, now=now)  # one bad item refuses the whole batch: nothing is half stored
        there = await self._at(changes)
        fresh = []
        for place, fields in changes.items():
            known = there.get(place, [])
            if fields is not None and known:
                await self._client.update(
                    known[0].id,
                    text=fields["text"],
                    metadata=fields["metadata"],
                    expires_at=fields["expires_at"],
                )
                known = known[1:]  # the same address twice: two writers met, and the newest counts
            elif fields is not None:
                fresh.append(fields)
            for memory in known:
                # Many items come and go; the database's own vacuum cleans up after them.
                await self._client.delete(memory.id, vacuum=False)
        if fresh:
            report = await self._client.add_many(fresh)
            if report.errors:
                raise report.errors[0].to_error()

    def _fields_of(
        self, namespace: Namespace, key: str, op: PutOp, place: tuple[str | None, str], now: datetime
    ) -> dict[str, Any]:
        assert op.value is not None
        scope, address = place
        paths = self._fields if op.index is None else op.index
        texts: list[str] = []
        if paths is None:
            texts = [items.text_of(op.value)]
        elif paths is not False:
            texts = [text for path in paths for text in get_text_at_path(dict(op.value), path)]
        return {
            "text": "\n".join(text for text in texts if text.strip()) or key,
            "metadata": items.metadata_of(
                namespace, key, op.value, indexed=op.index is not False, ttl_minutes=op.ttl
            ),
            "source": address,
            # Equal texts of two keys are two items: turns are never merged.
            "conversation": address,
            "scope": scope,
            "expires_at": items.expiry(op.ttl, now),
        }

    # Places ---------------------------------------------------------------------------------------

    def _place(self, namespace: Namespace) -> str | None:
        """The scope of a namespace; None is the caller's own where only the server knows who that is."""
        named = self._scope(namespace) if callable(self._scope) else self._scope
        if named is not None:
            return named
        user = self._client.tenant_context.user_id
        return None if user is None else f"user/{user}"

    def _address(self, namespace: Namespace, key: str) -> tuple[str | None, str]:
        return self._place(namespace), items.address(namespace, key)

    async def _at(
        self, places: Iterable[tuple[str | None, str]]
    ) -> dict[tuple[str | None, str], list[Memory]]:
        """What is at some addresses, the newest first."""
        wanted = list(dict.fromkeys(places))
        by_place: dict[tuple[str | None, str], list[Memory]] = {}
        for start in range(0, len(wanted), BATCH):
            by_source = {source: scope for scope, source in wanted[start : start + BATCH]}
            for memory in await list_all(self._client, None, filters={"source": {"$in": list(by_source)}}):
                scope = by_source[str(memory.source)]
                if scope is None or scope == memory.scope:
                    by_place.setdefault((scope, str(memory.source)), []).append(memory)
        return by_place


def _fields(memory: Memory) -> dict[str, Any]:
    times = {"created_at": memory.created_at, "updated_at": memory.updated_at}
    return {**items.item_of(memory.metadata), **times}

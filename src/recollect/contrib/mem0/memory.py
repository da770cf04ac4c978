"""`AsyncMemory`, and `Memory`, which waits for it: mem0's methods, asked of a Recollect client."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from typing import Any, Self
from uuid import UUID

from recollect.client.async_client import UNCHANGED, AsyncRecollect
from recollect.client.portal import SyncFace, blocking
from recollect.client.sync_client import Recollect
from recollect.contrib.clients import list_all, memories_of
from recollect.contrib.mem0 import translation
from recollect.contrib.mem0.translation import (
    ID_LAYERS,
    PROCEDURAL,
    Identity,
    check_count,
    end_of,
    filters_of,
    messages_of,
    moment_of,
    own_metadata,
    settings_of,
)
from recollect.domain.ids import parse_id
from recollect.domain.memory import Memory as Stored
from recollect.domain.memory import Status
from recollect.domain.results import Inference
from recollect.domain.text import MAX_LIMIT
from recollect.errors import ForbiddenError, IncompatibleCallError, InvalidInputError, MemoryNotFoundError
from recollect.text.facts import read_fact

log = logging.getLogger(__name__)

_UNSET: Any = object()
#: Where this facade puts memories, and what `reset` empties.
_LAYERS = ("agent", "user", "session")
_DEFAULT_THRESHOLD = 0.1
#: Turns that a fact may stand behind.
_BEHIND = 5


class AsyncMemory:
    """mem0's `AsyncMemory` on a store of Recollect: the one of a `client`, or of the settings.

    A configuration may have a part `recollect` with settings (`home`, `url`, `api_key`, `model`, ...); what it says
    of vector stores, embedders and language models is not used.
    """

    def __init__(self, config: Any = None, *, client: AsyncRecollect | None = None) -> None:
        settings = settings_of(config, client)
        self._client = AsyncRecollect(settings=settings) if client is None else client
        self._owns = client is None
        self._closing: asyncio.Task[None] | None = None

    @classmethod
    def from_config(cls, config_dict: dict[str, Any]) -> Self:
        """One with the settings under `recollect` of a configuration."""
        return cls(config_dict)

    async def add(
        self,
        messages: Any,
        *,
        user_id: str | None = None,
        agent_id: str | None = None,
        run_id: str | None = None,
        metadata: dict[str, Any] | None = None,
        timestamp: Any = None,
        expiration_date: Any = None,
        infer: bool = True,
        memory_type: str | None = None,
        prompt: str | None = None,
        llm: Any = None,
    ) -> dict[str, Any]:
        """Remember messages; with `infer` also the facts in them. All of it is in the results, as `ADD`."""
        identity = Identity.check(user_id=user_id, agent_id=agent_id, run_id=run_id)
        if memory_type not in {None, PROCEDURAL}:
            raise IncompatibleCallError(f"memory_type {memory_type!r} is unknown; there is {PROCEDURAL!r}")
        if prompt is not None or llm is not None:
            log.warning("add: 'prompt' and 'llm' are not used; Recollect's own model is a setting")
        labels = {**own_metadata(metadata), **identity.labels}
        turns = messages_of(messages, labels)
        if not turns:
            return {"results": []}
        place: dict[str, Any] = {
            "scope": identity.scope,
            "created_at": moment_of(timestamp, "timestamp"),
            "expires_at": end_of(expiration_date),
        }
        if memory_type is not None and identity.agent_id is not None:
            text = "\n".join(f"{turn['name'] or turn['role']}: {turn['content']}" for turn in turns)
            marked = {**labels, "memory_type": PROCEDURAL}
            stored = await self._client.add(text, type="procedural", metadata=marked, **place)
            assert isinstance(stored, Stored)
            return {"results": [translation.derived(stored)]}
        client = self._for(identity.user_id)
        stored = await client.add(turns, conversation=identity.run_id, infer=infer, **place)
        if not isinstance(stored, Inference):
            assert isinstance(stored, list)
            return {"results": [translation.added(memory) for memory in stored]}
        return {"results": await self._inferred(stored, labels)}

    async def _inferred(self, inference: Inference, labels: Mapping[str, Any]) -> list[dict[str, Any]]:
        """What was said, what was derived from it, and what that retired."""
        results = [translation.added(memory) for memory in inference.memories]
        for fact in inference.facts:
            if labels:
                await self._client.update(fact.id, metadata={**labels, **fact.metadata})
            results.append(translation.derived(fact))
        for decision in inference.decisions:
            if decision.kind == "supersede" and decision.other_id is not None:
                fact = await self._client.get(decision.other_id)
                results.append(translation.retired(fact))
                results += await self._retire_sources(fact, decision.memory_id)
        return results

    async def _retire_sources(self, fact: Stored, by: UUID | None) -> list[dict[str, Any]]:
        """Retire what said a retired fact and nothing else: mem0 keeps facts alone, so old words would surprise."""
        if by is None:
            return []
        newer = [UUID(id) for id in (await self._client.get(by)).metadata.get("derived_from", ())]
        retired = []
        for id in map(UUID, fact.metadata.get("derived_from", ())):
            message = await self._find(id)
            if message is None or message.status is not Status.ACTIVE or not newer or id in newer:
                continue
            if read_fact(message.text, speaker=fact.subject, now=message.created_at) is not None:
                retired.append(translation.retired(await self._client.supersede(id, by=newer[-1])))
        return retired

    async def get(self, memory_id: Any) -> dict[str, Any] | None:
        """One memory, or None."""
        memory = await self._find(memory_id)
        return None if memory is None else {**translation.item(memory), "score": None}

    async def get_all(
        self,
        *,
        filters: dict[str, Any] | None = None,
        top_k: int = 20,
        show_expired: bool = False,
        **kwargs: Any,
    ) -> dict[str, Any]:
        """The newest memories that meet the filters, which name a user, an agent or a run."""
        conditions, wanted = _older(kwargs, filters, top_k, "get_all")
        condition = {"$and": [filters_of(conditions), {"status": "active"}]}
        memories = await list_all(self._client, wanted, filters=condition, include_superseded=show_expired)
        return {"results": [translation.item(memory) for memory in memories]}

    async def search(
        self,
        query: str,
        *,
        top_k: int = 20,
        filters: dict[str, Any] | None = None,
        threshold: float = _DEFAULT_THRESHOLD,
        rerank: bool = False,
        explain: bool = False,
        reference_date: Any = None,
        show_expired: bool = False,
        **kwargs: Any,
    ) -> dict[str, Any]:
        """What answers a query, the best first. Scores are Recollect's: 0.7 and above is relevant."""
        conditions, wanted = _older(kwargs, filters, top_k, "search")
        if show_expired:
            raise IncompatibleCallError(
                "what has expired is not searched; get_all(show_expired=True) lists it"
            )
        condition = filters_of(conditions)
        if not isinstance(query, str) or not query.strip():
            raise IncompatibleCallError("query must be a string that is not empty")
        if wanted == 0:
            return {"results": []}
        user = conditions.get("user_id")
        wish: dict[str, Any] = {
            # A fact may stand behind the turns it was read from, and is told before them.
            "limit": min(wanted + _BEHIND, MAX_LIMIT),
            "threshold": _DEFAULT_THRESHOLD if threshold is None else threshold,
            "filters": condition,
            "now": moment_of(reference_date, "reference_date"),
            "explain": explain,
        }
        try:
            hits = await self._for(user if isinstance(user, str) else None).search(query, **wish)
        except ForbiddenError:
            # Who may not speak for a user asks in the own name, and finds what is visible there.
            hits = await self._client.search(query, **wish)
        memories = await memories_of(self._client, hits, include_superseded=True)
        return {"results": translation.hits(hits, memories, explain=explain)[:wanted]}

    async def update(
        self,
        memory_id: Any,
        text: str | None = None,
        metadata: dict[str, Any] | None = None,
        expiration_date: Any = _UNSET,
        data: str | None = None,
    ) -> dict[str, str]:
        """Change a memory's text, add to its metadata, or say until when it is to be seen."""
        text = data if text is None else text
        if text is None and metadata is None and expiration_date is _UNSET:
            raise IncompatibleCallError("give at least one of text, metadata and expiration_date")
        memory = await self._get(memory_id)
        merged = UNCHANGED if metadata is None else {**memory.metadata, **own_metadata(metadata)}
        await self._client.update(
            memory.id,
            text=UNCHANGED if text is None else text,
            metadata=merged,
            expires_at=UNCHANGED if expiration_date is _UNSET else end_of(expiration_date),
        )
        return {"message": "Memory updated successfully!"}

    async def delete(self, memory_id: Any) -> dict[str, str]:
        """Erase a memory, its history too."""
        await self._client.delete((await self._get(memory_id)).id)
        return {"message": "Memory deleted successfully!"}

    async def delete_all(
        self, user_id: str | None = None, agent_id: str | None = None, run_id: str | None = None
    ) -> dict[str, str]:
        """Erase every memory of a user, an agent or a run, or of all that are named together."""
        identity = Identity.check(user_id=user_id, agent_id=agent_id, run_id=run_id)
        await self._client.delete(filters=filters_of(identity.filters))
        return {"message": "Memories deleted successfully!"}

    async def history(self, memory_id: Any) -> list[dict[str, Any]]:
        """What happened to a memory's text, the oldest first; nothing when it is erased."""
        memory = await self._find(memory_id)
        return [] if memory is None else translation.history(memory, await self._client.history(memory.id))

    async def reset(self) -> None:
        """Erase every memory of users, agents and sessions that this caller may change. What teams share stays."""
        await self._client.delete(layers=_LAYERS)

    async def chat(self, query: str) -> None:
        """Refused, as mem0 does: it names the call and does not offer it."""
        raise IncompatibleCallError("mem0 has no chat either; search, and ask a model with what is found")

    def close(self) -> asyncio.Task[None] | None:
        """Close the connections, unless the client was given; may be awaited."""
        if self._owns and self._closing is None:
            self._closing = asyncio.get_running_loop().create_task(self._client.close())
        return self._closing

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        if (closing := self.close()) is not None:
            await closing

    def _for(self, user_id: str | None) -> AsyncRecollect:
        """The store as a user asks it, whom "I" means then; only for those who may speak for that user."""
        context = self._client.tenant_context
        may = context.is_admin or self._client.settings.url is not None  # a server decides itself
        if user_id is None or user_id.strip() in {"*", context.user_id} or not may:
            return self._client
        return self._client.for_context(context.replace(user_id=user_id))

    async def _find(self, memory_id: Any) -> Stored | None:
        try:
            id: UUID = parse_id(memory_id)
        except InvalidInputError:
            return None
        try:
            return await self._client.get(id)
        except MemoryNotFoundError:
            return None

    async def _get(self, memory_id: Any) -> Stored:
        memory = await self._find(memory_id)
        if memory is None:
            raise IncompatibleCallError(f"no memory {memory_id!r}; give the 'id' of a result")
        return memory


def _older(
    given: Mapping[str, Any], filters: Mapping[str, Any] | None, top_k: int, method: str
) -> tuple[dict[str, Any], int]:
    """Filters and count with what mem0 before 1.0 took as arguments of their own: ids, and `limit`."""
    unknown = sorted(set(given) - {*ID_LAYERS, "limit"})
    if unknown:
        raise IncompatibleCallError(f"{method} does not take {unknown[0]!r}")
    ids = {name: given[name] for name in ID_LAYERS if given.get(name) is not None}
    limit = given.get("limit")
    return {**(filters or {}), **ids}, check_count(top_k if limit is None else limit, "top_k")


class Memory(SyncFace):
    """mem0's `Memory` on a store of Recollect: the one of a `client`, or of the settings.

    A configuration may have a part `recollect` with settings (`home`, `url`, `api_key`, `model`, ...); what it says
    of vector stores, embedders and language models is not used.
    """

    _async: AsyncMemory

    def __init__(self, config: Any = None, *, client: Recollect | None = None) -> None:
        settings = settings_of(config, client)
        self._client = Recollect(settings=settings) if client is None else client
        self._owns = client is None
        super().__init__(AsyncMemory(client=self._client._async), self._client._portal)

    @classmethod
    def from_config(cls, config_dict: dict[str, Any]) -> Self:
        """One with the settings under `recollect` of a configuration."""
        return cls(config_dict)

    def add(
        self,
        messages: Any,
        *,
        user_id: str | None = None,
        agent_id: str | None = None,
        run_id: str | None = None,
        metadata: dict[str, Any] | None = None,
        timestamp: Any = None,
        expiration_date: Any = None,
        infer: bool = True,
        memory_type: str | None = None,
        prompt: str | None = None,
    ) -> dict[str, Any]:
        """Remember messages; with `infer` also the facts in them. All of it is in the results, as `ADD`."""
        call = self._async.add(
            messages, user_id=user_id, agent_id=agent_id, run_id=run_id, metadata=metadata, timestamp=timestamp,
            expiration_date=expiration_date, infer=infer, memory_type=memory_type, prompt=prompt,
        )  # fmt: skip
        return self._portal.run(call)

    get = blocking(AsyncMemory.get)
    # Strictly, their further arguments may name one `self`.
    get_all = blocking(AsyncMemory.get_all)  # type: ignore[arg-type]
    search = blocking(AsyncMemory.search)  # type: ignore[arg-type]
    update = blocking(AsyncMemory.update)
    delete = blocking(AsyncMemory.delete)
    delete_all = blocking(AsyncMemory.delete_all)
    history = blocking(AsyncMemory.history)
    reset = blocking(AsyncMemory.reset)
    chat = blocking(AsyncMemory.chat)

    def close(self) -> None:
        """Close the connections, unless the client was given."""
        if self._owns:
            self._client.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

"""`RecollectMemory`: a memory for agents of AutoGen. Needs `autogen-core` (pip install autogen-core).

Before an agent asks its model, AutoGen asks its memories: what answers the last thing said is put before the model as a
message, and what is added is stored like any memory.
"""

from __future__ import annotations

import json
from typing import Any

from recollect.contrib.clients import Client, ask
from recollect.errors import IntegrationMissingError, InvalidInputError

try:
    from autogen_core.memory import (  # type: ignore[import-not-found, unused-ignore]
        Memory,
        MemoryContent,
        MemoryMimeType,
        MemoryQueryResult,
        UpdateContextResult,
    )
    from autogen_core.models import (  # type: ignore[import-not-found, unused-ignore]
        SystemMessage,
    )
except ModuleNotFoundError as error:
    raise IntegrationMissingError(
        "recollect.contrib.autogen needs AutoGen: pip install autogen-core"
    ) from error


class RecollectMemory(Memory):  # type: ignore[misc, unused-ignore]
    """Memories for an agent: `AssistantAgent("a", model_client=..., memory=[RecollectMemory(client)])`.

    They live in `scope` ("team/support"), the caller's own when not given. `max_tokens` bounds what an agent is told.
    """

    component_config_schema: Any = None

    def __init__(self, client: Client, *, scope: str | None = None, max_tokens: int = 1_000) -> None:
        self._client, self._scope, self._max_tokens = client, scope, max_tokens

    async def update_context(self, model_context: Any) -> Any:
        """Put what answers the last message before the model; nothing when nothing does."""
        messages = await model_context.get_messages()
        question = next(
            (message.content for message in reversed(messages) if isinstance(message.content, str)), ""
        )
        results = await self.query(question) if question.strip() else MemoryQueryResult(results=[])
        if results.results:
            known = await ask(
                self._client, "context", question, scope=self._scope, max_tokens=self._max_tokens
            )
            await model_context.add_message(SystemMessage(content=known.text))
        return UpdateContextResult(memories=results)

    async def query(self, query: Any, cancellation_token: Any = None, **kwargs: Any) -> Any:
        """What answers a question, the best first; `limit`, `threshold` and the like go to the search."""
        hits = await ask(self._client, "search", _words(query), scope=self._scope, **kwargs)
        return MemoryQueryResult(
            results=[
                MemoryContent(
                    content=hit.text,
                    mime_type=MemoryMimeType.TEXT,
                    metadata={**hit.metadata, "id": str(hit.id), "score": hit.score, "scope": hit.scope},
                )
                for hit in hits
            ]
        )

    async def add(self, content: Any, cancellation_token: Any = None) -> None:
        """Remember something; what is no text or JSON is refused."""
        await ask(self._client, "add", _words(content), metadata=content.metadata or {}, scope=self._scope)

    async def clear(self) -> None:
        """Erase what is in its scope."""
        if self._scope is None:
            raise InvalidInputError(
                "clear erases a whole scope: name it with RecollectMemory(client, scope=...)"
            )
        await ask(self._client, "delete", filters={"scope": self._scope})

    async def close(self) -> None:
        """Nothing to end: the client is its owner's."""


def _words(given: Any) -> str:
    content = given if isinstance(given, str) else given.content
    if isinstance(content, dict):
        return json.dumps(content, ensure_ascii=False)
    if not isinstance(content, str):
        raise InvalidInputError(f"a memory is text or JSON, not {type(content).__name__}")
    return content

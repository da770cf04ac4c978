"""`RecollectSession`: a session of the OpenAI Agents SDK that is remembered. Needs nothing beside Recollect.

The SDK asks a session for its items and hands it new ones; it is a protocol, so nothing of the SDK is imported. Each
item is a turn of a conversation: its words are found by searches like any memory's, and the item itself, which may be a
call of a tool, is in the turn's metadata and comes back as it was.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from recollect.contrib.clients import Client, ask, list_all
from recollect.domain.memory import Memory

#: The key of a turn's metadata under which the item stands.
ITEM = "agents_item"
Items = list[Any]


class RecollectSession:
    """The items of one session, in order: `await Runner.run(agent, "...", session=RecollectSession("trip", client))`.

    They live in `scope` ("team/support"), the caller's own when not given.
    """

    session_settings: Any = None

    def __init__(self, session_id: str, client: Client, *, scope: str | None = None) -> None:
        self.session_id = session_id
        self._client = client
        self._scope = scope

    async def get_items(self, limit: int | None = None) -> Items:
        """The items, or the last `limit` of them, the oldest first."""
        turns = await self._turns(limit)
        return [turn.metadata[ITEM] for turn in reversed(turns)]

    async def add_items(self, items: Sequence[Any]) -> None:
        """Keep items behind those that are there."""
        if not items:
            return
        messages = [
            {"role": _speaker(item), "content": _words(item), "metadata": {ITEM: dict(item)}}
            for item in items
        ]
        await ask(self._client, "add", messages, conversation=self.session_id, scope=self._scope)

    async def pop_item(self) -> Any | None:
        """Take the last item away; None when there is none."""
        turns = await self._turns(1)
        if not turns:
            return None
        await ask(self._client, "delete", turns[0].id)
        return turns[0].metadata[ITEM]

    async def clear_session(self) -> None:
        """Forget all of it, for good."""
        await ask(self._client, "delete", conversation=self.session_id, scope=self._scope)

    async def _turns(self, limit: int | None) -> list[Memory]:
        """The last turns that are items, the newest first."""
        turns = await list_all(
            self._client,
            limit,
            conversation=self.session_id,
            scope=self._scope,
            filters={f"metadata.{ITEM}": {"$exists": True}},
        )
        return sorted(turns, key=lambda turn: -(turn.position or 0))


def _speaker(item: Mapping[str, Any]) -> str:
    return str(item.get("role") or "tool")


def _words(item: Mapping[str, Any]) -> str:
    """What a person would read of an item: its text, or else all of it."""
    content = item.get("content")
    if isinstance(content, Sequence) and not isinstance(content, str | bytes):
        texts = [part.get("text") for part in content if isinstance(part, Mapping)]
        content = "\n".join(text for text in texts if isinstance(text, str))
    if isinstance(content, str) and content.strip():
        return content
    return json.dumps(dict(item), ensure_ascii=False, default=str)

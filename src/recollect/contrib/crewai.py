"""`RecollectMemory`: the memory of a crew of CrewAI. Needs `crewai` (pip install crewai).

A crew asks its memory before every task and remembers what came of it. CrewAI's own memory asks a model and an embedder
for both; this one asks neither. A crew's paths ("/crew/research") are kept with each memory, and a path finds what is
below it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from recollect.errors import IntegrationMissingError, MemoryNotFoundError

try:
    from crewai.memory.types import (  # type: ignore[import-not-found, unused-ignore]
        MemoryMatch,
        MemoryRecord,
        ScopeInfo,
    )
    from crewai.memory.unified_memory import (  # type: ignore[import-not-found, unused-ignore]
        Memory,
    )
    from pydantic import Field
except ModuleNotFoundError as error:
    raise IntegrationMissingError("recollect.contrib.crewai needs CrewAI: pip install crewai") from error

#: Where a record of a crew keeps what Recollect has no field for.
_KEPT = "crewai"


class RecollectMemory(Memory):  # type: ignore[misc, unused-ignore]
    """Memories for a crew: `Crew(agents=..., tasks=..., memory=RecollectMemory(client=client))`.

    They live in the scope `within` ("team/research"), the caller's own when not given.
    """

    client: Any = Field(exclude=True, repr=False)
    within: str | None = None

    def model_post_init(self, _: Any) -> None:
        """Keep records in Recollect."""
        self._storage = _Records(self.client, self.within)

    def remember(self, content: str, scope: str | None = None, **given: Any) -> Any:
        """Store something; None when the memory is read-only."""
        kept = self.remember_many([content], scope, **given)
        return kept[0] if kept else None

    def remember_many(
        self,
        contents: list[str],
        scope: str | None = None,
        categories: list[str] | None = None,
        metadata: dict[str, Any] | None = None,
        importance: float | None = None,
        source: str | None = None,
        private: bool = False,
        agent_role: str | None = None,
        root_scope: str | None = None,
    ) -> list[Any]:
        """Store several, each as a memory of its own; they can be recalled when this returns."""
        if self.read_only:
            return []
        path = _joined(root_scope or self.root_scope, scope)
        kept = _kept(path, categories or [], source, private)
        return [
            _record(
                self.client.add(
                    content,
                    scope=self.within,
                    importance=importance,
                    metadata={
                        **(metadata or {}),
                        **({"agent": agent_role} if agent_role else {}),
                        _KEPT: kept,
                    },
                )
            )
            for content in contents
        ]

    def extract_memories(self, content: str) -> list[str]:
        """What is worth remembering of a task: its result, in the agent's words."""
        result = content.rpartition("Result: ")[2].strip()
        return [result] if result else []

    def recall(
        self,
        query: str,
        scope: str | None = None,
        categories: list[str] | None = None,
        limit: int = 10,
        depth: str = "deep",
        source: str | None = None,
        include_private: bool = False,
    ) -> list[Any]:
        """What answers a question, the best first; nothing when nothing does."""
        wanted = _below(_joined(self.root_scope, scope), categories)
        hits = self.client.search(query, scope=self.within, filters=wanted or None, limit=limit)
        matches = [
            MemoryMatch(record=_record(hit), score=hit.score, match_reasons=["answers"]) for hit in hits
        ]
        return [
            match
            for match in matches
            if include_private or not match.record.private or match.record.source == source
        ]

    def update(self, record_id: str, content: str | None = None, **given: Any) -> Any:
        """Change a memory."""
        record = self._storage.get_record(record_id)
        if record is None:
            raise ValueError(f"Record not found: {record_id}")
        if self.read_only:
            return record
        changes = {name: value for name, value in {"content": content, **given}.items() if value is not None}
        changed = record.model_copy(update=changes)
        self._storage.update(changed)
        return changed


class _Records:
    """What CrewAI asks of a store beside searching: looking through it, and erasing."""

    def __init__(self, client: Any, within: str | None) -> None:
        self._client, self._within = client, within

    def get_record(self, record_id: str) -> Any:
        try:
            return _record(self._client.get(record_id))
        except MemoryNotFoundError:
            return None

    def update(self, record: Any) -> None:
        kept = _kept(record.scope, record.categories, record.source, record.private)
        self._client.update(
            record.id,
            text=record.content,
            importance=record.importance,
            metadata={**record.metadata, _KEPT: kept},
        )

    def list_records(self, scope_prefix: str | None = None, limit: int = 200, offset: int = 0) -> list[Any]:
        return list(self._all(scope_prefix))[offset : offset + limit]

    def count(self, scope_prefix: str | None = None) -> int:
        total: int = self._client.count(filters=self._condition(scope_prefix))
        return total

    def get_scope_info(self, scope: str) -> Any:
        records = list(self._all(scope))
        learned = [record.created_at for record in records]
        return ScopeInfo(
            path=scope,
            record_count=len(records),
            categories=sorted(self.list_categories(scope)),
            oldest_record=min(learned, default=None),
            newest_record=max(learned, default=None),
            child_scopes=self.list_scopes(scope),
        )

    def list_scopes(self, parent: str = "/") -> list[str]:
        depth = len(_ancestors(parent))
        paths = (_ancestors(record.scope) for record in self._all(parent))
        return sorted({path[depth] for path in paths if len(path) > depth})

    def list_categories(self, scope_prefix: str | None = None) -> dict[str, int]:
        return dict(Counter(name for record in self._all(scope_prefix) for name in record.categories))

    def delete(
        self,
        scope_prefix: str | None = None,
        categories: list[str] | None = None,
        record_ids: list[str] | None = None,
        older_than: datetime | None = None,
        metadata_filter: dict[str, Any] | None = None,
    ) -> int:
        wanted = {**self._condition(scope_prefix, categories), **(metadata_filter or {})}
        if record_ids is not None:
            wanted["id"] = {"$in": record_ids}
        if older_than is not None:
            moment = older_than if older_than.tzinfo else older_than.replace(tzinfo=UTC)
            wanted["created_at"] = {"$lt": moment.isoformat()}
        erased: int = self._client.delete(filters=wanted).memories
        return erased

    def reset(self, scope_prefix: str | None = None) -> None:
        self.delete(scope_prefix)

    def _condition(self, path: str | None, categories: Sequence[str] | None = None) -> dict[str, Any]:
        """What was remembered by a crew, and nothing beside it."""
        within = {"scope": self._within} if self._within else {}
        return {f"metadata.{_KEPT}.within": "/", **_below(path, categories), **within}

    def _all(self, path: str | None) -> Iterator[Any]:
        cursor = None
        while True:
            page = self._client.list(filters=self._condition(path), cursor=cursor, limit=500)
            yield from map(_record, page)
            if (cursor := page.next_cursor) is None:
                return


def _joined(*parts: str | None) -> str:
    words = [word for part in parts for word in (part or "").split("/") if word]
    return "/" + "/".join(words)


def _ancestors(path: str) -> list[str]:
    """A path and all above it: "/", "/crew", "/crew/research"."""
    words = [word for word in path.split("/") if word]
    return ["/" + "/".join(words[:size]) for size in range(len(words) + 1)]


def _kept(path: str, categories: Sequence[str], source: str | None, private: bool) -> dict[str, Any]:
    return {"within": _ancestors(path), "categories": list(categories), "source": source, "private": private}


def _below(path: str | None, categories: Sequence[str] | None) -> dict[str, Any]:
    wanted: dict[str, Any] = {}
    if path and path != "/":
        wanted[f"metadata.{_KEPT}.within"] = _joined(path)
    if categories:
        wanted["$or"] = [{f"metadata.{_KEPT}.categories": name} for name in categories]
    return wanted


def _record(memory: Any) -> Any:
    """A memory or hit as CrewAI knows it."""
    metadata = dict(memory.metadata)
    kept: Mapping[str, Any] = metadata.pop(_KEPT, {})
    return MemoryRecord(
        id=str(memory.id),
        content=memory.text,
        scope=(kept.get("within") or ["/"])[-1],
        categories=kept.get("categories") or [],
        metadata=metadata,
        importance=getattr(memory, "importance", 0.5),
        created_at=memory.created_at,
        last_accessed=memory.created_at,
        source=kept.get("source"),
        private=bool(kept.get("private")),
    )

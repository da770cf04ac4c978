"""What callers of mem0 get back, of what Recollect returned. Knows no client."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from datetime import timedelta
from typing import Any
from uuid import UUID, uuid5

from recollect.contrib.mem0.asked import ID_LAYERS
from recollect.domain.memory import Memory
from recollect.domain.results import HistoryEntry, Hit

#: Keys of metadata that stand beside it in a result.
_BESIDE = ("agent_id", "run_id", "actor_id", "role", "attributed_to")

#: Of two scores that differ by less, neither is the better answer.
_AS_GOOD = 0.1


def item(memory: Memory) -> dict[str, Any]:
    """One memory."""
    found: dict[str, Any] = {
        "id": str(memory.id),
        "memory": memory.text,
        "hash": hashlib.md5(memory.text.encode(), usedforsecurity=False).hexdigest(),
        "metadata": None,
        "created_at": memory.created_at.isoformat(),
        "updated_at": memory.updated_at.isoformat(),
    }
    layer, _, name = memory.scope.partition("/")
    found |= {key: name for key, of in ID_LAYERS.items() if of == layer}
    found |= {key: memory.metadata[key] for key in _BESIDE if key in memory.metadata}
    if memory.expires_at is not None:
        last = memory.expires_at - timedelta(microseconds=1)
        found["expiration_date"] = last.date().isoformat()
    rest = {key: value for key, value in memory.metadata.items() if key not in _BESIDE}
    if rest:
        found["metadata"] = rest
    return found


def hits(found: Iterable[Hit], memories: Mapping[UUID, Memory], *, explain: bool) -> list[dict[str, Any]]:
    """What a search found, the best first: a fact before the turns it was read from, what is outdated last."""
    there = [hit for hit in found if hit.id in memories]  # others were erased in this moment
    near = max((hit.score for hit in there), default=0.0) - _AS_GOOD

    def order(hit: Hit) -> tuple[bool, bool, float]:
        fact = "derived_from" in memories[hit.id].metadata and hit.score >= near
        return hit.outdated, not fact, -hit.score

    told = []
    for hit in sorted(there, key=order):
        one = {**item(memories[hit.id]), "score": hit.score}
        if explain and hit.explanation is not None:
            one["score_details"] = dict(hit.explanation.signals)
        told.append(one)
    return told


def added(memory: Memory) -> dict[str, Any]:
    """What was said, and is kept now."""
    return {
        **derived(memory),
        "actor_id": memory.metadata.get("actor_id"),
        "role": memory.metadata.get("role"),
    }


def derived(memory: Memory) -> dict[str, Any]:
    """A memory that is new."""
    return {"id": str(memory.id), "memory": memory.text, "event": "ADD"}


def retired(memory: Memory) -> dict[str, Any]:
    """A memory that is believed no longer, in favour of a new one."""
    return {"id": str(memory.id), "memory": memory.text, "event": "DELETE"}


def history(memory: Memory, entries: Sequence[HistoryEntry]) -> list[dict[str, Any]]:
    """What happened to a memory's text, the oldest first; uses and changes of other fields are left out."""
    changes = [entry for entry in entries if entry.event == "updated" and "text" in (entry.before or {})]
    texts = [str((entry.before or {})["text"]) for entry in changes] + [memory.text]
    created = memory.created_at.isoformat()
    told: list[dict[str, Any]] = []

    def tell(event: str, old: str | None, new: str | None, updated_at: str) -> None:
        told.append(
            {
                "id": str(uuid5(memory.id, str(len(told)))),
                "memory_id": str(memory.id),
                "old_memory": old,
                "new_memory": new,
                "event": event,
                "created_at": created,
                "updated_at": updated_at,
                "is_deleted": event == "DELETE",
                "actor_id": memory.metadata.get("actor_id"),
                "role": memory.metadata.get("role"),
            }
        )

    tell("ADD", None, texts[0], created)
    at = 0
    for entry in entries:
        when = entry.at.isoformat()
        if entry in changes:
            if texts[at] != texts[at + 1]:
                tell("UPDATE", texts[at], texts[at + 1], when)
            at += 1
        elif entry.event == "superseded":
            tell("DELETE", texts[at], None, when)
        elif entry.event in {"restored", "revived"}:
            tell("ADD", None, texts[at], when)
    return told

"""What callers of mem0 pass, as Recollect takes it: whose a memory is, filters, messages, dates, configurations.

Knows no client. A memory of a user lives in the scope `user/NAME`, of an agent alone in `agent/NAME`, of a run alone in
`session/NAME`; the ids of agent and run are in its metadata besides, so that they can be asked for together.
"""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from typing import Any
from uuid import UUID, uuid5

from recollect.config import Settings
from recollect.domain.filters import MAX_VALUES
from recollect.domain.memory import Memory
from recollect.domain.results import HistoryEntry, Hit
from recollect.errors import IncompatibleCallError

log = logging.getLogger(__name__)

#: An id and the layer whose scopes carry it.
ID_LAYERS: Mapping[str, str] = {"user_id": "user", "agent_id": "agent", "run_id": "session"}
_IDENTITY_KEYS = frozenset({*ID_LAYERS, "actor_id"})
_OPERATORS = {"eq": "$eq", "ne": "$ne", "in": "$in", "gt": "$gt", "gte": "$gte", "lt": "$lt", "lte": "$lte"}
PROCEDURAL = "procedural_memory"
#: What mem0's configuration has and Recollect does not need.
_UNUSED = ("vector_store", "llm", "embedder", "graph_store", "history_db_path", "reranker", "custom_instructions",
           "custom_fact_extraction_prompt", "custom_update_memory_prompt")  # fmt: skip
_ANY = "*"


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    """Whose a memory is; at least one id is there."""

    user_id: str | None = None
    agent_id: str | None = None
    run_id: str | None = None

    @classmethod
    def check(cls, **given: Any) -> Identity:
        """Read the ids of a call."""
        ids = {name: check_id(given.get(name), name) for name in ID_LAYERS}
        if not any(ids.values()):
            raise IncompatibleCallError("at least one of 'user_id', 'agent_id' and 'run_id' must be given")
        return cls(**ids)

    @property
    def scope(self) -> str:
        """Where the memory lives."""
        name, value = next((name, value) for name in ID_LAYERS if (value := getattr(self, name)))
        return f"{ID_LAYERS[name]}/{value}"

    @property
    def labels(self) -> dict[str, str]:
        """What its scope does not say."""
        ids = {"agent_id": self.agent_id, "run_id": self.run_id}
        return {name: value for name, value in ids.items() if value}

    @property
    def filters(self) -> dict[str, str]:
        """The same as a filter of mem0."""
        return {name: value for name in ID_LAYERS if (value := getattr(self, name))}


def check_id(value: object, name: str) -> str | None:
    """An id without surrounding blanks; numbers are taken as text."""
    if value is None:
        return None
    text = str(value).strip()
    if not text or any(letter.isspace() for letter in text):
        raise IncompatibleCallError(f"{name} {value!r} is empty or has blanks in it; give an id without any")
    return text


def own_metadata(metadata: Mapping[str, Any] | None) -> dict[str, Any]:
    """A caller's metadata. Whose a memory is can't be said there, as in mem0."""
    if metadata is None:
        return {}
    if not isinstance(metadata, Mapping):
        raise IncompatibleCallError(f"metadata must be a dict, not {type(metadata).__name__}")
    for key in _IDENTITY_KEYS & set(metadata):
        log.warning("metadata[%r] is left out: ids are given as arguments", key)
    return {key: value for key, value in metadata.items() if key not in _IDENTITY_KEYS}


def check_count(value: object, name: str) -> int:
    """How many results are wanted."""
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise IncompatibleCallError(f"{name} {value!r} is not a whole number from 0")
    return value


def moment_of(value: object, name: str) -> datetime | str | None:
    """A point in time as mem0 takes it: seconds since 1970, a date, a datetime, or ISO 8601 text."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        try:
            return datetime.fromtimestamp(value, tz=UTC)
        except (OverflowError, OSError, ValueError):
            raise IncompatibleCallError(f"{name} {value!r} is not a number of seconds since 1970") from None
    if isinstance(value, date) and not isinstance(value, datetime):
        return datetime.combine(value, time(), tzinfo=UTC)
    if value is None or isinstance(value, datetime | str):
        return value
    raise IncompatibleCallError(f"{name} {value!r} is not a point in time")


def end_of(value: object) -> datetime | None:
    """When a memory expires that is to be seen up to and with a date: as the day after it begins."""
    if value is None:
        return None
    if isinstance(value, datetime):
        value = value.date()
    if isinstance(value, str):
        try:
            value = date.fromisoformat(value)
        except ValueError:
            raise IncompatibleCallError(
                f"expiration_date {value!r} is not a date; write it as 2026-05-08"
            ) from None
    if not isinstance(value, date):
        raise IncompatibleCallError(f"expiration_date {value!r} is not a date; write it as '2026-05-08'")
    return datetime.combine(value + timedelta(days=1), time(), tzinfo=UTC)


# Messages -----------------------------------------------------------------------------------------


def messages_of(messages: object, shared: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Messages as `add` of the client takes them, each with the metadata; what the system said is left out."""
    given = messages
    if isinstance(given, str):
        given = [{"role": "user", "content": given}]
    elif isinstance(given, Mapping):
        given = [given]
    if not isinstance(given, Sequence) or isinstance(given, bytes):
        raise IncompatibleCallError(
            f"messages must be str, dict or a list of dicts, not {type(given).__name__}"
        )
    turns = []
    for index, message in enumerate(given):
        if not isinstance(message, Mapping) or not isinstance(message.get("role"), str):
            raise IncompatibleCallError(
                f"message {index} must be a dict with 'role' and 'content', got {message!r}"
            )
        if message["role"] == "system":
            continue
        metadata = {**shared, "role": message["role"]}
        if message.get("name"):
            metadata["actor_id"] = message["name"]
        turns.append(
            {
                "role": message["role"],
                "name": message.get("name"),
                "content": _text(message.get("content"), index),
                "metadata": metadata,
            }
        )
    return turns


def _text(content: object, index: int) -> Any:
    """A message's text; of a message in parts, the parts that are text."""
    if not isinstance(content, list):
        return content
    for part in content:
        if not isinstance(part, Mapping) or part.get("type") != "text":
            raise IncompatibleCallError(
                f"message {index} has a part that is no text, which can't be remembered: {part!r}"
            )
    return "\n".join(str(part.get("text", "")) for part in content)


# Filters ------------------------------------------------------------------------------------------


def filters_of(raw: Mapping[str, Any] | None) -> dict[str, Any]:
    """A filter of mem0 as one of Recollect. At least one id must be in it."""
    given = dict(raw or {})
    for name in ID_LAYERS:
        if isinstance(given.get(name), str | int):
            given[name] = check_id(given[name], name)
    if not any(given.get(name) for name in ID_LAYERS):
        raise IncompatibleCallError(
            "filters must name at least one of user_id, agent_id and run_id: filters={'user_id': 'ana'}"
        )
    return _all(given)


def _all(given: object) -> dict[str, Any]:
    if not isinstance(given, Mapping):
        raise IncompatibleCallError(f"a filter must be a dict, got {given!r}")
    return {"$and": [_part(str(key), value) for key, value in given.items()]}


def _part(key: str, value: Any) -> dict[str, Any]:
    if key in {"AND", "OR", "NOT"}:
        if not isinstance(value, list) or not value:
            raise IncompatibleCallError(f"{key} takes a list of filters, got {value!r}")
        parts = [_all(part) for part in value]
        return {"$not": {"$or": parts}} if key == "NOT" else {f"${key.lower()}": parts}
    if key in ID_LAYERS:
        return _whose(key, value)
    where = key if key == "created_at" else f"metadata.{key}"
    if value == _ANY:
        return {where: {"$exists": True}}
    if not isinstance(value, Mapping):
        return {where: value}
    parts = []
    for name, operand in value.items():
        if name == "nin":
            parts.append({"$not": {where: {"$in": operand}}})
        elif name in _OPERATORS:
            parts.append({where: {_OPERATORS[name]: operand}})
        else:
            known = ", ".join([*_OPERATORS, "nin"])
            raise IncompatibleCallError(f"operator {name!r} on {key!r} is not there; operators are {known}")
    return {"$and": parts}


def _whose(name: str, value: Any) -> dict[str, Any]:
    """A condition on an id: on the scope, and for agents and runs on the label."""
    if value == _ANY:
        parts: list[dict[str, Any]] = [{"layer": ID_LAYERS[name]}]
        if name != "user_id":
            parts.append({f"metadata.{name}": {"$exists": True}})
        return {"$or": parts}
    operator, operand = "eq", value
    if isinstance(value, Mapping):
        if len(value) != 1:
            raise IncompatibleCallError(f"a condition on {name} has one operator, got {dict(value)!r}")
        [(operator, operand)] = value.items()
    if operator not in {"eq", "ne", "in", "nin"}:
        raise IncompatibleCallError(
            f"operator {operator!r} makes no sense on {name}; operators are eq, ne, in, nin"
        )
    values = operand if operator in {"in", "nin"} else [operand]
    if not isinstance(values, list | tuple | set) or len(values) > MAX_VALUES:
        raise IncompatibleCallError(
            f"{operator} on {name} takes a list of at most {MAX_VALUES:,} ids, got {operand!r}"
        )
    ids = [check_id(value, name) for value in values]
    parts = [{"scope": {"$in": [f"{ID_LAYERS[name]}/{id_}" for id_ in ids]}}]
    if name != "user_id":
        parts.append({f"metadata.{name}": {"$in": ids}})
    any_of = {"$or": parts}
    return {"$not": any_of} if operator in {"ne", "nin"} else any_of


# Configurations -----------------------------------------------------------------------------------


def settings_of(config: Any, client: object) -> Settings | None:
    """The settings for a client, where none is given: the part `recollect` of a configuration.

    Names what of mem0's own is not used.
    """
    given = _section(config)
    if client is None:
        return Settings.load(**given)
    if given:
        raise IncompatibleCallError("give a client or settings for one, not both")
    return None


def _section(config: Any) -> dict[str, Any]:
    if config is None:
        return {}
    dump = getattr(config, "model_dump", None)
    given = dump(exclude_unset=True) if callable(dump) else config
    if not isinstance(given, Mapping):
        raise IncompatibleCallError(f"a configuration is a dict, not {type(given).__name__}")
    unknown = sorted(set(given) - {*_UNUSED, "recollect", "version"}, key=str)
    if unknown:
        raise IncompatibleCallError(
            f"unknown part {unknown[0]!r} of a configuration; Recollect's settings stand under 'recollect'"
        )
    unused = [name for name in _UNUSED if given.get(name)]
    if unused:
        log.warning("not used by Recollect: %s; its settings stand under 'recollect'", ", ".join(unused))
    section = given.get("recollect") or {}
    if not isinstance(section, Mapping):
        raise IncompatibleCallError(f"'recollect' of a configuration must be a dict, not {section!r}")
    return dict(section)


#: Keys of metadata that stand beside it in a result.
_BESIDE = ("agent_id", "run_id", "actor_id", "role", "attributed_to")

#: Of two scores that differ by less, neither is the better answer.
_AS_GOOD = 0.1


def item(memory: Memory) -> dict[str, Any]:
    """One memory."""
    record: dict[str, Any] = {
        "id": str(memory.id),
        "memory": memory.text,
        "hash": hashlib.md5(memory.text.encode(), usedforsecurity=False).hexdigest(),
        "metadata": None,
        "created_at": memory.created_at.isoformat(),
        "updated_at": memory.updated_at.isoformat(),
    }
    layer, _, name = memory.scope.partition("/")
    record |= {key: name for key, of in ID_LAYERS.items() if of == layer}
    record |= {key: memory.metadata[key] for key in _BESIDE if key in memory.metadata}
    if memory.expires_at is not None:
        last = memory.expires_at - timedelta(microseconds=1)
        record["expiration_date"] = last.date().isoformat()
    rest = {key: value for key, value in memory.metadata.items() if key not in _BESIDE}
    if rest:
        record["metadata"] = rest
    return record


def hits(results: Iterable[Hit], memories: Mapping[UUID, Memory], *, explain: bool) -> list[dict[str, Any]]:
    """What a search found, the best first: a fact before the turns it was read from, what is outdated last."""
    there = [hit for hit in results if hit.id in memories]  # others were erased in this moment
    near = max((hit.score for hit in there), default=0.0) - _AS_GOOD

    def order(hit: Hit) -> tuple[bool, bool, float]:
        fact = "derived_from" in memories[hit.id].metadata and hit.score >= near
        return hit.outdated, not fact, -hit.score

    items = []
    for hit in sorted(there, key=order):
        entry = {**item(memories[hit.id]), "score": hit.score}
        if explain and hit.explanation is not None:
            entry["score_details"] = dict(hit.explanation.signals)
        items.append(entry)
    return items


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
    records: list[dict[str, Any]] = []

    def tell(event: str, old: str | None, new: str | None, updated_at: str) -> None:
        records.append(
            {
                "id": str(uuid5(memory.id, str(len(records)))),
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
    return records

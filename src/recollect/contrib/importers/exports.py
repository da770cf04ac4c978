"""Reads what other packages write to JSON.

- mem0: the JSON of `get_all` (of the package or the platform), or its history database. Memories go where
  `recollect.contrib.mem0` would have put them, so that the facade finds them. The history database says no users: its
  memories are the caller's own, with every earlier text.
- Graphiti and Zep: edges (`[edge.model_dump(mode="json") for edge in edges]`), each a fact with when it was true.
- Letta: passages of an archive and blocks of a memory (`[passage.model_dump(mode="json") for passage in passages]`).
- LangMem: items of its store (`[item.dict() for item in store.search(namespace)]`).
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping, Sequence
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

from recollect.contrib.importers.entry import (
    Entries,
    Source,
    imported_id,
    iso_of,
    load_bytes,
    load_json,
    metadata_of,
    name_of,
    read_entries,
    source_of,
    time_of,
)
from recollect.contrib.mem0.translation import ID_LAYERS, PROCEDURAL, Identity, check_id, end_of
from recollect.domain.ids import parse_id
from recollect.errors import InvalidInputError

_SQLITE = b"SQLite format 3\x00"
#: Keys of an item that become fields of a memory, or that the store makes itself.
_FIELDS = frozenset({"id", "memory", "text", "hash", "score", "created_at", "updated_at", "metadata", "user_id",
                     "expiration_date", "\0changes"})  # fmt: skip
_HISTORY_COLUMNS = "id, memory_id, old_memory, new_memory, event, created_at, updated_at, is_deleted"
#: Under this an item from the history database has its changes.
_CHANGES = "\0changes"
#: Under these an export may have its list.
_LISTS = ("edges", "facts", "passages", "blocks", "items", "results")


def open_mem0(source: Source) -> Entries:
    """The entries of an export of mem0."""
    data = load_bytes(source)
    if data.startswith(_SQLITE):
        if isinstance(source, bytes):
            raise InvalidInputError("a history database must be named as a file")
        return partial(read_entries, _read_history(Path(source)), _memory)
    document = load_json(data)
    items = _list_in(document, ("results", "memories"))
    if items is None and isinstance(document, Mapping) and "memory" in document:
        items = [document]
    if items is None:
        raise InvalidInputError(
            "this is no export of mem0: write json.dumps(memory.get_all(filters={'user_id': ...}, top_k=100_000))"
        )
    return partial(read_entries, items, _memory)


def open_export(package: str, source: Source) -> Entries:
    """The entries of an export that is a list of one kind of items."""
    items = _list_in(load_json(load_bytes(source)), _LISTS)
    if items is None:
        raise InvalidInputError(
            f"this is no export of {package}: it must be a JSON list, see docs/integrations.md"
        )
    return partial(read_entries, items, _READERS[package])


def _list_in(document: Any, keys: Sequence[str]) -> list[Any] | None:
    """The items of a document: a list, or an object that has one under any of the keys."""
    if isinstance(document, Mapping):
        document = next((document[key] for key in keys if isinstance(document.get(key), list)), None)
    return document if isinstance(document, list) else None


def _memory(item: Mapping[str, Any]) -> dict[str, Any]:
    """A memory of mem0."""
    if not isinstance(item.get("id"), str) or not item["id"].strip():
        raise InvalidInputError("the entry has no id")
    metadata = metadata_of(item)
    ids = {name: check_id(item.get(name), name) for name in ID_LAYERS}
    beside = {key: value for key, value in item.items() if key not in _FIELDS and value is not None}
    end = end_of(item.get("expiration_date"))
    return {
        "id": str(_id(item["id"])),
        "text": item.get("memory", item.get("text")),
        "type": "procedural" if metadata.get("memory_type") == PROCEDURAL else "episodic",
        "metadata": {**metadata, **beside},
        "source": source_of("mem0", item["id"]),
        "created_at": iso_of(item, "created_at"),
        "updated_at": iso_of(item, "updated_at"),
        "scope": Identity(**ids).scope if any(ids.values()) else None,
        "conversation": ids["run_id"],
        "expires_at": None if end is None else end.isoformat(),
        "history": [_change(change) for change in item.get(_CHANGES, ())] or None,
    }


def _id(text: str) -> Any:
    """mem0's ids are UUIDs; what is none gets one."""
    try:
        return parse_id(text)
    except InvalidInputError:
        return imported_id(f"mem0:{text}")


def _change(change: Mapping[str, Any]) -> dict[str, Any]:
    """A line of history: what the memory said before."""
    moment = time_of(change["updated_at"] or change["created_at"], "updated_at")
    if moment is None:
        raise InvalidInputError("a change in its history has no time")
    return {
        "id": str(_id(str(change["id"]))),
        "event": "updated",
        "at": moment.isoformat(),
        "before": {"text": change["old_memory"]},
    }


def _read_history(path: Path) -> list[dict[str, Any]]:
    """Memories as the history database left them, each with its changes; deleted ones are gone."""
    try:
        # Read-only: an import changes nothing of what it imports.
        with closing(sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)) as connection:
            connection.row_factory = sqlite3.Row
            changes = connection.execute(f"select {_HISTORY_COLUMNS} from history order by rowid").fetchall()  # noqa: S608
    except sqlite3.Error as error:
        raise InvalidInputError(f"{str(path)!r} is no history database of mem0: {error}") from error
    memories: dict[str, dict[str, Any]] = {}
    for change in changes:
        id = str(change["memory_id"])
        if change["event"] == "DELETE" or change["is_deleted"]:
            memories.pop(id, None)
            continue
        memory = memories.setdefault(id, {"id": id, "created_at": change["created_at"], _CHANGES: []})
        if change["event"] == "UPDATE":
            memory[_CHANGES].append(dict(change))
        at = change["updated_at"] or change["created_at"]
        memory |= {"memory": change["new_memory"], "updated_at": at}
    return list(memories.values())


def _known(package: str, item: Mapping[str, Any]) -> dict[str, Any]:
    """Its id, if it has one, and where it came from."""
    name = name_of(item)
    if not name:
        return {}
    return {"id": str(imported_id(f"{package}:{name}")), "source": source_of(package, name)}


def _edge(item: Mapping[str, Any]) -> dict[str, Any]:
    """A fact of a graph; one that ended keeps until when it was true."""
    kept = {key: item[key] for key in ("name", "fact_name", "group_id", "attributes") if item.get(key)}
    return {
        **_known("graphiti", item),
        "text": item.get("fact"),
        "created_at": iso_of(item, "created_at"),
        "valid_from": iso_of(item, "valid_at"),
        "valid_to": iso_of(item, "invalid_at"),
        "metadata": kept or None,
    }


def _passage(item: Mapping[str, Any]) -> dict[str, Any]:
    """A passage of an archive, or a block with its label."""
    text = item.get("text")
    if text is None and item.get("value"):
        text = f"{item.get('label') or 'memory'}: {item['value']}"
    kept = {**(item.get("metadata") or {}), **({"tags": item["tags"]} if item.get("tags") else {})}
    return {
        **_known("letta", item),
        "text": text,
        "created_at": iso_of(item, "created_at"),
        "metadata": kept or None,
    }


def _stored(item: Mapping[str, Any]) -> dict[str, Any]:
    """An item of LangMem's store: what was learned, in the words of its schema."""
    value = item.get("value")
    content = value.get("content", value) if isinstance(value, Mapping) else value
    if isinstance(content, Mapping) and isinstance(content.get("content"), str) and len(content) == 1:
        content = content["content"]
    space = [str(part) for part in item.get("namespace") or ()]
    kind = value.get("kind") if isinstance(value, Mapping) else None
    return {
        **_known("langmem", {"key": "/".join((*space, str(item["key"])))} if item.get("key") else {}),
        "text": content
        if isinstance(content, str) or content is None
        else json.dumps(content, ensure_ascii=False),
        "created_at": iso_of(item, "created_at"),
        "metadata": {"namespace": space, **({"kind": kind} if kind else {})},
    }


_READERS = {"graphiti": _edge, "letta": _passage, "langmem": _stored}

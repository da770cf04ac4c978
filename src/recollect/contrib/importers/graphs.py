"""Reads what Graphiti and Zep, Letta, and LangMem keep, as their own packages write it to JSON.

- Graphiti and Zep: edges (`[edge.model_dump(mode="json") for edge in edges]`), each a fact with when it was true.
- Letta: passages of an archive and blocks of a memory (`[one.model_dump(mode="json") for one in passages]`).
- LangMem: items of its store (`[item.dict() for item in store.search(namespace)]`).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from recollect.contrib.importers.entry import (
    Entries,
    Entry,
    Source,
    imported_id,
    iso_of,
    load_bytes,
    load_json,
    source_of,
)
from recollect.errors import InvalidInputError, RecollectError

Read = Callable[[Mapping[str, Any]], dict[str, Any]]
#: Under these an export may have its list.
_LISTS = ("edges", "facts", "passages", "blocks", "items", "results")


def _opened(package: str, read: Read, source: Source) -> Entries:
    document = load_json(load_bytes(source))
    if isinstance(document, Mapping):
        document = next((document[key] for key in _LISTS if isinstance(document.get(key), list)), None)
    if not isinstance(document, list):
        raise InvalidInputError(
            f"this is no export of {package}: it must be a JSON list, see docs/integrations.md"
        )
    items: list[Any] = document

    def entries() -> Iterator[Entry]:
        for number, item in enumerate(items, 1):
            line: Mapping[str, Any] | RecollectError
            try:
                if not isinstance(item, Mapping):
                    raise InvalidInputError(f"an entry must be an object, not {type(item).__name__}")
                line = {name: value for name, value in read(item).items() if value is not None}
            except RecollectError as error:
                line = error
            yield Entry(number=number, name=_name(item), line=line)

    return entries


def _name(item: Any) -> str:
    """What it is called where it comes from."""
    if not isinstance(item, Mapping):
        return ""
    return str(next((item[key] for key in ("uuid", "uuid_", "id", "key") if item.get(key)), ""))


def _known(package: str, item: Mapping[str, Any]) -> dict[str, Any]:
    """Its id, if it has one, and where it came from."""
    name = _name(item)
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


def open_graphiti(source: Source) -> Entries:
    """The facts of a graph of Graphiti or Zep."""
    return _opened("graphiti", _edge, source)


def open_letta(source: Source) -> Entries:
    """Passages and blocks of Letta."""
    return _opened("letta", _passage, source)


def open_langmem(source: Source) -> Entries:
    """Items of LangMem's store."""
    return _opened("langmem", _stored, source)

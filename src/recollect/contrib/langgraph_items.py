"""The form in which an item of LangGraph is a memory. Pure: knows neither LangGraph nor a client.

Metadata: `{"langgraph": {"namespace": {"0": "users", "1": "ana"}, "key": ..., "value": {...}}}`. A namespace is an
object by depth, so that a filter can ask for its beginning.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from recollect.errors import InvalidFilterError, InvalidInputError

Namespace = tuple[str, ...]

_KEY = "langgraph"
#: Where an item is, in filters.
ROOT = f"metadata.{_KEY}"
_OPERATORS = frozenset({"$eq", "$ne", "$gt", "$gte", "$lt", "$lte"})
_ANY = "*"
#: A reading moves the end of an item only when this much of its time is over: every change leaves a line of history.
_REFRESH_AFTER = 0.05
_SECONDS_PER_MINUTE = 60


def address(namespace: Namespace, key: str) -> str:
    """What tells an item from every other, short enough for the index on sources."""
    path = json.dumps([list(namespace), key])
    return f"{_KEY}:{hashlib.sha256(path.encode()).hexdigest()[:40]}"


def metadata_of(
    namespace: Namespace, key: str, value: Mapping[str, Any], *, indexed: bool, ttl_minutes: float | None
) -> dict[str, Any]:
    """An item as metadata."""
    if not namespace or not all(isinstance(label, str) for label in namespace):
        raise InvalidInputError(f"a namespace has labels, and they are strings; got {namespace!r}")
    if not isinstance(value, Mapping):
        raise InvalidInputError(f"a value must be a dict, not {type(value).__name__}")
    item: dict[str, Any] = {
        "namespace": {str(depth): label for depth, label in enumerate(namespace)},
        "key": key,
        "value": dict(value),
    }
    if not indexed:
        item["indexed"] = False
    if ttl_minutes is not None:
        item["ttl_minutes"] = ttl_minutes
    return {_KEY: item}


def item_of(metadata: Mapping[str, Any]) -> dict[str, Any]:
    """Namespace, key and value of an item."""
    item = metadata[_KEY]
    labels: Mapping[str, str] = item["namespace"]
    namespace = tuple(labels[str(depth)] for depth in range(len(labels)))
    return {"namespace": namespace, "key": str(item["key"]), "value": dict(item["value"])}


def text_of(value: Mapping[str, Any]) -> str:
    """All that a value says, a line for each part; of a single part, just that."""
    parts = list(_parts(value, ""))
    if len(parts) == 1:
        return parts[0][1]
    return "\n".join(f"{name}: {text}" if name else text for name, text in parts)


def _parts(value: Any, name: str) -> Iterable[tuple[str, str]]:
    if isinstance(value, Mapping):
        for key, part in value.items():
            yield from _parts(part, str(key))
    elif isinstance(value, list | tuple):
        for part in value:
            yield from _parts(part, name)
    elif isinstance(value, bool) or value is None:
        yield name, json.dumps(value)
    elif str(value).strip():
        yield name, str(value)


# Time ---------------------------------------------------------------------------------------------


def expiry(ttl_minutes: float | None, now: datetime) -> datetime | None:
    """When an item ends."""
    if ttl_minutes is None:
        return None
    if isinstance(ttl_minutes, bool) or not isinstance(ttl_minutes, int | float) or not ttl_minutes > 0:
        raise InvalidInputError(f"ttl {ttl_minutes!r} is not a number of minutes above 0")
    try:
        return now + timedelta(minutes=ttl_minutes)
    except OverflowError:
        raise InvalidInputError(f"ttl {ttl_minutes!r} is more minutes than there will be") from None


def refreshed(metadata: Mapping[str, Any], ends: datetime | None, now: datetime) -> datetime | None:
    """The new end of an item that is used now; None when it has none, or hardly another one."""
    ttl_minutes = metadata[_KEY].get("ttl_minutes")
    if ttl_minutes is None or ends is None:
        return None
    left = (ends - now).total_seconds() / (ttl_minutes * _SECONDS_PER_MINUTE)
    return expiry(ttl_minutes, now) if left < 1 - _REFRESH_AFTER else None


# Filters ------------------------------------------------------------------------------------------


def prefix_filter(prefix: Sequence[str]) -> dict[str, Any]:
    """A filter on items whose namespace begins so; "*" stands for any label."""
    parts = []
    for depth, label in enumerate(prefix):
        where = f"{ROOT}.namespace.{depth}"
        parts.append({where: {"$exists": True} if label == _ANY else label})
    return {"$and": parts}


def value_filter(given: Mapping[str, Any]) -> dict[str, Any]:
    """A filter of LangGraph on values: equality, operators, and objects within objects."""
    return {"$and": list(_conditions(given, f"{ROOT}.value"))}


def _conditions(given: Mapping[str, Any], where: str) -> Iterable[dict[str, Any]]:
    for key, wanted in given.items():
        if "." in key:
            raise InvalidFilterError(f"a filter can't name the key {key!r}: it has a dot in it")
        path = f"{where}.{key}"
        if not isinstance(wanted, Mapping):
            yield {path: wanted}
        elif any(str(name).startswith("$") for name in wanted):
            unknown = sorted(set(wanted) - _OPERATORS)
            if unknown:
                raise InvalidFilterError(
                    f"unknown operator {unknown[0]!r} on {key!r}; operators are {', '.join(sorted(_OPERATORS))}"
                )
            yield {path: dict(wanted)}
        else:
            yield from _conditions(wanted, path)


def select_namespaces(
    namespaces: Iterable[Namespace],
    conditions: Sequence[tuple[str, tuple[str, ...]]],
    *,
    max_depth: int | None,
    limit: int,
    offset: int,
) -> list[Namespace]:
    """The namespaces that meet all conditions ("prefix" or "suffix", and a path), cut to a depth, in order."""
    matching = {
        namespace
        for namespace in namespaces
        if all(_matches(namespace, *condition) for condition in conditions)
    }
    cut = {namespace[:max_depth] for namespace in matching} if max_depth is not None else matching
    return sorted(cut)[offset : offset + limit]


def _matches(namespace: Namespace, kind: str, path: tuple[str, ...]) -> bool:
    if len(namespace) < len(path):
        return False
    if kind not in {"prefix", "suffix"}:
        raise InvalidInputError(f"unknown way to match {kind!r}; there are 'prefix' and 'suffix'")
    labels = namespace[: len(path)] if kind == "prefix" else namespace[len(namespace) - len(path) :]
    return all(wanted in (_ANY, label) for label, wanted in zip(labels, path, strict=True))

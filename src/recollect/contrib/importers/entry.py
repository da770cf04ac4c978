"""One memory of a foreign export on its way into the store, and what readers of exports have in common."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from os import PathLike
from pathlib import Path
from typing import Any
from uuid import UUID, uuid5

from recollect.domain.memory import check_time
from recollect.errors import InvalidInputError, RecollectError

#: Where an export is: a file or folder, or what was read of one.
Source = str | PathLike[str] | bytes
#: Ids of imported memories are made of the ids they had, so that a repeat finds them.
_NAMESPACE = UUID("8a6f1d3e-3c0b-5d0e-9a43-6f2f0d0c7b11")
#: The store finds a source by its index up to this length.
_MAX_SOURCE_CHARS = 60
#: Seconds since 1970 have ten digits, milliseconds thirteen.
_MILLISECONDS_FROM = 100_000_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """The `number`-th memory of an export, called by its `name` there: a line of our own, or what is wrong with it."""

    number: int
    name: str
    line: Mapping[str, Any] | RecollectError

    @property
    def fields(self) -> Mapping[str, Any]:
        """The line of an entry with which nothing is wrong."""
        assert not isinstance(self.line, RecollectError)
        return self.line


#: Reads the entries of an export from the beginning, each time it is called.
Entries = Callable[[], Iterator[Entry]]


def read_entries(
    items: Iterable[Any], read: Callable[[Mapping[str, Any]], dict[str, Any]]
) -> Iterator[Entry]:
    """Items of an export, each read into a line; what an item lacks is left out."""
    for number, item in enumerate(items, 1):
        line: Mapping[str, Any] | RecollectError
        try:
            if not isinstance(item, Mapping):
                raise InvalidInputError(f"an entry must be an object, not {type(item).__name__}")
            line = {key: value for key, value in read(item).items() if value is not None}
        except RecollectError as error:
            line = error
        yield Entry(number=number, name=name_of(item), line=line)


def name_of(item: Any) -> str:
    """What an item is called where it comes from."""
    if not isinstance(item, Mapping):
        return ""
    return str(next((item[key] for key in ("uuid", "uuid_", "id", "key") if item.get(key)), ""))


def metadata_of(item: Mapping[str, Any]) -> dict[str, Any]:
    """An item's own metadata."""
    metadata = item.get("metadata") or {}
    if not isinstance(metadata, Mapping):
        raise InvalidInputError(f"metadata must be an object, not {type(metadata).__name__}")
    return dict(metadata)


def imported_id(source: str) -> UUID:
    """The id of what had another one before."""
    return uuid5(_NAMESPACE, source)


def source_of(package: str, *path: str) -> str:
    """Where a memory came from, as its `source` says it: `mem0:ID`."""
    text = f"{package}:{'/'.join(path)}"
    if len(text) <= _MAX_SOURCE_CHARS:
        return text
    return f"{package}:{hashlib.sha256(text.encode()).hexdigest()[:40]}"


def time_of(value: object, name: str) -> datetime | None:
    """A time as exports write it: ISO 8601, or seconds or milliseconds since 1970."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        try:
            seconds = value / 1000 if abs(value) >= _MILLISECONDS_FROM else value
            return check_time(datetime.fromtimestamp(seconds, tz=UTC), name)
        except (OverflowError, OSError, ValueError):
            raise InvalidInputError(f"{name} {value!r} is not a point in time") from None
    return check_time(value, name)


def load_bytes(source: Source) -> bytes:
    """What a file holds."""
    if isinstance(source, bytes):
        return source
    try:
        return Path(source).read_bytes()
    except OSError as error:
        raise InvalidInputError(f"can't open {str(source)!r}: {str(error.strerror).lower()}") from error


def load_json(data: bytes) -> Any:
    """A JSON document, or the documents of JSON Lines as a list."""
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InvalidInputError(
            f"the export is not UTF-8 at byte {error.start}; nothing was stored"
        ) from error
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        lines = [line for line in text.splitlines() if line.strip()]
        try:
            if len(lines) > 1:
                return [json.loads(line) for line in lines]
        except ValueError:
            pass
        where = f"line {error.lineno}, column {error.colno}"
        raise InvalidInputError(
            f"the export is not JSON ({where}: {error.msg}); is it complete? Nothing was stored"
        ) from None
    except (ValueError, RecursionError) as error:
        raise InvalidInputError(f"the export can't be read: {error}; nothing was stored") from None


def iso_of(item: Mapping[str, Any], key: str) -> str | None:
    """A time of an item as ISO 8601."""
    moment = time_of(item.get(key), key)
    return None if moment is None else moment.isoformat()

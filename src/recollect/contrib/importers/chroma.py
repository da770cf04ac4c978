"""Reads what Chroma keeps: the JSON of `collection.get()`, or the folder of a `PersistentClient` (extra `chroma`).

Documents become memories; vectors are made anew. `user_id` in an entry's metadata says whose it is, `created_at`,
`timestamp` or `date` when it was made, if it can be read as a time; all metadata is kept.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from itertools import chain, starmap
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
    read_entries,
    source_of,
)
from recollect.contrib.mem0.translation import Identity, check_id
from recollect.errors import IntegrationMissingError, InvalidInputError, RecollectError

_TIMES = ("created_at", "timestamp", "date")
_PAGE = 1_000
_DATABASE = "chroma.sqlite3"


def open_export(source: Source) -> Entries:
    """The entries of a dump, or of every collection in a folder."""
    if not isinstance(source, bytes) and Path(source).is_dir():
        collections = _open_folder(Path(source))
    else:
        dumps = list(_dumps(load_json(load_bytes(source))))
        collections = lambda: iter(dumps)  # noqa: E731
    return lambda: read_entries(chain.from_iterable(starmap(_items, collections())), _line)


def _dumps(document: Any) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """The collections of a document: one as `get` returns it, a list of those, or an object of them by name."""
    if isinstance(document, Mapping) and isinstance(document.get("ids"), list):
        yield str(document.get("name") or ""), document
        return
    named = list(document.items()) if isinstance(document, Mapping) else None
    if named is None and isinstance(document, list):
        named = [
            (str(entry.get("name") or "") if isinstance(entry, Mapping) else "", entry) for entry in document
        ]
    if not named or not all(
        isinstance(entry, Mapping) and isinstance(entry.get("ids"), list) for _, entry in named
    ):
        raise InvalidInputError(
            "this is no dump of Chroma: write json.dumps(collection.get()), or name the client's folder"
        )
    yield from named


def _items(collection: str, dump: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """The columns of a collection as items."""
    ids = dump["ids"]
    columns: list[list[Any]] = []
    for key in ("documents", "metadatas"):
        column = dump.get(key)
        column = [None] * len(ids) if column is None else column
        if not isinstance(column, list) or len(column) != len(ids):
            raise InvalidInputError(f"the dump has {len(ids)} ids, and not as many {key}; nothing was stored")
        columns.append(column)
    for id, document, metadata in zip(ids, *columns, strict=True):
        yield {"collection": collection, "id": id, "document": document, "metadata": metadata}


def _line(item: Mapping[str, Any]) -> dict[str, Any]:
    collection, id, document = item["collection"], item["id"], item["document"]
    if not isinstance(id, str) or not id:
        raise InvalidInputError(f"the id {id!r} is not a string")
    labels = metadata_of(item)
    if document is None:
        document = labels.pop("data", None)  # as mem0 keeps its texts in Chroma
    if document is None:
        raise InvalidInputError("the entry has no document; only text can be remembered")
    user = check_id(labels.get("user_id"), "user_id")
    return {
        "id": str(imported_id(f"chroma:{collection}/{id}")),
        "text": document,
        "metadata": {"collection": collection, **labels} if collection else labels,
        "source": source_of("chroma", *filter(None, (collection, id))),
        "created_at": _created(labels),
        "scope": None if user is None else Identity(user_id=user).scope,
    }


def _created(labels: Mapping[str, Any]) -> str | None:
    """When it was made, if one of the usual names says so; a date in words is a label like any other."""
    for key in _TIMES:
        with suppress(RecollectError):
            if (moment := iso_of(labels, key)) is not None:
                return moment
    return None


def _open_folder(folder: Path) -> Callable[[], Iterator[tuple[str, Mapping[str, Any]]]]:
    """What reads the collections of a folder, page by page."""
    if not (folder / _DATABASE).is_file():
        # Chroma would make an empty database here.
        raise InvalidInputError(f"{str(folder)!r} is no folder of Chroma: it has no {_DATABASE}")
    try:
        import chromadb
        from chromadb.config import Settings
    except ModuleNotFoundError as error:
        raise IntegrationMissingError(
            "reading a folder of Chroma needs its package: pip install 'recollect[chroma]'; or write "
            "json.dumps(collection.get()) where it is installed, and import that file"
        ) from error
    client = chromadb.PersistentClient(str(folder), settings=Settings(anonymized_telemetry=False))

    def pages() -> Iterator[tuple[str, Mapping[str, Any]]]:
        for collection in client.list_collections():
            for offset in range(0, collection.count(), _PAGE):
                page = collection.get(limit=_PAGE, offset=offset, include=["documents", "metadatas"])
                yield collection.name, page

    return pages

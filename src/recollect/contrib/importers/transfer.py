"""Check every entry of an export, then store them: in the store itself, or through a server.

The store takes entries as lines of its own export: ids, times and histories are kept, and a repeat changes nothing. A
server takes them as new memories, and a repeat is told by their `source`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from itertools import islice
from typing import Any
from uuid import UUID

from recollect.client.sync_client import Recollect
from recollect.contrib.importers import chroma, exports
from recollect.contrib.importers.entry import Entries, Entry, Source
from recollect.domain.layers import ScopeName
from recollect.domain.memory import DRAFT_KEYS, make_draft
from recollect.domain.results import AddReport, ItemError
from recollect.domain.text import text_digest
from recollect.errors import InvalidInputError, RecollectError

Progress = Callable[[int, int | None], None]

_open_graph = partial(exports.open_export, "graphiti")
#: Which package -> how its exports are read.
SOURCES: Mapping[str, Callable[[Source], Entries]] = {
    "mem0": exports.open_mem0,
    "chroma": chroma.open_export,
    "graphiti": _open_graph,
    "zep": _open_graph,
    "letta": partial(exports.open_export, "letta"),
    "langmem": partial(exports.open_export, "langmem"),
}
#: Entries of one request to a server: their sources must fit into an address.
_BATCH = 100


def import_from(
    client: Recollect,
    package: str,
    source: Source,
    *,
    scope: str | None = None,
    skip_broken: bool = False,
    progress: Progress | None = None,
) -> AddReport:
    """Store the memories of another package's export, one of `SOURCES`; `source` is a file, a folder, or bytes.

    Everything is checked before anything is stored. With broken entries nothing is, and the report names them, unless
    `skip_broken` leaves them out. A repeat stores only what is missing. `scope` puts all of it there; otherwise each
    memory goes to its user, and what has none to the caller. `index` of an error counts entries from 1.
    """
    if package not in SOURCES:
        raise InvalidInputError(f"can't import from {package!r}; exports of {', '.join(SOURCES)} can be read")
    place = None if scope is None else str(ScopeName.parse(scope))
    entries = SOURCES[package](source)
    total, broken = _check(entries(), place)
    errors = tuple(broken.values())
    if errors and not skip_broken:
        return AddReport(ids=(), added=0, reinforced=0, errors=errors)
    good = (_placed(entry, place) for entry in entries() if entry.number not in broken)
    keep = _store if client.settings.url is None else _send
    report = keep(client, good, lambda done: None if progress is None else progress(done, total))
    faults = (*errors, *report.errors)
    return replace(report, errors=tuple(sorted(faults, key=lambda error: error.index)))


def _check(entries: Iterable[Entry], place: str | None) -> tuple[int, dict[int, ItemError]]:
    """How many entries there are, and what is wrong with which."""
    now = datetime.now(UTC)
    broken: dict[int, ItemError] = {}
    number = 0
    for entry in entries:
        number = entry.number
        try:
            if isinstance(entry.line, RecollectError):
                raise entry.line
            make_draft(_draft(_placed(entry, place)), now=now)
        except RecollectError as error:
            broken[number] = _fault(entry, error.code, str(error))
    return number, broken


def _placed(entry: Entry, place: str | None) -> Entry:
    """An entry in the scope that all are to go to."""
    return entry if place is None else replace(entry, line={**entry.fields, "scope": place})


def _draft(entry: Entry) -> dict[str, Any]:
    return {key: value for key, value in entry.fields.items() if key in DRAFT_KEYS}


def _fault(entry: Entry, code: str, message: str) -> ItemError:
    called = f"entry {entry.number}" + (f" ({entry.name})" if entry.name else "")
    return ItemError(index=entry.number, code=code, message=f"{called}: {message}")


def _store(client: Recollect, entries: Iterable[Entry], tell: Callable[[int], None]) -> AddReport:
    """Into the store itself."""
    sent: list[Entry] = []

    def lines() -> Iterator[str]:
        for entry in entries:
            sent.append(entry)
            yield json.dumps(entry.fields)

    report = client.import_jsonl(lines(), progress=lambda done, _: tell(done))
    errors = tuple(
        _fault(sent[error.index - 1], error.code, error.message.removeprefix(f"line {error.index}, "))
        for error in report.errors
    )
    return replace(report, errors=errors, decisions=())


def _send(client: Recollect, entries: Iterable[Entry], tell: Callable[[int], None]) -> AddReport:
    """Through a server."""
    report = AddReport(ids=(), added=0, reinforced=0)
    texts: set[tuple[str | None, bytes]] = set()
    done = 0
    iterator = iter(entries)
    while batch := list(islice(iterator, _BATCH)):
        part = _send_batch(client, batch, texts)
        report = AddReport(
            ids=report.ids + part.ids,
            added=report.added + part.added,
            reinforced=report.reinforced + part.reinforced,
            unchanged=report.unchanged + part.unchanged,
            errors=report.errors + part.errors,
        )
        done += len(batch)
        tell(done)
    return report


def _send_batch(client: Recollect, batch: list[Entry], texts: set[tuple[str | None, bytes]]) -> AddReport:
    sources = [str(entry.fields["source"]) for entry in batch]
    there = client.list(limit=1_000, filters={"source": {"$in": sources}}, include_superseded=True)
    known = {memory.source: memory.id for memory in there}
    ids: list[UUID | None] = []
    fresh = []
    for entry, source in zip(batch, sources, strict=True):
        # A text that was in this export before is one memory; sending it again would count as one more use of it.
        text = (entry.fields.get("scope"), text_digest(str(entry.fields.get("text"))))
        repeat = "conversation" not in entry.fields and text in texts
        texts.add(text)
        if source in known or repeat:
            ids.append(known.get(source))
        else:
            fresh.append(entry)
    report = client.add_many(list(map(_draft, fresh))) if fresh else AddReport(ids=(), added=0, reinforced=0)
    errors = [_fault(fresh[error.index], error.code, error.message) for error in report.errors]
    return replace(report, ids=(*ids, *report.ids), unchanged=len(ids), errors=tuple(errors))

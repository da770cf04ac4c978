"""Check every entry of an export, then store them: in the store itself, or through a server.

The store takes entries as lines of its own export: ids, times and histories are kept, and a repeat changes nothing. A
server takes them as new memories, and a repeat is told by their `source`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
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

#: Which package -> how its exports are read.
SOURCES: Mapping[str, Callable[[Source], Entries]] = {
    "mem0": exports.open_export,
    "chroma": chroma.open_export,
    "graphiti": exports.open_graphiti,
    "zep": exports.open_graphiti,
    "letta": exports.open_letta,
    "langmem": exports.open_langmem,
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
    if client.settings.url is None:
        report = _store(client, good, total, progress)
    else:
        report = _send(client, good, total, progress)
    faults = (*errors, *report.errors)
    return AddReport(
        ids=report.ids,
        added=report.added,
        reinforced=report.reinforced,
        unchanged=report.unchanged,
        errors=tuple(sorted(faults, key=lambda error: error.index)),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """An entry that may be stored."""

    number: int
    name: str
    fields: Mapping[str, Any]


def _check(entries: Iterable[Entry], place: str | None) -> tuple[int, dict[int, ItemError]]:
    """How many entries there are, and what is wrong with which."""
    now = datetime.now(UTC)
    broken: dict[int, ItemError] = {}
    number = 0
    for entry in entries:
        number = entry.number
        try:
            line = _placed(entry, place)
            make_draft({key: value for key, value in line.fields.items() if key in DRAFT_KEYS}, now=now)
        except RecollectError as error:
            broken[number] = _named(entry.number, entry.name, error.code, str(error))
    return number, broken


def _placed(entry: Entry, place: str | None) -> Line:
    if isinstance(entry.line, RecollectError):
        raise entry.line
    fields = entry.line if place is None else {**entry.line, "scope": place}
    return Line(number=entry.number, name=entry.name, fields=fields)


def _named(number: int, name: str, code: str, message: str) -> ItemError:
    called = f"entry {number}" + (f" ({name})" if name else "")
    return ItemError(index=number, code=code, message=f"{called}: {message}")


# Into the store -----------------------------------------------------------------------------------


def _store(client: Recollect, lines: Iterable[Line], total: int, progress: Progress | None) -> AddReport:
    numbers: list[tuple[int, str]] = []

    def written() -> Iterator[str]:
        for line in lines:
            numbers.append((line.number, line.name))
            yield json.dumps(line.fields)

    def tell(done: int, _: int | None) -> None:
        if progress is not None:
            progress(done, total)

    report = client.import_jsonl(written(), progress=tell)
    errors = tuple(
        _named(*numbers[error.index - 1], error.code, error.message.removeprefix(f"line {error.index}, "))
        for error in report.errors
    )
    return AddReport(
        ids=report.ids,
        added=report.added,
        reinforced=report.reinforced,
        unchanged=report.unchanged,
        errors=errors,
    )


# Through a server ---------------------------------------------------------------------------------


@dataclass(slots=True, kw_only=True)
class _Sent:
    """What was sent so far."""

    ids: list[UUID | None] = field(default_factory=list)
    errors: list[ItemError] = field(default_factory=list)
    added: int = 0
    reinforced: int = 0
    unchanged: int = 0
    texts: set[tuple[str | None, bytes]] = field(default_factory=set)


def _send(client: Recollect, lines: Iterable[Line], total: int, progress: Progress | None) -> AddReport:
    sent = _Sent()
    done = 0
    iterator = iter(lines)
    while batch := list(islice(iterator, _BATCH)):
        _send_batch(client, batch, sent)
        done += len(batch)
        if progress is not None:
            progress(done, total)
    return AddReport(
        ids=tuple(sent.ids),
        added=sent.added,
        reinforced=sent.reinforced,
        unchanged=sent.unchanged,
        errors=tuple(sent.errors),
    )


def _send_batch(client: Recollect, batch: list[Line], sent: _Sent) -> None:
    sources = [str(line.fields["source"]) for line in batch]
    there = client.list(limit=1_000, filters={"source": {"$in": sources}}, include_superseded=True)
    known = {memory.source: memory.id for memory in there}
    fresh = []
    for line, source in zip(batch, sources, strict=True):
        # A text that was in this export before is one memory; sending it again would count as one more use of it.
        text = (line.fields.get("scope"), text_digest(str(line.fields.get("text"))))
        repeat = "conversation" not in line.fields and text in sent.texts
        sent.texts.add(text)
        if source in known or repeat:
            sent.ids.append(known.get(source))
            sent.unchanged += 1
        else:
            fresh.append(line)
    if not fresh:
        return
    report = client.add_many(
        [{key: value for key, value in line.fields.items() if key in DRAFT_KEYS} for line in fresh]
    )
    sent.ids += report.ids
    sent.added += report.added
    sent.reinforced += report.reinforced
    for error in report.errors:
        line = fresh[error.index]
        sent.errors.append(_named(line.number, line.name, error.code, error.message))

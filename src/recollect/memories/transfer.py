"""Export and import as JSONL.

One JSON object per line: first the scopes (parents before children), then the memories, each with its history.
A line says everything the store knows, so importing an export into an empty store gives the same store; vectors
are made anew by whatever embedder is there. Importing twice changes nothing: ids are kept. Both directions work
through a bounded number of lines at a time, so a file may be larger than memory.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, TextIO
from uuid import UUID

from recollect.domain.filters import Filter
from recollect.domain.ids import parse_id
from recollect.domain.layers import OWNED_LAYERS, PERSONAL_LAYERS, Layer, ScopeName
from recollect.domain.memory import DRAFT_KEYS, check_time
from recollect.domain.results import AddReport, ItemError, Scope
from recollect.domain.tenancy import TenantContext
from recollect.domain.text import check_metadata, check_name
from recollect.errors import ConflictError, InvalidInputError, RecollectError
from recollect.memories.intake import Given, Kept, add_items
from recollect.storage import reads, scopes, summaries, writes
from recollect.workspace import Workspace

FORMAT = 1
_PAGE = 500
#: Lines that are held at once; several batches, so that one is embedded while another is stored.
_CHUNK = 2_048
#: What an export says beyond a draft's fields. `until`, `status` and `tenant_id` follow from the rest.
_STATE_KEYS = frozenset(
    "kind format id owner position use_count utility superseded_by superseded_at version_of since updated_at history"
    " until status tenant_id".split()
)
_HISTORY_EVENTS = frozenset({"updated", "reinforced", "superseded", "restored", "revived"})
#: The fields of one memory as they were: a text and metadata of the largest allowed size fit in.
_MAX_BEFORE_BYTES = 2 * 1024 * 1024
Progress = Callable[[int, int | None], None]


async def export_jsonl(
    workspace: Workspace,
    context: TenantContext,
    target: TextIO,
    *,
    filters: Filter | None = None,
    progress: Progress | None = None,
) -> int:
    """Write everything the caller sees; returns how many memories."""
    async with workspace.store.transaction(context) as tx:
        total = (await scopes.describe_caller(tx)).memories
        for scope in _parents_first(await scopes.list_scopes(tx, None)):
            line = {
                "kind": "scope",
                "format": FORMAT,
                "scope": str(scope),
                "owner": scope.owner,
                "parent": scope.parent,
            }
            _write(target, line)
    written = 0
    cursor: str | None = None
    while True:
        async with workspace.store.transaction(context) as tx:
            page = await reads.list_memories(tx, reads.Selection(filters=filters), limit=_PAGE, cursor=cursor)
            details = await reads.fetch_details(tx, [memory.id for memory in page])
        for memory in page:
            if memory.id in details:  # another caller may have erased it between the two queries
                _write(target, {"kind": "memory", **details[memory.id]})
                written += 1
        if progress is not None:
            progress(written, max(total, written))
        cursor = page.next_cursor
        if cursor is None:
            return written


def _parents_first(scopes: Sequence[Scope]) -> Iterator[Scope]:
    """Teams may stand below teams, so the layer alone does not say who comes first."""
    names = {str(scope) for scope in scopes}
    waiting = sorted(scopes, key=lambda scope: -scope.layer.precedence)
    done: set[str] = set()
    while waiting:
        ready = [s for s in waiting if s.parent is None or s.parent in done or s.parent not in names]
        yield from ready
        done |= {str(scope) for scope in ready}
        waiting = [scope for scope in waiting if scope not in ready]


def _write(target: TextIO, line: Mapping[str, Any]) -> None:
    target.write(json.dumps(line, ensure_ascii=False, separators=(",", ":")) + "\n")


async def import_jsonl(
    workspace: Workspace,
    context: TenantContext,
    lines: Iterable[str | bytes],
    *,
    progress: Progress | None = None,
) -> AddReport:
    """Store an export, or any JSONL whose lines have `text`. A bad line is named; the rest is stored."""
    ids: list[UUID | None] = []
    errors: list[ItemError] = []
    added = reinforced = unchanged = 0
    parsed = _parse(_binary(lines))
    while chunk := list(islice(parsed, _CHUNK)):
        memories: list[tuple[int, Given]] = []
        histories: list[tuple[int, Sequence[Any]]] = []
        for number, record in chunk:
            if isinstance(record, RecollectError):
                memories.append((number, record))
            elif record.get("kind", "memory") == "scope":
                try:
                    await _import_scope(workspace, context, record)
                except RecollectError as error:
                    errors.append(ItemError(index=number, code=error.code, message=str(error)))
            else:
                memories.append((number, _read_memory(record)))
                if isinstance(record.get("history"), list) and record["history"]:
                    histories.append((number, record["history"]))
        before = len(ids)

        def report_progress(done: int, _: int | None, before: int = before) -> None:
            if progress is not None:
                progress(before + done, None)

        report = await add_items(workspace, context, memories, progress=report_progress)
        stored = dict(zip((number for number, _ in memories), report.ids, strict=True))
        errors += report.errors
        errors += await _import_histories(workspace, context, histories, stored)
        async with workspace.store.transaction(context) as tx:
            await summaries.adopt_imported(tx, [id for id in report.ids if id is not None])
        ids += report.ids
        added, reinforced = added + report.added, reinforced + report.reinforced
        unchanged += report.unchanged
    return AddReport(
        ids=tuple(ids),
        added=added,
        reinforced=reinforced,
        unchanged=unchanged,
        errors=tuple(sorted(errors, key=lambda error: error.index)),
    )


def _binary(lines: Iterable[str | bytes]) -> Iterable[str | bytes]:
    """The bytes under a text stream: decoding line by line keeps one bad line from ending the import."""
    if (getattr(lines, "encoding", None) or "").replace("-", "").lower() in {"utf8", "utf8sig"}:
        return getattr(lines, "buffer", lines)
    return lines


def _parse(lines: Iterable[str | bytes]) -> Iterator[tuple[int, dict[str, Any] | RecollectError]]:
    for number, line in enumerate(lines, 1):
        try:
            text = line.decode("utf-8") if isinstance(line, bytes) else line
            if not isinstance(text, str):
                raise InvalidInputError(f"line {number} is a {type(line).__name__}, not a line of text")
            text = text.removeprefix("\ufeff") if number == 1 else text
            if not text.strip():
                continue
            record = json.loads(text)
            if not isinstance(record, dict):
                raise InvalidInputError(f"line {number} is a {type(record).__name__}, not an object")
            yield number, record
        except UnicodeDecodeError as error:
            yield number, InvalidInputError(f"line {number} is not UTF-8 at byte {error.start}")
        except json.JSONDecodeError as error:
            yield number, InvalidInputError(f"line {number} is not JSON: {error.msg} at column {error.colno}")
        except (ValueError, RecursionError) as error:
            # A number of thousands of digits, or brackets thousands deep.
            yield number, InvalidInputError(f"line {number} can't be read: {error}")
        except InvalidInputError as error:
            yield number, error


def _read_memory(record: Mapping[str, Any]) -> Given:
    """The fields of a draft, and as extras what only an export knows."""
    try:
        if record.get("kind", "memory") != "memory":
            raise InvalidInputError(f"unknown kind {record['kind']!r}; a line is a 'memory' or a 'scope'")
        unknown = sorted(set(record) - DRAFT_KEYS - _STATE_KEYS)
        if unknown:
            raise InvalidInputError(f"unknown field {unknown[0]!r}; a line has the fields of an export")
        fields = {key: value for key, value in record.items() if key in DRAFT_KEYS}
        if str(fields.get("scope")).startswith("company/"):
            # The company is named after the tenant, and this may be another one.
            fields |= {"scope": None, "layer": "company"}
        if "id" not in record:
            return fields
        return Kept(fields=fields, extras=_read_extras(record))
    except RecollectError as error:
        return error


def _read_extras(record: Mapping[str, Any]) -> dict[str, Any]:
    extras: dict[str, Any] = {"id": parse_id(record["id"])}
    for name in ("superseded_by", "version_of"):
        if record.get(name) is not None:
            extras[name] = parse_id(record[name], what=name)
    for name in ("superseded_at", "since", "updated_at"):
        extras[name] = check_time(record.get(name), name)
    if extras.get("superseded_by") is not None and extras["superseded_at"] is None:
        raise InvalidInputError("superseded_by needs superseded_at: when was it superseded?")
    extras["position"] = _whole(record, "position")
    extras["use_count"] = _whole(record, "use_count") or 0
    utility = record.get("utility", 0.0)
    if isinstance(utility, bool) or not isinstance(utility, int | float) or not math.isfinite(utility):
        raise InvalidInputError(f"utility {utility!r} is not a number")
    extras["utility"] = float(utility)
    if record.get("owner") is not None:
        extras["owner"] = check_name(record["owner"], what="owner") if record["owner"] != "" else ""
    return extras


def _whole(record: Mapping[str, Any], name: str) -> int | None:
    value = record.get(name)
    if value is not None and (
        isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 2**31 - 1
    ):
        raise InvalidInputError(f"{name} {value!r} is not a whole number from 0")
    return value


async def _import_scope(workspace: Workspace, context: TenantContext, record: Mapping[str, Any]) -> None:
    name = ScopeName.parse(str(record.get("scope")))
    if name.layer is Layer.COMPANY:
        return  # it came with the tenant
    async with workspace.store.transaction(context) as tx:
        if name.layer in OWNED_LAYERS:
            owner = record.get("owner")
            await writes.owned_scope(tx, name, "" if not owner else check_name(owner, what="owner"))
        elif name.layer in PERSONAL_LAYERS:
            await scopes.writable_scope(tx, name.layer, name)
        else:
            parent = record.get("parent")
            above = ScopeName.parse(str(parent)) if parent else None
            if above is not None and above.layer is Layer.COMPANY:
                above = None  # named after the tenant, and this may be another one
            if await scopes.find_scope(tx, name) is None:
                try:
                    await scopes.create_scope(tx, name, above)
                except ConflictError:
                    return


async def _import_histories(
    workspace: Workspace,
    context: TenantContext,
    histories: Sequence[tuple[int, Sequence[Any]]],
    stored: Mapping[int, UUID | None],
) -> list[ItemError]:
    problems = []
    for number, entries in histories:
        memory_id = stored.get(number)
        if memory_id is None:
            continue
        try:
            rows = [_read_entry(entry) for entry in entries]
            async with workspace.store.transaction(context) as tx:
                for row in rows:
                    await tx.execute("import_history", id=memory_id, **row)
        except RecollectError as error:
            problems.append(
                ItemError(index=number, code=error.code, message=f"line {number}, history: {error}")
            )
    return problems


def _read_entry(entry: object) -> dict[str, Any]:
    if not isinstance(entry, Mapping):
        raise InvalidInputError(f"an entry must be an object, not {type(entry).__name__}")
    at = check_time(entry.get("at"), "at")
    if at is None or str(entry.get("event")) not in _HISTORY_EVENTS:
        raise InvalidInputError(f"an entry has 'at' and an 'event' of {', '.join(sorted(_HISTORY_EVENTS))}")
    before = entry.get("before")
    by = entry.get("by")
    return {
        "history_id": parse_id(entry.get("id"), what="history id"),
        "event": str(entry["event"]),
        "at": at,
        "by": None if by is None else check_name(by, what="by"),
        "before": None if before is None else check_metadata(before, what="before", limit=_MAX_BEFORE_BYTES),
    }

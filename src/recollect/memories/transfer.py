"""Export and import as JSONL.

One JSON object per line: first the scopes (parents before children), then the memories, each with its history.
A line says everything the store knows, so importing an export into an empty store gives the same store; vectors
are made anew by whatever embedder is there. Importing twice changes nothing: ids are kept.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, TextIO
from uuid import UUID

from psycopg.types.json import Jsonb

from recollect.domain.filters import Filter
from recollect.domain.ids import parse_id
from recollect.domain.layers import PERSONAL_LAYERS, ScopeName
from recollect.domain.memory import DRAFT_KEYS, check_time
from recollect.domain.results import AddReport, ItemError
from recollect.domain.tenancy import TenantContext
from recollect.errors import ConflictError, InvalidInputError, RecollectError
from recollect.memories.intake import add_items
from recollect.storage import reading, scopes
from recollect.workspace import Workspace

FORMAT = 1
_PAGE = 500
_TIMES = ("created_at", "valid_from", "valid_to", "expires_at", "superseded_at", "since", "until")
_EXTRA_IDS = ("superseded_by", "version_of")
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
        for scope in sorted(await scopes.list_scopes(tx, None), key=lambda s: -s.layer.precedence):
            line = {"kind": "scope", "format": FORMAT, "scope": str(scope), "owner": scope.owner, "parent": scope.parent}
            _write(target, line)
    written = 0
    cursor: str | None = None
    while True:
        async with workspace.store.transaction(context) as tx:
            page = await reading.list_memories(tx, limit=_PAGE, cursor=cursor, filters=filters)
            details = await reading.fetch_details(tx, [memory.id for memory in page])
        for memory in page:
            _write(target, {"kind": "memory", **details[memory.id]})
        written += len(page)
        if progress is not None:
            progress(written, total)
        cursor = page.next_cursor
        if cursor is None:
            return written


def _write(target: TextIO, line: Mapping[str, Any]) -> None:
    target.write(json.dumps(line, ensure_ascii=False, default=str, separators=(",", ":")) + "\n")


async def import_jsonl(
    workspace: Workspace,
    context: TenantContext,
    lines: Iterable[str | bytes],
    *,
    progress: Progress | None = None,
) -> AddReport:
    """Store an export, or any JSONL whose lines have `text`. A bad line is named; the rest is stored."""
    problems: list[ItemError] = []
    histories: list[tuple[int, Mapping[str, Any]]] = []
    parsed = list(_parse(lines))
    memories: list[tuple[int, Mapping[str, Any] | RecollectError]] = []
    for number, record in parsed:
        if isinstance(record, RecollectError):
            memories.append((number, record))
        elif record.get("kind", "memory") == "scope":
            try:
                await _import_scope(workspace, context, record)
            except RecollectError as error:
                problems.append(ItemError(index=number, code=error.code, message=str(error)))
        else:
            memories.append((number, _fields(record)))
            if isinstance(record.get("history"), list) and record["history"]:
                histories.append((number, record))
    report = await add_items(workspace, context, memories, total=len(memories), progress=progress)
    stored = {number: id for (number, _), id in zip(sorted(memories, key=lambda m: m[0]), report.ids, strict=True)}
    await _import_histories(workspace, context, histories, stored, problems)
    return AddReport(
        ids=report.ids,
        added=report.added,
        reinforced=report.reinforced,
        unchanged=report.unchanged,
        errors=tuple(sorted([*report.errors, *problems], key=lambda e: e.index)),
    )


def _parse(lines: Iterable[str | bytes]) -> Iterator[tuple[int, dict[str, Any] | RecollectError]]:
    for number, line in enumerate(lines, 1):
        try:
            text = line.decode("utf-8") if isinstance(line, bytes) else line
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
        except InvalidInputError as error:
            yield number, error


def _fields(record: Mapping[str, Any]) -> Mapping[str, Any] | RecollectError:
    """The fields of a draft, and as extras what only an export knows."""
    try:
        known = {key: value for key, value in record.items() if key in DRAFT_KEYS}
        ignored = {"kind", "history", "id", "tenant_id", "status", "updated_at", "position", "use_count", "utility"}
        unknown = sorted(set(record) - DRAFT_KEYS - ignored - set(_TIMES) - set(_EXTRA_IDS))
        if unknown:
            raise InvalidInputError(f"unknown field {unknown[0]!r}; a line has the fields of an export")
        if "id" not in record:
            return known
        extras: dict[str, Any] = {"id": parse_id(record["id"])}
        for name in _EXTRA_IDS:
            if record.get(name) is not None:
                extras[name] = parse_id(record[name], what=name)
        for name in ("superseded_at", "since", "until"):
            if record.get(name) is not None:
                extras[name] = check_time(record[name], name) if not str(record[name]).startswith("9999") else None
        extras["position"] = _whole(record, "position")
        extras["use_count"] = _whole(record, "use_count") or 0
        utility = record.get("utility", 0.0)
        if isinstance(utility, bool) or not isinstance(utility, int | float):
            raise InvalidInputError(f"utility {utility!r} is not a number")
        return {**known, "extras": {**extras, "utility": float(utility)}}
    except RecollectError as error:
        return error


def _whole(record: Mapping[str, Any], name: str) -> int | None:
    value = record.get(name)
    if value is not None and (isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 2**31):
        raise InvalidInputError(f"{name} {value!r} is not a whole number from 0")
    return value


async def _import_scope(workspace: Workspace, context: TenantContext, record: Mapping[str, Any]) -> None:
    name = ScopeName.parse(str(record.get("scope")))
    if name.layer in PERSONAL_LAYERS or name.layer.precedence == 7:
        return  # they appear with their memories, or with the tenant
    parent = record.get("parent")
    above = ScopeName.parse(str(parent)) if parent else None
    if above is not None and above.layer.precedence == 7:
        above = None  # the company is named after the tenant, and this may be another one
    async with workspace.store.transaction(context) as tx:
        try:
            await scopes.create_scope(tx, name, above)
        except ConflictError:
            return


async def _import_histories(
    workspace: Workspace,
    context: TenantContext,
    histories: list[tuple[int, Mapping[str, Any]]],
    stored: Mapping[int, UUID | None],
    problems: list[ItemError],
) -> None:
    for number, record in histories:
        memory_id = stored.get(number)
        if memory_id is None:
            continue
        try:
            async with workspace.store.transaction(context) as tx:
                for entry in record["history"]:
                    await tx.execute(
                        "import_history",
                        id=memory_id,
                        history_id=parse_id(entry.get("id"), what="history id"),
                        event=str(entry.get("event")),
                        at=check_time(entry.get("at"), "at"),
                        by=entry.get("by"),
                        before=None if entry.get("before") is None else Jsonb(entry["before"]),
                    )
        except RecollectError as error:
            problems.append(ItemError(index=number, code=error.code, message=f"history: {error}"))


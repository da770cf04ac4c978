"""The record of an exploration as a file: `<RLM_AUDIT_DIR>/<task_id>.json`, secrets masked.

Beside what people read it holds the engine's own record, so that the run can be played again without the tree. A
task's name becomes a file name of plain characters: no name leads out of the folder. Files are their owner's alone, and
are written whole or not at all.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

from recollect.codebase.request import ExploreRequest
from recollect.codebase.secrets import mask, mask_values
from recollect.domain.codebase import KIND, ExplorationTrajectory, RLMResult
from recollect.domain.codec import decode_fields
from recollect.errors import InvalidInputError, NotFoundError
from recollect.files.jail import private_folder
from recollect.files.whole import whole_file
from recollect.runs.trajectory import read_trajectory, replay

VERSION = 1
_UNSAFE = re.compile(r"[^A-Za-z0-9._-]+")
_NAME_CHARS = 100
#: Names that some file systems keep for themselves, whatever follows the dot.
_RESERVED = re.compile(r"(?i)^(con|prn|aux|nul|com\d|lpt\d)(\.|$)")


def file_name(task_id: str) -> str:
    """A task's name as the name of a file, without its ending; names that differ stay different."""
    plain = _UNSAFE.sub("_", task_id).strip(".")[:_NAME_CHARS]
    if plain == task_id and plain and not _RESERVED.match(plain):
        return plain
    digest = hashlib.sha256(task_id.encode("utf-8", "surrogatepass")).hexdigest()[:8]
    return f"task_{plain}-{digest}" if _RESERVED.match(plain) or not plain else f"{plain}-{digest}"


def audit_path(folder: Path, task_id: str) -> Path:
    """Where the record of a task is."""
    return folder / f"{file_name(task_id)}.json"


def audit_document(
    result: RLMResult, request: ExploreRequest, *, by: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """The whole record, with secrets masked. `by` is who asked, if somebody said so."""
    trajectory = result.trajectory.document()
    return {
        "version": VERSION,
        "kind": KIND,
        "task_id": result.task_id,
        "by": by,
        "query": mask(result.query),
        "start_time": _moment(result.trajectory.start_time),
        "end_time": _moment(result.trajectory.end_time),
        "root": result.root,
        "context_hints": [mask(hint) for hint in request.context_hints],
        "model": result.model,
        "limits": request.limits,
        "success": result.success,
        "stopped_by": result.stopped_by,
        "error": None if result.error is None else mask(result.error),
        "synthesis": mask(result.synthesis),
        "trajectory": mask_values(
            {name: trajectory[name] for name in ("steps", "total_subcalls", "cached_hits")}
        ),
        "findings": [mask_values(finding.document()) for finding in result.findings],
        "citations": [mask_values(citation.document()) for citation in result.citations],
        "usage": result.usage.document(),
        "notes": [mask(note) for note in result.notes],
        "capability_requests": mask_values(list(result.capability_requests)),
        "record": None if result.record is None else mask_values(result.record.document()),
    }


def write_audit(folder: Path, task_id: str, document: Mapping[str, Any]) -> Path:
    """Write a record, whole or not at all."""
    target = audit_path(folder, task_id)
    private_folder(folder)
    text = json.dumps(document, indent=1, ensure_ascii=True, allow_nan=False)
    with whole_file(target) as file:
        file.write(text)
    return target


def read_audit(place: str | os.PathLike[str]) -> dict[str, Any]:
    """A record from its file. `InvalidInputError` says what is wrong with it."""
    try:
        text = Path(place).read_text(encoding="utf-8")
    except FileNotFoundError as error:
        raise NotFoundError(f"there is no record {str(place)!r}") from error
    except (OSError, ValueError) as error:
        raise InvalidInputError(f"can't read the record {str(place)!r}: {error}") from error
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InvalidInputError(f"the record {str(place)!r} is no JSON, or breaks off: {error}") from error
    if not isinstance(document, dict) or document.get("kind") != KIND or "record" not in document:
        raise InvalidInputError(f"{str(place)!r} is no record of an exploration")
    if document.get("version") != VERSION:
        raise InvalidInputError(
            f"the record has version {document.get('version')!r} and this Recollect reads {VERSION}"
        )
    return document


def _moment(when: datetime) -> str:
    return when.isoformat().replace("+00:00", "Z")


def result_of(document: Mapping[str, Any], *, file: str | None = None) -> RLMResult:
    """The result that a record is of. `InvalidInputError` says what is wrong with a damaged one."""
    record = read_trajectory(document["record"])
    try:
        result: RLMResult = decode_fields(
            RLMResult,
            document,
            trajectory=ExplorationTrajectory.of(record),
            audit_file=file,
            record=record,
        )
        return result
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise InvalidInputError(f"the record is damaged: {error!r}") from error


async def replay_result(result: RLMResult) -> RLMResult:
    """Play a recorded exploration again, from its record alone: no tree is read and no model is asked."""
    assert result.record is not None, "a record has one"
    again = await replay(result.record)
    return replace(result, record=again, trajectory=ExplorationTrajectory.of(again))


def list_audits(folder: Path, *, limit: int = 50) -> list[tuple[str, RLMResult]]:
    """The newest records of a folder, with their files; what is no record is passed over."""
    try:
        files = [(file.stat().st_mtime_ns, file) for file in folder.glob("*.json") if file.is_file()]
    except OSError:
        return []
    records: list[tuple[str, RLMResult]] = []
    for _, file in sorted(files, reverse=True):
        if len(records) >= limit:
            break
        try:
            records.append((str(file), result_of(read_audit(file), file=str(file))))
        except (InvalidInputError, NotFoundError):
            continue
    return records

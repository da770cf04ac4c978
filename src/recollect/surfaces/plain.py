"""Values of the domain as plain JSON data: the same on the command line, over HTTP and for MCP."""

from __future__ import annotations

import dataclasses
import enum
from collections.abc import Mapping, Sequence
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import UUID


def plain(value: object) -> Any:
    """Any value of the domain as plain JSON data."""
    if value is None or isinstance(value, bool | int | float) or type(value) is str:
        return value
    if isinstance(value, enum.Enum):
        return plain(value.value)
    if isinstance(value, UUID | Path | str):
        return str(value)
    if isinstance(value, datetime | date):
        return value.isoformat()
    if isinstance(value, timedelta):
        return f"PT{value.total_seconds():g}S"  # as ISO 8601 writes a duration
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {item.name: plain(getattr(value, item.name)) for item in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        return {str(plain(key)): plain(item) for key, item in value.items()}
    if isinstance(value, Sequence | set | frozenset):
        return [plain(item) for item in value]
    return str(value)


def document_of(value: object) -> Any:
    """A result of the client as `--json` prints it: some say themselves what they are as a document."""
    document = getattr(value, "document", None)
    if callable(document):
        return document()
    if isinstance(value, list | tuple):
        return [document_of(one) for one in value]
    return plain(value)

"""Values as JSON documents, out and in: one way for the store, files, the command line, HTTP and MCP.

A dataclass is an object of its fields. One whose document differs from that (a derived field, one left out) has a
`document` of its own made with `encode_fields`, and `read` if the way back differs, too. `Value` gives both to a class.
"""

from __future__ import annotations

import dataclasses
import enum
import types
from collections.abc import Iterable, Mapping, Set
from datetime import date, datetime, timedelta
from functools import cache
from pathlib import Path
from typing import Any, Self, Union, get_args, get_origin, get_type_hints
from uuid import UUID


class Value:
    """A dataclass with a JSON document."""

    __slots__ = ()

    def document(self) -> dict[str, Any]:
        """As JSON."""
        return encode_fields(self)

    @classmethod
    def read(cls, document: Mapping[str, Any]) -> Self:
        """From JSON. Of a damaged document it raises `KeyError`, `TypeError` or `ValueError`."""
        value: Self = decode_fields(cls, document)
        return value


def encode(value: object) -> Any:
    """Any value of the domain as plain JSON data."""
    if value is None or isinstance(value, bool | int | float) or type(value) is str:
        return value
    if isinstance(value, enum.Enum):
        return encode(value.value)
    if isinstance(value, UUID | Path | str):
        return str(value)
    if isinstance(value, datetime | date):
        return value.isoformat()
    if isinstance(value, timedelta):
        return f"PT{value.total_seconds():g}S"  # as ISO 8601 writes a duration
    document = getattr(value, "document", None)
    if callable(document):
        return document()
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return encode_fields(value)
    if isinstance(value, Mapping):
        return {str(encode(key)): encode(item) for key, item in value.items()}
    if isinstance(value, Iterable):
        return [encode(item) for item in value]
    return str(value)


def encode_fields(value: Any, *, without: Set[str] = frozenset()) -> dict[str, Any]:
    """The fields of a dataclass as JSON data, but for those named."""
    return {
        field.name: encode(getattr(value, field.name))
        for field in dataclasses.fields(value)
        if field.name not in without
    }


def decode(form: Any, document: Any) -> Any:
    """A value of a type from its document. What the type does not know of is left out: a writer may be newer."""
    if document is None or form is Any:
        return document
    origin = get_origin(form)
    if origin in (Union, types.UnionType):
        return _member(get_args(form), document)
    if origin is not None:
        return _items(origin, get_args(form), document)
    read = getattr(form, "read", None)
    if callable(read):
        return read(document)
    if dataclasses.is_dataclass(form) and isinstance(document, Mapping):
        return decode_fields(form, document)
    return _scalar(form, document)


def decode_fields(form: Any, document: Mapping[str, Any], **given: Any) -> Any:
    """A dataclass from the fields that its document has; those `given` are taken as they are."""
    hints = _hints(form)
    fields = dict(given)
    for field in dataclasses.fields(form):
        if field.name in document and field.name not in given:
            fields[field.name] = decode(hints[field.name], document[field.name])
        elif field.name not in given and _is_needed(field):
            raise KeyError(field.name)
    return form(**fields)


def _is_needed(field: dataclasses.Field[Any]) -> bool:
    return field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING


def _scalar(form: Any, document: Any) -> Any:
    if isinstance(form, type):
        if issubclass(form, enum.Enum):
            return form(document)
        if form is UUID:
            return UUID(document)
        if issubclass(form, datetime | date):
            return form.fromisoformat(document)
        if form is timedelta:
            return timedelta(seconds=float(str(document).removeprefix("PT").removesuffix("S")))
        if form is float and isinstance(document, int):
            return float(document)
    return document


def _items(origin: Any, arguments: tuple[Any, ...], document: Any) -> Any:
    if not isinstance(origin, type):
        return document
    if issubclass(origin, Mapping) and isinstance(document, Mapping):
        return {key: decode(arguments[1], value) for key, value in document.items()}
    if issubclass(origin, tuple):
        if len(arguments) == 2 and arguments[1] is Ellipsis:
            return tuple(decode(arguments[0], item) for item in document)
        return tuple(decode(form, item) for form, item in zip(arguments, document, strict=True))
    if issubclass(origin, Iterable):
        return [decode(arguments[0], item) for item in document]
    return document


def _member(forms: tuple[Any, ...], document: Any) -> Any:
    """The member of a union that a document is: a list for a list, and the class whose fields it has."""
    for form in forms:
        origin = get_origin(form)
        if isinstance(document, list) and isinstance(origin, type) and issubclass(origin, Iterable):
            return decode(form, document)
        if isinstance(document, Mapping) and dataclasses.is_dataclass(form):
            needed = {field.name for field in dataclasses.fields(form) if _is_needed(field)}
            if needed <= set(document) or len(forms) == 1:
                return decode(form, document)
    known = [form for form in forms if form is not type(None)]
    return decode(known[0], document) if len(known) == 1 else document


@cache
def _hints(form: Any) -> dict[str, Any]:
    return get_type_hints(form)

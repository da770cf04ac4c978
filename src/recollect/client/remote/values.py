"""Values of the domain from the documents that a server sends: the way back from surfaces/plain.py."""

from __future__ import annotations

import dataclasses
import enum
import types
from collections.abc import Iterable, Mapping
from datetime import date, datetime, timedelta
from functools import cache
from typing import Any, Union, get_args, get_origin, get_type_hints
from uuid import UUID


def value_of(form: Any, document: Any) -> Any:
    """A value of a type from its document. What the type does not know of is left out: a server may be newer."""
    if document is None or form is Any:
        return document
    origin = get_origin(form)
    if origin in (Union, types.UnionType):
        return _one_of(get_args(form), document)
    if origin is not None:
        return _many(origin, get_args(form), document)
    read = getattr(form, "read", None)
    if callable(read):
        return read(document)
    if dataclasses.is_dataclass(form) and isinstance(document, Mapping):
        return _of_fields(form, document)
    return _single(form, document)


def _single(form: Any, document: Any) -> Any:
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


def _many(origin: Any, arguments: tuple[Any, ...], document: Any) -> Any:
    if isinstance(origin, type) and issubclass(origin, Mapping) and isinstance(document, Mapping):
        return {key: value_of(arguments[1], value) for key, value in document.items()}
    if isinstance(origin, type) and issubclass(origin, tuple):
        if len(arguments) == 2 and arguments[1] is Ellipsis:
            return tuple(value_of(arguments[0], one) for one in document)
        return tuple(value_of(form, one) for form, one in zip(arguments, document, strict=True))
    if isinstance(origin, type) and issubclass(origin, Iterable):
        return [value_of(arguments[0], one) for one in document]
    return document


def _one_of(forms: tuple[Any, ...], document: Any) -> Any:
    """The member of a union that a document is: a list for a list, and the class whose fields it has."""
    for form in forms:
        origin = get_origin(form)
        if isinstance(document, list) and isinstance(origin, type) and issubclass(origin, Iterable):
            return value_of(form, document)
        if isinstance(document, Mapping) and dataclasses.is_dataclass(form):
            needed = {one.name for one in dataclasses.fields(form) if one.default is dataclasses.MISSING}
            if needed <= set(document) or len(forms) == 1:
                return value_of(form, document)
    known = [form for form in forms if form is not type(None)]
    return value_of(known[0], document) if len(known) == 1 else document


def _of_fields(form: Any, document: Mapping[str, Any]) -> Any:
    hints = _hints(form)
    given = {
        one.name: value_of(hints[one.name], document[one.name])
        for one in dataclasses.fields(form)
        if one.name in document
    }
    return form(**given)


@cache
def _hints(form: Any) -> dict[str, Any]:
    return get_type_hints(form)

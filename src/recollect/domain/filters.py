"""Filters as callers write them, read into a small tree.

A filter is a dict. A value is equality; `{"$in": [...]}`, `{"$gte": ...}`, `{"$gt"}`, `{"$lte"}`,
`{"$lt"}`, `{"$ne"}`, `{"$exists": true}` compare; `$and`, `$or` take lists, `$not` a dict. A key that
is a column means the column, any other key (or `metadata.<path>`, dots descend) means metadata.
Equality with a metadata list also holds when the list contains the value.

The tree is turned into parameterised SQL in storage/filters.py; no caller's text reaches SQL.
"""

from __future__ import annotations

import enum
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from recollect.domain.ids import parse_id
from recollect.domain.layers import Layer, ScopeName
from recollect.domain.memory import MemoryType, Status, check_time
from recollect.domain.text import check_metadata, refuse_unstorable
from recollect.errors import InvalidFilterError, InvalidInputError, InvalidTextError

MAX_DEPTH = 8
MAX_CONDITIONS = 200
MAX_VALUES = 1_000


class Operator(enum.StrEnum):
    """How a condition compares."""

    EQ = "$eq"
    NE = "$ne"
    IN = "$in"
    GT = "$gt"
    GTE = "$gte"
    LT = "$lt"
    LTE = "$lte"
    EXISTS = "$exists"


_ORDERED = frozenset({Operator.GT, Operator.GTE, Operator.LT, Operator.LTE})

#: Column name -> what its values are.
COLUMNS: dict[str, type] = {
    "id": UUID,
    "layer": Layer,
    "scope": ScopeName,
    "type": MemoryType,
    "status": Status,
    "subject": str,
    "predicate": str,
    "object": str,
    "trigger": str,
    "action": str,
    "entity": str,
    "source": str,
    "conversation": str,
    "speaker": str,
    "position": int,
    "importance": float,
    "use_count": int,
    "utility": float,
    "created_at": datetime,
    "valid_from": datetime,
    "valid_to": datetime,
    "expires_at": datetime,
    "superseded_by": UUID,
}
_EQUALITY_ONLY = frozenset({"layer", "scope", "entity", "status", "type", "id", "superseded_by"})


@dataclass(frozen=True, slots=True)
class Condition:
    """One comparison. Exactly one of `column` and `path` is set."""

    operator: Operator
    value: Any
    column: str | None = None
    path: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Group:
    """All or any of its parts; an empty `all` holds for everything, an empty `any` for nothing."""

    parts: tuple[Filter, ...]
    any: bool = False


@dataclass(frozen=True, slots=True)
class Negation:
    """Whatever does not match its part."""

    part: Filter


Filter = Condition | Group | Negation


def parse_filters(raw: object) -> Filter | None:
    """Read a filter dict; None and {} mean no filter."""
    if raw is None:
        return None
    if not isinstance(raw, Mapping):
        raise InvalidFilterError(f"filters must be a dict, not {type(raw).__name__}")
    budget = [MAX_CONDITIONS]
    return _parse_group(raw, 0, budget) if raw else None


def is_trivial(part: Filter | None) -> bool:
    """Whether a filter restricts nothing, such as None or `{"$and": [{}]}`."""
    if part is None:
        return True
    if isinstance(part, Group):
        if part.any:
            return any(is_trivial(item) for item in part.parts)
        return all(is_trivial(item) for item in part.parts)
    return isinstance(part, Negation) and part.part == Group((), any=True)


def _parse_group(raw: Mapping[Any, Any], depth: int, budget: list[int]) -> Filter:
    if depth > MAX_DEPTH:
        raise InvalidFilterError(f"filters are nested more than {MAX_DEPTH} deep")
    parts: list[Filter] = []
    for key, value in raw.items():
        if not isinstance(key, str):
            raise InvalidFilterError(f"filter key {key!r} is not a string")
        if key in {"$and", "$or"}:
            if (
                not isinstance(value, Sequence)
                or isinstance(value, str)
                or not all(isinstance(v, Mapping) for v in value)
            ):
                raise InvalidFilterError(f"{key} takes a list of filters, got {value!r}")
            parts.append(
                Group(tuple(_parse_group(item, depth + 1, budget) for item in value), any=key == "$or")
            )
        elif key == "$not":
            if not isinstance(value, Mapping):
                raise InvalidFilterError(f"$not takes a filter, got {value!r}")
            parts.append(Negation(_parse_group(value, depth + 1, budget)))
        elif key.startswith("$"):
            raise InvalidFilterError(f"unknown operator {key!r}; at this place $and, $or and $not are known")
        else:
            parts.extend(_parse_conditions(key, value, budget))
    return parts[0] if len(parts) == 1 else Group(tuple(parts))


def _parse_conditions(key: str, value: object, budget: list[int]) -> list[Filter]:
    operators = (
        [k for k in value if isinstance(k, str) and k.startswith("$")] if isinstance(value, Mapping) else []
    )
    if not operators:
        return [_condition(key, Operator.EQ, value, budget)]
    assert isinstance(value, Mapping)
    if len(operators) != len(value):
        raise InvalidFilterError(f"filter on {key!r} mixes operators and values: {dict(value)!r}")
    conditions: list[Filter] = []
    for name, operand in value.items():
        if name == "$not":
            raise InvalidFilterError(f"write {{'$not': {{{key!r}: ...}}}} instead of $not below {key!r}")
        try:
            operator = Operator(name)
        except ValueError:
            known = ", ".join(op.value for op in Operator)
            raise InvalidFilterError(f"unknown operator {name!r} on {key!r}; operators are {known}") from None
        conditions.append(_condition(key, operator, operand, budget))
    return conditions


def _condition(key: str, operator: Operator, value: object, budget: list[int]) -> Condition:
    budget[0] -= 1
    if budget[0] < 0:
        raise InvalidFilterError(f"more than {MAX_CONDITIONS} conditions in one filter")
    column = key if key in COLUMNS else None
    path = () if column else tuple(key.removeprefix("metadata.").split("."))
    if not column and not all(path):
        raise InvalidFilterError(f"filter key {key!r} is not a column and not a metadata path")
    try:
        refuse_unstorable(key, f"filter key {key!r}")
    except InvalidTextError as error:
        raise InvalidFilterError(str(error)) from error
    if operator is Operator.EXISTS:
        if not isinstance(value, bool):
            raise InvalidFilterError(f"$exists on {key!r} takes true or false, got {value!r}")
        return Condition(operator, value, column, path)
    if operator is Operator.IN:
        if isinstance(value, str | Mapping) or not isinstance(value, Sequence | set | frozenset):
            raise InvalidFilterError(f"$in on {key!r} takes a list, got {value!r}")
        if len(value) > MAX_VALUES:
            raise InvalidFilterError(f"$in on {key!r} has {len(value):,} values, the limit is {MAX_VALUES:,}")
        return Condition(
            operator, tuple(_operand(key, column, operator, item) for item in value), column, path
        )
    return Condition(operator, _operand(key, column, operator, value), column, path)


def _operand(key: str, column: str | None, operator: Operator, value: object) -> Any:
    try:
        if column is None:
            return _metadata_operand(key, operator, value)
        if operator in _ORDERED and column in _EQUALITY_ONLY:
            raise InvalidFilterError(f"{operator.value} makes no sense on {key!r}; use equality or $in")
        if value is None:
            if operator in _ORDERED:
                raise InvalidFilterError(f"{operator.value} on {key!r} takes a value, not null")
            return None
        return _column_operand(key, COLUMNS[column], value)
    except InvalidFilterError:
        raise
    except InvalidInputError as error:
        raise InvalidFilterError(f"filter on {key!r}: {error}") from error


def _metadata_operand(key: str, operator: Operator, value: object) -> Any:
    if isinstance(value, datetime):
        value = value.isoformat()
    if operator in _ORDERED and (value is None or isinstance(value, bool | list | Mapping)):
        raise InvalidFilterError(f"{operator.value} on {key!r} takes a number or a string, got {value!r}")
    return check_metadata({"value": value})["value"]


def _column_operand(key: str, kind: type, value: object) -> Any:
    if kind is UUID:
        return parse_id(value)
    if kind is Layer:
        return Layer.parse(str(value))
    if kind is MemoryType:
        return MemoryType.parse(str(value))
    if kind is Status:
        try:
            return Status(str(value))
        except ValueError:
            raise InvalidFilterError(f"unknown status {value!r}; it is 'active' or 'superseded'") from None
    if kind is ScopeName:
        return ScopeName.parse(str(value))
    if kind is datetime:
        return check_time(value, key)
    if kind in {int, float}:
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise InvalidFilterError(f"filter on {key!r} takes a number, got {value!r}")
        try:
            number = float(value)
        except OverflowError:
            number = math.inf if value > 0 else -math.inf
        if math.isnan(number):
            raise InvalidFilterError(f"filter on {key!r} takes a number, got {value!r}")
        return number
    if not isinstance(value, str):
        raise InvalidFilterError(f"filter on {key!r} takes a string, got {value!r}")
    return check_metadata({"value": value})["value"]

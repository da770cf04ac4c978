"""Filters become SQL conditions over `recollect.memory m`.

Every value travels as a parameter: nothing of a caller's text is ever SQL.
"""

from __future__ import annotations

import enum
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from psycopg import sql
from psycopg.types.json import Jsonb

from recollect.domain.filters import COLUMNS, Condition, Filter, Group, Negation, Operator
from recollect.domain.layers import Layer, ScopeName
from recollect.domain.memory import MemoryType
from recollect.domain.names import entity_key

_COMPARE = {Operator.GT: ">", Operator.GTE: ">=", Operator.LT: "<", Operator.LTE: "<="}
_COLUMNS = {name: f"m.{name}" for name in COLUMNS} | {
    "id": "m.memory_id",
    "status": "case when m.superseded_at is null then 'active' else 'superseded' end",
    "conversation": "(select c.name from recollect.conversation c"
    " where c.tenant_id = m.tenant_id and c.conversation_id = m.conversation_id)",
}
TRUE = sql.SQL("true")
#: What the schema keeps for "no end".
FOREVER = datetime(9999, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class Moment:
    """A point of view in time: what is past its end `at` that time is out, and what was learned after `known_by`.

    `retired`: what was replaced by something newer is in, unless it has expired as well.
    """

    at: datetime
    known_by: datetime
    retired: bool = False

    @classmethod
    def now(cls, at: datetime, *, retired: bool = False) -> Moment:
        """Everything known; a memory dated ahead is known as soon as it is stored."""
        return cls(at=at, known_by=FOREVER, retired=retired)

    @classmethod
    def as_of(cls, at: datetime) -> Moment:
        """The point of view of a moment in the past: what was believed then."""
        return cls(at=at, known_by=at)


@dataclass(slots=True)
class Parameters:
    """The values of a condition, each under a name of its own."""

    values: dict[str, Any] = field(default_factory=dict)

    def add(self, value: object) -> sql.Placeholder:
        """Keep a value and return the placeholder that stands for it."""
        if isinstance(value, Layer):
            value = value.precedence
        elif isinstance(value, enum.Enum):
            value = value.value
        name = f"f{len(self.values)}"
        self.values[name] = value
        return sql.Placeholder(name)


def believed(moment: Moment, parameters: Parameters) -> sql.Composable:
    """Memories the store believes at a moment: not superseded, expired, or unknown then."""
    known_by, at = parameters.add(moment.known_by), parameters.add(moment.at)
    if moment.retired:
        # Replaced before it ended by itself: then its end is when it was replaced.
        return sql.SQL(
            "m.since <= {0} and (m.until > {1} or (m.superseded_at is not null and m.until = m.superseded_at"
            " and (m.expires_at is null or m.expires_at > {1})))"
        ).format(known_by, at)
    if moment.known_by == FOREVER:
        # What was replaced is out at once, also where a clock is behind the one it was replaced by.
        return sql.SQL("m.since <= {} and m.until > {} and m.superseded_at is null").format(known_by, at)
    return sql.SQL("m.since <= {} and m.until > {}").format(known_by, at)


def of_types(types: Sequence[MemoryType] | None, parameters: Parameters) -> sql.Composable:
    """The condition that a memory is of one of these types."""
    if types is None:
        return TRUE
    return sql.SQL("m.type = any({})").format(parameters.add([t.value for t in types]))


def in_layers(layers: Sequence[Layer] | None, parameters: Parameters) -> sql.Composable:
    """The condition that a memory is in one of these layers."""
    if layers is None:
        return TRUE
    return sql.SQL("m.layer = any({}::smallint[])").format(
        parameters.add([layer.precedence for layer in layers])
    )


def all_of(*conditions: sql.Composable) -> sql.Composable:
    """Conditions joined by "and", the trivial ones left out."""
    real = [c for c in conditions if c != TRUE]
    return sql.SQL(" and ").join(sql.SQL("({})").format(c) for c in real) if real else TRUE


def compile_filter(part: Filter | None, parameters: Parameters) -> sql.Composable:
    """A filter tree as a condition. Nulls never match a comparison, so "not" is written null-safe."""
    if part is None:
        return TRUE
    if isinstance(part, Negation):
        return sql.SQL("(({}) is not true)").format(compile_filter(part.part, parameters))
    if isinstance(part, Group):
        if not part.parts:
            return sql.SQL("false") if part.any else TRUE
        word = sql.SQL(" or " if part.any else " and ")
        return word.join(sql.SQL("({})").format(compile_filter(p, parameters)) for p in part.parts)
    return _column(part, parameters) if part.column else _metadata(part, parameters)


def _column(condition: Condition, parameters: Parameters) -> sql.Composable:
    assert condition.column is not None
    if condition.column in {"scope", "entity"}:
        return _membership(condition, parameters)
    column = sql.SQL(_COLUMNS[condition.column])
    operator, value = condition.operator, condition.value
    if condition.column == "source" and (short := _short_sources(operator, value)):
        # The words of the index on sources, or it is not used.
        listed = sql.SQL(", ").join(parameters.add(source) for source in short)
        return sql.SQL("({} in ({}) and length({}) <= 60)").format(column, listed, column)
    if operator is Operator.EXISTS:
        return sql.SQL("(({}) is not null)" if value else "(({}) is null)").format(column)
    if operator in _COMPARE:
        return sql.SQL("({} {} {})").format(column, sql.SQL(_COMPARE[operator]), parameters.add(value))
    if operator is Operator.IN:
        given = [v for v in value if v is not None]
        listed = sql.SQL(", ").join(parameters.add(v) for v in given)
        listed_in = sql.SQL("({} in ({}))").format(column, listed) if given else sql.SQL("false")
        return (
            listed_in
            if len(given) == len(value)
            else sql.SQL("({} or ({}) is null)").format(listed_in, column)
        )
    if value is None:
        return sql.SQL("(({}) is null)" if operator is Operator.EQ else "(({}) is not null)").format(column)
    same = "({} = {})" if operator is Operator.EQ else "({} is distinct from {})"
    return sql.SQL(same).format(column, parameters.add(value))


def _short_sources(operator: Operator, value: Any) -> list[str]:
    """The sources that are asked for, if all are short enough to be in the index."""
    sources = [value] if operator is Operator.EQ else list(value) if operator is Operator.IN else []
    return sources if all(isinstance(source, str) and len(source) <= 60 for source in sources) else []


def _membership(condition: Condition, parameters: Parameters) -> sql.Composable:
    """Conditions on what is linked to a memory rather than in its row."""
    test = _scope_is if condition.column == "scope" else _mentions
    operator, value = condition.operator, condition.value
    if operator is Operator.EXISTS:
        present = TRUE if condition.column == "scope" else _NAMES_SOMETHING
        return present if value else sql.SQL("(not {})").format(present)
    if operator is Operator.IN:
        return sql.SQL(" or ").join(test(v, parameters) for v in value) if value else sql.SQL("false")
    same = test(value, parameters)
    return same if operator is Operator.EQ else sql.SQL("(not {})").format(same)


def _scope_is(value: ScopeName | None, parameters: Parameters) -> sql.Composable:
    if value is None:
        return sql.SQL("false")
    return sql.SQL(
        "(m.scope_id in (select x.scope_id from recollect.scope x"
        " where x.tenant_id = m.tenant_id and x.layer = {} and x.name = {}))"
    ).format(parameters.add(value.layer), parameters.add(value.name))


_NAMES_SOMETHING = sql.SQL(
    "exists (select from recollect.mention x where x.tenant_id = m.tenant_id and x.memory_id = m.memory_id)"
)


def _mentions(value: str | None, parameters: Parameters) -> sql.Composable:
    if value is None:
        return sql.SQL("(not {})").format(_NAMES_SOMETHING)
    return sql.SQL(
        "exists (select from recollect.mention x where x.tenant_id = m.tenant_id"
        " and x.entity = {} and x.memory_id = m.memory_id)"
    ).format(parameters.add(entity_key(value)))


def _metadata(condition: Condition, parameters: Parameters) -> sql.Composable:
    element = sql.SQL("(m.metadata #> {}::text[])").format(parameters.add(list(condition.path)))
    operator, value = condition.operator, condition.value
    if operator is Operator.EXISTS:
        return sql.SQL("({} is not null)" if value else "({} is null)").format(element)
    if operator in _COMPARE:
        # jsonb orders values of different kinds too; only the same kind is a comparison people mean.
        return sql.SQL("(jsonb_typeof({0}) = jsonb_typeof({2}) and {0} {1} {2})").format(
            element, sql.SQL(_COMPARE[operator]), _json(value, parameters)
        )
    if operator is Operator.IN:
        return (
            sql.SQL(" or ").join(_json_equals(element, v, parameters) for v in value)
            if value
            else sql.SQL("false")
        )
    same = _json_equals(element, value, parameters)
    return same if operator is Operator.EQ else sql.SQL("(({}) is not true)").format(same)


def _json_equals(element: sql.Composable, value: object, parameters: Parameters) -> sql.Composable:
    if value is None:
        return sql.SQL("({0} is null or {0} = 'null'::jsonb)").format(element)
    return sql.SQL("({0} = {1} or (jsonb_typeof({0}) = 'array' and {0} @> jsonb_build_array({1})))").format(
        element, _json(value, parameters)
    )


def _json(value: object, parameters: Parameters) -> sql.Composable:
    return sql.SQL("{}::jsonb").format(parameters.add(Jsonb(value)))

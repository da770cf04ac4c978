"""Reading an ontology from plain data, with errors that name the place that is wrong.

The `[ontology]` table of recollect.toml, a document given to `declare` and a stored one have the same shape. What is
read here is checked by itself only; `domaindb` compares it with the database.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from datetime import date, datetime, time
from decimal import Decimal
from typing import Any

from recollect.domain.ontology import Condition, EntityType, Measure, Ontology, Relation
from recollect.domain.text import check_metadata, check_name
from recollect.errors import InvalidInputError

#: More than anybody declares by hand; keeps one question from becoming hundreds of statements.
MAX_TYPES = 100
MAX_RELATIONS = 500
MAX_MEASURES = 200
MAX_WORDS = 50
MAX_DOCUMENT_BYTES = 256 * 1024

_NAME = re.compile(r"[a-z][a-z0-9_]{0,62}")
#: Names of tables and columns: letters of any script, digits and what databases commonly allow. No quotes, dots or
#: colons: they are legal in some databases, and in an ontology they are mistakes or worse.
_IDENTIFIER = re.compile(r"[^\W\d](?:[\w $#-]{0,126}[\w$#-])?")
AGGREGATES = ("count", "sum", "avg", "min", "max")


def parse_ontology(document: object) -> Ontology:
    """Read an ontology from plain data; an error names the place that is wrong."""
    top = _table(document, "ontology", known=("types", "relations", "measures"))
    plain = check_metadata(_without_dates(top, 20), what="ontology", limit=MAX_DOCUMENT_BYTES)
    types = {}
    for name, given in _named(plain.get("types", {}), "ontology.types", MAX_TYPES):
        types[name] = _read_type(name, given)
    if not types and (plain.get("relations") or plain.get("measures")):
        raise InvalidInputError(
            "ontology has relations or measures but no types; declare ontology.types first"
        )
    _refuse_shared_words(types.values())
    measures = {}
    for name, given in _named(plain.get("measures", {}), "ontology.measures", MAX_MEASURES):
        measures[name] = _read_measure(name, given, types)
    return Ontology(
        types=types, relations=_read_relations(plain.get("relations", []), types), measures=measures
    )


def to_document(document: Mapping[str, Any]) -> dict[str, Any]:
    """A document as it is stored: plain JSON, dates spelled out. Parse it first."""
    stored: dict[str, Any] = json.loads(json.dumps(_without_dates(document, 20)))
    return stored


def _read_type(name: str, given: object) -> EntityType:
    place = f"ontology.types.{name}"
    fields = _table(
        given,
        place,
        known=(
            "table",
            "key",
            "label",
            "number",
            "plural",
            "words",
            "columns",
            "time_column",
            "where",
            "filters",
        ),
    )
    schema, table = _read_table(fields.get("table"), f"{place}.table")
    filters = _table(fields.get("filters", {}), f"{place}.filters")
    return EntityType(
        name=name,
        table=table,
        schema=schema,
        key=_identifier(fields.get("key", "id"), f"{place}.key"),
        label=_optional_identifier(fields.get("label"), f"{place}.label"),
        number=_optional_identifier(fields.get("number"), f"{place}.number"),
        plural=_word(fields.get("plural", _plural(name.replace("_", " "))), f"{place}.plural"),
        words=_words(fields.get("words", ()), f"{place}.words"),
        columns=_identifiers(fields.get("columns", ()), f"{place}.columns"),
        time_column=_optional_identifier(fields.get("time_column"), f"{place}.time_column"),
        where=_conditions(fields.get("where", {}), f"{place}.where"),
        filters={
            _word(word, f"{place}.filters"): _conditions(value, f"{place}.filters.{word}")
            for word, value in filters.items()
        },
    )


def _plural(word: str) -> str:
    if re.search(r"[^aeiou]y$", word):
        return f"{word[:-1]}ies"
    return f"{word}es" if re.search(r"(?:s|x|z|ch|sh)$", word) else f"{word}s"


def _read_relations(given: object, types: Mapping[str, EntityType]) -> tuple[Relation, ...]:
    place = "ontology.relations"
    if not isinstance(given, list):
        raise InvalidInputError(f"{place} must be a list of tables; write [[ontology.relations]]")
    if len(given) > MAX_RELATIONS:
        raise InvalidInputError(f"{place} has {len(given)} entries, the limit is {MAX_RELATIONS}")
    relations: dict[tuple[str, str, str], Relation] = {}
    for index, item in enumerate(given):
        for relation in _read_relation(item, f"{place}[{index}]", types):
            identity = (relation.from_type, relation.name, relation.to_type)
            if identity in relations:
                raise InvalidInputError(
                    f"{place}[{index}]: {relation.from_type!r} {relation.name} {relation.to_type!r} is declared "
                    "twice; give one of them another name"
                )
            relations[identity] = relation
    return tuple(relations.values())


def _read_relation(given: object, place: str, types: Mapping[str, EntityType]) -> Iterable[Relation]:
    fields = _table(given, place, known=("name", "from", "to", "from_column", "to_column", "inverse"))
    ends = {}
    for end in ("from", "to"):
        ends[end] = _known_type(fields.get(end), f"{place}.{end}", types)
    columns = {}
    for end in ("from", "to"):
        column = fields.get(f"{end}_column", types[ends[end]].key)
        columns[end] = _identifier(column, f"{place}.{end}_column")
    if "from_column" not in fields and "to_column" not in fields:
        raise InvalidInputError(
            f"{place} says no column; name from_column, to_column or both (the other one is the key)"
        )
    yield Relation(
        name=_relation_name(fields.get("name"), f"{place}.name"),
        from_type=ends["from"],
        to_type=ends["to"],
        from_column=columns["from"],
        to_column=columns["to"],
    )
    if "inverse" in fields:
        yield Relation(
            name=_relation_name(fields["inverse"], f"{place}.inverse"),
            from_type=ends["to"],
            to_type=ends["from"],
            from_column=columns["to"],
            to_column=columns["from"],
        )


def _read_measure(name: str, given: object, types: Mapping[str, EntityType]) -> Measure:
    place = f"ontology.measures.{name}"
    fields = _table(
        given, place, known=("type", "aggregate", "column", "words", "where", "time_column", "group_by")
    )
    aggregate = fields.get("aggregate", "count")
    if aggregate not in AGGREGATES:
        raise InvalidInputError(f"{place}.aggregate {aggregate!r} is none of {', '.join(AGGREGATES)}")
    column = _optional_identifier(fields.get("column"), f"{place}.column")
    if column is None and aggregate != "count":
        raise InvalidInputError(f"{place} needs a column to take the {aggregate} of")
    words = _words(fields.get("words", ()), f"{place}.words")
    return Measure(
        name=name,
        type=_known_type(fields.get("type"), f"{place}.type", types),
        aggregate=aggregate,
        column=column,
        words=words or (name.replace("_", " "),),
        where=_conditions(fields.get("where", {}), f"{place}.where"),
        time_column=_optional_identifier(fields.get("time_column"), f"{place}.time_column"),
        group_by=_identifiers(fields.get("group_by", ()), f"{place}.group_by"),
    )


def _refuse_shared_words(types: Iterable[EntityType]) -> None:
    owners: dict[str, str] = {}
    for declared in types:
        for word in (declared.name.replace("_", " "), declared.plural, *declared.words):
            other = owners.setdefault(word.casefold(), declared.name)
            if other != declared.name:
                raise InvalidInputError(
                    f"ontology.types.{declared.name}: the word {word!r} stands for {other!r} already; "
                    "give each word to one type"
                )


def _table(value: object, place: str, *, known: tuple[str, ...] | None = None) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise InvalidInputError(f"{place} must be a table of names and values, not {_brief(value)}")
    for key in value:
        if not isinstance(key, str):
            raise InvalidInputError(f"{place} has the key {key!r}; keys are strings")
        if known is not None and key not in known:
            raise InvalidInputError(f"{place} has an unknown key {key!r}; known are {', '.join(known)}")
    return value


def _named(value: object, place: str, limit: int) -> Iterable[tuple[str, object]]:
    entries = _table(value, place)
    if len(entries) > limit:
        raise InvalidInputError(f"{place} has {len(entries)} entries, the limit is {limit}")
    for name, given in entries.items():
        if not _NAME.fullmatch(name):
            raise InvalidInputError(
                f"{place} has the name {name!r}; use lower-case letters, digits and '_', as 'order_line'"
            )
        yield name, given


def _known_type(value: object, place: str, types: Mapping[str, EntityType]) -> str:
    if not isinstance(value, str) or value not in types:
        raise InvalidInputError(
            f"{place} {_brief(value)} is no declared type; types are {', '.join(types) or 'none'}"
        )
    return value


def _read_table(value: object, place: str) -> tuple[str | None, str]:
    if not isinstance(value, str) or not value:
        raise InvalidInputError(f"{place} is missing; name the table or view, as 'orders' or 'sales.orders'")
    schema, dot, table = value.rpartition(".")
    return (_identifier(schema, place) if dot else None, _identifier(table, place))


def _identifier(value: object, place: str) -> str:
    if not isinstance(value, str) or not _IDENTIFIER.fullmatch(value):
        raise InvalidInputError(
            f"{place} {_brief(value)} is not a name of a table or column; use letters, digits and '_' without quotes"
        )
    return value


def _optional_identifier(value: object, place: str) -> str | None:
    return None if value is None else _identifier(value, place)


def _identifiers(value: object, place: str) -> tuple[str, ...]:
    if isinstance(value, str) or not isinstance(value, list | tuple):
        raise InvalidInputError(f"{place} must be a list of columns, not {_brief(value)}")
    columns = tuple(_identifier(item, place) for item in value)
    if len(set(columns)) < len(columns) or len(columns) > MAX_WORDS:
        raise InvalidInputError(f"{place} names a column twice, or more than {MAX_WORDS} of them")
    return columns


def _relation_name(value: object, place: str) -> str:
    if not isinstance(value, str) or not re.fullmatch(r"[A-Za-z][A-Za-z0-9_]{0,62}", value):
        raise InvalidInputError(f"{place} {_brief(value)} is not a relation's name; write it as 'HAS_MANY'")
    return value


def _words(value: object, place: str) -> tuple[str, ...]:
    if isinstance(value, str) or not isinstance(value, list | tuple):
        raise InvalidInputError(f"{place} must be a list of words, not {_brief(value)}")
    if len(value) > MAX_WORDS:
        raise InvalidInputError(f"{place} has {len(value)} entries, the limit is {MAX_WORDS}")
    return tuple(dict.fromkeys(_word(item, place) for item in value))


def _word(value: object, place: str) -> str:
    word = check_name(value, what=place)
    if not re.search(r"\w", word):
        raise InvalidInputError(f"{place} has {word!r}, which has no letter or digit to look for")
    return word


def _conditions(value: object, place: str) -> tuple[Condition, ...]:
    return tuple(
        _condition(_identifier(column, place), wanted, f"{place}.{column}")
        for column, wanted in _table(value, place).items()
    )


def _condition(column: str, wanted: object, place: str) -> Condition:
    if wanted is None:
        return Condition(column=column)
    if isinstance(wanted, Mapping):
        if list(wanted) != ["null"] or not isinstance(wanted["null"], bool):
            raise InvalidInputError(f"{place} must be a value, a list of values, or {{null = true}}")
        return Condition(column=column, null=wanted["null"])
    given = wanted if isinstance(wanted, list) else [wanted]
    values = tuple(item for item in given if isinstance(item, str | int | float))
    if not given or len(given) > MAX_WORDS or len(values) < len(given):
        raise InvalidInputError(
            f"{place} must be a string, a number, a yes or no, or a list of up to {MAX_WORDS} of these"
        )
    return Condition(column=column, values=values)


def _without_dates(value: object, depth: int) -> Any:
    """TOML has dates, JSON has not; columns are compared with either."""
    if isinstance(value, datetime | date | time):
        return value.isoformat()
    if isinstance(value, Decimal):
        return float(value)
    if isinstance(value, Mapping) and depth:
        return {key: _without_dates(item, depth - 1) for key, item in value.items()}
    if isinstance(value, list | tuple) and depth:
        return [_without_dates(item, depth - 1) for item in value]
    return value


def _brief(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:77]}..."

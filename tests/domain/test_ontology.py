"""Reading an ontology: what is accepted, what is refused and how the refusal helps, and ways through it."""

from __future__ import annotations

import contextlib
import tomllib
from datetime import date
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.domain.ontology import Condition, Ontology
from recollect.domain.ontology_document import parse_ontology, to_document
from recollect.errors import InvalidInputError

TOML = """
[types.customer]
table = "sales.customers"
label = "name"
words = ["client"]
where = { deleted = false }
[types.customer.filters]
active = { status = ["active", "trial"] }
gone = { left_on = { null = false } }
[types.order]
table = "orders"
time_column = "ordered_on"
[types.category]
table = "categories"
[[relations]]
name = "HAS_MANY"
from = "customer"
to = "order"
to_column = "customer_id"
inverse = "BELONGS_TO"
[measures.new_customers]
type = "customer"
where = { since = 2024-01-01 }
"""


def shop(**changes: Any) -> dict[str, Any]:
    document: dict[str, Any] = {"types": {"customer": {"table": "customers"}, "order": {"table": "orders"}}}
    return {**document, **changes}


def test_an_ontology_is_read_from_toml() -> None:
    ontology = parse_ontology(tomllib.loads(TOML))
    customer = ontology.types["customer"]
    assert (customer.schema, customer.table, customer.key, customer.label) == (
        "sales",
        "customers",
        "id",
        "name",
    )
    assert customer.where == (Condition(column="deleted", values=(False,)),)
    assert customer.filters["active"] == (Condition(column="status", values=("active", "trial")),)
    assert customer.filters["gone"] == (Condition(column="left_on", null=False),)
    assert [t.plural for t in ontology.types.values()] == ["customers", "orders", "categories"]
    assert [(r.name, r.from_type, r.from_column, r.to_type, r.to_column) for r in ontology.relations] == [
        ("HAS_MANY", "customer", "id", "order", "customer_id"),
        ("BELONGS_TO", "order", "customer_id", "customer", "id"),
    ]
    assert ontology.measures["new_customers"].words == ("new customers",)
    assert ontology.measures["new_customers"].where[0].values == ("2024-01-01",)


def test_a_document_with_dates_is_stored_as_plain_json_and_reads_the_same() -> None:
    document = tomllib.loads(TOML)
    assert document["measures"]["new_customers"]["where"]["since"] == date(2024, 1, 1)
    assert parse_ontology(to_document(document)) == parse_ontology(document)


def test_an_empty_ontology_is_one_that_declares_nothing() -> None:
    assert not parse_ontology({})


def relation(**changes: Any) -> dict[str, Any]:
    whole = {"name": "HAS_MANY", "from": "customer", "to": "order", "to_column": "customer_id"}
    return {key: value for key, value in {**whole, **changes}.items() if value is not None}


@pytest.mark.parametrize(
    ("document", "complaint"),
    [
        ("types", "ontology must be a table of names and values, not 'types'"),
        ({"tables": {}}, "ontology has an unknown key 'tables'; known are types, relations, measures"),
        ({"types": {"Customer": {"table": "c"}}}, "name 'Customer'; use lower-case letters"),
        ({"types": {"a:b": {"table": "c"}}}, "name 'a:b'; use lower-case letters"),
        ({"types": {"customer": {}}}, "ontology.types.customer.table is missing"),
        ({"types": {"customer": {"table": "c", "colour": 1}}}, "unknown key 'colour'"),
        ({"types": {"customer": {"table": "c; drop table x"}}}, "is not a name of a table or column"),
        ({"types": {"customer": {"table": 'c"'}}}, "is not a name of a table or column"),
        ({"types": {"customer": {"table": "a.b.c"}}}, "is not a name of a table or column"),
        ({"types": {"customer": {"table": "c", "key": "id = 1 or 1"}}}, "ontology.types.customer.key"),
        ({"types": {"customer": {"table": "c", "columns": "name"}}}, "must be a list of columns"),
        ({"types": {"customer": {"table": "c", "columns": ["a", "a"]}}}, "names a column twice"),
        ({"types": {"customer": {"table": "c", "where": {"a": {"or": 1}}}}}, "a list of values, or {null = true}"),
        ({"types": {"customer": {"table": "c", "where": {"a": []}}}}, "must be a string, a number"),
        ({"types": {"customer": {"table": "c", "where": {"a": [[1]]}}}}, "must be a string, a number"),
        ({"types": {"customer": {"table": "c", "words": ["?!"]}}}, "no letter or digit"),
        (
            {"types": {"a": {"table": "a", "words": ["Client"]}, "b": {"table": "b", "words": ["client"]}}},
            "the word 'client' stands for 'a' already",
        ),
        ({"relations": [relation()]}, "has relations or measures but no types"),
        (shop(relations={}), "ontology.relations must be a list of tables"),
        (shop(relations=[relation(to="planet")]), "to 'planet' is no declared type; types are customer, order"),
        (shop(relations=[relation(**{"from": None})]), "relations[0].from None is no declared type"),
        (shop(relations=[relation(name="has many")]), "write it as 'HAS_MANY'"),
        (shop(relations=[relation(to_column=None)]), "says no column; name from_column"),
        (shop(relations=[relation(), relation()]), "'customer' HAS_MANY 'order' is declared twice"),
        (shop(measures={"m": {"type": "planet"}}), "ontology.measures.m.type 'planet' is no declared type"),
        (shop(measures={"m": {"type": "order", "aggregate": "median"}}), "'median' is none of count, sum"),
        (shop(measures={"m": {"type": "order", "aggregate": "sum"}}), "needs a column to take the sum of"),
        (shop(measures={"m": {"type": "order", "sql": "select 1"}}), "unknown key 'sql'"),
        ({"types": {f"t{n}": {"table": "t"} for n in range(101)}}, "has 101 entries, the limit is 100"),
        ({"types": {"customer": {"table": "c", "where": {"a": float("nan")}}}}, "which JSON can't hold"),
        ({"types": {"customer": {"table": "c", "words": ["x" * 300]}}}, "the limit is 200"),
    ],
)  # fmt: skip
def test_a_wrong_ontology_is_refused_with_the_place(document: object, complaint: str) -> None:
    with pytest.raises(InvalidInputError) as caught:
        parse_ontology(document)
    assert complaint in str(caught.value)


def test_an_ontology_that_contains_itself_is_refused() -> None:
    document = shop()
    document["types"]["customer"]["where"] = {"status": document}
    with pytest.raises(InvalidInputError):
        parse_ontology(document)


KEYS = st.sampled_from(["types", "relations", "measures", "customer", "table", "where", "id"])
DOCUMENTS = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(KEYS, inner),
    max_leaves=12,
)


@given(DOCUMENTS)
def test_whatever_is_given_is_an_ontology_or_refused(document: Any) -> None:
    with contextlib.suppress(InvalidInputError):
        assert isinstance(parse_ontology(document), Ontology)


def test_the_shortest_way_between_types_is_found_and_loops_end() -> None:
    types = {name: {"table": name} for name in ("a", "b", "c", "d", "e")}
    steps = [("a", "b"), ("b", "a"), ("b", "c"), ("c", "a"), ("c", "d"), ("d", "e"), ("a", "c")]
    relations = [relation(**{"from": here, "to": there}) for here, there in steps]
    ontology = parse_ontology({"types": types, "relations": relations})
    assert [r.to_type for r in ontology.path("a", "d") or ()] == ["c", "d"]
    assert ontology.path("a", "a") == ()
    assert ontology.path("e", "a") is None
    assert ontology.path("b", "e", max_depth=2) is None
    assert [r.to_type for r in ontology.path("b", "e", max_depth=3) or ()] == ["c", "d", "e"]


def test_an_id_is_split_only_when_its_type_is_declared() -> None:
    ontology = parse_ontology(shop())
    split = ontology.split_id("customer:a1:b2")
    assert split is not None
    assert (split[0].name, split[1]) == ("customer", "a1:b2")
    assert ontology.split_id("planet:1") is None
    assert ontology.split_id("customer") is None
    assert ontology.split_id("customer:") is None

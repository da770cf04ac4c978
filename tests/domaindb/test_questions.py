"""What a question asks of a declared database, from its words alone."""

from __future__ import annotations

from typing import Any

import pytest

from recollect.domain.ontology_document import parse_ontology
from recollect.domaindb.questions import candidate_names, read_question, unapplied


@pytest.mark.parametrize(
    ("question", "types"),
    [
        ("What did Acme order?", {"order"}),
        ("What has Acme ordered so far?", {"order"}),
        ("Which clients have unpaid invoices", {"customer", "invoice"}),
        ("CUSTOMERS!", {"customer"}),
        ("the customer's orders", {"customer", "order"}),
        ("in what border town", set()),
        ("custom work", set()),
        ("", set()),
        ("🙂 ؟ 。", set()),
    ],
)
def test_types_are_found_by_their_words_in_any_form(
    document: dict[str, Any], question: str, types: set[str]
) -> None:
    request = read_question(question, parse_ontology(document))
    assert {declared.name for declared in request.types} == types


@pytest.mark.parametrize(
    ("question", "rows"),
    [
        ("What's the balance on invoice #123?", [("invoice", "123")]),
        ("status of order 12345.", [("order", "12345")]),
        ("order no. 7 and order number: 8", [("order", "7"), ("order", "8")]),
        ("invoice INV-123, please", [("invoice", "INV-123")]),
        ("order:12345", [("order", "12345")]),
        ("customer id a1b2c3d4", [("customer", "a1b2c3d4")]),
        ("orders 2024", []),
        ("What did Acme order 3 days ago?", []),
        ("what did they order 12 weeks ago", []),
        ("border 12", []),
        ("an order of 12 chairs", []),
    ],
)
def test_rows_are_named_by_number(
    document: dict[str, Any], question: str, rows: list[tuple[str, str]]
) -> None:
    request = read_question(question, parse_ontology(document))
    assert [(row.type.name, row.number) for row in request.numbered] == rows


@pytest.mark.parametrize(
    ("question", "measures"),
    [
        ("How many active customers?", [("active_customers", ())]),
        ("Acme's total orders this year", [("total_orders", ())]),
        ("total value of all orders", [("total_orders", ())]),
        ("why are sales down this quarter", [("total_orders", ())]),
        ("sales by status", [("total_orders", ("status",))]),
        ("orders per status", [("total_orders", ("status",))]),
        ("sales by password", [("total_orders", ())]),
        ("average invoice amount last quarter", [("average_invoice_amount", ())]),
        ("how many customers are there", [("number of customers", ())]),
        ("number of open orders", [("number of orders", ())]),
        ("What did Acme order?", []),
        (
            "the total came up long before anybody had thought about placing orders",
            [("number of orders", ())],
        ),
    ],
)
def test_measures_are_asked_for_by_their_words(
    document: dict[str, Any], question: str, measures: list[tuple[str, tuple[str, ...]]]
) -> None:
    request = read_question(question, parse_ontology(document))
    assert [(asked.measure.name, asked.group_by) for asked in request.measures] == measures


def test_of_two_measures_the_one_that_says_more_is_meant(document: dict[str, Any]) -> None:
    document["measures"]["all_customers"] = {"type": "customer", "words": ["customers"]}
    ontology = parse_ontology(document)

    def asked(question: str) -> list[str]:
        return [found.measure.name for found in read_question(question, ontology).measures]

    assert asked("How many active customers?") == ["active_customers"]
    assert asked("How many customers?") == ["all_customers"]


def test_words_of_scripts_without_blanks_are_found(document: dict[str, Any]) -> None:
    document["types"]["order"]["words"] = ["订单"]
    request = read_question("上个月有多少订单？", parse_ontology(document))
    assert [declared.name for declared in request.types] == ["order"]


def test_a_question_of_ten_thousand_words_is_read_to_a_point(document: dict[str, Any]) -> None:
    ontology = parse_ontology(document)
    assert read_question("word " * 10_000 + "orders", ontology).types == ()
    assert [t.name for t in read_question("orders " + "word " * 10_000, ontology).types] == ["order"]


@pytest.mark.parametrize(
    ("question", "names"),
    [
        ("What did Acme Corporation order last month?", ["Acme Corporation"]),
        ("Should I offer Acme a discount?", ["Acme"]),
        ("Acme's total orders", ["Acme"]),
        ("Total orders this year", []),
        ("Does Bank of America pay?", ["Bank of America"]),
        ('orders of "the corner shop"', ["the corner shop"]),
        ("What's up?", []),
    ],
)
def test_names_are_guessed_where_nobody_resolved_them(question: str, names: list[str]) -> None:
    assert candidate_names(question) == names


@pytest.mark.parametrize(
    ("question", "left_out"),
    [
        ("How many active customers?", []),
        ("Which customers are active?", []),
        ("List unpaid invoices", [("invoices", "unpaid")]),
        ("Which invoices are overdue?", [("invoices", "overdue")]),
        ("Show me big overdue invoices", [("invoices", "big overdue")]),
        ("customers in the food industry", [("customers", "in the food industry")]),
        ("orders over 500 euros", [("orders", "over 500 euros")]),
        ("customers by region", [("customers", "by region")]),
        ("total orders by status", []),
        ("open orders of Acme last month", []),
        ("How many orders in January 2024?", []),
        ("How many customers do we have?", []),
        ("How many invoices are there?", []),
        ("What's the balance on invoice #123?", []),
        ("What did Acme order?", []),
        ("custom work", []),
    ],
)
def test_what_restricts_rows_and_is_not_declared_is_named(
    document: dict[str, Any], question: str, left_out: list[tuple[str, str]]
) -> None:
    known = [*candidate_names(question), "last month", "January 2024"]
    assert list(unapplied(question, parse_ontology(document), known)) == left_out

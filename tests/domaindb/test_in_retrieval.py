"""The domain database as a source beside memories: in contexts, and in what a search looks for."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import pytest

from recollect import Recollect, Settings

if TYPE_CHECKING:
    from tests.domaindb.conftest import Shop

NOW = "2024-02-14"


@pytest.fixture
def opened(
    settings: Settings, tenant_id: str, document: dict[str, Any]
) -> Iterator[Callable[[str], Recollect]]:
    """A client of the session's store whose tenant has the database of a URL, and the shop's ontology."""
    made: list[Recollect] = []

    def open_client(url: str) -> Recollect:
        own = settings.replace(
            tenant=tenant_id, user="root", domain_database_url=url, ontology=document, domain_timeout_s=20.0
        )
        made.append(Recollect(settings=own))
        return made[-1]

    yield open_client
    for client in made:
        client.close()


@pytest.mark.parametrize(
    ("question", "answers"),
    [
        ("What did Acme Corporation order?", ["12345", "12346", "12347"]),
        ("What did Acme Corporation order last month?", ["12345", "12346"]),
        ("What's the balance on invoice #123?", ["750.1"]),
        ("How many active customers?", ["7"]),
        ("Acme Corporation's total orders this year", ["15205.75"]),
        ("Why are sales down this quarter?", ["15213"]),
    ],
)
def test_questions_about_current_data_are_answered_in_the_context(
    opened: Callable[[str], Recollect], shop: Shop, question: str, answers: list[str]
) -> None:
    client = opened(shop.url)
    client.add("Acme Corporation prefers NET30 payment terms", entities=["Acme Corporation"])
    context = client.context(question, now=NOW)
    assert context.query_type.requires_domain_db
    assert context.domain_results is not None
    for answer in answers:
        assert answer in context.text, context.text
    assert "20001" not in context.text or "sales" in question


@pytest.mark.parametrize(
    ("question", "note"),
    [
        ("How many active customers?", "'active' was not applied to customers"),
        ("How many unpaid invoices?", "'unpaid' was not applied to invoices"),
        ("How many customers in food?", "'in food' was not applied to customers"),
    ],
)
def test_a_qualifier_the_database_cannot_apply_is_said_and_not_dropped(
    opened: Callable[[str], Recollect], sqlite_shop: Shop, document: dict[str, Any], question: str, note: str
) -> None:
    del document["types"]["customer"]["filters"], document["measures"]["active_customers"]
    client = opened(sqlite_shop.url)
    context = client.context(question, now=NOW)
    assert context.domain_results is not None
    assert any(note in said for said in context.notes)
    assert note in context.text
    assert any(note in said for said in client.ontology.query(question).notes)


def test_a_search_that_follows_orders_says_which_qualifier_it_did_not_apply(
    opened: Callable[[str], Recollect], sqlite_shop: Shop
) -> None:
    client = opened(sqlite_shop.url)
    client.add("Order 12345 was left at the back door", entities=["order 12345"])
    results = client.search("What happened with the fragile orders of Acme Corporation?", now=NOW)
    assert results.notes == ("'fragile' was not applied to orders: the ontology declares no such filter",)
    assert client.search("What happened with the open orders of Acme Corporation?", now=NOW).notes == ()


def test_a_question_about_what_is_learned_asks_no_database(
    opened: Callable[[str], Recollect], sqlite_shop: Shop
) -> None:
    client = opened(sqlite_shop.url)
    client.add(None, type="procedural", trigger="a rush order comes in", action="call the warehouse first")
    context = client.context("How do I usually handle rush orders?", now=NOW)
    assert context.domain_results is None
    assert "call the warehouse" in context.text


def test_a_database_that_is_down_leaves_the_memories_and_says_so(opened: Callable[[str], Recollect]) -> None:
    client = opened("postgresql://ana:s3cr3t@127.0.0.1:1/shop")
    client.add("Acme Corporation ordered forty chairs", entities=["Acme Corporation"])
    context = client.context("What did Acme Corporation order?", threshold=0.0, now=NOW)
    assert "forty chairs" in context.text
    assert any("domain database" in note for note in context.notes)
    assert "s3cr3t" not in context.text + str(context.notes)


def test_memories_of_a_customers_orders_are_found_through_the_ontology(
    opened: Callable[[str], Recollect], sqlite_shop: Shop
) -> None:
    client = opened(sqlite_shop.url)
    wanted = client.add("The forklift broke while order 12345 was being packed")
    client.add("The forklift was painted green")
    hits = client.search("What went wrong for Acme Corporation?", threshold=0.0, explain=True, now=NOW)
    found = next(hit for hit in hits if hit.id == wanted.id)
    assert found.explanation is not None
    assert "entity" in found.explanation.sources


@pytest.mark.parametrize(
    ("question", "wanted"),
    [
        ("What went wrong with the orders of Acme Corporation?", "The forklift broke while order 12345"),
        ("Which of Acme Corporation's orders was left at the back door?", "Order 12346 was left"),
    ],
)
def test_what_is_known_of_an_order_answers_for_its_customer(
    opened: Callable[[str], Recollect], sqlite_shop: Shop, question: str, wanted: str
) -> None:
    client = opened(sqlite_shop.url)
    client.add("The forklift broke while order 12345 was being packed, two crates were lost")
    client.add("Order 12346 was left at the back door")
    client.add("Order 20001 was damaged by rain at the back door")
    client.add("The forklift was painted green")
    hits = client.search(question, now=NOW).hits
    assert hits
    assert hits[0].text.startswith(wanted)
    assert not any("20001" in hit.text or "green" in hit.text for hit in hits)

"""A context with current data: a real database beside the store, and what happens when it does not answer."""

from __future__ import annotations

import socket
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from recollect import AugmentedContext, Recollect, Settings
from recollect.providers.tokens import count_tokens

ONTOLOGY = {
    "types": {
        "customer": {
            "table": "customers",
            "label": "name",
            "columns": ["id", "name", "status"],
            "filters": {"active": {"status": "active"}},
        },
        "order": {"table": "orders", "columns": ["id", "ordered_on", "item"], "time_column": "ordered_on"},
    },
    "relations": [{"from": "customer", "name": "HAS_MANY", "to": "order", "to_column": "customer_id"}],
    "measures": {"active_customers": {"type": "customer", "where": {"status": "active"}}},
}  # fmt: skip
QUESTION = "What did Acme Corporation order?"

Connect = Callable[..., Recollect]


@pytest.fixture
def shop(tmp_path: Path) -> str:
    """The URL of a small shop's database."""
    file = tmp_path / "shop.db"
    connection = sqlite3.connect(file)
    connection.executescript("""
        create table customers (id integer primary key, name text, status text);
        create table orders (id integer primary key, customer_id integer, ordered_on date, item text);
        insert into customers values (1, 'Acme Corporation', 'active'), (2, 'Beta', 'active'), (3, 'Old', 'closed');
        insert into orders values (12345, 1, '2026-04-15', 'oak | desks'), (12346, 2, '2026-04-16', 'lamps');
    """)
    connection.commit()
    connection.close()
    return f"sqlite:///{file}"


@pytest.fixture
def connect(settings: Settings, client: Recollect) -> Iterator[Connect]:
    """The test's tenant with a database of its own."""
    opened: list[Recollect] = []
    tenant = client.tenant_context.tenant_id

    def open_with(url: str, **more: object) -> Recollect:
        given = settings.replace(domain_databases={tenant: url}, **more)
        opened.append(Recollect(settings=given, context=client.tenant_context))
        opened[-1].ontology.declare(ONTOLOGY)
        return opened[-1]

    yield open_with
    for made in opened:
        made.close()


@contextmanager
def silent_server() -> Iterator[int]:
    """A port that takes connections and never says a word."""
    with socket.create_server(("127.0.0.1", 0), backlog=16) as server:
        yield server.getsockname()[1]


def test_current_rows_follow_the_memories(connect: Connect, shop: str) -> None:
    with_shop = connect(shop)
    with_shop.add("Acme Corporation asked for a quick delivery of its order")
    context = with_shop.context(QUESTION, threshold=0.3, now="2026-05-20")
    memories, _, data = context.text.partition("# Domain Database Query Results\n")
    assert "quick delivery" in memories
    assert "| 12345 | 2026-04-15 | oak \\| desks |" in data
    assert "lamps" not in data
    assert data.endswith(
        "</retrieved_context>\n\n---\n\n"
        "Based on the above context and current data, please respond to the user's query.\n"
        "Use this context to inform your response, but be clear about what you know vs. what you're inferring.\n"
    )
    assert context.query_type.requires_domain_db
    assert context.domain_results
    assert context.notes == ()


def test_numbers_are_answered_without_any_memory(connect: Connect, shop: str) -> None:
    context = connect(shop).context("How many active customers?")
    assert context.memories == ()
    assert "No stored memory is relevant" in context.text
    assert "| 2 |" in context.text


def test_the_database_is_left_alone_when_it_is_not_wanted(connect: Connect, shop: str) -> None:
    context = connect(shop).context(QUESTION, domain=False)
    assert context.domain_results is None
    assert "Domain Database" not in context.text


def test_every_budget_is_kept_with_current_data(connect: Connect, shop: str) -> None:
    with_shop = connect(shop)
    with_shop.add("Acme Corporation asked for a quick delivery of its order")
    for budget in (1, 60, 100, 130, 160, 200, 400):
        context = with_shop.context(QUESTION, threshold=0.3, max_tokens=budget)
        assert count_tokens(context.text) == context.tokens <= budget


def test_a_database_that_is_down_is_a_note_and_the_context_goes_on(connect: Connect) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    context = _with_memory(connect(f"postgresql://nobody:secret@127.0.0.1:{port}/shop"))
    assert "domain database" in context.notes[0]
    assert f"({context.notes[0]})" in context.text
    assert "secret" not in context.text


def test_a_database_that_does_not_answer_in_time_is_a_note(connect: Connect) -> None:
    with silent_server() as port:
        context = _with_memory(connect(f"postgresql://nobody@127.0.0.1:{port}/shop", domain_timeout_s=0.2))
    assert "domain database" in context.notes[0]
    assert f"({context.notes[0]})" in context.text


def _with_memory(client: Recollect) -> AugmentedContext:
    client.add("Acme Corporation asked for a quick delivery of its order")
    context = client.context(QUESTION, threshold=0.3)
    assert [hit.text for hit in context.memories] == [
        "Acme Corporation asked for a quick delivery of its order"
    ]
    return context

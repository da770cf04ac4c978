"""A small shop (customers, orders, invoices) in a database of its own: on PostgreSQL and as an SQLite file."""

from __future__ import annotations

import asyncio
import copy
import sqlite3
from collections.abc import Callable, Coroutine, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar
from uuid import uuid4

import psycopg
import pytest
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from sqlalchemy.engine import URL

from recollect.domain.ontology_document import parse_ontology
from recollect.domaindb.connection import DomainConnections
from recollect.domaindb.database import DomainDatabase
from recollect.domaindb.tables import Catalogue

T = TypeVar("T")

TABLES = """
create table customers (id varchar(40) primary key, name varchar(200), industry varchar(40), status varchar(20),
    joined_on date);
create table orders (id integer primary key, customer_id varchar(40), ordered_on date, status varchar(20),
    total numeric(12, 2), note text);
create table invoices (id integer primary key, number varchar(20), order_id integer, issued_at timestamp,
    balance numeric(12, 2));
insert into customers values ('a1b2c3d4', 'Acme Corporation', 'technology', 'active', '2020-05-01'),
    ('b2', 'Beta GmbH', 'food', 'active', '2021-01-01'), ('c3', 'Acme Labs', 'technology', 'closed', null),
    ('t1', 'Twin Ltd', 'food', 'active', null), ('t2', 'Twin Ltd', 'toys', 'active', null),
    ('q1', 'O''Neil; drop table customers; --', 'food', 'active', null),
    ('q2', '100% Juice_Bar \\ Co', 'food', 'active', null),
    ('u1', '株式会社アクメ', 'food', 'active', null);
insert into orders values (12345, 'a1b2c3d4', '2024-01-15', 'shipped', 15000.50, 'rush'),
    (12346, 'a1b2c3d4', '2024-01-31', 'open', 200.25, null), (12347, 'a1b2c3d4', '2024-02-01', 'open', 5, null),
    (12348, 'a1b2c3d4', null, null, null, null), (20001, 'b2', '2024-01-20', 'shipped', 7.25, null);
insert into invoices values (123, 'INV-123', 12345, '2024-01-16 10:00:00', 750.10),
    (124, 'INV-124', 12346, '2024-02-01 00:00:00', 0), (125, 'INV-125', 20001, null, null);
"""

SHOP: dict[str, Any] = {
    "types": {
        "customer": {
            "table": "customers",
            "label": "name",
            "words": ["client"],
            "columns": ["id", "name", "industry", "status"],
            "time_column": "joined_on",
            "filters": {"active": {"status": "active"}, "closed": {"status": "closed"}},
        },
        "order": {
            "table": "orders",
            "columns": ["id", "ordered_on", "status", "total"],
            "time_column": "ordered_on",
            "filters": {"open": {"status": "open"}, "undated": {"ordered_on": None}},
        },
        "invoice": {
            "table": "invoices",
            "number": "number",
            "columns": ["number", "issued_at", "balance"],
            "time_column": "issued_at",
        },
    },
    "relations": [
        {
            "from": "customer",
            "name": "HAS_MANY",
            "to": "order",
            "to_column": "customer_id",
            "inverse": "BELONGS_TO",
        },
        {"from": "order", "name": "HAS_MANY", "to": "invoice", "to_column": "order_id", "inverse": "BILLS"},
    ],
    "measures": {
        "active_customers": {
            "type": "customer",
            "words": ["active customers"],
            "where": {"status": "active"},
        },
        "total_orders": {
            "type": "order",
            "aggregate": "sum",
            "column": "total",
            "words": ["total orders", "order value", "sales"],
            "group_by": ["status"],
        },
        "average_invoice_amount": {"type": "invoice", "aggregate": "avg", "column": "balance"},
    },
}


@dataclass(frozen=True)
class Shop:
    """A database somebody else owns: its URL, and the owner's way to change it."""

    kind: str
    url: str
    change: Callable[[str], None]


@pytest.fixture
def tables() -> str:
    """The statements that make the shop."""
    return TABLES


@pytest.fixture
def url_of() -> Callable[[str], str]:
    """Turns a conninfo into a URL."""
    return sqlalchemy_url


@pytest.fixture
def document() -> dict[str, Any]:
    """The shop's ontology, to be changed by a test as it likes."""
    return copy.deepcopy(SHOP)


@pytest.fixture
def sqlite_shop(tmp_path: Path) -> Shop:
    file = tmp_path / "the shop?.db"

    def change(script: str) -> None:
        connection = sqlite3.connect(file)
        connection.executescript(script)
        connection.commit()
        connection.close()

    change(TABLES)
    return Shop("sqlite", URL.create("sqlite", database=str(file)).render_as_string(), change)


@pytest.fixture
def postgresql_shop(owner_conninfo: str) -> Iterator[Shop]:
    name = f"shop_{uuid4().hex[:12]}"
    with psycopg.connect(owner_conninfo, autocommit=True) as owner:
        owner.execute(sql.SQL("create database {}").format(sql.Identifier(name)))
    own = make_conninfo(owner_conninfo, dbname=name)

    def change(script: str) -> None:
        with psycopg.connect(own, autocommit=True) as connection:
            connection.execute(script.encode())

    change(TABLES)
    yield Shop("postgresql", sqlalchemy_url(own), change)
    with psycopg.connect(owner_conninfo, autocommit=True) as owner:
        owner.execute(sql.SQL("drop database {} with (force)").format(sql.Identifier(name)))


def sqlalchemy_url(conninfo: str) -> str:
    """The same place as libpq knows it, as a URL."""
    parts = {name: str(value) for name, value in conninfo_to_dict(conninfo).items()}
    url = URL.create(
        "postgresql",
        username=parts.pop("user", None),
        password=parts.pop("password", None),
        database=parts.pop("dbname"),
        query=parts,
    )
    return url.render_as_string(hide_password=False)


@pytest.fixture(params=["sqlite", "postgresql"])
def shop(request: pytest.FixtureRequest) -> Shop:
    found: Shop = request.getfixturevalue(f"{request.param}_shop")
    return found


class Desk:
    """Asks a domain database from a test, and closes it at the end."""

    def __init__(self) -> None:
        self._runner = asyncio.Runner()
        self._opened: list[DomainConnections] = []

    def open(
        self,
        url: str,
        document: dict[str, Any] | None = None,
        *,
        timeout_s: float = 20.0,
        max_rows: int = 50,
        retry_after_s: float = 0.0,
    ) -> DomainDatabase:
        connections = DomainConnections(url, timeout_s=timeout_s, retry_after_s=retry_after_s)
        self._opened.append(connections)
        ontology = parse_ontology(SHOP if document is None else document)
        return DomainDatabase(ontology, connections, Catalogue(), max_rows=max_rows)

    def __call__(self, coroutine: Coroutine[Any, Any, T]) -> T:
        return self._runner.run(coroutine)

    def close_connections(self) -> None:
        for connections in self._opened:
            self._runner.run(connections.close())

    def close(self) -> None:
        self.close_connections()
        self._runner.close()


@pytest.fixture
def desk() -> Iterator[Desk]:
    found = Desk()
    yield found
    found.close()


@pytest.fixture
def database(desk: Desk, shop: Shop) -> DomainDatabase:
    """The shop behind its ontology."""
    return desk.open(shop.url)

import sqlite3

from recollect import Recollect, Settings

# Any database will do; this one is made on the spot.
shop = sqlite3.connect("shop.db")
shop.executescript("""
    create table customers (id text primary key, name text, status text);
    create table orders (id integer primary key, customer_id text, ordered_on date, status text, total numeric);
    create table invoices (id integer primary key, number text, order_id integer, issued_on date, balance numeric);
    insert into customers values ('a1b2c3d4', 'Acme Corporation', 'active'), ('b2', 'Beta GmbH', 'closed');
    insert into orders values (12345, 'a1b2c3d4', '2024-01-15', 'shipped', 15000),
        (12346, 'a1b2c3d4', '2024-01-30', 'open', 200.5), (12347, 'a1b2c3d4', '2024-02-03', 'open', 80);
    insert into invoices values (123, 'INV-123', 12345, '2024-01-16', 750);
""")
shop.close()

ontology = {
    "types": {
        "customer": {
            "table": "customers",
            "label": "name",
            "columns": ["id", "name", "status"],
            "filters": {"active": {"status": "active"}},
        },
        "order": {
            "table": "orders",
            "columns": ["id", "ordered_on", "status", "total"],
            "time_column": "ordered_on",
        },
        "invoice": {"table": "invoices", "number": "number", "columns": ["number", "issued_on", "balance"]},
    },
    "relations": [
        {"from": "customer", "name": "HAS_MANY", "to": "order", "to_column": "customer_id"},
        {"from": "order", "name": "HAS_MANY", "to": "invoice", "to_column": "order_id"},
    ],
    "measures": {
        "total_orders": {
            "type": "order",
            "aggregate": "sum",
            "column": "total",
            "words": ["total orders", "sales"],
            "group_by": ["status"],
        },
    },
}

with Recollect(settings=Settings.load(domain_database_url="sqlite:///shop.db")) as r:
    r.ontology.declare(ontology)
    assert all(check.ok for check in r.ontology.check())

    for question in [
        "What did Acme Corporation order last month?",
        "What's the balance on invoice #123?",
        "How many active customers?",
        "Acme Corporation's total orders this year",
        "sales by status",
    ]:
        print(f"> {question}")
        for table in r.ontology.query(question, now="2024-02-14").tables:
            print(table.title)
            for row in table.rows:
                print("  ", *row)

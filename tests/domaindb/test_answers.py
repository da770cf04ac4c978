"""What a domain database answers, on PostgreSQL and on SQLite alike."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pytest

from recollect.domain.query import Category, QueryType, Resolution, ResolvedEntity, TimeRange
from recollect.domaindb.database import (
    DomainDatabase,
    expand_entities_via_ontology,
    query_domain_database,
    query_related_entities,
)

if TYPE_CHECKING:
    from tests.domaindb.conftest import Desk, Shop

JANUARY = TimeRange(
    start=datetime(2024, 1, 1, tzinfo=UTC), end=datetime(2024, 2, 1, tzinfo=UTC), phrase="last month"
)
YEAR = TimeRange(start=datetime(2024, 1, 1, tzinfo=UTC), end=None, phrase="this year")


def acme(canonical_id: str = "customer:a1b2c3d4", **changes: Any) -> ResolvedEntity:
    fields: dict[str, Any] = {
        "mention_text": "Acme Corporation",
        "canonical_id": canonical_id,
        "name": "Acme Corporation",
        "kind": "customer",
        "confidence": 1.0,
        "method": Resolution.EXACT,
    }
    return ResolvedEntity(**{**fields, **changes})


# Rows -------------------------------------------------------------------------------------------------


def test_what_a_customer_ordered_in_a_month_is_answered(desk: Desk, database: DomainDatabase) -> None:
    question = "What did Acme Corporation order last month?"
    results = desk(database.query(question, entities=[acme()], time_range=JANUARY))
    assert results.notes == ()
    customer, orders = results.tables
    assert customer.title == "customer Acme Corporation (customer:a1b2c3d4)"
    assert customer.rows == (("a1b2c3d4", "Acme Corporation", "technology", "active"),)
    assert orders.title == "orders of Acme Corporation (customer:a1b2c3d4), last month"
    assert orders.columns == ("id", "ordered_on", "status", "total")
    # The newest first; the first and the last day of the month are in it, the day after is not.
    assert [(row[0], row[1]) for row in orders.rows] == [
        (12346, date(2024, 1, 31)),
        (12345, date(2024, 1, 15)),
    ]
    assert [Decimal(str(row[3])) for row in orders.rows] == [Decimal("200.25"), Decimal("15000.5")]
    assert not orders.truncated


@pytest.mark.parametrize("key", ["acme corporation", "entity-7"])
def test_an_entity_that_memories_know_by_name_is_found_by_that_name(
    desk: Desk, database: DomainDatabase, key: str
) -> None:
    results = desk(database.query("What did Acme order?", entities=[acme(key)]))
    assert [table.entity for table in results.tables] == ["customer:a1b2c3d4"] * 2
    assert [row[0] for row in results.tables[1].rows] == [12347, 12346, 12345, 12348]


def test_rows_without_a_time_come_last_and_nulls_stay_nulls(desk: Desk, database: DomainDatabase) -> None:
    results = desk(database.query("What did Acme order?", entities=[acme()]))
    assert results.tables[1].rows[-1] == (12348, None, None, None)


def test_the_balance_on_an_invoice_is_looked_up_by_its_number(desk: Desk, database: DomainDatabase) -> None:
    for question in ("What's the balance on invoice #123?", "balance of invoice INV-123"):
        results = desk(database.query(question, entities=[]))
        invoice, orders = results.tables
        assert invoice.title == "invoice INV-123 (invoice:123)"
        assert invoice.rows[0][:2] == ("INV-123", datetime(2024, 1, 16, 10))
        assert Decimal(str(invoice.rows[0][2])) == Decimal("750.1")
        assert [row[0] for row in orders.rows] == [12345]


def test_a_number_nobody_has_is_said_to_be_missing(desk: Desk, database: DomainDatabase) -> None:
    for number in ("999", "99999999999999999999999999", "INV-9"):
        results = desk(database.query(f"What's the balance on invoice #{number}?", entities=[]))
        assert results.tables == ()
        assert results.notes == (f"there is no invoice {number!r}",)


def test_related_rows_are_reached_over_two_relations(desk: Desk, database: DomainDatabase) -> None:
    results = desk(database.query("Which invoices does Acme have?", entities=[acme()]))
    assert results.tables[1].title == "invoices of Acme Corporation (customer:a1b2c3d4)"
    assert [row[0] for row in results.tables[1].rows] == ["INV-124", "INV-123"]
    limited = desk(database.query("Acme's invoices", entities=[acme()], time_range=JANUARY))
    assert [row[0] for row in limited.tables[1].rows] == ["INV-123"]


def test_an_adjective_that_was_declared_restricts_rows(desk: Desk, database: DomainDatabase) -> None:
    results = desk(database.query("open orders of Acme", entities=[acme()]))
    assert [row[0] for row in results.tables[1].rows] == [12347, 12346]
    undated = desk(database.query("undated orders", entities=[]))
    assert [row[0] for row in undated.tables[0].rows] == [12348]


def test_a_question_that_names_no_type_gets_the_row_and_what_it_leads_to(
    desk: Desk, database: DomainDatabase
) -> None:
    results = desk(database.query("Should I offer Acme a discount?", entities=[acme()]))
    assert [table.title.partition(" ")[0] for table in results.tables] == ["customer", "orders"]


def test_rows_of_a_type_are_listed_when_nobody_is_named(desk: Desk, database: DomainDatabase) -> None:
    results = desk(database.query("Which orders came in last month?", entities=[], time_range=JANUARY))
    (orders,) = results.tables
    assert orders.title == "orders, last month"
    assert [row[0] for row in orders.rows] == [12346, 20001, 12345]


def test_a_name_the_database_lacks_is_not_answered_with_everybodys_rows(
    desk: Desk, database: DomainDatabase
) -> None:
    zeta = acme("zeta", name="Zeta", mention_text="Zeta")
    results = desk(database.query("What did Zeta order?", entities=[zeta]))
    assert results.tables == ()
    assert results.notes == ("the domain database has nothing named 'Zeta'; nothing was looked up",)
    measured = desk(database.query("Zeta's total orders", entities=[zeta]))
    assert len(measured.tables) == 1
    assert "not limited to it" in measured.notes[0]


def test_me_is_not_a_row(desk: Desk, database: DomainDatabase) -> None:
    me = acme("user:root", name="root", mention_text="my", method=Resolution.FIRST_PERSON)
    results = desk(database.query("Show my closed customers", entities=[me]))
    assert results.notes == ()
    assert [row[0] for row in results.tables[0].rows] == ["c3"]


def test_names_are_looked_for_in_the_question_when_nobody_resolved_them(
    desk: Desk, database: DomainDatabase
) -> None:
    results = desk(database.query("What did Beta GmbH order?"))
    assert [row[0] for row in results.tables[1].rows] == [20001]


def test_a_label_is_found_in_lower_case_where_nobody_took_it_for_a_name(
    desk: Desk, database: DomainDatabase
) -> None:
    for entities in (None, []):
        results = desk(database.query("what has beta gmbh ordered?", entities=entities))
        assert [row[0] for row in results.tables[1].rows] == [20001]
    assert [table.entity for table in desk(database.query("open orders", entities=[])).tables] == [None]


# Measures ---------------------------------------------------------------------------------------------


def number(results: Any) -> Decimal:
    ((cell,),) = results.tables[0].rows
    return Decimal(str(cell))


def test_active_customers_are_counted(desk: Desk, database: DomainDatabase) -> None:
    results = desk(database.query("How many active customers?", entities=[]))
    assert number(results) == 7
    assert [table.title for table in results.tables] == ["active customers, active"]


def test_a_count_needs_no_declared_measure(desk: Desk, database: DomainDatabase) -> None:
    assert number(desk(database.query("How many customers do we have?", entities=[]))) == 8
    assert (
        number(desk(database.query("How many orders came in last month?", entities=[], time_range=JANUARY)))
        == 3
    )
    results = desk(database.query("How many open orders does Acme have?", entities=[acme()]))
    assert number(results) == 2


def test_a_customers_total_orders_this_year_are_summed(desk: Desk, database: DomainDatabase) -> None:
    results = desk(database.query("Acme's total orders this year", entities=[acme()], time_range=YEAR))
    assert results.tables[0].title == "total orders, of Acme Corporation (customer:a1b2c3d4), this year"
    assert number(results) == Decimal("15205.75")
    everybody = desk(database.query("total orders this year", entities=[], time_range=YEAR))
    assert number(everybody) == Decimal("15213")


def test_a_measure_over_two_relations_and_over_no_rows(desk: Desk, database: DomainDatabase) -> None:
    results = desk(database.query("Acme's average invoice amount", entities=[acme()]))
    assert number(results) == Decimal("375.05")
    nothing = TimeRange(
        start=datetime(1990, 1, 1, tzinfo=UTC), end=datetime(1991, 1, 1, tzinfo=UTC), phrase="1990"
    )
    results = desk(database.query("average invoice amount in 1990", entities=[], time_range=nothing))
    assert results.tables[0].rows == ((None,),)


def test_a_measure_is_split_by_a_declared_column(desk: Desk, database: DomainDatabase) -> None:
    results = desk(database.query("total orders by status", entities=[]))
    assert results.tables[0].columns == ("status", "total orders")
    split = {row[0]: row[1] for row in results.tables[0].rows}
    assert Decimal(str(split["open"])) == Decimal("205.25")
    assert Decimal(str(split["shipped"])) == Decimal("15007.75")
    assert split[None] is None


def test_a_period_without_a_time_column_is_said_not_to_limit(
    desk: Desk, shop: Shop, document: dict[str, Any]
) -> None:
    del document["types"]["order"]["time_column"]
    database = desk.open(shop.url, document)
    results = desk(database.query("total orders this year", entities=[], time_range=YEAR))
    assert "not limited to this year: no time column is declared" in results.tables[0].title


def test_a_period_that_begins_after_it_ends_has_no_rows(desk: Desk, database: DomainDatabase) -> None:
    odd = TimeRange(start=JANUARY.end, end=JANUARY.start, phrase="from February to January")
    results = desk(database.query("list orders", entities=[], time_range=odd))
    assert results.tables[0].rows == ()
    assert number(desk(database.query("How many orders?", entities=[], time_range=odd))) == 0


def test_nothing_is_asked_for_a_question_that_needs_no_domain_data(
    desk: Desk, database: DomainDatabase
) -> None:
    procedural = QueryType(category=Category.PROCEDURAL, procedural=True)
    question = "How do I handle rush orders?"
    assert desk(query_domain_database(database, question, procedural, [])).tables == ()
    factual = QueryType(category=Category.FACTUAL, requires_domain_db=True)
    assert desk(query_domain_database(database, question, factual, [])).tables


# Entities ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("mention", "id", "confidence"),
    [
        ("Acme Corporation", "customer:a1b2c3d4", 0.95),
        ("acme CORPORATION", "customer:a1b2c3d4", 0.95),
        ("  Beta GmbH ", "customer:b2", 0.95),
        ("Beta", "customer:b2", 0.8),
        ("acme corp", "customer:a1b2c3d4", 0.8),
        ("customer:b2", "customer:b2", 0.95),
        ("order 12345", "order:12345", 0.95),
        ("invoice #INV-124", "invoice:124", 0.95),
        ("株式会社アクメ", "customer:u1", 0.95),
        ("株式会社", "customer:u1", 0.8),
        ("O'Neil; drop table customers; --", "customer:q1", 0.95),
        ("100% Juice_Bar \\ Co", "customer:q2", 0.95),
        ("100%", "customer:q2", 0.8),
    ],
)
def test_a_mention_is_found_by_label_number_or_id(
    desk: Desk, database: DomainDatabase, mention: str, id: str, confidence: float
) -> None:
    found = desk(database.find(mention))
    assert found is not None
    assert (found.canonical_id, found.confidence, found.rivals) == (id, confidence, ())
    assert (found.mention_text, found.kind, found.method) == (
        mention,
        id.partition(":")[0],
        Resolution.DOMAIN,
    )


NOBODY = [
    "Zeta",
    "",
    "%",
    "%%%",
    "___",
    "'",
    "' or '1'='1",
    "\\",
    "customer:nobody",
    "order 1e9",
    "order 7",
    "Ac",
    "\0",
]


@pytest.mark.parametrize("mention", NOBODY)
def test_a_mention_that_is_no_row_is_not_found(desk: Desk, database: DomainDatabase, mention: str) -> None:
    assert desk(database.find(mention)) is None


def test_a_name_two_rows_share_has_rivals(desk: Desk, database: DomainDatabase) -> None:
    found = desk(database.find("Twin Ltd"))
    assert found is not None
    assert found.keys == ("customer:t1", "customer:t2")
    assert found.confidence == 0.5
    both = desk(database.query("Which orders does Twin Ltd have?", entities=[found]))
    assert {table.entity for table in both.tables} == {"customer:t1", "customer:t2"}
    named = desk(
        database.query("What about Acme?", entities=[acme("acme", name="Acme", mention_text="Acme")])
    )
    assert named.notes == (
        "'Acme' may mean 2 rows: Acme Corporation (customer:a1b2c3d4), Acme Labs (customer:c3)",
    )


def test_entities_are_expanded_along_the_ontology(desk: Desk, database: DomainDatabase) -> None:
    ids = desk(expand_entities_via_ontology(database, ["customer:a1b2c3d4", "somebody else"]))
    assert ids == [
        "customer:a1b2c3d4", "somebody else", "order:12347", "order:12346", "order:12345", "order:12348"
    ]  # fmt: skip
    expansion = desk(database.expand(["customer:a1b2c3d4"], max_depth=2))
    labels = {entity.id: (entity.label, entity.relation, entity.depth) for entity in expansion.related}
    assert labels["invoice:123"] == ("INV-123", "HAS_MANY", 2)
    assert labels["order:12345"] == ("12345", "HAS_MANY", 1)


def test_an_ontology_that_loops_ends(desk: Desk, database: DomainDatabase) -> None:
    # customer -> order -> customer, and order -> invoice -> order, both ways.
    expansion = desk(database.expand(["customer:a1b2c3d4"], max_depth=1_000_000))
    assert len(expansion.ids) == len(set(expansion.ids)) == 7
    assert {entity.depth for entity in expansion.related} == {1, 2}


def test_expansion_is_bounded_by_depth_and_fan_out(desk: Desk, database: DomainDatabase) -> None:
    start = ["customer:a1b2c3d4"]
    assert len(desk(database.expand(start, fan_out=2)).ids) == 3
    assert desk(database.expand(start, max_depth=0)).ids == tuple(start)
    assert desk(database.expand(start, fan_out=-1)).ids == tuple(start)
    assert desk(database.expand([])).ids == ()


def test_related_ids_of_one_relation(desk: Desk, database: DomainDatabase) -> None:
    has_many, belongs_to = database.ontology.relations[:2]
    assert desk(query_related_entities(database, "customer:b2", has_many)) == ["order:20001"]
    assert desk(query_related_entities(database, "order:20001", belongs_to)) == ["customer:b2"]
    assert desk(query_related_entities(database, "order:20001", has_many)) == []
    assert desk(query_related_entities(database, "b2", has_many)) == []


def test_an_entity_known_by_name_is_expanded_too(desk: Desk, database: DomainDatabase) -> None:
    beta = acme("beta gmbh", name="Beta GmbH", mention_text="Beta")
    assert desk(database.expand([beta])).ids == ("beta gmbh", "customer:b2", "order:20001")


# Values -----------------------------------------------------------------------------------------------


def test_long_cells_are_cut_and_odd_values_are_shown_as_text(
    desk: Desk, shop: Shop, document: dict[str, Any]
) -> None:
    shop.change("update orders set note = replace('0123456789', '5', status) where id = 12346;")
    long = "x" * 100_000
    shop.change(f"update orders set note = '{long}' where id = 12345;")
    document["types"]["order"]["columns"] = ["id", "note"]
    database = desk.open(shop.url, document)
    notes = {row[0]: row[1] for row in desk(database.query("list orders", entities=[])).tables[0].rows}
    assert notes[12345] == "x" * 299 + "…"
    assert notes[12346] == "01234open6789"


def test_a_large_table_is_limited_and_says_so(desk: Desk, shop: Shop) -> None:
    many = "select n, 'b2', date('2020-01-01', '+' || (n % 1000) || ' days'), 'open', 1, null from n"
    rows = f"with recursive n(n) as (select 100000 union all select n + 1 from n where n < 1099999) {many}"
    if shop.kind == "postgresql":
        rows = "select n, 'b2', date '2020-01-01' + n % 1000, 'open', 1, null from generate_series(100000, 1099999) n"
    shop.change(f"insert into orders {rows};")
    database = desk.open(shop.url, timeout_s=60, max_rows=7)
    results = desk(database.query("list orders", entities=[]))
    assert len(results.tables[0].rows) == 7
    assert results.tables[0].truncated
    assert number(desk(database.query("How many orders?", entities=[]))) == 1_000_005
    assert len(desk(database.expand(["customer:b2"], fan_out=10)).ids) == 11


def test_keys_and_times_of_many_kinds_are_compared_as_the_column_holds_them(
    desk: Desk, postgresql_shop: Shop
) -> None:
    postgresql_shop.change(
        """
        create schema "Back Office";
        create type mood as enum ('calm', 'cross');
        create table "Back Office"."Odd Rows" ("Row Id" uuid primary key, "Größe" numeric, at timestamptz,
            epoch bigint, mood mood, ok boolean, raw bytea, extra jsonb, tags text[]);
        insert into "Back Office"."Odd Rows" values
        ('8b1c1f3e-0000-4000-8000-000000000001', 1.50, '2024-01-31 23:30:00+00', 1706700000, 'calm', true,
            '\\x0102', '{"a": [1]}', '{x,y}'),
        ('8b1c1f3e-0000-4000-8000-000000000002', 2.50, '2024-02-01 00:30:00+00', 1706800000, 'cross', false,
            null, null, null);
        """
    )
    shown = ["Größe", "at", "mood", "ok", "raw", "extra", "tags"]
    odd = {
        "table": "Back Office.Odd Rows", "key": "Row Id", "columns": shown, "time_column": "at",
        "filters": {"calm": {"mood": "calm"}, "fine": {"ok": True}, "absurd": {"mood": "absurd"}},
    }  # fmt: skip
    database = desk.open(
        postgresql_shop.url,
        {"types": {"odd": odd}, "measures": {"early": {"type": "odd", "time_column": "epoch"}}},
    )
    found = desk(database.query("odd #8b1c1f3e-0000-4000-8000-000000000001", entities=[]))
    moment = datetime(2024, 1, 31, 23, 30, tzinfo=UTC)
    assert found.tables[0].rows == (
        (Decimal("1.50"), moment, "calm", True, "(2 bytes)", '{"a": [1]}', '["x", "y"]'),
    )
    assert desk(database.query("odd #123", entities=[])).notes == ("there is no odd '123'",)
    for question in ("calm odds", "fine odds", "list odds"):
        results = desk(database.query(question, entities=[], time_range=JANUARY))
        assert len(results.tables[0].rows) == 1, question
    assert number(desk(database.query("early", entities=[], time_range=JANUARY))) == 1
    refused = desk(database.query("absurd odds", entities=[]))
    assert refused.tables == ()
    assert "refused" in refused.notes[0]


def test_sqlite_times_in_every_spelling_are_compared(desk: Desk, sqlite_shop: Shop) -> None:
    sqlite_shop.change(
        """
        create table moments (id, at);
        insert into moments values ('day', '2024-01-31'), ('blank', '2024-01-31 23:59:59'),
            ('t', '2024-01-31T23:59:59'), ('zone', '2024-02-01T00:30:00+02:00'), ('number', 1706700000),
            ('late', '2024-02-01'), ('null', null),
            ('nonsense', 'soon');
        """
    )
    database = desk.open(sqlite_shop.url, {"types": {"moment": {"table": "moments", "time_column": "at"}}})
    results = desk(database.query("moments", entities=[], time_range=JANUARY))
    assert {row[0] for row in results.tables[0].rows} == {"day", "blank", "t", "zone", "number"}
    found = desk(database.query("moment #day1 and moment id number", entities=[]))
    assert found.notes == ("there is no moment 'day1'",)


def test_reading_works_on_a_file_in_wal_mode_that_others_write(desk: Desk, sqlite_shop: Shop) -> None:
    sqlite_shop.change("pragma journal_mode = wal;")
    database = desk.open(sqlite_shop.url)
    assert number(desk(database.query("How many orders?", entities=[]))) == 5
    sqlite_shop.change("delete from orders where id = 20001;")
    assert number(desk(database.query("How many orders?", entities=[]))) == 4

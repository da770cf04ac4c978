"""A domain database that is down, slow, hanging, changed or misdeclared: the answer says so and goes on."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import psycopg
import pytest

from recollect.domaindb.connection import MAX_THREADS, DomainConnections, DomainFault, Session
from recollect.domaindb.database import DomainDatabase
from recollect.storage import embedded
from recollect.storage.endpoint import open_door

if TYPE_CHECKING:
    from tests.domaindb.conftest import Desk, Shop

PASSWORD = "s3cr3t/p@ss"


def threads() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == "recollect-domain"]


def wait_until_no_thread_is_left() -> None:
    deadline = time.monotonic() + 30
    while threads():
        assert time.monotonic() < deadline, "threads are left behind"
        time.sleep(0.01)


@pytest.fixture
def hanging_url() -> Iterator[str]:
    """A server that takes connections and never says a word."""
    with socket.create_server(("127.0.0.1", 0), backlog=64) as listener:
        port = listener.getsockname()[1]
        yield f"postgresql://ana:{quote(PASSWORD, safe='')}@127.0.0.1:{port}/shop"
    wait_until_no_thread_is_left()


# Down -------------------------------------------------------------------------------------------------


def test_a_server_that_is_not_there_is_a_note_without_the_password(desk: Desk) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    database = desk.open(f"postgresql://ana:{quote(PASSWORD, safe='')}@127.0.0.1:{port}/shop")
    results = desk(database.query("How many customers?", entities=[]))
    assert results.tables == ()
    assert results.notes[0].startswith("the domain database can't be reached: ")
    assert PASSWORD not in results.notes[0]
    assert quote(PASSWORD, safe="") not in results.notes[0]
    assert desk(database.find("Acme")) is None
    expansion = desk(database.expand(["customer:1"]))
    assert expansion.ids == ("customer:1",)
    assert expansion.notes == results.notes
    assert [(check.name, check.ok) for check in desk(database.check())] == [("connection", False)]


def test_secrets_among_the_parameters_of_a_url_are_not_shown(desk: Desk) -> None:
    database = desk.open(
        "postgresql://127.0.0.1:1/shop?sslpassword=s3cr3t&sslcert=no-such-file&sslkey=k3y-file"
    )
    (note,) = desk(database.query("How many customers?", entities=[])).notes
    assert "s3cr3t" not in note
    assert "k3y-file" not in note


@pytest.mark.system
def test_a_server_that_stops_is_noticed_and_one_that_comes_back_is_used(
    desk: Desk, tables: str, url_of: Callable[[str], str]
) -> None:
    with embedded.temporary_home() as home:
        embedded.ensure_running(home, sync=False)
        owner = open_door(home, None).owner
        assert owner is not None
        with psycopg.connect(owner, autocommit=True) as connection:
            connection.execute(tables.encode())
        database = desk.open(url_of(owner))
        assert desk(database.query("How many orders?", entities=[])).tables[0].rows == ((5,),)
        embedded.stop(home)
        gone = desk(database.query("How many orders?", entities=[]))
        assert gone.tables == ()
        assert gone.notes[0].startswith("the domain database can't be reached")
        embedded.ensure_running(home, sync=False)
        assert desk(database.query("How many orders?", entities=[])).tables[0].rows == ((5,),)
        desk.close_connections()


def test_a_file_that_is_not_there_is_not_made(desk: Desk, tmp_path: Path) -> None:
    file = tmp_path / "nowhere.db"
    results = desk(desk.open(f"sqlite:///{file}").query("How many orders?", entities=[]))
    assert results.notes[0].startswith("the domain database can't be reached: unable to open")
    assert not file.exists()


def test_a_file_that_is_no_database_is_a_note(desk: Desk, tmp_path: Path) -> None:
    file = tmp_path / "letter.db"
    file.write_text("Dear Ana, " * 1000)
    results = desk(desk.open(f"sqlite:///{file}").query("How many orders?", entities=[]))
    assert "file is not a database" in results.notes[0]


@pytest.mark.parametrize(
    ("url", "complaint"),
    [
        ("sqlite://", "an SQLite in memory holds nothing"),
        ("sqlite:///:memory:", "an SQLite in memory holds nothing"),
        ("postgresql+asyncpg://ana:s3cr3t@h/shop", "names the asynchronous driver 'postgresql+asyncpg'"),
        (
            "postgresql+psycopg2://ana:s3cr3t@h/shop",
            "the driver 'psycopg2' of the domain database is not installed",
        ),
        ("oracle9000://ana:s3cr3t@h/shop", "SQLAlchemy knows no database 'oracle9000'"),
        ("postgresql://ana:s3cr3t@h:port/shop", "the domain database's URL can't be read"),
    ],
)
def test_a_url_that_can_not_be_used_says_why_without_its_secrets(
    desk: Desk, url: str, complaint: str
) -> None:
    (note,) = desk(desk.open(url).query("How many orders?", entities=[])).notes
    assert complaint in note
    assert "s3cr3t" not in note


def test_the_short_scheme_of_postgresql_is_understood(desk: Desk, postgresql_shop: Shop) -> None:
    database = desk.open(postgresql_shop.url.replace("postgresql://", "postgres://", 1))
    assert desk(database.query("How many orders?", entities=[])).tables


# Slow -------------------------------------------------------------------------------------------------

SLOW_VIEWS = {
    "postgresql": "create view slow_orders as select o.* from orders o, pg_sleep(300);",
    "sqlite": "create view slow_orders as with recursive n(n) as (select 1 union all select n + 1 from n)"
    " select o.* from orders o, (select count(*) from n) forever;",
}


def test_a_slow_table_is_given_up_and_the_others_are_answered(
    desk: Desk, shop: Shop, document: dict[str, Any]
) -> None:
    shop.change(SLOW_VIEWS[shop.kind])
    document["types"]["order"]["table"] = "slow_orders"
    database = desk.open(shop.url, document, timeout_s=4)
    results = desk(database.query("What did Acme Corporation order?", entities=["Acme Corporation"]))
    assert [table.title for table in results.tables] == ["customer Acme Corporation (customer:a1b2c3d4)"]
    assert results.notes == ("the domain database took too long; what is missing was not waited for",)
    wait_until_no_thread_is_left()
    assert desk(database.query("How many customers?", entities=[])).tables[0].rows == ((8,),)


def test_a_search_waits_once_for_names_that_take_too_long(
    desk: Desk, shop: Shop, document: dict[str, Any]
) -> None:
    shop.change(SLOW_VIEWS[shop.kind])
    document["types"]["order"] = {"table": "slow_orders", "label": "status"}
    database = desk.open(shop.url, document, timeout_s=4, retry_after_s=3600)
    assert desk(database.find("Zeta")) is None
    assert desk(database.find("Eta")) is None
    assert desk(database.expand(["customer:a1b2c3d4"])).notes == (
        "the domain database was not asked: it took too long a moment ago",
    )
    # What somebody really asks is asked.
    assert desk(database.query("How many customers?", entities=[])).tables[0].rows == ((8,),)


def test_a_server_that_hangs_holds_nobody_up_and_takes_few_threads(desk: Desk, hanging_url: str) -> None:
    database = desk.open(hanging_url, timeout_s=0.2)

    async def rush() -> list[str]:
        answers = [database.query("How many customers?", entities=[]) for _ in range(40)]
        results = await asyncio.gather(*answers)
        assert len(threads()) <= MAX_THREADS
        return [note for found in results for note in found.notes]

    notes = desk(rush())
    assert len(notes) == 40
    assert sum("took too long" in note for note in notes) == MAX_THREADS
    assert sum("busy" in note for note in notes) == 40 - MAX_THREADS


def test_a_server_that_could_not_be_reached_is_left_alone_for_a_while(desk: Desk, hanging_url: str) -> None:
    database = desk.open(hanging_url, timeout_s=0.2, retry_after_s=3600)
    assert "too long" in desk(database.query("How many customers?", entities=[])).notes[0]
    assert (
        "not asked: it could not be reached a moment ago"
        in (desk(database.query("How many customers?", entities=[])).notes[0])
    )


def test_a_caller_that_gives_up_leaves_the_database_usable(desk: Desk, database: DomainDatabase) -> None:
    async def give_up() -> None:
        task = asyncio.create_task(database.query("How many customers?", entities=[]))
        await asyncio.sleep(0)
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task

    for _ in range(20):
        desk(give_up())
    wait_until_no_thread_is_left()
    assert desk(database.query("How many customers?", entities=[])).tables[0].rows == ((8,),)


def test_many_questions_at_a_time_are_answered_or_told_to_wait(desk: Desk, database: DomainDatabase) -> None:
    async def rush() -> list[Any]:
        return await asyncio.gather(*(database.query("How many orders?", entities=[]) for _ in range(4)))

    for results in desk(rush()):
        assert results.tables[0].rows == ((5,),)


def test_a_closed_database_says_so(desk: Desk, database: DomainDatabase) -> None:
    desk(database.query("How many customers?", entities=[]))
    desk.close_connections()
    assert desk(database.query("How many customers?", entities=[])).notes == (
        "the domain database is closed",
    )


# Changed ----------------------------------------------------------------------------------------------


def test_a_table_dropped_after_it_was_known_is_named(
    desk: Desk, shop: Shop, database: DomainDatabase
) -> None:
    question = "What did Acme Corporation order?"
    assert len(desk(database.query(question, entities=["Acme Corporation"])).tables) == 2
    shop.change("drop table orders;")
    for _ in range(2):  # the first time it is not known yet that the table has gone
        results = desk(database.query(question, entities=["Acme Corporation"]))
        assert [table.title for table in results.tables] == ["customer Acme Corporation (customer:a1b2c3d4)"]
        assert len(results.notes) == 1
        assert "orders" in results.notes[0]
    assert results.notes[0] == "the domain database has no table 'orders' (type 'order')"


def test_columns_that_are_not_there_are_left_out_and_named(
    desk: Desk, shop: Shop, document: dict[str, Any]
) -> None:
    document["types"]["customer"]["columns"] = ["name", "shoe_size"]
    document["types"]["order"]["time_column"] = "when"
    document["measures"]["total_orders"]["column"] = "price"
    database = desk.open(shop.url, document)
    results = desk(database.query("list customers", entities=[]))
    assert results.tables[0].columns == ("name",)
    assert results.notes == ("table 'customers' has no column 'shoe_size'",)
    assert desk(database.query("total orders", entities=[])).notes == (
        "table 'orders' has no column 'price'",
    )


def test_a_check_names_everything_that_does_not_fit(desk: Desk, shop: Shop, document: dict[str, Any]) -> None:
    assert all(check.ok for check in desk(desk.open(shop.url).check()))
    document["types"]["planet"] = {"table": "planets"}
    document["types"]["customer"]["filters"]["tall"] = {"height": 3}
    document["relations"][0]["to_column"] = "buyer"
    document["relations"].append({"from": "planet", "name": "HAS_MANY", "to": "order", "to_column": "id"})
    document["measures"]["total_orders"]["group_by"] = ["colour"]
    wrong = {
        check.name: check.detail for check in desk(desk.open(shop.url, document).check()) if not check.ok
    }
    assert wrong == {
        "type customer": "table 'customers' has no column 'height'",
        "type planet": "the domain database has no table 'planets' (type 'planet')",
        "relation customer HAS_MANY order": "table 'orders' has no column 'buyer'",
        "relation order BELONGS_TO customer": "table 'orders' has no column 'buyer'",
        "relation planet HAS_MANY order": "its table is missing",
        "measure total_orders": "table 'orders' has no column 'colour'",
    }


# Hostile ----------------------------------------------------------------------------------------------

HOSTILE = [
    "'; drop table customers; --",
    '"; drop table customers; --',
    "customer' or '1'='1",
    "order 1; delete from orders",
    "customer:a1b2c3d4' union select",
    "% _ \\ %s %(x)s :x {x} $1 ?",
    "invoice #1' or '1'='1",
    "order #'; drop table orders; --",
    "\\'; drop table orders; --",
    "＇; ｄｒｏｐ ｔａｂｌｅ",
    "orders \u202e elbat pord \u0000 \ud83d\ude42",
    "x" * 50_000 + " orders",
]


def test_nothing_in_a_question_becomes_sql(desk: Desk, shop: Shop, database: DomainDatabase) -> None:
    for text in HOSTILE:
        desk(database.query(text, entities=[text]))
        desk(database.query(f'orders of "{text}" and customer {text}'))
        desk(database.find(text))
        desk(database.expand([text, f"customer:{text}"]))
    assert desk(database.query("How many customers?", entities=[])).tables[0].rows == ((8,),)
    assert desk(database.query("How many orders?", entities=[])).tables[0].rows == ((5,),)


@pytest.mark.parametrize(
    "statement",
    [
        "delete from customers",
        "update customers set name = 'x'",
        "insert into customers (id) values ('x')",
        "create table mine (id integer)",
        "drop table customers",
    ],
)
def test_the_database_itself_refuses_to_be_written_to(desk: Desk, shop: Shop, statement: str) -> None:
    connections = DomainConnections(shop.url, timeout_s=20)

    def write(session: Session) -> None:
        with session.guarded() as connection:
            connection.exec_driver_sql(statement)
            connection.commit()

    with pytest.raises(DomainFault) as caught:
        desk(connections.run(write))
    assert "read-only transaction" in str(caught.value) or "readonly database" in str(caught.value)
    if shop.kind == "postgresql":
        # A transaction may ask to write; the connection begins the next one read only again.
        def ask(session: Session) -> None:
            session.connection.exec_driver_sql("set transaction read write")

        desk(connections.run(ask))
    with pytest.raises(DomainFault):
        desk(connections.run(write))
    desk(connections.close())
    database = desk.open(shop.url)
    assert desk(database.query("How many customers?", entities=[])).tables[0].rows == ((8,),)

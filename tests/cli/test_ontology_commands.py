"""ontology show, declare, check, clear, query: the tenant's own database at the command line."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path
from typing import Any

import pytest

ONTOLOGY = """
[ontology.types.customer]
table = "customers"
label = "name"
columns = ["id", "name", "status"]
filters.active = { status = "active" }

[ontology.types.order]
table = "orders"
columns = ["id", "ordered_on", "total"]
time_column = "ordered_on"

[[ontology.relations]]
name = "HAS_MANY"
from = "customer"
to = "order"
to_column = "customer_id"

[ontology.measures.total_orders]
type = "order"
aggregate = "sum"
column = "total"
"""


@pytest.fixture
def shop_url(tmp_path: Path) -> str:
    """An SQLite file with two customers and their orders."""
    file = tmp_path / "shop.db"
    connection = sqlite3.connect(file)
    connection.executescript(
        """
        create table customers (id text primary key, name text, status text);
        create table orders (id integer primary key, customer_id text, ordered_on date, total numeric);
        insert into customers values ('a1b2c3d4', 'Acme Corporation', 'active'),
            ('b2', '[bold]Beta' || char(27), 'closed');
        insert into orders values (12345, 'a1b2c3d4', '2024-01-15', 99.5), (12346, 'a1b2c3d4', '2024-02-01', 5);
        """
    )
    connection.commit()
    connection.close()
    return f"sqlite:///{file}"


@pytest.fixture
def shop(cli: Any, shop_url: str, tmp_path: Path) -> Any:
    """The command line of a tenant that has declared its shop."""
    file = tmp_path / "shop.toml"
    file.write_text(ONTOLOGY)

    def run(*args: str, **more: Any) -> Any:
        return cli("ontology", *args, RECOLLECT_DOMAIN_DATABASE_URL=shop_url, **more)

    run("declare", str(file))
    return run


def test_an_ontology_is_declared_from_toml_json_or_standard_input_and_shown(cli: Any, tmp_path: Path) -> None:
    assert "nothing is declared" in cli("ontology", "show").err
    document = {"types": {"customer": {"table": "customers"}}}
    file = tmp_path / "shop.json"
    file.write_text(json.dumps(document))
    for given in (
        cli("ontology", "declare", str(file), "--json").json,
        cli("ontology", "show", "--json").json,
    ):
        assert (given["document"], given["source"], given["by"]) == (document, "stored", "tess")
    shown = cli("ontology", "declare", "-", input=ONTOLOGY).out.splitlines()
    assert "type\tcustomer\tcustomers: id, name, status; filters active" in shown
    assert "relation\tcustomer HAS_MANY order\tcustomer.id = order.customer_id" in shown


def test_a_question_is_answered_by_the_database_alone(shop: Any) -> None:
    done = shop("query", "What did Acme Corporation order last month?", "--now", "2024-02-14", "--json").json
    assert done["notes"] == []
    assert [table["title"] for table in done["tables"]] == [
        "customer Acme Corporation (customer:a1b2c3d4)",
        "orders of Acme Corporation (customer:a1b2c3d4), last month",
    ]
    assert done["tables"][1]["rows"] == [[12345, "2024-01-15", 99.5]]
    lines = shop("query", "How many active customers?").out.splitlines()
    assert lines == ["number of customers, active", "number of customers", "1"]
    assert shop("query", "total orders this year", "--now", "2024-06-01").out.splitlines()[-1] == "104.50"
    assert "names nothing that the ontology declares" in shop("query", "How is the weather?").err


def test_what_a_terminal_would_obey_is_spelled_out(shop: Any) -> None:
    out = shop("query", "list customers").out
    assert "[bold]Beta\\x1b" in out
    assert "\x1b" not in out


def test_the_check_ends_with_1_when_something_does_not_fit(shop: Any, cli: Any) -> None:
    checks = shop("check", "--json").json
    assert {check["ok"] for check in checks} == {True}
    wrong = {"types": {"planet": {"table": "planets"}}}
    shop("declare", "-", input=json.dumps(wrong))
    done = shop("check", code=1)
    assert "WRONG\ttype planet\tthe domain database has no table 'planets' (type 'planet')" in done.out
    assert "has no domain database" in cli("ontology", "check", code=1).out


def test_an_ontology_is_cleared_only_on_purpose(shop: Any) -> None:
    assert "--yes" in shop("clear", code=2).err
    assert shop("clear", "--yes", "--json").json == {"cleared": True}
    assert shop("clear", "--yes").out == "none was stored\n"
    assert shop("show", "--json").json["source"] == "none"


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("{", "neither TOML nor JSON"),
        ("types = ", "neither TOML nor JSON"),
        ("[tables]", "ontology has an unknown key 'tables'"),
        ('{"types": 1} x', "neither TOML nor JSON"),
        ('{"types": {"customer": {}}}', "ontology.types.customer.table is missing"),
        ("{" * 100_000, "nor JSON"),
        ('{"a":' * 100_000 + "1" + "}" * 100_000, "nested too deep"),
    ],
)
def test_a_file_that_is_no_ontology_is_refused(cli: Any, text: str, complaint: str) -> None:
    error = cli("ontology", "declare", "-", "--json", input=text, code=2).error
    assert error["code"] == "invalid_input"
    assert complaint in error["message"]


def test_a_user_without_the_admin_role_may_look_but_not_declare(shop: Any, cli: Any, shop_url: str) -> None:
    error = cli("--user", "ana", "ontology", "declare", "-", "--json", input=ONTOLOGY, code=4).error
    assert error["code"] == "forbidden"
    asked = cli(
        "--user", "ana", "ontology", "query", "How many orders?", RECOLLECT_DOMAIN_DATABASE_URL=shop_url
    )
    assert asked.out.splitlines()[-1] == "2"


def test_the_file_in_the_current_folder_declares_it_too(
    cli_environ: dict[str, str], shop_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cli: Any
) -> None:
    (tmp_path / "recollect.toml").write_text(f'domain_database_url = "{shop_url}"\n{ONTOLOGY}')
    monkeypatch.chdir(tmp_path)
    assert cli("ontology", "show", "--json").json["source"] == "file"
    assert cli("ontology", "query", "How many orders?").out.splitlines()[-1] == "2"

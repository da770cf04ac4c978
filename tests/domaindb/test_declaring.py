"""Declaring an ontology through the client or in recollect.toml, and whose database it opens."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from recollect import Recollect, Settings, TenantContext
from recollect.errors import ConfigurationError, ForbiddenError, InvalidInputError, TenantNotFoundError

if TYPE_CHECKING:
    from tests.domaindb.conftest import Shop

Opener = Callable[..., Recollect]


@pytest.fixture
def opened(settings: Settings, tenant_id: str, store: Recollect) -> Iterator[Opener]:
    """Clients of the session's store with settings of their own, as the tenant's admin."""
    made: list[Recollect] = []

    def open_client(tenant: str = tenant_id, **changes: Any) -> Recollect:
        own = settings.replace(tenant=tenant, user="root", **changes)
        made.append(Recollect(settings=own))
        return made[-1]

    yield open_client
    for client in made:
        client.close()


def cell(client: Recollect, question: str) -> Any:
    results = client.ontology.query(question)
    assert results.notes == ()
    return results.tables[0].rows[0][0]


def test_what_is_declared_is_stored_and_answers(opened: Opener, shop: Shop, document: dict[str, Any]) -> None:
    client = opened(domain_database_url=shop.url)
    assert client.ontology.get().source == "none"
    (note,) = client.ontology.query("How many active customers?").notes
    assert note == "no ontology is declared; write one and run `recollect ontology declare FILE`"
    declared = client.ontology.declare(document)
    assert (declared.source, declared.by, declared.document) == ("stored", "root", document)
    assert all(check.ok for check in client.ontology.check())
    assert cell(client, "How many active customers?") == 7
    later = client.ontology.query("What did Acme Corporation order last month?", now="2024-02-14")
    assert [row[0] for row in later.tables[1].rows] == [12346, 12345]
    assert cell(client, "How many orders?") == 5


def test_a_new_declaration_replaces_the_old_one_at_once(
    opened: Opener, sqlite_shop: Shop, document: dict[str, Any]
) -> None:
    client = opened(domain_database_url=sqlite_shop.url)
    client.ontology.declare(document)
    assert cell(client, "How many orders?") == 5
    client.ontology.declare({"types": {"customer": document["types"]["customer"]}})
    assert client.ontology.query("How many orders?").tables == ()
    assert client.ontology.clear() is True
    assert client.ontology.clear() is False
    assert client.ontology.get().source == "none"


def test_a_wrong_document_changes_nothing(
    opened: Opener, sqlite_shop: Shop, document: dict[str, Any]
) -> None:
    client = opened(domain_database_url=sqlite_shop.url)
    client.ontology.declare(document)
    with pytest.raises(InvalidInputError, match="is no declared type"):
        client.ontology.declare({"types": {"a": {"table": "a"}}, "measures": {"m": {"type": "b"}}})
    assert client.ontology.get().document == document


def test_admins_declare_and_everybody_of_the_tenant_reads(
    as_user: Callable[..., Recollect], document: dict[str, Any]
) -> None:
    ana = as_user("ana")
    for change in (lambda: ana.ontology.declare(document), ana.ontology.clear):
        with pytest.raises(ForbiddenError, match="'ana' may not"):
            change()
    as_user("root", roles=("admin",)).ontology.declare(document)
    assert ana.ontology.get().document == document
    with pytest.raises(ForbiddenError):
        ana.ontology.clear()


def test_another_tenant_sees_neither_the_ontology_nor_the_database(
    opened: Opener, store: Recollect, tenant_id: str, sqlite_shop: Shop, document: dict[str, Any]
) -> None:
    other = f"{tenant_id}-other"
    store.tenants.create(other)
    client = opened(domain_database_url=sqlite_shop.url, ontology=document)
    stranger = client.for_context(TenantContext(tenant_id=other, user_id="eve", roles=("admin", "operator")))
    assert stranger.ontology.get().source == "none"
    stranger.ontology.declare(document)
    results = stranger.ontology.query("How many active customers?")
    assert results.tables == ()
    assert results.notes[0].startswith(f"tenant {other!r} has no domain database; set domain_database_url")
    assert [check.ok for check in stranger.ontology.check()] == [True, False]
    assert client.ontology.get().source == "file"
    assert cell(client, "How many active customers?") == 7


def test_each_tenant_reaches_the_database_named_for_it(
    opened: Opener,
    store: Recollect,
    tenant_id: str,
    sqlite_shop: Shop,
    postgresql_shop: Shop,
    document: dict[str, Any],
) -> None:
    other = f"{tenant_id}-other"
    store.tenants.create(other)
    postgresql_shop.change("delete from orders where id > 12345")
    client = opened(
        domain_databases={tenant_id: sqlite_shop.url, other: postgresql_shop.url}, ontology=document
    )
    neighbour = client.for_context(TenantContext(tenant_id=other, user_id="eve", roles=("admin",)))
    neighbour.ontology.declare(document)
    assert cell(client, "How many orders?") == 5
    assert cell(neighbour, "How many orders?") == 1
    assert cell(client, "How many orders?") == 5


def test_what_is_stored_wins_over_the_file_until_it_is_cleared(
    opened: Opener, sqlite_shop: Shop, document: dict[str, Any]
) -> None:
    client = opened(domain_database_url=sqlite_shop.url, ontology=document)
    assert client.ontology.get().source == "file"
    client.ontology.declare({"types": {"invoice": document["types"]["invoice"]}})
    assert client.ontology.get().source == "stored"
    assert client.ontology.query("How many orders?").tables == ()
    assert cell(client, "How many invoices?") == 3
    client.ontology.clear()
    assert client.ontology.get().source == "file"
    assert cell(client, "How many orders?") == 5


def test_forgetting_a_tenant_forgets_its_ontology(
    opened: Opener, store: Recollect, tenant_id: str, document: dict[str, Any]
) -> None:
    opened().ontology.declare(document)
    assert store.tenants.forget(tenant_id).rows["ontology"] == 1
    with pytest.raises(TenantNotFoundError):
        opened().ontology.get()
    store.tenants.create(tenant_id)
    assert opened().ontology.get().source == "none"


def test_a_tenant_that_does_not_exist_says_so(opened: Opener, document: dict[str, Any]) -> None:
    client = opened("nobody-made-me")
    with pytest.raises(TenantNotFoundError):
        client.ontology.declare(document)
    with pytest.raises(TenantNotFoundError):
        client.ontology.get()


def test_a_domain_database_that_is_down_does_not_keep_the_store_from_working(
    opened: Opener, document: dict[str, Any]
) -> None:
    client = opened(domain_database_url="postgresql://ana:s3cr3t@127.0.0.1:1/shop", ontology=document)
    client.add("Acme prefers NET30")
    results = client.ontology.query("How many active customers?")
    assert results.tables == ()
    assert results.notes[0].startswith("the domain database can't be reached")
    assert "s3cr3t" not in repr(client.settings)
    assert [hit.text for hit in client.search("Acme payment terms", threshold=0)] == ["Acme prefers NET30"]


def test_days_are_those_of_the_zone_that_is_given_or_set(
    opened: Opener, sqlite_shop: Shop, document: dict[str, Any]
) -> None:
    question, now = "Which orders came in today?", "2024-01-31T20:00:00Z"
    client = opened(domain_database_url=sqlite_shop.url, ontology=document)
    assert [row[0] for row in client.ontology.query(question, now=now).tables[0].rows] == [12346]
    there = client.ontology.query(question, now=now, timezone="Asia/Tokyo")
    assert [row[0] for row in there.tables[0].rows] == [12347]
    tokyo = opened(domain_database_url=sqlite_shop.url, ontology=document, timezone="Asia/Tokyo")
    assert [row[0] for row in tokyo.ontology.query(question, now=now).tables[0].rows] == [12347]


def test_a_question_whose_periods_contradict_each_other_says_so(
    opened: Opener, sqlite_shop: Shop, document: dict[str, Any]
) -> None:
    client = opened(domain_database_url=sqlite_shop.url, ontology=document)
    results = client.ontology.query("orders since 2024-02-01 and before 2024-01-01", now="2024-03-01")
    assert "contradict" in results.notes[0]
    assert [table.title for table in results.tables] == ["orders"]


@pytest.mark.parametrize("question", ["", "   ", "x" * 70_000, None, 7])
def test_a_question_that_is_none_is_refused(client: Recollect, question: Any) -> None:
    with pytest.raises(InvalidInputError):
        client.ontology.query(question)


# recollect.toml ---------------------------------------------------------------------------------------

FILE = """
tenant = "acme"
domain_database_url = "sqlite:///shop.db"
domain_timeout_s = 0.5
[domain_databases]
beta = "postgresql://u:s3cr3t@h/shop"
[ontology.types.customer]
table = "customers"
[ontology.measures.customers]
type = "customer"
"""


def test_the_file_declares_an_ontology_and_databases(tmp_path: Path) -> None:
    (tmp_path / "recollect.toml").write_text(FILE)
    settings = Settings.load(environ={}, cwd=tmp_path)
    assert settings.ontology["types"]["customer"] == {"table": "customers"}
    assert settings.domain_databases == {"beta": "postgresql://u:s3cr3t@h/shop"}
    assert settings.domain_timeout_s == 0.5
    assert "s3cr3t" not in repr(settings)
    assert "s3cr3t" not in str(settings.describe())


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("[ontology.types.customer]\n", "ontology (in {file!r}): ontology.types.customer.table is missing"),
        ("ontology = 3\n", "ontology (in {file!r}): ontology must be a table"),
        (
            "domain_databases = 3\n",
            "domain_databases (in {file!r}): is not a table; write [domain_databases]",
        ),
        ("[domain_databases]\nacme = 's3cr3t'\n", "has an entry 'acme' that is not an SQLAlchemy URL"),
        ("[ontologies]\n", "unknown setting 'ontologies' in {file!r}; did you mean 'ontology'?"),
        ("domain_timeout_s = 0\n", "domain_timeout_s=0 (in {file!r}) is not a number of seconds"),
        ("domain_database_url = 'x s3cr3t'\n", "is not an SQLAlchemy URL"),
    ],
)
def test_a_wrong_table_in_the_file_is_named(tmp_path: Path, text: str, complaint: str) -> None:
    file = tmp_path / "recollect.toml"
    file.write_text(text)
    with pytest.raises(ConfigurationError) as caught:
        Settings.load(environ={}, cwd=tmp_path)
    assert complaint.format(file=str(file)) in str(caught.value)
    assert "domain_databases" not in text or "s3cr3t" not in str(caught.value)

"""The doctor on a healthy store, and on one with something wrong."""

from __future__ import annotations

from collections.abc import Callable
from uuid import uuid4

import psycopg
import pytest
from tests.conftest import ON_CLUSTER

from recollect import Recollect, Settings
from recollect.doctor import front_door, isolation, reads, reuse, writes
from recollect.doctor.world import PREFIX
from recollect.domain.results import Check
from recollect.storage import spaces

ATTACKS = [isolation.ATTACKS, reads.ATTACKS, writes.ATTACKS, reuse.ATTACKS, front_door.ATTACKS]


@pytest.mark.system
def test_no_attack_gets_a_row_through_and_the_throw_away_tenants_are_gone(
    store: Recollect, owner_conninfo: str
) -> None:
    attacks = [check for check in store.doctor(isolation=True) if check.name.startswith("isolation")]
    assert [check for check in attacks if not check.ok] == []
    # Two are not in the lists: the pool, and the look at statistics that has to come last.
    assert len(attacks) == sum(len(group) for group in ATTACKS) + 2
    assert all("0 rows leaked in" in check.detail for check in attacks)
    with psycopg.connect(owner_conninfo) as connection:
        tables = [row[0] for row in connection.execute(
            "select c.oid::regclass::text from pg_class c join pg_attribute a on a.attrelid = c.oid"
            " and a.attname = 'tenant_id' where c.relnamespace = 'recollect'::regnamespace and c.relkind in ('r', 'p')"
        )]  # fmt: skip
        left = {
            table: connection.execute(
                f"select count(*) from {table} where starts_with(tenant_id, %s)", [PREFIX]
            ).fetchone()
            for table in tables
        }
    assert len(tables) > (20 if ON_CLUSTER else 50)
    assert set(left.values()) == {(0,)}


def test_whoever_is_no_operator_gets_the_attacks_that_need_no_tenants(
    as_user: Callable[..., Recollect],
) -> None:
    checks = [check for check in as_user("ana").doctor(isolation=True) if check.name.startswith("isolation")]
    assert len(checks) == len(isolation.ATTACKS) + 2
    assert all(check.ok for check in checks)
    assert checks[-1].detail.startswith("skipped")


def by_name(client: Recollect) -> dict[str, Check]:
    return {check.name: check for check in client.doctor()}


@pytest.fixture
def admin(as_user: Callable[..., Recollect]) -> Recollect:
    """An admin who is no operator: the doctor then looks into this tenant alone."""
    client = as_user("root", roles=("admin",))
    client.add("the kettle is descaled every March")
    return client


def test_a_tenant_of_ones_own_is_in_order(admin: Recollect) -> None:
    checks = by_name(admin)
    assert checks["counts"].ok
    assert checks["orphans"].ok
    assert checks["vector index"].ok
    assert checks["embedder"].ok
    assert checks["left-overs"].detail.startswith("skipped")


def test_words_read_by_other_rules_are_found_by_the_doctor_and_said_in_every_search(
    admin: Recollect, owner_conninfo: str
) -> None:
    assert by_name(admin)["words"].ok
    assert admin.search("kettle").notes == ()
    with psycopg.connect(owner_conninfo, autocommit=True) as connection:
        connection.execute("update recollect.store set terms_version = terms_version - 1")
        try:
            check, found = by_name(admin)["words"], admin.search("kettle")
        finally:
            connection.execute("update recollect.store set terms_version = terms_version + 1")
    assert not check.ok
    assert "recollect export" in check.advice
    assert [hit.text for hit in found] == ["the kettle is descaled every March"]
    assert any("recollect export" in note for note in found.notes)


def test_a_wrong_count_is_found(admin: Recollect, owner_conninfo: str, tenant_id: str) -> None:
    with psycopg.connect(owner_conninfo) as connection:
        connection.execute(
            "update recollect.tally set memories = memories + 1 where tenant_id = %s", [tenant_id]
        )
    assert not by_name(admin)["counts"].ok


def test_memories_that_are_not_counted_at_all_are_found(
    admin: Recollect, owner_conninfo: str, tenant_id: str
) -> None:
    with psycopg.connect(owner_conninfo) as connection:
        connection.execute("delete from recollect.tally where tenant_id = %s", [tenant_id])
    assert not by_name(admin)["counts"].ok


# On a cluster a foreign key takes the first three along.
@pytest.mark.parametrize(
    "table", ["history"] if ON_CLUSTER else ["embedding", "posting", "mention", "history"]
)
def test_rows_without_their_memory_are_found(
    table: str, admin: Recollect, owner_conninfo: str, tenant_id: str
) -> None:
    memory = admin.add("to be torn out", entities=["Ana"])
    admin.update(memory.id, importance=0.9)
    with psycopg.connect(owner_conninfo) as connection:
        for other in {"embedding", "posting", "mention", "history"} - {table}:
            connection.execute(
                f"delete from recollect.{other} where tenant_id = %s and memory_id = %s",
                [tenant_id, memory.id],
            )
        connection.execute(
            "delete from recollect.memory where tenant_id = %s and memory_id = %s", [tenant_id, memory.id]
        )
    check = by_name(admin)["orphans"]
    assert not check.ok
    assert table in check.detail
    assert check.advice


def test_a_tenant_that_outgrew_exact_search_without_an_index_is_found(
    admin: Recollect, owner_conninfo: str, tenant_id: str
) -> None:
    with psycopg.connect(owner_conninfo) as connection:
        connection.execute(
            "update recollect.tally set vectors = %s where tenant_id = %s",
            [spaces.EXACT_ROWS + 1, tenant_id],
        )
    check = by_name(admin)["vector index"]
    assert not check.ok
    assert tenant_id in check.advice


def test_a_password_file_others_can_read_is_found(store: Recollect, settings: Settings) -> None:
    if settings.database_url is not None:
        pytest.skip("the database is reached by URL: there is no password file")
    file = settings.home / "secrets.json"
    file.chmod(0o644)
    try:
        check = by_name(store)["secrets"]
    finally:
        file.chmod(0o600)
    assert not check.ok
    assert "chmod 600" in check.advice


def test_left_over_tenants_are_named(store: Recollect) -> None:
    name = PREFIX + uuid4().hex[:16]
    store.tenants.create(name)
    try:
        check = by_name(store)["left-overs"]
    finally:
        store.tenants.forget(name)
    assert not check.ok
    assert PREFIX in check.advice


def test_an_embedder_that_does_not_fit_the_store_is_found(store: Recollect, settings: Settings) -> None:
    store.add("so that the store has an embedding space")
    with Recollect(settings=settings.replace(embedder="openai:text-embedding-3-small")) as client:
        check = by_name(client)["embedder"]
    assert not check.ok
    assert check.advice


def test_an_index_that_misses_rows_of_its_table_is_found(
    client: Recollect, store: Recollect, owner_conninfo: str
) -> None:
    ready = "update pg_index set indisready = %s where indexrelid = 'recollect.reply_at'::regclass"
    reply = "insert into recollect.reply (tenant_id, user_id, key, request, at) values (%s, 'ana', 'k', '', now())"
    with psycopg.connect(owner_conninfo, autocommit=True) as owner:
        owner.execute(ready, [False])
        try:
            owner.execute(reply, [client.tenant_context.tenant_id])
            owner.execute(ready, [True])
            damaged = {check.name: check for check in store.doctor(indexes=True)}["indexes"]
        finally:
            owner.execute(ready, [True])
            owner.execute("reindex index recollect.reply_at")
    assert not damaged.ok
    assert damaged.detail.startswith("damaged: reply_at (")
    assert {check.name: check for check in store.doctor(indexes=True)}["indexes"].ok

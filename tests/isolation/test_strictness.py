"""What raw SQL in the application's role can't do: claim more than it is, or hang rows on what is somebody else's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from uuid import uuid4

import psycopg
import pytest
from tests.conftest import ON_CLUSTER

from recollect import Recollect
from recollect.storage.endpoint import Door
from recollect.storage.store import caller_settings

Views = Callable[..., Recollect]
COUNT = "select count(*) from recollect.memory"


def counted(door: Door, tenant_id: str, caller: str) -> int:
    """How many memories somebody sees who claims this."""
    with psycopg.connect(door.app) as connection:
        connection.execute("select recollect.enter(%s, %s)", [tenant_id, caller])
        row = connection.execute(COUNT).fetchone()
        assert row is not None
        return int(row[0])


@pytest.mark.parametrize(
    ("caller", "seen"),
    [
        ('{"admin": true}', 2),
        ('{"user": "ana"}', 1),
        ('{"user": "ana", "agent": null, "session": null, "admin": false, "leads": []}', 1),
        ('{"admin": "yes"}', 0),
        ('{"admin": "true"}', 0),
        ('{"admin": 1}', 0),
        ('{"admin": [true]}', 0),
        ('{"user": ["ana"]}', 0),
        ('{"user": "ana", "admin": "on"}', 0),
        ('{"user": "zoe", "leads": [[2, "ana"]]}', 0),
        ('{"user": "zoe", "leads": [["2", "ana"]]}', 0),
        ('{"user": "zoe", "leads": "user/ana"}', 0),
        ('{"user": "zoe", "leads": [["5", "api"], ["x"], 5, null, {}]}', 0),
        ('{"user": "zoe", "leads": [[5, "api"]]}', 1),
        ('"admin"', 0),
        ("[]", 0),
        ("true", 0),
    ],
)
def test_a_claim_counts_only_in_its_own_form(
    door: Door, client: Recollect, as_user: Views, tenant_id: str, caller: str, seen: int
) -> None:
    client.scopes.create("team/api")
    client.add("ours", scope="team/api")
    as_user("ana").add("mine")
    assert counted(door, tenant_id, caller) == seen


HUNG = {
    "mention": "insert into recollect.mention values (%(tenant)s, 'x', %(memory)s, %(scope)s)",
    "posting": "insert into recollect.posting values (%(tenant)s, 'x', %(memory)s, %(scope)s, 1, 1)",
    "partition of posting": "insert into recollect.posting_{part} values"
    " (%(tenant)s, 'x', %(memory)s, %(scope)s, 1, 1)",
    "embedding": "insert into recollect.embedding values"
    " (%(tenant)s, 1, %(memory)s, 99, %(scope)s, now(), now(), '[1,0]')",
    "moved mention": "update recollect.mention set memory_id = %(memory)s where scope_id = %(scope)s",
    "moved posting": "update recollect.posting set memory_id = %(memory)s where scope_id = %(scope)s and term = 'acm'",
}


#: A trigger says so on one machine, a foreign key on a cluster.
REFUSALS = (psycopg.errors.InsufficientPrivilege, psycopg.errors.ForeignKeyViolation)


@pytest.mark.parametrize("what", [name for name in HUNG if not (ON_CLUSTER and "partition" in name)])
def test_rows_belong_to_a_memory_of_their_scope(
    door: Door, client: Recollect, as_user: Views, tenant_id: str, what: str
) -> None:
    ana, bob = as_user("ana"), as_user("bob")
    client.scopes.create("team/api")
    client.members.add("ana", "team/api")
    own = ana.add("Acme pays late", entities=["Acme"])
    others = [bob.add("secret").id, client.add("ours", scope="team/api").id, uuid4()]
    with psycopg.connect(door.app) as connection:
        connection.execute(caller_settings(ana.tenant_context))
        row = connection.execute(
            "select scope_id, substring(tableoid::regclass::text from '[0-9]+$') from recollect.memory"
            " where memory_id = %s",
            [own.id],
        ).fetchone()
        assert row is not None
        statement = HUNG[what].replace("{part}", row[1])
        given: dict[str, Any] = {"tenant": tenant_id, "scope": row[0]}
        if not what.startswith("moved"):
            assert run(connection, statement, given | {"memory": own.id}) is None
        for other in others:
            assert run(connection, statement, given | {"memory": other}) in REFUSALS
        connection.rollback()


def run(connection: psycopg.Connection[Any], statement: str, given: dict[str, Any]) -> type[Exception] | None:
    try:
        with connection.transaction(force_rollback=True):
            assert connection.execute(statement.encode(), given).rowcount > 0
    except psycopg.Error as error:
        return type(error)
    return None


def test_an_event_is_told_only_where_its_author_may_write(
    door: Door, client: Recollect, as_user: Views, tenant_id: str
) -> None:
    client.scopes.create("team/api")
    client.members.add("ana", "team/api")
    shared, company = client.add("ours", scope="team/api"), client.add("all", layer="company")
    statement = (
        "insert into recollect.event (tenant_id, event_id, type, by_user, scope_id) select %(tenant)s,"
        " gen_random_uuid(), 'memory_added', 'ana', scope_id from recollect.memory where memory_id = %(memory)s"
    )
    with psycopg.connect(door.app) as connection:
        connection.execute(caller_settings(as_user("ana").tenant_context))
        given = {"tenant": tenant_id}
        assert run(connection, statement, given | {"memory": shared.id}) is None
        # Everybody reads the company's scope, and nobody but an admin writes there.
        refused = run(connection, statement, given | {"memory": company.id})
        assert refused is psycopg.errors.InsufficientPrivilege
        connection.rollback()


@pytest.mark.parametrize(
    "call", ["lo_create(0)", "lo_creat(-1)", "lo_from_bytea(0, 'x')", "lo_open(1, 1)", "lo_unlink(1)"]
)
def test_large_objects_are_closed(door: Door, call: str) -> None:
    with psycopg.connect(door.app) as connection, pytest.raises(psycopg.errors.InsufficientPrivilege):
        connection.execute(f"select {call}".encode())

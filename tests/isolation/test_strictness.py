"""What raw SQL in the application's role can't do: claim more than it is."""

from __future__ import annotations

from collections.abc import Callable

import psycopg
import pytest
from psycopg import sql

from recollect import Recollect
from recollect.storage.endpoint import Door

Views = Callable[..., Recollect]
COUNT = "select count(*) from recollect.memory"


def counted(door: Door, tenant_id: str, caller: str) -> int:
    """How many memories somebody sees who claims this."""
    with psycopg.connect(door.app) as connection:
        said = sql.SQL("set local recollect.tenant = {}; set local recollect.caller = {}")
        connection.execute(said.format(tenant_id, caller))
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

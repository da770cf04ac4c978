"""What explorations left on the machine goes with the user or the tenant, and the receipt says so."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.codebase.shop import lay_out

from recollect import Recollect, Settings, TenantContext
from recollect.codebase.explore import default_audit_dir, index_dir
from recollect.errors import NotFoundError

QUESTION = "How is the discount of the season taken off a price?"


@pytest.fixture
def explorer(
    settings: Settings, store: Recollect, tenant_id: str, tmp_path: Path
) -> Iterator[Callable[[str], Recollect]]:
    """The test's tenant as a user of a home with records of its own: `explorer("ana")`."""
    own = settings.replace(rlm_audit_dir=tmp_path / "records")
    with Recollect(settings=own) as client:
        yield lambda user: client.for_context(
            TenantContext(tenant_id=tenant_id, user_id=user, roles=("operator",))
        )


def test_a_forgotten_user_leaves_no_exploration_and_no_index(
    explorer: Callable[[str], Recollect], settings: Settings, tmp_path: Path
) -> None:
    shop = lay_out(tmp_path / "shop")
    for user in ("ana", "bob"):
        explorer(user).explore(shop, QUESTION, task_id=f"task of {user}")
    records = tmp_path / "records"
    (records / "broken.journal").write_text(
        json.dumps({"run": {"by": {"tenant_id": explorer("ana").tenant_context.tenant_id, "user_id": "ana"}}})
    )
    (records / "old.json").write_text("{}")
    assert any(index_dir(settings).iterdir())
    receipt = explorer("ana").forget_user("ana")
    assert receipt.rows["exploration"] == 2
    assert receipt.rows["code_index"] > 0
    assert [one.task_id for one in explorer("bob").explorations.list()] == ["task of bob"]
    assert not index_dir(settings).exists()
    assert any("1 files in" in what for what in receipt.unreachable)
    assert any("other folders" in what for what in receipt.unreachable)
    assert explorer("bob").explore(shop, QUESTION).success


def test_a_forgotten_tenant_takes_all_its_explorations_along(
    explorer: Callable[[str], Recollect], store: Recollect, tenant_id: str, tmp_path: Path
) -> None:
    shop = lay_out(tmp_path / "shop")
    for user in ("ana", "bob"):
        explorer(user).explore(shop, QUESTION)
    receipt = explorer("ana").tenants.forget(tenant_id)
    assert receipt.rows["exploration"] == 2
    assert not list(default_audit_dir(explorer("ana").settings).iterdir())


def test_where_a_store_is_open_it_has_the_record_and_the_file_is_its_export(
    explorer: Callable[[str], Recollect], tmp_path: Path
) -> None:
    shop = lay_out(tmp_path / "shop")
    ana, bob = explorer("ana"), explorer("bob")
    ana.add("Prices are taken from the list of the season.")
    for client in (ana, bob):
        client.explore(shop, QUESTION, task_id="prices")
    again = ana.explore(shop, "Who calls apply_discount?", task_id="prices")
    [exported] = (tmp_path / "records").glob("*.json")
    exported.unlink()
    assert [(one.query, one.synthesis) for one in ana.explorations.list()] == [(again.query, again.synthesis)]
    assert ana.explorations.get("prices").citations == again.citations
    assert ana.explorations.replay("prices").trajectory.total_subcalls == again.usage.subcall_count
    assert ana.verify(ana.explorations.get("prices")).holds
    ana.oracle_consult("When do prices change?")
    assert [one.problem for one in ana.consultations.list()] == ["When do prices change?"]
    ana.forget_user("ana")
    assert [one.query for one in bob.explorations.list()] == [QUESTION]
    with pytest.raises(NotFoundError):
        ana.explorations.get("prices")

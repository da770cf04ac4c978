"""Expiry and retention, by a clock that tests turn."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import TYPE_CHECKING

import psycopg
import pytest

from recollect import Memory, Recollect
from recollect.errors import ForbiddenError, InvalidInputError

if TYPE_CHECKING:
    from tests.memories.conftest import Clock

Texts = Callable[..., list[str]]


def one(memory: Memory | list[Memory]) -> Memory:
    assert isinstance(memory, Memory)
    return memory


def test_an_expired_memory_is_out_of_list_and_search_at_once(
    timed: Recollect, clock: Clock, texts: Texts
) -> None:
    timed.add("the code is valid today", expires_at=clock.now + timedelta(hours=1))
    timed.add("the code is on the door")
    clock.forward(minutes=59)
    assert len(texts(timed)) == 2
    assert len(timed.search("code", threshold=0)) == 2
    clock.forward(minutes=1)
    assert texts(timed) == ["the code is on the door"]
    assert [hit.text for hit in timed.search("code", threshold=0)] == ["the code is on the door"]
    assert len(texts(timed, as_of=clock.now - timedelta(seconds=1))) == 2


def test_a_sweep_erases_what_expired_and_says_so(timed: Recollect, clock: Clock, owner_conninfo: str) -> None:
    gone = one(timed.add("short", expires_at=clock.now + timedelta(hours=1), entities=["Ana"]))
    timed.update(gone.id, text="shorter")
    stays = one(timed.add("long", expires_at=clock.now + timedelta(hours=3)))
    assert timed.sweep().memories == 0
    clock.forward(hours=2)
    receipt = timed.sweep()
    assert receipt.memories == receipt.rows["memory"] == 2
    assert gone.id in receipt.memory_ids
    assert (receipt.at, receipt.vacuum) == (clock.now, "rewritten")
    with psycopg.connect(owner_conninfo) as connection:
        left = connection.execute(
            "select memory_id from recollect.memory where tenant_id = %s", [timed.tenant_context.tenant_id]
        ).fetchall()
    assert left == [(stays.id,)]


def test_expiry_can_be_moved_and_lifted(timed: Recollect, clock: Clock, texts: Texts) -> None:
    memory = one(timed.add("x", expires_at=clock.now + timedelta(hours=1)))
    timed.update(memory.id, expires_at=clock.now + timedelta(hours=5))
    clock.forward(hours=2)
    assert texts(timed) == ["x"]
    timed.update(memory.id, expires_at=None)
    clock.forward(days=4000)
    assert texts(timed) == ["x"]
    assert len(timed.search("x", threshold=0)) == 1


def test_adding_an_expired_text_again_revives_its_memory(
    timed: Recollect, clock: Clock, texts: Texts
) -> None:
    memory = one(timed.add("parking is free", expires_at=clock.now + timedelta(hours=1)))
    clock.forward(hours=2)
    again = one(timed.add("parking is free"))
    assert (again.id, again.expires_at, again.created_at) == (memory.id, None, clock.now)
    assert texts(timed) == ["parking is free"]
    assert [hit.id for hit in timed.search("parking", threshold=0)] == [memory.id]
    assert timed.history(memory.id)[-1].event == "revived"
    assert timed.sweep().memories == 0


def test_a_superseded_memory_outlives_its_belief_but_not_its_expiry(timed: Recollect, clock: Clock) -> None:
    old = one(timed.add("old", expires_at=clock.now + timedelta(days=10)))
    kept = one(timed.add("kept"))
    new = one(timed.add("new"))
    timed.supersede(old.id, by=new.id)
    timed.supersede(kept.id, by=new.id)
    clock.forward(days=5)
    assert timed.sweep().memories == 0
    clock.forward(days=5)
    assert timed.sweep().memory_ids == (old.id,)
    assert timed.restore(kept.id).status == "active"


def test_retention_applies_to_what_is_stored_and_to_what_comes(
    timed: Recollect, clock: Clock, texts: Texts
) -> None:
    timed.add("old user memory")
    timed.add("old company memory", layer="company")
    clock.forward(days=20)
    assert timed.tenants.set_retention("user", 30).retention_days == {"user": 30}
    timed.add("new user memory")
    clock.forward(days=10)
    assert sorted(texts(timed)) == ["new user memory", "old company memory"]
    assert [hit.text for hit in timed.search("user memory", threshold=0, layers=["user"])] == [
        "new user memory"
    ]
    timed.tenants.set_retention("user", None)
    assert len(texts(timed)) == 3
    assert len(timed.search("user memory", threshold=0, layers=["user"])) == 2
    assert timed.tenants.get().retention_days == {}
    timed.tenants.set_retention("user", 25)
    assert timed.sweep().memories == 1
    timed.tenants.set_retention("user", None)
    assert len(texts(timed)) == 2


def test_retention_and_expiry_the_earlier_one_counts(timed: Recollect, clock: Clock, texts: Texts) -> None:
    timed.tenants.set_retention("user", 10)
    memory = one(timed.add("by retention", expires_at=clock.now + timedelta(days=20)))
    timed.add("by expiry", expires_at=clock.now + timedelta(days=5))
    clock.forward(days=6)
    assert texts(timed) == ["by retention"]
    timed.update(memory.id, expires_at=None)
    clock.forward(days=5)
    assert texts(timed) == []
    assert timed.sweep().memories == 2


def test_retention_reaches_superseded_memories_too(timed: Recollect, clock: Clock) -> None:
    old, new = one(timed.add("old")), one(timed.add("new"))
    timed.supersede(old.id, by=new.id)
    timed.tenants.set_retention("user", 10)
    clock.forward(days=11)
    assert set(timed.sweep().memory_ids) == {old.id, new.id}


@pytest.mark.parametrize("days", [0, -1, 36_501, 1.5, "10", True])
def test_retention_that_makes_no_sense_is_refused(timed: Recollect, days: object) -> None:
    with pytest.raises(InvalidInputError, match=r"makes no sense|must be a whole number"):
        timed.tenants.set_retention("user", days)  # type: ignore[arg-type]
    with pytest.raises(InvalidInputError, match="unknown layer"):
        timed.tenants.set_retention("galaxy", 10)


def test_only_an_admin_sets_retention(as_user: Callable[..., Recollect]) -> None:
    with pytest.raises(ForbiddenError):
        as_user("ana").tenants.set_retention("user", 10)


def test_a_member_sweeps_what_the_member_may_erase(timed: Recollect, clock: Clock, texts: Texts) -> None:
    soon = clock.now + timedelta(hours=1)
    timed.scopes.create("team/api")
    timed.members.add("ana", "team/api")
    timed.add_many([{"text": f"rule {n}", "layer": "company", "expires_at": soon} for n in range(5)])
    timed.add("team secret", layer="team", scope="team/api", expires_at=soon)
    ana = timed.for_context(timed.tenant_context.replace(user_id="ana", roles=()))
    ana.add("own", expires_at=soon)
    assert len(texts(ana)) == 7
    clock.forward(hours=2)
    assert ana.sweep().memories == 2
    assert timed.sweep().memories == 5

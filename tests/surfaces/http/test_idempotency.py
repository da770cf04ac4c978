"""A write that is sent again under the same key is carried out once."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from typing import Any

import httpx
import pytest

from recollect import AsyncRecollect, Recollect, Settings
from recollect.errors import ConflictError
from recollect.storage.store import Claim

Connect = Callable[..., httpx.Client]


def keyed(key: str) -> dict[str, str]:
    return {"Idempotency-Key": key}


def test_the_second_time_gets_the_answer_of_the_first(http: Connect) -> None:
    ana = http(user="ana")
    turn = {"messages": [{"role": "user", "content": "Good morning."}], "conversation": "c1"}
    first = ana.post("/v1/memories", json=turn, headers=keyed("a"))
    again = ana.post("/v1/memories", json=turn, headers=keyed("a"))
    assert (again.status_code, again.json()) == (201, first.json())
    assert again.headers["idempotent-replayed"] == "true"
    assert "idempotent-replayed" not in first.headers
    assert len(ana.get("/v1/memories").json()["items"]) == 1
    other = ana.post("/v1/memories", json=turn, headers=keyed("b"))
    assert other.json()[0]["id"] != first.json()[0]["id"], "turns never repeat, so this is a second one"


def test_a_key_stands_for_one_request_of_one_user(http: Connect) -> None:
    ana, ben = http(user="ana"), http(user="ben")
    ana.post("/v1/memories", json={"text": "One."}, headers=keyed("a"))
    reused = ana.post("/v1/memories", json={"text": "Two."}, headers=keyed("a"))
    assert (reused.status_code, reused.json()["code"]) == (409, "conflict")
    assert ben.post("/v1/memories", json={"text": "Two."}, headers=keyed("a")).json()["scope"] == "user/ben"
    bad = ana.post("/v1/memories", json={"text": "x"}, headers=keyed("k" * 300))
    assert (bad.status_code, bad.json()["code"]) == (400, "invalid_input")


def test_what_failed_may_be_tried_again(http: Connect, client: Recollect) -> None:
    ana = http(user="ana")
    wanted = {"text": "For the team.", "scope": "team/api"}
    assert ana.post("/v1/memories", json=wanted, headers=keyed("a")).status_code == 404
    client.scopes.create("team/api")
    client.members.add("ana", "team/api")
    assert ana.post("/v1/memories", json=wanted, headers=keyed("a")).status_code == 201


def test_many_at_once_are_carried_out_once(http: Connect, server: Any) -> None:
    ana = http(user="ana")
    turn = {"messages": [{"role": "user", "content": "Hello."}], "conversation": "c1"}

    async def send() -> list[int]:
        headers = {"Authorization": ana.headers["authorization"], **keyed("a")}
        async with httpx.AsyncClient(
            base_url=server.url, headers=headers, trust_env=False, timeout=30
        ) as far:
            answers = await asyncio.gather(*(far.post("/v1/memories", json=turn) for _ in range(8)))
        return [answer.status_code for answer in answers]

    assert set(asyncio.run(send())) <= {201, 409}
    assert len(ana.get("/v1/memories").json()["items"]) == 1


def test_an_answer_is_not_kept_when_what_it_quotes_is_erased(http: Connect, owner_conninfo: str) -> None:
    import psycopg

    ana = http(user="ana")
    secret = "The vault opens at nine."
    id = ana.post("/v1/memories", json={"text": secret}, headers=keyed("a")).json()["id"]
    ana.delete(f"/v1/memories/{id}")
    with psycopg.connect(owner_conninfo) as connection:
        [[left]] = connection.execute(
            "select count(*) from recollect.reply r where position(%s in r.body) > 0", [secret]
        ).fetchall()
    assert left == 0


def test_other_answers_stay_when_one_memory_is_erased(http: Connect) -> None:
    ana = http(user="ana")
    one, other = (
        ana.post("/v1/memories", json={"text": text}, headers=keyed(text)).json() for text in ("One.", "Two.")
    )
    ana.delete(f"/v1/memories/{one['id']}")
    again = ana.post("/v1/memories", json={"text": "Two."}, headers=keyed("Two."))
    assert again.headers.get("idempotent-replayed") == "true"
    assert again.json() == other
    fresh = ana.post("/v1/memories", json={"text": "One."}, headers=keyed("One."))
    assert "idempotent-replayed" not in fresh.headers
    assert fresh.json()["id"] != one["id"]


def test_an_answer_that_names_what_is_gone_is_not_kept(http: Connect, client: Recollect) -> None:
    root = http(user="root", roles=("admin",))
    memory = client.add("Zyxco pays late", entities=["Zyxco"])
    declared = {"alias": "the late payer", "entity": "Zyxco"}
    assert root.post("/v1/entities/aliases", json=declared, headers=keyed("a")).status_code == 200
    client.entities.forget("Zyxco")
    client.delete(memory.id, vacuum=False)
    again = root.post("/v1/entities/aliases", json=declared, headers=keyed("a"))
    assert again.status_code == 404


def test_a_token_is_kept_nowhere(http: Connect, owner_conninfo: str) -> None:
    import psycopg

    admin = http(user="root", roles=("admin",))
    made = [
        admin.post("/v1/keys", json={"name": "a", "user": "ana"}, headers=keyed("k")).json() for _ in range(2)
    ]
    turned = admin.post(f"/v1/keys/{made[0]['key']['id']}/rotate", json={}, headers=keyed("r")).json()
    assert len({made[0]["token"], made[1]["token"], turned["token"]}) == 3
    with psycopg.connect(owner_conninfo) as connection:
        [[left]] = connection.execute(
            "select count(*) from recollect.reply r where r.body like '%rcl\\_%'"
        ).fetchall()
    assert left == 0


def test_what_was_carried_out_is_not_carried_out_again_when_its_answer_was_lost(
    http: Connect, client: Recollect, owner_conninfo: str
) -> None:
    import psycopg

    ana = http(user="ana")
    turn = {"messages": [{"role": "user", "content": "Good morning."}], "conversation": "c1"}
    assert ana.post("/v1/memories", json=turn, headers=keyed("a")).status_code == 201
    with psycopg.connect(owner_conninfo, autocommit=True) as owner:
        # As it is between the commit of the memory and that of the answer.
        owner.execute(
            "update recollect.reply set status = 0, body = null, at = now() - interval '1 hour' where tenant_id = %s",
            [client.tenant_context.tenant_id],
        )
    again = ana.post("/v1/memories", json=turn, headers=keyed("a"))
    assert (again.status_code, again.json()["code"]) == (409, "conflict")
    assert "its answer was lost" in again.json()["detail"]
    assert len(ana.get("/v1/memories").json()["items"]) == 1


def test_a_write_notes_in_its_own_transaction_that_it_was_carried_out(
    client: Recollect, settings: Settings
) -> None:
    from recollect.storage import replies
    from recollect.storage.store import request_claim

    async def work_under_keys() -> list[int | None]:
        context = client.tenant_context
        async with AsyncRecollect(settings=settings, context=context) as own:
            workspace = await own._workspace()

            async def under_key(key: str, work: Callable[[], Any], *, late: bool = False) -> int | None:
                now = workspace.clock()
                async with workspace.store.transaction(context) as tx:
                    claim = await replies.claim(tx, key, b"", now=now)
                assert isinstance(claim, Claim)
                if late:  # taken for lost, and begun again by another
                    async with workspace.store.transaction(context) as tx:
                        assert isinstance(
                            await replies.claim(tx, key, b"", now=now + replies.STUCK * 2), Claim
                        )
                before = request_claim.set(claim)
                try:
                    await work()
                finally:
                    request_claim.reset(before)
                async with workspace.store.transaction(context) as tx:
                    row = await tx.fetch_one("find_reply", user=claim.user, key=key)
                assert row is not None
                return row["status"]

            statuses = [
                await under_key("read", own.list),
                await under_key("write", partial(own.add, "Good morning.")),
            ]
            with pytest.raises(ConflictError, match="the second is carried out"):
                await under_key("late", partial(own.add, "Good night."), late=True)
            return statuses

    assert asyncio.run(work_under_keys()) == [None, 0]
    assert [memory.text for memory in client.list()] == ["Good morning."]

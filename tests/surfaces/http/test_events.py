"""What happens is told to whoever may know it, in every process, and again after a break."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

import pytest
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import ClientConnection, connect

from recollect import Recollect
from recollect.errors import NotFoundError

Watch = Callable[..., AbstractContextManager[ClientConnection]]


@pytest.fixture
def watch(server: Any, client: Recollect) -> Watch:
    """A socket of a user of the test's tenant: `watch("ana", after=...)`."""

    def open_socket(user: str = "ana", *, after: str | None = None, at: Any = server, **more: Any) -> Any:
        token = client.keys.create("watch", user=user, **more).token
        address = at.url.replace("http://", "ws://") + "/v1/events" + (f"?after={after}" if after else "")
        return connect(address, additional_headers={"Authorization": f"Bearer {token}"}, proxy=None)

    return open_socket


def hear(socket: ClientConnection, how_many: int = 1) -> list[dict[str, Any]]:
    return [json.loads(socket.recv(timeout=60)) for _ in range(how_many)]


def quiet(socket: ClientConnection) -> bool:
    """Nothing came before what is known to come next."""
    try:
        socket.recv(timeout=0.3)
    except TimeoutError:
        return True
    return False


def test_what_a_user_does_is_told_at_once_with_ids_and_no_text(
    watch: Watch, as_user: Callable[..., Recollect]
) -> None:
    ana = as_user("ana")
    with watch() as socket:
        assert quiet(socket)
        # Heard one by one: what was told of a memory is erased with it, and who has not heard it by then never will.
        memory = ana.add("Ana's secret plan.")
        events = hear(socket)
        ana.update(memory.id, importance=0.9)
        events += hear(socket)
        ana.delete(memory.id)
        events += hear(socket)
    assert [event["type"] for event in events] == ["memory_added", "memory_updated", "memory_deleted"]
    assert all(event["detail"]["ids"] == [str(memory.id)] for event in events[:2])
    assert events[2]["detail"] == {"count": 1}, "its id is erased with it"
    assert {(event["scope"], event["user"]) for event in events} == {("user/ana", "ana")}
    assert "secret" not in json.dumps(events)
    assert [str(one.id) for one in ana.events.list()] == [events[2]["id"]], "as is what was told of it"


def test_nobody_hears_of_what_they_may_not_see(watch: Watch, as_user: Callable[..., Recollect]) -> None:
    with watch("ben") as ben, watch("boss", roles=["admin"]) as boss:
        as_user("ana").add("Ana's own.")
        [heard] = hear(boss)
        assert heard["scope"] == "user/ana"
        as_user("ben").add("Ben's own.")
        [heard] = hear(ben)
    assert heard["scope"] == "user/ben", "what Ana did was never told to Ben"


def test_after_a_break_what_was_missed_is_told(watch: Watch, as_user: Callable[..., Recollect]) -> None:
    ana = as_user("ana")
    with watch() as socket:
        ana.add("One.")
        [first] = hear(socket)
    ana.add("Two.")
    ana.add("Three.")
    with watch(after=first["id"]) as socket:
        missed = hear(socket, 2)
        ana.add("Four.")
        [now] = hear(socket)
    ids = [str(one.id) for one in ana.events.list(after=first["id"])]
    assert ids == [event["id"] for event in [*missed, now]]
    assert [one.type for one in ana.events.list(types=["memory_deleted"])] == []
    with pytest.raises(NotFoundError, match="kept for 7 days"):
        ana.events.list(after="01890000-0000-7000-8000-000000000000")


def test_another_process_tells_it_too(
    watch: Watch, serve: Callable[..., Any], as_user: Callable[..., Recollect]
) -> None:
    other = serve()
    with watch(at=other) as socket:
        as_user("ana").add("Told by the database.")
        assert hear(socket)[0]["type"] == "memory_added"


def test_a_consultation_is_watched_while_it_goes_on(watch: Watch, as_user: Callable[..., Recollect]) -> None:
    ana = as_user("ana")
    ana.library.add(b"# Guide\n\nA token expires after 15 minutes.\n", name="guide.md")
    with watch() as socket, watch("ben") as ben:
        result = ana.oracle_consult("When does a token expire?")
        types = []
        while not types or not types[-1].endswith(("completed", "failed")):
            [event] = hear(socket)
            assert event["detail"]["consultation_id"] == str(result.consultation.id)
            types.append(event["type"])
        assert len(types) > 1
        assert quiet(ben)
    ana.library.remove("guide.md")
    assert [one for one in ana.events.list() if one.scope is None] == [], "it may have quoted what is gone"


@pytest.mark.parametrize("first", ['{"key": "rcl_no"}', "no json", '{"other": 1}', "[]", '"text"'])
def test_without_a_key_the_socket_is_closed(server: Any, first: str) -> None:
    address = server.url.replace("http://", "ws://") + "/v1/events"
    with connect(address, proxy=None) as socket:
        socket.send(first)
        with pytest.raises(ConnectionClosed) as closed:
            socket.recv(timeout=60)
    assert closed.value.rcvd is not None
    assert closed.value.rcvd.code == 4401


def test_a_key_may_come_as_the_first_message(
    server: Any, client: Recollect, as_user: Callable[..., Recollect]
) -> None:
    token = client.keys.create("page", user="ana").token
    with connect(server.url.replace("http://", "ws://") + "/v1/events", proxy=None) as socket:
        socket.send(json.dumps({"key": token}))
        assert quiet(socket)
        as_user("ana").add("Seen by a page.")
        assert hear(socket)[0]["type"] == "memory_added"


def test_what_happens_while_a_key_is_looked_at_is_told(
    server: Any, client: Recollect, as_user: Callable[..., Recollect]
) -> None:
    token = client.keys.create("page", user="ana").token
    with connect(server.url.replace("http://", "ws://") + "/v1/events", proxy=None) as socket:
        as_user("ana").add("Connected already.")
        socket.send(json.dumps({"key": token}))
        assert hear(socket)[0]["type"] == "memory_added"


def test_a_key_that_is_revoked_hears_no_more(
    watch: Watch, client: Recollect, monkeypatch: pytest.MonkeyPatch, as_user: Callable[..., Recollect]
) -> None:
    from recollect.surfaces.http import auth

    monkeypatch.setattr(auth, "REMEMBERED_S", 0.0)
    with watch("ana") as socket:
        as_user("ana").add("Told.")
        assert json.loads(socket.recv(timeout=60))["type"] == "memory_added"
        for key in client.keys.list():
            client.keys.revoke(key.id)
        as_user("ana").add("Not told.")
        with pytest.raises(ConnectionClosed) as ended:
            socket.recv(timeout=60)
    assert ended.value.rcvd is not None
    assert ended.value.rcvd.code == 4401

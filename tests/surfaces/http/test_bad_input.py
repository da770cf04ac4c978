"""Whatever arrives at the port: a clear error, nothing lost, nothing held on to. Spoken by hand, over real sockets."""

from __future__ import annotations

import json
import os
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from uuid import uuid4

import httpx
import psycopg
import pytest
from websockets.sync.client import connect

from recollect import Recollect, TenantContext
from recollect.client.verbs import VERBS
from recollect.surfaces.http import auth

Connect = Callable[..., httpx.Client]
Talk = Callable[..., Any]


@pytest.fixture
def token(client: Recollect) -> str:
    return client.keys.create("raw", user="ana").token


@contextmanager
def raw(server: Any) -> Iterator[socket.socket]:
    place = urlsplit(server.url)
    with socket.create_connection((place.hostname, place.port), timeout=60) as connection:
        yield connection


def head(token: str, method: str = "POST", path: str = "/v1/search", **headers: object) -> bytes:
    lines = [f"{method} {path} HTTP/1.1", "Host: here", f"Authorization: Bearer {token}"]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    return "\r\n".join([*lines, "", ""]).encode()


def answer(connection: socket.socket) -> tuple[int, dict[str, Any]]:
    """Status and document of one answer."""
    data = b""
    while b"\r\n\r\n" not in data:
        more = connection.recv(65_536)
        assert more, f"the connection ended after {data!r}"
        data += more
    top, _, body = data.partition(b"\r\n\r\n")
    length = next(
        int(line.split(b":")[1]) for line in top.split(b"\r\n") if line.lower().startswith(b"content-length")
    )
    while len(body) < length:
        body += connection.recv(65_536)
    return int(top.split()[1]), json.loads(body) if body else {}


def is_closed(connection: socket.socket) -> bool:
    """Whether the other side has ended it; waits for that, within the socket's time."""
    try:
        while connection.recv(65_536):
            pass
    except ConnectionResetError:
        pass
    except TimeoutError:
        return False
    return True


def still_answers(server: Any, token: str) -> bool:
    done = httpx.get(
        f"{server.url}/v1/memories",
        headers={"Authorization": f"Bearer {token}"},
        trust_env=False,
        timeout=60,
    )
    return done.status_code == 200


# ---------------------------------------------------------------- keys


def test_keys_that_are_wrong_expired_revoked_or_of_a_tenant_that_is_gone_all_get_the_same_no(
    server: Any,
    client: Recollect,
    store: Recollect,
    owner_conninfo: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(auth, "REMEMBERED_S", 0.0)
    good = client.keys.create("good", user="ana")
    revoked = client.keys.create("revoked", user="ana")
    client.keys.revoke(revoked.key.id)
    expired = client.keys.create("expired", user="ana", expires_at=datetime.now(UTC) + timedelta(hours=1))
    with psycopg.connect(owner_conninfo) as connection:
        connection.execute(
            "update recollect.api_key set expires_at = now() - interval '1 second' where key_id = %s",
            [expired.key.id],
        )
    gone = f"t-{uuid4().hex[:12]}"
    store.tenants.create(gone)
    theirs = store.for_context(TenantContext(tenant_id=gone, user_id="root", roles=("admin", "operator")))
    orphan = theirs.keys.create("orphan", user="eve").token
    theirs.tenants.forget(gone)
    guessed = good.token[:-4] + ("AAAA" if not good.token.endswith("AAAA") else "BBBB")
    said = set()
    for one in (guessed, revoked.token, expired.token, orphan, "rcl_", "x" * 5_000, "rcl_\x00"):
        with raw(server) as line:
            line.sendall(head(one, "GET", "/v1/memories"))
            status, problem = answer(line) if "\x00" not in one else (401, {"code": "unauthorized"})
        assert (status, problem["code"]) == (401, "unauthorized"), one
        said.add(problem.get("detail"))
    assert len(said - {None}) == 1, "what is wrong with a key is nobody's business"
    assert still_answers(server, good.token)


ASKED = {
    "update": {"text": "x"},
    "supersede": {"by": str(uuid4())},
    "feedback": {"kind": "helpful"},
    "keys.rotate": {},
}


@pytest.mark.parametrize(
    "verb",
    [verb for verb in VERBS if "{id}" in verb.path or "{memory_id}" in verb.path or "{document" in verb.path],
    ids=lambda verb: f"{verb.method} {verb.path}",
)
def test_another_tenants_ids_look_like_ids_that_do_not_exist(
    http: Connect, strangers: dict[str, str], verb: Any
) -> None:
    admin = http(user="root", roles=("admin",))
    kind = verb.path.split("/")[2]
    unknown = str(uuid4()) if kind != "library" else "nobody.md"
    told = []
    for id in (strangers[kind], unknown):
        path = verb.path.replace(":path", "")
        path = path.replace("{id}", id).replace("{memory_id}", id).replace("{document}", id)
        sent = {"json": ASKED.get(verb.name, {})} if verb.method in {"POST", "PATCH"} else {}
        done = admin.request(verb.method, path, **sent)
        said = json.dumps(done.json()).replace(id, "<id>")
        told.append((done.status_code, said))
    assert told[0] == told[1]
    assert told[0][0] in {403, 404}, told[0]


@pytest.fixture(scope="session")
def strangers(store: Recollect) -> dict[str, str]:
    """Ids of everything that another tenant has."""
    name = f"t-{uuid4().hex[:12]}"
    store.tenants.create(name)
    eve = store.for_context(TenantContext(tenant_id=name, user_id="eve", roles=("admin",)))
    eve.library.add(b"# Plan\n\nThe vault opens at nine.\n", name="plan.md")
    consulted = eve.oracle_consult("When does the vault open?")
    secret = eve.add("Eve's secret.")
    searched = eve.search("Compare the secrets across all teams")
    [run] = eve.learning.runs()
    return {
        "memories": str(secret.id),
        "traces": str(searched.query_id),
        "learning": str(run.id),
        "library": "plan.md",
        "consultations": str(consulted.consultation.id),
        "keys": str(eve.keys.create("hers", user="eve").key.id),
        "tenants": name,
    }


# ---------------------------------------------------------------- bodies


def test_a_hundred_megabytes_are_refused_before_they_are_read(server: Any, token: str) -> None:
    with raw(server) as connection:
        connection.sendall(head(token, Content_Type="application/json", Content_Length=100_000_000))
        connection.sendall(b'{"query": "' + b"x" * 10_000)
        assert answer(connection)[0] == 413
        connection.settimeout(5)
        assert is_closed(connection)


def test_a_body_of_unknown_length_is_refused_when_it_is_too_long_and_is_not_kept(
    server: Any, token: str
) -> None:
    before = _rss_mb()
    chunk = b"100000\r\n" + b"y" * 0x100000 + b"\r\n"
    with raw(server) as connection:
        connection.sendall(head(token, Content_Type="application/json", Transfer_Encoding="chunked"))
        sent = 0
        try:
            for _ in range(100):
                connection.sendall(chunk)
                sent += 1
        except OSError:
            pass
    assert sent < 100, "all of it was read"
    assert _rss_mb() - before < 60
    assert still_answers(server, token)


def _rss_mb() -> float:
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (b'{"query": ', "not JSON"),
        (b"\xff\xfe\x00", "not JSON"),
        (b"[" * 100_000, "not JSON"),
        (b'{"query": "x", "limit": NaN}', "limit"),
        (b'{"query": "x", "lmit": 3}', "unknown field 'lmit'; did you mean 'limit'?"),
        (b'{"query": "x", "__class__": 3}', "unknown field '__class__'"),
        (b'{"query": ["x"]}', "query: must be a string"),
        (b'{"query": "\\u0000"}', "query"),
        (b"null", "request"),
        (b'"text"', "must be a JSON object"),
        (b"", "required"),
    ],
)
def test_broken_bodies_are_named(server: Any, token: str, body: bytes, said: str) -> None:
    with raw(server) as connection:
        connection.sendall(head(token, Content_Type="application/json", Content_Length=len(body)) + body)
        status, problem = answer(connection)
    assert status == 400, problem
    assert said.lower() in problem["detail"].lower()


@pytest.mark.parametrize(
    "sent",
    [
        b"NONSENSE\r\n\r\n",
        b"GET /v1/memories HTTP/9.9\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",  # TLS on a port that has none
        b"GET /v1/memories HTTP/1.1\r\nHost: a\r\nContent-Length: -1\r\n\r\n",
        b"POST /v1/search HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        b"GET " + b"/a" * 100_000 + b" HTTP/1.1\r\n\r\n",
    ],
)
def test_what_is_no_request_ends_the_connection_and_nothing_else(
    server: Any, token: str, sent: bytes
) -> None:
    with raw(server) as connection:
        connection.sendall(sent)
        connection.shutdown(socket.SHUT_WR)
        assert is_closed(connection)
    assert still_answers(server, token)


# ---------------------------------------------------------------- slow and gone


def test_who_goes_away_mid_request_leaves_nothing_behind(
    server: Any, token: str, http: Connect, owner_conninfo: str
) -> None:
    ana = http(user="ana")
    for number in range(12):
        with raw(server) as connection:
            body = json.dumps({"query": f"What happened {number}?", "threshold": 0}).encode()
            connection.sendall(head(token, Content_Type="application/json", Content_Length=len(body)) + body)
        with raw(server) as connection:
            connection.sendall(head(token, Content_Type="application/json", Content_Length=500) + b'{"que')
    # More than the pool has: were connections to the database lost, these would wait for one.
    assert [ana.post("/v1/search", json={"query": "x"}).status_code for _ in range(10)] == [200] * 10
    assert _no_transaction_is_left(owner_conninfo)


def test_who_goes_away_mid_stream_ends_the_work(
    server: Any, client: Recollect, as_user: Callable[..., Recollect], owner_conninfo: str, token: str
) -> None:
    as_user("ana").library.add(b"# Guide\n\nA token expires after 15 minutes.\n", name="guide.md")
    body = json.dumps({"problem": "When does a token expire?", "depth_hint": "thorough"}).encode()
    sent = head(token, path="/v1/consult", Accept="text/event-stream", Content_Type="application/json")
    for _ in range(4):
        with raw(server) as connection:
            connection.sendall(sent[:-2] + f"Content-Length: {len(body)}\r\n\r\n".encode() + body)
            assert b"200 OK" in connection.recv(15)
    assert still_answers(server, token)
    assert _no_transaction_is_left(owner_conninfo)


def _no_transaction_is_left(conninfo: str) -> bool:
    """Whether all ended. One that is under way may be idle for a while where the machine is busy."""
    deadline = time.monotonic() + 60
    while left := _idle_transactions(conninfo):
        if time.monotonic() > deadline:
            return False
        time.sleep(0.05)
    return not left


def _idle_transactions(conninfo: str) -> int:
    with psycopg.connect(conninfo) as connection:
        [[number]] = connection.execute(
            "select count(*) from pg_stat_activity where datname = current_database()"
            " and state like 'idle in transaction%' and pid <> pg_backend_pid()"
            " and state_change < now() - interval '1 second'"
        ).fetchall()
    return int(number)


# ---------------------------------------------------------------- sockets


@pytest.mark.parametrize(
    "frame",
    [
        b"\x81\x05hello",  # not masked, as a client's must be
        b"\xf1\x80\x00\x00\x00\x00",  # reserved bits
        b"\x83\x80\x00\x00\x00\x00",  # an opcode that there is not
        b"\x81\xff\xff\xff\xff\xff\xff\xff\xff\xff\x00\x00\x00\x00",  # longer than anything
        b"\x81\x84\x00\x00\x00\x00\xff\xfe\xfd\xfc",  # no UTF-8
        b"\x89\xfe\x01\x00\x00\x00\x00\x00" + b"p" * 256,  # a ping that is too long
    ],
)
def test_a_malformed_frame_ends_its_socket_only(server: Any, token: str, frame: bytes) -> None:
    address = server.url.replace("http", "ws") + "/v1/events"
    with (
        connect(address, additional_headers={"Authorization": f"Bearer {token}"}, proxy=None) as other,
        raw(server) as one,
    ):
        one.sendall(
            head(
                token,
                "GET",
                "/v1/events",
                Connection="Upgrade",
                Upgrade="websocket",
                Sec_WebSocket_Version=13,
                Sec_WebSocket_Key="dGhlIHNhbXBsZSBub25jZQ==",
            )
        )
        assert b" 101 " in one.recv(65_536)
        one.sendall(frame)
        assert is_closed(one)
        assert other.ping().wait(60)
    assert still_answers(server, token)


# ---------------------------------------------------------------- paths


def test_no_trick_leads_out_of_the_folders_that_are_open(http: Connect, served_root: Path) -> None:
    ana = http(user="ana")
    inside = served_root / f"in-{uuid4().hex[:8]}"
    inside.mkdir()
    (inside / "a.py").write_text("def charge():\n    return 1\n", encoding="utf-8")
    outside = served_root.parent / f"{served_root.name}-outside"
    outside.mkdir(exist_ok=True)
    (inside / "link").symlink_to(outside)
    tricks = [
        "/etc",
        "..",
        f"{inside}/../..",
        f"{inside}/link",
        f"{inside}/link/..//../../etc",
        f"{served_root}-outside",
        "/proc/self/root/etc",
        "~root",
        "file:///etc",
        "",
    ]
    for path in tricks:
        for verb, name in (("explore", "path"), ("explore/dry-run", "path"), ("library/folders", "folder")):
            done = ana.post(f"/v1/{verb}", json={name: path, **({"query": "x"} if name == "path" else {})})
            assert (done.status_code, done.json()["code"]) == (403, "forbidden"), (verb, path, done.text)
            assert "root:" not in done.text
    for path in (f"{inside}\x00/etc", "\ud800", "x" * 100_000):
        done = ana.post("/v1/explore", content=json.dumps({"path": path, "query": "x"}))
        assert done.status_code in {400, 403}, done.text
    assert ana.post("/v1/explore", json={"path": str(inside), "query": "charge"}).status_code == 200


def test_a_result_that_names_a_folder_is_verified_only_below_the_open_ones(
    http: Connect, served_root: Path
) -> None:
    ana = http(user="ana")
    cited = {
        "kind": "file",
        "file_path": "passwd",
        "line_start": 1,
        "line_end": 1,
        "quote": "root:x:0:0:root:/root:/bin/bash",
    }
    sent = [
        {"kind": "codebase", "root": "/etc", "citations": [cited]},
        {"citations": [cited], "consultation": {"settings": {"working_dir": "/etc"}}},
    ]
    for result in sent:
        from recollect.domain.codebase import KIND

        if "root" in result:
            result["kind"] = KIND
        done = ana.post("/v1/verify", json={"result": result})
        assert (done.status_code, done.json()["code"]) == (403, "forbidden"), done.text
        named = ana.post("/v1/verify", json={"result": result, "working_dir": str(served_root)})
        assert named.status_code in {200, 400}, named.text


@pytest.mark.parametrize(
    "path",
    [
        "/v1/library/documents/..%2f..%2fetc%2fpasswd/text",
        "/v1/library/documents/../../etc/passwd",
        "/v1/library/documents/%00/text",
        "/v1/library/documents/%ff%fe/text",
        "/v1/memories/..%2f..%2fhealthz",
        "//v1/memories/x",
        "/v1/memories/%2e%2e",
        "/v1/memories/" + "a" * 5_000,
    ],
)
def test_addresses_with_tricks_are_names_that_nobody_has(server: Any, token: str, path: str) -> None:
    with raw(server) as connection:
        connection.sendall(head(token, "GET", path))
        status, problem = answer(connection)
    assert status in {400, 404}, problem
    assert "root:" not in json.dumps(problem)


def test_a_file_or_folder_of_the_servers_disk_is_added_from_below_the_open_ones_only(
    http: Connect, served_root: Path
) -> None:
    ana = http(user="ana")
    folder = served_root / f"docs-{uuid4().hex[:8]}"
    folder.mkdir()
    (folder / "guide.md").write_text("# Guide\n\nPress the button.\n", encoding="utf-8")
    secret = served_root.parent / f"secret-{uuid4().hex[:8]}.md"
    secret.write_text("# Secret\n\nThe vault opens at nine.\n", encoding="utf-8")
    (folder / "link.md").symlink_to(secret)
    added = ana.post("/v1/library/documents", params={"path": str(folder / "guide.md")})
    assert added.status_code == 201, added.text
    for path in (secret, folder / "link.md", folder / ".." / ".." / secret.name):
        refused = ana.post("/v1/library/documents", params={"path": str(path)})
        assert (refused.status_code, refused.json()["code"]) == (403, "forbidden"), path
    both = ana.post("/v1/library/documents", params={"path": str(folder / "guide.md")}, content=b"x")
    assert both.status_code == 400
    whole = ana.post("/v1/library/folders", json={"folder": str(folder)})
    assert whole.status_code == 201, whole.text
    assert "nine" not in ana.post("/v1/library/search", json={"query": "When does the vault open?"}).text

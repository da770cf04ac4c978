"""Memories over HTTP: every verb, what is refused, and that nothing crosses between callers."""

from __future__ import annotations

from collections.abc import Callable
from uuid import uuid4

import httpx
import pytest

from recollect import Recollect, TenantContext
from recollect.domain.codec import encode
from recollect.surfaces.http import limits

Connect = Callable[..., httpx.Client]


def test_a_memory_is_added_found_changed_and_erased(http: Connect) -> None:
    ana = http(user="ana")
    added = ana.post("/v1/memories", json={"text": "Ana keeps bees on the roof.", "metadata": {"a": 1}})
    assert added.status_code == 201
    memory = added.json()
    assert (memory["text"], memory["scope"], memory["metadata"]) == (
        "Ana keeps bees on the roof.",
        "user/ana",
        {"a": 1},
    )
    found = ana.post("/v1/search", json={"query": "Who keeps bees?", "threshold": 0}).json()
    assert [hit["id"] for hit in found["hits"]] == [memory["id"]]

    changed = ana.patch(f"/v1/memories/{memory['id']}", json={"importance": 0.9, "source": None})
    assert (changed.status_code, changed.json()["importance"]) == (200, 0.9)
    history = ana.get(f"/v1/memories/{memory['id']}/history").json()
    assert [entry["event"] for entry in history][:1] == ["added"]
    judged = ana.post(f"/v1/memories/{memory['id']}/feedback", json={"kind": "helpful"})
    assert judged.json()["kind"] == "helpful"
    assert ana.post("/v1/context", json={"query": "bees"}).json()["text"]

    erased = ana.delete(f"/v1/memories/{memory['id']}")
    assert erased.json()["rows"]["memory"] == 1
    assert ana.get(f"/v1/memories/{memory['id']}").status_code == 404


def test_messages_and_batches_are_stored(http: Connect) -> None:
    ana = http(user="ana")
    turns = [{"role": "user", "content": "I moved to Porto."}, {"role": "assistant", "content": "Noted."}]
    stored = ana.post("/v1/memories", json={"messages": turns, "conversation": "c1"}).json()
    assert [one["text"] for one in stored] == ["I moved to Porto.", "Noted."]
    report = ana.post(
        "/v1/memories/batch", json={"items": [{"text": "One."}, {"text": ""}, {"text": "Two."}]}
    )
    assert (report.json()["added"], [bad["index"] for bad in report.json()["errors"]]) == (2, [1])


def test_pages_follow_each_other_to_the_end(http: Connect) -> None:
    ana = http(user="ana")
    ana.post("/v1/memories/batch", json={"items": [{"text": f"Note {n}."} for n in range(5)]})
    seen, cursor = [], None
    while True:
        page = ana.get("/v1/memories", params={"limit": 2, **({"cursor": cursor} if cursor else {})}).json()
        seen += [item["text"] for item in page["items"]]
        cursor = page["next_cursor"]
        if cursor is None:
            break
    assert sorted(seen) == [f"Note {n}." for n in range(5)]
    filtered = ana.get("/v1/memories", params={"filters": '{"metadata.a": 1}'})
    assert filtered.json()["items"] == []


def test_what_http_answers_is_what_python_returns(http: Connect, as_user: Callable[..., Recollect]) -> None:
    ana, python = http(user="ana"), as_user("ana")
    memory = python.add("The build runs at night.", layer="user")
    assert ana.get(f"/v1/memories/{memory.id}").json() == encode(memory)
    assert ana.get("/v1/memories").json() == encode(python.list())


def test_a_read_that_was_seen_is_not_sent_again(http: Connect) -> None:
    ana = http(user="ana")
    id = ana.post("/v1/memories", json={"text": "Tea is at four."}).json()["id"]
    first = ana.get(f"/v1/memories/{id}")
    again = ana.get(f"/v1/memories/{id}", headers={"If-None-Match": first.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")
    ana.patch(f"/v1/memories/{id}", json={"text": "Tea is at five."})
    changed = ana.get(f"/v1/memories/{id}", headers={"If-None-Match": first.headers["etag"]})
    assert changed.json()["text"] == "Tea is at five."


@pytest.mark.parametrize(
    ("body", "status", "said"),
    [
        ({"query": "x", "limt": 3}, 400, "unknown field 'limt'; did you mean 'limit'?"),
        ({"query": "x", "limit": "3"}, 400, "limit"),
        ({"query": "x", "limit": 0}, 400, "limit"),
        ({"limit": 3}, 400, "query"),
        ({"query": ""}, 400, "query"),
        ({"query": "x", "layers": ["galaxy"]}, 400, "galaxy"),
        ({"query": "x", "scope": "team/none"}, 404, "team/none"),
        ({"query": "x", "timezone": "Mars/Base"}, 400, "Mars/Base"),
        ({"query": "x", "filters": {"a": {"$no": 1}}}, 400, "$no"),
    ],
)
def test_bad_input_is_a_problem_with_a_code(http: Connect, body: object, status: int, said: str) -> None:
    answer = http(user="ana").post("/v1/search", json=body)
    problem = answer.json()
    assert (answer.status_code, problem["status"]) == (status, status)
    assert answer.headers["content-type"].startswith("application/problem+json")
    assert said in problem["detail"]
    assert problem["code"] in {"invalid_input", "invalid_text", "invalid_filter", "scope_not_found"}


def test_broken_json_and_unknown_places_are_problems_too(http: Connect) -> None:
    ana = http(user="ana")
    broken = ana.post("/v1/search", content=b'{"query": ', headers={"Content-Type": "application/json"})
    assert (broken.status_code, broken.json()["code"]) == (400, "invalid_input")
    assert ana.get("/v1/nowhere").json()["code"] == "not_found"
    refused = ana.put("/v1/search").json()
    assert (refused["code"], refused["detail"]) == ("method_not_allowed", "'/v1/search' takes POST, not PUT")
    missing = ana.get("/v1/serach").json()
    assert (missing["code"], missing["detail"]) == (
        "not_found",
        "nothing is at '/v1/serach'; /v1/docs lists all that is",
    )


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"Authorization": ""},
        {"Authorization": "Bearer"},
        {"Authorization": "Bearer rcl_nothing"},
        {"Authorization": "Basic cm9vdDpyb290"},
        {"Authorization": "rcl_AAAA"},
    ],
)
def test_without_a_key_that_opens_something_there_is_nothing(server: object, headers: dict[str, str]) -> None:
    url = server.url  # type: ignore[attr-defined]
    for method, path in [
        ("POST", "/v1/search"),
        ("GET", "/v1/memories"),
        ("POST", "/v1/library/documents?name=a.md"),
    ]:
        answer = httpx.request(
            method, f"{url}{path}", headers=headers, json={"query": "x"}, trust_env=False, timeout=60
        )
        assert (answer.status_code, answer.json()["code"]) == (401, "unauthorized")
        assert answer.headers["www-authenticate"] == "Bearer"


def test_another_tenants_memory_looks_like_none_at_all(http: Connect, store: Recollect) -> None:
    name = f"t-{uuid4().hex[:12]}"
    store.tenants.create(name)
    theirs = store.for_context(TenantContext(tenant_id=name, user_id="eve")).add("Eve's secret.")
    admin = http(user="root", roles=("admin",))
    for path in ("/v1/memories/{}", "/v1/memories/{}/history"):
        known, unknown = (admin.get(path.format(id)) for id in (theirs.id, uuid4()))
        assert known.status_code == unknown.status_code == 404
        assert known.json()["code"] == unknown.json()["code"] == "memory_not_found"
        assert known.json()["detail"].replace(str(theirs.id), "") == unknown.json()["detail"].replace(
            unknown.request.url.path.split("/")[3], ""
        )


def test_an_admins_key_speaks_for_a_user_with_that_users_rights_only(http: Connect) -> None:
    admin, ana = http(user="root", roles=("admin",)), http(user="ana")
    hers = ana.post("/v1/memories", json={"text": "Ana's own note."}).json()["id"]
    as_ana = admin.get(f"/v1/memories/{hers}", headers={"Recollect-User": "ana"})
    assert as_ana.status_code == 200
    assert admin.get(f"/v1/memories/{hers}", headers={"Recollect-User": "ben"}).status_code == 404
    assert ana.get("/v1/memories", headers={"Recollect-User": "ben"}).json()["code"] == "forbidden"
    session = ana.post(
        "/v1/memories", json={"text": "Now.", "layer": "session"}, headers={"Recollect-Session": "s1"}
    )
    assert session.json()["scope"] == "session/s1"


def test_a_revoked_key_is_refused(http: Connect, client: Recollect, monkeypatch: pytest.MonkeyPatch) -> None:
    from recollect.surfaces.http import auth

    monkeypatch.setattr(auth, "REMEMBERED_S", 0.0)
    ana = http(user="ana")
    assert ana.get("/v1/memories").status_code == 200
    client.keys.revoke(client.keys.list()[0].id)
    assert ana.get("/v1/memories").status_code == 401


def test_a_body_that_is_too_large_is_refused_and_nothing_is_stored(
    http: Connect,
) -> None:
    ana = http(user="ana")
    said = ana.post("/v1/memories", json={"text": "x" * 10_000_000})
    assert (said.status_code, said.json()["code"]) == (413, "body_too_large")
    chunks = ana.post(
        "/v1/memories",
        content=iter([b'{"text": "'] + [b"y" * 1_000_000] * 11 + [b'"}']),
        headers={"Content-Type": "application/json"},
    )
    assert chunks.status_code == 413
    assert ana.get("/v1/memories").json()["items"] == []


def test_a_key_that_asks_too_often_is_told_when_to_come_back(
    serve: Callable[..., object], http: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Time stands still: on a busy machine four requests may take so long that another one is free by then.
    monkeypatch.setattr(limits, "monotonic", lambda: 0.0)
    at = serve(serve_requests_per_minute=3)
    ana, ben = http(user="ana", at=at), http(user="ben", at=at)
    assert [ana.get("/v1/memories").status_code for _ in range(4)] == [200, 200, 200, 429]
    assert int(ana.get("/v1/memories").headers["retry-after"]) >= 1
    assert ben.get("/v1/memories").status_code == 200


def test_the_server_says_how_it_is(server: object) -> None:
    url = server.url  # type: ignore[attr-defined]
    assert httpx.get(f"{url}/healthz", trust_env=False, timeout=60).json() == {"status": "ok"}
    assert httpx.get(f"{url}/readyz", trust_env=False, timeout=60).json() == {"status": "ready"}
    assert httpx.get(f"{url}/metrics", trust_env=False, timeout=60).status_code == 200

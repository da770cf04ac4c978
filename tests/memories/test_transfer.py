"""Export and import as JSON lines: everything there and back, and files that are not quite right."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.profiles import examples

from recollect import Memory, Recollect, TenantContext
from recollect.errors import ConflictError, InvalidInputError

DAY = datetime(2026, 2, 1, tzinfo=UTC)


def one(memory: Memory | list[Memory]) -> Memory:
    assert isinstance(memory, Memory)
    return memory


def new_tenant(store: Recollect) -> Recollect:
    tenant = f"t-{uuid4().hex[:12]}"
    store.tenants.create(tenant)
    return store.for_context(TenantContext(tenant_id=tenant, user_id="root", roles=("admin", "operator")))


def exported(client: Recollect, **conditions: Any) -> list[dict[str, Any]]:
    target = io.StringIO()
    client.export_jsonl(target, **conditions)
    return [json.loads(line) for line in target.getvalue().split("\n") if line]


def without_tenant(client: Recollect, lines: list[dict[str, Any]]) -> list[str]:
    """The lines as text, with the tenant's own name, which differs on purpose, taken out."""
    return [
        json.dumps(line, sort_keys=True).replace(client.tenant_context.tenant_id, "TENANT") for line in lines
    ]


def imported(client: Recollect, *lines: object) -> Any:
    return client.import_jsonl(io.BytesIO(b"".join(as_line(line) for line in lines)))


def as_line(line: object) -> bytes:
    if isinstance(line, bytes):
        return line + b"\n"
    return (line if isinstance(line, str) else json.dumps(line)).encode() + b"\n"


_TEXT = st.text(
    st.characters(codec="utf-8", exclude_characters="\x00", exclude_categories=("Cs",)),
    min_size=1,
    max_size=30,
).filter(lambda text: text.strip())
_NAME = st.text(st.characters(codec="utf-8", categories=("L", "N", "P", "S")), min_size=1, max_size=12)
_DATE = st.datetimes(datetime(1990, 1, 1), datetime(2026, 6, 1)).map(lambda d: d.replace(tzinfo=UTC))
_JSON = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(-(2**60), 2**60), st.floats(-1e9, 1e9), _TEXT),
    lambda inner: st.one_of(st.lists(inner, max_size=2), st.dictionaries(_NAME, inner, max_size=2)),
    max_leaves=4,
)
_ITEM = st.fixed_dictionaries(
    {
        "text": _TEXT,
        "type": st.sampled_from(["episodic", "semantic", "procedural", "summary"]),
        "scope": st.sampled_from(
            ["user/root", "user/ana", "team/b", "team/a", "project/p", "session/s", "agent/x"]
        ),
    },
    optional={
        "subject": _TEXT,
        "trigger": _TEXT,
        "entities": st.lists(_NAME, max_size=2),
        "importance": st.floats(0, 1),
        "metadata": st.dictionaries(_NAME, _JSON, max_size=3),
        "created_at": _DATE,
        "valid_from": _DATE,
        "expires_at": st.just(datetime(2090, 1, 1, tzinfo=UTC)),
        "conversation": st.sampled_from(["c1", "c2"]),
        "speaker": _NAME,
        "source": _TEXT,
    },
)
_CHANGE = st.sampled_from(["text", "fields", "supersede", "restore", "repeat"])


@settings(max_examples=examples(15), deadline=None, suppress_health_check=list(HealthCheck))
@given(
    items=st.lists(_ITEM, max_size=8),
    changes=st.lists(st.tuples(_CHANGE, st.integers(0, 7), st.integers(0, 7)), max_size=6),
)
def test_an_export_imported_into_an_empty_tenant_exports_the_same(
    store: Recollect, items: list[dict[str, Any]], changes: list[tuple[str, int, int]]
) -> None:
    source = new_tenant(store)
    # A team below a team whose name comes later: layers alone do not put parents first.
    source.scopes.create("team/b")
    source.scopes.create("team/a", parent="team/b")
    source.scopes.create("project/p", parent="team/a")
    as_ana = store.for_context(source.tenant_context.replace(user_id="ana"))
    as_ana.add("Ana in her session", layer="session", scope="session/s")
    bot = store.for_context(TenantContext(tenant_id=source.tenant_context.tenant_id, agent_id="x"))
    bot.add("an agent that belongs to nobody", layer="agent")
    source.add("a company memory", layer="company")
    report = source.add_many(items)
    assert not report.errors
    ids = [id for id in report.ids if id is not None]
    for change, left, right in changes:
        if not ids:
            break
        first, second = ids[left % len(ids)], ids[right % len(ids)]
        with suppress(
            ConflictError, InvalidInputError
        ):  # superseded already, restored already, the same text
            if change == "text":
                source.update(first, text=f"changed to {left} {right}")
            elif change == "fields":
                source.update(first, importance=right / 7, metadata={"changed": right})
            elif change == "supersede":
                source.supersede(first, by=second)
            elif change == "restore":
                source.restore(first)
            else:
                source.add(
                    source.get(first).text, scope=source.get(first).scope, layer=source.get(first).layer
                )

    lines = exported(source)
    target = new_tenant(store)
    outcome = imported(target, *lines)
    assert outcome.errors == ()
    assert outcome.added == sum(line["kind"] == "memory" for line in lines)
    assert without_tenant(target, exported(target)) == without_tenant(source, lines)

    again = imported(target, *lines)
    assert (again.errors, again.added, again.reinforced) == ((), 0, 0)
    assert without_tenant(target, exported(target)) == without_tenant(source, lines)


def test_an_imported_store_believes_what_the_exported_one_did(store: Recollect) -> None:
    source = new_tenant(store)
    memory = one(source.add("version one", created_at=DAY))
    source.update(memory.id, text="version two")
    old, new = (
        one(source.add("old", created_at=DAY)),
        one(source.add("new", created_at=DAY + timedelta(days=1))),
    )
    source.supersede(old.id, by=new.id)
    source.add("gone", created_at=DAY, expires_at=DAY + timedelta(days=1))
    target = new_tenant(store)
    imported(target, *exported(source))
    for at in (None, DAY, DAY + timedelta(days=2), "2026-02-01T12:00:00Z"):
        assert [m.id for m in target.list(as_of=at)] == [m.id for m in source.list(as_of=at)]
    found = [[hit.text for hit in client.search("version", threshold=0)] for client in (source, target)]
    assert found[0] == found[1]
    assert set(found[0]) == {"version two", "new"}
    assert target.restore(old.id).status == "active"


def test_a_conversation_goes_on_after_an_import(store: Recollect) -> None:
    source = new_tenant(store)
    source.add([{"content": f"turn {n}"} for n in range(3)], conversation="c1")
    target = new_tenant(store)
    imported(target, *exported(source))
    assert one(target.add("turn 3", conversation="c1")).position == 3


def test_sessions_of_two_users_with_one_name_stay_apart(store: Recollect) -> None:
    source = new_tenant(store)
    for user in ("ana", "ben"):
        person = store.for_context(
            TenantContext(tenant_id=source.tenant_context.tenant_id, user_id=user, session_id="s")
        )
        person.add(f"{user} speaking", layer="session", conversation="c1")
    target = new_tenant(store)
    assert imported(target, *exported(source)).errors == ()
    for user in ("ana", "ben"):
        person = store.for_context(
            TenantContext(tenant_id=target.tenant_context.tenant_id, user_id=user, session_id="s")
        )
        assert [m.text for m in person.list()] == [f"{user} speaking"]


def test_only_an_admin_imports_what_belongs_to_others(
    client: Recollect, store: Recollect, as_user: Callable[..., Recollect]
) -> None:
    source = new_tenant(store)
    store.for_context(source.tenant_context.replace(user_id="ana")).add(
        "Ana's", layer="session", scope="session/s"
    )
    source.add("root's")
    outcome = imported(as_user("eve"), *exported(source))
    assert outcome.added == 0
    assert {error.code for error in outcome.errors} == {"forbidden"}
    assert len(client.list()) == 0


def test_filters_narrow_an_export_and_progress_counts_it(client: Recollect) -> None:
    client.add_many([{"text": f"m {n}", "metadata": {"even": n % 2 == 0}} for n in range(10)])
    steps: list[tuple[int, int | None]] = []
    target = io.StringIO()
    count = client.export_jsonl(target, filters={"even": True}, progress=lambda *step: steps.append(step))
    lines = [json.loads(line) for line in target.getvalue().split("\n") if line]
    assert count == sum(line["kind"] == "memory" for line in lines) == 5
    assert steps[-1][0] == 5


def test_a_file_on_disk_goes_there_and_back(client: Recollect, store: Recollect, tmp_path: Path) -> None:
    client.add_many([{"text": f"größe {n}\u2028", "metadata": {"n": n}} for n in range(1_200)])
    file = tmp_path / "export.jsonl"
    assert client.export_jsonl(file) == 1_200
    target = new_tenant(store)
    steps: list[tuple[int, int | None]] = []
    report = target.import_jsonl(file, progress=lambda *step: steps.append(step))
    assert (report.added, report.errors) == (1_200, ())
    assert steps[-1] == (1_200, None)
    with file.open(encoding="utf-8") as text_stream:
        assert target.import_jsonl(text_stream).unchanged == 1_200
    with pytest.raises(InvalidInputError, match="can't open"):
        client.import_jsonl(tmp_path / "none.jsonl")
    with pytest.raises(InvalidInputError, match="can't open"):
        client.export_jsonl(tmp_path / "none" / "x.jsonl")


# Fixed, so that every worker collects the same tests.
ID = "01890a5d-ac96-774b-bcce-b302099a8057"
BAD_LINES: list[tuple[object, str]] = [
    ('{"text": "cut', "not JSON"),
    (b'{"text": "\xff"}', "not UTF-8 at byte 10"),
    ("[1]", "is a list, not an object"),
    ("nonsense", "not JSON"),
    ("1" * 5_000, "can't be read"),
    ("[" * 200_000, "can't be read"),
    ({"text": "x", "colour": "red"}, "unknown field 'colour'"),
    ({"text": "x", "kind": "dream"}, "unknown kind 'dream'"),
    ({"kind": "scope", "scope": "nowhere"}, "has no layer"),
    ({"kind": "scope"}, "has no layer"),
    ({"text": "x", "created_at": "2026-13-45"}, "is not a date"),
    ({"text": "x", "created_at": 5}, "must be a datetime"),
    ({"text": ""}, "text is empty"),
    ({"text": 5}, "must be a string"),
    ({"id": "5", "text": "x"}, "is not a UUID"),
    ({"id": ID, "text": "x", "position": -1}, "position"),
    ({"id": ID, "text": "x", "use_count": 2**40}, "use_count"),
    ({"id": ID, "text": "x", "use_count": True}, "use_count"),
    ({"id": ID, "text": "x", "utility": float("nan")}, "utility"),
    ({"id": ID, "text": "x", "superseded_by": "y"}, "superseded_by"),
    ({"id": ID, "text": "x", "superseded_by": ID}, "superseded_at"),
    ({"id": ID, "text": "x", "since": "long ago"}, "since"),
    ({"text": "x", "metadata": "none"}, "metadata must be a dict"),
    ('{"text": "x", "metadata": {"a": Infinity}}', "JSON can't hold"),
    ({"text": "x", "layer": "team", "scope": "team/none"}, "no scope"),
]


@pytest.mark.parametrize(("line", "complaint"), BAD_LINES, ids=[complaint for _, complaint in BAD_LINES])
def test_a_bad_line_is_named_by_its_number_and_the_rest_is_stored(
    client: Recollect, line: object, complaint: str
) -> None:
    report = imported(client, {"text": "first"}, "", line, {"text": "last"})
    assert [error.index for error in report.errors] == [3]
    assert complaint in report.errors[0].message
    assert report.errors[0].code.startswith(("invalid", "scope_not_found"))
    assert {m.text for m in client.list()} == {"first", "last"}


@pytest.mark.parametrize(
    "entry",
    [
        5,
        {},
        {"id": ID, "event": "exploded", "at": "2026-01-01"},
        {"id": "5", "event": "updated", "at": "2026-01-01"},
        {"id": ID, "event": "updated"},
        {"id": ID, "event": "updated", "at": "2026-01-01", "by": 5},
        {"id": ID, "event": "updated", "at": "2026-01-01", "before": [1]},
        {"id": ID, "event": ["updated"], "at": "2026-01-01"},
    ],
    ids=repr,
)
def test_a_bad_line_of_history_is_named_and_its_memory_kept(client: Recollect, entry: object) -> None:
    report = imported(client, {"id": str(uuid4()), "text": "x", "history": [entry]})
    assert [error.index for error in report.errors] == [1]
    assert "history" in report.errors[0].message
    assert [m.text for m in client.list()] == ["x"]


def test_foreign_lines_with_only_a_text_are_memories(client: Recollect) -> None:
    report = client.import_jsonl(
        io.BytesIO(
            b'\xef\xbb\xbf{"text": "with a byte order mark"}\r\n\r\n{"text": "second"}\r\n{"text": "second"}'
        )
    )
    assert (report.added, report.reinforced, report.errors) == (2, 1, ())
    assert {(m.text, m.scope) for m in client.list()} == {
        ("with a byte order mark", "user/root"),
        ("second", "user/root"),
    }


def test_lines_may_be_any_iterable_of_text_or_bytes(client: Recollect) -> None:
    assert client.import_jsonl(['{"text": "a"}', '{"text": "b"}\n']).added == 2
    assert client.import_jsonl(iter([b'{"text": "c"}'])).added == 1
    assert client.import_jsonl(io.StringIO('{"text": "d"}\n')).added == 1


def test_a_line_whose_text_is_known_under_another_id_is_not_stored_twice(client: Recollect) -> None:
    mine = one(client.add("the same words"))
    report = imported(client, {"id": str(uuid4()), "text": "the same words"})
    assert (report.ids, report.unchanged) == ((mine.id,), 1)
    assert len(client.list()) == 1


def test_of_two_lines_with_one_id_the_first_is_stored(client: Recollect) -> None:
    id = uuid4()
    report = imported(client, {"id": str(id), "text": "zebra"}, {"id": str(id), "text": "antelope"})
    assert (report.added, report.unchanged, report.errors) == (1, 1, ())
    assert client.get(id).text == "zebra"
    assert [hit.text for hit in client.search("zebra", threshold=0)] == ["zebra"]
    assert [scope.memories for scope in client.scopes.list(layers=["user"])] == [1]


def test_an_id_that_belongs_to_somebody_else_is_refused_alone(
    client: Recollect, as_user: Callable[..., Recollect]
) -> None:
    hidden = one(client.add("hidden"))
    report = imported(as_user("eve"), {"id": str(hidden.id), "text": "guess"}, {"text": "fine"})
    assert [(error.index, error.code) for error in report.errors] == [(1, "conflict")]
    assert report.added == 1
    assert client.get(hidden.id).text == "hidden"


def test_a_long_file_is_read_as_it_is_stored(client: Recollect) -> None:
    stored_when_read: list[int] = []

    def lines() -> Iterator[str]:
        for number in range(5_000):
            if number % 1_000 == 999:
                # A view of the same store on its own connection: what is durable by now.
                stored_when_read.append(sum(scope.memories for scope in other.scopes.list()))
            yield json.dumps({"text": f"line {number}"})

    with Recollect(settings=client.settings, context=client.tenant_context) as other:
        assert client.import_jsonl(lines()).added == 5_000
    assert stored_when_read[0] == 0
    assert stored_when_read[-1] >= 2_000, "lines were stored before the last one was read"
    assert stored_when_read == sorted(stored_when_read)

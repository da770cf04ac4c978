"""Exports that the real mem0 and the real Chroma wrote, imported: nothing lost, nothing twice, nothing by halves."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import pytest

from recollect import Recollect
from recollect.contrib.importers import import_from
from recollect.contrib.importers.entry import source_of, time_of
from recollect.contrib.mem0 import Memory
from recollect.errors import InvalidInputError, RecollectError


def written(path: Path, document: Any) -> Path:
    path.write_text(document if isinstance(document, str) else json.dumps(document), encoding="utf-8")
    return path


# mem0 ---------------------------------------------------------------------------------------------


def test_what_mem0_exports_is_imported_with_ids_users_times_and_metadata(
    mem0_memory: Any, client: Recollect, as_user: Callable[..., Recollect], tmp_path: Path
) -> None:
    add = mem0_memory.add
    bees = add("Ana keeps bees.", user_id="ana", metadata={"topic": "pets", "n": 1}, infer=False)["results"][
        0
    ]
    turns = add(
        [{"role": "user", "name": "Ana", "content": "Book it."}, {"role": "assistant", "content": "Done."}],
        user_id="ana",
        agent_id="guide",
        run_id="r1",
        infer=False,
    )["results"]
    items = mem0_memory.get_all(filters={"user_id": "ana"}, top_k=100)
    file = written(tmp_path / "mem0.json", items)

    report = import_from(client, "mem0", file)
    assert (report.added, report.errors) == (3, ())
    by_id = {item["id"]: item for item in items["results"]}
    kept = client.get(bees["id"])
    assert (kept.text, kept.scope, kept.metadata) == (
        "Ana keeps bees.", "user/ana", {"topic": "pets", "n": 1, "role": "user"},
    )  # fmt: skip
    assert kept.created_at == datetime.fromisoformat(by_id[bees["id"]]["created_at"])
    assert kept.source == f"mem0:{bees['id']}"
    turn = client.get(turns[0]["id"])
    assert turn.conversation == "r1"
    assert turn.metadata == {"agent_id": "guide", "run_id": "r1", "actor_id": "Ana", "role": "user"}
    assert bees["id"] in {str(hit.id) for hit in as_user("ana").search("Who keeps bees?", threshold=0)}

    again = import_from(client, "mem0", file)
    assert (again.added, again.reinforced, again.unchanged) == (0, 0, 3)
    assert len(client.list()) == 3


def test_the_facade_says_of_an_import_what_mem0_said(
    mem0_memory: Any, client: Recollect, tmp_path: Path
) -> None:
    add = mem0_memory.add
    add("Ana keeps bees.", user_id="ana", agent_id="guide", metadata={"n": 1}, infer=False)
    add("Answer briefly.", agent_id="guide", expiration_date="2030-01-31", infer=False)
    add({"role": "assistant", "content": "The build runs."}, run_id="r1", infer=False)
    facade = Memory(client=client)
    for number, filters in enumerate(({"user_id": "ana"}, {"agent_id": "guide"}, {"run_id": "r1"})):
        theirs = mem0_memory.get_all(filters=filters)
        import_from(client, "mem0", written(tmp_path / f"{number}.json", theirs))
        ours = facade.get_all(filters=filters)["results"]
        assert sorted(ours, key=_id) == sorted(theirs["results"], key=_id)


def _id(item: dict[str, Any]) -> str:
    return str(item["id"])


def test_the_history_database_brings_earlier_texts(
    mem0_memory: Any, client: Recollect, tmp_path: Path
) -> None:
    [kept] = mem0_memory.add("Ana has two hives.", user_id="ana", infer=False)["results"]
    [gone] = mem0_memory.add("Forget me.", user_id="ana", infer=False)["results"]
    mem0_memory.update(kept["id"], text="Ana has three hives.")
    mem0_memory.delete(gone["id"])
    report = import_from(client, "mem0", tmp_path / "history.db")
    assert (report.added, report.errors) == (1, ())
    assert client.get(kept["id"]).text == "Ana has three hives."
    assert client.get(kept["id"]).scope == "user/root"
    theirs = [(e["event"], e["old_memory"], e["new_memory"]) for e in mem0_memory.history(kept["id"])]
    ours = [(e["event"], e["old_memory"], e["new_memory"]) for e in Memory(client=client).history(kept["id"])]
    assert ours == theirs
    assert import_from(client, "mem0", tmp_path / "history.db").unchanged == 1
    assert len(client.history(kept["id"])) == 2


@pytest.mark.parametrize("wrap", [lambda items: items, lambda items: {"memories": items}])
def test_lists_platform_exports_and_json_lines_are_read_too(
    client: Recollect, wrap: Callable[[list[Any]], Any]
) -> None:
    items: list[Any] = [
        {"id": str(uuid4()), "memory": "Ana rows.", "user_id": "ana", "categories": ["sport"], "hash": "x"},
        {"id": "m-2", "memory": "Bo skis.", "user_id": "bo", "created_at": "2025-03-04T05:06:07-07:00"},
    ]
    assert import_from(client, "mem0", json.dumps(wrap(items)).encode()).added == 2
    lines = "\n".join(json.dumps(item) for item in items).encode()
    assert import_from(client, "mem0", lines).unchanged == 2
    stored = {memory.text: memory for memory in client.list()}
    assert stored["Ana rows."].metadata == {"categories": ["sport"]}
    assert stored["Bo skis."].created_at == datetime(2025, 3, 4, 12, 6, 7, tzinfo=UTC)
    assert stored["Bo skis."].source == "mem0:m-2"


# Chroma -------------------------------------------------------------------------------------------

NOTES = [
    {
        "id": "n1",
        "document": "The train leaves at nine.",
        "metadata": {"user_id": "ana", "timestamp": 1_700_000_000},
    },
    {
        "id": "n2",
        "document": "Bo drinks tea.",
        "metadata": {"created_at": "2024-02-03", "stars": 4, "ok": True},
    },
    {"id": "n3", "document": "A note without labels."},
    {"id": "n4", "metadata": {"data": "As mem0 keeps it.", "date": "next week", "user_id": "bo"}},
]


def check_notes(client: Recollect, collection: dict[str, str]) -> None:
    stored = {memory.text: memory for memory in client.list()}
    train, tea = stored["The train leaves at nine."], stored["Bo drinks tea."]
    assert (train.scope, train.created_at) == ("user/ana", datetime(2023, 11, 14, 22, 13, 20, tzinfo=UTC))
    assert train.metadata == {**collection, "user_id": "ana", "timestamp": 1_700_000_000}
    assert (tea.scope, tea.created_at) == ("user/root", datetime(2024, 2, 3, tzinfo=UTC))
    assert tea.metadata == {**collection, "created_at": "2024-02-03", "stars": 4, "ok": True}
    assert stored["A note without labels."].metadata == collection
    assert stored["As mem0 keeps it."].metadata == {**collection, "date": "next week", "user_id": "bo"}
    assert len(stored) == len(NOTES)


def test_a_folder_of_chroma_is_imported_once(client: Recollect, chroma_folder: Callable[..., Path]) -> None:
    folder = chroma_folder({"notes": NOTES})
    assert import_from(client, "chroma", folder).added == 4
    check_notes(client, {"collection": "notes"})
    again = import_from(client, "chroma", folder)
    assert (again.added, again.unchanged) == (0, 4)
    assert client.list(filters={"source": "chroma:notes/n1"})[0].text == "The train leaves at nine."


def test_a_dump_of_a_collection_is_imported_once(
    client: Recollect, chroma_folder: Callable[..., Path], tmp_path: Path
) -> None:
    import chromadb
    from chromadb.config import Settings

    folder = chroma_folder({"notes": NOTES, "more": [{"id": "n1", "document": "Another collection."}]})
    opened = chromadb.PersistentClient(str(folder), settings=Settings(anonymized_telemetry=False))
    dump = written(tmp_path / "notes.json", opened.get_collection("notes").get())
    assert import_from(client, "chroma", dump).added == 4
    check_notes(client, {})
    assert import_from(client, "chroma", dump).unchanged == 4
    named = {one.name: one.get() for one in opened.list_collections()}
    both = import_from(client, "chroma", json.dumps(named).encode(), scope="user/eve")
    assert (both.added, both.errors) == (5, ())
    assert {memory.scope for memory in client.list(scope="user/eve")} == {"user/eve"}


def test_the_chroma_folder_that_mem0_keeps_is_read_as_well(
    mem0_memory: Any, client: Recollect, tmp_path: Path
) -> None:
    mem0_memory.add("Ana keeps bees.", user_id="ana", metadata={"n": 1}, infer=False)
    assert import_from(client, "chroma", tmp_path / "mem0_chroma").added == 1
    [memory] = client.list()
    assert (memory.text, memory.scope, memory.metadata["n"]) == ("Ana keeps bees.", "user/ana", 1)
    assert memory.created_at.isoformat() == memory.metadata["created_at"]


# What is broken -----------------------------------------------------------------------------------


def test_broken_entries_are_named_and_nothing_is_stored_unless_they_are_skipped(client: Recollect) -> None:
    items = [
        {"id": "fine", "memory": "This one is fine.", "user_id": "ana"},
        {"id": "empty", "memory": " "},
        {"id": "when", "memory": "Then.", "created_at": "yesterday"},
        {"memory": "Nameless."},
        {"id": "who", "memory": "Blanks.", "user_id": "a b"},
        {"id": "labels", "memory": "Labels.", "metadata": [1]},
        "text",
        {"id": "until", "memory": "Until.", "expiration_date": "soon"},
    ]
    data = json.dumps(items).encode()
    refused = import_from(client, "mem0", data)
    assert (refused.added, refused.ids) == (0, ())
    assert [error.index for error in refused.errors] == [2, 3, 4, 5, 6, 7, 8]
    assert refused.errors[0].message.startswith("entry 2 (empty): ")
    assert len(client.list()) == 0
    skipped = import_from(client, "mem0", data, skip_broken=True)
    assert (skipped.added, len(skipped.errors)) == (1, 7)
    assert [memory.text for memory in client.list()] == ["This one is fine."]


REFUSED: list[tuple[str, bytes, str]] = [
    ("pinecone", b"[]", "can't import from 'pinecone'"),
    ("mem0", b'{"results": [{"id": "1", "memo', "is it complete"),
    ("mem0", b"\xff\xfe", "not UTF-8"),
    ("mem0", b'{"answer": 42}', "no export of mem0"),
    ("mem0", b"42", "no export of mem0"),
    ("mem0", b"SQLite format 3\x00....", "named as a file"),
    ("chroma", b'{"notes": 7}', "no dump of Chroma"),
    ("chroma", b"[]", "no dump of Chroma"),
    ("chroma", b'{"ids": ["a", "b"], "documents": ["one"]}', "not as many documents"),
    ("mem0", b"[" * 100_000, "can't be read"),
]


def test_what_is_no_export_is_refused_in_words(client: Recollect) -> None:
    for package, data, words in REFUSED:
        with pytest.raises(InvalidInputError, match=words):
            import_from(client, package, data)
    assert len(client.list()) == 0


def test_files_and_folders_that_are_something_else_are_left_as_they_are(
    client: Recollect, tmp_path: Path
) -> None:
    with pytest.raises(InvalidInputError, match="no folder of Chroma"):
        import_from(client, "chroma", tmp_path)
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(InvalidInputError, match="can't open"):
        import_from(client, "mem0", tmp_path / "gone.json")
    database = tmp_path / "other.db"
    with sqlite3.connect(database) as connection:
        connection.execute("create table t (x)")
    connection.close()
    with pytest.raises(InvalidInputError, match="no history database"):
        import_from(client, "mem0", database)


def test_entries_of_others_are_refused_by_name_for_a_user_who_is_no_admin(
    as_user: Callable[..., Recollect], client: Recollect
) -> None:
    items = [
        {"id": str(uuid4()), "memory": "Ana rows.", "user_id": "ana"},
        {"id": str(uuid4()), "memory": "Bo skis.", "user_id": "bo"},
    ]
    report = import_from(as_user("ana"), "mem0", json.dumps(items).encode())
    assert (report.added, [error.code for error in report.errors]) == (1, ["forbidden"])
    assert report.errors[0].message.startswith(f"entry 2 ({items[1]['id']}): ")
    assert [memory.text for memory in client.list()] == ["Ana rows."]


@pytest.mark.parametrize("value", [True, "soon", 10**30, [1]])
def test_what_is_no_time_is_not_taken_for_one(value: Any) -> None:
    with pytest.raises(RecollectError):
        time_of(value, "created_at")


def test_times_are_read_in_seconds_and_milliseconds() -> None:
    assert (
        time_of(1_700_000_000, "t") == time_of(1_700_000_000_000, "t") == time_of("2023-11-14T22:13:20Z", "t")
    )


def test_a_long_source_stays_short_enough_for_the_index() -> None:
    assert source_of("chroma", "notes", "n1") == "chroma:notes/n1"
    long = source_of("chroma", "notes", "x" * 80)
    assert len(long) <= 60
    assert long != source_of("chroma", "notes", "y" * 80)


# Elsewhere ----------------------------------------------------------------------------------------


def test_an_import_through_a_server_keeps_what_the_verbs_carry(client: Recollect, remote: Recollect) -> None:
    items = [
        {
            "id": str(uuid4()),
            "memory": "Ana rows.",
            "user_id": "ana",
            "created_at": "2025-01-02",
            "metadata": {"n": 1},
        },
        {"id": str(uuid4()), "memory": "Ana rows.", "user_id": "ana"},
        {"id": str(uuid4()), "memory": "Bo skis.", "user_id": "bo", "run_id": "r1"},
        *({"id": str(uuid4()), "memory": f"Note {n}.", "user_id": "bo"} for n in range(120)),
    ]
    data = json.dumps(items).encode()
    heard: list[tuple[int, int | None]] = []
    report = import_from(remote, "mem0", data, progress=lambda done, total: heard.append((done, total)))
    assert (report.added, report.unchanged, report.errors) == (122, 1, ())
    assert heard == [(100, 123), (123, 123)]
    [rows] = client.list(filters={"source": f"mem0:{items[0]['id']}"})
    assert (rows.scope, rows.metadata, rows.created_at) == (
        "user/ana", {"n": 1}, datetime(2025, 1, 2, tzinfo=UTC),
    )  # fmt: skip
    again = import_from(remote, "mem0", data)
    assert (again.added, again.reinforced, again.unchanged) == (0, 0, 123)
    assert client.get(rows.id).use_count == rows.use_count


def test_an_import_through_a_server_names_what_the_server_refuses(
    remote_of: Callable[..., Recollect],
) -> None:
    items = [
        {"id": str(uuid4()), "memory": "Ana rows.", "user_id": "ana"},
        {"id": str(uuid4()), "memory": "Bo skis.", "user_id": "bo"},
    ]
    report = import_from(remote_of("ana"), "mem0", json.dumps(items).encode())
    assert (report.added, [(error.index, error.code) for error in report.errors]) == (1, [(2, "forbidden")])


def test_ids_of_an_import_are_the_memories_ids(client: Recollect) -> None:
    id = str(uuid4())
    report = import_from(client, "mem0", json.dumps([{"id": id, "memory": "Ana rows."}]).encode())
    assert report.ids == (UUID(id),)

"""Adding memories: types, fields, messages, conversations, repeats, batches, durability."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, suppress
from datetime import UTC, datetime
from pathlib import Path

import pytest

from recollect import AsyncRecollect, Memory, Recollect, Settings, TenantContext
from recollect.errors import ConflictError, InvalidInputError, ScopeNotFoundError
from recollect.memories.intake import BATCH
from recollect.storage.embedded import ensure_running

WHEN = datetime(2026, 5, 8, 14, 30, 0, 123456, tzinfo=UTC)

EVERYTHING = {
    "layer": "team",
    "scope": "team/api",
    "type": "semantic",
    "subject": "Ana",
    "predicate": "works_at",
    "object": "Acme",
    "trigger": "somebody asks",
    "action": "tell them",
    "entities": ("Ana", "Acme GmbH"),
    "importance": 0.25,
    "metadata": {"a": {"b": [1, 2.5, None, True, "x"]}, "ü": "é"},
    "created_at": WHEN,
    "valid_from": datetime(2026, 1, 1, tzinfo=UTC),
    "valid_to": datetime(2027, 1, 1, tzinfo=UTC),
    "expires_at": datetime(2090, 1, 1, tzinfo=UTC),
    "conversation": "c1",
    "speaker": "Ben",
    "source": "https://example.org/x",
}


def one(memory: Memory | list[Memory]) -> Memory:
    assert isinstance(memory, Memory)
    return memory


def test_every_field_comes_back_from_get_as_it_was_added(client: Recollect) -> None:
    client.scopes.create("team/api")
    added = one(client.add("Ana has worked at Acme since May.", **EVERYTHING))  # type: ignore[arg-type]
    got = client.get(added.id)
    assert got == added
    for name, value in EVERYTHING.items():
        assert getattr(got, name) == value, name
    assert got.text == "Ana has worked at Acme since May."
    assert got.tenant_id == client.tenant_context.tenant_id
    assert (got.use_count, got.utility, got.status, got.position) == (0, 0.0, "active", 0)
    assert (got.superseded_by, got.superseded_at) == (None, None)


@pytest.mark.parametrize(
    ("kind", "importance"), [("episodic", 0.5), ("semantic", 0.5), ("procedural", 0.8), ("summary", 0.9)]
)
def test_importance_defaults_by_type(client: Recollect, kind: str, importance: float) -> None:
    memory = one(client.add("something", type=kind))
    assert (memory.type, memory.importance) == (kind, importance)


def test_a_fact_given_by_its_parts_reads_as_a_sentence(client: Recollect) -> None:
    fact = client.add(None, type="semantic", subject="Ana", predicate="works_at", object="Acme")
    assert one(fact).text == "Ana works at Acme"


def test_a_procedure_given_by_its_parts_reads_as_a_sentence(client: Recollect) -> None:
    procedure = client.add(None, type="procedural", trigger="the disk is full", action="delete old logs")
    assert one(procedure).text == "When the disk is full: delete old logs"


@pytest.mark.parametrize("parts", [{"subject": "Ana"}, {"trigger": "x", "action": "y"}, {}])
def test_parts_that_make_no_sentence_need_a_text(client: Recollect, parts: dict[str, str]) -> None:
    with pytest.raises(InvalidInputError, match="text is empty"):
        client.add(None, type="semantic", **parts)  # type: ignore[arg-type]


def test_a_memory_dated_ahead_is_known_at_once(client: Recollect) -> None:
    memory = one(client.add("the party", created_at="2090-01-01"))
    assert [found.id for found in client.list()] == [memory.id]


def test_messages_become_turns_with_speaker_and_own_date(client: Recollect) -> None:
    turns = client.add(
        [
            {"role": "user", "content": "Hi", "created_at": "2026-01-01T10:00:00Z"},
            {"speaker": "Ben", "text": "Hello", "metadata": {"mood": "good"}},
            {"role": "assistant", "name": "Cleo", "content": "Hey", "entities": ["Ben"]},
        ],
        conversation="c1",
        created_at="2026-01-02T00:00:00Z",
        metadata={"shared": 1},
    )
    assert isinstance(turns, list)
    assert [(t.speaker, t.text, t.position, t.conversation) for t in turns] == [
        ("user", "Hi", 0, "c1"),
        ("Ben", "Hello", 1, "c1"),
        ("Cleo", "Hey", 2, "c1"),
    ]
    assert [t.created_at.day for t in turns] == [1, 2, 2]
    assert [t.metadata for t in turns] == [{"shared": 1}, {"mood": "good"}, {"shared": 1}]
    assert turns[2].entities == ("Ben",)


def test_messages_without_a_conversation_are_one_of_their_own(client: Recollect) -> None:
    first = client.add([{"role": "user", "content": "ok"}, {"role": "user", "content": "ok"}])
    second = client.add([{"role": "user", "content": "ok"}])
    assert isinstance(first, list)
    assert isinstance(second, list)
    assert len({turn.id for turn in [*first, *second]}) == 3
    assert first[0].conversation == first[1].conversation != second[0].conversation
    assert [turn.position for turn in first] == [0, 1]


def test_the_text_parts_of_chat_messages_are_one_turn(client: Recollect) -> None:
    parts = [{"type": "text", "text": "I moved to Porto."}, {"type": "text", "text": "It rains."}]
    answer = [{"type": "output_text", "text": "Noted."}]
    turns = client.add([{"role": "user", "content": parts}, {"role": "assistant", "content": answer}])
    assert isinstance(turns, list)
    assert [turn.text for turn in turns] == ["I moved to Porto.\nIt rains.", "Noted."]


@pytest.mark.parametrize(
    ("messages", "complaint"),
    [
        (
            [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "x"}}]}],
            "message 0 has a part of type 'image_url', and only text is remembered",
        ),
        ([{"role": "user", "content": []}], "message 0 is empty"),
        ([], "messages is empty"),
        (["hi"], r"text_or_messages\[0\] must be a dict, not 'hi'"),
        ([{"role": "user", "content": ""}], "message 0 is empty"),
        ([{"role": "user", "content": "x"}, {"role": "user", "content": None}], "message 1 must be a string"),
        ([{"role": "user", "content": "x", "tool": 1}], "unknown key 'tool'"),
        ({"role": "user"}, "text_or_messages must be a string or bytes or a list, not dict"),
        (7, "text_or_messages must be a string or bytes or a list, not 7"),
    ],
)
def test_messages_that_can_not_be_read_store_nothing(
    client: Recollect, messages: object, complaint: str
) -> None:
    with pytest.raises(InvalidInputError, match=complaint):
        client.add(messages, conversation="c1")  # type: ignore[arg-type]
    assert len(client.list()) == 0


def test_a_conversation_goes_on_where_it_stopped(client: Recollect) -> None:
    client.add([{"content": "one"}, {"content": "two"}], conversation="c1")
    client.add("three", conversation="c1")
    client.add_many([{"text": t, "conversation": "c1"} for t in ("four", "five")])
    client.add("elsewhere", conversation="c2")
    turns = sorted(client.list(conversation="c1"), key=lambda turn: turn.position or 0)
    assert [(turn.position, turn.text) for turn in turns] == list(
        enumerate("one two three four five".split())
    )


def test_turns_of_a_conversation_never_merge(client: Recollect) -> None:
    report = client.add_many([{"text": "yes", "conversation": "c1"} for _ in range(3)])
    client.add("yes", conversation="c1")
    client.add("yes")
    assert report.added == 3
    assert len(client.list()) == 5


def test_writers_in_two_clients_never_share_a_position(client: Recollect, settings: Settings) -> None:
    with Recollect(settings=settings, context=client.tenant_context) as other:

        def append(who: tuple[Recollect, str]) -> None:
            for number in range(15):
                who[0].add(
                    [{"content": f"{who[1]} {number} a"}, {"content": f"{who[1]} {number} b"}],
                    conversation="c",
                )

        writers = [(client, "one"), (other, "two"), (client, "three"), (other, "four")]
        with ThreadPoolExecutor(4) as pool:
            list(pool.map(append, writers))
    turns = sorted(client.list(conversation="c", limit=1000), key=lambda turn: turn.position or 0)
    assert [turn.position for turn in turns] == list(range(120))
    for turn, following in zip(turns[::2], turns[1::2], strict=True):
        assert following.text == turn.text.removesuffix("a") + "b", "turns of one add stay neighbours"


def test_a_repeat_reinforces_the_memory_that_is_there(client: Recollect) -> None:
    first = one(
        client.add("The  door code is 4711", entities=["Door"], metadata={"a": 1, "b": 1}, importance=0.3)
    )
    again = one(client.add("The door code\nis 4711 ", entities=["Office"], metadata={"b": 2}, importance=0.7))
    assert again.id == first.id
    assert again.text == first.text
    assert again.use_count == 1
    assert again.entities == ("Door", "Office")
    assert again.metadata == {"a": 1, "b": 2}
    assert again.importance == 0.7
    event = client.history(first.id)[-1]
    assert (event.event, event.by) == ("reinforced", "root")
    assert event.before == {
        "use_count": 0, "importance": 0.3, "metadata": {"a": 1, "b": 1}, "entities": ["Door"],
    }  # fmt: skip


def test_repeats_count_within_one_batch_and_across_batches(client: Recollect) -> None:
    items = [{"text": f"fact {n % 300}", "metadata": {f"m{n // 300}": n}} for n in range(900)]
    report = client.add_many(items)
    assert (report.added, report.reinforced, report.errors) == (300, 600, ())
    assert report.ids[:300] == report.ids[300:600] == report.ids[600:]
    memory = client.get(report.ids[7])  # type: ignore[arg-type]
    assert memory.use_count == 2
    assert memory.metadata == {"m0": 7, "m1": 307, "m2": 607}


def test_repeats_next_to_each_other_in_a_batch_all_leave_their_metadata(client: Recollect) -> None:
    report = client.add_many([{"text": "x", "metadata": {n: 1}, "entities": [n]} for n in "abc"])
    memory = client.get(report.ids[0])  # type: ignore[arg-type]
    assert (memory.metadata, memory.entities) == ({"a": 1, "b": 1, "c": 1}, ("a", "b", "c"))


def test_the_same_text_from_four_threads_is_one_memory(client: Recollect) -> None:
    with ThreadPoolExecutor(4) as pool:
        memories = list(
            pool.map(lambda n: one(client.add("everybody says so", metadata={f"k{n}": n})), range(16))
        )
    assert len({memory.id for memory in memories}) == 1
    stored = client.get(memories[0].id)
    assert stored.use_count == 15
    assert stored.metadata == {f"k{n}": n for n in range(16)}


def test_batches_of_the_same_texts_in_opposite_order_do_not_block_each_other(client: Recollect) -> None:
    texts = [f"shared text {n}" for n in range(200)]
    orders = [texts, texts[::-1], texts[::2] + texts[1::2], texts[1::2] + texts[::2]]
    with ThreadPoolExecutor(4) as pool:
        reports = list(pool.map(lambda order: client.add_many([{"text": t} for t in order]), orders))
    assert sum(report.added for report in reports) == 200
    assert sum(report.reinforced for report in reports) == 600
    assert not any(report.errors for report in reports)


def test_the_same_text_in_two_scopes_is_two_memories(client: Recollect) -> None:
    client.scopes.create("team/api")
    assert one(client.add("hello")).id != one(client.add("hello", layer="team", scope="team/api")).id


def test_a_batch_reports_its_bad_rows_by_position_and_stores_the_rest(client: Recollect) -> None:
    good = {"text": "good"}
    items: list[object] = [{"text": f"memory {n}"} for n in range(600)]
    bad: dict[int, object] = {
        0: {"text": ""},
        17: {"text": "x", "importance": 2},
        255: {"text": "nul \x00"},
        256: {"text": "x", "layer": "galaxy"},
        300: {"text": "x", "scope": "team/unknown"},
        301: "not a dict",
        302: None,
        303: {"text": "x", "colour": "red"},
        304: {"text": "x", "extras": {"id": "01890a5d-ac96-774b-bcce-b302099a8057"}},
        305: {"text": "x", 5: 6},
        306: {},
        599: {"text": "x", "created_at": "yesterday"},
    }
    for position, item in bad.items():
        items[position] = item
    items.append(good)
    report = client.add_many(items)  # type: ignore[arg-type]
    assert [error.index for error in report.errors] == sorted(bad)
    codes = {error.index: error.code for error in report.errors}
    assert codes[0] == codes[255] == "invalid_text"
    assert codes[17] == codes[301] == codes[304] == "invalid_input"
    assert codes[300] == "scope_not_found"
    assert report.added == 601 - len(bad)
    assert [position for position, id in enumerate(report.ids) if id is None] == sorted(bad)
    assert client.get(report.ids[598]).text == "memory 598"  # type: ignore[arg-type]


def test_others_have_a_turn_while_a_batch_of_nothing_but_bad_rows_is_refused(settings: Settings) -> None:
    async def turns() -> int:
        taken = 0

        async def take_turns() -> None:
            nonlocal taken
            while True:
                taken += 1
                await asyncio.sleep(0)

        async with AsyncRecollect(settings=settings) as client:
            await client.open()
            others = asyncio.create_task(take_turns())
            report = await client.add_many([{}] * 10 * BATCH)
            others.cancel()
        assert len(report.errors) == 10 * BATCH
        return taken

    assert asyncio.run(turns()) >= 10


def test_progress_is_reported_after_each_batch(client: Recollect) -> None:
    seen: list[tuple[int, int | None]] = []
    client.add_many([{"text": f"m {n}"} for n in range(600)], progress=lambda *step: seen.append(step))
    assert seen == [(256, 600), (512, 600), (600, 600)]


def test_a_generator_is_stored_as_it_comes(client: Recollect) -> None:
    seen: list[tuple[int, int | None]] = []
    report = client.add_many(
        ({"text": f"m {n}"} for n in range(300)), progress=lambda *step: seen.append(step)
    )
    assert report.added == len(report.ids) == 300
    assert seen == [(256, None), (300, None)]


def test_nothing_added_is_an_empty_report(client: Recollect) -> None:
    report = client.add_many([])
    assert (report.ids, report.added, report.reinforced, report.errors) == ((), 0, 0, ())


@pytest.mark.parametrize("items", ["text", b"text", {"text": "x"}, 7, None])
def test_items_that_are_no_list_are_refused(client: Recollect, items: object) -> None:
    with pytest.raises(InvalidInputError, match="items must be a list"):
        client.add_many(items)  # type: ignore[arg-type]


def test_a_source_that_breaks_keeps_what_it_gave_before(client: Recollect) -> None:
    def broken() -> object:
        yield from ({"text": f"m {n}"} for n in range(600))
        raise OSError("the source broke")

    with pytest.raises(OSError, match="the source broke"):
        client.add_many(broken())  # type: ignore[arg-type]
    assert len(client.list(limit=1000)) == 512


def test_a_shared_scope_must_exist(client: Recollect) -> None:
    with pytest.raises(ScopeNotFoundError, match="recollect scopes create team/x"):
        client.add("hello", layer="team", scope="team/x")


def test_a_repeat_whose_original_was_deleted_is_stored_anew(client: Recollect) -> None:
    first = one(client.add("now you see me"))
    client.delete(first.id, vacuum=False)
    second = one(client.add("now you see me"))
    assert second.id != first.id
    assert second.use_count == 0


def test_adding_and_deleting_the_same_text_at_once_loses_nothing(client: Recollect) -> None:
    def add(_: int) -> None:
        for _ in range(20):
            with suppress(ConflictError):  # "another caller deleted it in this moment"
                one(client.add("flicker"))

    def delete(_: int) -> None:
        for _ in range(20):
            client.delete(filters={"type": "episodic"}, vacuum=False)

    with ThreadPoolExecutor(4) as pool:
        jobs = [pool.submit(add, 0), pool.submit(delete, 0), pool.submit(add, 1), pool.submit(delete, 1)]
    for job in jobs:
        job.result()
    assert one(client.add("flicker")).text == "flicker"
    assert len(client.list()) == 1


ADD_AND_WAIT = """
import sys
from recollect import Recollect
client = Recollect(home=sys.argv[1])
memory = client.add("written in the last moment")
print(memory.id, flush=True)
import time; time.sleep(600)
"""


@pytest.fixture(scope="module")
def synced_home(new_home: Callable[[], AbstractContextManager[Path]]) -> Iterator[Path]:
    with new_home() as home:
        ensure_running(home)
        yield home


def test_a_memory_survives_a_kill_of_client_and_server_right_after_add(synced_home: Path) -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", ADD_AND_WAIT, str(synced_home)],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "RECOLLECT_EMBEDDER": "wordllama"},
    )
    assert process.stdout is not None
    memory_id = process.stdout.readline().strip()
    process.send_signal(signal.SIGKILL)
    process.wait()
    process.stdout.close()
    postmaster = int((synced_home / "postgres" / "postmaster.pid").read_text().splitlines()[0])
    os.kill(postmaster, signal.SIGKILL)
    with Recollect(settings=Settings(home=synced_home, embedder="wordllama")) as client:
        assert client.get(memory_id).text == "written in the last moment"
        assert [hit.id for hit in client.search("last moment", threshold=0)] == [client.get(memory_id).id]


def test_contexts_of_agents_and_sessions_write_where_they_stand(
    store: Recollect, tenant_id: str, as_user: Callable[..., Recollect]
) -> None:
    context = TenantContext(tenant_id=tenant_id, user_id="ana", agent_id="bot", session_id="s1")
    client = store.for_context(context)
    scopes = [one(client.add("x", layer=layer)).scope for layer in ("agent", "user", "session")]
    assert scopes == ["agent/bot", "user/ana", "session/s1"]
    with pytest.raises(InvalidInputError, match="needs a scope"):
        client.add("x", layer="project")

"""mem0's `Memory` over our store: the same signatures as the real package's class, and the same behaviour."""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from recollect import AsyncRecollect, Recollect, Settings
from recollect.contrib.mem0 import AsyncMemory, Memory
from recollect.errors import ForbiddenError, IncompatibleCallError, InvalidInputError


@pytest.fixture
def memory(client: Recollect) -> Memory:
    """The facade on the test's tenant, for its administrator."""
    return Memory(client=client)


# The real package ---------------------------------------------------------------------------------


def test_every_method_has_the_real_signature(real_mem0: Any) -> None:
    for ours, theirs in ((Memory, real_mem0.Memory), (AsyncMemory, real_mem0.AsyncMemory)):
        methods = {
            name: method
            for name, method in inspect.getmembers(theirs, callable)
            if not name.startswith("_") or name in {"__enter__", "__exit__", "__aenter__", "__aexit__"}
        }
        assert {
            "add",
            "search",
            "get",
            "get_all",
            "update",
            "delete",
            "delete_all",
            "history",
            "reset",
        } <= set(methods)
        for name, method in methods.items():
            mine = getattr(ours, name)
            assert inspect.iscoroutinefunction(mine) == inspect.iscoroutinefunction(method), name
            if not name.startswith("__"):
                assert _shape(mine) == _shape(method), f"{ours.__name__}.{name}"


def _shape(method: Any) -> list[tuple[str, Any, Any]]:
    """Names, kinds and defaults; one package's "not given" is another object than the other's."""
    return [
        (one.name, one.kind, "unset" if type(one.default) is object else one.default)
        for one in inspect.signature(method).parameters.values()
    ]


def test_a_result_has_the_keys_of_the_real_item(real_mem0: Any, memory: Memory) -> None:
    from mem0.configs.base import MemoryItem

    keys = set(MemoryItem.model_fields)
    [added] = memory.add("Ana keeps bees.", user_id="ana", infer=False)["results"]
    assert keys <= set(memory.get(added["id"]) or {})
    assert keys - {"score"} <= set(memory.get_all(filters={"user_id": "ana"})["results"][0])
    found = memory.search("Who keeps bees?", filters={"user_id": "ana"}, threshold=0)["results"][0]
    assert keys <= set(found)
    MemoryItem.model_validate(found)


def test_the_real_configuration_is_understood(real_mem0: Any, home: Path, caplog: Any) -> None:
    from mem0.configs.base import MemoryConfig

    config = MemoryConfig(history_db_path="history.db", version="v1.1")
    with caplog.at_level(logging.WARNING), Memory(config) as made:
        assert isinstance(made, Memory)
    assert "history_db_path" in caplog.text


# Adding -------------------------------------------------------------------------------------------


def test_add_takes_a_string_a_message_and_messages(memory: Memory) -> None:
    [one] = memory.add("I drink my coffee black.", user_id="ana", infer=False)["results"]
    assert one == {
        "id": one["id"],
        "memory": "I drink my coffee black.",
        "event": "ADD",
        "actor_id": None,
        "role": "user",
    }
    [two] = memory.add({"role": "user", "content": "I live in Porto."}, user_id="ana", infer=False)["results"]
    three = memory.add(
        [
            {"role": "system", "content": "You are helpful."},
            {"role": "user", "name": "Ana", "content": "Book the train."},
            {"role": "assistant", "content": [{"type": "text", "text": "It is booked."}]},
        ],
        user_id="ana",
        infer=False,
    )["results"]
    assert [(m["memory"], m["role"], m["actor_id"]) for m in three] == [
        ("Book the train.", "user", "Ana"),
        ("It is booked.", "assistant", None),
    ]
    everything = memory.get_all(filters={"user_id": "ana"})["results"]
    assert {m["id"] for m in everything} == {one["id"], two["id"], *(m["id"] for m in three)}


def test_the_same_words_twice_are_two_memories_as_in_mem0(memory: Memory) -> None:
    first = memory.add("Good morning.", user_id="ana", run_id="r1", infer=False)["results"][0]["id"]
    second = memory.add("Good morning.", user_id="ana", run_id="r2", infer=False)["results"][0]["id"]
    assert first != second
    [found] = memory.get_all(filters={"user_id": "ana", "run_id": "r2"})["results"]
    assert found["id"] == second


def test_facts_are_derived_and_carry_the_labels(memory: Memory) -> None:
    results = memory.add("I live in Porto.", user_id="ana", agent_id="guide", metadata={"topic": "home"})
    said, fact = results["results"]
    assert said["memory"] == "I live in Porto."
    assert "Porto" in fact["memory"]
    assert {said["event"], fact["event"]} == {"ADD"}
    stored = memory.get(fact["id"])
    assert stored is not None
    assert (stored["user_id"], stored["agent_id"], stored["metadata"]["topic"]) == ("ana", "guide", "home")


def test_i_is_the_user_who_is_named(memory: Memory, remote: Recollect) -> None:
    for one, user in ((memory, "ana"), (Memory(client=remote), "bo")):
        _, fact = one.add("I am allergic to nuts.", user_id=user)["results"]
        assert fact["memory"] == f"{user} is allergic to nuts"
        found = one.search("What am I allergic to?", filters={"user_id": user}, top_k=2)["results"]
        assert fact["id"] in {hit["id"] for hit in found}


def test_a_fact_that_replaces_another_says_which(memory: Memory) -> None:
    said, before = memory.add("I live in Porto.", user_id="ana")["results"]
    after = memory.add("I live in Lisbon now.", user_id="ana")["results"]
    assert [(m["event"], m["id"]) for m in after if m["event"] == "DELETE"] == [
        ("DELETE", before["id"]),
        ("DELETE", said["id"]),
    ]
    listed = {m["id"] for m in memory.get_all(filters={"user_id": "ana"})["results"]}
    assert before["id"] not in listed
    assert [entry["event"] for entry in memory.history(before["id"])] == ["ADD", "DELETE"]


def test_a_procedure_of_an_agent_is_one_memory(memory: Memory, client: Recollect) -> None:
    [made] = memory.add(
        [{"role": "user", "content": "Deploy."}, {"role": "assistant", "content": "Ran make deploy."}],
        agent_id="ops",
        memory_type="procedural_memory",
    )["results"]
    stored = client.get(made["id"])
    assert (stored.type, stored.scope) == ("procedural", "agent/ops")
    assert stored.text == "user: Deploy.\nassistant: Ran make deploy."


def test_time_metadata_and_expiry_are_kept(memory: Memory) -> None:
    until = (datetime.now(UTC) + timedelta(days=9)).date()
    [made] = memory.add(
        "The trial ends soon.",
        user_id="ana",
        metadata={"plan": "trial", "user_id": "eve"},
        timestamp=1_767_225_600,
        expiration_date=until.isoformat(),
        infer=False,
    )["results"]
    stored = memory.get(made["id"])
    assert stored is not None
    assert stored["created_at"].startswith("2026-01-01T00:00:00")
    assert stored["expiration_date"] == until.isoformat()
    assert stored["metadata"] == {"plan": "trial"}
    assert stored["user_id"] == "ana"


SENSELESS: list[tuple[Any, dict[str, Any]]] = [
    ("Hello.", {}),
    ("Hello.", {"user_id": " "}),
    ("Hello.", {"user_id": "ana maria"}),
    (42, {"user_id": "ana"}),
    (["Hello."], {"user_id": "ana"}),
    ([{"content": "Hello."}], {"user_id": "ana"}),
    ([{"role": "user", "content": [{"type": "image_url"}]}], {"user_id": "ana"}),
    ("Hello.", {"user_id": "ana", "memory_type": "episodic"}),
    ("Hello.", {"user_id": "ana", "expiration_date": "soon"}),
    ("Hello.", {"user_id": "ana", "expiration_date": 7}),
    ("Hello.", {"user_id": "ana", "timestamp": [1]}),
    ("Hello.", {"user_id": "ana", "metadata": "x"}),
]


def test_what_makes_no_sense_is_a_value_error_and_stores_nothing(memory: Memory, client: Recollect) -> None:
    for messages, given in SENSELESS:
        with pytest.raises(IncompatibleCallError) as raised:
            memory.add(messages, infer=False, **given)
        assert isinstance(raised.value, ValueError)
    assert len(client.list()) == 0


def test_a_bad_message_refuses_the_whole_call(memory: Memory, client: Recollect) -> None:
    with pytest.raises(InvalidInputError, match="message 1"):
        memory.add(
            [{"role": "user", "content": "Fine."}, {"role": "user", "content": ""}],
            user_id="ana",
            infer=False,
        )
    assert len(client.list()) == 0


# Finding ------------------------------------------------------------------------------------------


@pytest.fixture
def stocked(memory: Memory) -> dict[str, str]:
    """Memories of two users, an agent and a run, by a short name."""
    rows: dict[str, tuple[str, dict[str, Any]]] = {
        "bees": ("Ana keeps bees behind the house.", {"user_id": "ana", "metadata": {"n": 1, "kind": "pet"}}),
        "train": (
            "The train to Porto leaves at nine.",
            {"user_id": "ana", "run_id": "r1", "metadata": {"n": 2}},
        ),
        "tea": (
            "Bo drinks green tea.",
            {"user_id": "bo", "agent_id": "guide", "metadata": {"n": 3, "tags": ["x"]}},
        ),
        "rule": ("Answer in one sentence.", {"agent_id": "guide"}),
        "step": ("The build is running.", {"run_id": "r9"}),
    }
    return {
        name: memory.add(text, infer=False, **given)["results"][0]["id"]
        for name, (text, given) in rows.items()
    }


FILTERS: list[tuple[dict[str, Any], set[str]]] = [
    ({"user_id": "ana"}, {"bees", "train"}),
    ({"user_id": " ana "}, {"bees", "train"}),
    ({"user_id": "ana", "run_id": "r1"}, {"train"}),
    ({"agent_id": "guide"}, {"tea", "rule"}),
    ({"run_id": "r9"}, {"step"}),
    ({"run_id": {"in": ["r1", "r9"]}}, {"train", "step"}),
    ({"user_id": {"ne": "ana"}, "agent_id": "*"}, {"tea", "rule"}),
    ({"user_id": "*"}, {"bees", "train", "tea"}),
    ({"user_id": "*", "n": {"gte": 2}}, {"train", "tea"}),
    ({"user_id": "*", "n": {"nin": [1, 3]}}, {"train"}),
    ({"user_id": "*", "kind": "*"}, {"bees"}),
    ({"user_id": "*", "NOT": [{"kind": "pet"}, {"n": 2}]}, {"tea"}),
    ({"user_id": "*", "OR": [{"kind": "pet"}, {"tags": "x"}]}, {"bees", "tea"}),
    ({"user_id": "*", "AND": [{"n": {"gt": 1}}, {"n": {"lt": 3}}]}, {"train"}),
    ({"user_id": "nobody"}, set()),
]


def test_filters_mean_what_they_mean_in_mem0(memory: Memory, stocked: dict[str, str]) -> None:
    for filters, names in FILTERS:
        listed = {m["id"] for m in memory.get_all(filters=filters)["results"]}
        assert listed == {stocked[name] for name in names}, filters


def test_a_search_is_of_one_user_and_the_best_comes_first(memory: Memory, stocked: dict[str, str]) -> None:
    found = memory.search("When does the train leave?", filters={"user_id": "ana"}, threshold=0, explain=True)
    scores = [one["score"] for one in found["results"]]
    assert found["results"][0]["id"] == stocked["train"]
    assert found["results"][0]["run_id"] == "r1"
    assert found["results"][0]["score_details"]
    assert scores == sorted(scores, reverse=True)
    assert stocked["tea"] not in {one["id"] for one in found["results"]}
    assert len(memory.search("train", filters={"user_id": "ana"}, threshold=0, top_k=1)["results"]) == 1
    assert memory.search("train", filters={"user_id": "ana"}, top_k=0) == {"results": []}
    assert memory.search("train", filters={"user_id": "nobody"}) == {"results": []}


def test_ids_and_limit_as_older_versions_took_them_work_too(memory: Memory, stocked: dict[str, str]) -> None:
    assert len(memory.get_all(user_id="ana", limit=1)["results"]) == 1
    [found] = memory.search("train", user_id="ana", limit=1, threshold=0)["results"]
    assert found["id"] == stocked["train"]


UNASKABLE: list[dict[str, Any]] = [
    {"filters": None},
    {"filters": {"n": 1}},
    {"filters": {"user_id": "ana", "text": {"contains": "x"}}},
    {"filters": {"user_id": "ana", "AND": {}}},
    {"filters": {"user_id": "ana", "OR": ["x"]}},
    {"filters": {"user_id": {"gt": "ana"}}},
    {"filters": {"user_id": {"in": "ana"}}},
    {"filters": {"user_id": {"in": ["a"], "ne": "b"}}},
    {"filters": {"user_id": "ana"}, "top_k": -1},
    {"filters": {"user_id": "ana"}, "top_k": True},
    {"filters": {"user_id": "ana"}, "colour": "red"},
]


def test_what_can_not_be_asked_is_a_value_error(memory: Memory) -> None:
    for given in UNASKABLE:
        with pytest.raises(IncompatibleCallError):
            memory.get_all(**given)
        with pytest.raises(IncompatibleCallError):
            memory.search("bees", **given)


def test_an_empty_query_and_expired_memories_are_not_searched(memory: Memory) -> None:
    with pytest.raises(ValueError, match="query"):
        memory.search(" ", filters={"user_id": "ana"})
    with pytest.raises(ValueError, match="expired"):
        memory.search("bees", filters={"user_id": "ana"}, show_expired=True)


def test_what_has_expired_is_listed_on_request(memory: Memory, client: Recollect) -> None:
    client.add(
        "It was valid once.", scope="user/ana", created_at="2024-01-01", expires_at="2024-02-01T00:00:00Z"
    )
    assert memory.get_all(filters={"user_id": "ana"})["results"] == []
    [old] = memory.get_all(filters={"user_id": "ana"}, show_expired=True)["results"]
    assert old["expiration_date"] == "2024-01-31"


def test_memories_of_the_native_client_are_seen_and_the_other_way_round(
    memory: Memory, as_user: Callable[..., Recollect]
) -> None:
    native = as_user("ana").add("Ana rows on Sundays.", metadata={"sport": "rowing"})
    [seen] = memory.get_all(filters={"user_id": "ana"})["results"]
    assert (seen["id"], seen["user_id"], seen["metadata"]) == (str(native.id), "ana", {"sport": "rowing"})
    [made] = memory.add("Ana skis in winter.", user_id="ana", infer=False)["results"]
    assert as_user("ana").get(made["id"]).text == "Ana skis in winter."
    assert made["id"] in {str(hit.id) for hit in as_user("ana").search("Who skis?", threshold=0)}


# Changing and forgetting --------------------------------------------------------------------------


def test_update_changes_text_merges_metadata_and_is_in_the_history(memory: Memory) -> None:
    [made] = memory.add("Ana has two hives.", user_id="ana", metadata={"a": 1}, infer=False)["results"]
    done = memory.update(made["id"], "Ana has three hives.", metadata={"b": 2, "user_id": "eve"})
    assert done == {"message": "Memory updated successfully!"}
    assert memory.update(made["id"], data="Ana has four hives.") == done
    tomorrow = date.today() + timedelta(days=2)
    memory.update(made["id"], expiration_date=tomorrow)
    stored = memory.get(made["id"])
    assert stored is not None
    assert (stored["memory"], stored["metadata"], stored["user_id"]) == (
        "Ana has four hives.", {"a": 1, "b": 2}, "ana",
    )  # fmt: skip
    assert stored["expiration_date"] == tomorrow.isoformat()
    memory.update(made["id"], expiration_date=None)
    assert "expiration_date" not in (memory.get(made["id"]) or {})
    assert [(e["event"], e["old_memory"], e["new_memory"]) for e in memory.history(made["id"])] == [
        ("ADD", None, "Ana has two hives."),
        ("UPDATE", "Ana has two hives.", "Ana has three hives."),
        ("UPDATE", "Ana has three hives.", "Ana has four hives."),
    ]


def test_a_history_has_the_columns_of_the_real_one(real_mem0: Any, memory: Memory) -> None:
    from mem0.memory.storage import SQLiteManager

    kept = SQLiteManager(":memory:")
    try:
        kept.add_history("m1", None, "Hello.", "ADD")
        [theirs] = kept.get_history("m1")
    finally:
        kept.close()
    [made] = memory.add("Hello.", user_id="ana", infer=False)["results"]
    [ours] = memory.history(made["id"])
    assert set(ours) == set(theirs)
    assert {type(value) for value in ours.values()} <= {str, bool, type(None)}


def test_delete_erases_and_says_when_there_is_nothing(memory: Memory) -> None:
    [made] = memory.add("Forget me.", user_id="ana", infer=False)["results"]
    assert memory.delete(made["id"]) == {"message": "Memory deleted successfully!"}
    assert memory.get(made["id"]) is None
    assert memory.history(made["id"]) == []
    for unknown in (made["id"], str(uuid4()), "not-an-id"):
        assert memory.get(unknown) is None
        with pytest.raises(ValueError, match="no memory"):
            memory.delete(unknown)
        with pytest.raises(ValueError, match="no memory"):
            memory.update(unknown, "Text.")
    with pytest.raises(ValueError, match="at least one"):
        memory.update(unknown)


def test_delete_all_erases_what_is_named_together(memory: Memory, stocked: dict[str, str]) -> None:
    memory.delete_all(user_id="ana", run_id="r1")
    assert memory.get(stocked["train"]) is None
    assert memory.get(stocked["bees"]) is not None
    memory.delete_all(agent_id="guide")
    assert memory.get(stocked["tea"]) is None
    assert memory.delete_all(user_id="nobody") == {"message": "Memories deleted successfully!"}
    with pytest.raises(ValueError, match="at least one"):
        memory.delete_all()


def test_reset_leaves_what_teams_share(memory: Memory, client: Recollect, stocked: dict[str, str]) -> None:
    client.scopes.create("team/api")
    shared = client.add("The API is versioned.", scope="team/api")
    memory.reset()
    assert [one.id for one in client.list()] == [shared.id]


# Whose store --------------------------------------------------------------------------------------


def test_a_user_reaches_nobody_elses_memories(as_user: Callable[..., Recollect], memory: Memory) -> None:
    ana = Memory(client=as_user("ana"))
    ana.add("Ana keeps bees.", user_id="ana", infer=False)
    [of_bo] = memory.add("Bo drinks tea.", user_id="bo", infer=False)["results"]
    assert ana.get_all(filters={"user_id": "bo"})["results"] == []
    assert ana.get(of_bo["id"]) is None
    with pytest.raises(ForbiddenError):
        ana.add("I am Bo.", user_id="bo", infer=False)
    ana.reset()
    assert memory.get(of_bo["id"]) is not None


def test_a_configuration_names_the_store(settings: Settings, caplog: Any) -> None:
    section = {"home": str(settings.home), "embedder": "wordllama"}
    if settings.database_url:
        section["database_url"] = settings.database_url
    user = f"u-{uuid4().hex[:8]}"
    with (
        caplog.at_level(logging.WARNING),
        Memory.from_config({"llm": {"provider": "openai"}, "recollect": section}) as made,
    ):
        [added] = made.add("Hello.", user_id=user, infer=False)["results"]
        assert made.get(added["id"]) is not None
        made.delete_all(user_id=user)
    assert "llm" in caplog.text
    for bad in ({"stores": {}}, {"recollect": 7}, 7):
        with pytest.raises(ValueError, match="configuration"):
            Memory.from_config(bad)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="not both"):
        Memory({"recollect": section}, client=object())  # type: ignore[arg-type]


def test_the_asynchronous_face_does_the_same(settings: Settings, tenant_id: str) -> None:
    from recollect import TenantContext

    async def play() -> None:
        async with AsyncRecollect(
            settings=settings, context=TenantContext(tenant_id=tenant_id, user_id="root", roles=("admin",))
        ) as client:
            async with AsyncMemory(client=client) as memory:
                results = (await memory.add("I live in Porto.", user_id="ana"))["results"]
                found = await memory.search("Where does Ana live?", filters={"user_id": "ana"}, threshold=0)
                assert found["results"][0]["id"] in {one["id"] for one in results}
                await memory.update(results[0]["id"], text="I live in Lisbon.")
                assert len(await memory.history(results[0]["id"])) == 2
                with pytest.raises(IncompatibleCallError, match="mem0 has no chat either"):
                    await memory.chat("Hello?")
                await memory.reset()
                assert await memory.get_all(filters={"user_id": "ana"}) == {"results": []}
            assert (await client.list()).items == ()  # a client that was given stays open

    asyncio.run(play())


def test_an_asynchronous_memory_closes_what_it_opened(settings: Settings) -> None:
    section = {"home": str(settings.home), "embedder": "wordllama"}
    if settings.database_url:
        section["database_url"] = settings.database_url

    async def play() -> None:
        async with AsyncMemory.from_config({"recollect": section}) as memory:
            assert await memory.get_all(filters={"user_id": f"u-{uuid4().hex[:8]}"}) == {"results": []}
        with pytest.raises(Exception, match="closed"):
            await memory.get_all(filters={"user_id": "ana"})

    asyncio.run(play())


def test_it_works_on_a_server_too(remote: Recollect, remote_of: Callable[..., Recollect]) -> None:
    memory = Memory(client=remote)
    results = memory.add("I live in Porto.", user_id="ana", run_id="r1", metadata={"n": 1})["results"]
    assert [one["event"] for one in results] == ["ADD", "ADD"]
    assert {one["id"] for one in memory.get_all(filters={"run_id": "r1"})["results"]} == {
        one["id"] for one in results
    }
    [found] = memory.search("Where does Ana live?", filters={"user_id": "ana"}, top_k=1, threshold=0)[
        "results"
    ]
    assert found["user_id"] == "ana"
    memory.update(found["id"], metadata={"m": 2})
    assert (memory.get(found["id"]) or {})["metadata"]["m"] == 2
    assert memory.history(found["id"])[0]["event"] == "ADD"
    own = Memory(client=remote_of("ana"))
    assert own.get(found["id"]) is not None
    other = Memory(client=remote_of("bo"))
    assert other.get(found["id"]) is None
    assert other.search("Where does Ana live?", filters={"user_id": "ana"}, threshold=0) == {"results": []}
    with pytest.raises(ForbiddenError):
        other.add("I am Ana.", user_id="ana")
    memory.delete_all(user_id="ana")
    assert own.get_all(filters={"user_id": "ana"}) == {"results": []}


# Updates, without a model ---------------------------------------------------------------------------

#: What was said, what was said later, what is asked, and what only the newer answer has.
UPDATES = [
    ("I live in Berlin.", "I moved to Lisbon last week.", "Where do I live?", "Lisbon", "Berlin"),
    ("My favourite colour is blue.", "Actually, my favourite colour is green now.",
     "What is my favourite colour?", "green", "blue"),
    ("I work at Acme.", "I started at Initech on Monday.", "Where do I work?", "Initech", "Acme"),
    ("My phone number is 555-1234.", "My new phone number is 555-9876.", "What is my phone number?", "9876", "1234"),
]  # fmt: skip


@pytest.mark.parametrize(("before", "later", "question", "holds", "gone"), UPDATES)
def test_what_is_said_anew_takes_the_place_of_what_was_said(
    memory: Memory, before: str, later: str, question: str, holds: str, gone: str
) -> None:
    [said, *_] = memory.add(before, user_id="ana")["results"]
    told = memory.add(
        [{"role": "user", "content": later}, {"role": "assistant", "content": "Noted."}], user_id="ana"
    )
    assert {item["memory"] for item in told["results"] if item["event"] == "DELETE"} >= {before}
    found = [item["memory"] for item in memory.search(question, user_id="ana")["results"]]
    assert holds in found[0]
    assert not any(gone in text for text in found)
    assert [entry["event"] for entry in memory.history(said["id"])] == ["ADD", "DELETE"]
    memory._client.restore(said["id"])
    assert before in [item["memory"] for item in memory.get_all(user_id="ana")["results"]]


def test_what_says_more_than_was_updated_is_kept(memory: Memory) -> None:
    memory.add("I am allergic to nuts, and I live in Porto.", user_id="ana")
    memory.add("I moved to Lisbon.", user_id="ana")
    kept = [item["memory"] for item in memory.get_all(user_id="ana")["results"]]
    assert "I am allergic to nuts, and I live in Porto." in kept
    assert "ana lives in Porto" not in kept
    assert "ana is allergic to nuts" in kept


def test_a_chat_gives_its_facts(memory: Memory) -> None:
    chat = [
        {"role": "user", "content": "Hi! I'm Alex and I live in Toronto."},
        {"role": "assistant", "content": "Nice to meet you, Alex. What do you do?"},
        {"role": "user", "content": "I'm a nurse at St. Mary's hospital, mostly night shifts."},
        {"role": "assistant", "content": "That sounds demanding. Any hobbies?"},
        {"role": "user", "content": "I play the cello, and I have two cats called Miso and Tofu. "
                                    "I'm allergic to penicillin."},
        {"role": "assistant", "content": "Got it, I'll remember that."},
    ]  # fmt: skip
    told = memory.add(chat, user_id="alex")["results"]
    assert [item["memory"] for item in told[len(chat) :]] == [
        "alex lives in Toronto",
        "alex is called Alex",
        "alex is a nurse",
        "alex plays the cello",
        "alex has two cats called Miso and Tofu",
        "alex is allergic to penicillin",
    ]

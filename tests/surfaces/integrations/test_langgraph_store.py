"""A LangGraph store on ours: the contract of the real `BaseStore`, in real graphs, here and through a server."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any, TypedDict

import pytest
from langgraph.graph import END, START, StateGraph
from langgraph.store.base import (
    BaseStore,
    GetOp,
    InvalidNamespaceError,
    ListNamespacesOp,
    MatchCondition,
    PutOp,
    SearchOp,
)
from langgraph.store.memory import InMemoryStore

from recollect import AsyncRecollect, Recollect, Settings, TenantContext
from recollect.contrib.langgraph import RecollectStore
from recollect.contrib.langgraph_items import refreshed, text_of
from recollect.errors import InvalidFilterError, InvalidInputError


@pytest.fixture
def shelf(client: Recollect) -> RecollectStore:
    """The store under test, of the test's administrator."""
    return RecollectStore(client)


# As LangGraph's own -------------------------------------------------------------------------------

ITEMS: list[tuple[tuple[str, ...], str, dict[str, Any]]] = [
    (("users", "ana"), "prefs", {"theme": "dark", "stars": 4, "open": True}),
    (("users", "ana", "notes"), "n1", {"text": "The train leaves at nine.", "tags": ["travel", "train"]}),
    (("users", "bo"), "prefs", {"theme": "light", "stars": 2, "nested": {"lang": "en", "n": 1}}),
    (("docs", "v1"), "a", {"theme": "dark", "stars": 3}),
    (("docs", "v1"), "b", {"theme": "dark", "stars": 3}),
    (("docs", "v2"), "a", {"note": None}),
]


@pytest.fixture
def both(shelf: RecollectStore) -> tuple[BaseStore, BaseStore]:
    """Ours and LangGraph's own, with the same items."""
    theirs = InMemoryStore()
    for one in (shelf, theirs):
        one.batch([PutOp(namespace, key, value) for namespace, key, value in ITEMS])
    return shelf, theirs


def plain(found: Any) -> list[Any]:
    return sorted((item.namespace, item.key, json.dumps(item.value, sort_keys=True)) for item in found)


SEARCHES: list[tuple[tuple[str, ...], dict[str, Any] | None]] = [
    ((), None),
    (("users",), None),
    (("users", "ana"), None),
    (("users", "an"), None),
    (("nobody",), None),
    ((), {"theme": "dark"}),
    ((), {"theme": {"$eq": "dark"}, "stars": {"$gte": 3}}),
    (("docs",), {"theme": {"$ne": "dark"}}),
    (("docs", "v1"), {"stars": {"$lt": 3.5}}),
    (("users", "bo"), {"nested": {"lang": "en"}}),
    ((), {"tags": ["travel", "train"]}),
    ((), {"open": True}),
]
NAMESPACES: list[dict[str, Any]] = [
    {},
    {"prefix": ("users",)},
    {"suffix": ("v1",)},
    {"prefix": ("users", "*", "notes")},
    {"suffix": ("*", "notes"), "prefix": ("users",)},
    {"max_depth": 1},
    {"max_depth": 2, "limit": 2, "offset": 1},
    {"prefix": ("nobody",)},
]


def test_searches_and_namespaces_are_those_of_langgraphs_own_store(both: tuple[BaseStore, BaseStore]) -> None:
    ours, theirs = both
    for prefix, filter in SEARCHES:
        found, expected = ours.search(prefix, filter=filter), theirs.search(prefix, filter=filter)
        assert plain(found) == plain(expected), (prefix, filter)
    for given in NAMESPACES:
        assert ours.list_namespaces(**given) == theirs.list_namespaces(**given), given


def test_a_batch_answers_in_order_and_reads_what_was_there_before(
    both: tuple[BaseStore, BaseStore],
) -> None:
    place = ("users", "ana")
    ops = [
        PutOp(place, "new", {"n": 1}),
        GetOp(place, "new"),
        GetOp(place, "prefs"),
        PutOp(place, "new", {"n": 2}),
        SearchOp(place, filter={"theme": "dark"}),
        ListNamespacesOp(match_conditions=(MatchCondition("prefix", ("users",)),)),
        PutOp(place, "prefs", None),
        GetOp(("nobody",), "x"),
    ]
    told = []
    for one in both:
        results = one.batch(ops)
        told.append(
            [
                plain([each] if hasattr(each, "key") else each) if each and not _names(each) else each
                for each in results
            ]
        )
        assert one.get(place, "prefs") is None
        assert one.get(place, "new").value == {"n": 2}  # type: ignore[union-attr]
    assert told[0] == told[1]


def _names(found: Any) -> bool:
    return isinstance(found, list) and isinstance(found[0], tuple)


# Items --------------------------------------------------------------------------------------------


def test_an_item_is_replaced_under_its_key_and_keeps_its_beginning(
    shelf: RecollectStore, client: Recollect
) -> None:
    place = ("users", "ana")
    shelf.put(place, "prefs", {"theme": "dark"})
    first = shelf.get(place, "prefs")
    shelf.put(place, "prefs", {"theme": "light", "deep": {"list": [1, None, "ü"]}})
    second = shelf.get(place, "prefs")
    assert first is not None
    assert second is not None
    assert second.value == {"theme": "light", "deep": {"list": [1, None, "ü"]}}
    assert second.created_at == first.created_at
    assert second.updated_at > first.updated_at
    assert len(client.list()) == 1
    [memory] = client.list()
    assert [entry.event for entry in client.history(memory.id)] == ["added", "updated"]
    shelf.delete(place, "prefs")
    assert shelf.get(place, "prefs") is None
    assert len(client.list(include_superseded=True)) == 0
    shelf.delete(place, "prefs")  # gone already


def test_equal_values_under_two_keys_are_two_items(shelf: RecollectStore) -> None:
    shelf.put(("a",), "1", {"text": "The same."})
    shelf.put(("a",), "2", {"text": "The same."})
    shelf.put(("b",), "1", {"text": "The same."})
    assert {item.key for item in shelf.search(("a",))} == {"1", "2"}
    shelf.delete(("a",), "1")
    assert shelf.get(("a",), "2") is not None
    assert shelf.get(("b",), "1") is not None


def test_a_query_ranks_items_and_pages_through_them(shelf: RecollectStore) -> None:
    place = ("memories", "ana")
    shelf.put(place, "pizza", {"text": "Ana likes pizza with olives."})
    shelf.put(place, "train", {"text": "The train to Porto leaves at nine."})
    shelf.put(place, "hidden", {"text": "The train is never found by words."}, index=False)
    shelf.put(("memories", "bo"), "train", {"text": "Bo takes the train, too."})
    found = shelf.search(place, query="When does the train leave?")
    assert found[0].key == "train"
    assert found[0].score is not None
    assert [item.score for item in found] == sorted((item.score for item in found), reverse=True)  # type: ignore[type-var]
    assert {item.key for item in found} == {"pizza", "train"}
    assert {item.namespace for item in found} == {place}
    assert [item.key for item in shelf.search(place, query="train", limit=1, offset=1)] == ["pizza"]
    assert shelf.search(place, query="train", limit=0) == []
    assert {item.key for item in shelf.search(place)} == {"pizza", "train", "hidden"}
    assert shelf.search(place, query="train", filter={"text": "nothing"}) == []


def test_only_the_fields_that_are_named_are_searched(client: Recollect) -> None:
    store = RecollectStore(client, fields=["title", "facts[*].content"])
    store.put(("a",), "1", {"title": "Bees", "secret": "xylophone", "facts": [{"content": "Hives"}]})
    store.put(("a",), "2", {"title": "Tea", "body": "Kettles"}, index=["body"])
    store.put(("a",), "3", {"body": "No field that is searched."})
    texts = {memory.metadata["langgraph"]["key"]: memory.text for memory in client.list()}
    assert texts == {"1": "Bees\nHives", "2": "Kettles", "3": "3"}


def test_what_a_value_says_is_its_text() -> None:
    assert text_of({"text": "Just this."}) == "Just this."
    assert text_of({"a": 1, "b": ["x", {"c": True}], "d": None, "e": " "}) == "a: 1\nb: x\nc: true\nd: null"
    assert text_of({}) == ""


def test_items_without_words_can_be_kept(shelf: RecollectStore) -> None:
    shelf.put(("a",), "empty", {})
    assert shelf.get(("a",), "empty").value == {}  # type: ignore[union-attr]


def test_a_bad_item_refuses_the_whole_batch(shelf: RecollectStore, client: Recollect) -> None:
    fine = PutOp(("a",), "fine", {"n": 1})
    for bad in (
        PutOp(("a",), "big", {"text": "x" * 100_000}),
        PutOp(("a",), "no", {"when": datetime.now(UTC)}),
        PutOp(("a",), "no", {"n": float("nan")}),
        PutOp((), "no", {"n": 1}),
        PutOp(("a",), "no", {"n": 1}, ttl=-1),
        PutOp(("a",), "no", {"n": 1}, ttl=1e300),
    ):
        with pytest.raises(InvalidInputError):
            shelf.batch([fine, bad])
    assert len(client.list()) == 0
    with pytest.raises(InvalidNamespaceError):
        shelf.put(("a.b",), "k", {"n": 1})
    with pytest.raises(InvalidFilterError, match=r"\$regex"):
        shelf.search(("a",), filter={"n": {"$regex": "x"}})
    with pytest.raises(InvalidFilterError, match="dot"):
        shelf.search(("a",), filter={"a.b": 1})
    with pytest.raises(InvalidInputError, match="fields"):
        RecollectStore(client, fields="text")
    with pytest.raises(InvalidInputError, match="scope"):
        RecollectStore(client, scope="nowhere")


# Time ---------------------------------------------------------------------------------------------


def test_an_item_ends_after_its_time_and_reading_moves_the_end(
    shelf: RecollectStore, client: Recollect
) -> None:
    place = ("a",)
    shelf.put(place, "k", {"text": "Short-lived."}, ttl=60)
    [memory] = client.list()
    assert memory.expires_at is not None
    soon = datetime.now(UTC) + timedelta(minutes=5)
    client.update(memory.id, expires_at=soon)
    shelf.get(place, "k", refresh_ttl=False)
    assert client.get(memory.id).expires_at == soon
    shelf.search(place, query="short", refresh_ttl=False)
    assert client.get(memory.id).expires_at == soon
    shelf.get(place, "k")
    moved = client.get(memory.id).expires_at
    assert moved is not None
    assert moved > soon + timedelta(minutes=50)
    client.update(memory.id, expires_at=soon)
    shelf.search(place)
    assert client.get(memory.id).expires_at > soon  # type: ignore[operator]
    client.update(
        memory.id, metadata=memory.metadata, expires_at=memory.created_at + timedelta(microseconds=1)
    )
    assert shelf.get(place, "k") is None
    shelf.put(place, "k", {"text": "Once more."})
    assert shelf.get(place, "k").value == {"text": "Once more."}  # type: ignore[union-attr]


def test_the_stores_own_configuration_says_how_long_items_live(client: Recollect) -> None:
    store = RecollectStore(client, ttl={"default_ttl": 60, "refresh_on_read": False})
    store.put(("a",), "k", {"n": 1})
    store.put(("a",), "for ever", {"n": 1}, ttl=None)
    ends = {memory.metadata["langgraph"]["key"]: memory.expires_at for memory in client.list()}
    assert ends["for ever"] is None
    assert ends["k"] is not None


def test_an_end_moves_only_when_it_would_move_far() -> None:
    now = datetime(2026, 1, 1, tzinfo=UTC)
    item = {"langgraph": {"ttl_minutes": 100}}
    assert refreshed(item, now + timedelta(minutes=99), now) is None
    assert refreshed(item, now + timedelta(minutes=90), now) == now + timedelta(minutes=100)
    assert refreshed({"langgraph": {}}, None, now) is None


# Whose --------------------------------------------------------------------------------------------


def test_stores_of_two_users_are_two_stores(as_user: Callable[..., Recollect], client: Recollect) -> None:
    ana, bo = RecollectStore(as_user("ana")), RecollectStore(as_user("bo"))
    ana.put(("a",), "k", {"of": "ana"})
    bo.put(("a",), "k", {"of": "bo"})
    assert ana.get(("a",), "k").value == {"of": "ana"}  # type: ignore[union-attr]
    assert [item.value for item in bo.search(())] == [{"of": "bo"}]
    assert RecollectStore(client).search(()) == []  # an admin sees both, and has a store of its own
    assert RecollectStore(client, scope="user/ana").get(("a",), "k").value == {"of": "ana"}  # type: ignore[union-attr]


def test_a_scope_may_be_shared_or_follow_the_namespace(
    client: Recollect, as_user: Callable[..., Recollect]
) -> None:
    client.scopes.create("team/api")
    client.members.add("ana", "team/api")
    RecollectStore(client, scope="team/api").put(("a",), "k", {"n": 1})
    assert RecollectStore(as_user("ana"), scope="team/api").get(("a",), "k") is not None
    by_user = RecollectStore(client, scope=lambda place: f"user/{place[1]}" if place[0] == "users" else None)
    by_user.put(("users", "ana"), "k", {"of": "ana"})
    by_user.put(("other",), "k", {"of": "root"})
    assert {memory.scope for memory in client.list(layers=["user"])} == {"user/ana", "user/root"}
    assert by_user.get(("users", "ana"), "k").value == {"of": "ana"}  # type: ignore[union-attr]
    assert plain(by_user.search(("users",))) == [(("users", "ana"), "k", '{"of": "ana"}')]


def test_memories_that_are_no_items_stay_out_of_sight(shelf: RecollectStore, client: Recollect) -> None:
    client.add("A memory of my own.", metadata={"langgraph": "a word"})
    shelf.put(("a",), "k", {"text": "An item."})
    assert [item.key for item in shelf.search(())] == ["k"]
    assert shelf.list_namespaces() == [("a",)]
    assert [item.key for item in shelf.search((), query="memory")] == ["k"]
    assert "An item." in {hit.text for hit in client.search("item", threshold=0)}


def test_two_writers_of_one_key_leave_one_item(shelf: RecollectStore, client: Recollect) -> None:
    shelf.put(("a",), "k", {"n": 1})
    [memory] = client.list()
    client.add([{"role": "user", "content": "2"}], source=memory.source, metadata=memory.metadata)
    assert shelf.get(("a",), "k") is not None
    shelf.put(("a",), "k", {"n": 3})
    assert [item.value for item in shelf.search(("a",))] == [{"n": 3}]


# In graphs ----------------------------------------------------------------------------------------


class State(TypedDict):
    """What goes through the graph."""

    user: str
    said: str
    known: list[str]


def test_a_graph_remembers_from_one_run_to_the_next(shelf: RecollectStore) -> None:
    def recall(state: State, *, store: BaseStore) -> dict[str, Any]:
        found = store.search(("memories", state["user"]), query=state["said"], limit=3)
        return {"known": [item.value["text"] for item in found]}

    def remember(state: State, *, store: BaseStore) -> dict[str, Any]:
        place = ("memories", state["user"])
        store.put(place, str(len(store.search(place, limit=100))), {"text": state["said"]})
        return {}

    graph = _graph(recall, remember).compile(store=shelf)
    first = graph.invoke({"user": "ana", "said": "I keep bees behind the house.", "known": []})
    assert first["known"] == []
    graph.invoke({"user": "bo", "said": "I drink green tea.", "known": []})
    again = graph.invoke({"user": "ana", "said": "Who keeps bees?", "known": []})
    assert again["known"] == ["I keep bees behind the house."]


def test_an_asynchronous_graph_works_on_either_client(
    shelf: RecollectStore, settings: Settings, tenant_id: str
) -> None:
    async def remember(state: State, *, store: BaseStore) -> dict[str, Any]:
        await store.aput(("m", state["user"]), "k", {"text": state["said"]})
        return {}

    async def recall(state: State, *, store: BaseStore) -> dict[str, Any]:
        found = await store.asearch(("m", state["user"]), query="bees")
        item = await store.aget(("m", state["user"]), "k")
        assert item is not None
        return {"known": [one.value["text"] for one in found]}

    async def play(on: BaseStore) -> None:
        graph = _graph(remember, recall).compile(store=on)
        ended = await graph.ainvoke({"user": "ana", "said": "I keep bees.", "known": []})
        assert ended["known"] == ["I keep bees."]
        assert await on.alist_namespaces() == [("m", "ana")]
        await on.adelete(("m", "ana"), "k")
        assert await on.asearch(()) == []

    async def play_asynchronously() -> None:
        context = TenantContext(tenant_id=tenant_id, user_id="eve")
        async with AsyncRecollect(settings=settings, context=context) as client:
            await play(RecollectStore(client))
            with pytest.raises(InvalidInputError, match="AsyncRecollect"):
                RecollectStore(client).get(("m",), "k")

    asyncio.run(play(shelf))
    asyncio.run(play_asynchronously())


def _graph(*nodes: Callable[..., Any]) -> StateGraph[State]:
    graph = StateGraph(State)
    names = [node.__name__ for node in nodes]
    for name, node in zip(names, nodes, strict=True):
        graph.add_node(name, node)
    for before, after in zip([START, *names], [*names, END], strict=True):
        graph.add_edge(before, after)
    return graph


def test_it_works_on_a_server_too(
    remote_of: Callable[..., Recollect], as_user: Callable[..., Recollect]
) -> None:
    store = RecollectStore(remote_of("ana"))
    store.put(("a", "b"), "k", {"text": "The train leaves at nine.", "n": 1}, ttl=60)
    store.put(("a", "b"), "k", {"text": "The train leaves at ten.", "n": 2}, ttl=60)
    store.put(("a", "c"), "k", {"text": "Tea."})
    assert store.get(("a", "b"), "k").value["n"] == 2  # type: ignore[union-attr]
    assert [item.value["n"] for item in store.search(("a",), filter={"n": {"$gt": 1}})] == [2]
    assert store.search(("a",), query="When does the train leave?")[0].namespace == ("a", "b")
    assert store.list_namespaces(prefix=("a",)) == [("a", "b"), ("a", "c")]
    store.delete(("a", "b"), "k")
    assert store.get(("a", "b"), "k") is None
    near = RecollectStore(as_user("ana"))
    assert near.get(("a", "c"), "k").value == {"text": "Tea."}  # type: ignore[union-attr]

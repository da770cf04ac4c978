"""What is kept of searches for whoever looks after a tenant, how memories are counted, and what is named together."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from recollect import Recollect
from recollect.errors import ForbiddenError, InvalidInputError, NotFoundError

AsUser = Callable[..., Recollect]


def test_a_search_leaves_a_trace_without_its_words(as_user: AsUser, client: Recollect) -> None:
    ana = as_user("ana")
    ana.add("The kiln is hot on Tuesdays.")
    results = ana.search("When is the kiln hot?")
    [trace] = client.traces.list()
    assert (trace.id, trace.user, trace.question, trace.hits) == (results.query_id, "ana", None, 1)
    assert trace.stages["total"] == pytest.approx(trace.latency_ms, rel=0.01)
    assert len(trace.stages) > 2
    assert [hit.memory_id for hit in client.traces.get(trace.id).returned] == [results[0].id]


def test_a_tenant_that_keeps_questions_has_their_words_until_it_drops_them(client: Recollect) -> None:
    client.add("The kiln is hot on Tuesdays.")
    assert client.tenants.set_traces(keep_questions=True).keep_questions
    client.search("When is the kiln hot?")
    assert [trace.question for trace in client.traces.list()] == ["When is the kiln hot?"]
    client.tenants.set_traces(keep_questions=False)
    assert [trace.question for trace in client.traces.list()] == [None]


def test_what_was_asked_goes_with_the_memory_that_was_found(client: Recollect) -> None:
    client.tenants.set_traces(keep_questions=True)
    secret, other = client.add("The door code is 4711."), client.add("The kiln is hot on Tuesdays.")
    client.search("Is the door code 4711?")
    client.search("When is the kiln hot?")
    client.delete(secret.id)
    assert [trace.question for trace in client.traces.list()] == ["When is the kiln hot?", None]
    assert client.get(other.id)


def test_searches_are_between_whoever_asks_and_the_admin(as_user: AsUser, client: Recollect) -> None:
    as_user("ana").add("The kiln is hot on Tuesdays.")
    as_user("ana").search("When is the kiln hot?")
    [trace] = client.traces.list(user="ana")
    assert client.traces.list(user="ben") == []
    assert as_user("ben").traces.list() == []
    with pytest.raises(NotFoundError):
        as_user("ben").traces.get(trace.id)
    with pytest.raises(ForbiddenError):
        as_user("ana").tenants.set_traces(keep_questions=True)


def test_searches_that_found_nothing_can_be_listed_alone(client: Recollect) -> None:
    client.add("The kiln is hot on Tuesdays.")
    found = client.search("When is the kiln hot?")
    silent = client.search("What is the capital of Peru?")
    assert [trace.id for trace in client.traces.list(found=False)] == [silent.query_id]
    assert [trace.id for trace in client.traces.list(found=True)] == [found.query_id]


def test_searches_are_found_by_their_words_by_what_came_of_them_and_by_how_long_they_took(
    client: Recollect,
) -> None:
    client.tenants.set_traces(keep_questions=True)
    kiln, glaze = client.add("The kiln is hot on Tuesdays."), client.add("Glaze dries in two hours.")
    hot = client.search("When is the kiln hot?")
    dry = client.search("How long does 100% glaze_ dry?")
    client.feedback(kiln.id, "helpful", query_id=hot.query_id)
    assert [one.id for one in client.traces.list(text="KILN")] == [hot.query_id]
    assert [one.id for one in client.traces.list(text="100% glaze_")] == [dry.query_id]
    assert client.traces.list(text="k_ln") == []
    assert [one.id for one in client.traces.list(outcome="feedback")] == [hot.query_id]
    slower = max(client.traces.list(), key=lambda one: one.latency_ms)
    assert slower.id in {one.id for one in client.traces.list(min_ms=int(slower.latency_ms))}
    assert client.traces.list(min_ms=3_600_000) == []
    assert client.get(glaze.id)
    with pytest.raises(InvalidInputError, match="no outcome 'lost'; there are ignored"):
        client.traces.list(outcome="lost")


def test_counts_are_of_what_the_pages_show(client: Recollect) -> None:
    old = client.add("The kiln is hot on Tuesdays.", created_at="2024-05-01T10:00:00Z")
    client.add("Glaze dries in two hours.", type="semantic")
    client.add("Plates are sold on Fridays.", conversation="market", speaker="Ana")
    assert client.count() == 3
    assert client.count(types=["semantic"]) == 1
    assert client.count(conversation="market") == 1
    assert client.count(filters={"created_at": {"$lt": "2025-01-01T00:00:00Z"}}) == 1
    client.supersede(old.id, by=client.add("The kiln is hot on Mondays.").id)
    assert (client.count(), client.count(include_superseded=True)) == (3, 4)


def test_pages_turn_from_the_oldest_on_too(client: Recollect) -> None:
    texts = [f"Plate number {number} is glazed." for number in range(5)]
    for number, text in enumerate(texts):
        client.add(text, created_at=f"2024-05-0{number + 1}T10:00:00Z")
    first = client.list(order="oldest", limit=3)
    rest = client.list(order="oldest", limit=3, cursor=first.next_cursor)
    assert [memory.text for memory in (*first, *rest)] == texts
    with pytest.raises(InvalidInputError, match="order"):
        client.list(order="sideways")


def test_what_is_named_together_is_linked(client: Recollect) -> None:
    client.add("Acme signed with Imke Brandt.", entities=["Acme", "Imke Brandt"])
    client.add("Imke Brandt called Acme about the invoice.", entities=["Acme", "Imke Brandt"])
    client.add("Bolt asked Acme for a quote.", entities=["Acme", "Bolt"])
    client.add("Zenith has nothing to do with it.", entities=["Zenith"])
    graph = client.entities.graph("acme")
    assert graph.centre == "acme"
    assert graph.entities[0].name == "Acme"
    linked = {(link.source, link.target): link.memories for link in graph.links}
    assert linked["acme", "imke brandt"] == 2
    assert linked["acme", "bolt"] == 1
    assert "zenith" not in {entity.key for entity in graph.entities}
    assert "zenith" in {entity.key for entity in client.entities.graph().entities}
    with pytest.raises(NotFoundError):
        client.entities.graph("nobody at all")


def test_a_graph_shows_nothing_of_what_one_may_not_see(as_user: AsUser) -> None:
    as_user("ana").add("Acme signed with Imke Brandt.", entities=["Acme", "Imke Brandt"])
    assert as_user("ben").entities.graph().entities == ()
    with pytest.raises(NotFoundError):
        as_user("ben").entities.graph("Acme")

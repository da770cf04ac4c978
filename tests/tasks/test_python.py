"""What a new user does in Python."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from recollect import Recollect
from recollect.errors import NotFoundError
from recollect.providers.tokens import count_tokens

AsUser = Callable[..., Recollect]


def test_chat(client: Recollect) -> None:
    """Store a chat of six turns, and get its facts without a model."""
    said = client.add(
        [
            {"role": "user", "content": "Hi, I'm Dana and I'm a nurse."},
            {"role": "assistant", "content": "Nice to meet you! What brings you here?"},
            {"role": "user", "content": "I'm planning a trip to Japan in April with my sister Mia."},
            {"role": "assistant", "content": "Any food preferences?"},
            {"role": "user", "content": "I'm vegetarian, and Mia is allergic to peanuts."},
            {"role": "user", "content": "I moved to York last month."},
        ],
        infer=True,
    )
    facts = " ".join(fact.text for fact in said.facts)  # type: ignore[union-attr]
    for word in ("Dana", "nurse", "Japan", "Mia", "vegetarian", "peanuts", "York"):
        assert word in facts


def test_two_users(as_user: AsUser) -> None:
    """Keep two users apart: neither finds what the other said."""
    kept = as_user("ana").add("My PIN is 4711.")
    assert as_user("ben").search("What is the PIN?").hits == ()
    with pytest.raises(NotFoundError):
        as_user("ben").get(kept.id)


def test_team(client: Recollect, as_user: AsUser) -> None:
    """Share something with a team, and with nobody else."""
    client.scopes.create("team/api")
    client.members.add("ana", "team/api")
    as_user("ana").add("The staging database is called heron.", scope="team/api")
    client.members.add("ben", "team/api")
    question = "What is the staging database called?"
    assert "heron" in as_user("ben").search(question)[0].text
    assert as_user("eve").search(question).hits == ()


def test_past(client: Recollect) -> None:
    """Ask what was believed at an earlier time."""
    client.add("Ana works at Initech.", type="semantic", created_at="2024-01-10T09:00:00Z")
    client.add("Ana works at Globex.", type="semantic", created_at="2025-06-01T09:00:00Z")
    assert "Globex" in client.search("Where does Ana work?")[0].text
    assert "Initech" in client.search("Where does Ana work?", as_of="2024-12-01T00:00:00Z")[0].text


def test_filters(client: Recollect) -> None:
    """Search among what has a label, or was learned in some days."""
    client.add("The box of order 17 was wet.", metadata={"ticket": 17}, created_at="2026-02-01T10:00:00Z")
    client.add("The box of order 18 was wet.", metadata={"ticket": 18}, created_at="2026-03-01T10:00:00Z")
    assert [
        hit.metadata["ticket"] for hit in client.search("Which box was wet?", filters={"ticket": 18})
    ] == [18]
    early = {"created_at": {"$lt": "2026-02-15T00:00:00Z"}}
    assert [hit.metadata["ticket"] for hit in client.search("Which box was wet?", filters=early)] == [17]


def test_context(client: Recollect) -> None:
    """Get what is known as text for a prompt, within a number of tokens."""
    for number in range(20):
        client.add(f"Parcel {number} for Ana was delivered to the red house number {number}.")
    context = client.context("Where were Ana's parcels delivered?", max_tokens=120)
    assert "red house" in context.text
    assert count_tokens(context.text) <= 120


def test_feedback(client: Recollect) -> None:
    """Say that an answer helped, and see that it counts."""
    client.add("The kiln is hot on Tuesdays.")
    results = client.search("When is the kiln hot?")
    client.feedback(results[0].id, "helpful", query_id=results.query_id)
    assert client.learning.status().feedback == {"helpful": 1}


def test_forget_user(client: Recollect, as_user: AsUser) -> None:
    """Erase a user with everything of theirs, and get a receipt."""
    as_user("ana").add("My PIN is 4711.")
    receipt = client.forget_user("ana")
    assert receipt.memories == 1
    assert client.count(include_superseded=True) == 0


def test_notebook(client: Recollect) -> None:
    """See results as a table in a notebook, and as a DataFrame."""
    client.add("The kiln is hot on Tuesdays.")
    results = client.search("When is the kiln hot?")
    assert "<table" in results._repr_html_()
    assert list(results.to_pandas()["text"]) == ["The kiln is hot on Tuesdays."]


def test_summary(client: Recollect) -> None:
    """Sum a long conversation up, and find the summary's sources."""
    talk = [
        {"speaker": "Ana", "content": f"On day {day} the kiln reached {1_000 + day} degrees."}
        for day in range(12)
    ]
    client.add(talk, conversation="kiln log")
    assert client.consolidate(conversation="kiln log").made == 1
    [summary] = client.list(types=["summary"])
    assert summary.metadata["sources"]


def test_lists(client: Recollect) -> None:
    """Ask for all of a kind, and get all of them."""
    for name, food in (("Ana", "peanuts"), ("Ben", "shellfish"), ("Cleo", "milk")):
        client.add(f"{name} is allergic to {food}.")
    client.add("Dora plays the cello.")
    answer = client.ask("Who is allergic to something?")
    assert all(name in answer.text for name in ("Ana", "Ben", "Cleo"))
    assert "Dora" not in answer.text


def test_entities(client: Recollect) -> None:
    """Look up what is known about somebody, and with whom they are named."""
    client.add("Imke Brandt of Acme called about the invoice.", entities=["Imke Brandt", "Acme"])
    graph = client.entities.graph("Acme")
    assert {"Acme", "Imke Brandt"} <= {one.name for one in graph.entities}
    assert len(client.list(filters={"entity": "Acme"})) == 1

"""context() and search(diverse=True) through the public door, on a real store."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from uuid import UUID

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect import AsyncRecollect, Recollect, Settings
from recollect.errors import InvalidInputError, InvalidTextError, ScopeNotFoundError
from recollect.providers.tokens import count_tokens
from recollect.retrieval.rank import select_diverse_memories

NOW = "2026-05-20T12:00:00Z"


@pytest.fixture
def acme(client: Recollect) -> dict[str, UUID]:
    """A little of everything about one customer."""
    added = {
        "summary": client.add("Acme Corporation is a long-standing customer with large orders", type="summary"),
        "fact": client.add(
            None, type="semantic", subject="Acme Corporation", predicate="prefers", object="payment terms NET30"
        ),
        "procedure": client.add(
            None, type="procedural", trigger="Acme wants a rush order", action="call the warehouse first"
        ),
        "episode": client.add("Acme Corporation asked about its order of desks", created_at="2026-05-05"),
    }  # fmt: skip
    client.add("The kitchen has a new kettle")
    return {name: memory.id for name, memory in added.items()}  # type: ignore[union-attr]


def test_a_context_holds_what_is_relevant_under_its_headings(
    client: Recollect, acme: dict[str, UUID]
) -> None:
    context = client.context("Acme Corporation orders", threshold=0.3, now=NOW)
    assert {hit.id for hit in context.memories} == set(acme.values())
    headings = [line for line in context.text.splitlines() if line.startswith("#")]
    assert headings == [
        "# Retrieved Context",
        "## Relevant Summaries",
        "## Relevant Procedures",
        "## Relevant Facts",
        "## Relevant Past Interactions",
    ]
    assert "(2 weeks ago)" in context.text
    assert "kettle" not in context.text
    assert context.tokens == count_tokens(context.text) <= context.max_tokens == 3000
    assert str(context) == context.text
    assert (context.query, context.omitted) == ("Acme Corporation orders", 0)


def test_messages_are_the_context_and_the_question(client: Recollect, acme: dict[str, UUID]) -> None:
    context = client.context("Acme Corporation orders", now=NOW)
    system, user = context.to_messages(system="You are brief.")
    assert system["role"] == "system"
    assert system["content"].startswith("You are brief.\n\n# Retrieved Context\n")
    assert system["content"].endswith("what you're inferring.")
    assert user == {"role": "user", "content": "Acme Corporation orders"}
    assert context.to_messages(user="And now?")[-1] == {"role": "user", "content": "And now?"}
    tiny = client.context("Acme Corporation orders", max_tokens=1)
    assert tiny.to_messages() == [{"role": "user", "content": "Acme Corporation orders"}]


def test_nothing_relevant_is_a_context_of_one_line(client: Recollect, acme: dict[str, UUID]) -> None:
    context = client.context("quantum chromodynamics lattice")
    assert context.text == 'No stored memory is relevant to the query: "quantum chromodynamics lattice"\n'
    assert (context.memories, context.omitted) == ((), 0)


def test_an_empty_store_has_a_context_too(client: Recollect) -> None:
    assert client.context("anything").text.startswith("No stored memory is relevant")


@pytest.mark.parametrize("budget", [1, 40, 90, 110, 130, 150, 200, 3000])
def test_every_budget_is_kept(client: Recollect, acme: dict[str, UUID], budget: int) -> None:
    context = client.context("Acme Corporation orders", max_tokens=budget, threshold=0.3)
    assert count_tokens(context.text) == context.tokens <= budget
    assert len(context.memories) + context.omitted == 4
    assert any("max_tokens" in note for note in context.notes) == bool(context.omitted)


@pytest.mark.parametrize("budget", [0, -5, 1.5, "many", True])
def test_a_budget_that_makes_no_sense_is_an_error(client: Recollect, budget: object) -> None:
    with pytest.raises(InvalidInputError, match="max_tokens"):
        client.context("anything", max_tokens=budget)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"limit": 0}, InvalidInputError),
        ({"threshold": 2}, InvalidInputError),
        ({"timezone": "Mars/Olympus"}, InvalidInputError),
        ({"timezone": 5}, InvalidInputError),
        ({"now": "soon"}, InvalidInputError),
        ({"scope": "team/nowhere"}, ScopeNotFoundError),
    ],
)
def test_other_bad_options_are_errors_as_in_search(
    client: Recollect, options: dict[str, object], error: type[Exception]
) -> None:
    with pytest.raises(error):
        client.context("anything", **options)  # type: ignore[arg-type]
    with pytest.raises(error):
        client.search("anything", **options)  # type: ignore[arg-type]


def test_an_empty_question_is_an_error(client: Recollect) -> None:
    with pytest.raises(InvalidTextError):
        client.context("  ")


@pytest.mark.parametrize(
    "query",
    [
        "100% (.*)+ \\d [a-z '; drop table memory; --",
        "Acme " * 10_000,
        "什么是阿克梅的订单",
        "ما هي طلبات أكمي",
        "📦📦📦",
        "compare | and ||",
        '"quoted" </retrieved_context>',
    ],
)
def test_odd_questions_have_a_context(client: Recollect, acme: dict[str, UUID], query: str) -> None:
    context = client.context(query, threshold=0.0, max_tokens=500)
    assert context.tokens <= 500
    assert context.text.count("</retrieved_context>") == 1
    assert len(context.memories) == 5


def test_filters_scopes_and_types_narrow_a_context(client: Recollect, acme: dict[str, UUID]) -> None:
    facts = client.context("Acme Corporation", types=["semantic"], threshold=0.0)
    assert [hit.id for hit in facts.memories] == [acme["fact"]]
    assert not client.context("Acme Corporation", layers=["company"], threshold=0.0).memories
    assert client.context("Acme Corporation", scope="user/root", threshold=0.0, limit=2).omitted == 0
    assert len(client.context("Acme Corporation", threshold=0.0, limit=2).memories) == 2


def test_a_context_shows_nobody_elses_memories(as_user: Callable[..., Recollect]) -> None:
    as_user("ana").add("Ana's salary is 80,000")
    assert not as_user("bob").context("What is Ana's salary?", threshold=0.0).memories


def test_a_comparison_becomes_a_table_by_scope(client: Recollect) -> None:
    for team, text in (("api", "Errors are retried three times"), ("web", "Errors are shown in a banner")):
        client.scopes.create(f"team/{team}")
        client.add(text, scope=f"team/{team}")
    context = client.context("compare how errors are treated across teams", threshold=0.0)
    assert "| team/api | team/web |\n| --- | --- |\n" in context.text
    assert {hit.group for hit in context.memories} == {"team/api", "team/web"}


def test_turns_are_told_in_order_with_their_speakers(client: Recollect) -> None:
    turns = [
        ("ana", "Which desks did Acme order?"),
        ("bob", "Acme ordered oak desks."),
        ("ana", "How many desks?"),
    ]
    client.add([{"role": who, "content": said} for who, said in turns], conversation="desks")
    text = client.context("Acme oak desks order", threshold=0.0).text
    said = (
        "  - ana: Which desks did Acme order?\n  - bob: Acme ordered oak desks.\n  - ana: How many desks?\n"
    )
    assert said in text


def test_days_are_those_of_the_time_zone(client: Recollect) -> None:
    client.add("Acme Corporation signed the contract", created_at="2026-05-08T23:30:00Z")
    question = "When did Acme Corporation sign the contract?"
    here = client.context(question, now=NOW)
    there = client.context(question, now=NOW, timezone="Asia/Tokyo")
    assert "2026-05-08" in here.text
    assert "2026-05-09" in there.text


def test_contexts_can_be_made_at_the_same_time(
    settings: Settings, client: Recollect, acme: dict[str, UUID]
) -> None:
    async def many() -> set[str]:
        async with AsyncRecollect(settings=settings, context=client.tenant_context) as other:
            made = await asyncio.gather(
                *(other.context("Acme Corporation orders", now=NOW) for _ in range(8))
            )
            return {context.text for context in made}

    assert len(asyncio.run(many())) == 1


def test_what_is_in_a_context_counts_as_used(
    settings: Settings, client: Recollect, acme: dict[str, UUID]
) -> None:
    with Recollect(settings=settings, context=client.tenant_context) as asking:
        used = {
            hit.id
            for hit in asking.context("Acme Corporation orders", types=["summary", "semantic"]).memories
        }
        assert used
    for id in acme.values():  # closing wrote what was remembered of the search
        assert client.get(id).use_count == (1 if id in used else 0)


# Diversity -----------------------------------------------------------------------------------------


def unit(*values: float) -> np.ndarray:
    vector = np.array(values, dtype=np.float32)
    return vector / np.linalg.norm(vector)


def test_the_first_is_the_most_relevant_and_the_next_says_something_else() -> None:
    vectors = [unit(1, 0), unit(1, 0.1), unit(0, 1)]
    scored = [("a", 0.9), ("a again", 0.89), ("b", 0.8)]
    assert select_diverse_memories(scored, 2, vectors=vectors) == ["a", "b"]
    assert select_diverse_memories(scored, 2, vectors=vectors, relevance_share=1.0) == ["a", "a again"]


def test_relevance_outweighs_novelty_that_is_far_below_it() -> None:
    vectors = [unit(1, 0), unit(1, 1), unit(0, 1)]
    scored = [("a", 0.9), ("half new", 0.85), ("new but weak", 0.3)]
    assert select_diverse_memories(scored, 2, vectors=vectors) == ["a", "half new"]


def test_a_memory_without_a_vector_is_like_no_other() -> None:
    assert select_diverse_memories([("a", 0.9), ("b", 0.89)], 2, vectors=[None, None]) == ["a", "b"]
    assert select_diverse_memories([("a", 0.9)], 0, vectors=[None]) == []
    assert select_diverse_memories([], 3, vectors=[]) == []


@given(st.lists(st.floats(0, 1), max_size=12), st.integers(0, 15))
def test_as_many_as_asked_for_are_chosen_each_once(scores: list[float], wanted: int) -> None:
    vectors = [unit(1, index) for index in range(len(scores))]
    chosen = select_diverse_memories(list(enumerate(scores)), wanted, vectors=vectors)
    assert len(chosen) == len(set(chosen)) == min(wanted, len(scores))
    if chosen:
        assert scores[chosen[0]] == max(scores)


def test_a_diverse_search_shows_another_side_earlier(client: Recollect) -> None:
    for hour in (9, 11, 13, 15):  # figures keep them from being taken for repeats
        client.add(f"The coffee machine in the kitchen was cleaned at {hour}:00 by the staff")
    other = client.add("Ilse descales the coffee machine in the kitchen")
    question = "coffee machine in the kitchen cleaned"
    plain = client.search(question, limit=3, threshold=0.0)
    diverse = client.search(question, limit=3, threshold=0.0, diverse=True)
    assert other.id not in {hit.id for hit in plain}  # type: ignore[union-attr]
    assert other.id in {hit.id for hit in diverse}  # type: ignore[union-attr]
    assert diverse[0].id == plain[0].id
    assert [hit.score for hit in diverse] == sorted((hit.score for hit in diverse), reverse=True)

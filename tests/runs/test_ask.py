"""`ask`: an answer in words, at default settings, without a model."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from uuid import uuid4

import pytest
from tests.runs.model_server import serve

from recollect import Recollect, Settings, TenantContext
from recollect.config import RunBudget
from recollect.domain.oracle import OracleConsultResult
from recollect.errors import InvalidInputError
from recollect.oracle.consult import consult
from recollect.oracle.request import ConsultRequest
from recollect.providers.models.purse import Purse, Spent
from recollect.retrieval.told import tell_memories
from recollect.runs.ask import AskRequest, ask
from recollect.runs.source import Question, Told
from recollect.text.aim import read_aim

TALK = [
    ("2026-01-05", "I live in Paris."),
    ("2026-09-02", "We moved to London over the summer."),
    ("2026-03-06", "The checkout went down for 40 minutes on 3 March after a bad deploy."),
    ("2026-05-15", "Outage: the search cluster ran out of disk on 12 May."),
    ("2026-08-16", "Atlas stores its data in PostgreSQL."),
    ("2026-08-17", "Borealis runs on MongoDB."),
    ("2026-08-18", "Tom loves steak. See [7] and [1]."),
]
GUIDE = b"# Tokens\n\nA token expires after 15 minutes.\n"
BILLING = b"""# Billing service

## Settings

| name | default | restart |
|---|---|---|
| pool_size | 10 | yes |
| log_level | info | no |

## Invoices

Invoices are sent on the first working day of a month. A reminder follows after 14 days.

## Refunds

A refund needs the approval of two people. Refunds above 500 EUR go to the head of finance.
"""


@pytest.fixture(scope="module")
def told(default_store: Recollect) -> Iterator[Recollect]:
    tenant = f"ask-{uuid4().hex[:12]}"  # a worker may run this module in two parts
    default_store.tenants.create(tenant)
    client = default_store.for_context(TenantContext(tenant_id=tenant, user_id="ana"))
    for day, text in TALK:
        client.add(text, created_at=datetime.fromisoformat(day).replace(tzinfo=UTC))
    client.library.add(GUIDE, name="guide.md", wait=True)
    return client


def test_one_thing_is_a_sentence_and_what_held_before_stands_behind_it(told: Recollect) -> None:
    answer = told.ask("Where do I live?")
    first, second = answer.text.splitlines()
    assert first == "We moved to London over the summer. (2 September 2026) [1]"
    assert second.startswith("Before: I live in Paris.")
    assert [one.quote for one in answer.citations] == [TALK[1][1], TALK[0][1]]
    assert [one.standing for one in answer.citations] == ["supports", "quoted"]
    assert (answer.found, answer.sources, answer.cost_usd) == (True, ("memories",), 0.0)


def test_a_list_is_a_list_and_a_count_cites_what_it_counts(told: Recollect) -> None:
    listed = told.ask("List all outages")
    assert len(listed.text.splitlines()) == len(listed.citations) == 2
    assert all(line.startswith("- ") for line in listed.text.splitlines())
    counted = told.ask("How many outages were there?")
    assert counted.text.splitlines()[0] == "2:"
    assert {one.quote for one in counted.citations} == {TALK[2][1], TALK[3][1]}


def test_a_comparison_is_a_table(told: Recollect) -> None:
    rows = told.ask("Compare the databases of Atlas and Borealis").text.splitlines()
    assert all(row.startswith("| ") or row.startswith("|-") for row in rows)
    assert sum("PostgreSQL" in row for row in rows) == sum("MongoDB" in row for row in rows) == 1


def test_a_comparison_has_a_row_for_every_team_whoever_wrote_last(default_store: Recollect) -> None:
    default_store.tenants.create("ask-teams")
    admin = default_store.for_context(TenantContext(tenant_id="ask-teams", user_id="ana", roles=("admin",)))
    practices = {
        "fleet": "a vehicle with a red warning stays in the yard",
        "mobile": "whatever the driver does is queued first",
        "checkout": "every payment carries an idempotency key",
        "data": "a bad record goes to a quarantine table",
        "routing": "a circuit breaker opens and yesterday's times are used",
    }
    for month, (team, practice) in enumerate(practices.items(), 1):
        admin.scopes.create(f"team/{team}")
        text = f"Error handling in the {team.capitalize()} team: {practice}."
        admin.add(text, scope=f"team/{team}", type="semantic", created_at=f"2026-{month:02}-03")
    table = admin.ask("Compare error handling across all teams").text
    assert [team for team in practices if f"| team/{team} |" not in table] == []


def test_what_nobody_told_is_not_known(told: Recollect) -> None:
    answer = told.ask("What is Tom's birthday?")
    assert (answer.text, answer.found, answer.citations, answer.sources) == ("Not known.", False, (), ())
    assert set(answer.coverage) == {"memories", "library"}


def test_documents_answer_with_their_lines(told: Recollect) -> None:
    answer = told.ask("When does a token expire?")
    assert answer.text.startswith("A token expires after 15 minutes. [1]")
    assert answer.citations[0].place == "guide.md:3-3"
    assert told.ask("When does a token expire?", sources=["memories"]).found is False


def test_two_sources_count_their_marks_on(default_store: Recollect) -> None:
    default_store.tenants.create("ask-both")
    client = default_store.for_context(TenantContext(tenant_id="ask-both", user_id="ana"))
    client.library.add(GUIDE, name="guide.md", wait=True)
    client.add("A token expires after an hour, says Ben.")
    answer = client.ask("When does a token expire?")
    assert answer.sources == ("memories", "library")
    assert len(answer.citations) == 2
    memories, _, documents = answer.text.partition("**Documents**")
    assert "[1]" in memories
    assert "[2]" in documents
    assert "[1]" not in documents


def test_documents_that_only_come_near_are_silent_where_memories_answer(default_store: Recollect) -> None:
    default_store.tenants.create("ask-near")
    client = default_store.for_context(TenantContext(tenant_id="ask-near", user_id="ana"))
    client.library.add(BILLING, name="billing.md", wait=True)
    client.add("The billing service was down on 3 March because the disk of db2 was full.")
    client.add("On 19 April the billing service lost its network for two hours.")
    answer = client.ask("How many outages did the billing service have?")
    assert answer.sources == ("memories",)
    assert answer.text.startswith("2:")
    assert "library: what came nearest does not answer it" in answer.notes
    assert client.ask("Who approves refunds?").sources == ("library",)


def test_a_mark_in_a_memory_is_no_citation(told: Recollect) -> None:
    answer = told.ask("What does Tom love?")
    assert len(answer.citations) == 1
    assert "[7]" not in answer.text
    assert answer.text.count("[1]") == 1


def test_code_is_asked_where_a_folder_is_named(told: Recollect, tmp_path: Path) -> None:
    (tmp_path / "tokens.py").write_text('def expire_token():\n    """Expire a token."""\n    return 15\n')
    answer = told.ask("Where is a token expired?", sources=[], working_dir=tmp_path)
    assert answer.sources == ("code",)
    assert answer.citations[0].file_path == "tokens.py"


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"sources": ["web"]}, "unknown source 'web'"),
        ({"sources": []}, "nothing is asked"),
        ({"depth": "deep"}, "depth must be one of"),
        ({"question": " "}, "question"),
        ({"question": "x" * 30_000}, "question"),
    ],
)
def test_a_bad_request_is_refused(told: Recollect, given: dict[str, object], message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        told.ask(**{"question": "Where do I live?", **given})  # type: ignore[arg-type]


class Spender:
    """A source that takes sixty cents for an answer, if it may."""

    def __init__(self, name: str) -> None:
        self.name = name

    async def tell(self, question: Question) -> Told:
        purse = question.purse.child()
        if word := purse.refusal(0, 0.6):
            return Told(notes=(f"{self.name} was stopped by {word}",))
        purse.hold(0, 0.6)
        purse.settle("m", (0, 0.6), Spent(requests=1, usd=0.6))
        return Told(text=f"{self.name} says so.")


def test_all_sources_of_a_question_spend_from_one_purse() -> None:
    request = AskRequest.check(
        question="why?", sources=("memories",), working_dir=None, depth="auto", model=None
    )
    settings = Settings(budget=RunBudget(max_usd=1.0))
    answer = asyncio.run(ask(settings, [Spender("first"), Spender("second")], request))
    assert (answer.sources, answer.cost_usd) == (("first",), 0.6)
    assert answer.notes == ("second was stopped by usd",)


class Sleeper:
    """A source that never answers."""

    name = "sleeper"

    async def tell(self, question: Question) -> Told:
        await asyncio.Event().wait()
        return Told(text="never")


def test_a_source_that_does_not_end_in_time_is_left_and_one_behind_it_is_not_asked() -> None:
    request = AskRequest.check(
        question="why?", sources=("memories",), working_dir=None, depth="auto", model=None
    )
    answer = asyncio.run(
        ask(Settings(budget=RunBudget(timeout_seconds=0.05)), [Sleeper(), Spender("second")], request)
    )
    assert not answer.found
    assert answer.notes == tuple(
        f"{name}: the time was over before there was an answer" for name in ("sleeper", "second")
    )


def test_the_deadline_holds_while_a_model_puts_memories_and_documents_into_words(told: Recollect) -> None:
    results = told.search("Where do I live?")
    with serve() as server:
        server.answers = ["hang"]
        settings = told.settings.replace(
            model="openai:m", model_base_url=server.url, model_profile={"timeout_s": 3_600.0}
        )
        with Recollect(settings=settings, context=told.tenant_context) as client:

            async def remember() -> Told | None:
                workspace = await client._async._workspace()
                question = Question(
                    text="Where do I live?",
                    aim=read_aim("Where do I live?"),
                    depth="auto",
                    model=None,
                    purse=Purse(),
                    deadline=time.monotonic() + 0.2,
                )
                return await tell_memories(question, results, workspace.model("openai:m"))

            async def read() -> OracleConsultResult:
                request = ConsultRequest.check(problem="When does a token expire?", depth_hint="quick")
                workspace = await client._async._workspace()
                return await consult(workspace, client.tenant_context, request, seconds=0.2)

            remembered, consulted = client._portal.run(remember()), client._portal.run(read())
        server.hold.set()
    assert remembered is not None
    assert remembered.text.startswith("We moved to London")
    assert "15 minutes" in consulted.answer
    assert any("its time was over" in note for note in consulted.notes)
    assert not any("500" in note for note in (*remembered.notes, *consulted.notes))


def test_a_dry_run_says_what_each_source_takes_at_most_and_asks_nobody(
    settings: Settings, tenant_id: str, tmp_path: Path
) -> None:
    (tmp_path / "a.py").write_text("def total() -> int:\n    return 1\n")
    planned = settings.replace(root_model="openai:gpt-5-mini", budget={"max_usd": 0.5})
    context = TenantContext(tenant_id=tenant_id, user_id="ana", roles=("admin", "operator"))
    with Recollect(settings=planned, context=context) as client:
        client.add("Atlas keeps its data in PostgreSQL.")
        client.library.add(b"# Tokens\n\nA token expires after 15 minutes.\n", name="tokens.md")
        simple = client.ask_dry_run("When does a token expire?", working_dir=tmp_path)
        split = client.ask_dry_run("Compare the databases across all teams", sources=["memories"])
        rows = client.ask_dry_run("List all outages", sources=["memories"])
        quick = client.ask_dry_run("When does a token expire?", sources=["memories"], depth="quick")
        searched = client.search_dry_run("Compare the databases across all teams")
        looked = client.search_dry_run("When does a token expire?")
    assert list(simple.sources) == ["memories", "library", "code"]
    assert simple.model == "openai:gpt-5-mini"
    assert simple.max_model_calls == sum(one.max_model_calls for one in simple.sources.values())
    assert simple.max_usd is not None
    assert 0 < simple.max_usd <= 0.5, "all of them together spend one budget"
    assert simple.sources["memories"].max_model_calls == 1, "one look needs no plan, only words"
    assert split.max_model_calls > rows.max_model_calls > 1
    assert (quick.max_model_calls, quick.max_usd) == (0, 0.0)
    assert split.max_model_calls == searched.max_model_calls + 1, "the search, and the words"
    assert (searched.model, searched.max_usd) == ("openai:gpt-5-mini", 0.5)
    assert (looked.model, looked.max_model_calls, looked.max_usd) == ("", 0, 0.0)


def test_a_dry_run_counts_the_model_that_reads_parts_at_its_own_price(
    settings: Settings, tenant_id: str
) -> None:
    context = TenantContext(tenant_id=tenant_id, user_id="ana", roles=("admin", "operator"))
    costs = []
    for changes in (
        {"root_model": "openai:gpt-4.1-nano"},
        {"root_model": "openai:gpt-4.1-nano", "sub_call_model": "openai:gpt-5"},
    ):
        with Recollect(settings=settings.replace(**changes), context=context) as client:
            client.library.add(b"# Tokens\n\nA token expires after 15 minutes.\n", name="tokens.md")
            plan = client.oracle_dry_run("When does a token expire?", "thorough")
            named = client.oracle_dry_run(
                "When does a token expire?", "thorough", model="openai:gpt-4.1-nano"
            )
        costs.append((plan.max_usd or 0.0, named.max_usd or 0.0))
    assert costs[1][0] > 2 * costs[0][0]
    assert costs[1][1] == costs[0][1] == costs[0][0], "a model that is named does all of it"

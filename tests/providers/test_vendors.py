"""What vendors do to whoever asks them, over real HTTP: caps that reasoning eats, busy servers, budgets."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import replace
from typing import Any, TypeVar

import pytest
from pydantic import BaseModel
from tests.runs.model_server import ModelServer, Said, serve

from recollect import Settings
from recollect.errors import ModelBudgetError, ModelOutputError, ModelUnavailableError
from recollect.providers.models import ChatModel, Exchange, Profile, Purse, ToolForm, open_model, profile_of
from recollect.providers.models.profiles import LARGE_WINDOW, REASONING_TOKENS, UNKNOWN_WINDOW, Price

T = TypeVar("T")
DOLLARS = Price(input_usd=1.0, output_usd=10.0, cached_usd=0.1)


class Colour(BaseModel):
    colour: str


GREEN = {"colour": "green"}


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with serve() as state:
        yield state


def with_model(url: str, work: Callable[[ChatModel], Awaitable[T]], **options: Any) -> T:
    name = options.pop("name", "openai:some-model")

    async def scenario() -> T:
        model = open_model(name, base_url=url, api_key="k", **options)
        try:
            return await work(model)
        finally:
            await model.close()

    return asyncio.run(scenario())


def spending(content: Any) -> Callable[[ModelServer], Said]:
    """An answer that uses its cap to the last token."""
    return lambda state: Said(content=content, usage=(40, state.asked[-1]["max_completion_tokens"]))


async def ask(model: ChatModel) -> Any:
    return await model.answer("Name the colour.", "Grass is green.", Colour)


# ------------------------------------------------------------ profiles


def test_a_profile_follows_what_is_published() -> None:
    strong, plain = profile_of("openai:gpt-5-mini"), profile_of("openai:gpt-4o")
    assert (strong.window, strong.reasons, strong.shape) == (400_000, True, "large")
    assert (plain.window, plain.reasons, plain.max_output) == (128_000, False, 16_384)
    assert strong.price == replace(DOLLARS, input_usd=0.25, output_usd=2.0, cached_usd=0.025)
    claude = profile_of("anthropic:claude-sonnet-4-5")
    assert (claude.max_output, claude.caches, claude.price and claude.price.long_from) == (
        64_000,
        True,
        200_000,
    )


def test_a_model_that_nobody_knows_gets_a_safe_middle_and_settings_go_before_it() -> None:
    unknown = profile_of("openai:my-own")
    assert (unknown.window, unknown.shape, unknown.price) == (UNKNOWN_WINDOW, "medium", None)
    assert profile_of("ollama:llama3.2").shape == "small"
    given = Settings.load(environ={}, model_profile="window=200000 effort=high input_usd=1 output_usd=10")
    own = profile_of("openai:my-own", given)
    assert (own.window, own.shape, own.reasons, own.effort) == (200_000, "large", True, "high")
    assert own.price == Price(input_usd=1.0, output_usd=10.0)
    assert not profile_of(
        "openai:gpt-5-mini", Settings.load(environ={}, model_profile={"effort": "none"})
    ).reasons


@pytest.mark.parametrize("name", ["ollama:llama3.2", "openai:my-own", "openai:gpt-4.1", "openai:gpt-5"])
def test_question_and_answer_fit_into_the_window_together(name: str) -> None:
    profile = profile_of(name)
    assert profile.counted(profile.input_tokens()) + profile.output_tokens() <= profile.window
    assert profile.output_tokens() <= profile.max_output


def test_limits_grow_with_the_window() -> None:
    small, middle, large = (
        Profile(name="m", window=window, max_output=32_768, native_tools=True)
        for window in (8_192, 32_768, LARGE_WINDOW)
    )
    for limit in ("part_tokens", "result_chars", "findings", "findings_per_step", "steps", "answer_tokens"):
        assert getattr(small, limit) < getattr(middle, limit) < getattr(large, limit), limit


# ------------------------------------------------------------ reasoning


def test_a_model_that_reasons_gets_room_for_it_and_an_effort(server: ModelServer) -> None:
    server.answers = [GREEN]
    profile = Profile(name="m", window=200_000, max_output=100_000, reasons=True, effort="low")
    with_model(server.url, ask, name="openai:gpt-5-mini", profile=profile)

    [request] = server.asked
    assert request["max_completion_tokens"] >= REASONING_TOKENS
    assert request["reasoning_effort"] == "low"
    assert "temperature" not in request


def test_an_answer_that_met_its_cap_is_asked_for_once_more_with_twice_the_cap(server: ModelServer) -> None:
    server.answers = [Said(content="", finish="length", usage=(10, 4_096), reasoning=4_096), GREEN]
    profile = Profile(name="m", window=100_000, max_output=20_000, price=DOLLARS)

    answer = with_model(server.url, ask, profile=profile)
    caps = [request["max_completion_tokens"] for request in server.asked]
    assert caps == [4_096, 8_192]
    assert all("response_format" in request for request in server.asked), "no other way was tried"
    assert answer.value == Colour(colour="green")
    spent = answer.spent
    assert (spent.requests, spent.input_tokens, spent.output_tokens) == (2, 21, 4_103)
    assert spent.reasoning_tokens == 4_096
    assert spent.usd == pytest.approx((21 * 1.0 + 4_103 * 10.0) / 1e6)


def test_a_cap_that_is_met_again_is_said_and_no_third_request_is_made_in_that_way(
    server: ModelServer,
) -> None:
    server.answers = [Said(content="", finish="length", usage=(10, 5))]
    with pytest.raises(ModelOutputError, match=r"cut off at 5 tokens.*raise max_output in model_profile"):
        with_model(server.url, ask)
    assert sum("response_format" in request and not request.get("tools") for request in server.asked) <= 4


# ------------------------------------------------------------ busy servers


@pytest.mark.parametrize(
    ("status", "headers"),
    [(429, {"Retry-After": "0"}), (429, {}), (500, {}), (503, {"Retry-After": "0"}), (529, {})],
)
def test_what_a_busy_server_turns_away_is_sent_again_and_costs_nothing(
    server: ModelServer, status: int, headers: dict[str, str]
) -> None:
    server.answers = [Said(status=status, headers=headers), GREEN]
    answer = with_model(server.url, ask, retries=1)
    assert (len(server.asked), answer.spent.requests, answer.spent.tokens) == (2, 2, 18)


def test_a_server_that_wants_more_time_than_there_is_is_not_waited_for(server: ModelServer) -> None:
    server.answers = [Said(status=429, headers={"Retry-After": "86400"}), GREEN]
    with pytest.raises(ModelUnavailableError, match="answered 429"):
        with_model(server.url, ask, timeout_s=600)
    assert len(server.asked) == 1


def test_a_server_that_dies_in_the_middle_is_asked_again(server: ModelServer) -> None:
    server.answers = [GREEN, "die", GREEN]

    async def twice(model: ChatModel) -> Any:
        await ask(model)
        return await ask(model)

    assert with_model(server.url, twice, retries=2).value == Colour(colour="green")
    assert len(server.asked) == 3


# ------------------------------------------------------------ money


def test_every_request_is_counted_where_it_is_sent_failed_ones_too(server: ModelServer) -> None:
    server.answers = ["no idea", "neither", GREEN]
    purse = Purse()
    profile = Profile(name="m", price=DOLLARS)
    answer = with_model(server.url, lambda model: ask(model.charged_to(purse)), profile=profile)

    assert (answer.spent.requests, purse.spent.requests) == (3, 3)
    assert purse.spent.usd == pytest.approx(3 * (11 * 1.0 + 7 * 10.0) / 1e6)


def test_cached_tokens_are_counted_apart_and_cost_less(server: ModelServer) -> None:
    server.answers = [Said(content=GREEN, usage=(1_000, 10), cached=800)]
    answer = with_model(server.url, ask, profile=Profile(name="m", price=DOLLARS))
    assert answer.spent.cached_tokens == 800
    assert answer.spent.usd == pytest.approx((200 * 1.0 + 800 * 0.1 + 10 * 10.0) / 1e6)


def test_a_request_whose_worst_case_would_pass_the_budget_is_not_sent(server: ModelServer) -> None:
    server.answers = [GREEN]
    purse = Purse(max_usd=0.001)
    with pytest.raises(ModelBudgetError, match=r"was not asked.*\$0\.0010"):
        with_model(
            server.url,
            lambda model: ask(model.charged_to(purse)),
            profile=Profile(name="m", price=DOLLARS),
        )
    assert (server.asked, purse.spent.requests) == ([], 0)


def test_a_short_budget_lowers_the_cap_and_is_never_passed(server: ModelServer) -> None:
    server.answers = [spending("no")]
    purse = Purse(max_usd=0.05)
    profile = Profile(name="m", window=100_000, max_output=20_000, price=DOLLARS)

    async def often(model: ChatModel) -> None:
        for _ in range(10):
            with pytest.raises((ModelOutputError, ModelBudgetError)):
                await ask(model.charged_to(purse))

    with_model(server.url, often, profile=profile)
    assert 0.04 < purse.spent.usd <= 0.05
    assert server.asked[-1]["max_completion_tokens"] < server.asked[0]["max_completion_tokens"]
    paid = sum(40 * 1.0 + request["max_completion_tokens"] * 10.0 for request in server.asked) / 1e6
    assert purse.spent.usd == pytest.approx(paid)


def test_requests_at_the_same_time_share_one_budget(server: ModelServer) -> None:
    server.answers = [spending(GREEN)]
    purse = Purse(max_usd=0.1)
    profile = Profile(name="m", window=100_000, max_output=4_096, price=DOLLARS)

    async def together(model: ChatModel) -> list[Any]:
        charged = model.charged_to(purse)
        return await asyncio.gather(*(ask(charged) for _ in range(8)), return_exceptions=True)

    outcomes = with_model(server.url, together, profile=profile)
    assert purse.spent.usd <= 0.1
    assert any(isinstance(one, ModelBudgetError) for one in outcomes)
    assert any(not isinstance(one, BaseException) for one in outcomes)


# ------------------------------------------------------------ conversations


def test_a_conversation_begins_as_it_did_before_and_carries_what_tools_gave_back(server: ModelServer) -> None:
    look = ToolForm(
        name="look",
        description="Look.",
        schema={"type": "object", "properties": {"room": {"type": "integer"}}},
    )
    server.answers = [
        Said(content="let me see", calls=(("look", {"room": 1}), ("look", "{broken"))),
        Said(content="done"),
    ]

    async def talk(model: ChatModel) -> Any:
        first = await model.converse("Be good.", "Which?", [], [look])
        second = await model.converse(
            "Be good.", "Which?", [Exchange(reply=first, results=("red", "error"))], [look]
        )
        return first, second

    first, second = with_model(server.url, talk)
    assert [call.arguments for call in first.calls] == [{"room": 1}, None]
    assert (second.text, second.calls) == ("done", ())
    before, after = (request["messages"] for request in server.asked)
    assert after[: len(before)] == before
    assert [one["content"] for one in after if one["role"] == "tool"] == ["red", "error"]

"""Chat models over real HTTP: a real small model, and a server that misbehaves."""

from __future__ import annotations

import asyncio
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Literal

import pytest
from pydantic import BaseModel, Field
from tests.loopback import Answer as Said
from tests.loopback import Asked, answering, completion

from recollect import Settings
from recollect.errors import (
    ConfigurationError,
    InvalidInputError,
    ModelOutputError,
    ModelRefusedError,
    ModelTimeoutError,
    ModelUnavailableError,
)
from recollect.providers.models import Answer, open_model
from recollect.workspace import Workspace

KEY = "sk-test-0123456789"


class Colour(BaseModel):
    colour: Literal["red", "green"]
    reason: str = Field(max_length=40)


@dataclass
class Server:
    """What the server was asked, and what it answers: a status, or a message, by the way it was asked."""

    url: str = ""
    answers: dict[str, Any] = field(default_factory=dict)
    asked: list[dict[str, Any]] = field(default_factory=list)
    keys: list[str | None] = field(default_factory=list)
    hold: threading.Event = field(default_factory=threading.Event)

    def ways(self) -> list[str]:
        return [way_of(request) for request in self.asked]


def way_of(request: dict[str, Any]) -> str:
    if request.get("tools"):
        return "tool"
    form = request.get("response_format", {}).get("type")
    return "native" if form == "json_schema" else "prompted"


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    state = Server()

    def answer(asked: Asked) -> Said:
        state.asked.append(asked.body)
        state.keys.append(asked.headers.get("Authorization"))
        way = way_of(asked.body)
        said = state.answers.get(way, state.answers.get("any", 500))
        if said == "silence":
            state.hold.wait(30)
            said = 500
        if isinstance(said, int):
            return said
        if said == "garbage":
            return 200, b"<html>not json"
        if way == "tool":
            function = {"name": asked.body["tools"][0]["function"]["name"], "arguments": said}
            message = {"content": None, "tool_calls": [{"id": "1", "type": "function", "function": function}]}
        else:
            message = {"content": said}
        return completion(message, usage=(11, 7))

    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "ANTHROPIC_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    with answering(answer) as state.url:
        yield state
        state.hold.set()


GOOD = '{"colour": "green", "reason": "grass"}'


def ask(url: str, *, times: int = 1, model: str = "openai:some-model", **options: Any) -> Answer[Colour]:
    name = model

    async def run() -> Answer[Colour]:
        model = open_model(name, base_url=url, **{"retries": 0, **options})
        try:
            for _ in range(times):
                answer = await model.answer("Name the colour.", "Grass is green.", Colour, max_tokens=60)
            return answer
        finally:
            await model.close()

    return asyncio.run(run())


def test_a_real_model_answers_with_a_value_of_the_asked_type(model_url: str) -> None:
    answer = ask(model_url, timeout_s=120)

    assert isinstance(answer.value, Colour)
    assert answer.mode == "native"
    assert answer.spent.input_tokens > 0
    assert 0 < answer.spent.output_tokens <= 60


def test_the_key_goes_to_the_server_and_the_name_stays_the_configured_one(server: Server) -> None:
    server.answers["any"] = GOOD
    answer = ask(server.url, api_key=KEY)

    assert answer.value == Colour(colour="green", reason="grass")
    assert (answer.spent.input_tokens, answer.spent.output_tokens) == (11, 7)
    assert server.keys == [f"Bearer {KEY}"]
    assert open_model("ollama:llama3.2").name == "ollama:llama3.2"


@pytest.mark.parametrize(
    ("answers", "mode", "ways"),
    [
        ({"native": GOOD}, "native", ["native"]),
        ({"native": 400, "tool": GOOD}, "tool", ["native", "tool"]),
        ({"native": "no idea", "tool": 400, "prompted": GOOD}, "prompted", ["native", "tool", "prompted"]),
    ],
)
def test_a_type_is_asked_for_natively_then_by_tool_then_by_prompt(
    server: Server, answers: dict[str, Any], mode: str, ways: list[str]
) -> None:
    server.answers = answers

    assert ask(server.url).mode == mode
    assert server.ways() == ways


def test_the_way_that_worked_is_where_the_next_question_begins(server: Server) -> None:
    server.answers = {"native": 400, "tool": GOOD}
    ask(server.url, times=3)

    assert server.ways() == ["native", "tool", "tool", "tool"]


def test_a_way_that_worked_is_the_only_one_asked_in_from_then_on(server: Server) -> None:
    server.answers["any"] = GOOD

    async def run() -> None:
        model = open_model("openai:some-model", base_url=server.url)
        await model.answer("Name the colour.", "Grass is green.", Colour)
        server.answers["any"] = "no idea"
        try:
            with pytest.raises(ModelOutputError):
                await model.answer("Name the colour.", "Grass is green.", Colour)
        finally:
            await model.close()

    asyncio.run(run())
    assert server.ways() == ["native", "native"]


@pytest.mark.parametrize(("model", "sent"), [("gpt-4o", True), ("gpt-5", False), ("o3", False)])
def test_a_model_that_takes_no_temperature_is_sent_none(server: Server, model: str, sent: bool) -> None:
    server.answers["any"] = GOOD
    ask(server.url, model=f"openai:{model}")

    [request] = server.asked
    assert ("temperature" in request) is sent


def test_an_answer_outside_the_type_is_bad_output(server: Server) -> None:
    server.answers["any"] = '{"colour": "a colour that is not in the list", "reason": ""}'
    with pytest.raises(ModelOutputError, match=r"'openai:some-model'.*not of the asked form"):
        ask(server.url)
    assert server.ways() == ["native", "tool", "prompted"]


def test_a_body_that_is_no_json_is_bad_output(server: Server) -> None:
    server.answers["any"] = "garbage"
    with pytest.raises(ModelOutputError):
        ask(server.url)


@pytest.mark.parametrize("status", [500, 502, 503, 429])
def test_a_failing_server_is_asked_once_and_is_unavailable(server: Server, status: int) -> None:
    server.answers["any"] = status
    with pytest.raises(ModelUnavailableError, match=f"answered {status}.*try again later"):
        ask(server.url)
    assert len(server.asked) == 1


@pytest.mark.parametrize("status", [401, 403])
def test_a_wrong_key_is_a_refusal(server: Server, status: int) -> None:
    server.answers["any"] = status
    with pytest.raises(ModelRefusedError, match="check model_api_key"):
        ask(server.url, api_key=KEY)
    assert len(server.asked) == 1


def test_a_silent_server_is_asked_once_and_times_out(server: Server) -> None:
    server.answers["any"] = "silence"
    # Long enough for the question to arrive on a busy machine.
    with pytest.raises(ModelTimeoutError, match=r"within 1\.5 s.*timeout_s in model_profile"):
        ask(server.url, timeout_s=1.5)
    assert len(server.asked) == 1


def test_ways_that_fail_one_after_another_share_one_deadline(server: Server) -> None:
    server.answers = {"native": "no idea", "tool": "silence"}
    with pytest.raises(ModelOutputError):
        ask(server.url, timeout_s=2)
    assert server.ways() == ["native", "tool"]


def test_nobody_listening_is_unavailable() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
        with pytest.raises(ModelUnavailableError, match=r"can't be reached.*model_base_url"):
            ask(f"http://127.0.0.1:{port}/v1")


@pytest.mark.parametrize("name", ["", "gpt-5-mini", "openai:", "grok:x"])
def test_an_unknown_name_lists_the_families(name: str) -> None:
    with pytest.raises(InvalidInputError, match="openai:<model>, anthropic:<model>, ollama:<model>"):
        open_model(name)


@pytest.mark.parametrize(
    ("name", "variable"), [("openai:m", "OPENAI_API_KEY"), ("anthropic:m", "ANTHROPIC_API_KEY")]
)
def test_a_vendor_needs_a_key(name: str, variable: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(variable, raising=False)
    with pytest.raises(ConfigurationError, match=f"{variable} or model_api_key"):
        open_model(name)
    monkeypatch.setenv(variable, KEY)
    assert open_model(name).name == name


def test_a_vendor_s_key_is_never_sent_to_a_server_of_one_s_own(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    server.answers["any"] = GOOD
    ask(server.url)

    assert server.keys == ["Bearer none"]


def test_a_workspace_has_a_model_only_when_one_is_set(settings: Settings, server: Server) -> None:
    async def names() -> tuple[str | None, str | None]:
        without = Workspace(settings, None)  # type: ignore[arg-type]
        given = settings.replace(model="some-model", model_base_url=server.url)
        with_one = Workspace(given, None)  # type: ignore[arg-type]
        found = with_one.model()
        assert found is with_one.model()
        return (None if without.model() is None else "a model"), (found.name if found else None)

    assert asyncio.run(names()) == (None, "some-model")
    assert server.asked == []


def test_opening_the_package_loads_no_model_library() -> None:
    code = (
        "import sys, recollect.providers.models; "
        "print([m for m in ('pydantic_ai', 'openai', 'anthropic', 'pydantic') if m in sys.modules])"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert out.strip() == "[]"

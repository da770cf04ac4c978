"""One chat model, whoever serves it, through pydantic-ai.

A type is asked for in the way that works best first: the server's own schema enforcement (small local models
succeed with nothing else), then a tool call, then a description in the prompt. The way that worked is kept: from
then on one question is one request, as those who pay for requests count them. An answer that met its cap is asked for
once more with twice the cap, in the same way. What a busy server turns away is sent again after a while. All of it
shares one deadline, and the vendors' own retries are off: they would multiply it, and count nothing.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeVar

from recollect.errors import (
    ConfigurationError,
    ModelBudgetError,
    ModelError,
    ModelOutputError,
    ModelRefusedError,
    ModelTimeoutError,
    ModelUnavailableError,
    ModelWindowError,
)
from recollect.providers.models.contract import Answer, Exchange, Reply, ToolCall, ToolForm
from recollect.providers.models.profiles import Profile
from recollect.providers.models.purse import Purse, Spent
from recollect.providers.tokens import count_tokens, load_encoding

if TYPE_CHECKING:
    from pydantic_ai.messages import ModelMessage, ModelResponse
    from pydantic_ai.models import Model
    from pydantic_ai.settings import ModelSettings

T = TypeVar("T")
R = TypeVar("R")

MODES = ("native", "tool", "prompted")
#: A server that can't enforce a schema says so with one of these; anything else is a real failure.
_UNSUPPORTED = frozenset({400, 404, 405, 413, 415, 422, 501})
#: Seconds before a request that was turned away is sent again, doubled each time, unless the server says how long.
_BACKOFF_S = 0.5


def connect(
    family: str,
    model: str,
    *,
    name: str,
    base_url: str | None,
    api_key: str,
    timeout_s: float,
    retries: int,
    profile: Profile,
) -> PydanticChatModel:
    """A client of the family's protocol; it connects with the first question."""
    options: dict[str, Any] = {
        "api_key": api_key, "base_url": base_url, "timeout": timeout_s, "max_retries": 0,
    }  # fmt: skip
    made: Model[Any]
    try:
        if family == "anthropic":
            from anthropic import AsyncAnthropic
            from pydantic_ai.models.anthropic import AnthropicModel
            from pydantic_ai.providers.anthropic import AnthropicProvider

            anthropic = AsyncAnthropic(**options)
            made = AnthropicModel(model, provider=AnthropicProvider(anthropic_client=anthropic))
            close = anthropic.close
        else:
            from openai import AsyncOpenAI
            from pydantic_ai.models.openai import OpenAIChatModel
            from pydantic_ai.providers.openai import OpenAIProvider

            openai = AsyncOpenAI(**options)
            if family == "ollama":
                from pydantic_ai.providers.ollama import OllamaProvider

                made = OpenAIChatModel(model, provider=OllamaProvider(openai_client=openai))
            else:
                made = OpenAIChatModel(model, provider=OpenAIProvider(openai_client=openai))
            close = openai.close
    except Exception as error:  # whatever the vendor's library dislikes about an address or a name
        raise ConfigurationError(f"the model {name!r} can't be set up: {_first_line(error)}") from error
    link = _Link(model=made, name=name, timeout_s=timeout_s, retries=retries, close=close, profile=profile)
    return PydanticChatModel(link, Purse())


@dataclass(slots=True, kw_only=True)
class _Link:
    """What all accounts of one model share: the client, the way of asking that worked, what is known of its window."""

    model: Model[Any]
    name: str
    timeout_s: float
    retries: int
    close: Callable[[], Any]
    profile: Profile
    kept: str | None = None
    reached: bool = False


@dataclass(slots=True, kw_only=True)
class _Sending:
    """One request under way. `response` is what came back, also where it is not of the asked form."""

    cap: int
    response: ModelResponse | None = None


class PydanticChatModel:
    """A `ChatModel` on a pydantic-ai model."""

    def __init__(self, link: _Link, purse: Purse) -> None:
        self._link = link
        self.name = link.name
        self.purse = purse

    @property
    def profile(self) -> Profile:
        """What it can do; its window is narrower once the server has said that a prompt was too long."""
        return self._link.profile

    def charged_to(self, purse: Purse) -> PydanticChatModel:
        """The same client on another account."""
        return PydanticChatModel(self._link, purse)

    async def close(self) -> None:
        """Close the connections of the vendor's client."""
        await self._link.close()

    async def answer(
        self, instructions: str, text: str, output: type[T], *, max_tokens: int | None = None
    ) -> Answer[T]:
        """Ask in the way that worked before; else in one way after another, within one deadline."""
        mine = self.charged_to(self.purse.child())
        modes = MODES if self._link.kept is None else (self._link.kept,)
        cap = self.profile.output_tokens(max_tokens)
        counted = await self._count(instructions, text, json.dumps(_schema_of(output)))
        failed: ModelOutputError | None = None

        async def ask(deadline: float) -> Answer[T]:
            nonlocal failed
            unasked: ModelOutputError | None = None
            for mode in modes:
                try:
                    value = await mine._ask(mode, instructions, text, output, cap, counted, deadline)
                except _UnaskedError as error:
                    unasked = error
                except ModelOutputError as error:
                    # The first way is the one the server was best at: its complaint says most.
                    failed = failed or error
                else:
                    self._link.kept = mode
                    return Answer(value=value, spent=mine.purse.spent, mode=mode)
            none_worked = failed or unasked
            assert none_worked is not None
            raise none_worked

        try:
            return await self._in_time(ask)
        except ModelTimeoutError as late:
            if failed is not None:
                raise failed from late
            raise

    async def converse(
        self,
        instructions: str,
        opening: str,
        exchanges: Sequence[Exchange],
        tools: Sequence[ToolForm],
        *,
        max_tokens: int | None = None,
    ) -> Reply:
        """One request with the conversation so far; a reply that met its cap is asked for with twice as much."""
        from pydantic_ai.direct import model_request
        from pydantic_ai.models import ModelRequestParameters
        from pydantic_ai.tools import ToolDefinition

        offered = [
            ToolDefinition(
                name=tool.name, description=tool.description, parameters_json_schema=dict(tool.schema)
            )
            for tool in tools
        ]
        messages = _messages(instructions, opening, exchanges)
        texts = [
            result
            for exchange in exchanges
            for result in (*exchange.results, exchange.remark, _spoken(exchange.reply))
        ]
        written = [json.dumps(tool.schema) + tool.description for tool in tools]
        counted = await self._count(instructions, opening, *texts, *written)

        async def ask(deadline: float) -> Reply:
            cap = self.profile.output_tokens(max_tokens)
            for attempt in range(2):

                async def send(sending: _Sending) -> ModelResponse:
                    sending.response = await model_request(
                        self._link.model,
                        messages,
                        model_settings=self._settings(sending.cap, conversation=True),
                        model_request_parameters=ModelRequestParameters(function_tools=offered),
                    )
                    return sending.response

                response = await self._send(send, counted, cap, deadline)
                more = self.profile.bounded(2 * cap)
                if response.finish_reason != "length" or more <= cap or attempt:
                    return _reply(response)
                cap = more
            raise AssertionError("the second attempt is the last")

        return await self._in_time(ask)

    async def _in_time(self, work: Callable[[float], Awaitable[R]]) -> R:
        """The work within the deadline of one answer, which it is told."""
        try:
            async with asyncio.timeout(self._link.timeout_s) as limit:
                deadline = limit.when()
                assert deadline is not None
                return await work(deadline)
        except TimeoutError as error:
            raise ModelTimeoutError(
                f"the model {self.name!r} did not answer within {self._link.timeout_s:g} s; "
                "raise timeout_s in model_profile or use a faster model"
            ) from error

    async def _count(self, *texts: str) -> int:
        """Tokens of a request, by our own vocabulary; long ones in a thread, since they take a while."""
        if sum(map(len, texts)) < 20_000:
            await asyncio.to_thread(load_encoding)
            return sum(map(count_tokens, texts))
        return await asyncio.to_thread(lambda: sum(map(count_tokens, texts)))

    async def _ask(
        self,
        mode: str,
        instructions: str,
        text: str,
        output: type[T],
        cap: int,
        counted: int,
        deadline: float,
    ) -> T:
        """In one way: with the cap, and if that was not enough with twice as much."""
        from pydantic_ai import Agent, NativeOutput, PromptedOutput, ToolOutput, capture_run_messages
        from pydantic_ai.messages import ModelResponse

        ways: dict[str, Any] = {"native": NativeOutput, "tool": ToolOutput, "prompted": PromptedOutput}

        async def send(sending: _Sending) -> T:
            agent: Agent[object, T] = Agent(
                self._link.model,
                output_type=ways[mode](output),
                instructions=instructions,
                model_settings=self._settings(sending.cap),
                retries=0,
            )
            with capture_run_messages() as messages:
                try:
                    return (await agent.run(text)).output
                finally:
                    sending.response = next(
                        (message for message in reversed(messages) if isinstance(message, ModelResponse)),
                        None,
                    )

        more = self.profile.bounded(2 * cap)
        try:
            return await self._send(send, counted, cap, deadline)
        except _CappedError:
            if more <= cap:
                raise
        return await self._send(send, counted, more, deadline)

    async def _send(
        self, send: Callable[[_Sending], Awaitable[R]], counted: int, cap: int, deadline: float
    ) -> R:
        """One request, counted whatever becomes of it, and sent again if the server was only busy."""
        from pydantic_ai.exceptions import UserError

        attempt = 0
        while True:
            sending = _Sending(cap=self._affordable(counted, cap))
            worst = self.profile.worst(counted, sending.cap)
            self.purse.hold(*worst)
            # Who is cut off in the middle may have worked, and be paid.
            spent = self._worst(counted, sending.cap)
            try:
                value = await send(sending)
                spent = self._spent(sending.response)
                self._link.reached = True
                return value
            except UserError as error:  # this model's profile does not know the way; nothing was sent
                spent = Spent()
                raise _UnaskedError(f"the model {self.name!r} can't be asked in this way") from error
            except TimeoutError:
                raise
            except Exception as error:
                spent = self._spent(sending.response) if sending.response else self._of_failure(error, spent)
                failure = self._translate(error, sending.response)
                wait_s = self._wait_s(error, attempt, deadline)
                if wait_s is None:
                    raise failure from error
            finally:
                self.purse.settle(self.name, worst, spent)
            await asyncio.sleep(wait_s)
            attempt += 1

    def _affordable(self, counted: int, cap: int) -> int:
        """The cap that the purse allows, up to this one."""
        profile, purse = self.profile, self.purse
        usd, tokens = purse.usd_left(), purse.tokens_left()
        allowed = profile.cap_within(usd, counted, cap)
        if allowed is not None and tokens is not None:
            room = min(allowed, tokens - profile.counted(counted))
            allowed = room if room >= min(profile.least_output, allowed) else None
            if allowed is None:
                raise ModelBudgetError(_over_budget(self.name, f"{tokens:,} tokens"), limit="tokens")
        if allowed is None:
            raise ModelBudgetError(_over_budget(self.name, f"${usd:.4f}"), limit="usd")
        return allowed

    def _settings(self, cap: int, *, conversation: bool = False) -> ModelSettings:
        from pydantic_ai.settings import ModelSettings

        settings = ModelSettings(timeout=self._link.timeout_s, max_tokens=cap)
        effort = self.profile.effort
        if effort is not None:
            settings["thinking"] = False if effort == "none" else effort  # type: ignore[typeddict-item]
        elif not self._draws_by_itself():
            settings["temperature"] = 0.0
        if conversation and self.profile.caches:
            settings["cache"] = True
        return settings

    def _draws_by_itself(self) -> bool:
        """Whether the model draws its words by rules of its own, and takes no temperature."""
        profile = self._link.model.profile
        return self.profile.reasons or any(
            profile.get(fact, False)
            for fact in ("openai_supports_reasoning", "anthropic_disallows_sampling_settings")
        )

    def _spent(self, response: ModelResponse | None) -> Spent:
        if response is None:
            return Spent(requests=1, unpriced=self.profile.price is None)
        usage = response.usage
        usd = self.profile.cost(
            input=usage.input_tokens,
            output=usage.output_tokens,
            cached=usage.cache_read_tokens,
            written=usage.cache_write_tokens,
        )
        return Spent(
            requests=1,
            input_tokens=usage.input_tokens,
            output_tokens=usage.output_tokens,
            cached_tokens=usage.cache_read_tokens,
            reasoning_tokens=usage.output_reasoning_tokens,
            usd=usd,
            unpriced=self.profile.price is None,
        )

    def _worst(self, counted: int, cap: int) -> Spent:
        profile = self.profile
        return Spent(
            requests=1,
            input_tokens=profile.counted(counted),
            output_tokens=cap,
            usd=profile.worst(counted, cap)[1],
            unpriced=profile.price is None,
        )

    def _of_failure(self, error: Exception, worst: Spent) -> Spent:
        """Who was turned away, or reached nobody, pays nothing; whoever got something unreadable may have to."""
        from pydantic_ai import exceptions as theirs

        if isinstance(error, (theirs.ModelHTTPError, theirs.ModelConnectionError)):
            return Spent(requests=1, unpriced=self.profile.price is None)
        return worst

    def _wait_s(self, error: Exception, attempt: int, deadline: float) -> float | None:
        """Seconds until it is worth sending again; None when it is not, or there is no time for it."""
        from pydantic_ai import exceptions as theirs

        if attempt >= self._link.retries:
            return None
        wait_s = _BACKOFF_S * 2**attempt
        if isinstance(error, theirs.ModelHTTPError):
            busy = error.status_code in {408, 429} or (error.status_code >= 500 and error.status_code != 501)
            if not busy or error.provider_retry_hint is False:
                return None
            if error.retry_after is not None:
                wait_s = max(error.retry_after, 0.0)
        elif not (isinstance(error, theirs.ModelConnectionError) and self._link.reached):
            # A server that was never there won't be; one that was may come back.
            return None
        return wait_s if asyncio.get_running_loop().time() + wait_s < deadline else None

    def _translate(self, error: Exception, response: ModelResponse | None) -> ModelError:
        from pydantic_ai import exceptions as theirs

        who = f"the model {self.name!r}"
        if isinstance(error, theirs.ModelContextWindowExceededError):
            self._link.profile = replace(self.profile, window=max(self.profile.window // 2, 1_024))
            return ModelWindowError(
                f"{who} was sent more than its window holds; say its window in model_profile"
            )
        if isinstance(error, theirs.ModelTimeoutError):
            return ModelTimeoutError(
                f"{who} did not answer within {self._link.timeout_s:g} s; "
                "raise timeout_s in model_profile or use a faster model"
            )
        if isinstance(error, theirs.ModelConnectionError):
            return ModelUnavailableError(
                f"{who} can't be reached; check model_base_url and that the server runs"
            )
        if isinstance(error, theirs.ModelHTTPError):
            status = error.status_code
            if status in _UNSUPPORTED:
                return ModelOutputError(
                    f"{who} answered {status}: {_first_line(error)}; check the model's name"
                )
            if status in {401, 403}:
                return ModelRefusedError(f"{who} answered {status}; check model_api_key")
            return ModelUnavailableError(f"{who} answered {status}: {_first_line(error)}; try again later")
        if isinstance(error, theirs.ContentFilterError):
            return ModelRefusedError(f"{who} refused to answer; the text met its content filter")
        if response is not None and response.finish_reason == "length":
            return _CappedError(
                f"{who} was cut off at {response.usage.output_tokens:,} tokens; raise max_output in model_profile, "
                "or lower effort if it reasons"
            )
        return ModelOutputError(f"{who} sent an answer that is not of the asked form: {_first_line(error)}")


class _UnaskedError(ModelOutputError):
    """A way of asking that this model does not know; nothing was sent. To callers it is bad output."""


class _CappedError(ModelOutputError):
    """An answer that ended at its cap. Never leaves as this type's own: to callers it is bad output."""


def _messages(instructions: str, opening: str, exchanges: Sequence[Exchange]) -> list[ModelMessage]:
    """A conversation in pydantic-ai's form; equal beginnings stay equal, so that servers can keep them."""
    from pydantic_ai.messages import ModelRequest, ToolReturnPart, UserPromptPart

    messages: list[ModelMessage] = [
        ModelRequest(parts=[UserPromptPart(content=opening)], instructions=instructions)
    ]
    for number, exchange in enumerate(exchanges, 1):
        response = _response(exchange.reply, number)
        messages.append(response)
        parts: list[Any] = [
            ToolReturnPart(tool_name=call.tool_name, content=result, tool_call_id=call.tool_call_id)
            for call, result in zip(response.tool_calls, exchange.results, strict=True)
        ]
        if exchange.remark or not parts:
            parts.append(UserPromptPart(content=exchange.remark or "Go on."))
        messages.append(ModelRequest(parts=parts, instructions=instructions))
    return messages


def _response(reply: Reply, number: int) -> ModelResponse:
    """The model's own words as it sent them; of a reply that comes from a record, as far as the record has them."""
    from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart

    if reply.own is not None:
        own: ModelResponse = reply.own
        return own
    parts: list[Any] = [TextPart(content=reply.text)] if reply.text else []
    parts += [
        ToolCallPart(
            tool_name=call.name, args=dict(call.arguments or {}), tool_call_id=f"call_{number}_{place}"
        )
        for place, call in enumerate(reply.calls, 1)
    ]
    return ModelResponse(parts=parts or [TextPart(content="…")])


def _reply(response: ModelResponse) -> Reply:
    calls = []
    for call in response.tool_calls:
        try:
            arguments = call.args_as_dict(raise_if_invalid=True)
        except (ValueError, AssertionError):
            arguments = None
        calls.append(ToolCall(name=call.tool_name, arguments=arguments))
    return Reply(text=response.text or "", calls=tuple(calls), own=response)


def _spoken(reply: Reply) -> str:
    """All that a reply says, for counting."""
    return reply.text + "".join(
        f"{call.name}{json.dumps(dict(call.arguments or {}))}" for call in reply.calls
    )


def _schema_of(output: type[Any]) -> Any:
    from pydantic import TypeAdapter

    return TypeAdapter(output).json_schema()


def _over_budget(name: str, left: str) -> str:
    return f"the model {name!r} was not asked: a request might cost more than the {left} that are left"


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0][:200]

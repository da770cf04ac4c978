"""One chat model, whoever serves it, through pydantic-ai.

A type is asked for in the way that works best first: the server's own schema enforcement (small local models
succeed with nothing else), then a tool call, then a description in the prompt. The way that worked is kept: from
then on one question is one request, as those who pay for requests count them. All ways share one deadline, and the
vendors' own retries are off: they would multiply it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from recollect.errors import (
    ConfigurationError,
    ModelError,
    ModelOutputError,
    ModelRefusedError,
    ModelTimeoutError,
    ModelUnavailableError,
)
from recollect.providers.models.contract import MAX_OUTPUT_TOKENS, Answer

if TYPE_CHECKING:
    from pydantic_ai.models import Model

T = TypeVar("T")

MODES = ("native", "tool", "prompted")
#: A server that can't enforce a schema says so with one of these; anything else is a real failure.
_UNSUPPORTED = frozenset({400, 404, 405, 415, 422, 501})


def connect(
    family: str, model: str, *, name: str, base_url: str | None, api_key: str, timeout_s: float
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
    return PydanticChatModel(model=made, name=name, timeout_s=timeout_s, close=close)


class PydanticChatModel:
    """A `ChatModel` on a pydantic-ai model."""

    def __init__(self, *, model: Model[Any], name: str, timeout_s: float, close: Callable[[], Any]) -> None:
        self.name = name
        self._model = model
        self._timeout_s = timeout_s
        self._close = close
        self._kept: str | None = None

    async def answer(
        self, instructions: str, text: str, output: type[T], *, max_tokens: int = MAX_OUTPUT_TOKENS
    ) -> Answer[T]:
        """Ask in the way that worked before; else in one way after another, within one deadline."""
        failed: ModelOutputError | None = None
        try:
            async with asyncio.timeout(self._timeout_s):
                for mode in MODES if self._kept is None else (self._kept,):
                    try:
                        found = await self._ask(mode, instructions, text, output, max_tokens)
                        self._kept = mode
                        return found
                    except ModelOutputError as error:
                        # The first way is the one the server was best at: its complaint says most.
                        failed = failed or error
        except TimeoutError as error:
            if failed is not None:
                raise failed from error
            raise ModelTimeoutError(
                f"the model {self.name!r} did not answer within {self._timeout_s:g} s; "
                "raise model_timeout_s or use a faster model"
            ) from error
        assert failed is not None
        raise failed

    async def close(self) -> None:
        """Close the connections of the vendor's client."""
        await self._close()

    async def _ask(
        self, mode: str, instructions: str, text: str, output: type[T], max_tokens: int
    ) -> Answer[T]:
        from pydantic_ai import Agent, NativeOutput, PromptedOutput, ToolOutput
        from pydantic_ai.exceptions import UserError
        from pydantic_ai.settings import ModelSettings

        ways: dict[str, Any] = {"native": NativeOutput, "tool": ToolOutput, "prompted": PromptedOutput}
        settings = ModelSettings(timeout=self._timeout_s, max_tokens=max_tokens)
        if not self._reasons():
            settings["temperature"] = 0.0
        try:
            agent: Agent[object, T] = Agent(
                self._model,
                output_type=ways[mode](output),
                instructions=instructions,
                model_settings=settings,
                retries=0,
            )
            result = await agent.run(text)
        except UserError as error:  # this model's profile does not know the way
            raise ModelOutputError(f"the model {self.name!r} can't be asked by {mode!r}") from error
        except TimeoutError:
            raise
        except Exception as error:
            raise self._translate(error) from error
        usage = result.usage
        return Answer(
            value=result.output,
            input_tokens=usage.input_tokens,
            output_tokens=usage.output_tokens,
            mode=mode,
        )

    def _reasons(self) -> bool:
        """Whether the model draws its words by rules of its own, and takes no temperature."""
        profile = self._model.profile
        return any(
            profile.get(fact, False)
            for fact in ("openai_supports_reasoning", "anthropic_disallows_sampling_settings")
        )

    def _translate(self, error: Exception) -> ModelError:
        from pydantic_ai import exceptions as theirs

        who = f"the model {self.name!r}"
        if isinstance(error, theirs.ModelTimeoutError):
            return ModelTimeoutError(
                f"{who} did not answer within {self._timeout_s:g} s; raise model_timeout_s or use a faster model"
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
        return ModelOutputError(f"{who} sent an answer that is not of the asked form: {_first_line(error)}")


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0][:200]

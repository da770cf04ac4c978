"""Asking a chat model about lines of code: an answer, and the words of the text that it rests on.

The text stands between fences that nobody can guess, and secrets in it are masked before it leaves this machine. The
prompt is `prompts/llm_query.md`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING, Annotated

from recollect.codebase.secrets import mask
from recollect.providers import prices
from recollect.providers.models.contract import AtMost
from recollect.providers.prices import cost_usd
from recollect.providers.tokens import count_tokens, first_tokens
from recollect.recursion.fences import fence, new_boundary

if TYPE_CHECKING:
    from recollect.providers.models import ChatModel

#: What one request shows of the material.
MAX_INPUT_TOKENS = 6_000
#: What it is told to do with it.
_PROMPT_TOKENS = 360
_MAX_QUOTES = 6


@dataclass(frozen=True, slots=True)
class ModelReading:
    """What the model is asked for."""

    answer: Annotated[str, AtMost(1_200)]
    quotes: Annotated[list[Annotated[str, AtMost(300)]], AtMost(_MAX_QUOTES)] = field(default_factory=list)


@dataclass(frozen=True, slots=True, kw_only=True)
class AskedText:
    """What a model said about a text, and what that cost."""

    answer: str
    quotes: tuple[str, ...]
    tokens: int
    usd: float


@cache
def prompt() -> str:
    """What the model is told, with a place for the boundary."""
    return resources.files(__package__).joinpath("prompts", "llm_query.md").read_text(encoding="utf-8")


def worst_cost(model: ChatModel, *, max_tokens: int) -> tuple[int, float]:
    """The most that one question may take, in tokens and dollars."""
    return prices.worst_cost(
        model.name, counted_tokens=MAX_INPUT_TOKENS + _PROMPT_TOKENS, max_output_tokens=max_tokens
    )


async def ask_model(model: ChatModel, question: str, text: str, *, max_tokens: int) -> AskedText:
    """Ask a question about a text. Raises a `ModelError` when nothing came back."""
    boundary = new_boundary()
    asked = fence("question", first_tokens(question, 1_000), boundary)
    room = MAX_INPUT_TOKENS - count_tokens(asked)
    shown = fence("text", first_tokens(mask(text), max(room, 64)), boundary)
    answer = await model.answer(
        prompt().replace("{boundary}", boundary), f"{asked}\n\n{shown}", ModelReading, max_tokens=max_tokens
    )
    spent = answer.input_tokens + answer.output_tokens
    return AskedText(
        answer=" ".join(answer.value.answer.split()),
        quotes=tuple(one.strip() for one in answer.value.quotes[:_MAX_QUOTES] if one.strip()),
        tokens=spent,
        usd=cost_usd(model.name, input_tokens=answer.input_tokens, output_tokens=answer.output_tokens),
    )

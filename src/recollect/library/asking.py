"""Asking a chat model about a piece of text: an answer, and the words of the text that it rests on.

The text stands between fences that nobody can guess, and what comes back is a value of a form, so nothing in a document
can be more than a thing that was read. The prompts are Markdown files in `prompts/`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING, Annotated

from recollect.providers import prices
from recollect.providers.models.contract import AtMost
from recollect.providers.prices import cost_usd
from recollect.providers.tokens import count_tokens, first_tokens
from recollect.recursion.fences import fence, new_boundary

if TYPE_CHECKING:
    from recollect.providers.models import ChatModel

#: What one request shows of the material, and may say.
MAX_INPUT_TOKENS = 6_000
#: What it is told to do with it.
_PROMPT_TOKENS = 360
MAX_OUTPUT_TOKENS = 600
_MAX_QUOTES = 10


@dataclass(frozen=True, slots=True)
class ModelReading:
    """What the model is asked for."""

    answer: Annotated[str, AtMost(1_200)]
    quotes: Annotated[list[Annotated[str, AtMost(300)]], AtMost(4)] = field(default_factory=list)


@dataclass(frozen=True, slots=True, kw_only=True)
class AskedText:
    """What a model said about a text, and what that cost."""

    answer: str
    quotes: tuple[str, ...]
    input_tokens: int
    output_tokens: int
    usd: float


@cache
def prompt(name: str) -> str:
    """What the model is told, with a place for the boundary."""
    return resources.files(__package__).joinpath("prompts", f"{name}.md").read_text(encoding="utf-8")


def worst_cost(model: ChatModel | None) -> tuple[int, float]:
    """The most that one question may take, in tokens and dollars; nothing without a model."""
    if model is None:
        return 0, 0.0
    return prices.worst_cost(
        model.name, counted_tokens=MAX_INPUT_TOKENS + _PROMPT_TOKENS, max_output_tokens=MAX_OUTPUT_TOKENS
    )


async def ask_model(model: ChatModel, question: str | None, text: str) -> AskedText:
    """Ask a question about a text, or without one for what it says. Raises a `ModelError` when nothing came back."""
    boundary = new_boundary()
    parts = [] if question is None else [fence("question", first_tokens(question, 1_000), boundary)]
    room = MAX_INPUT_TOKENS - sum(count_tokens(part) for part in parts)
    parts.append(fence("text", first_tokens(text, max(room, 64)), boundary))
    told = prompt("summarize" if question is None else "query_subset")
    answer = await model.answer(
        told.replace("{boundary}", boundary), "\n\n".join(parts), ModelReading, max_tokens=MAX_OUTPUT_TOKENS
    )
    usd = cost_usd(model.name, input_tokens=answer.input_tokens, output_tokens=answer.output_tokens)
    return AskedText(
        answer=" ".join(answer.value.answer.split()),
        quotes=tuple(one.strip() for one in answer.value.quotes[:_MAX_QUOTES] if one.strip()),
        input_tokens=answer.input_tokens,
        output_tokens=answer.output_tokens,
        usd=usd,
    )

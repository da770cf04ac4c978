"""Asking a chat model about a piece of text: an answer, and the words of the text that it rests on.

The text stands between fences that nobody can guess, and what comes back is a value of a form, so nothing in a document
can be more than a thing that was read. How much of a text one request shows is the model's own: its profile says.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Annotated, Any

from recollect.providers.models.contract import AtMost
from recollect.providers.tokens import count_tokens, first_tokens
from recollect.runs.fences import fence, new_boundary, preface

if TYPE_CHECKING:
    from recollect.errors import ModelError
    from recollect.providers.models import ChatModel, Profile
    from recollect.runs.environment import Observation


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """What a model said about a text. `left_out` are tokens of the text that it was not shown."""

    answer: str
    quotes: tuple[str, ...]
    left_out: int = 0


def reading_tokens(profile: Profile) -> int:
    """Of what a reader says about a part."""
    return {"small": 600, "medium": 1_500, "large": 4_000}[profile.shape]


def worst_reading(model: ChatModel | None, tokens: int | None = None) -> tuple[int, float]:
    """The most that one question about a text of so many tokens may take; nothing without a model."""
    if model is None:
        return 0, 0.0
    profile = model.profile
    prompt_tokens = profile.part_tokens if tokens is None else min(tokens, profile.part_tokens)
    return profile.worst(prompt_tokens + 1_500, profile.output_tokens(reading_tokens(profile)))


async def ask_about(
    model: ChatModel,
    instructions: str,
    text: str,
    *,
    question: str | None = None,
    max_tokens: int | None = None,
) -> Reading:
    """Ask a question about a text, or without one for what it says. Raises a `ModelError` when nothing came back."""
    profile, boundary = model.profile, new_boundary()
    parts = [preface(boundary)]
    if question is not None:
        parts.append(fence("question", first_tokens(question, 1_000), boundary))
    size = count_tokens(text)
    room = max(profile.part_tokens - sum(count_tokens(part) for part in parts), 64)
    parts.append(fence("text", text if size <= room else first_tokens(text, room), boundary))
    # A small one is held to a few sentences, or it would ramble.
    small = profile.shape == "small"
    form: Any = ShortReading if small else LongReading
    prompt = instructions.replace(
        "{length}", "in one to three short sentences" if small else "as long as it has to be"
    )
    most = max_tokens or reading_tokens(profile)
    answer = await model.answer(prompt, "\n\n".join(parts), form, max_tokens=most)
    return Reading(
        answer=answer.value.answer.strip(),
        quotes=tuple(quote.strip() for quote in answer.value.quotes if quote.strip()),
        left_out=max(size - room, 0),
    )


def without_model(plain: Observation, error: ModelError) -> Observation:
    """What stands for the answer of a model that gave none."""
    note = f"the model did not answer ({error}); these are the lines that speak about it"
    value = {**plain.value, "note": note}
    return replace(plain, value=value, text=f"{note}\n{plain.text}", tokens=0, passing=True)


@dataclass(frozen=True, slots=True)
class ShortReading:
    """A few sentences and their quotes."""

    answer: Annotated[str, AtMost(1_200)]
    quotes: Annotated[list[Annotated[str, AtMost(300)]], AtMost(4)] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class LongReading:
    """As much as the question needs."""

    answer: str
    quotes: Annotated[list[str], AtMost(60)] = field(default_factory=list)

"""Counting what models read and wrote in a consultation, by model, and what that cost."""

from __future__ import annotations

from collections import Counter
from typing import TypeVar

from recollect.providers.models.contract import MAX_OUTPUT_TOKENS, Answer, ChatModel
from recollect.providers.prices import cost_usd, find_price

T = TypeVar("T")


class Meter:
    """The tokens of one consultation."""

    def __init__(self) -> None:
        self._tokens: Counter[str] = Counter()
        self._names: dict[str, None] = {}
        self.calls = 0

    def watch(self, model: ChatModel) -> ChatModel:
        """The same model, counted."""
        self._names[model.name] = None
        return _Metered(model, self)

    def add(self, name: str, *, input_tokens: int, output_tokens: int) -> None:
        """One answer."""
        self.calls += 1
        self._tokens[f"{name}:input"] += input_tokens
        self._tokens[f"{name}:output"] += output_tokens

    def tokens(self) -> dict[str, int]:
        """By model, and in all."""
        return {**self._tokens, "total": sum(self._tokens.values())}

    def cost_usd(self) -> float | None:
        """What it cost; None when a model that was used has no published price."""
        if any(find_price(name) is None for name in self._names if self._tokens[f"{name}:input"]):
            return None
        return round(
            sum(
                cost_usd(
                    name,
                    input_tokens=self._tokens[f"{name}:input"],
                    output_tokens=self._tokens[f"{name}:output"],
                )
                for name in self._names
            ),
            9,
        )


class _Metered:
    """A `ChatModel` whose answers are counted."""

    def __init__(self, model: ChatModel, meter: Meter) -> None:
        self._model = model
        self._meter = meter

    @property
    def name(self) -> str:
        return self._model.name

    async def answer(
        self, instructions: str, text: str, output: type[T], *, max_tokens: int = MAX_OUTPUT_TOKENS
    ) -> Answer[T]:
        answer = await self._model.answer(instructions, text, output, max_tokens=max_tokens)
        self._meter.add(
            self._model.name, input_tokens=answer.input_tokens, output_tokens=answer.output_tokens
        )
        return answer

    async def close(self) -> None:
        """Closing is the business of whoever opened it."""

"""What chat models cost, as far as their vendors publish it: for limits in dollars, and for the record of a run.

A model that is not in the table costs 0.0 here, and whoever counts says so in a note. Prices of long prompts (beyond
100,000 tokens), of cached input and of batches are not in it.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Price:
    """In US dollars for a million tokens."""

    input_usd: float
    output_usd: float


def _price(input_usd: float, output_usd: float) -> Price:
    return Price(input_usd=input_usd, output_usd=output_usd)


#: Standard prices as of November 2026, by family and model.
#: openai: developers.openai.com/api/docs/pricing; anthropic: www.anthropic.com/pricing; both as collected in the data
#: of the package genai-prices 0.2.1.
PRICES: dict[str, dict[str, Price]] = {
    "openai": {
        "gpt-4.1": _price(2, 8),
        "gpt-4.1-mini": _price(0.4, 1.6),
        "gpt-4.1-nano": _price(0.1, 0.4),
        "gpt-4o": _price(2.5, 10),
        "gpt-4o-mini": _price(0.15, 0.6),
        "gpt-5": _price(1.25, 10),
        "gpt-5-mini": _price(0.25, 2),
        "gpt-5-nano": _price(0.05, 0.4),
        "gpt-5.1": _price(1.25, 10),
        "gpt-5.2": _price(1.75, 14),
        "gpt-5.4": _price(2.5, 15),
        "gpt-5.4-mini": _price(0.75, 4.5),
        "gpt-5.4-nano": _price(0.2, 1.25),
        "gpt-5.5": _price(5, 30),
        "o3": _price(2, 8),
        "o4-mini": _price(1.1, 4.4),
    },
    "anthropic": {
        "claude-3-5-haiku": _price(0.8, 4),
        "claude-haiku-4-5": _price(1, 5),
        "claude-opus-4-1": _price(15, 75),
        "claude-opus-4-5": _price(5, 25),
        "claude-opus-5": _price(5, 25),
        "claude-sonnet-4-0": _price(3, 15),
        "claude-sonnet-4-5": _price(3, 15),
        "claude-sonnet-4-6": _price(3, 15),
        "claude-sonnet-5": _price(2, 10),
    },
}
_FREE = Price(input_usd=0.0, output_usd=0.0)
#: A vendor's names for one state of a model: gpt-5-mini-2025-08-07, claude-3-5-haiku-20241022, claude-...-latest.
_STATE = re.compile(r"-(?:\d{4}-\d{2}-\d{2}|\d{8}|latest)$")


def find_price(name: str) -> Price | None:
    """The price of a model by the name it is opened with; None when nothing is published here. Ollama's are free."""
    family, _, model = name.partition(":")
    if family == "ollama":
        return _FREE
    return PRICES.get(family, {}).get(_STATE.sub("", model))


#: A model's own vocabulary cuts texts a little differently than ours, and its server adds words around them.
TOKEN_MARGIN = 1.25
_TOKEN_EXTRA = 64


def worst_cost(name: str, *, counted_tokens: int, max_output_tokens: int) -> tuple[int, float]:
    """The most that one request can take, in tokens and dollars, by what we count of it."""
    asked = math.ceil(counted_tokens * TOKEN_MARGIN) + _TOKEN_EXTRA
    usd = cost_usd(name, input_tokens=asked, output_tokens=max_output_tokens)
    return asked + max_output_tokens, usd


def cost_usd(name: str, *, input_tokens: int, output_tokens: int) -> float:
    """What so many tokens cost; 0.0 when no price is known."""
    price = find_price(name)
    if price is None:
        return 0.0
    return (input_tokens * price.input_usd + output_tokens * price.output_usd) / 1_000_000

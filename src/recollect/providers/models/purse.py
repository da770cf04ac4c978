"""What is paid for with tokens and dollars, and the limits that nothing passes.

A run has one purse for its requests to models, counted where they are sent; what a step or a call uses is a purse of
its own below it. Before a request is sent its worst case is held in all of them, or it is not sent; afterwards what its
server says it was. A request that was cut off is counted as its worst case: somebody may have to pay for it. One that
never reached a server, or was turned away, costs nothing. What the calls of a run may use, with a model or without one,
is a purse of its budget (`runs/budget.py`).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, fields

#: Money is compared in whole billionths of a dollar: sums of floats would drift across a limit.
_PER_USD = 1_000_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Spent:
    """Requests and their tokens. Cached tokens are among the input's, reasoning is among the output's.

    `unpriced`: some of the requests were to a model without a known price, and count as 0 dollars.
    """

    requests: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    reasoning_tokens: int = 0
    usd: float = 0.0
    unpriced: bool = False

    @property
    def tokens(self) -> int:
        """To the models and from them."""
        return self.input_tokens + self.output_tokens

    def __add__(self, other: Spent) -> Spent:
        summed = {
            field.name: getattr(self, field.name) + getattr(other, field.name) for field in fields(self)
        }
        return Spent(
            **{**summed, "usd": round(self.usd + other.usd, 9), "unpriced": self.unpriced or other.unpriced}
        )


class Purse:
    """What may be spent, and what was. Nothing waits here: between check and holding no other task gets a turn."""

    def __init__(self, *, max_usd: float | None = None, max_tokens: int | None = None) -> None:
        self.max_usd = max_usd
        self.max_tokens = max_tokens
        self.by_model: dict[str, Spent] = {}
        self._above: Purse | None = None
        self._reserved = [0, 0]

    def child(self, *, max_usd: float | None = None, max_tokens: int | None = None) -> Purse:
        """A purse for one step or call: what it uses, this one uses."""
        below = Purse(max_usd=max_usd, max_tokens=max_tokens)
        below._above = self
        return below

    @property
    def spent(self) -> Spent:
        """What was spent on all models together."""
        total = Spent()
        for spent in self.by_model.values():
            total += spent
        return total

    def tokens_by_model(self) -> dict[str, int]:
        """By model, and in all; cached and reasoning tokens, which are among them, where there were any."""
        tokens: dict[str, int] = {}
        for name, spent in self.by_model.items():
            tokens |= {f"{name}:input": spent.input_tokens, f"{name}:output": spent.output_tokens}
            apart = {f"{name}:cached": spent.cached_tokens, f"{name}:reasoning": spent.reasoning_tokens}
            tokens |= {key: count for key, count in apart.items() if count}
        return {**tokens, "total": self.spent.tokens}

    def usd_left(self) -> float | None:
        """Dollars that neither are spent nor held; None without a limit."""
        left = self._left()[1]
        return None if math.isinf(left) else max(0, left) / _PER_USD

    def tokens_left(self) -> int | None:
        """Tokens that neither are spent nor held; None without a limit."""
        left = self._left()[0]
        return None if math.isinf(left) else max(0, int(left))

    def refusal(self, tokens: int, usd: float) -> str | None:
        """Which limit a request of this worst case would pass: "tokens" or "usd"."""
        most_tokens, most_usd = self._left()
        if tokens > most_tokens:
            return "tokens"
        return "usd" if _up(usd) > most_usd else None

    def hold(self, tokens: int, usd: float) -> None:
        """Set the worst case of a request aside."""
        for purse in self._chain():
            purse._reserved[0] += tokens
            purse._reserved[1] += _up(usd)

    def settle(self, name: str, reserved: tuple[int, float], spent: Spent) -> None:
        """What the request was. More than was held is counted all the same: a record must not lie."""
        for purse in self._chain():
            purse._reserved[0] -= reserved[0]
            purse._reserved[1] -= _up(reserved[1])
            purse.by_model[name] = purse.by_model.get(name, Spent()) + spent

    def _left(self) -> tuple[float, float]:
        """Tokens and billionths of a dollar; less than none where more was used than held, no end without a limit."""
        tokens = usd = math.inf
        for purse in self._chain():
            if purse.max_tokens is not None:
                tokens = min(tokens, purse.max_tokens - purse.spent.tokens - purse._reserved[0])
            if purse.max_usd is not None and math.isfinite(purse.max_usd):
                most = math.floor(round(purse.max_usd * _PER_USD, 3))
                usd = min(usd, most - round(purse.spent.usd * _PER_USD) - purse._reserved[1])
        return tokens, usd

    def _chain(self) -> Iterator[Purse]:
        purse: Purse | None = self
        while purse is not None:
            yield purse
            purse = purse._above


def _up(usd: float) -> int:
    return math.ceil(round(usd * _PER_USD, 3))


def rounded_up(usd: float) -> float:
    """To a billionth: what is held is never less than what it may be."""
    return _up(usd) / _PER_USD

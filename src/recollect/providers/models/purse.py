"""What is paid for with tokens and dollars, and the limits that nothing passes.

Whoever asks has one purse for all requests to models, counted where they are sent; a run's budget (`runs/budget.py`),
each of its steps and each of its calls has a purse below it. Before a request is sent its worst case is held in all of
them, or it is not sent; afterwards what its server says it was. A request that was cut off is counted as its worst
case: somebody may have to pay for it. One that never reached a server, or was turned away, costs nothing.
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
    """What may be spent, and what was. Nothing waits here: between check and holding no other task gets a turn.

    Amounts are tokens and billionths of a dollar.
    """

    def __init__(self, *, max_usd: float | None = None, max_tokens: int | None = None) -> None:
        self.max_usd = max_usd
        self.max_tokens = max_tokens
        self.by_model: dict[str, Spent] = {}
        self._above: Purse | None = None
        #: Spent or held, here and below.
        self._used = (0, 0)
        #: What those above keep for this one, used or not.
        self._kept = (0, 0)

    def child(
        self,
        *,
        max_usd: float | None = None,
        max_tokens: int | None = None,
        keep: tuple[int, float] = (0, 0.0),
    ) -> Purse:
        """A purse for one run, step or call: what it uses, this one uses. `keep` is set aside for it at once."""
        below = Purse(max_usd=max_usd, max_tokens=max_tokens)
        below._above = self
        if any(keep):
            below._change(kept=(keep[0], _up(keep[1])))
        return below

    @property
    def spent(self) -> Spent:
        """What was spent on all models together."""
        total = Spent()
        for spent in self.by_model.values():
            total += spent
        return total

    def used(self) -> tuple[int, float, int]:
        """Tokens, dollars and requests so far; what is still under way counts as its worst case."""
        tokens, usd = self._used
        return tokens, usd / _PER_USD, self.spent.requests

    def tokens_by_model(self) -> dict[str, int]:
        """By model, and in all; cached and reasoning tokens, which are among them, where there were any."""
        tokens: dict[str, int] = {}
        for name, spent in self.by_model.items():
            tokens |= {f"{name}:input": spent.input_tokens, f"{name}:output": spent.output_tokens}
            apart = {f"{name}:cached": spent.cached_tokens, f"{name}:reasoning": spent.reasoning_tokens}
            tokens |= {key: count for key, count in apart.items() if count}
        return {**tokens, "total": self.spent.tokens}

    def usd_left(self, *, own: bool = False) -> float | None:
        """Dollars that neither are spent nor held; None without a limit. `own`: whatever those above have."""
        left = (self._own_left() if own else self._left())[1]
        return None if math.isinf(left) else max(0, left) / _PER_USD

    def tokens_left(self, *, own: bool = False) -> int | None:
        """Tokens that neither are spent nor held; None without a limit. `own`: whatever those above have."""
        left = (self._own_left() if own else self._left())[0]
        return None if math.isinf(left) else max(0, int(left))

    def refusal(self, tokens: int, usd: float, *, own: bool = False) -> str | None:
        """Which limit a request of this worst case would pass: "tokens" or "usd". `own`: of its own limits."""
        most_tokens, most_usd = self._own_left() if own else self._left()
        if tokens > most_tokens:
            return "tokens"
        return "usd" if _up(usd) > most_usd else None

    def hold(self, tokens: int, usd: float) -> None:
        """Set the worst case of a request aside."""
        self._change(used=(tokens, _up(usd)))

    def settle(self, name: str, reserved: tuple[int, float], spent: Spent) -> None:
        """What the request was. More than was held is counted all the same: a record must not lie."""
        self._change(used=(spent.tokens - reserved[0], round(spent.usd * _PER_USD) - _up(reserved[1])))
        for purse in self._chain():
            purse.by_model[name] = purse.by_model.get(name, Spent()) + spent

    def close(self, *, read_tokens: int = 0) -> tuple[int, float, int]:
        """What it has used (`used`); what was kept for it beyond that is given back.

        What was read without a model is no model's, and is held against limits of tokens all the same.
        """
        self._change(used=(read_tokens, 0), kept=(-self._kept[0], -self._kept[1]))
        return self.used()

    def _change(self, *, used: tuple[int, int] = (0, 0), kept: tuple[int, int] = (0, 0)) -> None:
        """Add to what is used and kept; those above count the larger of the two."""
        before = self._claim()
        self._used = (self._used[0] + used[0], self._used[1] + used[1])
        self._kept = (self._kept[0] + kept[0], self._kept[1] + kept[1])
        after = self._claim()
        if self._above is not None and after != before:
            self._above._change(used=(after[0] - before[0], after[1] - before[1]))

    def _claim(self) -> tuple[int, int]:
        return max(self._used[0], self._kept[0]), max(self._used[1], self._kept[1])

    def _left(self) -> tuple[float, float]:
        """Of its own limits and of those above, which keep something for it."""
        tokens, usd = self._own_left()
        if self._above is not None:
            claim, above = self._claim(), self._above._left()
            tokens = min(tokens, above[0] + claim[0] - self._used[0])
            usd = min(usd, above[1] + claim[1] - self._used[1])
        return tokens, usd

    def _own_left(self) -> tuple[float, float]:
        """Less than none where more was used than held, no end without a limit."""
        tokens = usd = math.inf
        if self.max_tokens is not None:
            tokens = self.max_tokens - self._used[0]
        if self.max_usd is not None and math.isfinite(self.max_usd):
            usd = math.floor(round(self.max_usd * _PER_USD, 3)) - self._used[1]
        return tokens, usd

    def _chain(self) -> Iterator[Purse]:
        purse: Purse | None = self
        while purse is not None:
            yield purse
            purse = purse._above


def _up(usd: float) -> int:
    return math.ceil(round(usd * _PER_USD, 3))

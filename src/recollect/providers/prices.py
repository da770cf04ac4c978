"""What chat models cost, as far as their vendors publish it: for limits in dollars, and for the record of a run.

The prices come from the package genai-prices, which is there wherever pydantic-ai is; nothing is downloaded. A model
that it does not know has no price: it counts as 0.0, and whoever counts says so in a note.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from genai_prices.types import ModelInfo

#: The families whose vendor genai-prices has under the same name.
_VENDORS = frozenset({"openai", "anthropic"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Price:
    """In US dollars for a million tokens; of input that the server had at hand, and that it was told to keep, too.

    Where long prompts cost more, `long` is the price of a request with more than `long_from` tokens of input.
    """

    input_usd: float
    output_usd: float
    cached_usd: float | None = None
    written_usd: float | None = None
    long_from: int = 0
    long: Price | None = None

    def cost(self, *, input: int, output: int, cached: int = 0, written: int = 0) -> float:
        """Of one request. `input` includes what was `cached` and `written`."""
        if self.long is not None and input > self.long_from:
            return self.long.cost(input=input, output=output, cached=cached, written=written)
        plain = max(input - cached - written, 0)
        read = self.input_usd if self.cached_usd is None else self.cached_usd
        kept = self.input_usd if self.written_usd is None else self.written_usd
        total = plain * self.input_usd + cached * read + written * kept + output * self.output_usd
        return total / 1_000_000

    def worst(self, *, input: int, output: int) -> float:
        """The most that a request of so many tokens can cost: nothing is at hand, and all of it is kept."""
        dearest = max(self.input_usd, self.written_usd or 0.0)
        usd = (input * dearest + output * self.output_usd) / 1_000_000
        if self.long is not None and input > self.long_from:
            usd = max(usd, self.long.worst(input=input, output=output))
        return usd

    def output_within(self, usd: float, *, input: int) -> int:
        """How many tokens of output a budget allows beside so much input; less than 1 when it allows none."""
        if self.output_usd <= 0:
            return 1 << 30 if self.worst(input=input, output=0) <= usd else 0
        rate = self.long.output_usd if self.long is not None and input > self.long_from else self.output_usd
        return int((usd - self.worst(input=input, output=0)) * 1_000_000 / rate)


FREE = Price(input_usd=0.0, output_usd=0.0)


def find_price(name: str) -> Price | None:
    """The price of a model by the name it is opened with; None when none is published. Ollama's are free."""
    if name.startswith("ollama:"):
        return FREE
    published = find_published(name)
    if published is None:
        return None
    from datetime import UTC, datetime

    return _read(published.get_prices(datetime.now(tz=UTC)))


@cache
def find_published(name: str) -> ModelInfo | None:
    """What is published about a model called `family:model`; None when nothing is, or the package is not there."""
    family, _, model = name.partition(":")
    if family not in _VENDORS or not model:
        return None
    try:
        from genai_prices.data_snapshot import get_snapshot

        return get_snapshot().find_provider_model(model, None, family, None)[1]
    except (ImportError, LookupError):
        return None


def _read(prices: Any) -> Price | None:
    own = {
        name: getattr(prices, f"{name}_mtok", None)
        for name in ("input", "output", "cache_read", "cache_write")
    }
    if own["input"] is None or own["output"] is None:
        return None
    tiers = [found[0] for one in own.values() if (found := getattr(one, "tiers", None))]
    if not tiers:
        return _price({name: _usd(one) for name, one in own.items()})
    long = {name: _usd(one, long=True) for name, one in own.items()}
    return _price(
        {name: _usd(one) for name, one in own.items()},
        long=_price(long),
        long_from=min(int(tier.start) for tier in tiers),
    )


def _usd(price: Any, *, long: bool = False) -> float | None:
    if price is None:
        return None
    tiers = getattr(price, "tiers", None)
    if tiers is None:
        return float(price)
    return float(max((tier.price for tier in tiers), default=price.base) if long else price.base)


def _price(usd: dict[str, float | None], *, long: Price | None = None, long_from: int = 0) -> Price:
    return Price(
        input_usd=usd["input"] or 0.0,
        output_usd=usd["output"] or 0.0,
        cached_usd=usd["cache_read"],
        written_usd=usd["cache_write"],
        long=long,
        long_from=long_from,
    )

"""What a chat model can do and costs, and every limit that follows from it.

A profile has the model's window, the longest answer, whether it reasons, takes tools, is held to schemas, keeps a
prompt that comes again, and its price. What is published comes from genai-prices and pydantic-ai, nothing is
downloaded; settings override it, and a model that nobody knows gets a safe middle. One without a published price counts
as 0.0, and whoever counts says so in a note. No stage has a limit of its own: how much a request shows, how long an
answer may be, how many findings and steps there are is asked of the profile.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from genai_prices.types import ModelInfo

    from recollect.config import Settings


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
    tiers = [steps[0] for price in own.values() if (steps := getattr(price, "tiers", None))]
    if not tiers:
        return _price({name: _usd(price) for name, price in own.items()})
    long = {name: _usd(price, long=True) for name, price in own.items()}
    return _price(
        {name: _usd(price) for name, price in own.items()},
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


Shape = Literal["small", "medium", "large"]

#: Up to here a model is shown a briefing in each step; from there on one conversation, if it takes tools.
SMALL_WINDOW = 16_384
LARGE_WINDOW = 128_000
#: What nobody knows: most servers and models since 2025 hold this much, and a smaller one says when it is too much.
UNKNOWN_WINDOW = 32_768
UNKNOWN_OUTPUT = 4_096
#: Ollama cuts a prompt that is longer than its own setting without a word; this is twice its oldest default.
OLLAMA_WINDOW = 8_192
#: Room for thoughts that nobody sees, beside the answer: with less, the cap is often met before a word is said.
REASONING_TOKENS = 16_384
#: Below it a request is not worth sending: an answer, and thoughts before it.
LEAST_OUTPUT, LEAST_REASONING = 256, 4_096
#: A model's own vocabulary cuts texts differently than the one we count by, and its server adds words around them.
_MARGINS = {"anthropic": 1.45}
_MARGIN, _EXTRA_TOKENS = 1.25, 64
#: The longest answers of OpenAI's models, which no package has: platform.openai.com/docs/models, November 2026.
_OUTPUTS = (
    (re.compile(r"gpt-(?:[5-9]|\d\d)"), 128_000),
    (re.compile(r"o\d"), 100_000),
    (re.compile(r"gpt-4\.1|gpt-oss"), 32_768),
    (re.compile(r"(?:chat)?gpt-4o"), 16_384),
    (re.compile(r"gpt-[34]"), 4_096),
    (re.compile(r"claude-[123]-[57]"), 8_192),
    (re.compile(r"claude-[123]"), 4_096),
    (re.compile(r"claude-"), 32_000),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """One model. `window` holds the question and the answer together, in tokens of the model's own."""

    name: str
    window: int = UNKNOWN_WINDOW
    max_output: int = UNKNOWN_OUTPUT
    reasons: bool = False
    native_tools: bool = False
    schemas: bool = True
    caches: bool = False
    effort: str | None = None
    price: Price | None = None

    @property
    def shape(self) -> Shape:
        """How a planner talks to it: by briefings, by longer ones, or in one conversation with tools."""
        if self.window <= SMALL_WINDOW:
            return "small"
        return "large" if self.window >= LARGE_WINDOW and self.native_tools else "medium"

    # ---------------------------------------------------------------- what one request may show and say

    def output_tokens(self, wanted: int | None = None) -> int:
        """The cap of one request whose answer has `wanted` tokens at most, thoughts beside it."""
        usual = {"small": 1_024, "medium": UNKNOWN_OUTPUT, "large": 8_192}[self.shape]
        return self.bounded((wanted or usual) + (REASONING_TOKENS if self.reasons else 0))

    def bounded(self, tokens: int) -> int:
        """A cap as far as the model goes: its longest answer, and half of the window for small ones."""
        return max(1, min(tokens, self.max_output, self.window // 2))

    @property
    def least_output(self) -> int:
        """The lowest cap that a request is sent with when money is short."""
        return min(LEAST_REASONING if self.reasons else LEAST_OUTPUT, self.output_tokens())

    def input_tokens(self, output: int | None = None) -> int:
        """What a prompt may have by our own count, beside an answer with this cap."""
        left = self.window - (self.output_tokens() if output is None else output)
        return max(int((left - _EXTRA_TOKENS) / self._margin), 512)

    def counted(self, tokens: int) -> int:
        """The most that so many tokens of our count are in the model's own."""
        return math.ceil(tokens * self._margin) + _EXTRA_TOKENS

    @property
    def _margin(self) -> float:
        return _MARGINS.get(self.name.partition(":")[0], _MARGIN)

    # ---------------------------------------------------------------- what a run may show and keep

    @property
    def part_tokens(self) -> int:
        """Of a text that the model is asked about, beside instructions and a question."""
        return max(self.input_tokens() - 1_500, 512)

    @property
    def result_chars(self) -> int:
        """Of what one call gives back. A briefing cuts it to what fits; a conversation has to hold it beside others."""
        most = self.part_tokens // 2 * 3 if self.shape == "large" else self.part_tokens * 4
        return min(max(most, 6_000), 2_000_000)

    @property
    def findings(self) -> int:
        """How many findings an answer is written from: 120 tokens each, in half of the room."""
        return max(min(self.part_tokens // 240, 1_000), 8)

    @property
    def findings_per_step(self) -> int:
        """How many a single answer may bring: each is about 100 tokens of output."""
        return max(min(self.output_tokens() // 128, 64), 8)

    @property
    def steps(self) -> int:
        """Requests for a next step in one run: weak models go round in circles, strong ones work through."""
        return {"small": 10, "medium": 16, "large": 40}[self.shape]

    @property
    def answer_tokens(self) -> int:
        """Of the answer that a person reads."""
        return {"small": 800, "medium": 2_000, "large": 6_000}[self.shape]

    # ---------------------------------------------------------------- money

    def cost(self, *, input: int, output: int, cached: int = 0, written: int = 0) -> float:
        """What a request cost; 0.0 when no price is known."""
        if self.price is None:
            return 0.0
        return self.price.cost(input=input, output=output, cached=cached, written=written)

    def worst(self, counted_tokens: int, output: int) -> tuple[int, float]:
        """The most that one request can take, in tokens and dollars, by what we count of it and its cap."""
        input = self.counted(counted_tokens)
        return input + output, 0.0 if self.price is None else self.price.worst(input=input, output=output)

    def cap_within(self, usd: float | None, counted_tokens: int, wanted: int) -> int | None:
        """The cap that a budget allows, up to `wanted`; None when a request with it is not worth sending."""
        if usd is None or self.price is None:
            return wanted
        allowed = min(self.price.output_within(usd, input=self.counted(counted_tokens)), wanted)
        return allowed if allowed >= min(self.least_output, wanted) else None


def profile_of(name: str, settings: Settings | None = None) -> Profile:
    """The profile of a model by the name it is opened with; what is set goes before what is published."""
    profile = _published(name)
    if settings is None:
        return profile
    facts = settings.model_profile
    given: dict[str, Any] = {
        "window": facts.window,
        "max_output": facts.max_output,
        "effort": facts.effort,
        "native_tools": facts.tools,
    }
    if facts.effort is not None:
        given["reasons"] = facts.effort != "none"
    if facts.input_usd is not None and facts.output_usd is not None:
        given["price"] = Price(input_usd=facts.input_usd, output_usd=facts.output_usd)
    set_by_hand = {field: value for field, value in given.items() if value is not None}
    if "window" in set_by_hand and "max_output" not in set_by_hand and profile.max_output == UNKNOWN_OUTPUT:
        # A large window that somebody vouches for comes with answers to match.
        set_by_hand["max_output"] = max(UNKNOWN_OUTPUT, min(set_by_hand["window"] // 4, 32_768))
    if "window" in set_by_hand and "native_tools" not in set_by_hand:
        # Whoever serves a large window serves tools.
        set_by_hand["native_tools"] = profile.native_tools or set_by_hand["window"] >= LARGE_WINDOW
    return replace(profile, **set_by_hand)


def _published(name: str) -> Profile:
    family, _, model = name.partition(":")
    if family == "ollama":
        return Profile(name=name, window=OLLAMA_WINDOW, max_output=OLLAMA_WINDOW // 4, price=find_price(name))
    published = find_published(name)
    if published is None:
        return Profile(name=name, schemas=family != "anthropic")
    known = _vendor_profile(family, model)
    output = known.get("anthropic_max_output_tokens") or next(
        (most for form, most in _OUTPUTS if form.match(model)), UNKNOWN_OUTPUT
    )
    return Profile(
        name=name,
        window=published.context_window or UNKNOWN_WINDOW,
        max_output=int(output),
        reasons=bool(known.get("thinking_enabled_by_default")),
        native_tools=bool(known.get("supports_tools", True)),
        schemas=bool(known.get("supports_json_schema_output")),
        caches=family == "anthropic" or model.startswith(("gpt-4.1", "gpt-4o", "gpt-5", "gpt-6", "o")),
        price=find_price(name),
    )


def _vendor_profile(family: str, model: str) -> dict[str, Any]:
    try:
        if family == "anthropic":
            from pydantic_ai.profiles.anthropic import anthropic_model_profile

            return dict(anthropic_model_profile(model) or {})
        from pydantic_ai.profiles.openai import openai_model_profile

        return dict(openai_model_profile(model) or {})
    except ImportError:
        return {}

"""Why a memory was recalled, in a sentence made from its signals."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING

from recollect.retrieval.rank.signals import WEIGHED

if TYPE_CHECKING:
    from recollect.domain.query import Understanding

_REASONS = {
    "semantic": "is close in meaning",
    "lexical": "shares words with the question",
    "neighbours": "stands beside turns that match",
    "conversation": "belongs to a conversation about it",
    "speaker": "was said by the one asked about",
    "linked": "continues what another hit says",
    "entity": "names what the question names",
    "temporal": "is recent",
    "importance": "is more important than most",
    "reinforcement": "has proved useful",
    "summary": "sums up other memories",
}
#: Less than this share of the whole explains nothing.
_WORTH_SAYING = 0.1
# Of a strength from 0 to 1: below it, a memory is only near the period asked for.
_INSIDE = 0.999
_PREPOSITION = re.compile(r"^(?:in|on|at|during|from|of|within)\s+", re.IGNORECASE)


def explain(signals: Mapping[str, float], asked: Understanding | None = None) -> str:
    """For example "recalled because it mentions Acme (entity 0.40) and is from last month (temporal 0.20)".

    Strongest first; with the understanding of the question, in its words.
    """
    total = sum(value for value in signals.values() if value > 0)
    if total <= 0:
        return "recalled without any matching signal"
    ranked = sorted(signals.items(), key=lambda item: -item[1])
    said = [(name, value) for name, value in ranked if value >= _WORTH_SAYING * total]
    reasons = [f"{_reason(name, value, asked)} ({name} {value:.2f})" for name, value in said]
    if len(reasons) > 1:
        reasons[-2:] = [f"{reasons[-2]} and {reasons[-1]}"]
    return f"recalled because it {', '.join(reasons)}"


def _reason(name: str, value: float, asked: Understanding | None) -> str:
    plain = _REASONS.get(name, f"has the signal {name}")
    if asked is None:
        return plain
    if name == "entity" and len(asked.entities) == 1:
        return f"mentions {asked.entities[0].name}"
    if name == "temporal" and asked.time_range is not None:
        phrase = _PREPOSITION.sub("", asked.time_range.phrase.strip())
        weight = asked.strategy.weights.get(WEIGHED["temporal"], 0.0)
        return f"is from {phrase}" if value >= _INSIDE * weight else f"is from around {phrase}"
    return plain

"""Why a memory was recalled, in a sentence made from its signals."""

from __future__ import annotations

from collections.abc import Mapping

_REASONS = {
    "semantic": "is close in meaning",
    "lexical": "shares words with the question",
    "neighbours": "stands beside turns that match",
    "conversation": "belongs to a conversation about it",
    "speaker": "was said by the one asked about",
}
#: Less than this share of the whole explains nothing.
_WORTH_SAYING = 0.1


def explain(signals: Mapping[str, float]) -> str:
    """For example "recalled because it shares words with the question (lexical 0.91)", strongest first."""
    total = sum(value for value in signals.values() if value > 0)
    if total <= 0:
        return "recalled without any matching signal"
    ranked = sorted(signals.items(), key=lambda item: -item[1])
    said = [(name, value) for name, value in ranked if value >= _WORTH_SAYING * total]
    reasons = [f"{_REASONS.get(name, f'has the signal {name}')} ({name} {value:.2f})" for name, value in said]
    if len(reasons) > 1:
        reasons[-2:] = [f"{reasons[-2]} and {reasons[-1]}"]
    return f"recalled because it {', '.join(reasons)}"

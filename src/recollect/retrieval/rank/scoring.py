"""Everything that counts for a candidate, brought together in one score.

What a memory says decides whether it is relevant (`relevance`), with what it inherits from the hits that lead to it
and a bonus for being about what the question names. Time, importance, proven use and being a summary then
order what is relevant, and what is not: they never carry a memory over the default threshold, in either direction.
So a store full of fresh and important memories still answers "nothing" to a question about nothing in it.

The strategy's weights say how much each of them counts against the content. Contributions stay apart by name,
and `explain` makes a sentence of them: why a memory was recalled.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from recollect.domain.query import Understanding
from recollect.retrieval.rank.calibration import RELEVANT, Calibration, scores
from recollect.retrieval.rank.pool import Floats, Pool
from recollect.retrieval.rank.relevance import FUSED, Relevance, inherited, measure_relevance, total
from recollect.retrieval.rank.signals import (
    WEIGHED,
    asks_only_when,
    is_summary,
    measure_signals,
    temporal_relevance,
)

#: The names of all signals, in the order in which they are explained; each can be turned off.
SIGNALS = (*FUSED, "linked", "entity", "temporal", "importance", "reinforcement", "summary")

# What a full signal adds to the relevance when its weight equals that of the content. With the weights of the table a
# memory about the entity asked for gains 0.8, one of today 0.34 to 0.67 over one of long ago.
_REACH = {"entity": 0.5, "temporal": 0.8, "importance": 0.6, "reinforcement": 1.0}
# Learned weights may leave next to nothing to the content; it still counts.
_LEAST_CONTENT_WEIGHT = 0.1
_GREATEST_RATIO = 2.0
# Summaries say more in less; 0.1 is what a factor of 1.15 does to a memory that is just relevant.
_SUMMARY = 0.1
# The most that the ordering signals add or take together, and the distance from the threshold, and from nothing at
# all, at which they do so fully. It is the greater of the two, so that nothing ever arrives there.
_MOST = 0.8
_ROOM = 1.0
# What likeness gains where an answer is taken for granted.
_PRESUPPOSED = 0.8
# What a question for a period alone makes of whatever happened in it.
_IN_PERIOD = RELEVANT + 0.3


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """What the judge weighed, by row, and which rows others outdate.

    `relevance` is the ranking's, from before. `bridged`: memories lead to one another, so that none answers alone.
    """

    evidence: Mapping[int, Mapping[str, float]]
    outdated_by: Mapping[int, int]
    relevance: Floats
    bridged: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranking:
    """The verdict on a pool: per candidate the score, the relevance behind it and what it comes from.

    `signals` are contributions as they are explained: the strategy's weight times the strength. `raw` has what the
    weights multiply, under the names that strategies weigh, for learning. `open_share` is the part of the question
    that a candidate's own words leave open. `judged` is there after the judge: score and relevance are its then.
    """

    score: Floats
    relevance: Floats
    signals: Mapping[str, Floats]
    raw: Mapping[str, Floats] = field(default_factory=dict)
    open_share: Floats = field(default_factory=lambda: np.zeros(0))
    judged: Judged | None = None


def rank(
    pool: Pool,
    *,
    calibration: Calibration,
    understanding: Understanding | None = None,
    query: str | None = None,
    off: Collection[str] = (),
) -> Ranking:
    """Weigh every candidate for the question; `off` names signals to leave out.

    With a bare `query` only what memories say counts.
    """
    text = understanding.query if understanding is not None else query or ""
    content = measure_relevance(pool, query=text, calibration=calibration, off=off)
    if understanding is None:
        return Ranking(
            score=scores(content.total),
            relevance=content.total,
            signals=content.signals,
            open_share=content.open_share,
        )
    return _weigh(pool, content, understanding, off)


def presupposing(ranking: Ranking) -> Ranking:
    """The same ranking for a question that takes an answer for granted in each group it is put to.

    "Compare X across all teams" supposes that most teams have something to say; what is then the best of a team is far
    likelier to be about X than as much likeness in a store that was merely asked. The judge was trained on questions,
    and takes the best of a team for beside the point where a topic is all that it is asked: on the made-up organisation
    of `bench aggregation` it finds 89 % of the teams that speak of a topic, with the ranking where it is silent 92 %.
    """
    relevance = ranking.relevance + _PRESUPPOSED * (ranking.relevance > 0)
    return replace(ranking, relevance=relevance, score=scores(relevance))


def compute_memory_score(
    content: Floats, strengths: Mapping[str, Floats], weights: Mapping[str, float]
) -> Floats:
    """The relevance of each memory: what it says, moved by the strength of every other signal.

    `strengths` go by our names; `summary` has no weight of its own.
    """
    moved = {
        name: _REACH[name] * _ratio(weights, WEIGHED[name]) * strengths[name]
        for name in WEIGHED
        if name in strengths
    }
    relevance = content + moved.pop("entity", 0.0)
    ordering = total({**moved, "summary": _SUMMARY * strengths.get("summary", np.zeros(len(content)))})
    return relevance + _within_bounds(relevance, np.clip(ordering, -_MOST, _MOST))


def proven(ranking: Ranking, asked: Understanding, table: Mapping[str, float]) -> Floats:
    """What importance, proven use and learned weights add to each candidate.

    Age counts only as far as the weights were learned to differ from the table's: what is newer is decided elsewhere.
    """
    weights = asked.strategy.weights
    learned = _ratio(weights, WEIGHED["temporal"]) - _ratio(table, WEIGHED["temporal"])
    return (
        _ratio(weights, "importance") * ranking.raw["importance"]
        + _ratio(weights, "reinforcement") * ranking.raw["reinforcement"]
        + learned * ranking.raw[WEIGHED["temporal"]]
    )


def _weigh(pool: Pool, content: Relevance, asked: Understanding, off: Collection[str]) -> Ranking:
    weights = asked.strategy.weights
    strengths = measure_signals(pool, asked, off=off)
    if "summary" not in off:
        strengths["summary"] = is_summary(pool).astype(np.float64)
    led = np.zeros(len(pool))
    if "linked" not in off:
        entity = _REACH["entity"] * _ratio(weights, WEIGHED["entity"]) * strengths["entity"]
        led = inherited(pool, content.total + entity, content.open_share)
    relevance = compute_memory_score(content.total + led, strengths, weights)
    if "temporal" not in off and asks_only_when(asked):
        inside = temporal_relevance(pool, asked.time_range, now=asked.now) >= 1.0
        relevance = np.where(
            inside & (pool.event_at is not None), np.maximum(relevance, _IN_PERIOD), relevance
        )
    said = _explained({**content.signals, "linked": led}, strengths, weights)
    return Ranking(
        score=scores(relevance),
        relevance=relevance,
        signals=said,
        raw=_raw(content.total + led, strengths),
        open_share=content.open_share,
    )


def _raw(content: Floats, strengths: Mapping[str, Floats]) -> dict[str, Floats]:
    """What the strategy's weights multiply: but for the bounds, their weighted sum gives the order of `relevance`.

    Learning replays rankings with other weights from these; a scale of another kind would prove nothing.
    """
    return {"semantic_similarity": content} | {WEIGHED[n]: _REACH[n] * strengths[n] for n in WEIGHED}


def _within_bounds(relevance: Floats, change: Floats) -> Floats:
    """A change that leaves each candidate on its side of the threshold, and what has no relevance without.

    Towards the threshold it shrinks with the distance left, which keeps the order; away from it, it counts in full.
    """
    away = (relevance >= RELEVANT) == (change >= 0)
    room = np.where(away, 1.0, np.minimum(np.abs(relevance - RELEVANT) / _ROOM, 1.0))
    bounded: Floats = change * room * np.clip(relevance / _ROOM, 0.0, 1.0)
    return bounded


def _ratio(weights: Mapping[str, float], name: str) -> float:
    """How much a signal counts against the content."""
    content = max(weights.get("semantic_similarity", 0.0), _LEAST_CONTENT_WEIGHT)
    return min(max(weights.get(name, 0.0), 0.0) / content, _GREATEST_RATIO)


def _explained(
    content: Mapping[str, Floats], strengths: Mapping[str, Floats], weights: Mapping[str, float]
) -> dict[str, Floats]:
    """Contributions in the strategy's terms: weight times strength; the parts of the content share its weight."""
    whole = total(content)
    scale = weights.get("semantic_similarity", 0.0) * scores(whole) / np.maximum(whole, 1e-9)
    said = {name: part * scale for name, part in content.items()}
    said |= {name: weights.get(WEIGHED[name], 0.0) * strengths[name] for name in WEIGHED}
    said["summary"] = _SUMMARY * strengths.get("summary", np.zeros(len(whole)))
    return {name: said[name] for name in SIGNALS}


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

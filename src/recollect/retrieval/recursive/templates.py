"""What a planner without a language model can choose from: the splits that fit a question, with calls filled in.

Features describe the situation, between 0 and 1: the kind of question, what was found, what it would cost. They hold no
word of the question, so what is learned from one question serves another.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from recollect.domain.names import entity_key
from recollect.retrieval.recursive.decompose import Decomposition
from recollect.retrieval.recursive.gathered import AggregationStrategy, Gathered
from recollect.runs.environment import Action

Calls = tuple[tuple[str, Mapping[str, Any]], ...]

#: Entities of the best hits that one hop follows, and how many hops a run makes at one depth.
_BRIDGES = 3
_HOPS = 2
#: A look reads about as much as the others; forty scopes at once read four times that.
_LOOK_COST = 0.2
#: What filters let go of: hits that nobody would call related.
_UNRELATED = 0.3


@dataclass(slots=True)
class Progress:
    """What was tried for one question of a run, and what came of it."""

    used: set[str] = field(default_factory=set)
    drilled: tuple[str, ...] | None = None
    bridged: set[str] = field(default_factory=set)
    hops: int = 0
    looked: bool = False
    new: int = 0
    hits: int = 0

    def note(self, *, new: int, hits: int) -> None:
        """A look came back."""
        self.looked = True
        self.new, self.hits = new, hits

    @property
    def gained(self) -> float:
        """The share of the last look that was new."""
        return self.new / self.hits if self.hits else 0.0


def _offer(template: str, calls: Calls, cost: float, thought: str, *, done: bool = False) -> Action:
    return Action(
        template=template, calls=calls, features={"cost": min(cost, 1.0)}, thought=thought, done=done
    )


def propose(
    split: Decomposition,
    progress: Progress,
    gathered: Gathered,
    *,
    depth: int,
    step: int,
    limit: int,
    now: datetime,
    max_depth: int,
) -> list[Action]:
    """The actions that make sense now. While scopes that were drilled down to wait, searching them is the only one."""
    if progress.drilled and "scopes" not in progress.used:
        call = ("search_layer", {"query": split.topic, "scopes": list(progress.drilled)})
        offers = [_offer("by_scope", (call,), _scopes_cost(len(progress.drilled)), "search each scope")]
    else:
        offers = [*_looks(split, progress), *_hops(split, progress, gathered, depth, max_depth)]
        if progress.looked and not _owes(split, progress):
            offers += [*_filters(split, progress, gathered, limit, now), _ending(split, gathered, depth)]
    shared = _features(split, progress, gathered, depth=depth, step=step, limit=limit)
    return [
        replace(
            offer, features={**shared, **offer.features, "repeated": float(offer.template in progress.used)}
        )
        for offer in offers
    ]


def _owes(split: Decomposition, progress: Progress) -> bool:
    """Whether a question about scopes, sides or periods was not put to them: no single look stands for all of them."""
    if split.groups and split.to_layer is not None and "by_scope" not in progress.used:
        return True
    if split.sides and "by_entity" not in progress.used:
        return True
    return bool(split.periods) and "by_period" not in progress.used


def _looks(split: Decomposition, progress: Progress) -> list[Action]:
    """The splits that were not tried yet."""
    offers: list[Action] = []
    calls: Calls
    if "search" not in progress.used:
        call = ("search_layer", {"query": split.query})
        offers.append(_offer("search", (call,), _LOOK_COST, "search the whole"))
    if split.groups and "by_scope" not in progress.used and split.to_layer is not None:
        parameters = {
            "to_layer": split.to_layer.value,
            "from_layer": split.from_layer.value if split.from_layer else None,
            "filter": split.scope_filter,
        }
        cost = _scopes_cost(len(split.groups))
        thought = f"ask each of {len(split.groups)} scopes"
        offers.append(_offer("by_scope", (("drill_down", parameters),), cost, thought))
    if split.sides and "by_entity" not in progress.used:
        calls = tuple(
            ("recursive_call", {"sub_query": side.query, "group": side.label, "split": "by_entity"})
            for side in split.sides
        )
        offers.append(_offer("by_entity", calls, _cost(calls), "ask of each side"))
    if split.periods and "by_period" not in progress.used:
        periods = [
            {"since": period.start.isoformat(), "until": period.end.isoformat(), "label": period.phrase}
            for period in split.periods
            if period.start is not None and period.end is not None
        ]
        calls = (("search_layer", {"query": split.topic, "periods": periods}),)
        offers.append(_offer("by_period", calls, _scopes_cost(len(periods)), "ask of each period"))
    if split.clauses and "parts" not in progress.used:
        calls = tuple(("recursive_call", {"sub_query": clause, "split": "parts"}) for clause in split.clauses)
        offers.append(_offer("parts", calls, _cost(calls), "ask part by part"))
    return offers


def _hops(
    split: Decomposition, progress: Progress, gathered: Gathered, depth: int, max_depth: int
) -> list[Action]:
    """What the best hits name and the question does not: each becomes a question of its own."""
    if not split.hops or not progress.looked or progress.hops >= _HOPS or depth + 1 > max_depth:
        return []
    question = entity_key(split.query)
    bridges: dict[str, str] = {}
    for item in gathered.held[:5]:
        for name in item.entities:
            key = entity_key(name)
            if key and key not in question and key not in progress.bridged:
                bridges.setdefault(key, name)
    chosen = list(bridges.values())[:_BRIDGES]
    if not chosen:
        return []
    calls = tuple(
        ("recursive_call", {"sub_query": f"{name} {split.topic}", "split": "bridge", "bridge": name})
        for name in chosen
    )
    return [_offer("bridge", calls, _cost(calls), "follow what the hits name")]


def _filters(
    split: Decomposition, progress: Progress, gathered: Gathered, limit: int, now: datetime
) -> list[Action]:
    """What may be let go of, where there is more than twice what is wanted."""
    if len(gathered) <= 2 * limit:
        return []
    offers = []
    if "filter_relevance" not in progress.used:
        call: tuple[str, Mapping[str, Any]] = ("filter_by_relevance", {"min_score": _UNRELATED})
        offers.append(("filter_relevance", call, "drop what is unrelated"))
    if split.recent and "filter_recency" not in progress.used:
        # As old as the last of those that there is room for: what is recent is a matter of what there is.
        newest = sorted((item.hit.created_at for item in gathered), reverse=True)[limit - 1]
        days = max((now - newest).total_seconds() / 86_400, 0.0) + 0.01
        offers.append(("filter_recency", ("filter_by_recency", {"max_age_days": days}), "drop what is old"))
    return [_offer(name, (call,), 0.0, thought) for name, call, thought in offers]


def _ending(split: Decomposition, gathered: Gathered, depth: int) -> Action:
    if depth > 0 or not len(gathered):
        return _offer("stop", (), 0.0, "this is answered", done=True)
    strategy = AggregationStrategy.COMBINE
    if split.groups or split.sides or split.periods:
        strategy = (
            AggregationStrategy.COMPARE if split.signals.has_comparison else AggregationStrategy.SUMMARIZE
        )
    call = ("aggregate", {"strategy": strategy.value})
    return _offer("aggregate", (call,), 0.0, "bring it together", done=True)


def _features(
    split: Decomposition, progress: Progress, gathered: Gathered, *, depth: int, step: int, limit: int
) -> dict[str, float]:
    wanted = [group.label for group in split.groups]
    wanted += [side.label for side in split.sides] + [period.phrase for period in split.periods]
    covered = len(gathered.groups.intersection(wanted)) / len(wanted) if wanted else float(len(gathered) > 0)
    return {
        "bias": 1.0,
        "comparison": float(split.signals.has_comparison),
        "aggregation": float(split.signals.has_aggregation),
        "temporal": float(bool(split.periods)),
        "multi_scope": float(bool(split.groups)),
        "multi_entity": float(bool(split.sides)),
        "multi_hop": float(split.hops),
        "long": min(split.signals.query_length / 40, 1.0),
        "depth": min(depth / 3, 1.0),
        "step": min(step / 6, 1.0),
        "found": min(len(gathered) / max(limit, 1), 1.0),
        "covered": covered,
        "gained": progress.gained,
    }


def _cost(calls: Calls) -> float:
    return _LOOK_COST * len(calls)


def _scopes_cost(scopes: int) -> float:
    return _LOOK_COST * (1 + scopes / 10)

"""What the looks of a run have found so far, and how it is brought together at the end.

A memory that several looks find is kept once, with its best score. What it speaks for (`group`) is said by the split
that it answers best; a split knows better than the plain search that found it too.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum
from uuid import UUID

from recollect.domain.learning import ShownHit
from recollect.domain.names import entity_key
from recollect.domain.results import Hit
from recollect.text.terms import query_terms

#: Share of a text's words from which on another text says it already.
_SAME = 0.8
_NUMBER = re.compile(r"\d+")
#: Groups that a note names.
_NAMED = 10


class AggregationStrategy(StrEnum):
    """How the hits of many looks become one list."""

    COMBINE = "combine"
    COMPARE = "compare"
    SUMMARIZE = "summarize"


@dataclass(frozen=True, slots=True, kw_only=True)
class Held:
    """A hit, what learning hears of it, the entities it names, and whether a split gave its group."""

    hit: Hit
    shown: ShownHit
    entities: tuple[str, ...]
    split: bool


class Gathered:
    """The hits of a run, each once."""

    def __init__(self) -> None:
        self._held: dict[UUID, Held] = {}

    def __len__(self) -> int:
        return len(self._held)

    def __iter__(self) -> Iterator[Held]:
        return iter(list(self._held.values()))

    @property
    def held(self) -> list[Held]:
        """All of them, the best first."""
        return sorted(self._held.values(), key=_best_first)

    @property
    def groups(self) -> set[str]:
        """What there is something for."""
        return {item.hit.group for item in self._held.values()}

    def add(
        self,
        hits: Sequence[Hit],
        shown: Sequence[ShownHit],
        entities: Mapping[UUID, tuple[str, ...]],
        *,
        group: str | None = None,
        split: bool = False,
        worth: float = 1.0,
    ) -> int:
        """Keep what a look found, and return how many were new. `worth` scales what was reached indirectly."""
        new = 0
        for hit, seen in zip(hits, shown, strict=True):
            if worth != 1.0:
                hit = replace(hit, score=round(hit.score * worth, 4))
            if group is not None:
                hit = replace(hit, group=group)
            known = self._held.get(hit.id)
            new += known is None
            named = entities.get(hit.id, ())
            if known is None:
                self._held[hit.id] = Held(hit=hit, shown=seen, entities=named, split=split)
                continue
            best = hit if hit.score > known.hit.score else known.hit
            if known.split == split:
                label = _spoken_for(named or known.entities, best.group, (known.hit.group, hit.group))
            else:
                label = (known.hit if known.split else hit).group
            self._held[hit.id] = Held(
                hit=replace(best, group=label),
                shown=seen if best is hit else known.shown,
                entities=named or known.entities,
                split=known.split or split,
            )
        return new

    def keep(self, wanted: Callable[[Hit], bool]) -> int:
        """Let go of the other hits; returns how many went."""
        before = len(self._held)
        self._held = {id: item for id, item in self._held.items() if wanted(item.hit)}
        return before - len(self._held)

    def label(self, groups: Mapping[UUID, str], *, but: Collection[str]) -> None:
        """Say what hits speak for, `but` for those that speak for one of these already."""
        for id, group in groups.items():
            item = self._held[id]
            if item.hit.group not in but:
                self._held[id] = replace(item, hit=replace(item.hit, group=group))

    def content_hash(self) -> str:
        """Changes when anything is added or let go."""
        digest = hashlib.blake2b(digest_size=16)
        for id in sorted(self._held):
            digest.update(id.bytes)
        return digest.hexdigest()


def _spoken_for(entities: Sequence[str], best: str, groups: Sequence[str]) -> str:
    """Of the groups whose looks found a memory the one that it names; the better look's when it names all or none."""
    keys = {entity_key(entity) for entity in entities}
    named = {group for group in groups if entity_key(group) in keys}
    return named.pop() if len(named) == 1 else best


def aggregate(
    held: Sequence[Held],
    strategy: AggregationStrategy,
    *,
    limit: int,
    asked: Collection[str] = frozenset(),
) -> list[Held]:
    """The hits to return: by score, or the best of each group in turn, so that every group has its say.

    `asked` names the groups that the question was about; what speaks for none of them comes after those that do. A
    summary has no room for what another one of its group says already.
    """
    ordered = sorted(held, key=_best_first)
    if strategy is AggregationStrategy.SUMMARIZE:
        ordered = _condensed(ordered)
    if strategy is not AggregationStrategy.COMBINE:
        inside = [item for item in ordered if not asked or item.hit.group in asked]
        ordered = [*_in_turn(inside), *(item for item in ordered if asked and item.hit.group not in asked)]
    chosen = ordered[:limit]
    return sorted(chosen, key=lambda item: (item.hit.layer.precedence, -item.hit.score))


def _best_first(item: Held) -> tuple[float, int, float, UUID]:
    hit = item.hit
    return (-hit.score, hit.layer.precedence, -hit.created_at.timestamp(), hit.id)


def _in_turn(ordered: Sequence[Held]) -> list[Held]:
    turns: dict[str, int] = {}
    keyed = []
    for place, item in enumerate(ordered):
        turn = turns[item.hit.group] = turns.get(item.hit.group, -1) + 1
        keyed.append((turn, place, item))
    return [item for _, _, item in sorted(keyed, key=lambda entry: entry[:2])]


def _condensed(ordered: Sequence[Held]) -> list[Held]:
    """Without what repeats a better one of its group: the same numbers, and the same words but for a few."""
    kept: list[Held] = []
    words_of: dict[tuple[str, frozenset[str]], list[set[str]]] = {}
    for item in ordered:
        words = set(query_terms(item.hit.text))
        known = words_of.setdefault((item.hit.group, frozenset(_NUMBER.findall(item.hit.text))), [])
        if not any(words and len(words & other) >= _SAME * len(words) for other in known):
            known.append(words)
            kept.append(item)
    return kept


def missing_groups(asked: Collection[str], chosen: Sequence[Held], limit: int) -> list[str]:
    """What to say of groups that the question is about and the answer has nothing of."""
    absent = sorted(set(asked) - {item.hit.group for item in chosen})
    if not absent:
        return []
    more = f" and {len(absent) - _NAMED} more" if len(absent) > _NAMED else ""
    listed = f"{', '.join(absent[:_NAMED])}{more}"
    if len(chosen) < limit:
        return [f"nothing was found for {listed}"]
    return [f"the limit of {limit} left no room for {listed}; a higher one shows whether there is something"]


def older_than(now: datetime, days: float) -> datetime:
    """The moment so many days ago; the calendar's beginning when that is further back than it goes."""
    try:
        return now - timedelta(days=days)
    except OverflowError:
        return datetime.min.replace(tzinfo=now.tzinfo)

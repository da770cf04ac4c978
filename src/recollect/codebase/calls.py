"""Which definitions use which, and the path that a question follows along their calls.

A name says whom a call means as far as it goes: a definition of the same file, else each of the few that carry the
name. Knows numbers of definitions only; what they are worth is `definitions.py`'s business.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from recollect.codebase.index import CodeIndex, Definition

Array = NDArray[Any]

#: A name that more definitions carry says nothing about which of them is meant.
_FEW = 4
#: A name that is passed around is weaker than a call.
_USE = 0.5
#: Definitions that hold calls.
_HOLDERS = frozenset("function method class interface struct enum trait module namespace macro".split())


class Calls:
    """Edges between definitions, by their place in the list they were made from; `called`: not a mere mention."""

    def __init__(self, sources: Array, targets: Array, weights: Array, called: Array) -> None:
        self.sources = sources
        self.targets = targets
        self.weights = weights
        self.called = called

    @classmethod
    def between(cls, index: CodeIndex, definitions: Sequence[Definition]) -> Calls:
        """The calls and uses between these definitions."""
        named: dict[str, list[int]] = {}
        by_path: dict[str, list[int]] = {}
        for number, definition in enumerate(definitions):
            named.setdefault(definition.symbol.name, []).append(number)
            by_path.setdefault(definition.path, []).append(number)
        edges: dict[tuple[int, int], float] = {}
        called: set[tuple[int, int]] = set()
        for path, own in by_path.items():
            symbols = index.symbols(path)
            if symbols is None:
                continue
            holder = _holders(definitions, own, symbols.lines)
            for use in symbols.references:
                targets = named.get(use.name) if use.kind != "import" else None
                source = holder[use.line] if targets and use.line < len(holder) else -1
                if not targets or source < 0:
                    continue
                targets = [number for number in targets if definitions[number].path == path] or targets
                if source in targets or len(targets) > _FEW:
                    continue
                weight = (_USE if use.kind == "use" else 1.0) / len(targets)
                for target in targets:
                    edges[source, target] = max(edges.get((source, target), 0.0), weight)
                    if use.kind == "call":
                        called.add((source, target))
        pairs = np.array(list(edges), np.int64).reshape(-1, 2)
        calls = np.array([pair in called for pair in edges], np.bool_)
        return cls(pairs[:, 0], pairs[:, 1], np.array(list(edges.values())), calls)

    def near(self, worth: Array) -> Array:
        """What the best neighbour of each definition is worth: the best caller and the best callee together."""
        callers, callees = np.zeros(len(worth)), np.zeros(len(worth))
        np.maximum.at(callers, self.targets, worth[self.sources] * self.weights)
        np.maximum.at(callees, self.sources, worth[self.targets] * self.weights)
        both: Array = callers + callees
        return both


def _holders(definitions: Sequence[Definition], own: Sequence[int], lines: int) -> list[int]:
    """The innermost definition around each line, by number of line; -1 outside of all."""
    holder = [-1] * (lines + 2)
    # Outer definitions come before inner ones.
    for number in own:
        symbol = definitions[number].symbol
        if symbol.kind in _HOLDERS:
            end = min(symbol.end_line, lines)
            holder[symbol.start_line : end + 1] = [number] * (end + 1 - symbol.start_line)
    return holder


#: A call that may mean four definitions joins none of them.
_SURE = 0.3
#: Answers that a path is looked for among: the ways through more of them would be too many to try.
_MAX_STOPS = 8


def find_path(calls: Calls, answers: Sequence[int], worth: Mapping[int, float]) -> list[int]:
    """The way along calls that the most answers lie on, in the order of the calls; empty when none calls another.

    `answers` are the best first. What lies between two of them is the best of the definitions in `worth`.
    """
    callees: dict[int, set[int]] = {}
    for source, target, weight, called in zip(
        calls.sources.tolist(),
        calls.targets.tolist(),
        calls.weights.tolist(),
        calls.called.tolist(),
        strict=True,
    ):
        if called and weight >= _SURE and source in worth and target in worth:
            callees.setdefault(source, set()).add(target)
    joined = _joined(callees, answers[:_MAX_STOPS], worth)
    best: tuple[int, ...] = ()
    places = {answer: place for place, answer in enumerate(answers)}

    def is_better(way: tuple[int, ...]) -> bool:
        # Of ways of a length that through better answers.
        if len(way) != len(best):
            return len(way) > len(best)
        return sum(places[step] for step in way) < sum(places[step] for step in best)

    waiting: list[tuple[int, ...]] = [(answer,) for answer in reversed(answers[:_MAX_STOPS])]
    while waiting:
        way = waiting.pop()
        if len(way) > 1 and is_better(way):
            best = way
        waiting += [(*way, following) for following in joined.get(way[-1], {}) if following not in way]
    path: list[int] = list(best[:1])
    for step, following in pairwise(best):
        between = joined[step][following]
        path += [following] if between is None or between in path else [between, following]
    return path


def _joined(
    callees: Mapping[int, set[int]], answers: Sequence[int], worth: Mapping[int, float]
) -> dict[int, dict[int, int | None]]:
    """Which answers lead to which, and the definition between them; None when they call each other directly."""
    joined: dict[int, dict[int, int | None]] = {}
    for answer in answers:
        direct = callees.get(answer, set())
        for other in answers:
            if other == answer:
                continue
            if other in direct:
                joined.setdefault(answer, {})[other] = None
                continue
            between = [via for via in direct if other in callees.get(via, ()) and via not in answers]
            if between:
                joined.setdefault(answer, {})[other] = max(between, key=lambda via: (worth[via], -via))
    return joined

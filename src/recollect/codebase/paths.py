"""The path that a question follows through the code: who calls whom among the definitions that answer it.

Knows numbers of definitions only. Two of them are joined by a call, or by one definition between them that calls the
second and is called by the first. Which definitions answer is `definitions.py`'s business.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise

from recollect.codebase.calls import Calls

#: A call that may mean four definitions joins none of them.
_SURE = 0.3
#: Answers that a path is looked for among: the ways through more of them would be too many to try.
_MAX_STOPS = 8


def find_path(calls: Calls, answers: Sequence[int], worth: Mapping[int, float]) -> list[int]:
    """The way along calls that the most answers lie on, in the order of the calls; empty when none calls another.

    `answers` are the best first. What lies between two of them is one of the definitions in `worth`, the best of them.
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
        # Of ways of one length the one through better answers.
        if len(way) != len(best):
            return len(way) > len(best)
        return sum(places[one] for one in way) < sum(places[one] for one in best)

    waiting: list[tuple[int, ...]] = [(answer,) for answer in reversed(answers[:_MAX_STOPS])]
    while waiting:
        way = waiting.pop()
        if len(way) > 1 and is_better(way):
            best = way
        waiting += [(*way, following) for following in joined.get(way[-1], {}) if following not in way]
    path: list[int] = list(best[:1])
    for one, following in pairwise(best):
        between = joined[one][following]
        path += [following] if between is None or between in path else [between, following]
    return path


def _joined(
    callees: Mapping[int, set[int]], answers: Sequence[int], worth: Mapping[int, float]
) -> dict[int, dict[int, int | None]]:
    """Which answers lead to which, and the definition between them; None when they call each other directly."""
    joined: dict[int, dict[int, int | None]] = {}
    for one in answers:
        direct = callees.get(one, set())
        for other in answers:
            if other == one:
                continue
            if other in direct:
                joined.setdefault(one, {})[other] = None
                continue
            between = [via for via in direct if other in callees.get(via, ()) and via not in answers]
            if between:
                joined.setdefault(one, {})[other] = max(between, key=lambda via: (worth[via], -via))
    return joined

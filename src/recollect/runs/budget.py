"""What a run may use: `Limits`, and `Budget`, a tree of what was used.

The worst that a call may cost is reserved before it runs and the rest given back afterwards, in the run's own budget
and in every one above it. So calls that run at the same time, and runs that calls start, can't pass a limit together.
Nothing here waits: between a check and the reservation no other task of the event loop gets a turn.

Running out is no error: `exhausted()` gives the word that a run ends with, `reserve()` gives None.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, fields
from typing import Any

from recollect.errors import DepthLimitError, InvalidInputError
from recollect.runs.planners.contract import Remaining

#: Seconds for an answer or a consultation, where the setting `budget` says nothing.
ANSWER_TIMEOUT_S = 900.0
#: Money is counted in whole billionths of a dollar: sums of floats would drift across a limit.
_PER_USD = 1_000_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """How much a run and its children may use; None is no limit, zero is nothing at all.

    `max_steps` and `max_idle_steps` (steps in a row that brought nothing new) are counted for each run of the tree by
    itself, everything else for the tree. A sub-call is a call of a tool that was not answered from the cache.
    """

    max_subcalls: int = 50
    max_subcalls_per_step: int = 8
    max_steps: int = 20
    max_depth: int = 3
    max_tokens: int | None = None
    max_usd: float | None = None
    timeout_s: float | None = 30.0
    sub_call_timeout_s: float | None = 30.0
    planner_timeout_s: float | None = None
    max_idle_steps: int = 3
    max_findings: int = 1_000

    def __post_init__(self) -> None:
        for limit in fields(self):
            value = getattr(self, limit.name)
            if value is None and "None" in str(limit.type):
                continue
            whole = "int" in str(limit.type)
            right = isinstance(value, int) if whole else isinstance(value, (int, float))
            if not right or isinstance(value, bool) or math.isnan(value):
                raise InvalidInputError(f"{limit.name} {value!r} is not a {'whole ' if whole else ''}number")
            if value < 0:
                raise InvalidInputError(f"{limit.name} {value!r} is negative; 0 means that nothing may run")

    def document(self) -> dict[str, Any]:
        """As JSON; what has no end is None."""
        return {
            name: None if isinstance(value, float) and math.isinf(value) else value
            for name, value in asdict(self).items()
        }


class Reservation:
    """The worst case of one call, held until the call says what it was."""

    def __init__(self, budget: Budget, *, subcalls: int, tokens: int, nano_usd: int) -> None:
        self._budget = budget
        self._held = (subcalls, tokens, nano_usd)
        self._open = True

    @property
    def tokens(self) -> int:
        """How many tokens are held."""
        return self._held[1]

    @property
    def usd(self) -> float:
        """How much money is held."""
        return self._held[2] / _PER_USD

    def extend(self, *, tokens: int = 0, usd: float = 0.0) -> str | None:
        """Hold more, if it is there; else the word of the limit that is in the way."""
        more = (0, _whole(tokens), _nano(usd))
        word = self._budget._refusal(more)
        if word is None:
            self._budget._hold(more)
            self._held = (self._held[0], self._held[1] + more[1], self._held[2] + more[2])
        return word

    def settle(self, *, tokens: int = 0, usd: float = 0.0) -> None:
        """What it was. More than was held is counted all the same: a record that lies is worse than a limit passed."""
        spent = (self._held[0], _whole(tokens), _nano(usd))
        if self._open:
            self._open = False
            self._budget._settle(self._held, spent)

    def release(self) -> None:
        """It never ran: everything is given back."""
        if self._open:
            self._open = False
            self._budget._settle(self._held, (0, 0, 0))


class Budget:
    """One node of the tree: the budget of a run. What it uses, its parents use."""

    def __init__(self, limits: Limits | None = None, *, clock: Callable[[], float] = time.monotonic) -> None:
        self.limits = limits or Limits()
        self.depth = 0
        self.steps = 0
        self._clock = clock
        self._parent: Budget | None = None
        self._started = clock()
        self._spent = (0, 0, 0)
        self._reserved = (0, 0, 0)
        self._this_step = 0

    def child(self, limits: Limits | None = None) -> Budget:
        """The budget of a run one level deeper; `limits` of its own can only narrow it.

        Beyond `max_depth` it raises `DepthLimitError`.
        """
        if self.depth + 1 > min(node.limits.max_depth for node in self._chain()):
            raise DepthLimitError(
                f"depth {self.depth + 1} is beyond the limit of {self.limits.max_depth}; "
                "the call was refused and the run goes on"
            )
        made = self.branch(limits)
        made.depth = self.depth + 1
        return made

    def branch(self, limits: Limits | None = None) -> Budget:
        """A budget of the same depth that spends this one: several runs, each with a count of its own."""
        made = Budget(limits or self.limits, clock=self._clock)
        made.depth = self.depth
        made._parent = self
        return made

    @property
    def spent_subcalls(self) -> int:
        """Sub-calls so far, those of children included."""
        return self._spent[0]

    @property
    def spent_tokens(self) -> int:
        """Tokens so far, those of children included."""
        return self._spent[1]

    @property
    def spent_usd(self) -> float:
        """Dollars so far, those of children included."""
        return self._spent[2] / _PER_USD

    def start_step(self) -> None:
        """Count a step; its allowance of sub-calls is whole again."""
        self.steps += 1
        self._this_step = 0

    def reserve(self, *, subcalls: int = 1, tokens: int = 0, usd: float = 0.0) -> Reservation | None:
        """Hold the worst case of one call; None when it doesn't fit, `refusal` then says why."""
        wanted = (_whole(subcalls), _whole(tokens), _nano(usd))
        if self._refusal(wanted) is not None:
            return None
        self._hold(wanted)
        self._this_step += subcalls
        return Reservation(self, subcalls=wanted[0], tokens=wanted[1], nano_usd=wanted[2])

    def refusal(self, *, subcalls: int = 1, tokens: int = 0, usd: float = 0.0) -> str | None:
        """Which limit a call of this worst case would pass, as a word of `STOPPED_BY`."""
        return self._refusal((_whole(subcalls), _whole(tokens), _nano(usd)))

    def remaining(self) -> Remaining:
        """What is left, after what is used and what is held."""
        subcalls = min(node.limits.max_subcalls - node._taken(0) for node in self._chain())
        tokens = [
            node.limits.max_tokens - node._taken(1)
            for node in self._chain()
            if node.limits.max_tokens is not None
        ]
        usd = [
            _floor_nano(node.limits.max_usd) - node._taken(2)
            for node in self._chain()
            if node.limits.max_usd is not None and math.isfinite(node.limits.max_usd)
        ]
        this_step = self.limits.max_subcalls_per_step - self._this_step
        return Remaining(
            subcalls=max(0, subcalls),
            subcalls_this_step=max(0, min(subcalls, this_step)),
            depth=max(0, min(node.limits.max_depth for node in self._chain()) - self.depth),
            tokens=max(0, min(tokens)) if tokens else None,
            usd=max(0, min(usd)) / _PER_USD if usd else None,
            seconds=self._seconds(),
        )

    def exhausted(self) -> str | None:
        """Why no further step may begin, as a word of `STOPPED_BY`; None while one may."""
        left = self.remaining()
        if left.seconds is not None and left.seconds <= 0:
            return "timeout"
        if self.steps >= self.limits.max_steps:
            return "steps"
        if left.subcalls <= 0 or self.limits.max_subcalls_per_step == 0:
            return "subcalls"
        if left.tokens is not None and left.tokens <= 0:
            return "tokens"
        if left.usd is not None and left.usd <= 0:
            return "usd"
        return None

    def _chain(self) -> Iterator[Budget]:
        node: Budget | None = self
        while node is not None:
            yield node
            node = node._parent

    def _taken(self, at: int) -> int:
        return self._spent[at] + self._reserved[at]

    def _seconds(self) -> float | None:
        left = [
            node._started + node.limits.timeout_s - self._clock()
            for node in self._chain()
            if node.limits.timeout_s is not None and math.isfinite(node.limits.timeout_s)
        ]
        return max(0.0, min(left)) if left else None

    def _refusal(self, wanted: tuple[int, int, int]) -> str | None:
        subcalls, tokens, nano_usd = wanted
        if subcalls and self._this_step + subcalls > self.limits.max_subcalls_per_step:
            return "subcalls"
        for node in self._chain():
            limits = node.limits
            if subcalls and node._taken(0) + subcalls > limits.max_subcalls:
                return "subcalls"
            if limits.max_tokens is not None and node._taken(1) + tokens > limits.max_tokens:
                return "tokens"
            if (
                limits.max_usd is not None
                and math.isfinite(limits.max_usd)
                and node._taken(2) + nano_usd > _floor_nano(limits.max_usd)
            ):
                return "usd"
        return None

    def _hold(self, wanted: tuple[int, int, int]) -> None:
        for node in self._chain():
            node._reserved = _add(node._reserved, wanted)

    def _settle(self, held: tuple[int, int, int], spent: tuple[int, int, int]) -> None:
        if spent[0] < held[0]:
            self._this_step = max(0, self._this_step - (held[0] - spent[0]))
        for node in self._chain():
            node._reserved = _add(node._reserved, (-held[0], -held[1], -held[2]))
            node._spent = _add(node._spent, spent)


def _add(one: tuple[int, int, int], other: tuple[int, int, int]) -> tuple[int, int, int]:
    return (one[0] + other[0], one[1] + other[1], one[2] + other[2])


def _whole(value: int) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise InvalidInputError(f"a cost of {value!r} is not a whole number from 0 on")
    return value


def _nano(usd: float) -> int:
    """Rounded up, so that what was reserved is never less than what it may be."""
    if not math.isfinite(usd) or usd < 0:
        raise InvalidInputError(f"a cost of {usd!r} dollars is not a number from 0 on")
    return math.ceil(round(usd * _PER_USD, 3))


def _floor_nano(usd: float) -> int:
    return math.floor(round(usd * _PER_USD, 3))

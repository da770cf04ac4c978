"""What a run may use: `Limits`, and `Budget`, a tree of what was used.

The worst that a call may cost is reserved before it runs and the rest given back afterwards, in the run's own budget
and in every one above it. So calls that run at the same time, and runs that calls start, can't pass a limit together.
Nothing here waits: between a check and the reservation no other task of the event loop gets a turn. Calls, steps, depth
and time are counted here, tokens and dollars by purses (`providers/models/purse.py`): a budget has one, below that of
whoever asks, and models are charged to those below it.

Running out is no error: `exhausted()` gives the word that a run ends with, `reserve()` gives None.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass, fields
from typing import Any, TypeVar

from recollect.errors import DepthLimitError, InvalidInputError
from recollect.providers.models.purse import Purse
from recollect.runs.planners.contract import Remaining

Number = TypeVar("Number", int, float)
#: Seconds for an answer or a consultation, where the setting `budget` says nothing.
ANSWER_TIMEOUT_S = 900.0


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


class Budget:
    """One node of the tree: the budget of a run. What it uses, its parents use."""

    def __init__(
        self,
        limits: Limits | None = None,
        *,
        clock: Callable[[], float] = time.monotonic,
        parent: Budget | None = None,
        purse: Purse | None = None,
    ) -> None:
        self.limits = limits or Limits()
        self.depth: int = 0 if parent is None else parent.depth
        self.steps = 0
        most: Any = {"max_usd": self.limits.max_usd, "max_tokens": self.limits.max_tokens}
        above = purse if parent is None else parent.purse
        #: What was read, and what models have used.
        self.purse: Purse = Purse(**most) if above is None else above.child(**most)
        #: Those with a limit, here and above. What whoever asks has left ends no run: only its models need that.
        self._limited: tuple[Purse, ...] = () if parent is None else parent._limited
        if any(limit is not None for limit in most.values()):
            self._limited += (self.purse,)
        self._clock, self._parent = clock, parent
        self._started = clock()
        #: Used or held: in all, and in this step.
        self._subcalls = self._this_step = 0

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
        return Budget(limits or self.limits, clock=self._clock, parent=self)

    @property
    def spent_subcalls(self) -> int:
        """Sub-calls so far, those of children and those under way included."""
        return self._subcalls

    def start_step(self) -> None:
        """Count a step; its allowance of sub-calls is whole again."""
        self.steps += 1
        self._this_step = 0

    def reserve(self, *, tokens: int = 0, usd: float = 0.0) -> Purse | None:
        """A sub-call: its purse, with its worst case set aside; None when it doesn't fit, `refusal` then says why."""
        if self.refusal(tokens=tokens, usd=usd) is not None:
            return None
        self._count(1)
        return self.purse.child(keep=(tokens, usd))

    def release(self) -> None:
        """A sub-call never ran: it does not count."""
        self._count(-1)

    def refusal(self, *, tokens: int = 0, usd: float = 0.0) -> str | None:
        """Which limit a call of this worst case would pass, as a word of `STOPPED_BY`."""
        check_cost(tokens, usd)
        if self._calls_left()[1] < 1:
            return "subcalls"
        words = (purse.refusal(tokens, usd, own=True) for purse in self._limited)
        return next((word for word in words if word is not None), None)

    def remaining(self) -> Remaining:
        """What is left, after what is used and what is held."""
        subcalls, this_step = self._calls_left()
        return Remaining(
            subcalls=subcalls,
            subcalls_this_step=this_step,
            depth=max(0, min(node.limits.max_depth for node in self._chain()) - self.depth),
            tokens=_least(purse.tokens_left(own=True) for purse in self._limited),
            usd=_least(purse.usd_left(own=True) for purse in self._limited),
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

    def _calls_left(self) -> tuple[int, int]:
        """Sub-calls in all, and in this step."""
        left = max(0, min(node.limits.max_subcalls - node._subcalls for node in self._chain()))
        return left, max(0, min(left, self.limits.max_subcalls_per_step - self._this_step))

    def _count(self, subcalls: int) -> None:
        self._this_step = max(0, self._this_step + subcalls)
        for node in self._chain():
            node._subcalls += subcalls

    def _seconds(self) -> float | None:
        left = [
            node._started + node.limits.timeout_s - self._clock()
            for node in self._chain()
            if node.limits.timeout_s is not None and math.isfinite(node.limits.timeout_s)
        ]
        return max(0.0, min(left)) if left else None


def _least(amounts: Iterable[Number | None]) -> Number | None:
    return min((amount for amount in amounts if amount is not None), default=None)


def check_cost(tokens: int, usd: float = 0.0) -> None:
    """`InvalidInputError` for what is no cost."""
    if not isinstance(tokens, int) or isinstance(tokens, bool) or tokens < 0:
        raise InvalidInputError(f"a cost of {tokens!r} is not a whole number from 0 on")
    if not math.isfinite(usd) or usd < 0:
        raise InvalidInputError(f"a cost of {usd!r} dollars is not a number from 0 on")

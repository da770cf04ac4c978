"""`SubCallBudgetManager`: the engine's budget (`runs/budget.py`) under the names that explorations use for it."""

from __future__ import annotations

import time
from collections.abc import Callable

from recollect.runs.budget import Budget, Limits

MAX_SUBCALLS = 50
MAX_SUBCALLS_PER_ITERATION = 8
TIMEOUT_SECONDS = 300.0
#: Explorations that calls start: a question of a question is rarely worth its calls.
MAX_DEPTH = 2
#: Steps of one exploration without a model; with eight calls each the sub-calls are used up long before.
MAX_STEPS = 25
#: A tool that searches a large tree may take so long, whatever a model may.
TOOL_TIMEOUT_S = 30.0


def explore_limits(
    max_subcalls: int,
    max_subcalls_per_iteration: int,
    timeout_seconds: float,
    max_tokens: int | None = None,
    max_usd: float | None = None,
) -> Limits:
    """The engine's limits, from those that explorations name."""
    return Limits(
        max_subcalls=max_subcalls,
        max_subcalls_per_step=max_subcalls_per_iteration,
        max_steps=MAX_STEPS,
        max_depth=MAX_DEPTH,
        max_tokens=max_tokens,
        max_usd=max_usd,
        timeout_s=timeout_seconds,
        sub_call_timeout_s=TOOL_TIMEOUT_S,
    )


class SubCallBudgetManager(Budget):
    """Counts and limits the sub-calls of one exploration; calls answered from the cache are free."""

    def __init__(
        self,
        max_subcalls: int = MAX_SUBCALLS,
        max_subcalls_per_iteration: int = MAX_SUBCALLS_PER_ITERATION,
        timeout_seconds: float = TIMEOUT_SECONDS,
        *,
        max_tokens: int | None = None,
        max_usd: float | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        limits = explore_limits(
            max_subcalls, max_subcalls_per_iteration, timeout_seconds, max_tokens, max_usd
        )
        super().__init__(limits, clock=clock)
        self.cached_subcalls = 0

    start_iteration = Budget.start_step
    subcall_count = Budget.spent_subcalls

    @property
    def remaining_subcalls(self) -> int:
        """Sub-calls that are left."""
        return self.remaining().subcalls

    @property
    def remaining_seconds(self) -> float | None:
        """Seconds that are left; None without a limit."""
        return self.remaining().seconds

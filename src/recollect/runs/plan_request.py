"""Asking the planner: what a question may cost, and what it means when no plan comes of it."""

from __future__ import annotations

import asyncio
import logging

from recollect.errors import PlannerError, RecollectError
from recollect.runs.budget import Budget, Reservation
from recollect.runs.deadline import CutError, within
from recollect.runs.planners.contract import EndOfRunError, Plan, Planner, Situation

_log = logging.getLogger(__name__)


class PlannerCosts:
    """What a planner sets aside and uses for one answer."""

    def __init__(self, budget: Budget) -> None:
        self._reservation = Reservation(budget, 0)
        self._used: tuple[int, float, int] | None = None
        self._granted = 0
        self.short_of: str | None = None

    def afford(self, tokens: int, usd: float) -> bool:
        """Set aside the worst case of one request, if it is there."""
        self.short_of = self._reservation.extend(tokens=tokens, usd=usd)
        self._granted += self.short_of is None
        return self.short_of is None

    def settle(self, tokens: int, usd: float, model_calls: int) -> None:
        """What it was: nothing, for a planner without a model."""
        if self._granted or tokens or usd:
            self._reservation.settle(tokens=tokens, usd=usd)
        self._used = (tokens, usd, model_calls)

    def settle_rest(self) -> tuple[int, float, int]:
        """What it was; if nobody said, all that was set aside: a request that was sent has to be paid."""
        if self._used is None:
            self.settle(self._reservation.tokens, self._reservation.usd, self._granted)
        assert self._used is not None
        return self._used


async def ask(
    planner: Planner,
    situation: Situation,
    costs: PlannerCosts,
    *,
    timeout_s: float | None,
    stop: asyncio.Event | None,
) -> Plan:
    """The next plan, or `EndOfRunError`. Either way `costs` knows what asking used."""
    left_s = situation.remaining.seconds
    seconds = min((value for value in (left_s, timeout_s) if value is not None), default=None)
    try:
        plan = await within(planner.plan(situation), seconds=seconds, depth=situation.depth, stop=stop)
        if not isinstance(plan, Plan):
            raise PlannerError(f"the planner gave {type(plan).__name__}, not a Plan")
        costs.settle(plan.tokens, plan.usd, plan.model_calls)
        return plan
    except CutError as cut:
        if cut.by == "cancelled" and stop is not None and stop.is_set():
            raise EndOfRunError("cancelled") from cut
        if cut.by == "timeout" and seconds == left_s:
            raise EndOfRunError("timeout") from cut
        why = "the planner cancelled itself" if cut.by == "cancelled" else f"no plan within {timeout_s:g} s"
        raise EndOfRunError("planner", why) from cut
    except EndOfRunError:
        costs.settle(0, 0.0, 0)
        raise
    except PlannerError as error:
        costs.settle(error.tokens, error.usd, error.model_calls)
        raise EndOfRunError(error.limit or costs.short_of or "planner", str(error)) from error
    except RecollectError as error:
        raise EndOfRunError("planner", str(error)) from error
    except Exception as error:
        _log.warning("the planner %r failed", planner.name, exc_info=error)
        raise EndOfRunError("planner", f"{type(error).__name__}: {error}") from error

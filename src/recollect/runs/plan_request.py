"""Asking the planner, and what it means when no plan comes of it."""

from __future__ import annotations

import asyncio
import logging

from recollect.errors import PlannerError, RecollectError
from recollect.runs.deadline import CutError, within
from recollect.runs.planners.contract import EndOfRunError, Plan, Planner, Situation

_log = logging.getLogger(__name__)


async def ask(
    planner: Planner,
    situation: Situation,
    *,
    timeout_s: float | None,
    stop: asyncio.Event | None,
) -> Plan:
    """The next plan, or `EndOfRunError`. Either way the purse of the situation knows what asking used."""
    left_s = situation.remaining.seconds
    seconds = min((value for value in (left_s, timeout_s) if value is not None), default=None)
    try:
        plan = await within(planner.plan(situation), seconds=seconds, depth=situation.depth, stop=stop)
        if not isinstance(plan, Plan):
            raise PlannerError(f"the planner gave {type(plan).__name__}, not a Plan")
        return plan
    except CutError as cut:
        if cut.by == "cancelled" and stop is not None and stop.is_set():
            raise EndOfRunError("cancelled") from cut
        if cut.by == "timeout" and seconds == left_s:
            raise EndOfRunError("timeout") from cut
        why = "the planner cancelled itself" if cut.by == "cancelled" else f"no plan within {timeout_s:g} s"
        raise EndOfRunError("planner", why) from cut
    except EndOfRunError:
        raise
    except PlannerError as error:
        raise EndOfRunError(error.limit or "planner", str(error)) from error
    except RecollectError as error:
        raise EndOfRunError("planner", str(error)) from error
    except Exception as error:
        _log.warning("the planner %r failed", planner.name, exc_info=error)
        raise EndOfRunError("planner", f"{type(error).__name__}: {error}") from error

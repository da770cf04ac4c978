"""The loop: ask the planner, run its calls, keep what was found, write the record; until done or a limit is met.

`run` never raises for what a planner or tool does, and never loses what was found: its record says how it
ended (`stopped_by`).
Three ways to end it from outside:

- `limits.timeout_s`, or the time of the budget it is given: it returns, stopped by "timeout";
- `stop`, an event that somebody sets: it returns, stopped by "cancelled";
- cancelling its task: it ends its calls, hands the record to `on_end`, and raises `CancelledError` again.

Calls are `calls.py`, the budget `budget.py`, waiting and cancelling `deadline.py`. Nothing here knows any material.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from recollect.domain.findings import Finding
from recollect.domain.trajectory import Trajectory
from recollect.providers.models.purse import Purse
from recollect.runs.budget import Budget, Limits
from recollect.runs.cache import Cache
from recollect.runs.calls import Calls, LiveCalls, outcome
from recollect.runs.deadline import all_within
from recollect.runs.environment import Environment
from recollect.runs.events import (
    BudgetUpdated,
    CallEnded,
    CallStarted,
    Event,
    FindingAdded,
    Publisher,
    RunEnded,
    RunStarted,
    StepPlanned,
    Subscriber,
)
from recollect.runs.plan_request import ask
from recollect.runs.planners.contract import Call, CallAnswer, EndOfRunError, Plan, Planner, Situation
from recollect.runs.record import Cost, Record, usage_of
from recollect.runs.times import Span, Times, utc_now

_log = logging.getLogger(__name__)

#: A planner that floods: what it wants beyond this is not even recorded call by call.
MAX_PLANNED_CALLS = 64


async def run(
    query: str,
    *,
    environment: Environment,
    planner: Planner,
    limits: Limits | None = None,
    budget: Budget | None = None,
    purse: Purse | None = None,
    cache: Cache | None = None,
    on_event: Subscriber | None = None,
    on_end: Callable[[Trajectory], None] | None = None,
    stop: asyncio.Event | None = None,
    clock: Callable[[], float] = time.monotonic,
    now: Callable[[], datetime] = utc_now,
    depth: int = 0,
) -> Trajectory:
    """Answer `query` from the environment, step by step, within `limits` or what is left of `budget`.

    `purse` is the account of whoever asks, where that has more to pay for than this run.
    `on_end` gets the record however it ends, before this returns or raises. `depth` is for
    a run that begins deeper than the root; one beyond `limits.max_depth` is stopped by "depth" at once.
    """
    budget = Budget(limits, clock=clock, purse=purse) if budget is None else budget.branch(limits)
    budget.depth = max(budget.depth, depth)
    publisher = on_event if isinstance(on_event, Publisher) else Publisher(on_event, now)
    loop = Loop(
        query=query,
        environment=environment,
        planner=planner,
        budget=budget,
        cache=cache if cache is not None else Cache(),
        publisher=publisher,
        times=Times(clock, now),
        on_end=on_end,
        stop=stop,
    )
    if publisher is on_event:
        # Whoever made it closes it: it may have more to tell.
        return await loop.go()
    try:
        finished = await loop.go()
        await publisher.close()
        return finished
    finally:
        publisher.abandon()


@dataclass(kw_only=True)
class Loop:
    """One run, from its first question to its record. `run` makes it; so do calls that recurse, and replay."""

    query: str
    environment: Environment
    planner: Planner
    budget: Budget
    cache: Cache
    publisher: Publisher
    times: Times
    on_end: Callable[[Trajectory], None] | None = None
    stop: asyncio.Event | None = None
    parent_id: UUID | None = None
    calls: Calls | None = None
    limits: Mapping[str, Any] | None = None

    def __post_init__(self) -> None:
        self._calls = self.calls or LiveCalls(
            query=self.query,
            environment=self.environment,
            budget=self.budget,
            cache=self.cache,
            start_run=self._start,
        )
        self._id = self.times.run_id()
        self._record = Record(
            max_findings=self.budget.limits.max_findings, notes=getattr(self.planner, "notes", ())
        )

    async def go(self) -> Trajectory:
        """The whole run."""
        span = self.times.run()
        self._tell(
            RunStarted,
            query=self.query,
            environment=self.environment.name,
            planner=self.planner.name,
            parent_id=self.parent_id,
        )
        error: str | None = None
        try:
            try:
                by = await self._iterate()
            except EndOfRunError as end:
                by, error = end.stopped_by, end.error
            except Exception as fault:  # not a planner's and not a tool's: the material's, or ours
                _log.exception("a run over %r failed; what it found is kept", self.environment.name)
                by, error = "error", f"{type(fault).__name__}: {fault}"
            self._accept_unread(by)
        except asyncio.CancelledError:
            over = self.budget.remaining().seconds == 0
            self._accept_unread("cancelled")
            self._finish(span, "timeout" if over else "cancelled", None)
            raise
        return self._finish(span, by, error)

    async def _iterate(self) -> str:
        if self.budget.depth > self.budget.limits.max_depth:
            return "depth"
        while True:
            word = self.budget.exhausted()
            if word is not None:
                return word
            iteration = len(self._record.steps) + 1
            self.budget.start_step()
            span = self.times.step(iteration)
            plan, cost = await self._ask(iteration, span)
            await self._take(plan, cost, iteration, span)
            word = self._over(plan)
            if word is not None:
                return word

    def _over(self, plan: Plan) -> str | None:
        """Why there is no step after this one."""
        if plan.done:
            return self._record.refused_by or "done"
        if self._record.idle >= max(1, self.budget.limits.max_idle_steps):
            return self._record.refused_by or "no_progress"
        return None

    async def _ask(self, iteration: int, span: Span) -> tuple[Plan, Cost]:
        purse = self.budget.purse.child()
        situation = Situation(
            query=self.query,
            depth=self.budget.depth,
            environment=self.environment,
            steps=tuple(self._record.steps),
            findings=tuple(self._record.findings),
            remaining=self.budget.remaining(),
            offered=self._record.offered,
            observed=tuple(self._record.observed),
            memos=tuple(self._record.memos),
            purse=purse,
        )
        limit_s = self.budget.limits.planner_timeout_s
        try:
            return await ask(self.planner, situation, timeout_s=limit_s, stop=self.stop), purse.used()
        except BaseException:
            self._record.add_unplanned(purse.used(), iteration=iteration, span=span)
            raise

    async def _take(self, plan: Plan, cost: Cost, iteration: int, span: Span) -> None:
        """Run the calls of a plan at the same time and record the step, all of it or as far as it came."""
        calls = plan.calls[:MAX_PLANNED_CALLS]
        if len(calls) < len(plan.calls):
            self._record.note(f"step {iteration} wanted {len(plan.calls)} calls; {len(calls)} were looked at")
        self._tell(StepPlanned, iteration=iteration, thought=plan.thought, calls=calls, done=plan.done)
        claimed = self._record.claim(plan)
        self._tell_findings(claimed, iteration)
        spans = [self.times.begin() for _ in calls]
        tasks = [
            asyncio.create_task(self._answer(call, spans[place], iteration, place))
            for place, call in enumerate(calls)
        ]
        cut: str | None = None
        try:
            if tasks:
                cut = await all_within(
                    tasks,
                    seconds=self.budget.remaining().seconds,
                    depth=self.budget.depth,
                    stop=self.stop,
                )
        finally:
            answers = [outcome(*call_parts) for call_parts in zip(tasks, calls, spans, strict=True)]
            added = self._record.add_step(
                plan, answers, cost=cost, iteration=iteration, span=span, claimed=bool(claimed)
            )
            self._tell_findings(added, iteration)
            if BudgetUpdated in self.publisher.heard:
                self._tell(BudgetUpdated, iteration=iteration, remaining=self.budget.remaining())
        if cut is not None:
            raise EndOfRunError(cut)

    async def _answer(self, call: Call, span: Span, iteration: int, place: int) -> CallAnswer:
        at: dict[str, Any] = {"iteration": iteration, "call": place, "tool": str(call.tool)}
        at["parameters"] = call.parameters
        self._tell(CallStarted, **at)
        answered = await self._calls.answer(call, span=span, iteration=iteration, place=place)
        how = ("duration_ms", "error", "cached", "refused", "tokens", "usd")
        self._tell(CallEnded, **at, **{name: getattr(answered.record, name) for name in how})
        return answered

    async def _start(self, query: str, keep: Callable[[Trajectory], None]) -> Trajectory:
        """A run that a call starts: same planner and material, on this budget."""
        child = Loop(
            query=query,
            environment=self.environment,
            planner=self.planner,
            budget=self.budget.child(),
            cache=self.cache,
            publisher=self.publisher,
            times=self.times,
            on_end=keep,
            parent_id=self._id,
        )
        return await child.go()

    def _accept_unread(self, by: str) -> None:
        if by != "done":
            self._tell_findings(self._record.accept_unread(), len(self._record.steps))

    def _finish(self, span: Span, by: str, error: str | None) -> Trajectory:
        ended_at, wall_ms = span.end()
        steps, findings = tuple(self._record.steps), tuple(self._record.findings)
        trajectory = Trajectory(
            id=self._id,
            environment=self.environment.name,
            planner=self.planner.name,
            query=self.query,
            depth=self.budget.depth,
            started_at=span.started_at,
            ended_at=ended_at,
            steps=steps,
            findings=findings,
            stopped_by=by,
            usage=usage_of(steps, depth=self.budget.depth, wall_time_ms=wall_ms),
            error=error,
            policy=getattr(self.planner, "policy_label", None),
            notes=self._record.notes,
            limits=self.budget.limits.document() if self.limits is None else self.limits,
        )
        if self.on_end is not None:
            try:
                self.on_end(trajectory)
            except Exception as fault:
                _log.warning("on_end of a run failed", exc_info=fault)
        self._tell(RunEnded, stopped_by=by, findings=len(findings), usage=trajectory.usage, error=error)
        return trajectory

    def _tell(self, kind: type[Event], **values: Any) -> None:
        if kind in self.publisher.heard:
            self.publisher.tell(kind, run_id=self._id, depth=self.budget.depth, **values)

    def _tell_findings(self, findings: Sequence[Finding], iteration: int) -> None:
        for finding in findings:
            self._tell(FindingAdded, iteration=iteration, finding=finding)

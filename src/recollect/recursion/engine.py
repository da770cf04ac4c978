"""The loop: ask the planner, run its calls, keep what was found, write the record; until done or a limit is met.

`run` never raises for what a planner or tool does, and never loses what was found: how it ended is `Run.stopped_by`.
Three ways to end it from outside:

- `limits.timeout_s`, or the time of the budget it is given: it returns, stopped by "timeout";
- `stop`, an event that somebody sets: it returns, stopped by "cancelled";
- cancelling its task: it ends its calls, hands the record to `on_end`, and raises `CancelledError` again.

Calls are `calls.py`, the budget `budget.py`, waiting and cancelling `waiting.py`. Nothing here knows any material.
"""

from __future__ import annotations

import asyncio
import inspect
import logging
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from recollect.domain.findings import Finding
from recollect.domain.trajectory import CallRecord, Step, Trajectory, Usage
from recollect.errors import PlannerError, RecollectError
from recollect.recursion.budget import Budget, Limits, Reservation
from recollect.recursion.cache import Cache, canonical
from recollect.recursion.calls import Answered, Calls, LiveCalls, StartRun
from recollect.recursion.environment import Environment
from recollect.recursion.events import (
    BudgetUpdated,
    CallEnded,
    CallStarted,
    FindingAdded,
    Publisher,
    RunEnded,
    RunStarted,
    StepPlanned,
    Subscriber,
)
from recollect.recursion.planners.contract import Call, EndOfRunError, Plan, Planner, Situation
from recollect.recursion.times import LiveTimes, Span, Times
from recollect.recursion.waiting import CutError, all_within, grace_s, within

_log = logging.getLogger(__name__)

#: A planner that floods: what it wants beyond this is not even recorded call by call.
MAX_PLANNED_CALLS = 64

#: Checks the citations of findings; `citations.verify_findings` with its reader filled in.
Verify = Callable[[Sequence[Finding]], Sequence[Finding] | Awaitable[Sequence[Finding]]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """What a run found, its record, and why it ended (a word of `STOPPED_BY`)."""

    findings: tuple[Finding, ...]
    trajectory: Trajectory
    stopped_by: str
    error: str | None = None


def _utc_now() -> datetime:
    return datetime.now(UTC)


async def run(
    query: str,
    *,
    environment: Environment,
    planner: Planner,
    limits: Limits | None = None,
    budget: Budget | None = None,
    cache: Cache | None = None,
    on_event: Subscriber | None = None,
    on_end: Callable[[Run], None] | None = None,
    stop: asyncio.Event | None = None,
    clock: Callable[[], float] = time.monotonic,
    now: Callable[[], datetime] = _utc_now,
    verify: Verify | None = None,
    depth: int = 0,
    policy: str | None = None,
) -> Run:
    """Answer `query` from the environment, step by step, within `limits` or what is left of `budget`.

    `policy` goes into the record. `on_end` gets the run however it ends, before this returns or raises. `depth` is for
    a run that begins deeper than the root; one beyond `limits.max_depth` is stopped by "depth" at once.
    """
    if budget is not None and limits is not None:
        budget = budget.branch(limits)
    budget = budget.branch() if budget is not None else Budget(limits, clock=clock)
    budget.depth = max(budget.depth, depth)
    publisher = Publisher(on_event)
    loop = Loop(
        query,
        environment=environment,
        planner=planner,
        budget=budget,
        cache=cache if cache is not None else Cache(),
        publisher=publisher,
        times=LiveTimes(clock, now),
        on_end=on_end,
        stop=stop,
        verify=verify,
        policy=policy,
    )
    try:
        finished = await loop.go()
        await publisher.close()
        return finished
    finally:
        publisher.abandon()


class _StopError(Exception):
    """The loop ends here."""

    def __init__(self, by: str, error: str | None = None) -> None:
        super().__init__(by)
        self.by = by
        self.error = error


class Loop:
    """One run, from its first question to its record. `run` makes it; so do calls that recurse, and replay."""

    def __init__(
        self,
        query: str,
        *,
        environment: Environment,
        planner: Planner,
        budget: Budget,
        cache: Cache,
        publisher: Publisher,
        times: Times,
        on_end: Callable[[Run], None] | None = None,
        stop: asyncio.Event | None = None,
        verify: Verify | None = None,
        policy: str | None = None,
        parent_id: UUID | None = None,
        calls: Calls | None = None,
    ) -> None:
        self._query = query
        self._environment = environment
        self._planner = planner
        self._budget = budget
        self._cache = cache
        self._publish = publisher
        self._times = times
        self._on_end = on_end
        self._stop = stop
        self._verify = verify
        self._policy = policy if policy is not None else getattr(planner, "policy_label", None)
        self._parent_id = parent_id
        self._calls = calls or LiveCalls(
            query=query,
            environment=environment,
            budget=budget,
            cache=cache,
            start_run=self._starter,
        )
        self._id = times.run_id()
        self._steps: list[Step] = []
        self._findings: list[Finding] = []
        self._known: set[object] = set()
        self._unread: tuple[Finding, ...] = ()
        self._texts: tuple[str, ...] = ()
        self._seen: set[tuple[str, str, str]] = set()
        self._idle = 0
        self._refused_by: str | None = None
        self._notes: dict[str, None] = dict.fromkeys(getattr(planner, "notes", ()))

    async def go(self) -> Run:
        """The whole run."""
        span = self._times.run()
        self._publish(
            RunStarted(
                **self._place(),
                query=self._query,
                environment=self._environment.name,
                planner=self._planner.name,
                parent_id=self._parent_id,
            )
        )
        error: str | None = None
        try:
            try:
                by = await self._iterate()
            except _StopError as stop:
                by, error = stop.by, stop.error
            except Exception as fault:  # not a planner's and not a tool's: the material's, or ours
                _log.exception("a run over %r failed; what it found is kept", self._environment.name)
                by, error = "error", f"{type(fault).__name__}: {fault}"
            self._accept_unread(by)
            findings = await self._verified()
        except asyncio.CancelledError:
            over = self._budget.remaining().seconds == 0
            self._accept_unread("cancelled")
            self._finish(span, "timeout" if over else "cancelled", None, tuple(self._findings))
            raise
        return self._finish(span, by, error, findings)

    async def _iterate(self) -> str:
        limits = self._budget.limits
        if self._budget.depth > limits.max_depth:
            return "depth"
        while True:
            word = self._budget.exhausted()
            if word is not None:
                return word
            iteration = len(self._steps) + 1
            self._budget.start_step()
            span = self._times.step(iteration)
            plan = await self._ask(iteration, span)
            await self._take(plan, iteration, span)
            if plan.done:
                return self._refused_by or "done"
            if self._idle >= max(1, limits.max_idle_steps):
                return self._refused_by or "no_progress"

    async def _ask(self, iteration: int, span: Span) -> Plan:
        """The next plan. What asking used is in the record even when there is none."""
        costs = _PlannerCosts(self._budget)
        situation = Situation(
            query=self._query,
            depth=self._budget.depth,
            environment=self._environment,
            steps=tuple(self._steps),
            findings=tuple(self._findings),
            remaining=self._budget.remaining(),
            last_texts=self._texts,
            afford=costs.afford,
        )
        left_s, most_s = situation.remaining.seconds, self._budget.limits.planner_timeout_s
        seconds = min((value for value in (left_s, most_s) if value is not None), default=None)
        try:
            plan = await within(
                self._planner.plan(situation), seconds=seconds, depth=self._budget.depth, stop=self._stop
            )
            if not isinstance(plan, Plan):
                raise PlannerError(f"the planner gave {type(plan).__name__}, not a Plan")
            costs.settle(plan.tokens, plan.usd, plan.model_calls)
            return plan
        except asyncio.CancelledError:
            self._record_unplanned(iteration, span, costs)
            raise
        except Exception as fault:
            if isinstance(fault, PlannerError):
                costs.settle(fault.tokens, fault.usd, fault.model_calls)
            elif isinstance(fault, EndOfRunError):
                costs.settle(0, 0.0, 0)
            self._record_unplanned(iteration, span, costs)
            raise self._why(fault, costs, left_s) from fault

    def _why(self, fault: Exception, costs: _PlannerCosts, left_s: float | None) -> _StopError:
        """How a run ends whose planner gave no plan."""
        if isinstance(fault, EndOfRunError):
            return _StopError(fault.stopped_by, fault.error)
        if isinstance(fault, CutError):
            if fault.by == "cancelled" and self._stop is not None and self._stop.is_set():
                return _StopError("cancelled")
            most_s = self._budget.limits.planner_timeout_s
            if left_s is not None and (most_s is None or left_s <= most_s) and fault.by == "timeout":
                return _StopError("timeout")
            return _StopError(
                "planner",
                "the planner cancelled itself" if most_s is None else f"no plan within {most_s:g} s",
            )
        if isinstance(fault, RecollectError):
            return _StopError(costs.short_of or "planner", str(fault))
        _log.warning("the planner %r failed", self._planner.name, exc_info=fault)
        return _StopError("planner", f"{type(fault).__name__}: {fault}")

    def _record_unplanned(self, iteration: int, span: Span, costs: _PlannerCosts) -> None:
        """A step without a plan, if asking for one was not free: the sums of a record must be right."""
        tokens, usd, model_calls = costs.settle_rest()
        if tokens or usd or model_calls:
            self._steps.append(
                Step(
                    iteration=iteration,
                    thought="",
                    tool_calls=(),
                    findings=tuple(self._findings),
                    next_direction="",
                    started_at=span.started_at,
                    duration_ms=span.end()[1],
                    planner_tokens=tokens,
                    planner_usd=usd,
                    planner_calls=model_calls,
                )
            )

    async def _take(self, plan: Plan, iteration: int, span: Span) -> None:
        """Run the calls of a plan at the same time and record the step, all of it or as far as it came."""
        calls = plan.calls[:MAX_PLANNED_CALLS]
        if len(calls) < len(plan.calls):
            self._note(
                f"step {iteration} wanted {len(plan.calls)} calls; the first {len(calls)} were looked at"
            )
        self._publish(
            StepPlanned(
                **self._place(), iteration=iteration, thought=plan.thought, calls=calls, done=plan.done
            )
        )
        before = len(self._findings)
        if plan.findings is not None:
            self._add(plan.findings, iteration)
        # The planner has read what the calls before offered, and has now said what it takes from it.
        self._unread = ()
        spans = [self._times.call(iteration, place) for place in range(len(calls))]
        tasks = [
            asyncio.create_task(self._answer(call, spans[place], iteration, place))
            for place, call in enumerate(calls)
        ]
        cut: str | None = None
        try:
            if tasks:
                cut = await all_within(
                    tasks,
                    seconds=self._budget.remaining().seconds,
                    depth=self._budget.depth,
                    stop=self._stop,
                )
        finally:
            answers = [
                _outcome(task, call, span) for task, call, span in zip(tasks, calls, spans, strict=True)
            ]
            self._keep(plan, answers, iteration, span, before)
        if cut is not None:
            raise _StopError(cut)

    async def _answer(self, call: Call, span: Span, iteration: int, place: int) -> Answered:
        at: dict[str, Any] = {"iteration": iteration, "call": place, "tool": str(call.tool)}
        self._publish(CallStarted(**self._place(), **at, parameters=call.parameters))
        answered = await self._calls.answer(call, span=span, iteration=iteration, place=place)
        record = answered.record
        self._publish(
            CallEnded(
                **self._place(),
                **at,
                duration_ms=record.duration_ms,
                error=record.error,
                cached=record.cached,
                refused=record.refused,
                tokens=record.tokens,
                usd=record.usd,
            )
        )
        return answered

    def _keep(
        self, plan: Plan, answers: Sequence[Answered], iteration: int, span: Span, found_before: int
    ) -> None:
        offered = tuple(finding for answer in answers for finding in answer.findings)
        if plan.findings is None:
            self._add(offered, iteration)
        else:
            self._unread = offered
        self._texts = tuple(answer.text for answer in answers)
        self._refused_by = next(
            (answer.refused_by for answer in answers if answer.refused_by in _LIMITS), None
        )
        for answer in answers:
            if answer.note:
                self._note(answer.note)
        new = {_fingerprint(answer.record) for answer in answers if answer.record.error is None} - self._seen
        self._seen |= new
        self._idle = 0 if new or len(self._findings) > found_before else self._idle + 1
        self._steps.append(
            Step(
                iteration=iteration,
                thought=plan.thought,
                tool_calls=tuple(answer.record for answer in answers),
                findings=tuple(self._findings),
                next_direction=plan.next_direction,
                started_at=span.started_at,
                duration_ms=span.end()[1],
                done=plan.done,
                planner_tokens=plan.tokens,
                planner_usd=plan.usd,
                planner_calls=plan.model_calls,
                choice=plan.choice,
            )
        )
        self._publish(BudgetUpdated(**self._place(), iteration=iteration, remaining=self._budget.remaining()))

    def _starter(self, iteration: int, place: int) -> StartRun:
        """How the call at this place starts a run of its own: same planner and material, on this budget."""

        async def start(query: str, keep: Callable[[Run], None]) -> Run:
            child = Loop(
                query,
                environment=self._environment,
                planner=self._planner,
                budget=self._budget.child(),
                cache=self._cache,
                publisher=self._publish,
                times=self._times.child(iteration, place),
                on_end=keep,
                policy=self._policy,
                parent_id=self._id,
            )
            return await child.go()

        return start

    def _add(self, findings: Sequence[Finding], iteration: int) -> None:
        """Those that are new. The one that was first stays: an observation never replaces another."""
        for finding in findings:
            same = _identity(finding)
            if same in self._known:
                continue
            if len(self._findings) >= self._budget.limits.max_findings:
                self._note(f"there was more to find than {self._budget.limits.max_findings}")
                return
            self._known.add(same)
            self._findings.append(finding)
            self._publish(FindingAdded(**self._place(), iteration=iteration, finding=finding))

    def _accept_unread(self, by: str) -> None:
        """The planner had no chance to read what the last calls offered: better kept than lost."""
        if by != "done" and self._unread and self._steps:
            self._add(self._unread, len(self._steps))
            self._steps[-1] = replace(self._steps[-1], findings=tuple(self._findings))
        self._unread = ()

    async def _verified(self) -> tuple[Finding, ...]:
        found = tuple(self._findings)
        if self._verify is None:
            return found
        try:
            checked = self._verify(found)
            if inspect.isawaitable(checked):
                left_s = self._budget.remaining().seconds
                checked = await asyncio.wait_for(
                    checked, None if left_s is None else max(left_s, grace_s(self._budget.depth))
                )
            return tuple(checked)
        except Exception as error:
            _log.warning("the citations of a run could not be checked", exc_info=error)
            self._note(f"citations were not checked: {type(error).__name__}")
            return found

    def _finish(self, span: Span, by: str, error: str | None, findings: tuple[Finding, ...]) -> Run:
        ended_at, wall_ms = span.end()
        trajectory = Trajectory(
            id=self._id,
            environment=self._environment.name,
            planner=self._planner.name,
            query=self._query,
            depth=self._budget.depth,
            started_at=span.started_at,
            ended_at=ended_at,
            steps=tuple(self._steps),
            findings=findings,
            stopped_by=by,
            usage=usage_of(self._steps, depth=self._budget.depth, wall_time_ms=wall_ms),
            error=error,
            policy=self._policy,
            notes=tuple(self._notes),
            limits=self._budget.limits.document(),
        )
        finished = Run(findings=findings, trajectory=trajectory, stopped_by=by, error=error)
        if self._on_end is not None:
            try:
                self._on_end(finished)
            except Exception as fault:
                _log.warning("on_end of a run failed", exc_info=fault)
        self._publish(
            RunEnded(
                **self._place(),
                stopped_by=by,
                findings=len(findings),
                usage=trajectory.usage,
                error=error,
            )
        )
        return finished

    def _place(self) -> dict[str, Any]:
        return {"run_id": self._id, "depth": self._budget.depth, "at": self._times.now()}

    def _note(self, note: str) -> None:
        self._notes[note] = None


class _PlannerCosts:
    """What a planner sets aside and uses for one answer."""

    def __init__(self, budget: Budget) -> None:
        held = budget.reserve(subcalls=0)
        assert held is not None, "nothing always fits"
        self._held: Reservation = held
        self._used: tuple[int, float, int] | None = None
        self._granted = 0
        self.short_of: str | None = None

    def afford(self, tokens: int, usd: float) -> bool:
        """Set aside the worst case of one request, if it is there."""
        self.short_of = self._held.extend(tokens=tokens, usd=usd)
        self._granted += self.short_of is None
        return self.short_of is None

    def settle(self, tokens: int, usd: float, model_calls: int) -> None:
        """What it was."""
        self._held.settle(tokens=tokens, usd=usd)
        self._used = (tokens, usd, model_calls)

    def settle_rest(self) -> tuple[int, float, int]:
        """What it was; if nobody said, all that was set aside: a request that was sent has to be paid."""
        if self._used is None:
            self.settle(self._held.tokens, self._held.usd, self._granted)
        assert self._used is not None
        return self._used


#: The words of a refusal that end a run, when nothing else comes of a step. A refused depth is only that call's.
_LIMITS = frozenset({"subcalls", "tokens", "usd"})


def usage_of(steps: Sequence[Step], *, depth: int, wall_time_ms: float) -> Usage:
    """What steps add up to, with the runs that their calls started."""
    calls = [call for step in steps for call in step.tool_calls]
    below = [call.child.usage for call in calls if call.child is not None]
    return Usage(
        subcalls=sum(not (call.cached or call.refused) for call in calls)
        + sum(one.subcalls for one in below),
        cached_subcalls=sum(call.cached for call in calls) + sum(one.cached_subcalls for one in below),
        model_calls=sum(call.model_call for call in calls)
        + sum(step.planner_calls for step in steps)
        + sum(one.model_calls for one in below),
        tokens=sum(call.tokens for call in calls)
        + sum(step.planner_tokens for step in steps)
        + sum(one.tokens for one in below),
        usd=round(
            sum(call.usd for call in calls)
            + sum(step.planner_usd for step in steps)
            + sum(one.usd for one in below),
            9,
        ),
        wall_time_ms=wall_time_ms,
        max_depth=max([depth, *(one.max_depth for one in below)]),
    )


def _outcome(task: asyncio.Task[Answered], call: Call, span: Span) -> Answered:
    """Of a call's task; of one that does not even end when cancelled, a record that says so."""
    if task.done() and not task.cancelled():
        error = task.exception()
        if error is None:
            return task.result()
        message = f"{type(error).__name__}: {error}"
    else:
        message = "cut short: the run ended before the call did"
    record = CallRecord(
        tool=str(call.tool),
        parameters={},
        started_at=span.started_at,
        duration_ms=span.end()[1],
        error=message,
    )
    return Answered(record=record, text=f"error: {message}")


def _fingerprint(record: CallRecord) -> tuple[str, str, str]:
    return record.tool, canonical(dict(record.parameters)), canonical(record.result)


def _identity(finding: Finding) -> object:
    """What makes two findings one: they speak for the same group by the same words of the same place."""
    cited = tuple(
        (one.kind, one.file_path, one.line_start, one.line_end, one.content_hash) for one in finding.citations
    )
    if cited:
        return finding.group, cited, finding.evidence
    return finding.group, finding.source_file, finding.line_range, finding.evidence or finding.description

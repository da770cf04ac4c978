"""What a run tells while it goes on: typed events, and `Publisher`, which hands them to a subscriber.

A subscriber is a function of one event; one that returns an awaitable is waited for in the background, in order. A
subscriber that raises or hangs never hurts the run. The record of a run is its trajectory: events are for watching.
"""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, ClassVar
from uuid import UUID

from recollect.domain.codec import encode_fields
from recollect.domain.findings import Finding
from recollect.domain.trajectory import Usage
from recollect.runs.planners.contract import Call, Remaining

_log = logging.getLogger(__name__)

#: A subscriber that is slower than the run: so many events wait for it, the newest are dropped.
_MAX_WAITING = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """Of one run: `run_id` and `depth` say which of those in the tree."""

    type: ClassVar[str] = "event"

    run_id: UUID
    depth: int
    at: datetime

    def document(self) -> dict[str, Any]:
        """As JSON."""
        return {"type": self.type, **encode_fields(self)}


@dataclass(frozen=True, slots=True, kw_only=True)
class RunStarted(Event):
    """A run begins; `parent_id` is the run whose call started it."""

    type = "run_started"

    query: str
    environment: str
    planner: str
    parent_id: UUID | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class StepPlanned(Event):
    """The planner said what to do next."""

    type = "step_planned"

    iteration: int
    thought: str
    calls: tuple[Call, ...]
    done: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class CallStarted(Event):
    """A call is about to be checked and run. `call` is its place in the step."""

    type = "call_started"

    iteration: int
    call: int
    tool: str
    parameters: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class CallEnded(Event):
    """A call ended, well or not."""

    type = "call_ended"

    iteration: int
    call: int
    tool: str
    duration_ms: float
    error: str | None
    cached: bool
    refused: bool
    tokens: int
    usd: float


@dataclass(frozen=True, slots=True, kw_only=True)
class FindingAdded(Event):
    """Something was found that was not known before."""

    type = "finding_added"

    iteration: int
    finding: Finding


@dataclass(frozen=True, slots=True, kw_only=True)
class BudgetUpdated(Event):
    """What is left after a step."""

    type = "budget_updated"

    iteration: int
    remaining: Remaining


@dataclass(frozen=True, slots=True, kw_only=True)
class RunEnded(Event):
    """A run ended; nothing of it follows."""

    type = "run_ended"

    stopped_by: str
    findings: int
    usage: Usage
    error: str | None = None


Subscriber = Callable[[Event], Awaitable[None] | None]


class Publisher:
    """Hands events to one subscriber, or to nobody."""

    def __init__(self, subscriber: Subscriber | None) -> None:
        self._subscriber = subscriber
        self._complained = False
        self._waiting: asyncio.Queue[Awaitable[None]] | None = None
        self._pump: asyncio.Task[None] | None = None

    def __call__(self, event: Event) -> None:
        """Tell; it never raises and never waits."""
        if self._subscriber is None:
            return
        try:
            answer = self._subscriber(event)
        except Exception as error:
            self._complain(error)
            return
        if inspect.isawaitable(answer):
            self._later(answer)

    async def close(self, *, timeout_s: float = 1.0) -> None:
        """Let the subscriber catch up, within the time; then leave it behind."""
        if self._pump is None or self._waiting is None:
            return
        try:
            await asyncio.wait_for(self._waiting.join(), timeout_s)
        except TimeoutError as error:
            self._complain(error)
        finally:
            self.abandon()

    def abandon(self) -> None:
        """End the background task at once."""
        if self._pump is not None:
            self._pump.cancel()
            self._pump = None
        while self._waiting is not None and not self._waiting.empty():
            _discard(self._waiting.get_nowait())

    def _later(self, awaitable: Awaitable[None]) -> None:
        if self._waiting is None:
            self._waiting = asyncio.Queue(_MAX_WAITING)
        if self._pump is None:
            self._pump = asyncio.get_running_loop().create_task(self._deliver(self._waiting))
        try:
            self._waiting.put_nowait(awaitable)
        except asyncio.QueueFull as error:
            _discard(awaitable)
            self._complain(error)

    async def _deliver(self, waiting: asyncio.Queue[Awaitable[None]]) -> None:
        while True:
            awaitable = await waiting.get()
            try:
                await awaitable
            except Exception as error:
                self._complain(error)
            finally:
                waiting.task_done()

    def _complain(self, error: BaseException) -> None:
        """Once for each run: a broken subscriber would fill the log."""
        if not self._complained:
            self._complained = True
            reason = str(error) or type(error).__name__
            _log.warning("a subscriber to the events of a run failed; the run goes on: %s", reason)
            _log.debug("where it failed", exc_info=error)


def _discard(awaitable: Awaitable[None]) -> None:
    if inspect.iscoroutine(awaitable):
        awaitable.close()

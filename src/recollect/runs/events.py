"""What a run tells while it goes on: typed events, `Publisher`, which hands them to a subscriber, and `Announcer`.

A subscriber is a function of one event; one that returns an awaitable is waited for in the background, in order. A
subscriber that raises or hangs never hurts the run. The record of a run is its trajectory: events are for watching.

An `Announcer` is the publisher of a run that others may watch. It numbers what happens, in the words of whoever asks
(`Words`), and keeps it in the store for watchers in other processes: what happens close together in one transaction.
"""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, ClassVar
from uuid import UUID

from recollect.domain.codec import encode, encode_fields
from recollect.domain.findings import Finding
from recollect.domain.trajectory import Usage
from recollect.runs.planners.contract import Call, Remaining
from recollect.runs.times import utc_now

if TYPE_CHECKING:
    from recollect.domain.tenancy import TenantContext
    from recollect.storage.store import Store

_log = logging.getLogger(__name__)

#: A subscriber that is slower than the run: so many events wait for it, the newest are dropped.
_MAX_WAITING = 10_000
#: Of a parameter or a thought.
_SHOWN_CHARS = 300
#: What happens within this time is kept together: steps without a model take milliseconds.
_TOGETHER_S = 0.5
#: For the store to keep the last of it. On a busy machine that took more than a second, and was lost.
_CATCH_UP_S = 20.0


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
class CallEnded(CallStarted):
    """A call ended, well or not."""

    type = "call_ended"

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
_ALL = frozenset({RunStarted, StepPlanned, CallStarted, CallEnded, FindingAdded, BudgetUpdated, RunEnded})


class Publisher:
    """Hands events to one subscriber, or to nobody. `now` says when something happened.

    `heard` are the kinds of events that somebody listens to: others need not be told.
    """

    def __init__(self, subscriber: Subscriber | None, now: Callable[[], datetime] = utc_now) -> None:
        self._subscriber = subscriber
        self.heard: frozenset[type[Event]] = frozenset() if subscriber is None else _ALL
        self.now = now
        self._complained = False
        self._waiting: asyncio.Queue[Awaitable[None]] | None = None
        self._pump: asyncio.Task[None] | None = None

    def tell(self, kind: type[Event], **values: Any) -> None:
        """Something happened now."""
        self(kind(at=self.now(), **values))

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


#: Makes what is told of a `type`, a `number` in the run, when it was (`at`) and `detail`: a value that JSON can say.
Make = Callable[..., Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Words:
    """The types of events of one kind of run; what has none is not told. `resume` is said of one that is cut short."""

    thinking: str
    tool_call: str
    failed: str
    resume: str
    finding: str | None = None
    budget: str | None = None


class Announcer(Publisher):
    """Numbers, keeps and hands out what happens in one run. Without a store only `subscriber` hears of it.

    The subscriber hears what is said, or with `engine_events` what the engine tells.
    """

    def __init__(
        self,
        store: Store | None,
        context: TenantContext | None,
        *,
        words: Words,
        make: Make,
        subscriber: Callable[[Any], Awaitable[None] | None] | None = None,
        engine_events: bool = False,
        now: Callable[[], datetime] = utc_now,
    ) -> None:
        super().__init__(subscriber, now)
        self.said: list[Any] = []
        self._store, self._context = store, context
        self._words, self._make = words, make
        self._engine_events = engine_events
        if not engine_events or subscriber is None:
            words_of = {FindingAdded: words.finding, BudgetUpdated: words.budget}
            more = {kind for kind, word in words_of.items() if word is not None}
            self.heard = frozenset({StepPlanned, CallEnded, *more})
        self._waiting_for_store: list[tuple[str, Any]] = []
        self._keeper: asyncio.Task[None] | None = None
        self._closing = asyncio.Event()

    def say(self, type: str, /, **detail: Any) -> None:
        """Something happened."""
        event = self._make(type=type, number=len(self.said) + 1, at=self.now(), detail=detail)
        self.said.append(event)
        if not self._engine_events:
            super().__call__(event)
        if self._store is not None and len(self._waiting_for_store) < _MAX_WAITING:
            self._waiting_for_store.append((type, event))
            if self._keeper is None or self._keeper.done():
                self._keeper = asyncio.get_running_loop().create_task(self._keep())

    def __call__(self, event: Event) -> None:
        """What the engine tells, in the words of this kind of run."""
        if self._engine_events:
            super().__call__(event)
        words = self._words
        if isinstance(event, StepPlanned):
            thought, calls = event.thought[:_SHOWN_CHARS], [call.tool for call in event.calls]
            self.say(words.thinking, step=event.iteration, depth=event.depth, thought=thought, calls=calls)
        elif isinstance(event, CallEnded):
            self.say(
                words.tool_call,
                step=event.iteration,
                depth=event.depth,
                tool=event.tool,
                parameters={name: _shown(value) for name, value in event.parameters.items()},
                duration_ms=round(event.duration_ms, 3),
                cached=event.cached,
                error=event.error,
            )
        elif isinstance(event, FindingAdded) and words.finding is not None:
            self.say(words.finding, step=event.iteration, finding=event.finding.document())
        elif isinstance(event, BudgetUpdated) and words.budget is not None:
            self.say(words.budget, **event.document())

    def fail(self, error: BaseException) -> None:
        """It ends without an answer."""
        if isinstance(error, asyncio.CancelledError):
            self.say(self._words.failed, error=self._words.resume, code="run_interrupted")
        else:
            code = getattr(error, "code", "unexpected")
            self.say(self._words.failed, error=str(error)[:1_000], code=code)

    async def close(self, *, timeout_s: float = 1.0) -> None:
        """Let the store and the subscriber catch up, for a while."""
        self._closing.set()
        if self._keeper is not None:
            _, late = await asyncio.wait({self._keeper}, timeout=_CATCH_UP_S)
            for keeper in late:
                keeper.cancel()
                _log.warning("the last events of a run were not kept: the store was too slow")
        await super().close(timeout_s=timeout_s)

    async def _keep(self) -> None:
        """Write down what waits, and what comes in the meantime."""
        with suppress(TimeoutError):
            await asyncio.wait_for(self._closing.wait(), _TOGETHER_S)
        from recollect.storage.happenings import tell_all

        while self._waiting_for_store and self._store is not None and self._context is not None:
            batch, self._waiting_for_store = self._waiting_for_store, []
            types, said = zip(*batch, strict=True)
            try:
                async with self._store.transaction(self._context) as tx:
                    await tell_all(tx, list(zip(types, encode(said), strict=True)))
            except Exception as error:
                _log.warning("what happens in a run can't be kept; the run goes on: %s", error)


def _shown(value: Any) -> Any:
    if isinstance(value, str) and len(value) > _SHOWN_CHARS:
        return f"{value[:_SHOWN_CHARS]}…"
    return value


def _discard(awaitable: Awaitable[None]) -> None:
    if inspect.iscoroutine(awaitable):
        awaitable.close()

"""What a run tells while it goes on: to whoever asked, and to whoever watches the tenant.

One `Announcer` belongs to one run. It numbers what happens, in the words of whoever asks (`Words`), and keeps it in the
store for watchers in other processes: what happens close together in one transaction. Nothing that fails or is slow
here ever hurts the run. Events are for watching; the record is the trajectory.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from uuid import UUID

from recollect.runs import events as engine
from recollect.storage.happenings import tell

if TYPE_CHECKING:
    from recollect.domain.tenancy import TenantContext
    from recollect.storage.store import Store

_log = logging.getLogger(__name__)

#: Of a parameter or a thought.
_SHOWN_CHARS = 300
#: What happens within this time is kept together: steps without a model take milliseconds.
_TOGETHER_S = 0.2
#: For the store to keep the last of it. On a busy machine that took more than a second, and was lost.
_CATCH_UP_S = 20.0
_MAX_WAITING = 10_000

#: Makes what is told of a type, a number in the run and details: JSON, or a value that has it as `document()`.
Make = Callable[[str, int, Mapping[str, Any]], Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Words:
    """The types of events of one kind of run; what has none is not told. `resume` is said of one that is cut short."""

    thinking: str
    tool_call: str
    failed: str
    resume: str
    finding: str | None = None
    budget: str | None = None


class Announcer:
    """Numbers, keeps and hands out what happens in one run. Without a store only `on_said` hears of it."""

    def __init__(
        self,
        store: Store | None,
        context: TenantContext | None,
        *,
        words: Words,
        make: Make,
        on_said: Callable[[Any], Awaitable[None] | None] | None = None,
    ) -> None:
        self.said: list[Any] = []
        self._store, self._context = store, context
        self._words, self._make = words, make
        self._calls: dict[tuple[UUID, int, int], Mapping[str, Any]] = {}
        self._waiting: list[tuple[str, dict[str, Any]]] = []
        self._keeper: asyncio.Task[None] | None = None
        self._closing = asyncio.Event()
        self._publisher = engine.Publisher(on_said)

    def say(self, type: str, /, **detail: Any) -> None:
        """Something happened."""
        said = self._make(type, len(self.said) + 1, detail)
        self.said.append(said)
        self._publisher(said)
        if self._store is not None and len(self._waiting) < _MAX_WAITING:
            self._waiting.append((type, said if isinstance(said, dict) else said.document()))
            if self._keeper is None or self._keeper.done():
                self._keeper = asyncio.get_running_loop().create_task(self._keep())

    def hear(self, event: engine.Event) -> None:
        """What the engine tells, in the words of this kind of run."""
        words = self._words
        if isinstance(event, engine.StepPlanned):
            thought, calls = event.thought[:_SHOWN_CHARS], [call.tool for call in event.calls]
            self.say(words.thinking, step=event.iteration, depth=event.depth, thought=thought, calls=calls)
        elif isinstance(event, engine.CallStarted):
            self._calls[event.run_id, event.iteration, event.call] = event.parameters
        elif isinstance(event, engine.CallEnded):
            parameters = self._calls.pop((event.run_id, event.iteration, event.call), {})
            self.say(
                words.tool_call,
                step=event.iteration,
                depth=event.depth,
                tool=event.tool,
                parameters={name: _shown(value) for name, value in parameters.items()},
                duration_ms=round(event.duration_ms, 3),
                cached=event.cached,
                error=event.error,
            )
        elif isinstance(event, engine.FindingAdded) and words.finding is not None:
            self.say(words.finding, step=event.iteration, finding=event.finding.document())
        elif isinstance(event, engine.BudgetUpdated) and words.budget is not None:
            self.say(words.budget, **event.document())

    def fail(self, error: BaseException) -> None:
        """It ends without an answer."""
        if isinstance(error, asyncio.CancelledError):
            self.say(self._words.failed, error=self._words.resume, code="run_interrupted")
        else:
            code = getattr(error, "code", "unexpected")
            self.say(self._words.failed, error=str(error)[:1_000], code=code)

    async def close(self) -> None:
        """Let the store and the subscriber catch up, for a while."""
        self._closing.set()
        if self._keeper is not None:
            _, late = await asyncio.wait({self._keeper}, timeout=_CATCH_UP_S)
            for keeper in late:
                keeper.cancel()
                _log.warning("the last events of a run were not kept: the store was too slow")
        await self._publisher.close()

    async def _keep(self) -> None:
        """Write down what waits, and what comes in the meantime."""
        with suppress(TimeoutError):
            await asyncio.wait_for(self._closing.wait(), _TOGETHER_S)
        while self._waiting and self._store is not None and self._context is not None:
            batch, self._waiting = self._waiting, []
            try:
                async with self._store.transaction(self._context) as tx:
                    for type, said in batch:
                        await tell(tx, type, None, said)
            except Exception as error:
                _log.warning("what happens in a run can't be kept; the run goes on: %s", error)


def _shown(value: Any) -> Any:
    if isinstance(value, str) and len(value) > _SHOWN_CHARS:
        return f"{value[:_SHOWN_CHARS]}…"
    return value

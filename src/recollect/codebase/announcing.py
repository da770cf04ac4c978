"""What an exploration tells to whoever watches the tenant, where a store is open: as events, like a consultation.

They are for watching; the record is the audit. Secrets are masked, and only who asked and admins hear of it.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Mapping
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, cast

from recollect.codebase.secrets import mask_values
from recollect.domain.happenings import ExplorationEvent
from recollect.runs import events as engine
from recollect.storage.happenings import tell

if TYPE_CHECKING:
    from collections.abc import Callable
    from uuid import UUID

    from recollect.domain.codebase import RLMResult
    from recollect.domain.tenancy import TenantContext
    from recollect.storage.store import Store

#: Of a parameter or a thought: events are for watching, the record is the trajectory.
_SHOWN_CHARS = 300
#: For the store to keep what was told. It writes an event in milliseconds; on a busy machine the last ones took more
#: than a second, and were lost.
_CATCH_UP_S = 20.0


class Announcer:
    """Tells of one exploration."""

    def __init__(
        self,
        store: Store,
        context: TenantContext,
        *,
        task_id: str,
        query: str,
        on_event: engine.Subscriber | None,
    ) -> None:
        self._store, self._context = store, context
        self._task_id, self._query = task_id, query
        self._on_event = on_event
        self._calls: dict[tuple[UUID, int, int], Mapping[str, Any]] = {}
        self._number = 0
        # The engine's publisher waits for whatever it is handed, in order, and outlives a store that fails.
        self._publisher = engine.Publisher(cast(engine.Subscriber, lambda storing: storing))

    def hear(self, event: engine.Event) -> Awaitable[None] | None:
        """What the engine tells, for watchers and for who asked."""
        said = self._translated(event)
        if said is not None:
            self._say(*said)
        return self._on_event(event) if self._on_event is not None else None

    def _translated(self, event: engine.Event) -> tuple[ExplorationEvent, Mapping[str, Any]] | None:
        if isinstance(event, engine.StepPlanned):
            return ExplorationEvent.THINKING, {
                "step": event.iteration,
                "depth": event.depth,
                "thought": event.thought[:_SHOWN_CHARS],
                "calls": [call.tool for call in event.calls],
            }
        if isinstance(event, engine.CallStarted):
            self._calls[event.run_id, event.iteration, event.call] = event.parameters
        if isinstance(event, engine.CallEnded):
            parameters = self._calls.pop((event.run_id, event.iteration, event.call), {})
            return ExplorationEvent.TOOL_CALL, {
                "step": event.iteration,
                "depth": event.depth,
                "tool": event.tool,
                "parameters": {name: str(value)[:_SHOWN_CHARS] for name, value in parameters.items()},
                "duration_ms": round(event.duration_ms, 3),
                "cached": event.cached,
                "error": event.error,
            }
        if isinstance(event, engine.FindingAdded):
            return ExplorationEvent.FINDING, {"step": event.iteration, "finding": event.finding.document()}
        if isinstance(event, engine.BudgetUpdated):
            return ExplorationEvent.BUDGET, event.document()
        return None

    def _say(self, type: ExplorationEvent, detail: Mapping[str, Any]) -> None:
        self._number += 1
        said = {"task_id": self._task_id, "number": self._number, "detail": detail}
        self._publisher(cast(engine.Event, self._stored(type, mask_values(said))))

    async def _stored(self, type: ExplorationEvent, document: Mapping[str, Any]) -> None:
        async with self._store.transaction(self._context) as tx:
            await tell(tx, type.value, None, document)

    def began(self) -> None:
        """It begins."""
        self._say(ExplorationEvent.STARTED, {"query": self._query})

    def ended(self, result: RLMResult) -> None:
        """It has answered."""
        said = {
            "success": result.success,
            "citations": len(result.citations),
            "findings": len(result.findings),
            "stopped_by": result.stopped_by,
            "subcalls": result.usage.subcall_count,
        }
        self._say(ExplorationEvent.COMPLETED, said)

    def failed(self, error: BaseException) -> None:
        """It has not."""
        interrupted = isinstance(error, asyncio.CancelledError)
        code = "run_interrupted" if interrupted else getattr(error, "code", "unexpected")
        words = "it was cut short; resume the task to go on" if interrupted else str(error)[:1_000]
        self._say(ExplorationEvent.FAILED, {"error": words, "code": code})

    async def close(self) -> None:
        """Let the store catch up."""
        await self._publisher.close(timeout_s=_CATCH_UP_S)


@asynccontextmanager
async def announced(
    store: Store,
    context: TenantContext,
    *,
    task_id: str,
    query: str,
    on_event: engine.Subscriber | None,
) -> AsyncIterator[tuple[engine.Subscriber, Callable[[RLMResult], None]]]:
    """The subscriber to pass to an exploration, and what to call with its result."""
    announcer = Announcer(store, context, task_id=task_id, query=query, on_event=on_event)
    announcer.began()
    try:
        yield announcer.hear, announcer.ended
    except BaseException as error:
        announcer.failed(error)
        raise
    finally:
        await announcer.close()

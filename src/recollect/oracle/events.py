"""What a consultation tells: to whoever asked, to whoever listens to the tenant, and to the store.

`Announcer` belongs to one consultation and numbers its events. `subscribe` and `follow` are for others, such as a page
that shows what goes on; they hear only of the tenant they name, and only of the user they name unless they are admins.
A subscriber that fails or is slow never hurts the consultation.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from datetime import datetime
from typing import TYPE_CHECKING, Any, cast
from uuid import UUID
from weakref import WeakKeyDictionary

from recollect.domain.oracle import EventType, OracleEvent
from recollect.runs import events as engine
from recollect.storage.happenings import tell

if TYPE_CHECKING:
    from recollect.domain.tenancy import TenantContext
    from recollect.workspace import Workspace

Subscriber = Callable[[OracleEvent], Awaitable[None] | None]

#: Of a parameter in an event: events are for watching, the record is the trajectory.
_SHOWN_CHARS = 300
#: A follower that is this far behind loses the newest.
_MAX_WAITING = 10_000

_listening: WeakKeyDictionary[Workspace, list[tuple[TenantContext, Subscriber]]] = WeakKeyDictionary()


class Announcer:
    """Numbers, keeps and hands out the events of one consultation."""

    def __init__(
        self,
        workspace: Workspace,
        context: TenantContext,
        *,
        consultation_id: UUID,
        session_id: str,
        workflow: str | None,
        agent: str | None,
        now: Callable[[], datetime],
        on_event: Subscriber | None = None,
    ) -> None:
        self.events: list[OracleEvent] = []
        self._id = consultation_id
        self._session_id = session_id
        self._about = (workflow, agent)
        self._now = now
        self._calls: dict[tuple[UUID, int, int], Mapping[str, Any]] = {}
        hearers: list[Subscriber] = [on_event] if on_event is not None else []

        async def keep(event: OracleEvent) -> None:
            """For watchers in other processes."""
            async with workspace.store.transaction(context) as tx:
                await tell(tx, event.type.value, None, event.document())

        hearers.append(keep)
        hearers += [
            hearer
            for listener, hearer in _listening.get(workspace, ())
            if listener.tenant_id == context.tenant_id
            and (listener.is_admin or listener.user_id == context.user_id)
        ]
        # The engine's publisher hands on whatever it is given, in order, and outlives a subscriber that fails.
        self._publishers = [engine.Publisher(cast(engine.Subscriber, hearer)) for hearer in hearers]

    def say(self, type: EventType, **detail: Any) -> None:
        """Something happened."""
        event = OracleEvent(
            type=type,
            consultation_id=self._id,
            session_id=self._session_id,
            number=len(self.events) + 1,
            at=self._now(),
            workflow=self._about[0],
            agent=self._about[1],
            detail=detail,
        )
        self.events.append(event)
        for publisher in self._publishers:
            publisher(cast(engine.Event, event))

    def hear(self, event: engine.Event) -> None:
        """What the engine tells, in the consultation's words."""
        if isinstance(event, engine.StepPlanned):
            self.say(
                EventType.ORACLE_CONSULTATION_THINKING,
                step=event.iteration,
                depth=event.depth,
                thought=event.thought[:_SHOWN_CHARS],
                calls=[call.tool for call in event.calls],
            )
        elif isinstance(event, engine.CallStarted):
            self._calls[event.run_id, event.iteration, event.call] = event.parameters
        elif isinstance(event, engine.CallEnded):
            parameters = self._calls.pop((event.run_id, event.iteration, event.call), {})
            self.say(
                EventType.ORACLE_RLM_TOOL_CALL,
                step=event.iteration,
                depth=event.depth,
                tool=event.tool,
                parameters={name: _shown(value) for name, value in parameters.items()},
                duration_ms=round(event.duration_ms, 3),
                cached=event.cached,
                error=event.error,
            )

    async def close(self) -> None:
        """Let subscribers catch up, for a moment."""
        for publisher in self._publishers:
            await publisher.close()


def subscribe(workspace: Workspace, context: TenantContext, subscriber: Subscriber) -> Callable[[], None]:
    """Hear of every consultation that this caller may know of; returns what ends it."""
    entry = (context, subscriber)
    _listening.setdefault(workspace, []).append(entry)

    def end() -> None:
        entries = _listening.get(workspace, [])
        if entry in entries:
            entries.remove(entry)

    return end


@asynccontextmanager
async def follow(workspace: Workspace, context: TenantContext) -> AsyncIterator[AsyncIterator[OracleEvent]]:
    """The events of all consultations of a tenant from now on, as an iterator while the context lasts."""
    waiting: asyncio.Queue[OracleEvent] = asyncio.Queue(_MAX_WAITING)

    def hear(event: OracleEvent) -> None:
        if not waiting.full():
            waiting.put_nowait(event)

    async def told() -> AsyncIterator[OracleEvent]:
        while True:
            yield await waiting.get()

    end = subscribe(workspace, context, hear)
    try:
        yield told()
    finally:
        end()


def _shown(value: Any) -> Any:
    text = value if isinstance(value, str) else None
    return f"{text[:_SHOWN_CHARS]}…" if text is not None and len(text) > _SHOWN_CHARS else value

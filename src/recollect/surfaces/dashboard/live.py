"""What happens while a page is open: events of the tenant reach it by themselves, from whatever process they come."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import aclosing, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from nicegui import background_tasks, ui

from recollect.errors import RecollectError
from recollect.surfaces.http.events import heard

if TYPE_CHECKING:
    import asyncio

    from recollect.domain.overview import Happening
    from recollect.surfaces.dashboard.visitor import Visitor


_BATCH = 1_000
#: A run that began longer ago and never said that it ended was cut off.
RUNNING_FOR = timedelta(hours=1)
E = TypeVar("E")


async def events_since(visitor: Visitor, types: Iterable[str], *, since: datetime) -> list[Happening]:
    """What happened of some types since a moment, the oldest first, as far as the visitor may know of it."""
    events, wanted = (await visitor.store()).events, sorted(types)
    happenings: list[Happening] = []
    begin: dict[str, Any] = {"since": since}
    while True:
        batch = await events.list(types=wanted, limit=_BATCH, **begin)
        happenings += batch
        if len(batch) < _BATCH:
            return happenings
        begin = {"after": batch[-1].id}


@dataclass(slots=True, kw_only=True)
class Unfinished(Generic[E]):
    """Runs of one kind that have begun and not ended, by what `run_of` says of an event.

    `read` tells the events of the kind from all that happens.
    """

    read: Callable[[Happening], E | None]
    run_of: Callable[[E], Any]
    start: str
    ends: frozenset[str]
    begun: dict[Any, E] = field(default_factory=dict)

    def heard(self, happening: Happening) -> bool:
        """Whether something that happened is the beginning or the end of one."""
        event = self.read(happening) if happening.type in {self.start, *self.ends} else None
        if event is None:
            return False
        if happening.type == self.start:
            self.begun[self.run_of(event)] = event
        else:
            self.begun.pop(self.run_of(event), None)
        return True

    async def catch_up(self, visitor: Visitor, now: datetime) -> None:
        """Hear what was told until now."""
        for happening in await events_since(visitor, {self.start, *self.ends}, since=now - RUNNING_FOR):
            self.heard(happening)


def watch(
    visitor: Visitor, hear: Callable[[Happening], Any], *, since: datetime | None = None
) -> asyncio.Task[Any]:
    """Call `hear` with everything that the visitor may know of, from now or a moment on, until the page is left."""
    client = ui.context.client
    begin = since or datetime.now(UTC)

    async def listen() -> None:
        with suppress(RecollectError):
            store = await visitor.store()
            async with aclosing(heard(store, visitor.feed, begin)) as events:
                async for event in events:
                    done = hear(event)
                    if done is not None:
                        await done

    task = background_tasks.create(listen(), name="events of a page", context=client)
    client.on_delete(task.cancel)
    return task

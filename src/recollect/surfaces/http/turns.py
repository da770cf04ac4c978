"""Who is next: so many requests are worked on at once, the others wait in the order in which they came.

More at once would not be answered sooner: they would take the processor from each other, and who came first might be
last. Verbs that take seconds and mostly wait (consultations, explorations, upkeep) stand in no queue.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from recollect import telemetry
from recollect.errors import StoreBusyError
from recollect.providers.runtime import usable_cores

#: A queue of so many would be answered too late for most of them.
MOST_WAITING = 1_000
_PER_CORE = 2


class Turns:
    """A queue that is fair."""

    def __init__(self, at_once: int, *, most_waiting: int = MOST_WAITING) -> None:
        self._free = asyncio.Semaphore(at_once)
        self._most_waiting = most_waiting
        self._waiting = 0

    @asynccontextmanager
    async def turn(self) -> AsyncIterator[None]:
        """Wait for one's turn, and have it while this lasts."""
        if self._free.locked():
            await self._wait()
        else:
            await self._free.acquire()
        try:
            yield
        finally:
            self._free.release()

    async def _wait(self) -> None:
        if self._waiting >= self._most_waiting:
            raise StoreBusyError(f"{self._waiting} requests wait here already; try again in a moment")
        self._waiting += 1
        telemetry.waiting(self._waiting)
        try:
            await self._free.acquire()
        finally:
            self._waiting -= 1
            telemetry.waiting(self._waiting)


def at_once(*, workers: int = 1) -> int:
    """How many requests one process works on: two for each core that is its share."""
    return max(2, _PER_CORE * usable_cores() // workers)

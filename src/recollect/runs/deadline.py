"""Waiting for work that may hang, and ending it: the engine's only way to await somebody else's code.

The work runs as tasks of its own. When it takes too long, or whoever waits is cancelled or told to stop, it is
cancelled and gets a moment to clean up (roll back, close a connection). A task that ignores its cancellation is left
behind with a log line: nothing in Python can end it, and the run must not hang with it.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Collection
from typing import Any, TypeVar

T = TypeVar("T")

_log = logging.getLogger(__name__)


def grace_s(depth: int) -> float:
    """How long cancelled work may clean up. Deeper is shorter, so that a child's record reaches its parent in time."""
    return 1.0 / (1 + depth)


class CutError(Exception):
    """The work was ended before its time, by "timeout" or "cancelled". Never leaves the engine."""

    def __init__(self, by: str) -> None:
        super().__init__(by)
        self.by = by


async def within(
    work: Awaitable[T],
    *,
    seconds: float | None,
    depth: int,
    stop: asyncio.Event | None = None,
    last_words: bool = False,
) -> T:
    """The work's result; `CutError` when it takes longer, or was told to stop, or cancels itself.

    With `last_words` a result counts even if it came when the work had been cancelled already, or whoever waits had:
    for callers whose own result is asked for after they are cancelled.
    """
    task = asyncio.ensure_future(work)
    try:
        cut = await all_within([task], seconds=seconds, depth=depth, stop=stop)
    except asyncio.CancelledError:
        if last_words and task.done() and not task.cancelled() and task.exception() is None:
            return task.result()
        raise
    if task.cancelled() or not task.done():
        raise CutError(cut or "cancelled")
    if cut is not None and (task.exception() is not None or not last_words):
        raise CutError(cut)
    return task.result()


async def all_within(
    tasks: Collection[asyncio.Future[Any]],
    *,
    seconds: float | None,
    depth: int,
    stop: asyncio.Event | None = None,
) -> str | None:
    """Wait until all are done; else end them, and say what cut them short: "timeout" or "cancelled"."""
    stopped = None if stop is None else asyncio.create_task(stop.wait())
    every: asyncio.Future[Any] = asyncio.gather(*tasks, return_exceptions=True)
    waiting: set[asyncio.Future[Any]] = {every} if stopped is None else {every, stopped}
    try:
        await asyncio.wait(waiting, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        if every.done():
            return None
        await _end(tasks, depth=depth)
        return "cancelled" if stopped is not None and stopped.done() else "timeout"
    except asyncio.CancelledError:
        await _end(tasks, depth=depth)
        raise
    finally:
        if stopped is not None:
            stopped.cancel()


async def _end(tasks: Collection[asyncio.Future[Any]], *, depth: int) -> None:
    """Cancel them and wait for their end, a moment at most."""
    running = {task for task in tasks if not task.done()}
    for task in running:
        task.cancel()
    if running:
        _, deaf = await asyncio.wait(running, timeout=grace_s(depth))
        for task in deaf:
            _log.warning("a cancelled call does not end and was left behind: %r", task)

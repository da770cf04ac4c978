"""How synchronous code runs coroutines: a background thread with an event loop, one per client.

`Recollect` (sync_client.py) hands every coroutine of its `AsyncRecollect` to a `Portal`. The loop lives in a
daemon thread of its own, so the caller may be in any thread, even in one that runs another loop (a notebook):
it just blocks there. One portal per client, not per process: closing a client ends its thread, and nothing
is shared that one client could break for another.

This module knows nothing of memories or databases.
"""

from __future__ import annotations

import asyncio
import atexit
import concurrent.futures
import contextlib
import contextvars
import functools
import os
import threading
import weakref
from collections.abc import Awaitable, Callable, Coroutine
from types import TracebackType
from typing import Any, Concatenate, Generic, ParamSpec, TypeVar

from recollect.errors import ConflictError, RecollectError

P = ParamSpec("P")
T = TypeVar("T")

#: How long an end may take: a cancelled call rolling back, a client closing. A safeguard, rarely reached.
CLOSE_TIMEOUT_S = 10.0

_open_portals: weakref.WeakSet[Portal] = weakref.WeakSet()


class Portal:
    """Runs coroutines from synchronous code. The thread starts with the first call.

    `on_close` is awaited in the loop when the portal ends, however it ends: `close()`, the end of the
    process, or the portal becoming garbage.
    """

    def __init__(
        self, on_close: Callable[[], Awaitable[object]] | None = None, name: str = "recollect"
    ) -> None:
        self._on_close = on_close
        self._name = name
        self._lock = threading.Lock()
        self._serving: _Serving | None = None
        self._closed = False

    def run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine to its end and return what it returns, or raise what it raises.

        Ctrl+C while waiting cancels the coroutine, lets it clean up, and goes on as usual.
        """
        try:
            call = self._begin(coroutine)
        except BaseException:
            coroutine.close()
            raise
        try:
            return call.outcome.result()
        except BaseException as error:
            call.cancel_and_wait()
            if self._closed and isinstance(error, concurrent.futures.CancelledError):
                raise ConflictError("the client was closed while this call was running") from None
            # Frames of the waiting say nothing about the fault; the coroutine's own do.
            error.__traceback__ = _without_waiting(error.__traceback__)
            raise
        finally:
            # An exception refers to this frame; without this the frame would refer back to it.
            del call, coroutine

    @property
    def is_closed(self) -> bool:
        """Whether `close` was called."""
        return self._closed

    def close(self) -> None:
        """End the loop and its thread, raising what `on_close` raised. Closing twice is fine."""
        with self._lock:
            self._closed = True
            serving, self._serving = self._serving, None
            if serving is None or serving.is_of_another_process:
                return
            serving.stop()
        if serving.is_current_thread:
            raise RecollectError("a client can't be closed from inside its own loop")
        serving.thread.join(CLOSE_TIMEOUT_S * 2)
        if serving.fault is not None:
            raise serving.fault

    def __del__(self) -> None:
        # No join: this may run in any thread, even in the portal's own.
        if self._serving is not None and not self._serving.is_of_another_process:
            self._serving.stop()

    def _begin(self, coroutine: Coroutine[Any, Any, T]) -> _Call[T]:
        if self._serving is not None and self._serving.is_of_another_process:
            # Threads do not survive a fork, and the parent's connections must not be used twice.
            raise RecollectError("this client was used before a fork; make a new one in the child process")
        with self._lock:
            if self._closed:
                raise ConflictError("this client is closed; make a new one")
            if self._serving is None:
                self._serving = _Serving(self._on_close, self._name)
                _open_portals.add(self)
            if self._serving.is_current_thread:
                raise RecollectError(
                    "a blocking call from inside the client's own loop would wait for itself"
                )
            # Under the lock, so that nothing can be begun after the loop was told to stop.
            return _Call(coroutine, self._serving.loop)


class SyncFace:
    """A class of the synchronous client: its asynchronous twin, and the portal that runs what the twin gives."""

    def __init__(self, client: Any, portal: Portal) -> None:
        self._async = client
        self._portal = portal


def blocking(
    method: Callable[Concatenate[Any, P], Coroutine[Any, Any, T]],
) -> Callable[Concatenate[SyncFace, P], T]:
    """A method of a synchronous class that waits for one of its asynchronous twin."""

    @functools.wraps(method)
    def waiting(self: SyncFace, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return self._portal.run(method(self._async, *args, **kwargs))

    return waiting


class _Serving:
    """The loop and its thread. Refers to no portal, so that a forgotten one can be collected."""

    def __init__(self, on_close: Callable[[], Awaitable[object]] | None, name: str) -> None:
        self.on_close = on_close
        self.fault: BaseException | None = None
        self.pid = os.getpid()
        self.loop = asyncio.new_event_loop()
        self.thread = threading.Thread(target=self._serve, name=name, daemon=True)
        self.thread.start()

    @property
    def is_of_another_process(self) -> bool:
        return self.pid != os.getpid()

    @property
    def is_current_thread(self) -> bool:
        return self.thread is threading.current_thread()

    def stop(self) -> None:
        with contextlib.suppress(RuntimeError):  # it is closed already
            self.loop.call_soon_threadsafe(self.loop.stop)

    def _serve(self) -> None:
        loop = self.loop
        asyncio.set_event_loop(loop)
        try:
            loop.run_forever()
            try:
                loop.run_until_complete(self._say_goodbye())
            except Exception as error:
                self.fault = error
            tasks = asyncio.all_tasks(loop)
            for task in tasks:
                task.cancel()
            if tasks:
                loop.run_until_complete(asyncio.wait(tasks, timeout=CLOSE_TIMEOUT_S))
            loop.run_until_complete(loop.shutdown_asyncgens())
            with contextlib.suppress(RuntimeError):  # no new threads while the interpreter shuts down
                loop.run_until_complete(loop.shutdown_default_executor())
        finally:
            asyncio.set_event_loop(None)
            loop.close()

    async def _say_goodbye(self) -> None:
        if self.on_close is not None:
            async with asyncio.timeout(CLOSE_TIMEOUT_S):
                await self.on_close()


class _Call(Generic[T]):
    """One coroutine on its way through the loop, watched from another thread."""

    def __init__(self, coroutine: Coroutine[Any, Any, T], loop: asyncio.AbstractEventLoop) -> None:
        self.outcome: concurrent.futures.Future[T] = concurrent.futures.Future()
        self._loop = loop
        self._task: asyncio.Task[T] | None = None
        loop.call_soon_threadsafe(self._start, coroutine, contextvars.copy_context())

    def cancel_and_wait(self) -> None:
        """End the coroutine if it still runs, and give it time to clean up."""
        if self.outcome.done():
            return
        # Not the future but the task is cancelled: the future is done when the coroutine really has ended.
        self._loop.call_soon_threadsafe(self._cancel)
        concurrent.futures.wait([self.outcome], timeout=CLOSE_TIMEOUT_S)

    def _start(self, coroutine: Coroutine[Any, Any, T], context: contextvars.Context) -> None:
        self._task = self._loop.create_task(coroutine, context=context)
        self._task.add_done_callback(self._finish)

    def _cancel(self) -> None:
        if self._task is not None:
            self._task.cancel()

    def _finish(self, task: asyncio.Task[T]) -> None:
        if task.cancelled():
            self.outcome.cancel()
            self.outcome.set_running_or_notify_cancel()
        elif (error := task.exception()) is not None:
            self.outcome.set_exception(error)
        else:
            self.outcome.set_result(task.result())
        self._task = None


def _without_waiting(traceback: TracebackType | None) -> TracebackType | None:
    while traceback is not None and traceback.tb_frame.f_code.co_filename in _WAITING_FILES:
        traceback = traceback.tb_next
    return traceback


_WAITING_FILES = {__file__, concurrent.futures._base.__file__}


@atexit.register
def _close_all() -> None:
    for portal in list(_open_portals):
        # At the end of the process there is nobody left to tell.
        with contextlib.suppress(Exception):
            portal.close()

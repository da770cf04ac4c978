"""The processes behind `recollect serve`: one, or several that share a port.

A process that is told to stop takes no new connections, lets running requests end, hands back what takes too long, and
ends with success. With several, this one only watches: it starts another for one that died.
"""

from __future__ import annotations

import asyncio
import logging
import multiprocessing
import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import uvicorn

from recollect.errors import StoreError
from recollect.surfaces.dashboard.addresses import ENTER_PATH
from recollect.surfaces.http.app import create_app, share

if TYPE_CHECKING:
    from multiprocessing.context import SpawnProcess
    from multiprocessing.synchronize import Event

    from fastapi import FastAPI

    from recollect.config import Settings

log = logging.getLogger(__name__)

#: For what was handed back to be put down, after the time that requests have to end.
_PUTTING_DOWN_S = 6.0
_LOOK_S = 0.1
#: A process that dies at once is not started again at once.
_AGAIN_S = 1.0
#: What a WebSocket may say: a key.
_MESSAGE_BYTES = 16_384
#: What a page of the dashboard may say at once: somebody's text, at most.
_PAGE_BYTES = 2**20
_STOPPING = (signal.SIGINT, signal.SIGTERM)


class Server(uvicorn.Server):
    """Calls `started` once it answers, and ends as a command does when it was asked to."""

    def __init__(self, config: uvicorn.Config, app: FastAPI, settings: Settings, started: Callable[[], None]):
        super().__init__(config)
        self._app, self._settings, self._tell = app, settings, started

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Open the store, listen, and say so."""
        await super().startup(sockets=sockets)
        self._tell()
        if self._settings.serve_dashboard and sockets:
            made = await self._app.state.client.keys.link()
            place = address(self._settings.serve_host, sockets[0])
            print(f"Dashboard, by a link that opens once: {place}{ENTER_PATH}?code={made.token}", flush=True)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Let requests end, then hand back what still goes on."""
        loop = asyncio.get_running_loop()
        timer = loop.call_later(self._settings.serve_grace_s, self._app.state.running.hand_back)
        try:
            await super().shutdown(sockets=sockets)
        finally:
            timer.cancel()

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Both signals ask for the same; neither is raised again afterwards."""
        with _on_signal(self.handle_exit):
            yield


def run(settings: Settings, listener: socket.socket, started: Callable[[], None]) -> None:
    """Answer in this process until told to stop."""
    app = create_app(settings, dashboard=settings.serve_dashboard)
    Server(configured(app, settings), app, settings, started).run(sockets=[listener])


def configured(app: FastAPI, settings: Settings) -> uvicorn.Config:
    """How requests are read and sockets are kept."""
    return uvicorn.Config(
        app,
        http="httptools",
        ws_max_size=_PAGE_BYTES if settings.serve_dashboard else _MESSAGE_BYTES,
        ws_max_queue=4,
        ws_per_message_deflate=False,
        log_config=None,
        # Its lines quote addresses: names of users, filters, the code of a link.
        access_log=False,
        log_level="warning",
        server_header=False,
        timeout_keep_alive=60,
        timeout_graceful_shutdown=int(settings.serve_grace_s + _PUTTING_DOWN_S),
    )


# ---------------------------------------------------------------- several processes


def run_workers(settings: Settings, listener: socket.socket, started: Callable[[], None]) -> None:
    """Answer in `settings.serve_workers` processes until told to stop.

    A page of the dashboard lives in one process: it has one of its own, and the port after theirs.
    """
    context = multiprocessing.get_context("spawn")
    stopping = False

    def stop(*_: Any) -> None:
        nonlocal stopping
        stopping = True

    plain = settings.replace(serve_dashboard=False)
    tasks = [(plain, listener)] * settings.serve_workers
    if settings.serve_dashboard:
        tasks.append((settings, _next_to(listener, settings)))

    def begin(number: int) -> tuple[SpawnProcess, Event]:
        ready = context.Event()
        given = (*tasks[number], ready, counts, number)
        process = context.Process(target=_work, args=given, name="recollect-worker")
        process.start()
        return process, ready

    with TemporaryDirectory(prefix="recollect-serve-") as counts, _on_signal(stop):
        workers = [begin(number) for number in range(len(tasks))]
        try:
            while not stopping and not all(ready.is_set() for _, ready in workers):
                if not all(process.is_alive() for process, _ in workers):
                    raise StoreError("a process of the server ended while it started; what it said is above")
                time.sleep(_LOOK_S)
            if not stopping:
                started()
            while not stopping:
                for number, (process, _) in enumerate(workers):
                    if not process.is_alive() and not stopping:
                        log.warning(
                            "a process of the server ended with code %s; another is started", process.exitcode
                        )
                        time.sleep(_AGAIN_S)
                        workers[number] = begin(number)
                time.sleep(_LOOK_S)
        finally:
            _end([process for process, _ in workers], settings)


def address(host: str, listener: socket.socket) -> str:
    """Where a browser on this machine finds a listener, also one that listens everywhere."""
    name = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)  # noqa: S104
    return f"http://{f'[{name}]' if ':' in name else name}:{listener.getsockname()[1]}"


def _next_to(listener: socket.socket, settings: Settings) -> socket.socket:
    """The port after a listener's, or any when that is taken."""
    for port in (listener.getsockname()[1] + 1, 0):
        with suppress(OSError, OverflowError):
            return socket.create_server((settings.serve_host, port))
    raise StoreError(f"can't listen at {settings.serve_host} for the dashboard; --no-dashboard does without")


def _end(processes: list[SpawnProcess], settings: Settings) -> None:
    for process in processes:
        if process.is_alive():
            process.terminate()
    last = time.monotonic() + settings.serve_grace_s + 2 * _PUTTING_DOWN_S
    for process in processes:
        process.join(max(0.0, last - time.monotonic()))
        if process.is_alive():
            log.warning("a process of the server did not end in time and was killed")
            process.kill()
            process.join()


def _work(settings: Settings, listener: socket.socket, ready: Event, counts: str, number: int) -> None:
    """One of several processes."""
    logging.basicConfig(level=settings.log_level.upper(), stream=sys.stderr)
    share(Path(counts), number)
    threading.Thread(target=_end_with_parent, name="parent", daemon=True).start()
    run(settings, listener, ready.set)


def _end_with_parent() -> None:
    """A process whose parent was killed would hold the port for good."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os.kill(os.getpid(), signal.SIGTERM)


@contextmanager
def _on_signal(handle: Callable[..., Any]) -> Iterator[None]:
    before: dict[int, Any] = {number: signal.signal(number, handle) for number in _STOPPING}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)

"""A worker: takes jobs off the queue until it is told to stop, or until the queue is empty.

SIGTERM and SIGINT let running jobs end first. A worker that dies says nothing; its heart stops beating in the
database, and the others put its jobs back into the queue.
"""

from __future__ import annotations

import asyncio
import logging
import signal
import sys
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from procrastinate import App, PsycopgConnector
from procrastinate.exceptions import ConnectorException, UniqueViolation
from procrastinate.jobs import Status
from procrastinate.schema import SchemaManager

from recollect.config import Settings
from recollect.errors import StoreUnreachableError
from recollect.jobs.tasks import MAX_ATTEMPTS, QUEUE, make_app
from recollect.storage.jobs import SCHEMA, make_queue
from recollect.workspace import Workspace

HEARTBEAT_S = 10.0
#: A heart that has been silent for so long belongs to a dead worker.
STALLED_S = 30.0
#: A worker that loses its queue before so many beats of its heart has a fault that beginning anew does not mend.
_FIRST_BEATS = 2
#: How long running jobs may take to end after a signal; then they are stopped and go back into the queue.
_GRACE_S = 30.0
#: Jobs that failed for good are kept so long, for somebody to look at.
_KEEP_FAILED_HOURS = 7 * 24
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkReport:
    """What a worker did until it stopped: jobs that were begun, by task, and jobs of dead workers put back."""

    jobs: dict[str, int] = field(default_factory=dict)
    rescued: int = 0


async def work(
    settings: Settings,
    *,
    once: bool = False,
    rounds: bool = True,
    heartbeat_s: float = HEARTBEAT_S,
    stalled_s: float = STALLED_S,
) -> WorkReport:
    """Run jobs: all that wait with `once`, else until a signal, with the `rounds` of the hour and the night.

    Makes the queue when there is none.
    """
    workspace = await Workspace.open(settings)
    done: Counter[str] = Counter()
    rescued: Counter[str] = Counter()
    try:
        await make_queue(workspace.store, SchemaManager.get_schema())
        app = make_app(connect(workspace.store.connector.conninfo), rounds=rounds and not once)
        async with app.open_async() as queue:
            rescued["jobs"] += await rescue(queue, stalled_s=stalled_s)
            rescuer = asyncio.create_task(_keep_rescuing(queue, stalled_s, rescued))
            try:
                await _until_told(
                    lambda: queue.run_worker_async(
                        queues=[QUEUE],
                        wait=not once,
                        listen_notify=not once,
                        additional_context={"workspace": workspace, "done": done},
                        delete_jobs="successful",
                        shutdown_graceful_timeout=_GRACE_S,
                        update_heartbeat_interval=heartbeat_s,
                        stalled_worker_timeout=stalled_s,
                        install_signal_handlers=False,
                    ),
                    once=once,
                    least_s=_FIRST_BEATS * heartbeat_s,
                )
            finally:
                rescuer.cancel()
                with suppress(asyncio.CancelledError):
                    await rescuer
    except ConnectorException as error:
        raise StoreUnreachableError(
            f"the queue can't be reached: {error}; start the worker again later"
        ) from error
    finally:
        await workspace.close()
    return WorkReport(jobs=dict(done), rescued=rescued["jobs"])


async def _until_told(run: Callable[[], Coroutine[Any, Any, None]], *, once: bool, least_s: float) -> None:
    """Run a worker until it is done or told to stop. One that loses its queue after `least_s` begins anew."""
    while True:
        began = time.monotonic()
        lost: ConnectorException | None = None
        try:
            if await _until_signal(run()) or once:
                return
        except ConnectorException as error:
            if once:
                raise
            lost = error
        if time.monotonic() - began < least_s:
            raise StoreUnreachableError(
                "the worker lost its queue; start it again when the database is back"
            ) from lost
        _log.warning("the worker lost its queue and begins anew: %s", lost or "see above")


async def _until_signal(running: Coroutine[Any, Any, None]) -> bool:
    """Run until the end, or until SIGINT or SIGTERM; True for a signal. Cancelled, a worker ends its jobs first."""
    task = asyncio.create_task(running)
    stopped = False

    def stop() -> None:
        nonlocal stopped
        stopped = True
        task.cancel()

    loop = asyncio.get_running_loop()
    # On Windows Ctrl-C interrupts, and there is no SIGTERM.
    signals = () if sys.platform == "win32" else (signal.SIGINT, signal.SIGTERM)
    for number in signals:
        loop.add_signal_handler(number, stop)
    try:
        await task
    except asyncio.CancelledError:
        if not stopped:
            raise
    finally:
        for number in signals:
            loop.remove_signal_handler(number)
    return stopped


def connect(conninfo: str | Callable[[], Awaitable[str]]) -> PsycopgConnector:
    """A way to the queue of a store. A function is asked anew for every connection."""
    return PsycopgConnector(
        conninfo=conninfo, kwargs={"options": f"-c search_path={SCHEMA}"}, min_size=1, max_size=4
    )


async def rescue(queue: App, *, stalled_s: float) -> int:
    """Put the jobs of dead workers back into the queue; one that killed too many is given up."""
    back = 0
    for job in await queue.job_manager.get_stalled_jobs(queue=QUEUE, seconds_since_heartbeat=stalled_s):
        if job.attempts + 1 >= MAX_ATTEMPTS:
            _log.error(
                "job %s (%s) ended with its worker %d times; given up",
                job.id,
                job.task_name,
                job.attempts + 1,
            )
            await queue.job_manager.finish_job(job, Status.FAILED, delete_job=False)
            continue
        try:
            await queue.job_manager.retry_job(job)
            back += 1
        except UniqueViolation:
            # The same job waits already: this one has nothing left to do.
            await queue.job_manager.finish_job(job, Status.ABORTED, delete_job=True)
    return back


async def _keep_rescuing(queue: App, stalled_s: float, rescued: Counter[str]) -> None:
    while True:
        await asyncio.sleep(stalled_s)
        try:
            rescued["jobs"] += await rescue(queue, stalled_s=stalled_s)
            await queue.job_manager.delete_old_jobs(
                nb_hours=_KEEP_FAILED_HOURS, queue=QUEUE, include_failed=True, include_aborted=True
            )
        except ConnectorException as error:
            _log.warning("jobs of dead workers were not looked for: %s", error)

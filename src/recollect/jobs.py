"""Work that nobody waits for, and a worker: it takes jobs off the queue until told to stop, or until it is empty.

Jobs are rows of the same PostgreSQL (storage/upkeep.py), so they survive the process, and several workers share them.

Every task may run twice: a job whose worker died is run again. A task gets ids and works as an administrator of the
job's tenant, which row-level security confines to it; the worker that runs it puts the open workspace into the job's
context. SIGTERM and SIGINT let running jobs end first. A worker that dies says nothing; its heart stops beating in the
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
from uuid import UUID

from procrastinate import App, BaseConnector, JobContext, PsycopgConnector, RetryStrategy
from procrastinate.exceptions import ConnectorException, UniqueViolation
from procrastinate.jobs import Status
from procrastinate.schema import SchemaManager

from recollect.config import Settings
from recollect.domain.tenancy import TenantContext
from recollect.errors import StoreUnreachableError, TenantNotFoundError
from recollect.storage.upkeep import SCHEMA, enqueue, make_queue
from recollect.workspace import Workspace

QUEUE = "recollect"
#: Attempts before a job is given up, those that ended with the death of a worker included.
MAX_ATTEMPTS = 5
_RETRY = RetryStrategy(max_attempts=MAX_ATTEMPTS, exponential_wait=4)


def make_app(connector: BaseConnector, *, rounds: bool = True) -> App:
    """The tasks on a connection, with the rounds of the hour and the night if wanted.

    An app per connection: a periodic task keeps to the one it was made on.
    """
    app = App(connector=connector)
    for name, task in {"consolidate": consolidate, "sweep": sweep, "train": train, "index": index}.items():
        app.task(name=f"recollect.{name}", queue=QUEUE, pass_context=True, retry=_RETRY)(task)
    for name, cron, task_of_round in (("hourly", "7 * * * *", hourly), ("daily", "37 3 * * *", daily)):
        name = f"recollect.{name}"
        made = app.task(name=name, queue=QUEUE, pass_context=True, queueing_lock=name)(task_of_round)
        if rounds:
            app.periodic(cron=cron)(made)
    return app


def _workspace(context: JobContext) -> Workspace:
    workspace = context.additional_context["workspace"]
    assert isinstance(workspace, Workspace)
    context.additional_context["done"][context.job.task_name] += 1
    return workspace


def _admin(tenant: str) -> TenantContext:
    return TenantContext(tenant_id=tenant, roles=("admin",))


async def consolidate(context: JobContext, *, tenant: str, scope: str | None = None) -> None:
    """Bring the summaries of a scope, or of a whole tenant, up to date."""
    from recollect.memories.summaries.consolidate import ConsolidateRequest
    from recollect.memories.summaries.consolidate import consolidate as run

    request = ConsolidateRequest(scope_id=None if scope is None else UUID(scope))
    try:
        report = await run(_workspace(context), _admin(tenant), request)
    except TenantNotFoundError:
        return  # forgotten since
    _log.info(
        "consolidated: %d made, %d refreshed, %d removed", report.made, report.refreshed, report.removed
    )


async def sweep(context: JobContext, *, tenant: str) -> None:
    """Erase what has expired."""
    from recollect.memories.deletion import sweep as run

    try:
        receipt = await run(_workspace(context), _admin(tenant))
    except TenantNotFoundError:
        return
    _log.info("swept: %d memories", receipt.memories)


async def train(context: JobContext, *, tenant: str) -> None:
    """Learn from what was recorded of searches."""
    from recollect.retrieval.training import train_tenant

    workspace = _workspace(context)
    if not workspace.settings.learning:
        return
    try:
        report = await train_tenant(workspace, _admin(tenant))
    except TenantNotFoundError:
        return
    adopted = sum(policy.state == "active" for policy in report.policies)
    _log.info("learned: %d memories rated anew, %d sets of weights adopted", report.rewarded, adopted)
    if report.decomposition is not None:
        _log.info("learned: decomposition, %s", report.decomposition.reason)


async def index(context: JobContext, *, tenant: str, document: str | None = None) -> None:
    """Index what is missing of a document, or of all of a tenant's documents whose indexing was interrupted."""
    from recollect.library.indexing import resume_indexing

    workspace = _workspace(context)
    embedded = await resume_indexing(workspace, _admin(tenant), None if document is None else UUID(document))
    _log.info("indexed: %d passages", embedded)


async def hourly(context: JobContext, timestamp: int) -> None:
    """Look at all tenants' summaries: memories that came one by one hand no job over. And at interrupted documents."""
    workspace = _workspace(context)
    await _for_all_tenants(workspace, "consolidate")
    await _for_all_tenants(workspace, "index")


async def daily(context: JobContext, timestamp: int) -> None:
    """Sweep and learn, tenant by tenant."""
    workspace = _workspace(context)
    await _for_all_tenants(workspace, "sweep")
    await _for_all_tenants(workspace, "train")


async def _for_all_tenants(workspace: Workspace, task: str) -> None:
    """One job per tenant. Only the owner sees all of them; without it the settings' own tenant is served."""
    if workspace.store.door.owner is None:
        tenants = [workspace.settings.tenant]
    else:
        rows: list[dict[str, Any]] = await workspace.store.owner_fetch("list_tenants")
        tenants = [row["tenant_id"] for row in rows]
    for tenant in tenants:
        async with workspace.store.transaction(_admin(tenant)) as tx:
            await enqueue(tx, task, "all", {})


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

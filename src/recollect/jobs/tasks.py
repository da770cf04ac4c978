"""What workers do. Every task may run twice: a job whose worker died is run again.

A task gets ids and works as an administrator of the job's tenant, which row-level security confines to it. The
worker that runs it puts the open workspace into the job's context.
"""

from __future__ import annotations

import logging
from typing import Any
from uuid import UUID

from procrastinate import App, BaseConnector, JobContext, RetryStrategy

from recollect.domain.tenancy import TenantContext
from recollect.errors import TenantNotFoundError
from recollect.storage.jobs import enqueue
from recollect.workspace import Workspace

QUEUE = "recollect"
#: Attempts before a job is given up, those that ended with the death of a worker included.
MAX_ATTEMPTS = 5
_RETRY = RetryStrategy(max_attempts=MAX_ATTEMPTS, exponential_wait=4)
_log = logging.getLogger(__name__)


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
    found = context.additional_context["workspace"]
    assert isinstance(found, Workspace)
    context.additional_context["done"][context.job.task_name] += 1
    return found


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
    from recollect.memories.forgetting import sweep as run

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

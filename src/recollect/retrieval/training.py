"""Where learning meets the search it learns about: one call each for clients and workers.

The trainers are in `learning/`.
"""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from time import monotonic
from uuid import UUID

from recollect import telemetry
from recollect.domain.ids import new_id
from recollect.domain.learning import BootstrapResult, TrainReport
from recollect.domain.tenancy import TenantContext
from recollect.domain.trajectory import Trajectory
from recollect.learning.bootstrap import BootstrapConfig, BootstrapTrainer, Execute
from recollect.learning.bootstrap_tasks import LIMIT
from recollect.learning.policy import DecompositionPolicy
from recollect.learning.training import Trainers, train
from recollect.retrieval.recursive.executor import RlmExecutor
from recollect.retrieval.request import SearchRequest
from recollect.retrieval.understand import STRATEGY_WEIGHTS
from recollect.workspace import Workspace

_log = logging.getLogger("recollect.learning")

#: Training begins so long after somebody has said what served: a command has ended by then. And once an hour at most.
LEARN_AFTER_S, AGAIN_S = 60.0, 3_600.0


async def train_tenant(workspace: Workspace, context: TenantContext) -> TrainReport:
    """Learn from everything recorded in the caller's tenant. Needs the admin role."""
    return await train(
        workspace.store,
        context,
        trainers=Trainers(),
        defaults=STRATEGY_WEIGHTS,
        now=workspace.clock(),
        log=workspace.events,
        book=workspace.strategies,
        policies=workspace.policies,
    )


class Learner:
    """Trains in the background of a process that searches, so that nobody has to ask for it; a worker does so as well.

    Each tenant a while after somebody has said what served, and then once an hour at most. Training looks for itself
    whether there is enough to learn from, and processes that train the same tenant wait for each other.
    """

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._trained: dict[str, float] = {}

    def hear(self, tenant_id: str) -> None:
        """Somebody has said what served in a tenant."""
        task = self._tasks.get(tenant_id)
        if task is None or task.done():
            self._tasks[tenant_id] = asyncio.get_running_loop().create_task(self._train(tenant_id))

    async def wait(self) -> None:
        """Until what is under way is done."""
        await asyncio.gather(*self._tasks.values(), return_exceptions=True)

    async def close(self) -> None:
        """End what is under way: a run that is interrupted has changed nothing, or whole groups."""
        for task in self._tasks.values():
            task.cancel()
        await self.wait()

    async def _train(self, tenant_id: str) -> None:
        last = self._trained.get(tenant_id)
        await asyncio.sleep(
            LEARN_AFTER_S if last is None else max(LEARN_AFTER_S, last + AGAIN_S - monotonic())
        )
        self._trained[tenant_id] = monotonic()
        try:
            await train_tenant(self._workspace, TenantContext(tenant_id=tenant_id, roles=("admin",)))
        except Exception as error:
            # Nobody waits for it: a tenant that was forgotten, a store that is away, and it is tried in an hour.
            _log.warning(
                "learning in the background failed: %s", getattr(error, "code", type(error).__name__)
            )


async def bootstrap_tenant(
    workspace: Workspace,
    context: TenantContext,
    *,
    iterations: int,
    seed: int = 0,
    config: BootstrapConfig | None = None,
) -> BootstrapResult:
    """Train the tenant's decomposition policy on synthetic tasks. Needs the admin role."""
    trainer = BootstrapTrainer(
        workspace.store,
        execute_with(workspace, context),
        config=config,
        seed=seed,
        clock=workspace.clock,
    )
    result = await trainer.bootstrap(context, iterations)
    workspace.policies.forget(context.tenant_id)
    return result


def execute_with(workspace: Workspace, context: TenantContext, *, now: datetime | None = None) -> Execute:
    """Run questions as a caller would, with a policy of the trainer's choice. Leaves no trace: nobody asked them."""
    # Without a user nothing is recorded; an admin sees the same scopes either way.
    nobody = replace(context, user_id=None, agent_id=None, session_id=None)

    async def execute(
        query: str, policy: DecompositionPolicy, rng: random.Random
    ) -> tuple[Sequence[UUID], Trajectory | None]:
        request = SearchRequest.check(
            workspace.settings, query=query, clock=now or workspace.clock(), limit=LIMIT, threshold=0.0
        )
        with telemetry.muted():
            executor = RlmExecutor(workspace, nobody, policy=policy, rng=rng)
            found, trajectory = await executor.execute(request, new_id())
        return [hit.id for hit in found.hits], trajectory

    return execute

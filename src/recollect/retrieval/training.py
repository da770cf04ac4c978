"""Where learning meets the search it learns about: one call each for clients and workers.

The trainers are in `learning/`.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
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
from recollect.retrieval.understand.strategy import STRATEGY_WEIGHTS
from recollect.workspace import Workspace


async def train_tenant(workspace: Workspace, context: TenantContext) -> TrainReport:
    """Learn from everything recorded in the caller's tenant. Needs the admin role."""
    return await train(
        workspace.store,
        context,
        trainers=Trainers(min_events=workspace.settings.learning_min_events),
        defaults=STRATEGY_WEIGHTS,
        now=workspace.clock(),
        log=workspace.events,
        book=workspace.strategies,
        policies=workspace.policies,
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

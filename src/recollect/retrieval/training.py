"""Where learning meets the table of strategies: one call for clients and workers. The trainers are in `learning/`."""

from __future__ import annotations

from recollect.domain.learning import TrainReport
from recollect.domain.tenancy import TenantContext
from recollect.learning.training import Trainers, train
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

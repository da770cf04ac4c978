"""What an admin sees of learning: counts, learned weights, the running experiment, the health of the log."""

from __future__ import annotations

from typing import TYPE_CHECKING

from recollect.domain.learning import LearningStatus
from recollect.learning.utility import read_baseline
from recollect.storage import learning as storage
from recollect.storage import runs

if TYPE_CHECKING:
    from recollect.domain.tenancy import TenantContext
    from recollect.learning.events import EventLog
    from recollect.storage.store import Store


async def learning_status(
    store: Store, context: TenantContext, *, log: EventLog, enabled: bool, needed: int
) -> LearningStatus:
    """The state of learning in a tenant, as its admin sees it."""
    await log.flush()
    async with store.transaction(context) as tx:
        counts = await storage.count_learning(tx)
        policies = await storage.list_policies(tx)
        running = [
            experiment for experiment in await storage.list_experiments(tx) if experiment.state == "running"
        ]
        baseline = await read_baseline(tx)
        counted = await runs.count_runs(tx)
        decompositions = await runs.list_decompositions(tx)
    outcomes = {row["kind"]: row["rows"] for row in counts if row["what"] == "event"}
    return LearningStatus(
        enabled=enabled,
        events=sum(outcomes.values()),
        judged=outcomes.get("used", 0) + outcomes.get("feedback", 0),
        needed=needed,
        outcomes=outcomes,
        feedback={row["kind"]: row["rows"] for row in counts if row["what"] == "feedback"},
        pending=sum(row["pending"] for row in counts),
        baseline=round(baseline.value, 4),
        policies=tuple(policies),
        experiment=running[0] if running else None,
        log=log.counts,
        runs=sum(row["runs"] for row in counted),
        decomposition=tuple(decompositions),
    )

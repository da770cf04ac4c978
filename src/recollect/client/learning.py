"""The client's face for learning: `r.learning`. What was recorded and learned is for admins alone.

It decides nothing. The work is done in `learning/`; `log_retrieval_event` is the one call for
everybody: it says which memories of one's own search served.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any
from uuid import UUID

from recollect.client.arguments import checked
from recollect.client.session import Face
from recollect.domain.ids import parse_id
from recollect.domain.learning import (
    BootstrapResult,
    Experiment,
    ExperimentReport,
    LearningStatus,
    RunRecord,
    RunSummary,
    TrainReport,
)
from recollect.domain.text import check_name, check_whole
from recollect.errors import NotFoundError

if TYPE_CHECKING:
    from recollect.workspace import Workspace


@checked
class AsyncLearning(Face):
    """What searches have taught. Needs the admin role, but for `log_retrieval_event`."""

    async def _admitted(self, what: str) -> Workspace:
        from recollect.learning.training import need_admin

        need_admin(self._context, what)
        return await self._workspace()

    async def log_retrieval_event(self, query_id: UUID | str, used_in_response: Sequence[UUID | str]) -> None:
        """Say which memories of one of your searches served your response; an empty list says that none did.

        Nothing teaches the ranking more. A context made with `context()` is noted without it, but says only what
        was there to read.
        """
        from recollect.learning.feedback import report_used

        workspace = await self._workspace()
        ids = [parse_id(id, what="used_in_response") for id in used_in_response]
        query = parse_id(query_id, what="query_id")
        await report_used(workspace.store, workspace.events, self._context, query, ids)

    async def status(self) -> LearningStatus:
        """What is recorded, what was learned from it, and what is still missing."""
        from recollect.learning.training import learning_status

        workspace = await self._admitted("look at what was learned")
        enabled = workspace.settings.learning
        return await learning_status(workspace.store, self._context, log=workspace.events, enabled=enabled)

    async def train(self) -> TrainReport:
        """Learn from everything recorded so far: memories' utility, and signal weights that prove better."""
        from recollect.retrieval.training import train_tenant

        return await train_tenant(await self._admitted("train"), self._context)

    async def bootstrap(self, *, iterations: int = 20, seed: int = 0) -> BootstrapResult:
        """Learn how to decompose questions before anybody asks: on synthetic ones about what the memories name.

        Some kinds of questions are held out; the policy is used only if it isn't worse on them. Nothing is recorded.
        """
        from recollect.retrieval.training import bootstrap_tenant

        for name, value, least in (("iterations", iterations, 1), ("seed", seed, 0)):
            check_whole(name, value, least=least, most=10_000)
        workspace = await self._admitted("train")
        return await bootstrap_tenant(workspace, self._context, iterations=iterations, seed=seed)

    async def runs(self, *, limit: int = 20) -> Sequence[RunSummary]:
        """The latest searches that were decomposed and consultations read step by step: how they ended, what they cost.

        `query_id` is the search's or the consultation's; of searches, also what came of them.
        """
        from recollect.storage.learning import list_runs

        check_whole("limit", limit, most=1_000)
        workspace = await self._admitted("look at runs")
        await workspace.events.flush()
        async with workspace.store.transaction(self._context) as tx:
            return tuple(await list_runs(tx, limit))

    async def run(self, id: UUID | str) -> RunRecord:
        """One decomposed search or consultation with its steps, without words of questions, memories or documents."""
        from recollect.storage.learning import find_run

        wanted = parse_id(id)
        workspace = await self._admitted("look at runs")
        await workspace.events.flush()
        async with workspace.store.transaction(self._context) as tx:
            run = await find_run(tx, wanted)
        if run is None:
            raise NotFoundError(f"no run {str(wanted)!r}; `recollect learning runs` lists them")
        return RunRecord(summary=run[0], trajectory=run[1])

    async def start_experiment(
        self,
        name: str,
        arms: Mapping[str, Mapping[str, Any]],
        *,
        shares: Mapping[str, float] | None = None,
        unit: str = "user",
    ) -> Experiment:
        """Compare strategies on live questions: `arms={"table": {}, "recent": {"temporal_relevance": 1}}`.

        An arm gives weights by signal, for all questions, or by strategy; an empty one ranks as without the
        experiment. The first arm is what the others are compared with. `shares` may leave a rest that takes no
        part. Lots are drawn per `unit`: user, session or query; the same one always gets the same arm.
        """
        from recollect.learning import experiments
        from recollect.retrieval.understand import STRATEGY_WEIGHTS

        workspace = await self._admitted("start experiments")
        context = self._context
        plan = experiments.make_plan(arms, shares, unit, strategies=tuple(STRATEGY_WEIGHTS))
        async with workspace.store.transaction(context) as tx:
            started = await experiments.start(tx, check_name(name, what="name"), plan, workspace.clock())
        workspace.strategies.forget(context.tenant_id)
        return started

    async def stop_experiment(self, name: str) -> Experiment:
        """Stop an experiment; its report stays."""
        from recollect.learning import experiments

        workspace = await self._admitted("stop experiments")
        context = self._context
        async with workspace.store.transaction(context) as tx:
            stopped = await experiments.stop(tx, check_name(name, what="name"), workspace.clock())
        workspace.strategies.forget(context.tenant_id)
        return stopped

    async def report(self, name: str | None = None) -> ExperimentReport:
        """What an experiment (the latest, when none is named) has shown so far."""
        from recollect.learning import experiments

        workspace = await self._admitted("read experiments")
        await workspace.events.flush()
        async with workspace.store.transaction(self._context) as tx:
            return await experiments.report(tx, name, workspace.clock())

    async def reset(self, *, events: bool = False) -> Mapping[str, int]:
        """Forget learned weights and experiments, and make every memory's utility 0; returns the rows per table.

        Uses stay counted. `events=True` also erases all recorded searches and feedback.
        """
        from recollect.storage.learning import forget_learned, forget_learner

        workspace = await self._admitted("reset what was learned")
        context = self._context
        await workspace.events.flush()
        async with workspace.store.transaction(context) as tx:
            rows = await forget_learned(tx)
            if events:
                rows += await forget_learner(tx, None)
        workspace.strategies.forget(context.tenant_id)
        workspace.policies.forget(context.tenant_id)
        return dict(rows)

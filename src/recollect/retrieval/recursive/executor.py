"""Memories as a source: `RlmExecutor` runs a search through the stages of `runs/inquiry.py`, and gives a `Found`.

A model that does not plan to the end leaves the rest to the learned planner; a run that fails or is cut short gives
what it found, together with a standard search. Either is said in the notes and the log; otherwise nothing in the answer
says which path it took.
"""

from __future__ import annotations

import logging
import random
from collections.abc import Callable, Sequence
from dataclasses import replace
from uuid import UUID

from recollect import telemetry
from recollect.domain.findings import Finding
from recollect.domain.layers import Layer
from recollect.domain.query import Understanding
from recollect.domain.results import Hit
from recollect.domain.tenancy import TenantContext
from recollect.domain.trajectory import Trajectory
from recollect.learning.policy import DecompositionPolicy
from recollect.providers.models.purse import Purse
from recollect.retrieval.look import Stopwatch
from recollect.retrieval.pipeline import Found, caller_of, look, understand_request
from recollect.retrieval.recursive.decompose import ScopeNode, decompose
from recollect.retrieval.recursive.environment import MemoryEnvironment
from recollect.retrieval.recursive.gathered import Held, aggregate, missing_groups
from recollect.retrieval.recursive.looks import Looks
from recollect.retrieval.request import SearchRequest
from recollect.runs.budget import Limits
from recollect.runs.cache import Cache
from recollect.runs.inquiry import Inquiry
from recollect.runs.models import Models, open_models
from recollect.runs.planners.contract import Planner
from recollect.runs.planners.learned import LearnedPlanner
from recollect.runs.router import ComplexityRouter
from recollect.storage.grouped import fetch_earliest, fetch_scope_tree
from recollect.workspace import Workspace

_log = logging.getLogger("recollect.runs")

#: Users, sessions and agents can be as many as a tenant has people; only a question about them looks at their tree.
_TREE = (Layer.PROJECT, Layer.TEAM, Layer.ORG, Layer.COMPANY)
#: Why a search may have found less than it could; what went wrong in detail is in the log.
_CUT_SHORT = "looking at the parts of the question one by one was cut short ({}); a plain search was added"
_WITHOUT_MODEL = "the model {!r} did not plan this search to its end ({}); it was searched without a model"
_REASONS = {"planner": "it failed", "timeout": "it took too long", "done": "it found nothing"}
#: What a run may do without a model. A question over forty teams takes two or three calls; one over eight periods nine.
MAX_SUBCALLS = 50
_TIMEOUT_S = 60.0
_MAX_STEPS = 12
#: Of the time: what a model may take, so that the learned planner can go on where it hangs.
_MODEL_SHARE = 0.8
#: Scopes that a planning model is told of.
_SCOPES_NAMED = 100


class RlmExecutor:
    """Runs a question that one look won't answer. `planner` and `policy` are given by training and benchmarks only.

    `purse` and `seconds` are what it may use where it is not the only one that is asked.
    """

    def __init__(
        self,
        workspace: Workspace,
        context: TenantContext,
        *,
        policy: DecompositionPolicy | None = None,
        rng: random.Random | None = None,
        planner: Planner | None = None,
        purse: Purse | None = None,
        seconds: float | None = None,
    ) -> None:
        self.workspace, self.context = workspace, context
        self.policy, self.rng, self.planner = policy, rng, planner
        self.purse, self.seconds = purse or Purse(max_usd=workspace.settings.budget.max_usd), seconds

    async def find(
        self,
        request: SearchRequest,
        query_id: UUID,
        *,
        watch: Stopwatch,
        on_understood: Callable[[Understanding], None] | None = None,
    ) -> Found:
        """What a standard search would give, found in many looks; in one, when anything goes wrong with those."""
        heard: list[Understanding] = []

        def understood(understanding: Understanding) -> None:
            if not heard and on_understood is not None:
                on_understood(understanding)
            heard.append(understanding)

        async def standard() -> Found:
            result = await look(
                self.workspace, self.context, request, query_id, watch=watch, on_understood=understood
            )
            assert result is not None
            return result

        try:
            result, trajectory = await self.execute(request, query_id, watch=watch, on_understood=understood)
        except Exception as error:
            # A caller's mistake is the caller's on either path: the standard search says it again.
            name = type(error).__name__
            _log.warning("a recursive search failed (%s); the standard one answers", name, exc_info=error)
            plain = await standard()
            return replace(plain, notes=(*plain.notes, _CUT_SHORT.format(name)))
        if trajectory is None or (trajectory.stopped_by == "done" and result.hits):
            return result
        if (by := trajectory.stopped_by) != "done":
            _log.warning("a recursive search was cut short (%s); a standard one is added", by)
            result = replace(result, notes=(*result.notes, _CUT_SHORT.format(by)))
        return _merged(result, await standard(), limit=request.limit)

    async def execute(
        self,
        request: SearchRequest,
        query_id: UUID,
        *,
        watch: Stopwatch | None = None,
        on_understood: Callable[[Understanding], None] | None = None,
    ) -> tuple[Found, Trajectory | None]:
        """Run the question and return what was found, with the record; there is none where there is nothing to read."""
        return await _Search(self, request, query_id, watch or Stopwatch(), on_understood).go()

    def open_models(self) -> Models:
        """The model of the settings that plans searches; none where a planner is given."""
        settings = self.workspace.settings
        if self.planner is not None or not settings.root_model:
            return Models()
        models = open_models(settings, opener=self.workspace.model)
        if models.root is None:
            _log.warning("the model for planning searches can't be used: %s", models.notes)
            return Models(notes=(_WITHOUT_MODEL.format(settings.root_model, "it can't be opened"),))
        return models


class _Search(Inquiry[tuple[Found, "Trajectory | None"]]):
    """One search as a run. Its looks read memories in the transactions that find them: nothing is read again."""

    def __init__(
        self,
        executor: RlmExecutor,
        request: SearchRequest,
        query_id: UUID,
        watch: Stopwatch,
        on_understood: Callable[[Understanding], None] | None,
    ) -> None:
        settings = executor.workspace.settings
        most_s = settings.budget.timeout_seconds or _TIMEOUT_S
        super().__init__(
            settings,
            request.query,
            models=executor.open_models(),
            purse=executor.purse,
            seconds=most_s if executor.seconds is None else min(most_s, executor.seconds),
        )
        self._executor, self._request, self._query_id = executor, request, query_id
        self._workspace, self._context = executor.workspace, executor.context
        self._watch, self._on_understood = watch, on_understood
        self._trajectories: list[Trajectory] = []

    async def gather(self) -> None:
        """Understand the question once, and read what it can be split by."""
        workspace, request = self._workspace, self._request
        async with workspace.store.transaction(self._context, keep_plans=True) as tx:
            caller = await caller_of(tx, request)
            with self._watch.stage("understand"):
                self._understanding, self._choice = await understand_request(
                    workspace, tx, request, caller, self._query_id
                )
                personal = {"users", "people", "sessions", "agents", "everyone"}.intersection(
                    request.query.casefold().split()
                )
                tree = await fetch_scope_tree(tx, list(Layer) if personal else _TREE)
                #: How many memories the caller sees, and since when.
                self._memories, self._earliest = caller.memories, await fetch_earliest(tx)
                policy = await workspace.policies.policy_for(tx)
        self._policy = self._executor.policy or policy
        self._empty = caller.scope_ids == [] or caller.memories <= 0
        allowed = None if caller.scope_ids is None else set(caller.scope_ids)
        self._scopes = tuple(
            ScopeNode(
                id=row["scope_id"],
                layer=Layer.from_precedence(row["layer"]),
                name=row["name"],
                parent=row["parent_id"],
                memories=row["memories"] if allowed is None or row["scope_id"] in allowed else 0,
            )
            for row in tree
        )
        self.notes[:0] = self._understanding.notes
        if self._on_understood is not None:
            self._on_understood(self._understanding)

    async def look(self) -> Sequence[Finding]:
        """The loop; what it finds is in the environment. What a model leaves open, the learned planner goes on with."""
        executor, reads = self._executor, self.models.sub_call
        if self._empty:
            return ()
        signals = ComplexityRouter().signals(self.question)
        environment = self._environment = MemoryEnvironment(
            Looks(
                workspace=self._workspace,
                context=self._context,
                request=self._request,
                query_id=self._query_id,
                watch=self._watch,
                scopes=self._scopes,
                max_depth=Limits().max_depth,
                notes=self.notes,
            ),
            decompose(self._understanding, signals, scopes=self._scopes, earliest=self._earliest),
            model=reads,
            room_chars=reads.profile.result_chars if reads else 0,
        )
        cache, model = Cache(), self.model_planner()
        learned = LearnedPlanner(self._policy, executor.rng)
        by = await self._plan(executor.planner or model or learned, cache)
        if model is not None and (by != "done" or not environment.gathered):
            self.notes.append(_WITHOUT_MODEL.format(self.settings.root_model, _REASONS.get(by, by)))
            error = self._trajectories[0].error
            _log.warning("a model did not plan a search to its end (%s): %s", by, error)
            # What the model found stays; what it has not looked at is looked at now.
            await self._plan(learned, cache)
        return ()

    async def _plan(self, planner: Planner, cache: Cache) -> str:
        settings = self.settings
        # What a record says was allowed does not depend on how long it took to get here.
        seconds = self.left_s() if self._trajectories else self.seconds
        with_model = planner.name.startswith("model:")
        if with_model:
            seconds *= _MODEL_SHARE
        limits = Limits(
            max_subcalls=MAX_SUBCALLS,
            max_steps=_MAX_STEPS,
            max_idle_steps=_MAX_STEPS,
            max_usd=settings.budget.max_usd,
            timeout_s=seconds,
        )
        if with_model:
            limits = self.widened(limits)
        trajectory = await self.loop(self._environment, planner, limits, cache, self._about())
        profile = self.models.profile
        if trajectory.stopped_by == "done" and profile is not None and profile.shape != "small":
            # A small model names one of five; the judge that found them all knows better.
            self._environment.choose([claim for claim in trajectory.findings if claim.confidence > 0])
        if trajectory.policy is None:
            trajectory = replace(trajectory, policy=self._policy.name)
        self._trajectories.append(trajectory)
        return trajectory.stopped_by

    async def conclude(self, findings: Sequence[Finding]) -> tuple[Found, Trajectory | None]:
        """The memories to show, with metrics and the record for training; neither holds the search up."""
        chosen = list[Held]()
        if self._trajectories:
            environment, limit = self._environment, self._request.limit
            chosen = aggregate(
                environment.gathered.held, environment.strategy, limit=limit, asked=environment.asked_groups
            )
            self.notes += missing_groups(environment.asked_scopes, chosen, limit)
        for trajectory in self._trajectories:
            usage = trajectory.usage
            telemetry.executed(usage.wall_time_ms, usage.max_depth, usage.tokens)
            self._workspace.events.record_run(
                self._context,
                trajectory,
                query_id=self._query_id,
                memory_ids=[item.hit.id for item in chosen],
            )
        result = Found(
            asked=self._understanding,
            choice=self._choice,
            hits=tuple(item.hit for item in chosen),
            shown=tuple(replace(item.shown, place=place) for place, item in enumerate(chosen, 1)),
            entities={item.hit.id: item.entities for item in chosen},
            notes=tuple(self.notes),
            empty=self._empty,
        )
        return result, self._trajectories[-1] if self._trajectories else None

    def _about(self) -> str:
        """What a planning model needs beside the question: the day, where memories live, and since when."""
        request, user = self._request, self._context.user_id
        named = [scope for scope in self._scopes if scope.memories]
        listed = [f"{scope.label} ({scope.memories} memories)" for scope in named[:_SCOPES_NAMED]]
        own = [f"user/{user} (the asker's own)"] if user and not request.scope else []
        left = f" and {len(named) - _SCOPES_NAMED} more" if len(named) > _SCOPES_NAMED else ""
        since = f", the oldest of {self._earliest:%Y-%m-%d}" if self._earliest else ""
        about = [
            f"Today is {request.now:%A, %Y-%m-%d}. There are {self._memories:,} memories{since}.",
            f"Layers, the most specific first: {', '.join(layer.value for layer in Layer)}.",
            f"Scopes: {', '.join([*own, *listed])}{left}." if own or listed else "",
            "The result is a list of memories: those that your findings quote, or all that your calls found if none "
            "does.",
        ]
        return "\n".join(line for line in about if line)


def _merged(partial: Found, standard: Found, *, limit: int) -> Found:
    """What a run that was cut short found, and what one look finds: each memory once, the best first."""
    signals = {hit.id: hit for hit in (*standard.shown, *partial.shown)}
    best: dict[UUID, Hit] = {}
    for hit in (*partial.hits, *standard.hits):
        if hit.id not in best or hit.score > best[hit.id].score:
            best[hit.id] = replace(hit, group=best[hit.id].group) if hit.id in best else hit
    chosen = sorted(best.values(), key=lambda hit: -hit.score)[:limit]
    chosen.sort(key=lambda hit: (hit.layer.precedence, -hit.score))
    return replace(
        standard,
        hits=tuple(chosen),
        shown=tuple(replace(signals[hit.id], place=place) for place, hit in enumerate(chosen, 1)),
        notes=tuple(dict.fromkeys((*partial.notes, *standard.notes))),
        empty=False,
    )

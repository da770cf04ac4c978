"""`RlmExecutor`: a search as a run of the engine, from the question to the same `Found` that one look gives.

Whatever goes wrong, somebody asked a question. A model that does not plan to the end leaves the rest to the learned
planner; a run that fails or is cut short gives what it found, together with a standard search. Either is said in the
notes and the log; otherwise nothing in the answer says which path it took.
"""

from __future__ import annotations

import logging
import random
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING
from uuid import UUID

from recollect import telemetry
from recollect.domain.layers import Layer
from recollect.domain.learning import Choice
from recollect.domain.query import Understanding
from recollect.domain.results import Hit
from recollect.domain.tenancy import TenantContext
from recollect.domain.trajectory import Trajectory
from recollect.learning.policy import DecompositionPolicy
from recollect.providers.models.purse import Purse
from recollect.retrieval.asking import Stopwatch
from recollect.retrieval.pipeline import Found, caller_of, look, understand_request
from recollect.retrieval.recursive.decompose import Decomposition, ScopeNode, decompose
from recollect.retrieval.recursive.environment import MemoryEnvironment
from recollect.retrieval.recursive.gathered import Held, aggregate, missing_groups
from recollect.retrieval.recursive.looking import Looking
from recollect.retrieval.request import SearchRequest
from recollect.runs.budget import Limits
from recollect.runs.cache import Cache
from recollect.runs.engine import run
from recollect.runs.models import open_models
from recollect.runs.planners.contract import Planner
from recollect.runs.planners.learned import LearnedPlanner
from recollect.runs.router import ComplexityRouter
from recollect.storage.grouped import fetch_earliest, fetch_scope_tree
from recollect.workspace import Workspace

if TYPE_CHECKING:
    from recollect.runs.planners.model import ModelPlanner

_log = logging.getLogger("recollect.runs")

#: Users, sessions and agents can be as many as a tenant has people; only a question about them looks at their tree.
_TREE = (Layer.PROJECT, Layer.TEAM, Layer.ORG, Layer.COMPANY)
#: Why a search may have found less than it could; what went wrong in detail is in the log.
_CUT_SHORT = "looking at the parts of the question one by one was cut short ({}); a plain search was added"
_WITHOUT_MODEL = "the model {!r} did not plan this search to its end ({}); it was searched without a model"
_REASONS = {"planner": "it failed", "timeout": "it took too long", "done": "it found nothing"}
#: What a run may do without a model. A question over forty teams takes two or three calls; one over eight periods nine.
_MAX_SUBCALLS = 50
_TIMEOUT_S = 60.0
_MAX_STEPS = 12
#: Scopes that a planning model is told of.
_SCOPES_NAMED = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class _Ground:
    """The question as understood, how it can be split, and the weights its hits are ranked by."""

    asked: Understanding
    choice: Choice
    whole: Decomposition
    scopes: tuple[ScopeNode, ...]
    policy: DecompositionPolicy
    empty: bool
    #: How many memories the caller sees, and since when.
    memories: int
    earliest: datetime | None


class RlmExecutor:
    """Runs a question that one look won't answer. `planner` and `policy` are given by training and benchmarks only."""

    def __init__(
        self,
        workspace: Workspace,
        context: TenantContext,
        *,
        policy: DecompositionPolicy | None = None,
        rng: random.Random | None = None,
        planner: Planner | None = None,
        purse: Purse | None = None,
    ) -> None:
        self._workspace = workspace
        self._purse = purse or Purse(max_usd=workspace.settings.model_max_usd)
        self._context = context
        self._policy = policy
        self._rng = rng
        self._planner = planner

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

        def understood(asked: Understanding) -> None:
            if not heard and on_understood is not None:
                on_understood(asked)
            heard.append(asked)

        try:
            found, trajectory = await self.execute(request, query_id, watch=watch, on_understood=understood)
        except Exception as error:
            # A caller's mistake is the caller's on either path: the standard search says it again.
            _log.warning(
                "a recursive search failed (%s); the standard one answers",
                type(error).__name__,
                exc_info=error,
            )
            standard = await self._standard(request, query_id, watch, understood)
            return replace(standard, notes=(*standard.notes, _CUT_SHORT.format(type(error).__name__)))
        if trajectory is not None and (trajectory.stopped_by != "done" or not found.hits):
            if trajectory.stopped_by != "done":
                _log.warning(
                    "a recursive search was cut short (%s); a standard one is added", trajectory.stopped_by
                )
                found = replace(found, notes=(*found.notes, _CUT_SHORT.format(trajectory.stopped_by)))
            standard = await self._standard(request, query_id, watch, understood)
            return _merged(found, standard, limit=request.limit)
        return found

    async def execute(
        self,
        request: SearchRequest,
        query_id: UUID,
        *,
        watch: Stopwatch | None = None,
        on_understood: Callable[[Understanding], None] | None = None,
    ) -> tuple[Found, Trajectory | None]:
        """Run the question and return what was found, with the record; there is none where there is nothing to read."""
        watch = watch or Stopwatch()
        ground = await self._prepare(request, query_id, watch)
        if on_understood is not None:
            on_understood(ground.asked)
        if ground.empty:
            return self._found(ground, [], ground.asked.notes, empty=True), None
        settings = self._workspace.settings
        looking = Looking(
            workspace=self._workspace,
            context=self._context,
            request=request,
            query_id=query_id,
            watch=watch,
            scopes=ground.scopes,
            max_depth=settings.recursion_max_depth,
            notes=list(ground.asked.notes),
        )
        model = self._model_planner(looking.notes) if self._planner is None else None
        reads = None if model is None else model.reader
        environment = MemoryEnvironment(
            looking, ground.whole, model=reads, room_chars=reads.profile.result_chars if reads else 0
        )
        policy = self._policy or ground.policy
        learned, cache = LearnedPlanner(policy, self._rng), Cache()
        planner = self._planner or model or learned
        asked = _for_model(request, ground, self._context) if model is not None else request.query
        trajectories = [await self._run(environment, planner, policy, asked, cache)]
        by = trajectories[0].stopped_by
        if model is not None and (by != "done" or not environment.gathered):
            looking.notes.append(_WITHOUT_MODEL.format(settings.root_model, _REASONS.get(by, by)))
            _log.warning("a model did not plan a search to its end (%s): %s", by, trajectories[0].error)
            # What the model found stays; what it has not looked at is looked at now.
            trajectories.append(await self._run(environment, learned, policy, request.query, cache))
        chosen = aggregate(
            environment.gathered.held,
            environment.strategy,
            limit=request.limit,
            asked=environment.asked_groups,
        )
        looking.notes += missing_groups(environment.asked_scopes, chosen, request.limit)
        for trajectory in trajectories:
            self._record(trajectory, query_id, chosen)
        return self._found(ground, chosen, tuple(looking.notes)), trajectories[-1]

    async def _run(
        self,
        environment: MemoryEnvironment,
        planner: Planner,
        policy: DecompositionPolicy,
        query: str,
        cache: Cache,
    ) -> Trajectory:
        """One run of the engine with one planner; what it finds is in the environment."""
        settings = self._workspace.settings
        ended = await run(
            query,
            environment=environment,
            planner=planner,
            limits=Limits(
                max_subcalls=_MAX_SUBCALLS,
                max_steps=_MAX_STEPS,
                max_idle_steps=_MAX_STEPS,
                max_depth=settings.recursion_max_depth,
                max_usd=settings.model_max_usd,
                timeout_s=settings.rlm_timeout or _TIMEOUT_S,
                sub_call_timeout_s=settings.recursion_sub_call_timeout_s,
            ),
            cache=cache,
        )
        trajectory = ended.trajectory
        return trajectory if trajectory.policy is not None else replace(trajectory, policy=policy.name)

    def _model_planner(self, notes: list[str]) -> ModelPlanner | None:
        """The planner that asks the settings' model; None without one, and a note where it can't be opened."""
        settings = self._workspace.settings
        if not settings.root_model:
            return None
        models = open_models(settings, opener=self._workspace.model)
        if models.root is None:
            _log.warning("the model for planning searches can't be used: %s", models.notes)
            notes.append(_WITHOUT_MODEL.format(settings.root_model, "it can't be opened"))
            return None
        from recollect.runs.planners.model import ModelPlanner

        charged = models.charged_to(self._purse)
        assert charged.root is not None
        return ModelPlanner(charged.root, sub_call_model=charged.sub_call)

    async def _prepare(self, request: SearchRequest, query_id: UUID, watch: Stopwatch) -> _Ground:
        """Understand the question once, and read what it can be split by."""
        workspace = self._workspace
        async with workspace.store.transaction(self._context, keep_plans=True) as tx:
            caller = await caller_of(tx, request)
            with watch.stage("understand"):
                asked, choice = await understand_request(workspace, tx, request, caller, query_id)
                personal = {"users", "people", "sessions", "agents", "everyone"}.intersection(
                    request.query.casefold().split()
                )
                tree = await fetch_scope_tree(tx, list(Layer) if personal else _TREE)
                earliest = await fetch_earliest(tx)
                policy = await workspace.policies.policy_for(tx)
        allowed = None if caller.scope_ids is None else set(caller.scope_ids)
        scopes = tuple(
            ScopeNode(
                id=row["scope_id"],
                layer=Layer.from_precedence(row["layer"]),
                name=row["name"],
                parent=row["parent_id"],
                memories=row["memories"] if allowed is None or row["scope_id"] in allowed else 0,
            )
            for row in tree
        )
        signals = ComplexityRouter().signals(request.query)
        return _Ground(
            asked=asked,
            choice=choice,
            whole=decompose(asked, signals, scopes=scopes, earliest=earliest),
            scopes=scopes,
            policy=policy,
            empty=caller.scope_ids == [] or caller.memories <= 0,
            memories=caller.memories,
            earliest=earliest,
        )

    def _found(
        self, ground: _Ground, chosen: list[Held], notes: tuple[str, ...], *, empty: bool = False
    ) -> Found:
        return Found(
            asked=ground.asked,
            choice=ground.choice,
            hits=tuple(held.hit for held in chosen),
            shown=tuple(replace(held.shown, place=place) for place, held in enumerate(chosen, 1)),
            entities={held.hit.id: held.entities for held in chosen},
            notes=notes,
            empty=empty,
        )

    async def _standard(
        self,
        request: SearchRequest,
        query_id: UUID,
        watch: Stopwatch,
        on_understood: Callable[[Understanding], None],
    ) -> Found:
        found = await look(
            self._workspace, self._context, request, query_id, watch=watch, on_understood=on_understood
        )
        assert found is not None
        return found

    def _record(self, trajectory: Trajectory, query_id: UUID, chosen: list[Held]) -> None:
        """Metrics, and the record for training; neither holds the search up."""
        usage = trajectory.usage
        telemetry.executed(usage.wall_time_ms, usage.max_depth, usage.tokens)
        self._workspace.events.record_run(
            self._context, trajectory, query_id=query_id, memory_ids=[held.hit.id for held in chosen]
        )


def _for_model(request: SearchRequest, ground: _Ground, context: TenantContext) -> str:
    """The question with what a planning model needs beside it: the day, where memories live, and since when."""
    named = [scope for scope in ground.scopes if scope.memories]
    listed = [f"{one.layer.value}/{one.name} ({one.memories} memories)" for one in named[:_SCOPES_NAMED]]
    own = [f"user/{context.user_id} (the asker's own)"] if context.user_id and not request.scope else []
    left = f" and {len(named) - _SCOPES_NAMED} more" if len(named) > _SCOPES_NAMED else ""
    since = f", the oldest of {ground.earliest:%Y-%m-%d}" if ground.earliest else ""
    about = [
        f"Today is {request.now:%A, %Y-%m-%d}. There are {ground.memories:,} memories{since}.",
        f"Layers, the most specific first: {', '.join(one.value for one in Layer)}.",
        f"Scopes: {', '.join([*own, *listed])}{left}." if own or listed else "",
        "Whatever memories your calls find are the result; nothing has to be recorded.",
    ]
    return "\n\n".join([request.query, "\n".join(one for one in about if one)])


def _merged(partial: Found, standard: Found, *, limit: int) -> Found:
    """What a run that was cut short found, and what one look finds: each memory once, the best first."""
    shown = {one.id: one for one in (*standard.shown, *partial.shown)}
    best: dict[UUID, Hit] = {}
    for hit in (*partial.hits, *standard.hits):
        if hit.id not in best or hit.score > best[hit.id].score:
            best[hit.id] = replace(hit, group=best[hit.id].group) if hit.id in best else hit
    chosen = sorted(best.values(), key=lambda hit: -hit.score)[:limit]
    chosen.sort(key=lambda hit: (hit.layer.precedence, -hit.score))
    return replace(
        standard,
        hits=tuple(chosen),
        shown=tuple(replace(shown[hit.id], place=place) for place, hit in enumerate(chosen, 1)),
        notes=tuple(dict.fromkeys((*partial.notes, *standard.notes))),
        empty=False,
    )

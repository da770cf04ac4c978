"""The tools over memories: search_layer, drill_down, filter_by_relevance, filter_by_recency, recursive_call, aggregate.

One environment serves one search and its children. Every tool that reads goes through `pipeline.look`, in a
transaction of its own, so that calls of one step run at the same time and none sees what the caller may not. What a
planner without a model can choose from is `templates.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from difflib import get_close_matches
from functools import partial
from typing import TYPE_CHECKING, Any, Literal
from uuid import UUID

from pydantic import Field

from recollect.domain.findings import Finding
from recollect.domain.layers import Layer
from recollect.domain.learning import ShownHit
from recollect.domain.memory import Memory
from recollect.domain.names import entity_key
from recollect.domain.results import Hit
from recollect.domain.trajectory import Trajectory
from recollect.errors import InvalidInputError
from recollect.retrieval.look import EVERYTHING, Groups, Part
from recollect.retrieval.pipeline import Found
from recollect.retrieval.recursive.decompose import Decomposition, ScopeGroup, scopes_under
from recollect.retrieval.recursive.gathered import AggregationStrategy, Gathered, older_than
from recollect.retrieval.recursive.looks import Looks
from recollect.retrieval.recursive.memory_rows import MEMORY, memory_row_tools, read_memories
from recollect.retrieval.recursive.templates import Progress, propose
from recollect.runs.environment import Action, CallContext, Observation, Tool
from recollect.runs.quotes import plain, spellings
from recollect.runs.row_book import Parameters, RowBook
from recollect.storage.grouped import ByPeriod, ByScope

if TYPE_CHECKING:
    from recollect.providers.models import ChatModel

#: What was reached through something else is worth a little less than what answers by itself.
_BRIDGED = 0.95
#: A model read the memory and says that it belongs.
_ROW_SCORE = 0.9
#: What a planner with a model reads of each hit; a longer memory is a note, and says so.
_TEXT_CHARS = 4_000


class Period(Parameters):
    """A stretch of time, and what it is called."""

    since: datetime
    until: datetime
    label: str


class SearchLayer(Parameters):
    """Parameters of `search_layer`."""

    query: str = Field(min_length=1, max_length=4_000, description="a question, or words")
    layer: Layer | None = None
    scopes: tuple[str, ...] = Field(default=(), description="as in team/api; each gets its own hits")
    periods: tuple[Period, ...] = Field(default=(), description="each gets its own hits")


class DrillDown(Parameters):
    """Parameters of `drill_down`."""

    to_layer: Layer
    from_layer: Layer | None = None
    filter: str = ""


class FilterByRelevance(Parameters):
    """Parameters of `filter_by_relevance`."""

    min_score: float = Field(ge=0.0, le=1.0)


class FilterByRecency(Parameters):
    """Parameters of `filter_by_recency`."""

    max_age_days: float = Field(gt=0.0, le=1e6)


class RecursiveCall(Parameters):
    """Parameters of `recursive_call`."""

    sub_query: str = Field(min_length=1, max_length=4_000)
    group: str | None = Field(default=None, description="what its hits speak for, where sides are compared")
    split: Literal["by_entity", "parts", "bridge"] = "parts"
    bridge: str | None = Field(default=None, description="the name in earlier hits that led to it")


class Aggregate(Parameters):
    """Parameters of `aggregate`."""

    strategy: AggregationStrategy = AggregationStrategy.COMBINE


class MemoryEnvironment:
    """The caller's memories, for one question and what it is split into."""

    name = "memory"

    def __init__(
        self, looks: Looks, whole: Decomposition, *, model: ChatModel | None = None, room_chars: int = 0
    ) -> None:
        """`model` reads every memory where all are wanted; `room_chars` is what one call shows a planner."""
        self._looks = looks
        self._model = model
        self._room_chars = room_chars
        self._whole = whole
        #: What was found so far.
        self.gathered = Gathered()
        labels = {scope.id: scope.label for scope in looks.scopes}
        #: Which group a scope's hits speak for, where the question is put to groups of scopes.
        self._speaks_for = {
            labels[id]: group.label for group in whole.groups for id in group.scope_ids if id in labels
        }
        self._progress: dict[tuple[int, str], Progress] = {}
        self._strategy: AggregationStrategy | None = None
        self._within: dict[str, ScopeGroup] = {}
        #: By sub-question: what its hits speak for, and what they are worth.
        self._labels: dict[str, tuple[str | None, float]] = {}
        self.tools: Mapping[str, Tool] = {tool.name: tool for tool in self._make_tools()}

    @property
    def asked_scopes(self) -> frozenset[str]:
        """The scopes and periods that the question is put to; what is missing of its sides is said elsewhere.

        A planner that did not look at periods one by one says nothing about any of them.
        """
        whole = self._whole
        labels = {side.label for side in whole.sides}
        if not any("by_period" in progress.used for progress in self._progress.values()):
            labels |= {period.phrase for period in whole.periods}
        return self.asked_groups - labels

    @property
    def asked_groups(self) -> frozenset[str]:
        """The groups that the question is about."""
        whole = self._whole
        return frozenset(
            [group.label for group in whole.groups]
            + [side.label for side in whole.sides]
            + [period.phrase for period in whole.periods]
        )

    def choose(self, claims: Sequence[Finding]) -> None:
        """Let go of the memories that no claim quotes, where some are quoted; those stay under the claim's group."""
        groups: dict[UUID, str | None] = {}
        for claim in claims:
            cited = {citation.file_path for citation in claim.citations if citation.kind == MEMORY}
            quotes = [plain(spelling) for spelling in spellings(claim.evidence)]
            for item in self.gathered:
                text = plain(_described(item.hit))
                if str(item.hit.id) in cited or any(quote and quote in text for quote in quotes):
                    groups.setdefault(item.hit.id, claim.group)
        if groups:
            self.gathered.keep(lambda hit: hit.id in groups)
            self.gathered.label({id: group for id, group in groups.items() if group}, but=self.asked_groups)

    @property
    def strategy(self) -> AggregationStrategy:
        """How the run asked for its findings to be brought together."""
        if self._strategy is not None:
            return self._strategy
        split = bool(self._whole.groups or self._whole.periods or self._whole.sides)
        return AggregationStrategy.COMPARE if split else AggregationStrategy.COMBINE

    def content_hash(self, tool: str, parameters: Mapping[str, Any]) -> str:
        """Looks read the store as it is within this search; filters and aggregation read what was found so far."""
        if tool in ("search_layer", "drill_down"):
            return self._looks.ground
        return self.gathered.content_hash()

    def actions(self, query: str, depth: int, step: int) -> Sequence[Action]:
        """What a planner without a model can choose from now."""
        return propose(
            self._whole if depth == 0 else self._looks.part_of(query),
            self._progress_of(depth, query),
            self.gathered,
            depth=depth,
            step=step,
            limit=self._looks.request.limit,
            now=self._looks.request.now,
            max_depth=self._looks.max_depth,
        )

    def _progress_of(self, depth: int, query: str) -> Progress:
        return self._progress.setdefault((depth, query), Progress())

    # ---------------------------------------------------------------- the tools

    def _make_tools(self) -> list[Tool]:
        return [
            Tool(
                "search_layer",
                "Search the memories of a layer, of some scopes (each by itself), or of a period.",
                SearchLayer,
                self._search_layer,
            ),
            Tool(
                "drill_down",
                "Find the scopes of a lower layer, of those whose parent's name matches the filter.",
                DrillDown,
                self._drill_down,
            ),
            Tool(
                "filter_by_relevance",
                "Let go of what was found with a lower score.",
                FilterByRelevance,
                self._filter_by_relevance,
            ),
            Tool(
                "filter_by_recency",
                "Let go of what was found and is older.",
                FilterByRecency,
                self._filter_by_recency,
            ),
            Tool(
                "recursive_call",
                "Ask a simpler question, which may be split further.",
                RecursiveCall,
                self._recursive_call,
                cacheable=False,
            ),
            Tool(
                "aggregate",
                "Bring what was found together: combine, compare or summarize.",
                Aggregate,
                self._aggregate,
            ),
            *(self._row_tools(self._model) if self._model is not None else ()),
        ]

    def _row_tools(self, model: ChatModel) -> list[Tool]:
        """Only for a model that plans: the learned planner's search looks at every memory by index."""
        looks = self._looks
        most = looks.workspace.settings.budget.rows_max_tokens
        read = partial(read_memories, looks.workspace, looks.context, request=looks.request)
        book = RowBook(model=model, room_chars=max(self._room_chars, 6_000), max_tokens=most)
        return memory_row_tools(book, read, self._keep)

    def _keep(self, memories: Sequence[Memory]) -> None:
        """Memories that a model found rows in, among what was found."""
        same = "id text layer scope type created_at metadata conversation speaker position".split()
        rows: list[dict[str, Any]] = [{name: getattr(memory, name) for name in same} for memory in memories]
        hits = [Hit(**row, score=_ROW_SCORE, group=row["scope"]) for row in rows]
        shown_hits = [ShownHit(id=hit.id, place=1, score=hit.score, signals={}) for hit in hits]
        self.gathered.add([self._labelled(hit) for hit in hits], shown_hits, {})

    async def _search_layer(self, wanted: SearchLayer, call: CallContext) -> Observation:
        groups = self._named(wanted.scopes)
        part = EVERYTHING
        if groups:
            part = Part(groups=_by_scope(groups))
        elif wanted.periods:
            part = Part(groups=_by_period(wanted.periods))
        layers = None if wanted.layer is None or groups else (wanted.layer,)
        look = await self._looks.look(wanted.query, part=part, layers=layers)
        group, worth = self._labels.get(call.query, (None, 1.0)) if call.depth else (None, 1.0)
        split = group is not None or part.groups is not None
        hits = look.hits if split else [self._labelled(hit) for hit in look.hits]
        new = self.gathered.add(hits, look.shown, look.entities, group=group, split=split, worth=worth)
        progress = self._progress_of(call.depth, call.query)
        progress.used.add("scopes" if groups else "by_period" if wanted.periods else "search")
        progress.note(new=new, hits=len(look.hits))
        return observed(look)

    def _named(self, names: Sequence[str]) -> list[ScopeGroup]:
        """Scopes by the labels of drilling down, or their own; an unknown one is an error, not a wider search."""
        own = {scope.label: scope for scope in self._looks.scopes} if names else {}
        if unknown := [name for name in names if name not in self._within and name not in own]:
            close = get_close_matches(unknown[0], [*self._within, *own], n=3)
            hint = (
                f"; did you mean {', '.join(map(repr, close))}?"
                if close
                else "; drill_down says which there are"
            )
            raise InvalidInputError(f"there is no scope {unknown[0]!r}{hint}")
        return [self._within.get(name) or ScopeGroup(label=name, scope_ids=(own[name].id,)) for name in names]

    def _labelled(self, hit: Hit) -> Hit:
        """A hit of the plain search, under the group that its scope belongs to."""
        group = self._speaks_for.get(hit.scope)
        return hit if group is None else replace(hit, group=group)

    async def _drill_down(self, wanted: DrillDown, call: CallContext) -> Observation:
        groups = scopes_under(
            self._looks.scopes,
            to_layer=wanted.to_layer,
            from_layer=wanted.from_layer,
            matching=wanted.filter,
        )
        if call.depth == 0 and wanted.to_layer is self._whole.to_layer and self._whole.groups:
            groups = self._whole.groups
        self._within |= {group.label: group for group in groups}
        labels = [group.label for group in groups]
        progress = self._progress_of(call.depth, call.query)
        progress.used.add("by_scope")
        progress.drilled = tuple(labels)
        return Observation(value=labels, text="\n".join(labels))

    async def _filter_by_relevance(self, wanted: FilterByRelevance, call: CallContext) -> Observation:
        return self._filter("relevance", call, lambda hit: hit.score >= wanted.min_score)

    async def _filter_by_recency(self, wanted: FilterByRecency, call: CallContext) -> Observation:
        since = older_than(self._looks.request.now, wanted.max_age_days)
        return self._filter("recency", call, lambda hit: hit.created_at >= since)

    def _filter(self, by: str, call: CallContext, wanted: Callable[[Hit], bool]) -> Observation:
        self._progress_of(call.depth, call.query).used.add(f"filter_{by}")
        gone = self.gathered.keep(wanted)
        return Observation(value={"dropped": gone, "left": len(self.gathered)}, text=f"{gone} dropped")

    async def _recursive_call(self, wanted: RecursiveCall, call: CallContext) -> Observation:
        before = len(self.gathered)
        self._labels[wanted.sub_query] = (wanted.group, _BRIDGED if wanted.split == "bridge" else 1.0)
        progress = self._progress_of(call.depth, call.query)
        progress.used.add(wanted.split)
        if wanted.bridge is not None and entity_key(wanted.bridge) not in progress.bridged:
            progress.hops += not progress.bridged
            progress.bridged.add(entity_key(wanted.bridge))
        child = await call.recurse(wanted.sub_query)
        # All that it found, also what a sibling found before it: that is its answer.
        answered = _answered(child)
        hits = [item.hit for item in self.gathered.held if str(item.hit.id) in answered]
        progress.note(new=len(self.gathered) - before, hits=len(self.gathered))
        return Observation(value={"stopped_by": child.stopped_by, "hits": _ids(hits)}, text=_lines(hits))

    async def _aggregate(self, wanted: Aggregate, call: CallContext) -> Observation:
        if call.depth == 0:
            self._strategy = wanted.strategy
        return Observation(value={"strategy": wanted.strategy.value, "hits": len(self.gathered)})


def observed(look: Found) -> Observation:
    """A look as planners and records see it: ids and scores for the record, texts for a planner that reads."""
    # Characters over four is what English texts have in tokens; counting them would cost more than the search.
    tokens = sum(len(hit.text) for hit in look.hits) // 4
    return Observation(value=_ids(look.hits), text=_lines(look.hits), tokens=tokens)


def _answered(trajectory: Trajectory) -> set[str]:
    """The memories that a run's calls gave back, whether they were looked up or known from before."""
    made = [call for step in trajectory.steps for call in step.tool_calls if call.error is None]
    looks = [call.result for call in made if call.tool == "search_layer"]
    looks += [call.result["hits"] for call in made if call.tool == "recursive_call"]
    return {hit["id"] for hits in looks for hit in hits}


def _ids(hits: Sequence[Hit]) -> list[dict[str, Any]]:
    return [{"id": str(hit.id), "score": hit.score, "group": hit.group} for hit in hits]


def _lines(hits: Sequence[Hit]) -> str:
    """Memories with what tells them apart: for whom they speak, where they live, when they were said."""
    lines = [
        f"[{hit.group}] {_described(hit)}" if hit.group != hit.scope else _described(hit) for hit in hits
    ]
    return "\n".join(lines) or "nothing was found"


def _described(hit: Hit) -> str:
    text = " ".join(hit.text.split())
    more = f" [... {len(text) - _TEXT_CHARS} more characters]" if len(text) > _TEXT_CHARS else ""
    said_by = f"{hit.speaker}: " if hit.speaker else ""
    return f"{hit.created_at:%Y-%m-%d} {hit.scope}: {said_by}{text[:_TEXT_CHARS]}{more}"


def _by_scope(groups: Sequence[ScopeGroup]) -> Groups:
    scope_ids: list[UUID] = []
    places: list[int] = []
    for place, group in enumerate(groups):
        scope_ids.extend(group.scope_ids)
        places.extend([place] * len(group.scope_ids))
    return Groups(
        names=tuple(group.label for group in groups),
        grouping=ByScope(scope_ids=scope_ids, places=places),
    )


def _by_period(periods: Sequence[Period]) -> Groups:
    ordered = sorted(periods, key=lambda period: period.since)
    return Groups(
        names=tuple(period.label for period in ordered),
        grouping=ByPeriod(
            starts=[period.since for period in ordered], ends=[period.until for period in ordered]
        ),
    )

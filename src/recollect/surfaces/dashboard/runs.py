"""Runs: consultations of documents, explorations of code and searches that were decomposed, on one page.

Each has a page of its own with its steps, its budget and what it cost. Those that go on now are shown while they do.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from nicegui import ui

from recollect.domain.oracle import NOT_IN_DOCUMENTS
from recollect.domain.trajectory import Trajectory
from recollect.errors import ForbiddenError, InvalidInputError, NotFoundError
from recollect.learning.runs import MEMORY
from recollect.surfaces.dashboard import consultations, explorations
from recollect.surfaces.dashboard.exploration import budget, spent_of_run, tree
from recollect.surfaces.dashboard.exploring import Running, told_lately
from recollect.surfaces.dashboard.live import watch
from recollect.surfaces.dashboard.widgets import empty, fields, many, tabs, tag, when, words

if TYPE_CHECKING:
    from uuid import UUID

    from recollect.domain.codebase import RLMResult
    from recollect.domain.learning import RunSummary
    from recollect.domain.oracle import OracleConsultation
    from recollect.domain.overview import Happening
    from recollect.surfaces.dashboard.visitor import Visitor

PATH = "/runs"
_SHOWN = 50
_UNSAID = "A search in parts (its words are not kept)"
_ICONS = {"consultation": "forum", "exploration": "travel_explore", "search": "account_tree"}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Run:
    """A line of the list."""

    kind: str
    title: str
    at: datetime
    state: str
    tone: str
    said: str
    address: str


async def build_consultations(visitor: Visitor) -> None:
    """The page with consultations alone, where one is begun."""
    await build(visitor, kind="consultation")


async def build_explorations(visitor: Visitor) -> None:
    """The page with explorations alone, where one is begun."""
    await build(visitor, kind="exploration")


async def build(visitor: Visitor, kind: str = "") -> None:
    """The page of all runs, or of one kind."""
    began = datetime.now(UTC)
    admin, operator = visitor.context.is_admin, visitor.context.is_operator
    consulting = await consultations.running(visitor, began)
    exploring = Running()
    for one in await told_lately(visitor, began) if operator else ():
        exploring.hear(one)
    choices = [("All", PATH, not kind), ("Consultations", "/consultations", kind == "consultation")]
    choices += [("Explorations", "/explorations", kind == "exploration")] if operator else []
    choices += [("Searches", f"{PATH}?kind=search", kind == "search")] if admin else []
    tabs(choices)
    if kind == "consultation":
        await consultations.form(visitor)
    elif kind == "exploration" and operator:
        await explorations.form(visitor)

    async def rows() -> list[_Run]:
        store = await visitor.store()
        runs: list[_Run] = []
        if kind in ("", "consultation"):
            past = await store.consultations.list(limit=_SHOWN)
            known = {one.id for one in past}
            runs += [
                _begun(event) for event in consulting.begun.values() if event.consultation_id not in known
            ]
            runs += [_consultation(one) for one in past]
        if kind in ("", "exploration") and operator:
            made = await store.explorations.list(limit=_SHOWN)
            tasks = {one.task_id for one in made}
            runs += [_exploring(told) for told in exploring.begun.values() if told.task_id not in tasks]
            runs += [_exploration(one) for one in made]
        if kind in ("", "search") and admin:
            asked: dict[UUID | None, str | None] = {
                one.id: one.question for one in await store.traces.list(limit=1_000)
            }
            past_runs = await store.learning.runs(limit=1_000)
            searches = [run for run in past_runs if run.environment == MEMORY][:_SHOWN]
            runs += [_search(run, asked.get(run.query_id)) for run in searches]
        return sorted(runs, key=lambda one: one.at, reverse=True)[:_SHOWN]

    @ui.refreshable
    async def listed() -> None:
        found = await rows()
        if not found:
            with ui.card().classes("card w-full"):
                _nothing(kind)
            return
        with ui.card().classes("card rows w-full"):
            for one in found:
                _row(one)

    async def hear(happening: Happening) -> None:
        if consulting.heard(happening) | exploring.heard(happening):
            await listed.refresh()

    await listed()
    watch(visitor, hear, since=began)


def _nothing(kind: str) -> None:
    if kind == "exploration":
        empty(
            "travel_explore",
            "No code was explored yet",
            then="Ask above, or from a shell; what it looks at shows here as it happens.",
            command='recollect explore . "Where are keys checked?"',
        )
    elif kind == "search":
        empty(
            "account_tree",
            "No search was decomposed yet",
            then="Questions in several parts, such as comparisons over teams, are taken apart and show here.",
            command='recollect search "Compare how Ana and Ben take their coffee"',
        )
    else:
        empty(
            "forum",
            "Nothing was asked yet",
            then="Ask the documents, or from a shell; the steps show here as they happen.",
            command='recollect consult "How do I rotate a key?"',
        )


def _row(run: _Run) -> None:
    with ui.link(target=run.address).classes(run.kind), ui.row().classes("w-full items-start no-wrap gap-3"):
        ui.icon(_ICONS[run.kind]).classes("quiet text-lg q-mt-xs").tooltip(run.kind)
        with ui.column().classes("grow gap-0 min-w-0"):
            ui.label(run.title).classes("prose line-clamp-2")
            with ui.element("div").classes("meta"):
                tag(run.state, run.tone)
                ui.label(when(run.at))
                ui.label(run.said).classes("prose")


def _begun(event: Any) -> _Run:
    return _Run(
        kind="consultation",
        title=str(event.detail.get("problem", "")),
        at=event.at,
        state="running",
        tone="tint",
        said="",
        address=f"/consultations/{event.consultation_id}",
    )


def _consultation(one: OracleConsultation) -> _Run:
    state, tone = ("failed", "bad") if one.outcome == "error" else ("answered", "good")
    if one.advice == NOT_IN_DOCUMENTS:
        state, tone = NOT_IN_DOCUMENTS, "warn"
    return _Run(
        kind="consultation",
        title=one.problem,
        at=one.timestamp,
        state=state,
        tone=tone,
        said=consultations.cost(one),
        address=f"/consultations/{one.id}",
    )


def _exploring(told: Any) -> _Run:
    return _Run(
        kind="exploration",
        title=str(told.detail.get("query", "")),
        at=told.at,
        state="running",
        tone="tint",
        said="",
        address=explorations.address(told.task_id),
    )


def _exploration(result: RLMResult) -> _Run:
    found = len(result.findings)
    cost = f" · ${result.usage.usd:.4f}" if result.usage.usd else ""
    said = f"{many(found, 'finding')} · {result.usage.wall_time_seconds:.1f} s{cost} · {result.root}"
    return _Run(
        kind="exploration",
        title=result.query,
        at=result.trajectory.end_time,
        state=result.stopped_by.replace("_", " "),
        tone="good" if result.stopped_by == "done" and found else "warn",
        said=said,
        address=explorations.address(result.task_id),
    )


def _search(one: RunSummary, question: str | None) -> _Run:
    said = f"by {one.user_id} · {one.subcalls} calls · {one.tokens:,} tokens"
    return _Run(
        kind="search",
        title=question or _UNSAID,
        at=one.started_at,
        state=one.stopped_by.replace("_", " "),
        tone="good" if one.stopped_by == "done" else "warn",
        said=said if one.reward is None else f"{said} · reward {one.reward:+.2f}",
        address=f"{PATH}/{quote(str(one.id), safe='')}",
    )


async def build_one(visitor: Visitor, id: str) -> None:
    """The page of a search that was decomposed, or of the steps of a consultation."""
    ui.link("← Runs", PATH).classes("link")
    try:
        found = await (await visitor.store()).learning.run(id)
    except (NotFoundError, InvalidInputError, ForbiddenError):
        empty("search_off", "There is no such run", then="It may be somebody else's, or forgotten.")
        return
    one, record = found.summary, Trajectory.read(found.trajectory)
    trace = None
    if one.query_id is not None and one.environment == MEMORY:
        with suppress(NotFoundError):
            trace = await (await visitor.store()).traces.get(one.query_id)
    with ui.card().classes("card w-full gap-2"):
        searched = one.environment == MEMORY
        words(((trace and trace.question) or _UNSAID) if searched else "A consultation, step by step")
        fields(
            [
                ("Asked", f"{one.started_at:%Y-%m-%d %H:%M:%S} UTC by {one.user_id}"),
                ("Planned by", one.planner),
                ("Ended", one.stopped_by.replace("_", " ")),
                ("Came of it", one.outcome),
                ("Reward", None if one.reward is None else f"{one.reward:+.2f}"),
            ]
        )
        if trace is not None:
            ui.link(f"What it found: {many(trace.hits)}", f"/traces/{trace.id}").classes("link text-sm")
        elif one.query_id is not None and not searched:
            ui.link("What it found", f"/consultations/{one.query_id}").classes("link text-sm")
    with ui.row().classes("w-full gap-4 items-start"):
        with ui.card().classes("card grow basis-96 gap-2"):
            ui.label("Steps").classes("title")
            ui.label("What was searched for and found in each is not kept.").classes("quiet text-sm")
            tree(record)
        with ui.card().classes("card grow basis-72 gap-3"):
            ui.label("Budget").classes("title")
            budget(spent_of_run(record))

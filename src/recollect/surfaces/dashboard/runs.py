"""Runs: consultations of documents, explorations of code and searches that were decomposed, on one page.

Each has a page of its own with its steps, its budget and what it cost. Those that go on now are shown while they do.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING
from urllib.parse import quote

from nicegui import ui

from recollect.domain.trajectory import Trajectory
from recollect.errors import ForbiddenError, InvalidInputError, NotFoundError
from recollect.learning.runs import MEMORY
from recollect.surfaces.counts import many
from recollect.surfaces.dashboard import consultations, explorations, progress
from recollect.surfaces.dashboard.exploration import budget, spent_of_run, tree
from recollect.surfaces.dashboard.live import watch
from recollect.surfaces.dashboard.widgets import card, empty, fields, quiet, tabs, tag, when, words

if TYPE_CHECKING:
    from uuid import UUID

    from recollect.domain.codebase import RLMResult
    from recollect.domain.learning import RunSummary
    from recollect.domain.oracle import OracleConsultation, OracleEvent
    from recollect.domain.overview import Happening
    from recollect.surfaces.dashboard.visitor import Visitor

PATH = "/runs"
_SHOWN = 50
_UNSAID = "A search in parts (its words are not kept)"
#: What stands in the place of a list without runs: an icon, what is not there, what to do, and a command that does.
_NOTHING = {
    "consultation": (
        "forum",
        "Nothing was asked yet",
        "Ask the documents, or from a shell; the steps show here as they happen.",
        'recollect consult "How do I rotate a key?"',
    ),
    "exploration": (
        "travel_explore",
        "No code was explored yet",
        "Ask above, or from a shell; what it looks at shows here as it happens.",
        'recollect explore . "Where are keys checked?"',
    ),
    "search": (
        "account_tree",
        "No search was decomposed yet",
        "Questions in several parts, such as comparisons over teams, are taken apart and show here.",
        'recollect search "Compare how Ana and Ben take their coffee"',
    ),
}
_ICONS = {"consultation": "forum", "exploration": "travel_explore", "search": "account_tree"}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Run:
    """A line of the list."""

    kind: str
    title: str
    at: datetime
    state: str
    tone: str
    address: str
    detail: str = ""


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
    consultations_now, explorations_now = consultations.unfinished(), progress.unfinished()
    await consultations_now.catch_up(visitor, began)
    if operator:
        await explorations_now.catch_up(visitor, began)
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
            ended = {consultation.id for consultation in past}
            for id, event in consultations_now.begun.items():
                if id not in ended:
                    runs.append(_begun("consultation", event, "problem", f"/consultations/{id}"))
            runs += [_consultation(consultation) for consultation in past]
        if kind in ("", "exploration") and operator:
            results = await store.explorations.list(limit=_SHOWN)
            tasks = {result.task_id for result in results}
            for task, begun in explorations_now.begun.items():
                if task not in tasks:
                    runs.append(_begun("exploration", begun, "query", explorations.address(task)))
            runs += [_exploration(result) for result in results]
        if kind in ("", "search") and admin:
            questions: dict[UUID | None, str | None] = {
                trace.id: trace.question for trace in await store.traces.list(limit=1_000)
            }
            past_runs = await store.learning.runs(limit=1_000)
            searches = [run for run in past_runs if run.environment == MEMORY][:_SHOWN]
            runs += [_search(run, questions.get(run.query_id)) for run in searches]
        return sorted(runs, key=lambda run: run.at, reverse=True)[:_SHOWN]

    @ui.refreshable
    async def listed() -> None:
        runs = await rows()
        with ui.card().classes("card rows w-full" if runs else "card w-full"):
            for run in runs:
                _row(run)
            if not runs:
                icon, what, then, command = _NOTHING.get(kind, _NOTHING["consultation"])
                empty(icon, what, then=then, command=command)

    async def hear(happening: Happening) -> None:
        if consultations_now.heard(happening) | explorations_now.heard(happening):
            await listed.refresh()

    await listed()
    watch(visitor, hear, since=began)


def _row(run: _Run) -> None:
    with ui.link(target=run.address).classes(run.kind), ui.row().classes("w-full items-start no-wrap gap-3"):
        ui.icon(_ICONS[run.kind]).classes("quiet text-lg q-mt-xs").tooltip(run.kind)
        with ui.column().classes("grow gap-0 min-w-0"):
            ui.label(run.title).classes("prose line-clamp-2")
            with ui.element("div").classes("meta"):
                tag(run.state, run.tone)
                ui.label(when(run.at))
                ui.label(run.detail).classes("prose")


def _begun(kind: str, event: OracleEvent | progress.Event, title: str, address: str) -> _Run:
    """A run that goes on; `title` is what its first event calls the question."""
    return _Run(
        kind=kind, title=str(event.detail.get(title, "")), at=event.at, state="running", tone="tint", address=address
    )  # fmt: skip


def _consultation(consultation: OracleConsultation) -> _Run:
    return _Run(
        kind="consultation",
        title=consultation.problem,
        at=consultation.timestamp,
        state=consultation.state,
        tone={"failed": "bad", "answered": "good"}.get(consultation.state, "warn"),
        detail=consultations.cost(consultation),
        address=f"/consultations/{consultation.id}",
    )


def _exploration(result: RLMResult) -> _Run:
    findings = len(result.findings)
    cost = f" · ${result.usage.usd:.4f}" if result.usage.usd else ""
    detail = f"{many(findings, 'finding')} · {result.usage.wall_time_seconds:.1f} s{cost} · {result.root}"
    return _Run(
        kind="exploration",
        title=result.query,
        at=result.trajectory.end_time,
        state=result.stopped_by.replace("_", " "),
        tone="good" if result.stopped_by == "done" and findings else "warn",
        detail=detail,
        address=explorations.address(result.task_id),
    )


def _search(run: RunSummary, question: str | None) -> _Run:
    detail = f"by {run.user_id} · {run.subcalls} calls · {run.tokens:,} tokens"
    return _Run(
        kind="search",
        title=question or _UNSAID,
        at=run.started_at,
        state=run.stopped_by.replace("_", " "),
        tone="good" if run.stopped_by == "done" else "warn",
        detail=detail if run.reward is None else f"{detail} · reward {run.reward:+.2f}",
        address=f"{PATH}/{quote(str(run.id), safe='')}",
    )


async def build_one(visitor: Visitor, id: str) -> None:
    """The page of a search that was decomposed, or of the steps of a consultation."""
    ui.link("← Runs", PATH).classes("link")
    try:
        stored = await (await visitor.store()).learning.run(id)
    except (NotFoundError, InvalidInputError, ForbiddenError):
        empty("search_off", "There is no such run", then="It may be somebody else's, or forgotten.")
        return
    summary, record = stored.summary, Trajectory.read(stored.trajectory)
    trace = None
    if summary.query_id is not None and summary.environment == MEMORY:
        with suppress(NotFoundError):
            trace = await (await visitor.store()).traces.get(summary.query_id)
    with ui.card().classes("card w-full gap-2"):
        searched = summary.environment == MEMORY
        words(((trace and trace.question) or _UNSAID) if searched else "A consultation, step by step")
        fields(
            [
                ("Asked", f"{summary.started_at:%Y-%m-%d %H:%M:%S} UTC by {summary.user_id}"),
                ("Planned by", summary.planner),
                ("Ended", summary.stopped_by.replace("_", " ")),
                ("Came of it", summary.outcome),
                ("Reward", None if summary.reward is None else f"{summary.reward:+.2f}"),
            ]
        )
        if trace is not None:
            ui.link(f"What it found: {many(trace.hits)}", f"/traces/{trace.id}").classes("link text-sm")
        elif summary.query_id is not None and not searched:
            ui.link("What it found", f"/consultations/{summary.query_id}").classes("link text-sm")
    with ui.row().classes("w-full gap-4 items-start"):
        with card("Steps", "grow basis-96 gap-2"):
            quiet("What was searched for and found in each is not kept.")
            tree(record)
        with card("Budget", "grow basis-72 gap-3"):
            budget(spent_of_run(record))

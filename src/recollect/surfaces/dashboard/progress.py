"""The progress of an exploration that runs, wherever it was started, from its events."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

from nicegui import ui

from recollect.domain.findings import Finding
from recollect.domain.overview import ExplorationEvent
from recollect.surfaces.dashboard.exploration import marks, parameters, place_of
from recollect.surfaces.dashboard.live import RUNNING_FOR, Unfinished, events_since
from recollect.surfaces.dashboard.widgets import card, quiet

if TYPE_CHECKING:
    from recollect.domain.overview import Happening
    from recollect.surfaces.dashboard.visitor import Visitor

TYPES = frozenset(kind.value for kind in ExplorationEvent)
ENDS = frozenset({ExplorationEvent.COMPLETED.value, ExplorationEvent.FAILED.value})


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """Something that an exploration told; `number` counts from 1 within it."""

    type: str
    at: datetime
    task_id: str
    number: int
    detail: Mapping[str, Any]


def read(happening: Happening) -> Event | None:
    """What an exploration told, of all that happens."""
    if happening.type not in TYPES:
        return None
    return Event(
        type=happening.type,
        at=happening.at,
        task_id=str(happening.detail.get("task_id", "")),
        number=int(happening.detail.get("number") or 0),
        detail=happening.detail.get("detail") or {},
    )


async def recent_events(visitor: Visitor, now: datetime) -> list[Event]:
    """What explorations have told in the last hour, the oldest first."""
    return [
        event
        for happening in await events_since(visitor, TYPES, since=now - RUNNING_FOR)
        if (event := read(happening))
    ]


def unfinished() -> Unfinished[Event]:
    """Explorations that go on."""
    start = ExplorationEvent.STARTED
    return Unfinished(read=read, run_of=lambda event: event.task_id, start=start, ends=ENDS)


class ProgressView:
    """What is shown of an exploration that runs: its steps as they come, what is left to it, what it found."""

    def __init__(self, events: list[Event]) -> None:
        self._heard: set[int] = set()
        begun = next((event for event in events if event.type == ExplorationEvent.STARTED), None)
        ui.label("" if begun is None else str(begun.detail.get("query", ""))).classes("prose text-lg")
        with ui.row().classes("items-center gap-2"):
            self._spinner = ui.spinner(size="md")
            self._state = quiet("Looking around", "")
        with card("Steps"):
            self._steps = ui.column().classes("w-full gap-2 steps")
        with card("Found so far"):
            self._found = ui.column().classes("w-full gap-2")
        for event in events:
            self.hear(event)

    def hear(self, event: Event) -> None:
        """One more thing that was told; what was heard is not shown twice."""
        if event.number in self._heard:
            return
        self._heard.add(event.number)
        if event.type == ExplorationEvent.FINDING:
            with self._found:
                _show_finding(Finding.read(event.detail["finding"]))
        elif event.type == ExplorationEvent.BUDGET:
            self._state.set_text(_left(event.detail.get("remaining") or {}))
        elif event.type == ExplorationEvent.THINKING:
            with self._steps:
                _thought(event.detail)
        elif event.type == ExplorationEvent.TOOL_CALL:
            with self._steps:
                _call(event.detail)
        elif event.type in ENDS:
            self._spinner.set_visibility(False)
            failed = event.type == ExplorationEvent.FAILED
            self._state.set_text(f"It failed: {event.detail.get('error')}" if failed else "It is done.")


def _indent(detail: Mapping[str, Any]) -> str:
    return f"padding-left: {16 * min(int(detail.get('depth') or 0), 8)}px"


def _thought(detail: Mapping[str, Any]) -> None:
    with ui.row().classes("items-start no-wrap w-full gap-2 step").style(_indent(detail)):
        ui.icon("lightbulb").props("color=accent").classes("text-lg")
        ui.label(f"{detail.get('step')}. {detail.get('thought')}").classes("prose")


def _call(detail: Mapping[str, Any]) -> None:
    with ui.row().classes("items-start no-wrap w-full gap-2 q-pl-md call").style(_indent(detail)):
        ui.icon("build").classes("quiet text-lg")
        with ui.column().classes("gap-0 min-w-0"):
            with ui.row().classes("items-center gap-2"):
                ui.label(str(detail.get("tool"))).classes("mono font-semibold")
                quiet(f"{float(detail.get('duration_ms') or 0):,.0f} ms", "text-xs")
                marks(cached=bool(detail.get("cached")), refused=False, failed=bool(detail.get("error")))
            ui.label(str(detail.get("error") or parameters(detail.get("parameters") or {}))).classes(
                "mono prose quiet"
            )


def _show_finding(finding: Finding) -> None:
    with ui.column().classes("w-full gap-0"):
        ui.label(finding.description).classes("prose text-sm")
        for cited in finding.citations[:3]:
            quiet(place_of(cited), "mono prose")


def _left(remaining: Mapping[str, Any]) -> str:
    parts = [f"{remaining.get('subcalls')} sub-calls"]
    if remaining.get("seconds") is not None:
        parts.append(f"{float(remaining['seconds']):.0f} s")
    if remaining.get("tokens") is not None:
        parts.append(f"{remaining['tokens']:,} tokens")
    if remaining.get("usd") is not None:
        parts.append(f"${float(remaining['usd']):.4f}")
    return f"{', '.join(parts)} left"

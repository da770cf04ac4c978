"""Explorations while they run, wherever they were started: what their events tell, as it is told."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from nicegui import ui

from recollect.domain.findings import Finding
from recollect.domain.overview import ExplorationEvent
from recollect.surfaces.dashboard.exploration import marks, parameters, place_of
from recollect.surfaces.dashboard.live import told

if TYPE_CHECKING:
    from recollect.domain.overview import Happening
    from recollect.surfaces.dashboard.visitor import Visitor

TYPES = frozenset(kind.value for kind in ExplorationEvent)
ENDS = frozenset({ExplorationEvent.COMPLETED.value, ExplorationEvent.FAILED.value})
#: One that began longer ago and never said that it ended was cut off.
RUNNING_FOR = timedelta(hours=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """One thing that an exploration told; `number` counts from 1 within it."""

    type: str
    at: datetime
    task_id: str
    number: int
    detail: Mapping[str, Any]


def read(happening: Happening) -> Told | None:
    """What an exploration told, of all that happens."""
    if happening.type not in TYPES:
        return None
    return Told(
        type=happening.type,
        at=happening.at,
        task_id=str(happening.detail.get("task_id", "")),
        number=int(happening.detail.get("number") or 0),
        detail=happening.detail.get("detail") or {},
    )


async def told_lately(visitor: Visitor, now: datetime) -> list[Told]:
    """What explorations have told in the last hour, the oldest first."""
    return [one for event in await told(visitor, TYPES, since=now - RUNNING_FOR) if (one := read(event))]


@dataclass(slots=True)
class Running:
    """Explorations that have begun and not ended, by task."""

    begun: dict[str, Told] = field(default_factory=dict)

    def hear(self, told: Told) -> None:
        """One more thing that was told."""
        if told.type == ExplorationEvent.STARTED:
            self.begun[told.task_id] = told
        elif told.type in ENDS:
            self.begun.pop(told.task_id, None)

    def heard(self, happening: Happening) -> bool:
        """Whether something that happened is the beginning or the end of one."""
        told = read(happening)
        if told is None or not (told.type in ENDS or told.number == 1):
            return False
        self.hear(told)
        return True


class Watched:
    """What is shown of an exploration that runs: its steps as they come, what is left to it, what it found."""

    def __init__(self, told: list[Told]) -> None:
        self._heard: set[int] = set()
        begun = next((one for one in told if one.type == ExplorationEvent.STARTED), None)
        ui.label("" if begun is None else str(begun.detail.get("query", ""))).classes("prose text-lg")
        with ui.row().classes("items-center gap-2"):
            self._spinner = ui.spinner(size="md")
            self._state = ui.label("Looking around").classes("quiet")
        with ui.card().classes("card w-full gap-2"):
            ui.label("Steps").classes("title")
            self._steps = ui.column().classes("w-full gap-2 steps")
        with ui.card().classes("card w-full gap-2"):
            ui.label("Found so far").classes("title")
            self._found = ui.column().classes("w-full gap-2")
        for one in told:
            self.hear(one)

    def hear(self, told: Told) -> None:
        """One more thing that was told; what was heard is not shown twice."""
        if told.number in self._heard:
            return
        self._heard.add(told.number)
        if told.type == ExplorationEvent.FINDING:
            with self._found:
                _found(Finding.read(told.detail["finding"]))
        elif told.type == ExplorationEvent.BUDGET:
            self._state.set_text(_left(told.detail.get("remaining") or {}))
        elif told.type == ExplorationEvent.THINKING:
            with self._steps:
                _thought(told.detail)
        elif told.type == ExplorationEvent.TOOL_CALL:
            with self._steps:
                _call(told.detail)
        elif told.type in ENDS:
            self._spinner.set_visibility(False)
            failed = told.type == ExplorationEvent.FAILED
            self._state.set_text(f"It failed: {told.detail.get('error')}" if failed else "It is done.")


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
                ui.label(f"{float(detail.get('duration_ms') or 0):,.0f} ms").classes("quiet text-xs")
                marks(cached=bool(detail.get("cached")), refused=False, failed=bool(detail.get("error")))
            ui.label(str(detail.get("error") or parameters(detail.get("parameters") or {}))).classes(
                "mono prose quiet"
            )


def _found(finding: Finding) -> None:
    with ui.column().classes("w-full gap-0"):
        ui.label(finding.description).classes("prose text-sm")
        for cited in finding.citations[:3]:
            ui.label(place_of(cited)).classes("quiet mono prose")


def _left(remaining: Mapping[str, Any]) -> str:
    parts = [f"{remaining.get('subcalls')} sub-calls"]
    if remaining.get("seconds") is not None:
        parts.append(f"{float(remaining['seconds']):.0f} s")
    if remaining.get("tokens") is not None:
        parts.append(f"{remaining['tokens']:,} tokens")
    if remaining.get("usd") is not None:
        parts.append(f"${float(remaining['usd']):.4f}")
    return f"{', '.join(parts)} left"

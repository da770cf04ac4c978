"""Explorations of code: start one below the server's folders, watch it, and read those that were made.

Records of explorations are the machine's, so all of this is for operators.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from nicegui import background_tasks, ui

from recollect.client.verbs import BY_NAME
from recollect.errors import InvalidInputError, NotFoundError, RecollectError
from recollect.surfaces.dashboard.exploration import show
from recollect.surfaces.dashboard.live import watch
from recollect.surfaces.dashboard.progress import Event, ProgressView, read, recent_events
from recollect.surfaces.dashboard.sources import served_roots
from recollect.surfaces.dashboard.widgets import empty
from recollect.surfaces.roots import check_roots

if TYPE_CHECKING:
    from pathlib import Path

    from recollect.domain.overview import Happening
    from recollect.surfaces.dashboard.visitor import Visitor

_PAGE = 50
_NO_PRESET = "none"
#: How often it is looked whether an exploration was refused or has begun, before its own page is opened.
_SOON_S = 0.2
#: How soon a record is shown after it was written, whether or not the last event was heard.
_RECHECK_S = 0.5


@dataclass(slots=True)
class _Request:
    """What the visitor wants to know, and what it may take."""

    folder: str
    query: str = ""
    preset: str = _NO_PRESET
    hints: str = ""
    max_subcalls: float | None = None
    timeout_seconds: float | None = None
    max_usd: float | None = None

    def arguments(self) -> dict[str, Any]:
        """As `explore` takes it; what was left empty is for the settings."""
        hints = [line.strip() for line in self.hints.splitlines() if line.strip()]
        given: dict[str, Any] = {
            "path": self.folder.strip(),
            "query": self.query,
            "context_hints": hints or None,
            "preset": None if self.preset == _NO_PRESET else self.preset,
            "max_subcalls": None if self.max_subcalls is None else int(self.max_subcalls),
            "timeout_seconds": self.timeout_seconds,
            "max_usd": self.max_usd,
        }
        return {name: value for name, value in given.items() if value is not None}


def address(task_id: str) -> str:
    """The page of one."""
    return f"/explorations/{quote(task_id, safe='')}"


async def form(visitor: Visitor) -> None:
    """Where one is begun."""
    from recollect.runs.roles import PRESETS

    roots = served_roots((await visitor.store()).settings)
    with ui.card().classes("card w-full"):
        if not roots:
            empty(
                "folder_off",
                "This server opens no folder to explore",
                then="Whoever starts it names the folders whose code may be read.",
                command="recollect serve --root FOLDER",
            )
            return
        request = _Request(folder=str(roots[0]))
        query = ui.textarea("Ask the code").bind_value(request, "query").classes("w-full")
        query.props('outlined autogrow rows=2 data-search aria-label="Question about the code"')
        with ui.row().classes("w-full items-center gap-4"):
            folder = ui.input("Folder", autocomplete=[str(root) for root in roots])
            folder.bind_value(request, "folder").classes("grow min-w-52")
            preset = ui.select([_NO_PRESET, *PRESETS], label="Preset").bind_value(request, "preset")
            preset.classes("min-w-40")
            ui.button(
                "Explore", icon="travel_explore", on_click=lambda: _start(visitor, request, roots)
            ).props("unelevated")
        with ui.expansion("Hints and limits", icon="tune").classes("w-full").props("dense"):
            _limits(request)


def _limits(request: _Request) -> None:
    with ui.column().classes("w-full gap-3 q-pt-sm"):
        hints = ui.textarea("Begin with", placeholder="a path, a symbol, file:line or a stack trace a line")
        hints.bind_value(request, "hints").props("autogrow rows=2").classes("w-full")
        with ui.row().classes("w-full gap-4"):
            for name, title, step in (
                ("max_subcalls", "Sub-calls at most", 1),
                ("timeout_seconds", "Seconds at most", 1),
                ("max_usd", "Dollars at most", 0.01),
            ):
                number = ui.number(title, min=0, step=step).bind_value(request, name)
                number.props('clearable stack-label placeholder="as set"').classes("min-w-36 grow")


async def _start(visitor: Visitor, request: _Request, roots: list[Path]) -> None:
    """Begin it, and go to where its steps are shown; it goes on when that page is left."""
    from recollect.codebase.request import check_task_id

    store = await visitor.store()
    arguments = request.arguments()
    check_roots(BY_NAME["explore"], arguments, roots)
    task_id = check_task_id(None)

    async def explore() -> RecollectError | None:
        try:
            await store.explore(task_id=task_id, **arguments)
        except RecollectError as error:
            return error
        return None

    work = background_tasks.create(explore(), name="an exploration")
    begun = datetime.now(UTC)
    while not (await asyncio.wait({work}, timeout=_SOON_S))[0] and not await _events(visitor, task_id, begun):
        pass
    if work.done() and (error := work.result()) is not None:
        raise error
    ui.navigate.to(address(task_id))


# One -----------------------------------------------------------------------------------------------


async def build_one(visitor: Visitor, task_id: str) -> None:
    """The page of one exploration: its steps as they come, then all of it."""
    ui.link("← Runs", "/explorations").classes("link")
    now = datetime.now(UTC)
    place = ui.column().classes("w-full gap-4")
    with place:
        if await _show_record(visitor, task_id):
            return
        events = await _events(visitor, task_id, now)
        if not events:
            empty("search_off", "There is no such exploration", then="Its record may have been removed.")
            return
        view = ProgressView(events)

    async def finish() -> None:
        try:
            await (await visitor.store()).explorations.get(task_id)
        except NotFoundError:
            return
        again.cancel()
        place.clear()
        with place:
            await _show_record(visitor, task_id)

    again = ui.timer(_RECHECK_S, finish)

    def hear(happening: Happening) -> None:
        event = read(happening)
        if event is not None and event.task_id == task_id:
            view.hear(event)

    watch(visitor, hear, since=now)


async def _events(visitor: Visitor, task_id: str, now: datetime) -> list[Event]:
    """What it has told of itself, if it runs or ran lately."""
    return [event for event in await recent_events(visitor, now) if event.task_id == task_id]


async def _show_record(visitor: Visitor, task_id: str) -> bool:
    """Show the record; False when there is none."""
    try:
        result = await (await visitor.store()).explorations.get(task_id)
    except NotFoundError:
        return False
    except InvalidInputError as error:
        empty("broken_image", "Its record can't be read", then=str(error))
        return True
    show(visitor, result)
    return True

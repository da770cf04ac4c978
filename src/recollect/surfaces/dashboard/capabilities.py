"""Capability requests: what consultations missed, as it is missed, and the five most wanted of the week."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any
from uuid import UUID

from nicegui import ui

from recollect.domain.oracle import CapabilityRequest, EventType, OracleEvent
from recollect.surfaces.dashboard.live import RUNNING_FOR, events_since, watch
from recollect.surfaces.dashboard.widgets import card, empty, fields, quiet, show_more, tag, when

if TYPE_CHECKING:
    from recollect.domain.oracle import CapabilityGroup
    from recollect.domain.overview import Happening
    from recollect.surfaces.dashboard.visitor import Visitor

_ASKED = EventType.ORACLE_CAPABILITY_REQUESTED
_ENDS = frozenset({EventType.ORACLE_CONSULTATION_COMPLETED, EventType.ORACLE_CONSULTATION_FAILED})
#: The latest consultations whose requests are listed, and how many requests are shown at once.
_CONSULTATIONS, _PAGE = 500, 30
_WEEK_DAYS, _TOP = 7, 5
#: A record is kept just after its last event was told.
_KEPT_AFTER_S = 1.0
_NAMED = {
    "problem": "Problem",
    "doc_id": "Document",
    "where": "Where",
    "gap": "Gap",
    "attempted_tools": "Tried",
}


@dataclass(slots=True)
class _Missed:
    """What is on the page: a consultation asks once for the same thing of the same document."""

    requests: dict[tuple[UUID | None, str, str], CapabilityRequest] = field(default_factory=dict)
    words: str = ""
    most: int = _PAGE

    def add(self, request: CapabilityRequest) -> bool:
        """Whether it is new."""
        key = (request.consultation_id, request.description, str(request.context.get("doc_id")))
        if key in self.requests:
            return False
        self.requests[key] = request
        return True

    def fitting(self) -> list[CapabilityRequest]:
        """Those that hold all the words, the newest first."""
        words = self.words.casefold().split()
        newest = sorted(self.requests.values(), key=lambda request: request.at, reverse=True)
        return [request for request in newest if all(word in _text(request) for word in words)]


def _text(request: CapabilityRequest) -> str:
    parts = [request.description, request.raised_by, request.workflow or "", request.agent or ""]
    return " ".join([*parts, *(_plain(value) for value in request.context.values())]).casefold()


async def build(visitor: Visitor) -> None:
    """The page."""
    began = datetime.now(UTC)
    missed = _Missed()
    store = await visitor.store()
    for consultation in await store.consultations.list(limit=_CONSULTATIONS):
        for document in consultation.capability_requests:
            missed.add(CapabilityRequest.read(document))
    for happening in await events_since(visitor, [_ASKED.value], since=began - RUNNING_FOR):
        missed.add(_request(OracleEvent.read(happening.detail)))

    refresh_top = await _top(visitor)

    @ui.refreshable
    def listed() -> None:
        _listed(missed, listed.refresh)

    def hear(happening: Happening) -> None:
        if happening.type == _ASKED:
            request = _request(OracleEvent.read(happening.detail))
            if missed.add(request):
                words.set_visibility(True)
                listed.refresh()
                ui.notify(
                    "A consultation asked for a new capability",
                    caption=request.description[:300],
                    type="info",
                    icon="extension",
                    position="top-right",
                    multi_line=True,
                    timeout=8_000,
                )
        elif happening.type in _ENDS:
            ui.timer(_KEPT_AFTER_S, refresh_top, once=True)

    words = _filter(missed, listed.refresh)
    listed()
    watch(visitor, hear, since=began)


def _request(event: OracleEvent) -> CapabilityRequest:
    """What an event tells of; its own id is known once the consultation is kept."""
    return CapabilityRequest(
        id=event.consultation_id,
        at=event.at,
        description=str(event.detail.get("description", "")),
        raised_by=str(event.detail.get("raised_by", "")),
        context=dict(event.detail.get("context") or {}),
        consultation_id=event.consultation_id,
        workflow=event.workflow,
        agent=event.agent,
    )


# The week ------------------------------------------------------------------------------------------


async def _top(visitor: Visitor) -> Any:
    """The week's most wanted; told apart by meaning, which takes a moment, so it comes after the page."""

    @ui.refreshable
    async def ranking(groups: list[CapabilityGroup] | None = None) -> None:
        if groups is None:
            with ui.row().classes("items-center gap-2"):
                ui.spinner(size="sm")
                quiet("Putting together what means the same")
        elif not groups:
            quiet("Nothing was missed this week.", "")
        else:
            most = max(group.count for group in groups)
            for place, group in enumerate(groups, start=1):
                _group(place, group, most)

    async def count() -> None:
        groups = await (await visitor.store()).capabilities(days=_WEEK_DAYS, limit=_TOP)
        await ranking.refresh(list(groups))

    with card("Most wanted this week", "w-full gap-3 top-five"), ui.column().classes("w-full gap-3"):
        await ranking()
    ui.timer(0.05, count, once=True)
    return count


def _group(place: int, group: CapabilityGroup, most: int) -> None:
    with ui.row().classes("w-full no-wrap items-start gap-3"):
        quiet(f"{place}.", "mono")
        with ui.column().classes("grow gap-1 min-w-0"):
            ui.label(group.description).classes("prose")
            ui.linear_progress(value=group.count / most, show_value=False).classes("w-full").props(
                "rounded size=6px"
            )
            if group.documents:
                quiet(f"for {', '.join(group.documents)}", "text-xs prose")
        tag(f"{group.count} ×")


# The list ------------------------------------------------------------------------------------------


def _filter(missed: _Missed, again: Any) -> ui.input:
    def changed(words: str | None) -> None:
        missed.words, missed.most = words or "", _PAGE
        again()

    words = ui.input("Filter", on_change=lambda event: changed(event.value))
    words.props('clearable debounce=250 data-search aria-label="Filter requests"')
    words.classes("w-full max-w-md").set_visibility(bool(missed.requests))
    return words


def _listed(missed: _Missed, again: Any) -> None:
    fitting = missed.fitting()
    if not fitting:
        with ui.card().classes("card w-full"):
            if missed.requests:
                empty("search_off", "No request has these words", then="Fewer words find more.")
            else:
                empty(
                    "extension",
                    "Nothing was missed yet",
                    then="When a consultation meets something it can't read or do, it asks for it here, at once.",
                    command='recollect consult "What are the rate limits?" --depth thorough',
                )
        return
    if missed.words.strip():
        quiet(f"{len(fitting)} of {len(missed.requests)}")
    for request in fitting[: missed.most]:
        _row(request)

    def more() -> None:
        missed.most += _PAGE
        again()

    show_more(len(fitting), missed.most, more)


def _row(request: CapabilityRequest) -> None:
    with ui.card().classes("card w-full gap-2 request"):
        with ui.row().classes("w-full items-start no-wrap gap-3"):
            ui.label(request.description).classes("prose font-semibold grow min-w-0")
            quiet(when(request.at), "text-sm whitespace-nowrap").tooltip(
                f"{request.at:%Y-%m-%d %H:%M:%S} UTC"
            )
        with ui.row().classes("w-full items-center gap-3"):
            tag(f"by {request.raised_by}")
            for icon, value, what in (
                ("account_tree", request.workflow, "workflow"),
                ("smart_toy", request.agent, "agent"),
            ):
                if value:
                    with ui.row().classes("items-center gap-1 no-wrap text-sm min-w-0"):
                        ui.icon(icon).classes("quiet").tooltip(what)
                        ui.label(value).classes("prose")
            if request.consultation_id is not None:
                ui.link("Consultation", f"/consultations/{request.consultation_id}").classes("link text-sm")
        fields(_context(request.context))


def _context(context: Mapping[str, Any]) -> list[tuple[str, object]]:
    """What is said of it: the known first, in words; whatever else there is after it."""
    known = [(title, _plain(context.get(name))) for name, title in _NAMED.items()]
    rest = [(str(name), _plain(value)) for name, value in context.items() if name not in _NAMED]
    return [*known, *rest]


def _plain(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    if isinstance(value, list | tuple) and all(isinstance(item, str) for item in value):
        return ", ".join(value)
    return json.dumps(value, ensure_ascii=False, default=str)

"""Consultations: ask, watch the steps as they happen, read the answer, and look its citations up.

A consultation shows itself while it runs, wherever it was asked: its events reach every page that may know of it.
"""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any
from uuid import UUID

from nicegui import background_tasks, ui

from recollect.domain.oracle import DEPTH_HINTS, EventType, OracleConsultResult, OracleEvent
from recollect.errors import InvalidInputError, NotFoundError, RecollectError
from recollect.surfaces.counts import many
from recollect.surfaces.dashboard import citations
from recollect.surfaces.dashboard.live import RUNNING_FOR, Unfinished, events_since, watch
from recollect.surfaces.dashboard.widgets import card, empty, fields, quiet, tag, words

if TYPE_CHECKING:
    from recollect.domain.oracle import OracleConsultation
    from recollect.domain.overview import Happening
    from recollect.surfaces.dashboard.visitor import Visitor

_TYPES = frozenset(kind.value for kind in EventType)
_ENDS: frozenset[str] = frozenset(
    {EventType.ORACLE_CONSULTATION_COMPLETED, EventType.ORACLE_CONSULTATION_FAILED}
)
#: Between two looks whether what was asked can be shown.
_MOMENT_S = 0.1


def unfinished() -> Unfinished[OracleEvent]:
    """Consultations that go on."""
    start = EventType.ORACLE_CONSULTATION_STARTED
    return Unfinished(read=_event, run_of=lambda event: event.consultation_id, start=start, ends=_ENDS)


def _event(happening: Happening) -> OracleEvent | None:
    """The event of a consultation, of all that happens."""
    return OracleEvent.read(happening.detail) if happening.type in _TYPES else None


async def _events(visitor: Visitor, since: datetime) -> list[OracleEvent]:
    """What consultations have told since a moment, also those that are not over and stored yet."""
    return [
        event
        for happening in await events_since(visitor, _TYPES, since=since)
        if (event := _event(happening)) is not None
    ]


async def _so_far(visitor: Visitor, id: UUID) -> list[OracleEvent]:
    """What one consultation has told until now."""
    since = datetime.now(UTC) - RUNNING_FOR
    return [event for event in await _events(visitor, since) if event.consultation_id == id]


async def form(visitor: Visitor) -> None:
    """Where one is begun."""
    documents = await (await visitor.store()).library.list(limit=1_000)
    names = {str(document.id): document.name for document in documents}
    with ui.card().classes("card w-full"):
        problem = ui.textarea("Ask the documents").classes("w-full")
        problem.props('outlined autogrow rows=2 data-search aria-label="Question"')
        with ui.row().classes("w-full items-center gap-4"):
            depth = ui.select(list(DEPTH_HINTS), value="auto", label="Depth")
            depth.classes("min-w-32")
            only = ui.select(names, multiple=True, value=[], label="Only these documents", with_input=True)
            only.props("use-chips").classes("min-w-52")
            ui.space()
            ui.button(
                "Ask", icon="send", on_click=lambda: _start(visitor, problem.value, depth.value, only.value)
            ).props("unelevated")


async def _start(visitor: Visitor, problem: str, depth: str, documents: list[str]) -> None:
    """Ask, and go to where the steps are shown as soon as there is one that can be read there."""
    page = ui.context.client
    is_open = False

    def hear(event: OracleEvent) -> None:
        nonlocal is_open
        if not is_open:
            is_open = True
            background_tasks.create(go_to(event.consultation_id), name="to a consultation")

    async def go_to(id: UUID) -> None:
        # Events are kept a moment after they are heard; all are when it is over.
        while not work.done() and not await _so_far(visitor, id):
            await asyncio.wait({work}, timeout=_MOMENT_S)
        with page:
            ui.navigate.to(f"/consultations/{id}")

    store = await visitor.store()

    async def consult() -> None:
        try:
            await store.oracle_consult(problem, depth, doc_ids=documents or None, on_event=hear)
        except RecollectError as error:
            # One that failed after it began is stored, and its own page says so.
            if not is_open:
                with page:
                    ui.notify(str(error), type="negative", multi_line=True, close_button=True)

    # It goes on when this page is left.
    work = background_tasks.create(consult(), name="a consultation")


def cost(consultation: OracleConsultation) -> str:
    """Its time, tokens and dollars, on one line."""
    parts = [
        f"{consultation.duration_ms / 1_000:.1f} s",
        "in steps" if consultation.processing_mode == "rlm" else "in one look",
    ]
    if consultation.tokens.get("total"):
        parts.append(f"{consultation.tokens['total']:,} tokens")
    if consultation.cost_usd:
        parts.append(f"${consultation.cost_usd:.4f}")
    return " · ".join(parts)


async def build_one(visitor: Visitor, id: str) -> None:
    """The page of one consultation: its steps as they come, then its answer."""
    ui.link("← Runs", "/runs").classes("link")
    try:
        wanted = UUID(id)
    except ValueError:
        _missing()
        return
    began = datetime.now(UTC)
    stored = await _stored(visitor, wanted)
    events = stored[1] if stored else await _so_far(visitor, wanted)
    if not stored and not events:
        _missing()
        return
    heard = {event.number for event in events}

    @ui.refreshable
    async def result() -> None:
        outcome = stored or await _stored(visitor, wanted)
        if outcome is None:
            with ui.card().classes("card w-full"), ui.row().classes("items-center"):
                ui.spinner(size="md")
                quiet("It is being answered.", "")
        else:
            await _result(visitor, outcome[0])

    first = events[0]
    words(str(first.detail.get("problem", "")))
    await result()
    with card("Steps", "w-full"):
        steps = ui.column().classes("w-full gap-1 steps")
    with steps:
        for event in events:
            _step(event)

    async def hear(happening: Happening) -> None:
        event = _event(happening)
        if event is None or event.consultation_id != wanted or event.number in heard:
            return
        heard.add(event.number)
        with steps:
            _step(event)
        if event.type in _ENDS:
            # The last event is told just before the record is kept.
            timer = ui.timer(0.3, lambda: finish())

            async def finish() -> None:
                if await _stored(visitor, wanted) is not None:
                    timer.cancel()
                    await result.refresh()

    if not stored:
        watch(visitor, hear, since=began - timedelta(seconds=30))


async def _stored(
    visitor: Visitor, id: UUID
) -> tuple[OracleConsultResult | OracleConsultation, list[OracleEvent]] | None:
    """A consultation that is over, with its events; None while it is not."""
    consultations = (await visitor.store()).consultations
    try:
        events = list(await consultations.events(id))
    except (NotFoundError, InvalidInputError):
        return None
    try:
        return await consultations.get(id), events
    except NotFoundError:
        past = next(
            (consultation for consultation in await consultations.list(limit=1_000) if consultation.id == id),
            None,
        )
        return None if past is None else (past, events)


def _missing() -> None:
    empty("search_off", "There is no such consultation", then="It may be somebody else's, or forgotten.")


async def _result(visitor: Visitor, outcome: OracleConsultResult | OracleConsultation) -> None:
    record = outcome.consultation if isinstance(outcome, OracleConsultResult) else outcome
    with ui.card().classes("card w-full"):
        if isinstance(outcome, OracleConsultResult):
            with ui.column().classes("w-full gap-3"):
                spot = ui.element("div").classes("w-full")
                ui.separator()
                show = await citations.sources(visitor, outcome.citations)
                with spot:
                    if not outcome.found:
                        tag("not in the documents", "warn")
                    elif not record.model and not any(citation.supports for citation in outcome.citations):
                        tag("the nearest passages; none says it outright", "warn")
                    citations.answer(outcome.answer if outcome.found else "", outcome.citations, show)
                for note in outcome.notes:
                    quiet(note, "text-sm prose")
        else:
            ui.label(record.error_message or "It failed.").classes("text-negative prose")
    with ui.expansion("Time and cost", icon="receipt_long").classes("card w-full").props("dense"):
        pairs: list[tuple[str, Any]] = [
            ("Asked", f"{record.timestamp:%Y-%m-%d %H:%M} UTC"),
            ("Took", f"{record.duration_ms / 1_000:.1f} s"),
            ("Mode", f"{record.processing_mode}, {record.depth_hint}"),
            ("Model", record.model or "none"),
            ("Tokens", f"{record.tokens.get('total', 0):,}"),
            ("Cost", "unknown" if record.cost_usd is None else f"${record.cost_usd:.4f}"),
            ("Documents", ", ".join(record.docs_consulted)),
            ("Files", ", ".join(record.files_consulted)),
            ("Session", record.session_id),
        ]
        if isinstance(outcome, OracleConsultResult):
            read = f"{outcome.coverage.read_tokens:,} of {outcome.coverage.material_tokens:,} tokens"
            pairs.insert(3, ("Read", f"{100 * outcome.coverage.share:.1f} %, {read}"))
            pairs.insert(4, ("Ended by", outcome.stopped_by))
        fields(pairs)


_ICONS = {
    EventType.ORACLE_CONSULTATION_STARTED: ("play_arrow", "primary"),
    EventType.ORACLE_CONSULTATION_THINKING: ("lightbulb", "accent"),
    EventType.ORACLE_RLM_TOOL_CALL: ("build", "secondary"),
    EventType.ORACLE_CAPABILITY_REQUESTED: ("extension", "warning"),
    EventType.ORACLE_CONSULTATION_COMPLETED: ("done", "positive"),
    EventType.ORACLE_CONSULTATION_FAILED: ("error", "negative"),
}


def _step(event: OracleEvent) -> None:
    icon, colour = _ICONS[event.type]
    deep = int(event.detail.get("depth") or 0)
    with ui.row().classes("items-start no-wrap w-full step").style(f"padding-left: {16 * min(deep, 8)}px"):
        ui.icon(icon).props(f"color={colour}").classes("text-lg")
        with ui.column().classes("gap-0 grow"):
            title, more = _said(event)
            ui.label(title).classes("prose text-sm")
            if more:
                quiet(more, "mono prose")


def _said(event: OracleEvent) -> tuple[str, str]:
    """An event in words, and its particulars."""
    detail = event.detail
    if event.type is EventType.ORACLE_CONSULTATION_STARTED:
        return "Asked", f"depth {detail.get('depth_hint')}, model {detail.get('model') or 'none'}"
    if event.type is EventType.ORACLE_CONSULTATION_THINKING:
        return str(detail.get("thought") or "Thinks"), ", ".join(map(str, detail.get("calls") or ()))
    if event.type is EventType.ORACLE_RLM_TOOL_CALL:
        given = ", ".join(f"{name}={value}" for name, value in (detail.get("parameters") or {}).items())
        end = (
            " from the cache"
            if detail.get("cached")
            else f" in {float(detail.get('duration_ms') or 0):.0f} ms"
        )
        failed = f"; failed: {detail['error']}" if detail.get("error") else ""
        return f"{detail.get('tool')}{end}{failed}", given
    if event.type is EventType.ORACLE_CAPABILITY_REQUESTED:
        return f"Missed: {detail.get('description')}", ""
    if event.type is EventType.ORACLE_CONSULTATION_FAILED:
        return f"Failed: {detail.get('error')}", ""
    cited, ended = detail.get("citations"), str(detail.get("stopped_by") or "done").replace("_", " ")
    more = "" if ended == "done" else f"stopped by {ended}"
    return f"Answered with {many(int(cited or 0), 'citation')}", more

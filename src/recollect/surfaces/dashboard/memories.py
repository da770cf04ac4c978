"""Memories: search them as an agent would, see why each was found, filter, read a memory's history, edit, delete."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from nicegui import ui

from recollect.domain.layers import Layer
from recollect.domain.learning import FeedbackKind
from recollect.domain.memory import MemoryType
from recollect.errors import InvalidInputError, NotFoundError
from recollect.surfaces.dashboard.widgets import confirmed, empty, fields, when

if TYPE_CHECKING:
    from uuid import UUID

    from recollect.domain.memory import Memory
    from recollect.domain.results import Hit, SearchResults
    from recollect.surfaces.dashboard.visitor import Visitor

_PAGE = 25


@dataclass(slots=True)
class _Asked:
    """What the visitor is looking for; with no words, the newest memories are listed."""

    query: str = ""
    user: str = ""
    layers: list[str] = field(default_factory=list)
    types: list[str] = field(default_factory=list)
    scope: str = ""
    threshold: float = 0.7
    superseded: bool = False
    cursors: list[str | None] = field(default_factory=lambda: [None])


async def build(visitor: Visitor, q: str = "") -> None:
    """The page of all memories."""
    asked = _Asked(query=q)

    @ui.refreshable
    async def found() -> None:
        if asked.query.strip():
            await _search(visitor, asked)
        else:
            await _newest(visitor, asked, found.refresh)

    def again() -> None:
        asked.cursors = [None]
        found.refresh()

    _form(visitor, asked, again)
    await found()


def _form(visitor: Visitor, asked: _Asked, again: Any) -> None:
    with ui.card().classes("card w-full"):
        with ui.row().classes("w-full items-center no-wrap"):
            words = ui.input("Search as an agent would", value=asked.query).props(
                'outlined dense clearable data-search aria-label="Search memories"'
            )
            words.classes("grow").bind_value(asked, "query")
            words.on("keydown.enter", again).on("clear", again)
            ui.button("Search", icon="search", on_click=again).props("unelevated")
        with (
            ui.expansion("Filters", icon="tune").classes("w-full").props("dense"),
            ui.row().classes("w-full items-center gap-4"),
        ):
            layers = [layer.value for layer in Layer]
            types = [kind.value for kind in MemoryType]
            ui.select(layers, label="Layers", multiple=True, value=[]).props(
                "outlined dense use-chips"
            ).classes("min-w-40").bind_value(asked, "layers")
            ui.select(types, label="Types", multiple=True, value=[]).props(
                "outlined dense use-chips"
            ).classes("min-w-40").bind_value(asked, "types")
            ui.input("Scope", placeholder="team/api").props("outlined dense").bind_value(asked, "scope")
            if visitor.context.is_admin:
                ui.input("As user", placeholder="yourself").props("outlined dense").bind_value(asked, "user")
            with ui.column().classes("gap-0 min-w-40"):
                ui.label("Least score").classes("quiet text-xs")
                ui.slider(min=0, max=1, step=0.05).props("label").bind_value(asked, "threshold")
            ui.checkbox("Superseded ones too").bind_value(asked, "superseded")
            ui.button("Apply", on_click=again).props("flat")


async def _search(visitor: Visitor, asked: _Asked) -> None:
    store = await visitor.store(user=asked.user.strip() or None)
    results = await store.search(
        asked.query,
        limit=_PAGE,
        threshold=asked.threshold,
        layers=asked.layers or None,
        types=asked.types or None,
        scope=asked.scope.strip() or None,
        explain=True,
    )
    understood = await store.explain(asked.query)
    with ui.row().classes("items-center gap-2"):
        ui.label(f"{len(results)} found in {results.timings_ms.get('total', 0):.0f} ms").classes("quiet")
        ui.badge(understood.strategy.name).props("outline").tooltip("how the question was read")
    for note in results.notes:
        ui.label(note).classes("text-warning")
    if not results:
        with ui.card().classes("card w-full"):
            empty(
                "search_off",
                "Nothing relevant is remembered",
                then="A lower least score, under Filters, also shows what is only near.",
            )
    for hit in results:
        _hit(visitor, hit, results, asked)


def _hit(visitor: Visitor, hit: Hit, results: SearchResults, asked: _Asked) -> None:
    with ui.card().classes("card w-full gap-2"):
        with ui.row().classes("w-full items-center gap-2"):
            ui.badge(f"{hit.score:.2f}").props("color=primary")
            ui.badge(hit.scope).props("outline")
            ui.badge(hit.type.value).props("outline color=secondary")
            ui.label(when(hit.created_at)).classes("quiet text-sm")
            ui.space()
            _feedback(visitor, hit.id, results.query_id, asked.user.strip() or None)
        ui.link(hit.text, f"/memories/{hit.id}").classes("prose link").style("color: inherit")
        if hit.explanation is not None:
            with ui.expansion("Why").props("dense").classes("w-full quiet text-sm"):
                ui.label(hit.explanation.sentence)
                ui.label("found by " + ", ".join(hit.explanation.sources)).classes("quiet")
                for name, value in sorted(hit.explanation.signals.items(), key=lambda pair: -pair[1]):
                    with ui.row().classes("items-center w-full no-wrap gap-2"):
                        ui.label(name.replace("_", " ")).classes("w-44 text-xs")
                        ui.linear_progress(value=min(max(value, 0), 1), show_value=False).classes(
                            "grow max-w-sm"
                        )
                        ui.label(f"{value:.2f}").classes("mono")


def _feedback(visitor: Visitor, memory: UUID, query: UUID, user: str | None) -> None:
    async def give(kind: str) -> None:
        await (await visitor.store(user=user)).feedback(memory, kind, query_id=query)
        ui.notify(f"Noted: {kind}", type="positive")

    with (
        ui.button(icon="thumbs_up_down").props('flat round dense aria-label="Say what it was worth"'),
        ui.menu(),
    ):
        for kind in FeedbackKind:
            ui.menu_item(kind.value, on_click=lambda kind=kind: give(kind.value))


async def _newest(visitor: Visitor, asked: _Asked, refresh: Any) -> None:
    store = await visitor.store(user=asked.user.strip() or None)
    page = await store.list(
        limit=_PAGE,
        cursor=asked.cursors[-1],
        layers=asked.layers or None,
        types=asked.types or None,
        scope=asked.scope.strip() or None,
        include_superseded=asked.superseded,
    )
    if not page:
        with ui.card().classes("card w-full"):
            empty(
                "psychology",
                "No memory fits"
                if asked.layers or asked.types or asked.scope
                else "Nothing is remembered yet",
                then="Store one from a shell, from Python or over HTTP.",
                command='recollect add "Ana prefers the morning for calls"',
            )
        return
    with ui.card().classes("card rows w-full"):
        for memory in page:
            _row(memory)

    def turn(cursor: str | None, *, back: bool = False) -> None:
        if back:
            asked.cursors.pop()
        else:
            asked.cursors.append(cursor)
        refresh()

    with ui.row().classes("w-full justify-end"):
        if len(asked.cursors) > 1:
            ui.button("Newer", icon="chevron_left", on_click=lambda: turn(None, back=True)).props("flat")
        if page.next_cursor:
            ui.button("Older", icon="chevron_right", on_click=lambda: turn(page.next_cursor)).props("flat")


def _row(memory: Memory) -> None:
    with ui.link(target=f"/memories/{memory.id}"):
        ui.label(memory.text).classes("prose line-clamp-3")
        with ui.row().classes("items-center gap-2 q-mt-xs"):
            ui.badge(memory.scope).props("outline")
            ui.badge(memory.type.value).props("outline color=secondary")
            if memory.superseded_at is not None:
                ui.badge("superseded").props("color=warning")
            ui.label(when(memory.created_at)).classes("quiet text-xs")


async def build_one(visitor: Visitor, id: str) -> None:
    """The page of one memory."""
    ui.link("← All memories", "/memories").classes("link")

    @ui.refreshable
    async def shown() -> None:
        try:
            store = await visitor.store()
            memory, history = await store.get(id), await store.history(id)
        except (NotFoundError, InvalidInputError):
            empty("search_off", "There is no such memory", then="It may have been deleted.")
            return
        with ui.card().classes("card w-full"):
            ui.label(memory.text).classes("prose text-lg")
            with ui.row():
                ui.button("Edit", icon="edit", on_click=lambda: _edit(visitor, memory, shown.refresh)).props(
                    "flat"
                )
                if memory.superseded_at is not None:
                    ui.button("Believe again", icon="restore", on_click=lambda: restore()).props("flat")
                ui.button("Delete", icon="delete", on_click=lambda: delete(memory)).props(
                    "flat color=negative"
                )
            fields(_facts(memory))
        with ui.card().classes("card w-full"):
            ui.label("History").classes("font-semibold")
            with ui.timeline(side="right").props("color=primary"):
                for entry in reversed(history):
                    before = dict(entry.before or {})
                    said = "\n".join(f"{name} was: {value}" for name, value in before.items())
                    ui.timeline_entry(
                        said[:2_000],
                        title=entry.event,
                        subtitle=f"{when(entry.at)} by {entry.by or 'nobody'}",
                    ).classes("prose")

    async def restore() -> None:
        await (await visitor.store()).restore(id)
        shown.refresh()

    async def delete(memory: Memory) -> None:
        if await confirmed("Delete this memory for good, with everything made from it?", act="Delete"):
            receipt = await (await visitor.store()).delete(memory.id)
            ui.notify(f"Deleted: {receipt.memories} memory", type="positive")
            ui.navigate.to("/memories")

    await shown()


def _facts(memory: Memory) -> list[tuple[str, object]]:
    return [
        ("Id", memory.id),
        ("Scope", memory.scope),
        ("Type", memory.type.value),
        ("Status", memory.status),
        ("Learned", f"{memory.created_at:%Y-%m-%d %H:%M} UTC"),
        ("True from", memory.valid_from),
        ("True until", memory.valid_to),
        ("Expires", memory.expires_at),
        ("Subject", memory.subject),
        ("Predicate", memory.predicate),
        ("Object", memory.object),
        ("When", memory.trigger),
        ("Do", memory.action),
        ("Mentions", ", ".join((*memory.entities, *memory.mentions))),
        ("Importance", f"{memory.importance:.2f}"),
        ("Used", f"{memory.use_count} times"),
        ("Utility", f"{memory.utility:+.2f}"),
        ("Source", memory.source),
        ("Conversation", memory.conversation),
        ("Speaker", memory.speaker),
        ("Metadata", memory.metadata),
        ("Superseded by", memory.superseded_by),
    ]


async def _edit(visitor: Visitor, memory: Memory, refresh: Any) -> None:
    with ui.dialog() as dialog, ui.card().classes("card w-full"):
        text = ui.textarea("Text", value=memory.text).props("outlined autogrow").classes("w-full")
        ui.label("Importance").classes("quiet text-xs")
        importance = ui.slider(min=0, max=1, step=0.05, value=memory.importance).props("label")
        with ui.row().classes("w-full justify-end"):
            ui.button("Cancel", on_click=lambda: dialog.submit(False)).props("flat")
            ui.button("Save", on_click=lambda: dialog.submit(True)).props("unelevated")
    if await dialog:
        changes: dict[str, Any] = {}
        if text.value != memory.text:
            changes["text"] = text.value
        if abs(importance.value - memory.importance) > 1e-9:
            changes["importance"] = importance.value
        if changes:
            await (await visitor.store()).update(memory.id, **changes)
            ui.notify("Saved", type="positive")
            refresh()
    dialog.delete()

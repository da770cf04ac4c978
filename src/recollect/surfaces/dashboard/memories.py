"""Memories: listed, and searched as an agent would. Every view has its address, to be shared and gone back to."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

from nicegui import ui

from recollect.domain.layers import Layer
from recollect.domain.learning import FeedbackKind
from recollect.domain.memory import MemoryType
from recollect.errors import InvalidInputError
from recollect.surfaces.counts import many
from recollect.surfaces.dashboard import filters
from recollect.surfaces.dashboard.addresses import link
from recollect.surfaces.dashboard.memory import LEAST_SCORE, add, why
from recollect.surfaces.dashboard.selection import Selected, bar, export
from recollect.surfaces.dashboard.widgets import (
    empty,
    nothing,
    question_kind,
    quiet,
    search_field,
    tag,
    when,
)

if TYPE_CHECKING:
    from uuid import UUID

    from recollect.client.async_client import AsyncRecollect
    from recollect.domain.memory import Memory
    from recollect.domain.results import Hit, SearchResults
    from recollect.surfaces.dashboard.visitor import Visitor

_PAGE = 25


@dataclass(frozen=True, slots=True, kw_only=True)
class View(filters.View):
    """What is looked at; with no words, all memories are listed."""

    path: ClassVar[str] = "/memories"

    layers: str = ""
    types: str = ""
    scope: str = ""
    conversation: str = ""
    entity: str = ""
    least: str = ""
    superseded: str = ""
    order: str = ""

    @property
    def threshold(self) -> float:
        """The least score of a hit."""
        try:
            return min(max(float(self.least), 0.0), 1.0) if self.least else LEAST_SCORE
        except ValueError:
            return LEAST_SCORE

    def learned(self) -> dict[str, Any]:
        """The condition on when a memory was learned."""
        begin, end = self.period
        wanted = {sign: moment for sign, moment in (("$gte", begin), ("$lt", end)) if moment}
        return {"created_at": wanted} if wanted else {}

    def conditions(self) -> dict[str, Any]:
        """All of it as `list`, `count` and `export_jsonl` take it."""
        filters = self.learned()
        if self.layers:
            filters["layer"] = {"$in": self.layers.split(",")}
        if self.types:
            filters["type"] = {"$in": self.types.split(",")}
        if self.scope:
            filters["scope"] = self.scope
        return filters | self.about()

    def about(self) -> dict[str, Any]:
        """The conversation and the entity, which no field sets."""
        return {name: value for name in ("conversation", "entity") if (value := getattr(self, name))}


async def build(visitor: Visitor, **given: str) -> None:
    """The page of all memories."""
    view = View(**given)
    await _form(visitor, view)

    @ui.refreshable
    async def results() -> None:
        try:
            store = await visitor.store(user=view.user or None)
            if view.q.strip():
                await _search(visitor, store, view, results.refresh)
            else:
                await _listed(visitor, store, view, results.refresh)
        except InvalidInputError as error:
            empty("filter_alt_off", "That is no way to look at memories", then=str(error))

    await results()


async def _form(visitor: Visitor, view: View) -> None:
    async def export_all() -> None:
        # A search exports what it may find from.
        await export(visitor, view.conditions(), user=view.user or None)

    with ui.card().classes("card w-full gap-2"):
        search_field(
            view.q,
            placeholder="Search as an agent would",
            label="Search memories",
            act="Search",
            go=lambda words: replace(view, q=words, cursor="").address,
        )
        with ui.row().classes("w-full items-center gap-2"):
            opens = filters.button(view)
            for name, value in view.about().items():
                tag(f"{name}: {value}", "tint")
            ui.space()
            ui.button("Export", icon="download", on_click=export_all).props("flat dense")
            ui.button("Add", icon="add", on_click=lambda: add(visitor, user=view.user or None)).props(
                'flat dense color=primary aria-label="Add memory"'
            )
        with filters.panel(view, opens):
            await _filters(visitor, view)


async def _filters(visitor: Visitor, view: View) -> None:
    scopes = await filters.scopes_in_use(visitor)
    places = {str(scope): f"{scope} ({scope.memories:,})" for scope in scopes}
    with filters.fields():
        fields: dict[str, Any] = {
            "layers": filters.several("Layers", [layer.value for layer in Layer], view.layers),
            "types": filters.several("Types", [kind.value for kind in MemoryType], view.types),
            "scope": filters.single("Scope", places, view.scope),
        }
        if visitor.context.is_admin:
            fields["user"] = filters.single("As user", filters.users(scopes), view.user)
        fields["since"] = filters.day("Learned from", view.since)
        fields["until"] = filters.day("Learned until", view.until)
        with ui.column().classes("gap-0"):
            quiet("Least score of a search", "text-xs")
            fields["least"] = ui.slider(min=0, max=1, step=0.05, value=view.threshold).props("label dense")
        fields["superseded"] = ui.checkbox("Replaced ones too", value=bool(view.superseded)).props("dense")
    filters.apply_button(view, fields, least=f"{LEAST_SCORE:g}")


# Lists ---------------------------------------------------------------------------------------------


async def _listed(visitor: Visitor, store: AsyncRecollect, view: View, refresh: Any) -> None:
    wanted, old = view.conditions(), bool(view.superseded)
    order = "oldest" if view.order == "oldest" else "newest"
    page = await store.list(
        limit=_PAGE, cursor=view.cursor or None, filters=wanted, include_superseded=old, order=order
    )
    count = await store.count(filters=wanted, include_superseded=old)
    if not page:
        with ui.card().classes("card w-full"):
            if view.filtered:
                empty("filter_alt_off", "No memory fits these filters", then="Clear one of them to see more.")
            else:
                empty(
                    "psychology",
                    "Nothing is remembered yet",
                    then="Add the first one above, from a shell, from Python or over HTTP.",
                    command='recollect add "Ana prefers the morning for calls"',
                )
        return
    selected = Selected()
    with bar(visitor, selected, page.items, counted=many(count), user=view.user or None, refresh=refresh):
        ui.select(
            {"newest": "Newest first", "oldest": "Oldest first"},
            value=order,
            on_change=lambda event: ui.navigate.to(
                replace(view, order="" if event.value == "newest" else event.value, cursor="").address
            ),
        ).props('borderless options-dense aria-label="Order"', remove="outlined")
    with ui.card().classes("card rows w-full"):
        for memory in page:
            with _item(memory.id, selected), ui.link(target=_one_address(memory.id, view)):
                _text(memory)
    with ui.row().classes("w-full justify-end"):
        if view.cursor:
            ui.link("First page", replace(view, cursor="").address).classes("link")
        if page.next_cursor:
            ui.link("Next page →", replace(view, cursor=page.next_cursor).address).classes("link")


def _one_address(id: UUID, view: View) -> str:
    return link(f"{View.path}/{id}", q=view.q, user=view.user)


def _item(id: UUID, selected: Selected) -> Any:
    row = ui.element("div").classes("item")
    with row:
        box = ui.checkbox(value=False).props('dense size=xs aria-label="Select"').classes("q-mt-xs")
        box.on_value_change(lambda event: selected.set(id, event.value))
        selected.boxes.append(box)
    return row


def _text(memory: Memory | Hit, *, outdated: bool = False) -> None:
    gone = outdated or getattr(memory, "superseded_at", None) is not None
    words = f"{memory.speaker}: {memory.text}" if memory.speaker else memory.text
    ui.label(words).classes("prose line-clamp-3" + (" gone" if gone else ""))
    with ui.element("div").classes("meta"):
        if gone:
            tag("outdated" if outdated else "replaced", "warn")
        tag(memory.scope)
        tag(memory.type.value)
        ui.label(when(memory.created_at))


# Searches ------------------------------------------------------------------------------------------


async def _search(visitor: Visitor, store: AsyncRecollect, view: View, refresh: Any) -> None:
    results = await store.search(
        view.q,
        limit=_PAGE,
        threshold=view.threshold,
        layers=view.layers.split(",") if view.layers else None,
        types=view.types.split(",") if view.types else None,
        scope=view.scope or None,
        filters={**view.learned(), **view.about()} or None,
        explain=True,
    )
    understood = await store.explain(view.q)
    selected = Selected()
    counted = f"{len(results)} found in {results.timings_ms.get('total', 0):.0f} ms"
    with bar(visitor, selected, results.hits, counted=counted, user=view.user or None, refresh=refresh):
        tag(f"read as {question_kind(understood.type.category)}")
        ui.link("Ask for an answer →", link("/ask", q=view.q)).classes("link text-sm")
    for note in results.notes:
        ui.label(note).classes("tag warn")
    if not results:
        nothing(
            "search_off",
            "Nothing remembered answers this",
            then="That is an answer, too. A lower least score, under Filters, also shows what is only near.",
        )
        return
    with ui.card().classes("card rows w-full"):
        for hit in results:
            _hit(visitor, hit, results, view, selected)


def _hit(visitor: Visitor, hit: Hit, results: SearchResults, view: View, selected: Selected) -> None:
    with _item(hit.id, selected), ui.column().classes("grow gap-1 min-w-0"):
        with ui.row().classes("w-full items-start no-wrap gap-2"):
            with ui.link(target=_one_address(hit.id, view)).classes("grow min-w-0 no-underline") as text:
                text.style("color: inherit")
                _text(hit, outdated=hit.outdated)
            ui.label(f"{hit.score:.2f}").classes("tag tint").tooltip("how likely it answers")
            _feedback(visitor, hit.id, results.query_id, view.user or None)
        if hit.explanation is not None:
            with ui.expansion("Why").props("dense").classes("w-full quiet text-sm"):
                why(hit.explanation, hit.score)


def _feedback(visitor: Visitor, memory: UUID, query: UUID, user: str | None) -> None:
    async def give(kind: str) -> None:
        await (await visitor.store(user=user)).feedback(memory, kind, query_id=query)
        ui.notify(f"Noted: {kind}", type="positive")

    with (
        ui.button(icon="thumbs_up_down").props(
            'flat round dense size=sm color=grey aria-label="Say what it was worth"'
        ),
        ui.menu(),
    ):
        for kind in FeedbackKind:
            ui.menu_item(kind.value, on_click=lambda kind=kind: give(kind.value))

"""Memories: listed, and searched as an agent would. Every view has its address, to be shared and gone back to."""

from __future__ import annotations

import io
from dataclasses import asdict, dataclass, replace
from datetime import date, timedelta
from typing import TYPE_CHECKING, Any

from nicegui import ui

from recollect.domain.layers import Layer
from recollect.domain.learning import FeedbackKind
from recollect.domain.memory import MemoryType
from recollect.errors import InvalidInputError, RecollectError
from recollect.surfaces.dashboard.addresses import link
from recollect.surfaces.dashboard.memory import add, why
from recollect.surfaces.dashboard.selection import Selected, actions, many
from recollect.surfaces.dashboard.widgets import empty, question_kind, tag, when

if TYPE_CHECKING:
    from uuid import UUID

    from recollect.client.async_client import AsyncRecollect
    from recollect.domain.memory import Memory
    from recollect.domain.results import Hit, SearchResults
    from recollect.surfaces.dashboard.visitor import Visitor

PATH = "/memories"
_PAGE = 25
#: More can't be chosen from, only typed.
_MOST_SCOPES = 500
_LEAST = 0.7


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """What is looked at, as the address says it; with no words, all memories are listed."""

    q: str = ""
    layers: str = ""
    types: str = ""
    scope: str = ""
    user: str = ""
    since: str = ""
    until: str = ""
    conversation: str = ""
    least: str = ""
    superseded: str = ""
    order: str = ""
    cursor: str = ""

    @property
    def address(self) -> str:
        """Where it is shown."""
        return link(PATH, **asdict(self))

    @property
    def filtered(self) -> int:
        """How many filters are set."""
        names = (
            "layers",
            "types",
            "scope",
            "user",
            "since",
            "until",
            "conversation",
            "least",
            "superseded",
        )
        return sum(bool(getattr(self, name)) for name in names)

    @property
    def threshold(self) -> float:
        """The least score of a hit."""
        try:
            return min(max(float(self.least), 0.0), 1.0) if self.least else _LEAST
        except ValueError:
            return _LEAST

    def period(self) -> dict[str, Any]:
        """The condition on when a memory was learned; the last day is meant as a whole."""
        wanted: dict[str, Any] = {}
        if self.since:
            wanted["$gte"] = f"{_day(self.since)}T00:00:00Z"
        if self.until:
            wanted["$lt"] = f"{_day(self.until) + timedelta(days=1)}T00:00:00Z"
        return {"created_at": wanted} if wanted else {}

    def filters(self) -> dict[str, Any]:
        """All of it as `list`, `count` and `export_jsonl` take it."""
        found = self.period()
        if self.layers:
            found["layer"] = {"$in": self.layers.split(",")}
        if self.types:
            found["type"] = {"$in": self.types.split(",")}
        if self.scope:
            found["scope"] = self.scope
        if self.conversation:
            found["conversation"] = self.conversation
        return found


TAKES = tuple(View.__dataclass_fields__)


def _day(text: str) -> date:
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise InvalidInputError(f"{text!r} is no day; write it like 2026-05-31") from None


async def build(visitor: Visitor, **given: str) -> None:
    """The page of all memories."""
    view = View(**given)
    selected = Selected()
    await _form(visitor, view)
    try:
        store = await visitor.store(user=view.user or None)
        if view.q.strip():
            await _search(visitor, store, view, selected)
        else:
            await _listed(visitor, store, view, selected)
    except InvalidInputError as error:
        empty("filter_alt_off", "That is no way to look at memories", then=str(error))


async def _form(visitor: Visitor, view: View) -> None:
    async def search() -> None:
        ui.navigate.to(replace(view, q=(words.value or "").strip(), cursor="").address)

    with ui.card().classes("card w-full gap-2"):
        with ui.row().classes("w-full items-center no-wrap gap-2"):
            words = ui.input(placeholder="Search as an agent would", value=view.q).classes("grow")
            words.props('outlined dense clearable data-search aria-label="Search memories"')
            with words.add_slot("append"):
                ui.element("kbd").classes("wide-only").props('innerHTML="/"')
            words.on("keydown.enter", search).on("clear", search)
            ui.button("Search", icon="search", on_click=search).props("unelevated no-wrap")
        with ui.row().classes("w-full items-center gap-2"):
            shown = ui.button("Filters", icon="tune").props("flat dense")
            if view.filtered:
                tag(f"{view.filtered} set", "tint")
                ui.link("Clear", View(q=view.q).address).classes("link text-sm")
            ui.space()
            ui.button("Export", icon="download", on_click=lambda: _export(visitor, view)).props("flat dense")
            ui.button("Add memory", icon="add", on_click=lambda: add(visitor, user=view.user or None)).props(
                "flat dense color=primary"
            )
        panel = ui.element("div").classes("w-full")
        panel.set_visibility(bool(view.filtered))
        shown.on_click(lambda: panel.set_visibility(not panel.visible))
        with panel:
            await _filters(visitor, view)


async def _filters(visitor: Visitor, view: View) -> None:
    scopes = [one for one in await (await visitor.store()).scopes.list() if one.memories][:_MOST_SCOPES]
    places = {str(scope): f"{scope} ({scope.memories:,})" for scope in scopes}
    people = {scope.name: scope.name for scope in scopes if scope.layer is Layer.USER}
    with ui.element("div").classes("grid w-full gap-3 grid-cols-1 sm:grid-cols-2 lg:grid-cols-4"):
        layers = _several("Layers", [layer.value for layer in Layer], view.layers)
        types = _several("Types", [kind.value for kind in MemoryType], view.types)
        scope = _one("Scope", places, view.scope)
        user = _one("As user", people, view.user) if visitor.context.is_admin else None
        since = ui.input("Learned from", value=view.since).props("outlined dense stack-label type=date")
        until = ui.input("Learned until", value=view.until).props("outlined dense stack-label type=date")
        with ui.column().classes("gap-0"):
            ui.label("Least score of a search").classes("quiet text-xs")
            least = ui.slider(min=0, max=1, step=0.05, value=view.threshold).props("label dense")
        old = ui.checkbox("Replaced ones too", value=bool(view.superseded)).props("dense")

    def apply() -> None:
        wanted = replace(
            view,
            layers=",".join(layers.value or ()),
            types=",".join(types.value or ()),
            scope=scope.value or "",
            user=(user.value or "") if user is not None else "",
            since=since.value or "",
            until=until.value or "",
            least="" if abs(least.value - _LEAST) < 0.001 else f"{least.value:g}",
            superseded="1" if old.value else "",
            cursor="",
        )
        ui.navigate.to(wanted.address)

    with ui.row().classes("w-full justify-end q-mt-sm"):
        ui.button("Apply", on_click=apply).props("outline")


def _several(label: str, choices: list[str], chosen: str) -> ui.select:
    value = [one for one in chosen.split(",") if one in choices]
    return ui.select(choices, label=label, multiple=True, value=value).props("outlined dense use-chips")


def _one(label: str, choices: dict[str, str], chosen: str) -> ui.select:
    if chosen:
        choices.setdefault(chosen, chosen)
    found = ui.select(choices, label=label, value=chosen or None, with_input=True, clearable=True)
    return found.props("outlined dense")


# Lists ---------------------------------------------------------------------------------------------


async def _listed(visitor: Visitor, store: AsyncRecollect, view: View, selected: Selected) -> None:
    filters, old = view.filters(), bool(view.superseded)
    order = "oldest" if view.order == "oldest" else "newest"
    page = await store.list(
        limit=_PAGE, cursor=view.cursor or None, filters=filters, include_superseded=old, order=order
    )
    count = await store.count(filters=filters, include_superseded=old)
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
    with ui.row().classes("w-full items-center gap-2"):
        ui.label(f"{count:,} {'memory' if count == 1 else 'memories'}").classes("quiet")
        ui.space()
        ui.select(
            {"newest": "Newest first", "oldest": "Oldest first"},
            value=order,
            on_change=lambda event: ui.navigate.to(
                replace(view, order="" if event.value == "newest" else event.value, cursor="").address
            ),
        ).props('outlined dense options-dense aria-label="Order"')
    actions(visitor, selected, page.items, user=view.user or None)
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
    return link(f"{PATH}/{id}", q=view.q, user=view.user)


def _item(id: UUID, selected: Selected) -> Any:
    row = ui.element("div").classes("item")
    with row:
        box = ui.checkbox(value=False).props('dense size=xs aria-label="Select"').classes("q-mt-xs")
        box.on_value_change(lambda event: selected.set(id, event.value))
        selected.boxes.append(box)
    return row


def _text(memory: Memory | Hit, *, outdated: bool = False) -> None:
    gone = outdated or getattr(memory, "superseded_at", None) is not None
    said = f"{memory.speaker}: {memory.text}" if memory.speaker else memory.text
    ui.label(said).classes("prose line-clamp-3" + (" gone" if gone else ""))
    with ui.element("div").classes("meta"):
        if gone:
            tag("outdated" if outdated else "replaced", "warn")
        tag(memory.scope)
        tag(memory.type.value)
        ui.label(when(memory.created_at))


# Searches ------------------------------------------------------------------------------------------


async def _search(visitor: Visitor, store: AsyncRecollect, view: View, selected: Selected) -> None:
    period, conversation = view.period(), view.conversation
    results = await store.search(
        view.q,
        limit=_PAGE,
        threshold=view.threshold,
        layers=view.layers.split(",") if view.layers else None,
        types=view.types.split(",") if view.types else None,
        scope=view.scope or None,
        filters={**period, **({"conversation": conversation} if conversation else {})} or None,
        explain=True,
    )
    understood = await store.explain(view.q)
    with ui.row().classes("items-center gap-2 w-full"):
        ui.label(f"{len(results)} found in {results.timings_ms.get('total', 0):.0f} ms").classes("quiet")
        tag(f"read as {question_kind(understood.type.category)}")
        ui.space()
        ui.link("Ask for an answer →", link("/ask", q=view.q)).classes("link text-sm")
    for note in results.notes:
        ui.label(note).classes("tag warn")
    if not results:
        with ui.card().classes("card w-full"):
            empty(
                "search_off",
                "Nothing remembered answers this",
                then="That is an answer, too. A lower least score, under Filters, also shows what is only near.",
            )
        return
    actions(visitor, selected, results.hits, user=view.user or None)
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


async def _export(visitor: Visitor, view: View) -> None:
    """What is looked at, as the lines that `recollect import` reads; a search exports what it may find from."""
    target = io.StringIO()
    try:
        count = await (await visitor.store(user=view.user or None)).export_jsonl(
            target, filters=view.filters() or None
        )
    except RecollectError as error:
        ui.notify(str(error), type="negative")
        return
    ui.download.content(target.getvalue().encode(), "memories.jsonl")
    ui.notify(f"Exported {many(range(count))}", type="positive")

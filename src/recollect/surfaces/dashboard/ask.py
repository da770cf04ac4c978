"""Ask: one answer in words from memories, documents and code, at an address of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nicegui import background_tasks, ui

from recollect.domain.findings import AnswerPart
from recollect.errors import RecollectError
from recollect.surfaces.dashboard import citations
from recollect.surfaces.dashboard.addresses import link
from recollect.surfaces.dashboard.widgets import empty, fields, nothing, quiet, tag

if TYPE_CHECKING:
    from recollect.domain.findings import Answer
    from recollect.surfaces.dashboard.visitor import Visitor

PATH = "/ask"
_SOURCES = {"memories": "Memories", "library": "Documents"}


async def build(visitor: Visitor, q: str = "", sources: str = "", user: str = "") -> None:
    """The page: a question, and its answer once it is asked."""
    chosen = [name for name in sources.split(",") if name in _SOURCES] or list(_SOURCES)

    def ask() -> None:
        wanted = ",".join(where.value or ())
        everything = set(where.value or ()) in (set(), set(_SOURCES))
        ui.navigate.to(
            link(PATH, q=(words.value or "").strip(), sources="" if everything else wanted, user=user)
        )

    with ui.card().classes("card w-full gap-2"):
        words = ui.textarea(placeholder="Ask in your own words", value=q).classes("w-full")
        words.props('outlined autogrow rows=2 data-search aria-label="Your question"')
        words.on("keydown.enter.exact.prevent", ask)
        with ui.row().classes("w-full items-center gap-3"):
            where = ui.select(_SOURCES, label="From", multiple=True, value=chosen).props("use-chips")
            where.classes("min-w-52")
            ui.space()
            ui.button("Ask", icon="send", on_click=ask).props("unelevated")
    if not q.strip():
        nothing(
            "auto_awesome",
            "An answer in words, with its sources",
            then="Lists come as lists, comparisons as tables. What nobody told is said to be not known.",
            command='recollect ask "Who gets the next engineer?"',
        )
        return
    page = ui.context.client
    place = ui.column().classes("w-full gap-4")
    with place:
        parts = ui.column().classes("w-full gap-4")
        with ui.card().classes("card w-full"), ui.row().classes("items-center gap-3"):
            ui.spinner(size="md")
            quiet("Looking it up", "")
    store = await visitor.store(user=user or None)

    def hear(event: object) -> None:
        if isinstance(event, AnswerPart):
            with page, parts:
                _part(event)

    async def answer() -> None:
        try:
            outcome: Answer | RecollectError = await store.ask(q, chosen, on_event=hear)
        except RecollectError as error:
            outcome = error
        with page, place:
            place.clear()
            if isinstance(outcome, RecollectError):
                empty("error", "That could not be answered", then=str(outcome))
            else:
                await _answer(visitor, outcome)

    task = background_tasks.create(answer(), name="an answer", context=page)
    page.on_delete(task.cancel)


def _part(part: AnswerPart) -> None:
    """What one source has answered, while others are still asked; its sources are listed when all have been."""
    with ui.card().classes("card w-full gap-3"):
        with ui.element("div").classes("meta"):
            tag(f"from {part.source}", "good")
        citations.answer(part.text, (), None)


async def _answer(visitor: Visitor, result: Answer) -> None:
    with ui.card().classes("card w-full gap-3"):
        with ui.element("div").classes("meta"):
            if result.found:
                for source in result.sources:
                    tag(f"from {source}", "good")
            else:
                tag("not known", "warn")
            if result.cost_usd:
                ui.label(f"${result.cost_usd:.4f}")
        spot = ui.element("div").classes("w-full")
        show = None
        if result.citations:
            ui.separator()
            show = await citations.sources(visitor, result.citations)
        with spot:
            citations.answer(result.text, result.citations, show)
        for note in result.notes:
            quiet(note, "text-sm prose")
    if not result.found:
        quiet("Nothing that you may see answers this. Add what is missing, or search for what is near.", "")
        ui.link("Search the memories", link("/memories", q=result.question, least="0.2")).classes("link")
    with ui.expansion("What was looked at", icon="fact_check").classes("card w-full").props("dense"):
        fields([(name.capitalize(), dict(covered)) for name, covered in result.coverage.items()])

"""An answer with marks such as [1] that can be clicked, and the lines that each stands for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from nicegui import ui

from recollect.domain.findings import CitationStatus
from recollect.errors import NotFoundError
from recollect.surfaces.dashboard.markdown import markdown
from recollect.surfaces.dashboard.sources import Passage, in_document, quoted
from recollect.surfaces.dashboard.widgets import lines, tag

if TYPE_CHECKING:
    from recollect.domain.findings import Citation
    from recollect.surfaces.dashboard.visitor import Visitor

#: That lines stand where they are cited says nothing about whether they answer.
_TONES = {
    CitationStatus.QUOTED: "",
    CitationStatus.MOVED: "warn",
    CitationStatus.STALE: "bad",
    CitationStatus.UNSUPPORTED: "bad",
    CitationStatus.UNCHECKED: "",
}


def answer(text: str, citations: Sequence[Citation], show: Callable[[int], Any] | None) -> None:
    """The answer in Markdown; each of its marks calls `show` with its number, from 1."""
    markdown(text, sources=len(citations), show=show)


async def sources(visitor: Visitor, citations: Sequence[Citation]) -> Callable[[int], Any]:
    """The list of sources, and beneath it the lines of the one that was clicked; returns what shows one."""

    @ui.refreshable
    async def opened(number: int = 0) -> None:
        if number:
            await _source(visitor, citations[number - 1], number)

    async def show(number: int) -> None:
        await opened.refresh(number)

    with ui.column().classes("w-full gap-1"):
        for number, citation in enumerate(citations, start=1):
            with ui.row().classes("items-center gap-2 no-wrap w-full"):
                ui.button(f"[{number}]", on_click=lambda number=number: show(number)).props(
                    f'flat dense no-caps aria-label="Show source {number}"'
                )
                tag(citation.standing, "good" if citation.standing == "supports" else _TONES[citation.status])
                ui.label(_place(citation)).classes("text-sm ellipsis")
    await opened()
    return show


async def _source(visitor: Visitor, cited: Citation, number: int) -> None:
    with ui.card().classes("card w-full source"):
        with ui.row().classes("w-full items-center no-wrap"):
            ui.label(f"[{number}] {_place(cited)}").classes("font-semibold ellipsis")
            ui.space()
            if cited.kind == "document":
                ui.link(
                    "Whole document", f"/library/{quote(cited.file_path)}?line={cited.line_start}"
                ).classes("link wide-only")
            elif cited.kind == "memory":
                ui.link("The memory", f"/memories/{cited.file_path}").classes("link wide-only")
        span = await _passage(visitor, cited)
        if span.note:
            ui.label(span.note).classes("text-warning text-sm")
        lines(span.text, first=span.first, cited=span.cited)


async def _passage(visitor: Visitor, cited: Citation) -> Passage:
    """The cited lines as they are now, or as they were quoted where they can't be read again."""
    if cited.kind == "document":
        try:
            return in_document(await (await visitor.store()).library.text(cited.file_path), cited)
        except NotFoundError:
            return quoted(cited, "The document is gone; this is what was quoted.")
    return quoted(cited)


def _place(cited: Citation) -> str:
    if cited.kind == "memory":
        return cited.quote or cited.file_path
    where = "" if not cited.line_start else f" lines {cited.line_start}–{cited.line_end}"
    pages = "" if cited.pages is None else f", pages {cited.pages[0]}–{cited.pages[1]}"
    return f"{cited.file_path}{where}{pages}"

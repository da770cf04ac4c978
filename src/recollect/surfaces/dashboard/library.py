"""The library: its documents, their sections as a tree, their text, and a place to drop new ones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from nicegui import ui

from recollect.errors import InvalidInputError, NotFoundError, RecollectError
from recollect.library.reading.sections import DEFAULT_LIMITS
from recollect.surfaces.counts import many
from recollect.surfaces.dashboard.addresses import link
from recollect.surfaces.dashboard.widgets import (
    card,
    confirmed,
    empty,
    fields,
    lines,
    nothing,
    quiet,
    search_field,
    tag,
    when,
)

if TYPE_CHECKING:
    from nicegui.events import UploadEventArguments, ValueChangeEventArguments

    from recollect.domain.library import Document, Section, SectionHit
    from recollect.surfaces.dashboard.visitor import Visitor

_MOST = 200
#: Of one section; a longer one says that it goes on.
_SHOWN_LINES = 400
#: Of a longer document one opens what one wants to see.
_OPEN_SECTIONS = 80
_STATES = {"ready": "good", "indexing": "warn", "failed": "bad"}


async def build(visitor: Visitor, q: str = "") -> None:
    """The page of all documents."""
    with card():
        title = "Search the documents"
        search_field(
            q, placeholder=title, label=title, act="Search", go=lambda words: link("/library", q=words)
        )
        await _upload(visitor, lambda: results.refresh())

    @ui.refreshable
    async def results() -> None:
        if q.strip():
            await _search(visitor, q)
        else:
            await _documents(visitor)

    await results()


async def _upload(visitor: Visitor, refresh: Any) -> None:
    limit = DEFAULT_LIMITS.max_file_bytes
    with ui.expansion("Add documents", icon="upload_file").classes("w-full").props("dense"):
        bar = ui.linear_progress(value=0, show_value=False).props("instant-feedback").classes("w-full")
        status = quiet("")
        bar.visible = False

        async def take(event: UploadEventArguments) -> None:
            bar.visible, bar.value = True, 0

            def progress(done: int, total: int | None) -> None:
                bar.value = done / total if total else 0
                status.text = f"{event.file.name}: {done} of {total or '?'} sections"

            try:
                store = await visitor.store()
                report = await store.library.add(
                    await event.file.read(), name=event.file.name, progress=progress
                )
            except RecollectError as error:
                status.text = f"{event.file.name}: {error}"
                raise
            finally:
                bar.visible = False
            status.text = (
                f"{report.document.name}: {report.outcome}, {many(report.document.sections, 'section')}"
            )
            refresh()

        ui.upload(
            label="Drop files here, or choose some",
            multiple=True,
            auto_upload=True,
            max_file_size=limit,
            on_upload=take,
            on_rejected=lambda: ui.notify(f"A file may have {limit:,} bytes", type="negative"),
        ).props("flat bordered").classes("w-full")


async def _documents(visitor: Visitor) -> None:
    documents = await (await visitor.store()).library.list(limit=_MOST)
    if not documents:
        nothing(
            "library_books",
            "No documents yet",
            then="Drop a manual, a PDF or notes above, or add a whole folder from a shell.",
            command="recollect library add docs/",
        )
        return
    with ui.card().classes("card rows w-full"):
        for document in documents:
            _row(document)
    if len(documents) == _MOST:
        quiet(f"The first {_MOST}, by name; search for the others.", "")


def _row(document: Document) -> None:
    with ui.link(target=f"/library/{document.id}"):
        with ui.row().classes("items-center gap-2"):
            ui.label(document.title or document.name).classes("title")
            if document.state != "ready":
                tag(document.state, _STATES.get(document.state, ""))
            for word in document.tags:
                tag(word)
        summary = f"{document.name} · {document.kind} · {many(document.sections, 'section')} · {document.lines:,} lines"
        quiet(f"{summary} · {document.scope} · {when(document.updated_at)}", "text-sm prose")


async def _search(visitor: Visitor, query: str) -> None:
    sections = await (await visitor.store()).library.search(query)
    if not sections.answered:
        quiet("The documents don't seem to say; what is nearest:", "")
    for note in sections.notes:
        ui.label(note).classes("text-warning")
    if not sections:
        nothing("search_off", "Nothing is near to this in the documents")
    for hit in sections:
        _hit(hit)


def _hit(hit: SectionHit) -> None:
    with ui.card().classes("card w-full gap-2"):
        with ui.row().classes("items-center gap-2"):
            tag(f"{hit.score:.2f}", "tint")
            if hit.citation.supports:
                tag("supports", "good")
            address = f"/library/{quote(hit.document)}?line={hit.lines[0]}"
            ui.link(f"{hit.document} · {hit.path}", address).classes("link prose")
        lines(hit.quote, first=hit.lines[0], cited=hit.lines)


async def build_one(visitor: Visitor, id: str, line: str = "") -> None:
    """The page of one document."""
    ui.link("← All documents", "/library").classes("link")
    try:
        library = (await visitor.store()).library
        document = await library.get(id)
        sections = await library.sections(document.id)
    except (NotFoundError, InvalidInputError):
        empty("search_off", "There is no such document", then="It may have been removed.")
        return

    async def remove() -> None:
        if await confirmed(f"Remove {document.name!r} with everything made from it?", act="Remove"):
            await (await visitor.store()).library.remove(document.id)
            ui.navigate.to("/library")

    with ui.card().classes("card w-full"):
        with ui.row().classes("w-full items-center"):
            ui.label(document.title or document.name).classes("text-lg font-semibold prose")
            tag(document.state, _STATES.get(document.state, ""))
            ui.space()
            ui.button("Remove", icon="delete", on_click=remove).props("flat color=negative")
        fields(
            [
                ("Called", document.name),
                ("Id", document.id),
                ("Kind", document.kind),
                ("Scope", document.scope),
                ("From", document.source),
                (
                    "Size",
                    f"{document.lines:,} lines, {document.tokens:,} tokens, {many(document.sections, 'section')}",
                ),
                ("Added", f"{when(document.created_at)} by {document.by or 'nobody'}"),
                ("Trouble", document.error),
                ("Notes", "\n".join(document.notes)),
                ("Gaps", len(document.gaps) or None),
            ]
        )

    @ui.refreshable
    async def text(number: int | None = None) -> None:
        await _section(visitor, document, sections, number, cited=at)

    def selected(event: ValueChangeEventArguments[Any]) -> None:
        if event.value is not None:
            text.refresh(int(event.value))

    at = int(line) if line.isdigit() else 0
    around = (section.number for section in sections if section.line_start <= at <= section.line_end)
    begin = next(around, None) if at else (0 if sections else None)
    with ui.row().classes("w-full gap-4 items-start"):
        with ui.card().classes("card basis-72 grow max-h-96 overflow-auto").style("max-height: 70vh"):
            ui.label("Sections").classes("title")
            tree = ui.tree(_tree(sections), on_select=selected)
            tree.classes("w-full").props("dense no-selection-unset")
            if len(sections) <= _OPEN_SECTIONS:
                tree.expand()
        with ui.card().classes("card grow").style("flex-basis: 480px; max-width: 100%"):
            await text(begin)


def _tree(sections: Sequence[Section]) -> list[dict[str, Any]]:
    """Sections as nested nodes."""
    nodes = {
        section.number: {"id": str(section.number), "label": section.heading or section.path, "children": []}
        for section in sections
    }
    top: list[dict[str, Any]] = []
    for section in sections:
        into = nodes[section.parent]["children"] if section.parent is not None else top
        assert isinstance(into, list)
        into.append(nodes[section.number])
    return top


async def _section(
    visitor: Visitor, document: Document, sections: Sequence[Section], number: int | None, *, cited: int
) -> None:
    chosen = next((section for section in sections if section.number == number), None)
    if chosen is None:
        empty("article", "Choose a section to read it")
        return
    last = min(chosen.line_end, chosen.line_start + _SHOWN_LINES - 1)
    read = await (await visitor.store()).library.text(
        document.id, line_start=chosen.line_start, line_end=last
    )
    ui.label(chosen.path).classes("font-semibold prose")
    lines(read, first=chosen.line_start, cited=(cited, cited))
    if last < chosen.line_end:
        quiet(f"It goes on to line {chosen.line_end:,}.", "")

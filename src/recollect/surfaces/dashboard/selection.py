"""Memories that are ticked on a list, and what can be done with several of them at once."""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from nicegui import ui

from recollect.errors import RecollectError
from recollect.surfaces.counts import many
from recollect.surfaces.dashboard.widgets import confirmed, quiet

if TYPE_CHECKING:
    from uuid import UUID

    from recollect.domain.memory import Memory
    from recollect.domain.results import Hit
    from recollect.surfaces.dashboard.visitor import Visitor


class Selected:
    """The memories that are ticked, and what hears when that changes."""

    def __init__(self) -> None:
        self.ids: set[UUID] = set()
        self.boxes: list[ui.checkbox] = []
        self.changed: Callable[[], None] = lambda: None

    def set(self, id: UUID, on: bool) -> None:
        """Tick one, or not."""
        self.ids.add(id) if on else self.ids.discard(id)
        self.changed()

    def all(self, on: bool) -> None:
        """Tick all of the page, or none."""
        for box in self.boxes:
            box.set_value(on)

    @property
    def condition(self) -> dict[str, Any]:
        """Those that are ticked, as a filter."""
        return {"id": {"$in": [str(id) for id in sorted(self.ids)]}}


def bar(
    visitor: Visitor,
    selected: Selected,
    memories: Sequence[Memory | Hit],
    *,
    counted: str,
    user: str | None,
    refresh: Callable[[], Any],
) -> ui.row:
    """How many there are, and what to do with those that are ticked; stays in sight."""
    retired = {memory.id for memory in memories if getattr(memory, "superseded_at", None) is not None}

    async def delete() -> None:
        question = f"Delete {many(len(selected.ids))} for good, with everything made from them?"
        if await confirmed(question, act="Delete"):
            receipt = await (await visitor.store(user=user)).delete(filters=selected.condition)
            ui.notify(f"Deleted {many(receipt.memories)}; receipt {receipt.id}", type="positive")
            await refresh()

    async def restore() -> None:
        store = await visitor.store(user=user)
        wanted = sorted(selected.ids & retired)
        for id in wanted:
            await store.restore(id)
        ui.notify(f"Restored {many(len(wanted))}", type="positive")
        await refresh()

    with ui.row().classes("w-full items-center gap-2 card bar") as row:
        every = ui.checkbox(value=False, on_change=lambda event: selected.all(event.value))
        every.props('dense size=xs aria-label="Select all"')
        every.set_visibility(bool(memories))
        count = quiet("", "")
        with ui.row().classes("items-center gap-1") as actions:
            back = ui.button("Restore", icon="restore", on_click=restore).props("flat dense")
            ui.button(
                "Export selected",
                icon="download",
                on_click=lambda: export(visitor, selected.condition, user=user),
            ).props("flat dense")
            ui.button("Delete selected", icon="delete", on_click=delete).props("flat dense color=negative")
        ui.space()

    def changed() -> None:
        actions.set_visibility(bool(selected.ids))
        back.set_visibility(bool(selected.ids & retired))
        count.set_text(f"{len(selected.ids)} selected" if selected.ids else counted)

    selected.changed = changed
    changed()
    return row


async def export(visitor: Visitor, condition: Mapping[str, Any], *, user: str | None) -> None:
    """Send the memories that meet a condition to the browser, as the lines that `recollect import` reads."""
    target = io.StringIO()
    try:
        count = await (await visitor.store(user=user)).export_jsonl(target, filters=condition or None)
    except RecollectError as error:
        ui.notify(str(error), type="negative")
        return
    ui.download.content(target.getvalue().encode(), "memories.jsonl")
    ui.notify(f"Exported {many(count)}", type="positive")

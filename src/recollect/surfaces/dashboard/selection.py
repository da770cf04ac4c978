"""Memories that are ticked on a list, and what can be done with several of them at once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from nicegui import ui

from recollect.surfaces.dashboard.widgets import confirmed

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


def actions(visitor: Visitor, selected: Selected, shown: Sequence[Memory | Hit], *, user: str | None) -> None:
    """What to do with those that are ticked; seen once one is."""
    retired = {one.id for one in shown if getattr(one, "superseded_at", None) is not None}

    async def delete() -> None:
        ids = sorted(selected.ids)
        if await confirmed(f"Delete {many(ids)} for good, with everything made from them?", act="Delete"):
            receipt = await (await visitor.store(user=user)).delete(
                filters={"id": {"$in": [str(id) for id in ids]}}
            )
            ui.notify(f"Deleted {many(range(receipt.memories))}; receipt {receipt.id}", type="positive")
            ui.navigate.reload()

    async def restore() -> None:
        store = await visitor.store(user=user)
        for id in sorted(selected.ids & retired):
            await store.restore(id)
        ui.navigate.reload()

    with ui.row().classes("w-full items-center gap-2 card q-py-xs") as bar:
        ui.checkbox(value=False, on_change=lambda event: selected.all(event.value)).props(
            'dense size=xs aria-label="Select all"'
        )
        said = ui.label().classes("font-medium")
        ui.space()
        back = ui.button("Restore", icon="restore", on_click=restore).props("flat dense")
        ui.button("Delete selected", icon="delete", on_click=delete).props("flat dense color=negative")

    def changed() -> None:
        bar.set_visibility(bool(selected.ids))
        back.set_visibility(bool(selected.ids & retired))
        said.set_text(f"{len(selected.ids)} selected")

    selected.changed = changed
    changed()


def many(ids: Iterable[Any]) -> str:
    """How many memories, in words."""
    count = len(list(ids))
    return f"{count:,} {'memory' if count == 1 else 'memories'}"

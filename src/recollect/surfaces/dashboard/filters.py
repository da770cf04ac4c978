"""What narrows a list down: the filters that stand in a page's address, and the fields that set them."""

from __future__ import annotations

import dataclasses
from dataclasses import asdict, dataclass, replace
from datetime import date, timedelta
from typing import TYPE_CHECKING, Any, ClassVar

from nicegui import ui

from recollect.domain.layers import Layer
from recollect.errors import InvalidInputError
from recollect.surfaces.dashboard.addresses import link
from recollect.surfaces.dashboard.widgets import tag

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from recollect.domain.results import Scope
    from recollect.surfaces.dashboard.visitor import Visitor

#: More can't be chosen from, only typed.
_MOST_SCOPES = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """What is looked at, as the address says it; a page's own view has a field for each part of its address."""

    path: ClassVar[str]
    #: Parts of the address that leave nothing out.
    plain: ClassVar[frozenset[str]] = frozenset({"q", "order", "cursor"})

    q: str = ""
    user: str = ""
    since: str = ""
    until: str = ""
    cursor: str = ""

    @classmethod
    def parts(cls) -> tuple[str, ...]:
        """What a page with this view takes from its address."""
        return tuple(field.name for field in dataclasses.fields(cls))

    @property
    def address(self) -> str:
        """Where it is shown."""
        return link(self.path, **asdict(self))

    @property
    def filtered(self) -> int:
        """How many filters are set."""
        return sum(bool(value) for name, value in asdict(self).items() if name not in self.plain)

    @property
    def period(self) -> tuple[str | None, str | None]:
        """The first moment and the first one after it; the last day is meant as a whole."""
        return (
            f"{_day(self.since)}T00:00:00Z" if self.since else None,
            f"{_day(self.until) + timedelta(days=1)}T00:00:00Z" if self.until else None,
        )


def _day(text: str) -> date:
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise InvalidInputError(f"{text!r} is no day; write it like 2026-05-31") from None


def button(view: View) -> ui.button:
    """What unfolds the filters, and how many are set."""
    opens = ui.button("Filters", icon="tune").props("flat dense")
    if view.filtered:
        tag(f"{view.filtered} set", "tint")
        ui.link("Clear", type(view)(q=view.q).address).classes("link text-sm")
    return opens


def panel(view: View, opens: ui.button) -> ui.element:
    """Where the filters are; folded away while none is set."""
    folded = ui.element("div").classes("w-full")
    folded.set_visibility(bool(view.filtered))
    opens.on_click(lambda: folded.set_visibility(not folded.visible))
    return folded


def fields() -> ui.element:
    """The filters side by side, as many as there is room for."""
    return ui.element("div").classes("grid w-full gap-3 grid-cols-1 sm:grid-cols-2 lg:grid-cols-4")


def apply_button(view: View, fields: Mapping[str, Any], **usual: str) -> None:
    """Goes to where the fields say; each sets the part of the address that it is named like.

    `usual` are values that need no word in the address. Without a field for the user, nobody else is looked at.
    """

    def apply() -> None:
        texts = {name: _written(field.value) for name, field in fields.items()}
        parts = {name: "" if text == usual.get(name) else text for name, text in texts.items()}
        ui.navigate.to(replace(view, **{"user": "", "cursor": "", **parts}).address)

    with ui.row().classes("w-full justify-end q-mt-sm"):
        ui.button("Apply", on_click=apply).props("outline")


def _written(value: Any) -> str:
    """The value of a field as an address has it."""
    if isinstance(value, bool):
        return "1" if value else ""
    if isinstance(value, list):
        return ",".join(value)
    return f"{value:g}" if isinstance(value, float | int) else value or ""


async def scopes_in_use(visitor: Visitor) -> list[Scope]:
    """The scopes that hold memories."""
    scopes = await (await visitor.store()).scopes.list()
    return [scope for scope in scopes if scope.memories][:_MOST_SCOPES]


def users(scopes: Iterable[Scope]) -> dict[str, str]:
    """The users among scopes."""
    return {scope.name: scope.name for scope in scopes if scope.layer is Layer.USER}


def single(label: str, choices: Mapping[str, str], chosen: str) -> ui.select:
    """One of some choices, or none; also one that the address names and nobody offers."""
    offered = {**({chosen: chosen} if chosen else {}), **choices}
    return ui.select(offered, label=label, value=chosen or None, with_input=True, clearable=True)


def several(label: str, choices: list[str], chosen: str) -> ui.select:
    """Any of some choices."""
    value = [choice for choice in chosen.split(",") if choice in choices]
    return ui.select(choices, label=label, multiple=True, value=value).props("use-chips")


def day(label: str, chosen: str) -> ui.input:
    """A day."""
    return ui.input(label, value=chosen).props("stack-label type=date")

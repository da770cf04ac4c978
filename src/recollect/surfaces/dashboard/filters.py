"""What narrows a list down: the filters that stand in a page's address, and the fields that set them."""

from __future__ import annotations

import dataclasses
from dataclasses import asdict, dataclass
from datetime import date, timedelta
from typing import TYPE_CHECKING, ClassVar

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


def search_field(view: View, *, placeholder: str, label: str) -> ui.input:
    """Words to look for; the key / leads to it."""
    words = ui.input(placeholder=placeholder, value=view.q).classes("grow")
    words.props(f'outlined dense clearable data-search aria-label="{label}"')
    with words.add_slot("append"):
        ui.element("kbd").classes("wide-only").props('innerHTML="/"')
    return words


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
    choice = ui.select(offered, label=label, value=chosen or None, with_input=True, clearable=True)
    return choice.props("outlined dense")


def several(label: str, choices: list[str], chosen: str) -> ui.select:
    """Any of some choices."""
    value = [choice for choice in chosen.split(",") if choice in choices]
    return ui.select(choices, label=label, multiple=True, value=value).props("outlined dense use-chips")


def day(label: str, chosen: str) -> ui.input:
    """A day."""
    return ui.input(label, value=chosen).props("outlined dense stack-label type=date")

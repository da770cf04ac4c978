"""What stands around every page: where one can go, who one is, light or dark, and what the keys do."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from nicegui import ui
from nicegui.events import KeyEventArguments

from recollect.errors import RecollectError, UnauthorizedError
from recollect.surfaces.dashboard.addresses import LOGIN_PATH, LOGOUT_PATH, ROOT, inside

if TYPE_CHECKING:
    from starlette.requests import Request

    from recollect.surfaces.dashboard.visitor import Visitor

SHADE_COOKIE = "recollect_shade"
_SHADES = {"dark": True, "light": False}
COLOURS = {
    "primary": "#4f46e5",
    "secondary": "#0f766e",
    "accent": "#b45309",
    "positive": "#15803d",
    "negative": "#b91c1c",
    "warning": "#b45309",
}
STYLE = """
:root { --line: #e2e5ee; --paper: #f6f7fb; --card: #ffffff; --quiet: #5b6374; --mark: #fff1b8; }
.body--dark { --line: #2e3341; --paper: #12141b; --card: #1b1e28; --quiet: #a2a9ba; --mark: #574a12; }
body, .q-layout { background: var(--paper) !important; font-family: system-ui, "Segoe UI", Roboto, sans-serif; }
.body--dark { color: #e6e8ef; }
.card { background: var(--card); border: 1px solid var(--line); border-radius: 14px; padding: 16px; box-shadow: none; }
.q-header { background: var(--card) !important; color: inherit !important; border-bottom: 1px solid var(--line); }
.q-drawer { background: var(--card) !important; border-right: 1px solid var(--line); }
.place { border-radius: 10px; margin: 0 8px; min-height: 40px; align-self: stretch; font-weight: 500; }
.q-btn { text-transform: none; border-radius: 10px; }
.place.here { background: color-mix(in srgb, var(--q-primary) 14%, transparent); color: var(--q-primary); }
/* On dark paper the colours are lighter; NiceGUI sets them on the body itself, hence the emphasis. */
.body--dark { --q-primary: #7c78ff !important; --q-secondary: #14a89a !important; --q-accent: #d97706 !important;
  --q-warning: #d97706 !important; --q-negative: #f05252 !important; --q-positive: #1f9d55 !important; }
.body--dark .place.here, .body--dark .link { color: #a9a6ff; }
.rows { padding: 0 !important; gap: 0 !important; overflow: hidden; }
.rows > a { display: block; width: 100%; padding: 12px 16px; color: inherit; text-decoration: none; }
.rows > a + a { border-top: 1px solid var(--line); } .rows > a:hover { background: var(--paper); }
.quiet { color: var(--quiet); } .link { color: var(--q-primary); cursor: pointer; text-decoration: none; }
.link:hover { text-decoration: underline; }
.mono { font-family: ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; font-size: 13px; }
.prose { white-space: pre-wrap; overflow-wrap: anywhere; }
.lines { overflow-x: auto; }
.lines .row-line { display: flex; gap: 12px; width: 100%; padding: 0 8px; white-space: pre-wrap; }
.lines .number { min-width: 3.5em; text-align: right; color: var(--quiet); user-select: none; flex: none; }
.lines .cited { background: var(--mark); }
.code .row-line { min-width: max-content; } .code .row-line .prose { white-space: pre; }
.q-table__card { background: transparent; box-shadow: none; color: inherit; }
.q-expansion-item .q-item { border-radius: 10px; padding-left: 4px; padding-right: 4px; }
.q-item__label { overflow-wrap: anywhere; }
*:focus-visible { outline: 2px solid var(--q-primary); outline-offset: 2px; }
@media (max-width: 599px) { .wide-only { display: none !important; } .lines .number { min-width: 2.5em; } }
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """A page that one can go to. `key` is what to press after g; `needs` is the right without which it is not shown."""

    path: str
    title: str
    icon: str
    key: str
    needs: str | None = None

    def open_to(self, visitor: Visitor) -> bool:
        """Whether the visitor may see it."""
        if self.needs == "operator":
            return visitor.context.is_operator
        return self.needs is None or visitor.context.is_admin

    @property
    def address(self) -> str:
        """Where a browser finds it."""
        return f"{ROOT}{self.path}"


@contextmanager
def frame(request: Request, visitor: Visitor, places: Sequence[Place], here: Place) -> Iterator[None]:
    """The page around what is made within."""
    ui.colors(**COLOURS)
    shade = ui.dark_mode(_SHADES.get(request.cookies.get(SHADE_COOKIE, "")))
    open_places = [place for place in places if place.open_to(visitor)]
    ui.on_exception(_explain)
    help_dialog = _help(open_places)
    _keys(open_places, help_dialog)
    with ui.header().classes("items-center q-py-xs q-px-sm no-wrap"):
        menu = ui.button(icon="menu").props('flat round aria-label="Menu"')
        ui.link("Recollect", "/").classes("text-lg font-semibold no-underline").style("color: inherit")
        ui.space()
        who = visitor.context.user_id or visitor.context.agent_id or "key"
        ui.label(f"{visitor.context.tenant_id} · {who}").classes("quiet text-sm ellipsis")
        ui.button(icon="contrast", on_click=lambda: _switch(shade)).props(
            'flat round aria-label="Light or dark"'
        )
        ui.button(icon="keyboard", on_click=help_dialog.open).props(
            'flat round aria-label="Keyboard shortcuts"'
        ).classes("wide-only")
        # A form: what a link or a picture on another page can ask for must not log anybody out.
        with ui.element("form").props(f'method="post" action="{LOGOUT_PATH}"'):
            ui.button(icon="logout").props('flat round type="submit" aria-label="Log out"')
    with (
        ui.left_drawer(bordered=False)
        .props('width=250 breakpoint=900 role="navigation"')
        .classes("q-px-none q-pt-md gap-1") as drawer
    ):
        for place in open_places:
            marked = "here" if place == here else ""
            with (
                ui.element("q-item")
                .props(f'clickable tag=a href="{place.address}"')
                .classes(f"place {marked}")
            ):
                with ui.element("q-item-section").props("avatar").style("min-width: 36px"):
                    ui.icon(place.icon)
                with ui.element("q-item-section"):
                    ui.label(place.title)
    menu.on_click(drawer.toggle)
    with ui.column().classes("w-full max-w-6xl mx-auto gap-4 q-pa-sm").props('role="main"'):
        ui.label(here.title).classes("text-2xl font-semibold").props('role="heading" aria-level="1"')
        yield


async def _switch(shade: ui.dark_mode) -> None:
    """Dark becomes light and the other way; what the system prefers is followed until somebody chose."""
    dark = not await ui.run_javascript("Quasar.Dark.isActive")
    shade.set_value(dark)
    chosen = f"{SHADE_COOKIE}={'dark' if dark else 'light'}"
    ui.run_javascript(f"document.cookie = '{chosen}; path={ROOT}; max-age=31536000; samesite=lax'")


def _explain(error: Exception) -> None:
    """Bad input is said in words; a key that is over leads to the login page."""
    if isinstance(error, UnauthorizedError):
        ui.navigate.to(inside(LOGIN_PATH))
    elif isinstance(error, RecollectError):
        ui.notify(str(error), type="negative", multi_line=True, close_button=True)
    else:
        ui.notify("Something went wrong here; the server's log says what.", type="negative")


def _help(places: Sequence[Place]) -> ui.dialog:
    with ui.dialog() as dialog, ui.card().classes("card"):
        ui.label("Keys").classes("text-lg font-semibold")
        rows = [("/", "go to the search field"), ("?", "show this"), ("Esc", "close what is open")]
        rows += [(f"g {place.key}", place.title) for place in places]
        with ui.grid(columns="auto 1fr").classes("gap-x-6 gap-y-1"):
            for keys, what in rows:
                ui.label(keys).classes("mono")
                ui.label(what)
    return dialog


def _keys(places: Sequence[Place], help_dialog: ui.dialog) -> None:
    by_key = {place.key: place.path for place in places}
    waiting = False

    def pressed(event: KeyEventArguments) -> None:
        nonlocal waiting
        if not event.action.keydown or event.modifiers.ctrl or event.modifiers.meta or event.modifiers.alt:
            return
        key = event.key.name
        if waiting and key in by_key:
            ui.navigate.to(by_key[key])
        elif key == "?":
            help_dialog.open()
        elif key == "/":
            ui.run_javascript("document.querySelector('[data-search]')?.focus()")
        waiting = key == "g" and not waiting

    ui.keyboard(on_key=pressed, repeating=False)

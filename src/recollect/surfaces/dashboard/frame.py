"""What stands around every page: where one can go, who one is, light or dark, and what the keys do."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from nicegui import ui

from recollect.errors import RecollectError, UnauthorizedError
from recollect.surfaces.dashboard.addresses import LOGIN_PATH, LOGOUT_PATH, ROOT, inside
from recollect.surfaces.dashboard.widgets import quiet

if TYPE_CHECKING:
    from starlette.requests import Request

    from recollect.surfaces.dashboard.visitor import Visitor

_log = logging.getLogger(__name__)
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
:root { --line: #e6e8ef; --paper: #f7f8fb; --card: #ffffff; --quiet: #626b7f; --mark: #fff3c4; --ink: #1d2433;
  --wash: #f1f3f8; --good: #157347; --bad: #b42318; --warn: #9a5b00; --tint: #4f46e5; }
.body--dark { --line: #2b303d; --paper: #101218; --card: #181b24; --quiet: #9aa3b5; --mark: #4d4114; --ink: #e7e9f0;
  --wash: #222633; --good: #4ac585; --bad: #ff8379; --warn: #e8ae54; --tint: #a9a6ff; }
body, .q-layout { background: var(--paper) !important; color: var(--ink); font-size: 14.5px; line-height: 1.5;
  font-family: Inter, system-ui, "Segoe UI", Roboto, "DejaVu Sans", sans-serif; }
.card { background: var(--card); border: 1px solid var(--line); border-radius: 12px; padding: 16px; box-shadow: none;
  color: inherit; }
.q-header { background: var(--card) !important; color: inherit !important; border-bottom: 1px solid var(--line); }
.q-header .q-btn.text-primary { color: var(--quiet) !important; }
.q-drawer { background: var(--card) !important; border-right: 1px solid var(--line); }
.group { font-size: 11.5px; letter-spacing: .06em; text-transform: uppercase; color: var(--quiet);
  padding: 14px 20px 4px; }
.place { border-radius: 8px; margin: 1px 10px; min-height: 34px; padding: 4px 10px; align-self: stretch;
  color: inherit; white-space: nowrap; }
.place .q-icon { color: var(--quiet); font-size: 19px; }
.place.here { background: var(--wash); font-weight: 600; } .place.here .q-icon { color: var(--tint); }
.place:hover { background: var(--wash); }
.q-btn { text-transform: none; border-radius: 8px; font-weight: 500; }
.q-btn .q-icon { font-size: 1.35em; }
.q-field--outlined .q-field__control { border-radius: 8px; background: var(--card); }
.q-field--outlined .q-field__control:before { border-color: var(--line); }
/* On dark paper the colours are lighter; NiceGUI sets them on the body itself, hence the emphasis. */
.body--dark { --q-primary: #7c78ff !important; --q-secondary: #14a89a !important; --q-accent: #d97706 !important;
  --q-warning: #d97706 !important; --q-negative: #f05252 !important; --q-positive: #1f9d55 !important; }
.title { font-size: 15px; font-weight: 600; }
.rows { padding: 0 !important; gap: 0 !important; overflow: hidden; }
.rows > a, .rows > .item { display: flex; gap: 10px; width: 100%; padding: 11px 16px; color: inherit;
  text-decoration: none; align-items: flex-start; flex-wrap: nowrap; }
.rows > a { display: block; } .rows .item > a { color: inherit; text-decoration: none; flex: 1; min-width: 0; }
.rows > * + * { border-top: 1px solid var(--line); } .rows > a:hover, .rows > .item:hover { background: var(--wash); }
.meta { display: flex; flex-wrap: wrap; gap: 4px 10px; align-items: center; color: var(--quiet); font-size: 13px;
  margin-top: 3px; max-width: 100%; }
.folded { display: -webkit-box; -webkit-box-orient: vertical; -webkit-line-clamp: 10; overflow: hidden; }
.bar { position: sticky; top: 58px; z-index: 5; padding: 6px 16px; min-height: 48px; }
.tag { display: inline-block; background: var(--wash); color: var(--quiet); border-radius: 6px; padding: 0 7px;
  font-size: 12.5px; line-height: 20px; font-weight: 500; text-decoration: none;
  white-space: nowrap; max-width: 100%; overflow: hidden; text-overflow: ellipsis; flex-shrink: 0; }
a.tag:hover { color: var(--tint); } .tag.tint { color: var(--tint); }
.tag.good { color: var(--good); background: color-mix(in srgb, var(--good) 12%, transparent); }
.tag.bad { color: var(--bad); background: color-mix(in srgb, var(--bad) 12%, transparent); }
.tag.warn { color: var(--warn); background: color-mix(in srgb, var(--warn) 13%, transparent); }
.tabs { display: flex; gap: 4px; flex-wrap: wrap; }
.tabs a { padding: 4px 12px; border-radius: 8px; color: var(--quiet); text-decoration: none; font-weight: 500; }
.tabs a.on, .tabs a:hover { background: var(--wash); color: var(--ink); }
.quiet { color: var(--quiet); } .link { color: var(--tint); cursor: pointer; text-decoration: none; }
.link:hover { text-decoration: underline; }
.mono { font-family: ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace; font-size: 13px; }
.prose { white-space: pre-wrap; overflow-wrap: anywhere; } .gone { text-decoration: line-through; opacity: .65; }
.slab { background: var(--wash); border-radius: 8px; padding: 10px 12px; width: 100%; overflow-x: auto; }
.said { border-left: 3px solid var(--line); padding: 4px 12px; width: 100%; color: inherit; text-decoration: none; }
.form .nicegui-column > .q-field { width: 100%; }
.said.this { border-color: var(--tint); background: var(--wash); border-radius: 0 8px 8px 0; }
.stack { display: flex; height: 8px; border-radius: 4px; overflow: hidden; background: var(--wash); width: 100%; }
.stack > div { height: 100%; } .dot { width: 9px; height: 9px; border-radius: 3px; flex: none; }
.markdown { overflow-wrap: anywhere; width: 100%; } .markdown p { margin: 0 0 10px; }
.markdown ul, .markdown ol { margin: 0 0 10px; padding-left: 22px; list-style: revert; }
.markdown li p { margin: 0; } .markdown .heading { font-weight: 600; margin: 12px 0 6px; }
.markdown code { background: var(--wash); border-radius: 5px; padding: 0 4px; font-size: 13px; }
.markdown table { border-collapse: collapse; margin: 0 0 10px; display: block; overflow-x: auto; }
.markdown th, .markdown td { border: 1px solid var(--line); padding: 4px 10px; text-align: left; vertical-align: top;
  overflow-wrap: break-word; }
.markdown th { background: var(--wash); font-weight: 600; } .markdown th button { font-weight: 600; text-align: left; }
.markdown th[aria-sort=ascending] button::after { content: ' ↑' / ''; }
.markdown th[aria-sort=descending] button::after { content: ' ↓' / ''; }
.markdown .count { margin: -4px 0 10px; } .markdown blockquote { margin: 0 0 10px;
  border-left: 3px solid var(--line); padding-left: 12px; color: var(--quiet); }
.moment { position: relative; padding: 0 0 16px 22px; border-left: 2px solid var(--line); margin-left: 6px; }
.moment:before { content: ""; position: absolute; left: -6px; top: 6px; width: 10px; height: 10px; border-radius: 50%;
  background: var(--tint); } .moment:last-child { border-color: transparent; padding-bottom: 0; }
.lines { overflow-x: auto; }
.lines .row-line { display: flex; gap: 12px; width: 100%; padding: 0 8px; white-space: pre-wrap; }
.lines .number { min-width: 3.5em; text-align: right; color: var(--quiet); user-select: none; flex: none; }
.lines .cited { background: var(--mark); }
.code .row-line { min-width: max-content; } .code .row-line .prose { white-space: pre; }
.q-table__card { background: transparent; box-shadow: none; color: inherit; }
.q-expansion-item .q-item { border-radius: 8px; padding-left: 4px; padding-right: 4px; }
.q-item__label { overflow-wrap: anywhere; }
kbd { border: 1px solid var(--line); border-radius: 5px; padding: 0 5px; font-size: 12px; color: var(--quiet); }
*:focus-visible { outline: 2px solid var(--tint); outline-offset: 2px; }
@media (max-width: 599px) { .wide-only { display: none !important; }
  .headline { flex-wrap: wrap !important; row-gap: 4px !important; } .headline > .prose { flex-basis: 100%; }
  .lines .number { min-width: 2.5em; }
  .card { padding: 13px; } .rows > a, .rows > .item { padding: 10px 13px; } }
"""
#: Keys work where they are pressed, in the browser: a server that is asked first is too late for the next letter.
KEYS = """<script>
(() => {
  let waiting = false;
  document.addEventListener("keydown", event => {
    const at = event.target;
    if (event.ctrlKey || event.metaKey || event.altKey || at.isContentEditable ||
        /^(INPUT|TEXTAREA|SELECT)$/.test(at.tagName)) return;
    const there = selector => document.querySelector(selector);
    const place = waiting && /^[a-z]$/.test(event.key) && there(`a[data-key="${event.key}"]`);
    waiting = event.key === "g" && !waiting;
    if (place) place.click();
    else if (event.key === "?") there("[data-help]")?.click();
    else if (event.key === "/") {
      const search = there("[data-search]");
      if (search) { search.focus(); event.preventDefault(); }
    }
  });
})();
</script>"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """A page that one can go to, below the heading `group`.

    `key` is what to press after g; `needs` is the right without which it is not shown.
    """

    path: str
    title: str
    icon: str
    key: str
    group: str = ""
    needs: str | None = None

    def open_to(self, visitor: Visitor) -> bool:
        """Whether the visitor may see it."""
        return may(visitor, self.needs)

    @property
    def address(self) -> str:
        """Where a browser finds it."""
        return f"{ROOT}{self.path}"


def may(visitor: Visitor, needs: str | None) -> bool:
    """Whether a visitor has a right."""
    if needs == "operator":
        return visitor.context.is_operator
    return needs is None or visitor.context.is_admin


@contextmanager
def frame(request: Request, visitor: Visitor, places: Sequence[Place], here: Place) -> Iterator[None]:
    """The page around what is made within."""
    ui.colors(**COLOURS)
    shade = ui.dark_mode(_SHADES.get(request.cookies.get(SHADE_COOKIE, "")))
    open_places = [place for place in places if place.open_to(visitor)]
    ui.on_exception(_explain)
    help_dialog = _help(open_places)
    with ui.header().classes("items-center q-py-none q-px-sm no-wrap").style("height: 52px"):
        menu = ui.button(icon="menu").props('flat round dense aria-label="Menu"')
        ui.link("Recollect", "/").classes("text-base font-semibold no-underline").style("color: inherit")
        ui.space()
        who = visitor.context.user_id or visitor.context.agent_id or "key"
        quiet(f"{visitor.context.tenant_id} · {who}", "text-sm ellipsis")
        ui.button(icon="contrast", on_click=lambda: _switch(shade)).props(
            'flat round dense aria-label="Light or dark"'
        )
        ui.button(icon="keyboard", on_click=help_dialog.open).props(
            'flat round dense data-help aria-label="Keyboard shortcuts"'
        ).classes("wide-only")
        # A form: what a link or a picture on another page can ask for must not log anybody out.
        with ui.element("form").props(f'method="post" action="{LOGOUT_PATH}"'):
            ui.button(icon="logout").props('flat round dense type="submit" aria-label="Log out"')
    with (
        # Quasar opens it where there is room; NiceGUI, left to itself, asks the browser and gives it one second.
        ui.left_drawer(value=False, bordered=False)
        .props('show-if-above width=236 breakpoint=900 role="navigation"')
        .classes("q-px-none q-pt-sm gap-0") as drawer
    ):
        group = ""
        for place in open_places:
            if place.group != group:
                group = place.group
                ui.label(group).classes("group")
            _place(place, marked=place == here)
    menu.on_click(drawer.toggle)
    with ui.column().classes("w-full max-w-5xl mx-auto gap-4 q-pa-sm").props('role="main"'):
        ui.label(here.title).classes("text-xl font-semibold").props('role="heading" aria-level="1"')
        yield


def _place(place: Place, *, marked: bool) -> None:
    with (
        ui.element("q-item")
        .props(f'clickable dense tag=a href="{place.address}" data-key={place.key}')
        .classes("place here" if marked else "place")
    ):
        with ui.element("q-item-section").props("avatar").style("min-width: 28px; padding-right: 10px"):
            ui.icon(place.icon)
        with ui.element("q-item-section"):
            ui.label(place.title)


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
        _log.error("a page failed", exc_info=error)
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

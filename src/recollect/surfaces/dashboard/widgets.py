"""Pieces that several pages are made of: a number with its name, a tag, an empty place, a chart, cited lines.

Text that comes from the store is only ever set as text: nothing here makes markup of it.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Generator, Mapping, Sequence
from datetime import UTC, datetime, time
from typing import Any, Self

from nicegui import ui

from recollect.surfaces.counts import many

#: Read well on light and on dark paper.
_AXIS = "#8a92a6"
PALETTE = ("#6366f1", "#14b8a6", "#f59e0b", "#ec4899", "#84cc16", "#38bdf8", "#a78bfa")
#: A text that is longer is folded.
_FOLDED_CHARS, _FOLDED_LINES = 900, 12
_MINUTE_S, _HOUR_S, _DAY_S = 60, 3_600, 86_400


def stat(name: str, value: str, *, note: str = "", to: str = "") -> None:
    """A number with its name; `to` is the page about it."""
    with (ui.link(target=to) if to else ui.card()).classes("card gap-0 min-w-0 no-underline"):
        ui.label(name).classes("quiet text-sm")
        ui.label(value).classes("text-xl font-semibold")
        if note:
            ui.label(note).classes("quiet text-xs")


def card(title: str = "", classes: str = "w-full gap-2") -> ui.card:
    """A part of a page, with its title."""
    part = ui.card().classes(f"card {classes}")
    if title:
        with part:
            ui.label(title).classes("title")
    return part


def heading(title: str, all_of_it: str, address: str) -> None:
    """The title of a part that has a page of its own."""
    with ui.row().classes("w-full items-center"):
        ui.label(title).classes("title")
        ui.space()
        ui.link(all_of_it, address).classes("link text-sm")


def quiet(text: str, classes: str = "text-sm") -> ui.label:
    """A remark that does not ask to be read first."""
    return ui.label(text).classes(f"quiet {classes}")


def nothing(icon: str, what: str, *, then: str = "", command: str = "") -> None:
    """A list with nothing in it yet."""
    with card():
        empty(icon, what, then=then, command=command)


def search_field(value: str, *, placeholder: str, label: str, act: str, go: Callable[[str], str]) -> None:
    """Words to look for, and the button that does; the key / leads to it. `go` gives the address of what is found."""

    def search() -> None:
        ui.navigate.to(go((field.value or "").strip()))

    with ui.row().classes("w-full items-center no-wrap gap-2"):
        field = ui.input(placeholder=placeholder, value=value).classes("grow")
        field.props(f'clearable data-search aria-label="{label}"')
        field.on("keydown.enter", search).on("clear", search)
        with field.add_slot("append"):
            ui.element("kbd").classes("wide-only").props('innerHTML="/"')
        ui.button(act, icon="search", on_click=search).props("unelevated no-wrap")


def show_more(count: int, limit: int, more: Callable[[], Any]) -> None:
    """The button below a list that is not shown whole."""
    if count > limit:
        ui.button("Show more", icon="expand_more", on_click=more).props("flat").classes("self-center")


def empty(icon: str, what: str, *, then: str = "", command: str = "") -> None:
    """A place with nothing in it yet, which says what to do about that."""
    with ui.column().classes("items-center w-full q-pa-lg gap-2"):
        ui.icon(icon).classes("quiet text-4xl")
        ui.label(what).classes("font-semibold")
        if then:
            ui.label(then).classes("quiet text-center")
        if command:
            ui.label(command).classes("mono slab prose").style("width: auto")


def words(text: str) -> None:
    """What somebody said or asked, large; of a long text the beginning, and a button for the rest."""
    is_long = len(text) > _FOLDED_CHARS or text.count("\n") > _FOLDED_LINES
    label = ui.label(text).classes("prose folded" if is_long else "prose text-lg")
    if not is_long:
        return

    def turn() -> None:
        folded = "folded" not in label.classes
        label.classes(add="folded") if folded else label.classes(remove="folded")
        more.set_text(unfold if folded else "Show less")

    unfold = f"Show all {len(text):,} characters"
    more = ui.button(unfold, on_click=turn).props("flat dense")


def tag(text: str, tone: str = "", *, to: str = "") -> None:
    """A word about something, quietly; `tone` is good, bad, warn or tint, `to` a page about it."""
    if to:
        ui.link(text, to).classes(f"tag {tone}")
    else:
        ui.label(text).classes(f"tag {tone}")


def tabs(choices: Sequence[tuple[str, str, bool]]) -> None:
    """Ways to look at a page, each an address: its name, where it is, whether one is there."""
    with ui.element("nav").classes("tabs"):
        for name, address, on in choices:
            ui.link(name, address).classes("on" if on else "")


_QUESTIONS = {
    "factual": "a question for a fact",
    "procedural": "a question how something is done",
    "exploratory": "an open question",
    "analytical": "a question over many memories",
}


def question_kind(category: str) -> str:
    """What a question was taken for, as people say it."""
    return _QUESTIONS.get(category, category)


#: What speaks for a memory, in a word, by how its name begins.
_WORDS = {
    "semantic": "meaning",
    "lexical": "words",
    "entity": "names",
    "temporal": "time",
    "reinforcement": "use",
}


def in_a_word(signal: str) -> str:
    """What speaks for a memory, as people say it."""
    return _WORDS.get(signal.partition("_")[0], signal)


def shares(parts: Mapping[str, float], *, whole: float, unit: str = "") -> None:
    """Parts of a whole as one bar, and below it each with its number; what is left of the bar is not theirs."""
    ranked = [(name, value) for name, value in parts.items() if value > 0]
    rounded = round_to_sum([value for _, value in ranked], digits=0 if unit else 2)
    coloured = list(zip(ranked, rounded, (*PALETTE, *PALETTE), strict=False))
    with ui.element("div").classes("stack"):
        for (_, value), _, colour in coloured:
            ui.element("div").style(f"width: {100 * value / (whole or 1):.2f}%; background: {colour}")
    with ui.element("div").classes("meta"):
        for (name, _), value, colour in coloured:
            with ui.row().classes("items-center gap-1 no-wrap"):
                ui.element("div").classes("dot").style(f"background: {colour}")
                ui.label(f"{name} {value:,.0f}{unit}" if unit else f"{name} {value:.2f}")


def round_to_sum(values: Sequence[float], *, digits: int) -> list[float]:
    """Rounded so that they add up to their rounded sum: whoever adds up what is shown gets what is shown."""
    scaled = [value * 10**digits for value in values]
    whole = [int(value) for value in scaled]
    left = round(sum(scaled)) - sum(whole)
    closest = sorted(range(len(scaled)), key=lambda place: whole[place] - scaled[place])
    for place in closest[:left]:
        whole[place] += 1
    return [value / 10**digits for value in whole]


def as_json(value: object) -> str:
    """Data as JSON, as people read it."""
    return json.dumps(value, ensure_ascii=False, indent=2, default=str)


def fields(pairs: Sequence[tuple[str, object]]) -> None:
    """Names and values of one thing; empty ones are left out."""
    with ui.grid(columns="max-content 1fr").classes("gap-x-6 gap-y-1 w-full"):
        for name, value in pairs:
            if value not in (None, "", (), [], {}):
                ui.label(name).classes("quiet text-sm")
                if isinstance(value, Mapping | list):
                    ui.label(as_json(value)).classes("mono prose")
                else:
                    ui.label(str(value)).classes("prose text-sm")


def when(moment: datetime | None) -> str:
    """How long ago, for people; the date once it is long ago."""
    if moment is None:
        return ""
    passed_s = (datetime.now(UTC) - moment).total_seconds()
    if passed_s < 0 or passed_s >= 7 * _DAY_S:
        return f"{moment:%Y-%m-%d}" if moment.time() == time.min else f"{moment:%Y-%m-%d %H:%M}"
    if passed_s < _MINUTE_S:
        return "just now"
    for size_s, name in ((_DAY_S, "day"), (_HOUR_S, "hour"), (_MINUTE_S, "minute")):
        count = int(passed_s // size_s)
        if count:
            return f"{many(count, name)} ago"
    return ""


def chart(options: Mapping[str, Any], *, height_px: int = 260) -> ui.echart:
    """A chart that can be read on light and on dark paper."""
    axis = {"axisLabel": {"color": _AXIS}, "splitLine": {"lineStyle": {"color": f"{_AXIS}33"}}}
    dressed = dict(options)
    for name in ("xAxis", "yAxis"):
        if name in dressed:
            given = dressed[name]
            dressed[name] = [axis | part for part in given] if isinstance(given, list) else axis | given
    base: dict[str, Any] = {
        "color": list(PALETTE),
        "textStyle": {"color": _AXIS},
        # A long name is broken: a phone is narrower than it.
        "tooltip": {
            "trigger": "axis",
            "confine": True,
            "extraCssText": "max-width: 80vw; white-space: normal; overflow-wrap: anywhere;",
        },
        "legend": {"textStyle": {"color": _AXIS}, "top": 0},
        "grid": {"left": 8, "right": 16, "top": 40, "bottom": 8, "containLabel": True},
        "animation": False,
    }
    return ui.echart(base | dressed).classes("w-full").style(f"height: {height_px}px")


def lines(text: str, *, first: int, cited: tuple[int, int]) -> None:
    """Some lines of a source with their numbers; the cited ones are marked."""
    with ui.column().classes("lines mono gap-0 w-full"):
        for number, line in enumerate(text.split("\n"), start=first):
            marked = cited[0] <= number <= cited[1]
            with ui.element("div").classes("row-line" + (" cited" if marked else "")):
                ui.label(str(number)).classes("number")
                ui.label(line or " ").classes("prose")


class Dialog:
    """A question to the visitor: `with` it the fields are made, `await` opens it and gives what came of it.

    `act` is the button that goes on: it does `do`, whose result is the dialog's, True when there is none. None means
    that the visitor thought better of it. What `do` refuses is said, and the dialog stays open.
    """

    def __init__(
        self, title: str, *, act: str, do: Callable[[], Awaitable[Any]] | None = None, grave: bool = False
    ) -> None:
        self._do = do
        with ui.dialog() as self._dialog, ui.card().classes("card w-full gap-3 form"):
            if title:
                ui.label(title).classes("text-lg font-semibold prose")
            self._fields = ui.column().classes("w-full gap-3")
            with ui.row().classes("w-full justify-end"):
                ui.button("Cancel", on_click=lambda: self._dialog.submit(None)).props("flat")
                self.button = ui.button(act, on_click=self.go_on).props("unelevated")
                self.button.props("color=negative" if grave else "")

    async def go_on(self) -> None:
        """What the button does, and Enter where a field says so."""
        result = True if self._do is None else await self._do()
        self._dialog.submit(True if result is None else result)

    def __enter__(self) -> Self:
        self._fields.__enter__()
        return self

    def __exit__(self, *reason: object) -> None:
        self._fields.__exit__(*reason)

    def __await__(self) -> Generator[Any, None, Any]:
        result = yield from self._dialog.__await__()  # type: ignore[no-untyped-call]
        self._dialog.delete()
        return result


async def confirmed(question: str, *, act: str) -> bool:
    """Ask before something that can't be undone."""
    with Dialog("", act=act, grave=True) as dialog:
        ui.label(question).classes("prose")
    return bool(await dialog)

"""Traces: every search as it comes, whose it was, what it found, and where its time went."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

from nicegui import ui

from recollect.domain.overview import OUTCOMES
from recollect.errors import InvalidInputError, NotFoundError
from recollect.surfaces.dashboard import filters
from recollect.surfaces.dashboard.addresses import link
from recollect.surfaces.dashboard.widgets import (
    card,
    empty,
    fields,
    in_a_word,
    question_kind,
    quiet,
    search_field,
    shares,
    tabs,
    tag,
    when,
    words,
)

if TYPE_CHECKING:
    from recollect.domain.memory import Memory
    from recollect.domain.overview import Trace, TracedHit
    from recollect.surfaces.dashboard.visitor import Visitor

PATH = "/traces"
_EVERY_S = 3.0
_SHOWN = 50
#: In the order in which a search passes them.
_STAGES = ("understand", "embed", "dates", "generate", "expand", "rank", "judge", "show")
_FOUND = (("All", ""), ("Found", "yes"), ("Found nothing", "no"))
_TONES = {
    "used": "good",
    "feedback": "good",
    "context": "good",
    "refined": "warn",
    "ignored": "warn",
}
#: Slower than this is worth a look.
_SLOW_MS = 500.0
#: What is shorter is not drawn.
_SHORT_MS = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class View(filters.View):
    """Which searches are looked at. `cursor` is the moment before which the page begins."""

    path: ClassVar[str] = PATH
    #: Whether something was found is chosen beside the filters.
    plain: ClassVar[frozenset[str]] = filters.View.plain | {"found"}

    found: str = ""
    outcome: str = ""
    min_ms: str = ""

    def conditions(self) -> dict[str, Any]:
        """All of it as `traces.list` takes it."""
        since, until = self.period
        if self.min_ms and not self.min_ms.isdecimal():
            raise InvalidInputError(f"{self.min_ms!r} is no number of milliseconds")
        return {
            "user": self.user or None,
            "since": since,
            "before": self.cursor or until,
            "found": {"yes": True, "no": False}.get(self.found),
            "outcome": self.outcome or None,
            "min_ms": int(self.min_ms) if self.min_ms else None,
            "text": self.q.strip() or None,
        }


async def build(visitor: Visitor, **given: str) -> None:
    """The page of all of them, the newest first; new ones appear by themselves."""
    view = View(**given)

    @ui.refreshable
    async def listed() -> None:
        try:
            traces = await (await visitor.store()).traces.list(limit=_SHOWN, **view.conditions())
        except InvalidInputError as error:
            empty("filter_alt_off", "That is no way to look at searches", then=str(error))
            return
        with ui.card().classes("card rows w-full"):
            if not traces:
                _nothing(view)
            slowest = max((trace.latency_ms for trace in traces), default=0.0)
            for trace in traces:
                _row(trace, slowest)
        with ui.row().classes("w-full justify-end"):
            if view.cursor:
                ui.link("Newest", replace(view, cursor="").address).classes("link")
            if len(traces) == _SHOWN:
                older = replace(view, cursor=traces[-1].at.isoformat())
                ui.link("Older →", older.address).classes("link")

    await _form(visitor, view, listed.refresh)
    await listed()
    if not view.cursor:
        ui.timer(_EVERY_S, listed.refresh, immediate=False)


def _nothing(view: View) -> None:
    if view.filtered or view.q or view.found:
        then = (
            "Words are found only in questions that were kept."
            if view.q
            else "Clear one of them to see more."
        )
        empty("filter_alt_off", "No search fits these filters", then=then)
    else:
        empty(
            "timeline",
            "No search was recorded yet",
            then="Search here, or let an agent do it: it appears by itself.",
            command='recollect search "What does Ana prefer?"',
        )


async def _form(visitor: Visitor, view: View, refresh: Any) -> None:
    with ui.card().classes("card w-full gap-2"):
        search_field(
            view.q,
            placeholder="Words of a question",
            label="Find searches",
            act="Find",
            go=lambda words: replace(view, q=words, cursor="").address,
        )
        with ui.row().classes("w-full items-center gap-2"):
            opens = filters.button(view)
            tabs(
                [
                    (name, replace(view, found=value, cursor="").address, view.found == value)
                    for name, value in _FOUND
                ]
            )
            ui.space()
            if visitor.context.is_admin:
                await _keeping(visitor, refresh)
        with filters.panel(view, opens):
            await _filters(visitor, view)


async def _keeping(visitor: Visitor, refresh: Any) -> None:
    async def keep(on: bool) -> None:
        await (await visitor.store()).tenants.set_traces(keep_questions=on)
        words = "From now on questions are kept." if on else "Questions that were kept are erased."
        ui.notify(words, type="positive")
        await refresh()

    keeps = (await (await visitor.store()).tenants.get()).keep_questions
    ui.switch("Keep questions", value=keeps, on_change=lambda event: keep(event.value)).tooltip(
        "whether traces of this tenant keep what was asked"
    )


async def _filters(visitor: Visitor, view: View) -> None:
    fields: dict[str, Any] = {}
    with filters.fields():
        if visitor.context.is_admin:
            users = filters.users(await filters.scopes_in_use(visitor))
            fields["user"] = filters.single("User", users, view.user)
        fields["outcome"] = filters.single("What came of it", {name: name for name in OUTCOMES}, view.outcome)
        fields["since"] = filters.day("From", view.since)
        fields["until"] = filters.day("Until", view.until)
        least = ui.input("Milliseconds at least", value=view.min_ms).props("type=number min=0")
        fields["min_ms"] = least
    filters.apply_button(view, fields)


def _row(trace: Trace, slowest_ms: float) -> None:
    with ui.link(target=f"{PATH}/{trace.id}").classes("trace"):
        with ui.row().classes("w-full items-center no-wrap gap-3 headline"):
            question = trace.question or _unsaid(trace)
            ui.label(question).classes("prose line-clamp-2 grow" + ("" if trace.question else " quiet"))
            if trace.hits:
                tag(f"{trace.hits} found")
            else:
                tag("found nothing", "warn")
            tone = "warn" if trace.latency_ms > _SLOW_MS else ""
            ui.label(f"{trace.latency_ms:.0f} ms").classes(f"tag {tone}").style("white-space: nowrap")
        with ui.element("div").classes("meta"):
            with ui.element("div").classes("stack wide-only").style("max-width: 120px; height: 4px"):
                ui.element("div").style(
                    f"width: {100 * trace.latency_ms / (slowest_ms or 1):.1f}%; background: var(--tint)"
                )
            ui.label(trace.user)
            ui.label(when(trace.at))
            if trace.outcome:
                tag(trace.outcome, _TONES.get(trace.outcome, ""))


def _unsaid(trace: Trace) -> str:
    about = f" about {', '.join(trace.entities)}" if trace.entities else ""
    kind = question_kind(trace.category)
    return f"{kind[:1].upper()}{kind[1:]}{about} (its words are not kept)"


async def build_one(visitor: Visitor, id: str) -> None:
    """The page of one search."""
    ui.link("← Traces", PATH).classes("link")
    store = await visitor.store()
    try:
        trace = await store.traces.get(id)
    except (NotFoundError, InvalidInputError):
        empty("search_off", "There is no such search", then="It may be somebody else's, or forgotten.")
        return
    with ui.card().classes("card w-full gap-2"):
        words(trace.question or _unsaid(trace))
        fields(
            [
                ("Asked", f"{trace.at:%Y-%m-%d %H:%M:%S} UTC by {trace.user}"),
                ("Session", trace.session),
                ("Read as", question_kind(trace.category)),
                ("Names", ", ".join(trace.entities)),
                ("Came of it", trace.outcome),
            ]
        )
        with ui.row().classes("gap-4"):
            if trace.question:
                ui.link("Search again", link("/memories", q=trace.question)).classes("link text-sm")
            ui.link(f"All searches of {trace.user}", link(PATH, user=trace.user)).classes("link text-sm")
    with card(f"Where {trace.latency_ms:,.0f} ms went"):
        _stages(trace)
    ids = [str(hit.memory_id) for hit in trace.returned]
    memories = {}
    if ids:
        page = await store.list(filters={"id": {"$in": ids}}, include_superseded=True, limit=len(ids))
        memories = {memory.id: memory for memory in page}
    quiet(f"{trace.hits} found", "")
    if not trace.returned:
        with ui.card().classes("card w-full"):
            why = "What it found was deleted since." if trace.hits else "Nothing remembered answers it."
            empty("search_off", why)
        return
    with ui.card().classes("card rows w-full"):
        for hit in trace.returned:
            _hit(hit, memories.get(hit.memory_id))


def _stages(trace: Trace) -> None:
    known = {name: trace.stages[name] for name in _STAGES if name in trace.stages}
    known |= {name: ms for name, ms in trace.stages.items() if name not in {*_STAGES, "total"}}
    rest = trace.latency_ms - sum(known.values())
    took = {name: ms for name, ms in known.items() if ms >= _SHORT_MS}
    if not took:
        quiet("Its stages were not recorded.")
        return
    if rest >= _SHORT_MS:
        took["the rest"] = rest
    shares(took, whole=max(trace.latency_ms, sum(took.values())), unit=" ms")


def _hit(hit: TracedHit, memory: Memory | None) -> None:
    with ui.link(target=f"/memories/{hit.memory_id}"):
        with ui.row().classes("w-full items-start no-wrap gap-2"):
            text = memory.text if memory is not None else "A memory that you may not see"
            ui.label(text).classes("prose line-clamp-2 grow" + ("" if memory else " quiet"))
            tag(f"{hit.score:.2f}", "tint")
        with ui.element("div").classes("meta"):
            if memory is not None:
                tag(memory.scope)
            if hit.used:
                tag("used", "good")
            strongest = sorted(hit.signals.items(), key=lambda pair: -pair[1])[:3]
            by = [in_a_word(name) for name, value in strongest if value > 0]
            if by:
                ui.label(f"found by {', '.join(by)}")

"""Traces: every search as it comes, whose it was, what it found, and where its time went."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nicegui import ui

from recollect.errors import InvalidInputError, NotFoundError
from recollect.surfaces.dashboard.addresses import link
from recollect.surfaces.dashboard.widgets import (
    empty,
    fields,
    in_a_word,
    question_kind,
    shares,
    tabs,
    tag,
    when,
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
_OUTCOMES = {
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


async def build(visitor: Visitor, user: str = "", silent: str = "") -> None:
    """The page of all of them, the newest first; new ones appear by themselves."""
    admin = visitor.context.is_admin
    keeps = admin and (await (await visitor.store()).tenants.get()).keep_questions
    with ui.row().classes("w-full items-center gap-3"):
        tabs(
            [
                ("All", link(PATH, user=user), not silent),
                ("Found nothing", link(PATH, user=user, silent=True), bool(silent)),
            ]
        )
        if user:
            tag(f"by {user}", "tint")
            ui.link("Everybody", link(PATH, silent=silent)).classes("link text-sm")
        ui.space()
        if admin:

            async def keep(on: bool) -> None:
                await (await visitor.store()).tenants.set_traces(keep_questions=on)
                said = "From now on questions are kept." if on else "Questions that were kept are erased."
                ui.notify(said, type="positive")
                await listed.refresh()

            ui.switch("Keep questions", value=keeps, on_change=lambda event: keep(event.value)).tooltip(
                "whether traces of this tenant keep what was asked"
            )

    @ui.refreshable
    async def listed() -> None:
        found = await (await visitor.store()).traces.list(
            limit=_SHOWN, user=user or None, silent=bool(silent)
        )
        if not found:
            with ui.card().classes("card w-full"):
                empty(
                    "timeline",
                    "No search was recorded yet" if not silent else "No search found nothing",
                    then="Search here, or let an agent do it: it appears by itself.",
                    command='recollect search "What does Ana prefer?"',
                )
            return
        slowest = max(one.latency_ms for one in found)
        with ui.card().classes("card rows w-full"):
            for one in found:
                _row(one, slowest)

    await listed()
    ui.timer(_EVERY_S, listed.refresh, immediate=False)


def _row(trace: Trace, slowest_ms: float) -> None:
    with ui.link(target=f"{PATH}/{trace.id}").classes("trace"):
        with ui.row().classes("w-full items-center no-wrap gap-3"):
            question = trace.question or _unsaid(trace)
            ui.label(question).classes("prose line-clamp-1 grow" + ("" if trace.question else " quiet"))
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
                tag(trace.outcome, _OUTCOMES.get(trace.outcome, ""))


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
        ui.label(trace.question or _unsaid(trace)).classes("prose text-lg")
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
    with ui.card().classes("card w-full gap-2"):
        ui.label(f"Where {trace.latency_ms:,.0f} ms went").classes("title")
        _stages(trace)
    ids = [str(hit.memory_id) for hit in trace.returned]
    memories = {}
    if ids:
        found = await store.list(filters={"id": {"$in": ids}}, include_superseded=True, limit=len(ids))
        memories = {one.id: one for one in found}
    ui.label(f"{trace.hits} found").classes("quiet")
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
        ui.label("Its stages were not recorded.").classes("quiet text-sm")
        return
    if rest >= _SHORT_MS:
        took["between"] = rest
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

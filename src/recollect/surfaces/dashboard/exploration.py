"""One exploration: the answer, what it took of its budget, what it found and where, and every step on the way."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from nicegui import ui

from recollect.domain.codebase import ToolCall
from recollect.surfaces.counts import many
from recollect.surfaces.dashboard import citations
from recollect.surfaces.dashboard.sources import passage
from recollect.surfaces.dashboard.widgets import card, empty, fields, lines, quiet, tag, when, words

if TYPE_CHECKING:
    from recollect.domain.codebase import RLMResult
    from recollect.domain.findings import Citation, Finding
    from recollect.domain.trajectory import CallRecord, Step, Trajectory
    from recollect.surfaces.dashboard.visitor import Visitor

#: Of a parameter, on one line; the whole of it is in the record.
_SHOWN_CHARS = 160
#: From this share of a limit on a bar warns.
_NEARLY = 0.9


def show(visitor: Visitor, result: RLMResult) -> None:
    """All of it."""
    words(result.query)
    with ui.row().classes("items-center gap-2 w-full"):
        stopped(result.stopped_by)
        quiet(f"{when(result.trajectory.end_time)} · {result.usage.wall_time_seconds:.1f} s")
        quiet(result.root, "mono prose")
    with card("Answer", "w-full gap-3"):
        answered = ui.element("div").classes("w-full")
        for note in (*((result.error,) if result.error else ()), *result.notes):
            quiet(note, "text-sm prose")
    with card("Findings", "w-full gap-3"):
        open_source = _findings(visitor, result)
    with answered:
        citations.answer(result.synthesis, result.citations, open_source)
    with ui.row().classes("w-full gap-4 items-stretch"):
        with card("Budget", "grow basis-80 gap-3"):
            budget(spent_of(result))
        with card("What it was", "grow basis-80"):
            fields(_facts(result))
    with card("Steps"):
        if result.record is None or not result.record.steps:
            empty("route", "It made no step", then="A limit was reached before the first one.")
        else:
            tree(result.record)


def stopped(by: str) -> None:
    """How it ended."""
    tag(by.replace("_", " "), "good" if by == "done" else "warn")


def _facts(result: RLMResult) -> list[tuple[str, object]]:
    calls = result.usage.subcall_count + result.usage.cached_subcalls
    return [
        ("Task", result.task_id),
        ("Folder", result.root),
        ("Model", result.model or "none"),
        ("Began", f"{result.trajectory.start_time:%Y-%m-%d %H:%M:%S} UTC"),
        ("Tool calls", f"{calls:,}, {100 * result.usage.cache_hit_rate:.0f} % from the cache"),
        ("Model calls", f"{result.usage.model_calls:,}"),
        ("Missing", "; ".join(str(request.get("description", "")) for request in result.capability_requests)),
        ("Record", result.audit_file),
    ]


# Findings ------------------------------------------------------------------------------------------


def _findings(visitor: Visitor, result: RLMResult) -> Callable[[int], None]:
    """Each with its lines behind it; returns what opens the lines of a citation by its number, from 1."""
    opened: dict[Citation, ui.expansion] = {}
    if not result.findings and not result.citations:
        empty("search_off", "Nothing in the tree answers this", then="Other words, or a hint, may help.")
    for finding in result.findings:
        _finding(visitor, result, finding, opened)
    for cited in result.citations:
        if cited not in opened:
            opened[cited] = _source(visitor, result.root, cited, title=place_of(cited))

    def open_source(number: int) -> None:
        expansion = opened[result.citations[number - 1]]
        expansion.open()
        ui.run_javascript(
            f"getHtmlElement({expansion.id}).scrollIntoView({{block: 'center', behavior: 'smooth'}})"
        )

    return open_source


def _finding(
    visitor: Visitor, result: RLMResult, finding: Finding, opened: dict[Citation, ui.expansion]
) -> None:
    if not finding.citations:
        with ui.column().classes("w-full gap-0"):
            ui.label(finding.description).classes("prose")
            quiet(finding.evidence, "mono prose")
    for cited in finding.citations:
        if cited not in opened:
            sure = f" · {100 * finding.confidence:.0f} % sure"
            opened[cited] = _source(
                visitor,
                result.root,
                cited,
                title=finding.description.replace("`", ""),
                caption=place_of(cited) + sure,
            )


def _source(
    visitor: Visitor, root: str, cited: Citation, *, title: str, caption: str | None = None
) -> ui.expansion:
    """A citation; its lines are read when it is opened."""
    loaded = False

    async def load(is_open: bool) -> None:
        nonlocal loaded
        if not is_open or loaded:
            return
        loaded = True
        span = await passage((await visitor.store()).settings, root, cited)
        with expansion:
            if span.note:
                ui.label(span.note).classes("text-warning text-sm")
            if span.text:
                # Code is scrolled sideways: broken lines hide how it is indented.
                lines(span.text, first=span.first, cited=span.cited)

    expansion = ui.expansion(title, caption=caption, on_value_change=lambda event: load(event.value))
    expansion.classes("w-full finding code").props("dense")
    return expansion


def place_of(cited: Citation) -> str:
    """Where a citation stands, for people."""
    if cited.line_start == cited.line_end:
        return f"{cited.file_path} line {cited.line_start}"
    return f"{cited.file_path} lines {cited.line_start}–{cited.line_end}"


# The budget ----------------------------------------------------------------------------------------

#: What was used, of how much (None: no limit), and how both are written.
Spent = tuple[str, float, float | None, Callable[[float], str]]


def spent_of(result: RLMResult) -> list[Spent]:
    """What an exploration used of its limits."""
    limits: Mapping[str, Any] = result.record.limits if result.record else {}
    deepest = result.record.usage.max_depth if result.record else 0
    used = result.usage
    return [
        ("Sub-calls", used.subcall_count, limits.get("max_subcalls"), _count),
        ("Tokens", used.total_tokens, limits.get("max_tokens"), _count),
        ("Cost", used.usd, limits.get("max_usd"), _dollars),
        ("Time", used.wall_time_seconds, limits.get("timeout_s"), _seconds),
        ("Depth", deepest, limits.get("max_depth"), _count),
    ]


def spent_of_run(record: Trajectory) -> list[Spent]:
    """What a run used of its limits."""
    used, limits = record.usage, record.limits
    return [
        ("Sub-calls", used.subcalls, limits.get("max_subcalls"), _count),
        ("Tokens", used.tokens, limits.get("max_tokens"), _count),
        ("Cost", used.usd, limits.get("max_usd"), _dollars),
        ("Time", used.wall_time_ms / 1_000, limits.get("timeout_s"), _seconds),
        ("Depth", used.max_depth, limits.get("max_depth"), _count),
    ]


def budget(spent: Sequence[Spent]) -> None:
    """A bar for each limit."""
    for name, used, limit, written in spent:
        share = 0.0 if not limit else min(used / limit, 1.0)
        with ui.column().classes("w-full gap-1"):
            with ui.row().classes("w-full no-wrap items-baseline"):
                ui.label(name).classes("text-sm")
                ui.space()
                most = ", no limit" if limit is None else f" of {written(limit)}"
                quiet(f"{written(used)}{most}")
            colour = "warning" if share >= _NEARLY else "primary"
            ui.linear_progress(value=share, show_value=False).props(
                f'rounded size=8px color={colour} aria-label="{name}"'
            )


def _count(value: float) -> str:
    return f"{value:,.0f}"


def _dollars(value: float) -> str:
    return f"${value:.4f}" if value else "$0"


def _seconds(value: float) -> str:
    return f"{value:.1f} s" if value < 100 else f"{value:,.0f} s"


# Steps ---------------------------------------------------------------------------------------------


#: What a search in parts does next, by the name that its planner has for it.
_DIRECTIONS = {
    "search": "Search the whole",
    "by_scope": "Search scope by scope",
    "by_entity": "Search name by name",
    "by_period": "Search period by period",
    "parts": "Search part by part",
    "bridge": "Follow what the hits name",
    "aggregate": "Bring it together",
    "stop": "Answered",
}


def tree(record: Trajectory) -> None:
    """Every step of a run, its calls below it, and below a call the run that it started."""
    for step in record.steps:
        _step(step)


def _step(step: Step) -> None:
    thought = step.thought or _DIRECTIONS.get(step.next_direction, step.next_direction.replace("_", " "))
    title = f"{step.iteration}. {thought or 'A step'}"
    calls = len(step.tool_calls)
    if not calls:
        with ui.column().classes("w-full gap-0 q-px-xs q-py-sm step"):
            ui.label(title).classes("prose")
            quiet(f"No call · {step.duration_ms:,.0f} ms", "text-xs")
        return
    caption = f"{many(calls, 'call')} · {step.duration_ms:,.0f} ms"
    expansion = ui.expansion(title, caption=caption, value=True)
    expansion.classes("w-full step").props('dense header-class="q-px-xs"')
    with expansion, ui.column().classes("w-full gap-2 q-pl-md branch"):
        for call in step.tool_calls:
            _call(call)
        # Without a model it is the name of what was just called.
        if step.thought and step.next_direction not in {call.tool for call in step.tool_calls}:
            quiet(f"Next: {step.next_direction}", "text-sm prose")


def _call(call: CallRecord) -> None:
    with ui.column().classes("w-full gap-0 call"):
        with ui.row().classes("items-center gap-2 w-full"):
            ui.icon("psychology_alt" if call.model_call else "build").classes("quiet")
            ui.label(call.tool).classes("mono font-semibold")
            quiet(f"{call.duration_ms:,.0f} ms", "text-xs")
            if call.tokens:
                quiet(f"{call.tokens:,} tokens", "text-xs")
            marks(cached=call.cached, refused=call.refused, failed=call.error is not None)
        given = parameters(call.parameters)
        if given:
            ui.label(given).classes("mono prose quiet")
        summary = call.error or ToolCall.of(call).summary
        if summary:
            ui.label(summary).classes("text-sm prose" + (" text-negative" if call.error else ""))
        if call.child is not None:
            question = f": {call.child.query}" if call.child.query else ""
            inner = ui.expansion(
                f"A part, on its own{question}",
                caption=f"ended by {call.child.stopped_by}",
                icon="subdirectory_arrow_right",
            )
            with inner.classes("w-full").props("dense"):
                tree(call.child)


def marks(*, cached: bool, refused: bool, failed: bool) -> None:
    """What is special about a call."""
    if cached:
        tag("cached")
    if refused:
        tag("refused: a limit would have been passed", "warn")
    if failed:
        tag("failed", "bad")


def parameters(given: Mapping[str, Any]) -> str:
    """What a tool was called with, on one line."""
    parts = []
    for name, value in given.items():
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
        parts.append(f"{name}={text if len(text) <= _SHOWN_CHARS else text[:_SHOWN_CHARS] + '…'}")
    return ", ".join(parts)

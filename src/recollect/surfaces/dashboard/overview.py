"""The first page: what is stored, and how searches went in the last hour. It is counted anew every few seconds."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from nicegui import ui

from recollect.domain.layers import Layer
from recollect.domain.memory import MemoryType
from recollect.surfaces.dashboard.widgets import (
    card,
    chart,
    empty,
    heading,
    nothing,
    question_kind,
    quiet,
    stat,
    when,
)

if TYPE_CHECKING:
    from recollect.domain.overview import Overview
    from recollect.surfaces.dashboard.visitor import Visitor

_EVERY_S = 5.0
_MINUTES = 60
_LATEST = 5


async def build(visitor: Visitor) -> None:
    """The page."""

    @ui.refreshable
    async def panels() -> None:
        overview = await (await visitor.store()).overview(minutes=_MINUTES)
        _numbers(overview)
        if not overview.memories and not overview.documents:
            nothing(
                "psychology",
                "Nothing is remembered yet",
                then="Store the first memory from a shell, from Python or over HTTP; it is counted here at once.",
                command='recollect add "Ana prefers the morning for calls"',
            )
            return
        with ui.row().classes("w-full gap-4 items-stretch"):
            with card("Memories by layer and type", "grow basis-96"):
                _memories(overview)
            with card(f"Searches in the last {_MINUTES} minutes, UTC", "grow basis-96"):
                _searches(overview)
        with ui.row().classes("w-full gap-4 items-stretch"):
            with ui.card().classes("card grow basis-96 gap-2"):
                heading("Newest memories", "All", "/memories")
                for memory in await (await visitor.store()).list(limit=_LATEST):
                    words = f"{memory.speaker}: {memory.text}" if memory.speaker else memory.text
                    _line(f"/memories/{memory.id}", words, f"{memory.scope} · {when(memory.created_at)}")
            with ui.card().classes("card grow basis-96 gap-2"):
                heading("Latest searches", "All", "/traces")
                for trace in await (await visitor.store()).traces.list(limit=_LATEST):
                    kind = question_kind(trace.category)
                    words = trace.question or f"{kind[:1].upper()}{kind[1:]}"
                    outcome = f"{trace.hits} found" if trace.hits else "found nothing"
                    _line(
                        f"/traces/{trace.id}",
                        words,
                        f"{outcome} in {_ms(trace.latency_ms)} · {when(trace.at)}",
                    )

    await panels()
    ui.timer(_EVERY_S, panels.refresh, immediate=False)


def _line(address: str, words: str, detail: str) -> None:
    with ui.link(target=address).classes("said"):
        ui.label(words).classes("prose line-clamp-1")
        quiet(detail, "text-xs")


def _numbers(overview: Overview) -> None:
    with ui.element("div").classes("grid w-full gap-4 grid-cols-2 sm:grid-cols-3 lg:grid-cols-6"):
        stat("Memories", f"{overview.memories:,}", to="/memories")
        stat("Documents", f"{overview.documents:,}", to="/library")
        stat(
            "Searches / min",
            f"{overview.searched / overview.minutes:.1f}",
            note=f"{overview.searched:,} in {overview.minutes} minutes",
            to="/traces",
        )
        stat(
            "Latency p50",
            _ms(overview.p50_ms),
            note=f"p95 {_ms(overview.p95_ms)}, p99 {_ms(overview.p99_ms)}",
        )
        stat(
            "Decomposed",
            _share(overview.decomposed, overview.searched),
            note=f"{overview.decomposed:,} of {overview.searched:,} searches",
        )
        stat(
            "Cache hits",
            _share(overview.cached_calls, overview.tool_calls),
            note=f"{overview.cached_calls:,} of {overview.tool_calls:,} tool calls",
        )


def _memories(overview: Overview) -> None:
    layers = [layer for layer in Layer if any(cell.layer is layer for cell in overview.counted)]
    count = {(cell.layer, cell.type): cell.memories for cell in overview.counted}
    types = [kind for kind in MemoryType if any(cell.type is kind for cell in overview.counted)]
    chart(
        {
            "xAxis": {"type": "value", "minInterval": 1},
            "yAxis": {"type": "category", "data": [layer.value for layer in reversed(layers)]},
            "series": [
                {
                    "name": kind.value,
                    "type": "bar",
                    "stack": "all",
                    "barMaxWidth": 28,
                    "data": [count.get((layer, kind), 0) for layer in reversed(layers)],
                }
                for kind in types
            ],
        }
    )


def _searches(overview: Overview) -> None:
    if not overview.searches:
        empty("search", "No searches yet", then="Search here under Memories, or let an agent do it.")
        return
    now = datetime.now(UTC).replace(second=0, microsecond=0)
    minutes = [now - timedelta(minutes=back) for back in range(overview.minutes, -1, -1)]
    by_minute = {search.at.astimezone(UTC): search for search in overview.searches}
    per_minute = [by_minute.get(minute) for minute in minutes]
    chart(
        {
            "xAxis": {"type": "category", "data": [f"{minute:%H:%M}" for minute in minutes]},
            "yAxis": [
                {"type": "value", "name": "a minute", "minInterval": 1},
                {"type": "value", "name": "ms", "splitLine": {"show": False}},
            ],
            "series": [
                {
                    "name": "searches",
                    "type": "bar",
                    "data": [minute.searches if minute else 0 for minute in per_minute],
                },
                _percentile("p50", [minute.p50_ms if minute else None for minute in per_minute]),
                _percentile("p95", [minute.p95_ms if minute else None for minute in per_minute]),
            ],
        }
    )


def _percentile(name: str, values_ms: Sequence[float | None]) -> dict[str, Any]:
    """A line over the minutes, with nothing where nobody searched."""
    data = [None if value is None else round(value, 1) for value in values_ms]
    return {
        "name": f"{name} ms",
        "type": "line",
        "yAxisIndex": 1,
        "symbolSize": 5,
        "connectNulls": True,
        "data": data,
    }


def _ms(value_ms: float | None) -> str:
    return "–" if value_ms is None else f"{value_ms:.0f} ms"


def _share(part: int, whole: int) -> str:
    return "–" if not whole else f"{100 * part / whole:.0f} %"

"""The first page: what is stored, and how searches went in the last hour. It is counted anew every few seconds."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from nicegui import ui

from recollect.domain.layers import Layer
from recollect.domain.memory import MemoryType
from recollect.surfaces.dashboard.widgets import chart, empty, stat

if TYPE_CHECKING:
    from recollect.domain.overview import Overview
    from recollect.surfaces.dashboard.visitor import Visitor

_EVERY_S = 5.0
_MINUTES = 60
_LATEST = 5


async def build(visitor: Visitor) -> None:
    """The page."""

    @ui.refreshable
    async def shown() -> None:
        found = await (await visitor.store()).overview(minutes=_MINUTES)
        _numbers(found)
        if not found.memories and not found.documents:
            with ui.card().classes("card w-full"):
                empty(
                    "psychology",
                    "Nothing is remembered yet",
                    then="Store the first memory from a shell, from Python or over HTTP; it is counted here at once.",
                    command='recollect add "Ana prefers the morning for calls"',
                )
            return
        with ui.row().classes("w-full gap-4 items-stretch"):
            with ui.card().classes("card grow basis-96"):
                ui.label("Memories by layer and type").classes("title")
                _memories(found)
            with ui.card().classes("card grow basis-96"):
                ui.label(f"Searches in the last {_MINUTES} minutes, UTC").classes("title")
                _searches(found)
        with ui.row().classes("w-full gap-4 items-stretch"):
            with ui.card().classes("card grow basis-96 gap-2"):
                _heading("Newest memories", "/memories")
                for memory in await (await visitor.store()).list(limit=_LATEST):
                    with ui.link(target=f"/memories/{memory.id}").classes("said no-underline") as row:
                        row.style("color: inherit")
                        ui.label(memory.text).classes("prose line-clamp-1")
            with ui.card().classes("card grow basis-96 gap-2"):
                _heading("Latest searches", "/traces")
                for trace in await (await visitor.store()).traces.list(limit=_LATEST):
                    with ui.link(target=f"/traces/{trace.id}").classes("said no-underline") as row:
                        row.style("color: inherit")
                        ui.label(trace.question or f"{trace.category} question").classes("prose line-clamp-1")

    await shown()
    ui.timer(_EVERY_S, shown.refresh, immediate=False)


def _heading(title: str, address: str) -> None:
    with ui.row().classes("w-full items-center"):
        ui.label(title).classes("title")
        ui.space()
        ui.link("All", address).classes("link text-sm")


def _numbers(found: Overview) -> None:
    with ui.element("div").classes("grid w-full gap-4 grid-cols-2 sm:grid-cols-3 lg:grid-cols-6"):
        stat("Memories", f"{found.memories:,}")
        stat("Documents", f"{found.documents:,}")
        stat(
            "Searches / min",
            f"{found.searched / found.minutes:.1f}",
            note=f"{found.searched:,} in {found.minutes} minutes",
        )
        stat("Latency p50", _ms(found.p50_ms), note=f"p95 {_ms(found.p95_ms)}, p99 {_ms(found.p99_ms)}")
        stat(
            "Decomposed",
            _share(found.decomposed, found.searched),
            note=f"{found.decomposed:,} of {found.searched:,} searches",
        )
        stat(
            "Cache hits",
            _share(found.cached_calls, found.tool_calls),
            note=f"{found.cached_calls:,} of {found.tool_calls:,} tool calls",
        )


def _memories(found: Overview) -> None:
    layers = [layer for layer in Layer if any(one.layer is layer for one in found.counted)]
    count = {(one.layer, one.type): one.memories for one in found.counted}
    types = [kind for kind in MemoryType if any(one.type is kind for one in found.counted)]
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


def _searches(found: Overview) -> None:
    if not found.searches:
        empty("search", "No searches yet", then="Search here under Memories, or let an agent do it.")
        return
    now = datetime.now(UTC).replace(second=0, microsecond=0)
    minutes = [now - timedelta(minutes=back) for back in range(found.minutes, -1, -1)]
    by_minute = {search.at.astimezone(UTC): search for search in found.searches}
    shown = [by_minute.get(minute) for minute in minutes]
    chart(
        {
            "xAxis": {"type": "category", "data": [f"{minute:%H:%M}" for minute in minutes]},
            "yAxis": [
                {"type": "value", "name": "a minute", "minInterval": 1},
                {"type": "value", "name": "ms", "splitLine": {"show": False}},
            ],
            "series": [
                {"name": "searches", "type": "bar", "data": [one.searches if one else 0 for one in shown]},
                _percentile("p50", [one.p50_ms if one else None for one in shown]),
                _percentile("p95", [one.p95_ms if one else None for one in shown]),
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

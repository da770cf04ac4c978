"""Comparing strategies on live questions: what the experiment shows so far, starting one, and stopping it."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from nicegui import ui

from recollect.domain.query import SIGNALS
from recollect.errors import InvalidInputError, NotFoundError
from recollect.surfaces.dashboard.widgets import PALETTE, Dialog, chart, confirmed, empty, quiet, tag, when

if TYPE_CHECKING:
    from recollect.domain.learning import ArmReport, Estimate, ExperimentReport
    from recollect.surfaces.dashboard.visitor import Visitor

_UNITS = ("user", "session", "query")
_CONTROL = "as now"
_MOST_ARMS = 10


@dataclass(slots=True)
class _Arm:
    """A strategy that is tried: weights by signal."""

    name: str
    weights: dict[str, float] = field(default_factory=lambda: dict.fromkeys(SIGNALS, 1.0))


@dataclass(slots=True)
class _Planned:
    """An experiment that is being put together; the first arm, ranking as now, is always there."""

    name: str = ""
    unit: str = "user"
    share: float = 0.5
    arms: list[_Arm] = field(default_factory=lambda: [_Arm("new")])

    def arguments(self) -> dict[str, Any]:
        """As `start_experiment` takes it."""
        names = [_CONTROL, *(arm.name.strip() for arm in self.arms)]
        if len(set(names)) < len(names):
            raise InvalidInputError("two arms have the same name; give each its own")
        each = self.share / len(self.arms)
        return {
            "name": self.name,
            "arms": {_CONTROL: {}} | {arm.name.strip(): dict(arm.weights) for arm in self.arms},
            "shares": {_CONTROL: 1 - self.share} | {arm.name.strip(): each for arm in self.arms},
            "unit": self.unit,
        }


async def show(visitor: Visitor, refresh: Any) -> None:
    """The running experiment, or the last one."""
    try:
        report = await (await visitor.store()).learning.report()
    except NotFoundError:
        report = None
    with ui.row().classes("w-full items-center gap-2"):
        ui.label("Experiment").classes("title")
        if report is not None:
            _title(report)
        ui.space()
        if report is not None and report.experiment.state == "running":
            name = report.experiment.name
            ui.button("Stop", icon="stop", on_click=lambda: _stop(visitor, name, refresh)).props(
                "flat color=negative"
            )
        else:
            ui.button("Start one", icon="science", on_click=lambda: _start(visitor, refresh)).props("flat")
    if report is None:
        empty(
            "science",
            "Nothing was compared yet",
            then="An experiment ranks some users' searches by other weights, and says which results were used more.",
        )
        return
    ui.label(report.verdict).classes("prose")
    if any(arm.used.value is not None for arm in report.arms):
        _intervals(report)
    for arm in report.arms:
        _arm(arm, wins=arm.arm == report.winner)


def _title(report: ExperimentReport) -> None:
    running = report.experiment.state == "running"
    ui.label(report.experiment.name).classes("prose")
    tag(report.experiment.state, "good" if running else "")
    quiet(f"{when(report.experiment.created_at)}, drawn per {report.experiment.unit}")


def _intervals(report: ExperimentReport) -> None:
    """How often results were used, with what is certain at 95 %: a bar from the lower to the upper end."""
    arms = [arm for arm in reversed(report.arms) if arm.used.value is not None]
    ends = [_ends(arm.used) for arm in arms]
    most = min(100, 10 * math.ceil(10 * max(high for _, high in ends) + 0.5))
    chart(
        {
            "xAxis": {"type": "value", "name": "% used", "min": 0, "max": most},
            "yAxis": {"type": "category", "data": [arm.arm for arm in arms]},
            "legend": {"show": False},
            "tooltip": {"show": False},
            "grid": {"left": 8, "right": 56, "top": 8, "bottom": 8, "containLabel": True},
            "series": [
                {
                    "type": "bar",
                    "stack": "interval",
                    "silent": True,
                    "itemStyle": {"color": "transparent"},
                    "data": [round(100 * low, 2) for low, _ in ends],
                },
                {
                    "type": "bar",
                    "stack": "interval",
                    "barWidth": 12,
                    "itemStyle": {"color": f"{PALETTE[0]}66", "borderRadius": 6},
                    "data": [round(100 * (high - low), 2) for low, high in ends],
                },
                {
                    "type": "scatter",
                    "symbolSize": 9,
                    "itemStyle": {"color": PALETTE[0]},
                    "data": [round(100 * (arm.used.value or 0.0), 2) for arm in arms],
                },
            ],
        },
        height_px=60 + 44 * len(arms),
    )


def _ends(estimate: Estimate) -> tuple[float, float]:
    value = estimate.value or 0.0
    low = value if estimate.low is None else estimate.low
    high = value if estimate.high is None else estimate.high
    return max(low, 0.0), min(high, 1.0)


def _arm(arm: ArmReport, *, wins: bool) -> None:
    with ui.row().classes("w-full items-center gap-x-3 gap-y-0"):
        ui.label(arm.arm).classes("font-medium prose")
        if wins:
            tag("best", "good")
        parts = [f"{100 * arm.share:.0f} % of lots", f"{arm.queries:,} searches"]
        parts += [f"used {_share(arm.used)}"] if arm.used.value is not None else []
        parts += [f"asked again {_share(arm.refined)}"] if arm.refined.value is not None else []
        parts += [f"feedback {arm.feedback.value:+.2f}"] if arm.feedback.value is not None else []
        quiet(" · ".join(parts))


def _share(estimate: Estimate) -> str:
    span = ""
    if estimate.low is not None and estimate.high is not None:
        span = f" ({100 * estimate.low:.1f} to {100 * estimate.high:.1f} %)"
    return f"{100 * (estimate.value or 0.0):.1f} %{span}"


async def _stop(visitor: Visitor, name: str, refresh: Any) -> None:
    if await confirmed(f"Stop the experiment {name!r}? Its report stays.", act="Stop"):
        await (await visitor.store()).learning.stop_experiment(name)
        ui.notify(f"Stopped: {name}", type="positive")
        await refresh()


async def _start(visitor: Visitor, refresh: Any) -> None:
    planned = _Planned()

    @ui.refreshable
    def arms() -> None:
        for arm in planned.arms:
            _edited(arm)

    def another() -> None:
        if len(planned.arms) < _MOST_ARMS - 1:
            planned.arms.append(_Arm(f"new {len(planned.arms) + 1}"))
            arms.refresh()

    async def start() -> None:
        await (await visitor.store()).learning.start_experiment(**planned.arguments())

    with Dialog("Start an experiment", act="Start", do=start) as dialog:
        ui.input("Name", placeholder="newer-first").bind_value(planned, "name").props("autofocus")
        ui.select(list(_UNITS), label="Lots are drawn per").bind_value(planned, "unit")
        quiet(f"Searches of the arm “{_CONTROL}” are ranked as without the experiment.")
        arms()
        ui.button("Another arm", icon="add", on_click=another).props("flat dense").classes("self-start")
        with ui.column().classes("w-full gap-0"):
            quiet("Share of lots that get another ranking", "text-xs")
            ui.slider(min=0.05, max=0.95, step=0.05).props("label").bind_value(planned, "share")
    if await dialog:
        ui.notify(f"Started: {planned.name}", type="positive")
        await refresh()


def _edited(arm: _Arm) -> None:
    with ui.column().classes("w-full gap-2 q-pa-md rounded-lg").style("border: 1px solid var(--line)"):
        ui.input("Arm").bind_value(arm, "name")
        for signal in SIGNALS:
            with ui.row().classes("w-full no-wrap items-center gap-3"):
                ui.label(signal.replace("_", " ")).classes("text-sm w-40")
                ui.slider(min=0, max=1, step=0.05).props(f'label aria-label="{signal}"').classes(
                    "grow"
                ).bind_value(arm.weights, signal)

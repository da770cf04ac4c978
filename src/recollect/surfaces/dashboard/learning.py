"""Learning, for admins: rewards over time, the weights that are used, what is still missing, and experiments."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from nicegui import ui

from recollect.domain.query import SIGNALS
from recollect.surfaces.dashboard import experiment
from recollect.surfaces.dashboard.widgets import (
    card,
    chart,
    empty,
    fields,
    in_a_word,
    nothing,
    quiet,
    stat,
    tag,
    when,
)

if TYPE_CHECKING:
    from datetime import datetime

    from recollect.domain.learning import LearningStatus, Policy, RunSummary, TrainReport
    from recollect.surfaces.dashboard.visitor import Visitor

#: The latest runs that are drawn, and how many of them each point of the smooth line is the mean of.
_RUNS, _SMOOTHED = 1_000, 20


async def build(visitor: Visitor) -> None:
    """The page."""

    @ui.refreshable
    async def panels() -> None:
        learning = (await visitor.store()).learning
        status, runs = await learning.status(), await learning.runs(limit=_RUNS)
        _numbers(status)
        with ui.row().classes("w-full gap-4 items-stretch"):
            with card("Reward of decomposed searches", "grow basis-96"):
                _rewards(runs, status)
            with card("What came of searches", "grow basis-72"):
                _counted(status)
        with card("Weights of the signals", "w-full gap-3"):
            _weights(status)
        with card("How questions are decomposed", "w-full gap-3"):
            _decomposition(status)
        with ui.card().classes("card w-full gap-3"):
            await experiment.show(visitor, panels.refresh)

    async def train() -> None:
        button.props("loading")
        try:
            report = await (await visitor.store()).learning.train()
        finally:
            button.props(remove="loading")
        _say(report)
        await panels.refresh()

    with ui.row().classes("w-full items-center"):
        quiet("Everything here is of your tenant alone.")
        ui.space()
        button = ui.button("Train now", icon="model_training", on_click=train).props("unelevated")
    await panels()


def _say(report: TrainReport) -> None:
    """What a training did, in a few words."""
    parts = [f"{report.rewarded} memories rated anew"]
    parts += [f"{policy.strategy}: {policy.state}" for policy in report.policies]
    parts += list(report.skipped)
    if report.decomposition is not None:
        used = "a new policy is used" if report.decomposition.adopted else "no new policy"
        parts.append(f"decomposition: {used}; {report.decomposition.reason}")
    ui.notify("Trained", caption=" · ".join(parts)[:500], type="positive", multi_line=True, timeout=10_000)


def _numbers(status: LearningStatus) -> None:
    if not status.enabled:
        nothing(
            "pause_circle",
            "Learning is off",
            then="Nothing is recorded on this server. Whoever starts it can switch it on.",
            command="RECOLLECT_LEARNING=true recollect serve",
        )
    lost = status.log.dropped + status.log.failed
    with ui.element("div").classes("grid w-full gap-4 grid-cols-2 md:grid-cols-5"):
        stat("Searches", f"{status.events:,}", note=f"{lost:,} were lost" if lost else "recorded")
        stat("Judged", f"{status.judged:,}", note=f"of {status.needed:,} a kind needs")
        stat("Feedback", f"{sum(status.feedback.values()):,}", note=f"{status.pending:,} wait for training")
        stat("Usual reward", f"{status.baseline:+.2f}", note="of a search")
        stat("Runs", f"{status.runs:,}", note="decomposed searches")


# Rewards -------------------------------------------------------------------------------------------


def _rewards(runs: Sequence[RunSummary], status: LearningStatus) -> None:
    points = rewards_of(runs)
    if not points:
        if runs:
            then = f"{len(runs):,} were recorded; training gives them a reward once it is known what came of them."
        else:
            then = "Complex questions are decomposed. Once it is known what was of use, training rates how that went."
        empty("show_chart", "No reward yet", then=then)
        return
    chart(
        {
            "xAxis": {"type": "time", "axisLabel": {"color": "#8a92a6", "hideOverlap": True}},
            "yAxis": {"type": "value", "min": -1, "max": 1},
            "series": [
                {
                    "name": "reward",
                    "type": "scatter",
                    "symbolSize": 4,
                    "itemStyle": {"opacity": 0.45},
                    "data": [[at.isoformat(), round(reward, 3)] for at, reward in points],
                },
                {
                    "name": f"mean of {_SMOOTHED}",
                    "type": "line",
                    "showSymbol": len(points) == 1,
                    "lineStyle": {"width": 3},
                    "data": [[at.isoformat(), round(mean, 3)] for at, mean in smoothed(points)],
                },
            ],
        }
    )


def rewards_of(runs: Sequence[RunSummary]) -> list[tuple[datetime, float]]:
    """When runs began and what training made of them, the oldest first."""
    rated = [(run.started_at, run.reward) for run in runs if run.reward is not None]
    return sorted(rated, key=lambda point: point[0])


def smoothed(points: Sequence[tuple[datetime, float]]) -> list[tuple[datetime, float]]:
    """Each point as the mean of it and those before it."""
    means = []
    for end, (at, _) in enumerate(points, start=1):
        window = [reward for _, reward in points[max(0, end - _SMOOTHED) : end]]
        means.append((at, sum(window) / len(window)))
    return means


def _counted(status: LearningStatus) -> None:
    if not status.outcomes and not status.feedback:
        empty(
            "rule",
            "Nothing is known yet",
            then="Say which memories served a response, or what one was worth: agents do it, and so can you under "
            "Memories.",
            command="recollect feedback MEMORY_ID helpful",
        )
        return
    for title, counts in (("Outcomes", status.outcomes), ("Feedback", status.feedback)):
        if counts:
            quiet(title)
            _bars(counts)


def _bars(counts: Mapping[str, int]) -> None:
    most = max(counts.values()) or 1
    for name, count in sorted(counts.items(), key=lambda pair: -pair[1]):
        with ui.row().classes("w-full no-wrap items-center gap-2"):
            ui.label(name).classes("text-sm w-28 ellipsis")
            ui.linear_progress(value=count / most, show_value=False).classes("grow").props("rounded size=8px")
            ui.label(f"{count:,}").classes("mono w-16 text-right")


# Policies ------------------------------------------------------------------------------------------


def _weights(status: LearningStatus) -> None:
    from recollect.retrieval.understand import STRATEGY_WEIGHTS

    active = [policy for policy in status.policies if policy.state == "active"]
    if not active:
        then = (
            f"These are the weights it comes with. {status.needed:,} judged searches of a kind teach better ones; "
            f"there are {status.judged:,} of all kinds."
        )
        quiet(then)
    with ui.element("div").classes("grid w-full gap-4 sm:grid-cols-2"):
        for strategy, table in STRATEGY_WEIGHTS.items():
            learned = [weights for weights in active if weights.strategy == strategy]
            with ui.column().classes("w-full gap-0 min-w-0"):
                ui.label(strategy.replace("_", " ")).classes("text-sm font-medium")
                _strategy(table, learned)
    for policy in status.policies:
        _policy(policy)


def _strategy(table: Mapping[str, float], learned: Sequence[Policy]) -> None:
    series: list[dict[str, Any]] = [{"name": "table", "type": "bar", "data": _per_signal(table)}]
    for weights in learned:
        name = f"learned for {weights.user_id}" if weights.user_id else "learned"
        series.append({"name": name, "type": "bar", "data": _per_signal(weights.weights)})
    chart(
        {
            "xAxis": {
                "type": "category",
                "data": [in_a_word(name) for name in SIGNALS],
                "axisLabel": {"color": "#8a92a6", "interval": 0, "fontSize": 10},
            },
            "yAxis": {"type": "value", "min": 0},
            "legend": {
                "show": len(series) > 1,
                "textStyle": {"color": "#8a92a6"},
                "top": 0,
                "type": "scroll",
            },
            "grid": {
                "left": 4,
                "right": 8,
                "top": 28 if len(series) > 1 else 12,
                "bottom": 4,
                "containLabel": True,
            },
            "series": series,
        },
        height_px=190,
    )


def _per_signal(weights: Mapping[str, float]) -> list[float]:
    return [round(weights.get(name, 0.0), 3) for name in SIGNALS]


def _policy(policy: Policy) -> None:
    """Where weights come from, in words."""
    with ui.row().classes("items-center gap-2 w-full"):
        tag(policy.state, "good" if policy.state == "active" else "")
        ui.label(policy.strategy.replace("_", " ")).classes("text-sm")
        who = f"for {policy.user_id}" if policy.user_id else "for everybody"
        quiet(f"{who} · from {policy.events:,} searches · {when(policy.created_at)}", "text-sm prose")
        quiet(str(policy.evaluation.get("reason", "")), "text-sm prose")


def _decomposition(status: LearningStatus) -> None:
    if not status.decomposition:
        empty(
            "account_tree",
            "The policy that came with Recollect is used",
            then="Training makes one of your own from what came of your questions. Before there are any, it can "
            "practise on questions made from what your memories name.",
            command="recollect learning bootstrap",
        )
        return
    for policy in status.decomposition:
        with ui.row().classes("items-center gap-2"):
            tag(policy.state, "good" if policy.state == "active" else "")
            ui.label(policy.environment)
            quiet(f"from {policy.runs:,} runs · {when(policy.created_at)}")
        fields([(name.replace("_", " "), value) for name, value in policy.evaluation.items()])

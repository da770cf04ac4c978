"""`recollect feedback learning`: what recalled memories were worth, and what was learned from it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from recollect.errors import InvalidInputError
from recollect.surfaces.cli.invocation import (
    Invocation,
    YesOption,
    invocation,
    noun_app,
    opened,
    parse_json,
    parse_object,
)

if TYPE_CHECKING:
    from recollect.domain.learning import DecompositionStatus, Estimate, Experiment, Policy

app = typer.Typer(rich_markup_mode=None)
learning_app = noun_app("learning", "What searches have taught; for admins.")
experiment_app = noun_app("experiment", "Compare strategies on live questions.")
app.add_typer(learning_app)
learning_app.add_typer(experiment_app)


@app.command()
def feedback(
    ctx: typer.Context,
    memory_id: Annotated[str, typer.Argument(help="The memory's id.")],
    kind: Annotated[str, typer.Argument(help="helpful, irrelevant, outdated, inaccurate or duplicate.")],
    score: Annotated[float | None, typer.Option(help="-1 to 1; each kind has its own default.")] = None,
    query_id: Annotated[
        str | None, typer.Option("--query-id", help="The search that returned it.", metavar="ID")
    ] = None,
) -> None:
    """Say what a recalled memory was worth, so that it is ranked accordingly."""
    with opened(ctx) as (inv, client):
        given = client.feedback(memory_id, kind, score=score, query_id=query_id)
    inv.out.result(given)
    when = "" if given.applied else "; it counts with the next 'recollect learning train'"
    inv.out.line(f"noted: {given.kind.value} ({given.score:+.1f}){when}")


@learning_app.command("status")
def status(ctx: typer.Context) -> None:
    """Show what is recorded and what was learned from it."""
    with opened(ctx) as (inv, client):
        report = client.learning.status()
    inv.out.result(report)
    log = report.log
    inv.out.pairs(
        [
            ("learning", "on" if report.enabled else "off"),
            ("searches recorded", report.events),
            ("outcomes", _counts(report.outcomes)),
            (
                "judged",
                f"{report.judged} (weights are learned from {report.needed} on, per kind of question)",
            ),
            ("feedback", _counts(report.feedback)),
            ("waiting for training", report.pending or None),
            ("usual reward", report.baseline),
            ("runs recorded", report.runs or None),
            ("decomposition", _decomposition(report.decomposition)),
            ("experiment", report.experiment.name if report.experiment else None),
            (
                "not recorded",
                f"{log.dropped} dropped, {log.failed} failed" if log.dropped + log.failed else "",
            ),
        ]
    )
    if report.policies:
        _show_policies(inv, report.policies)


@learning_app.command("train")
def train(ctx: typer.Context) -> None:
    """Learn from what is recorded.

    What memories are worth, and weights that prove better than those in use.
    """
    with opened(ctx) as (inv, client):
        report = client.learning.train()
    inv.out.result(report)
    inv.out.line(f"{report.rewarded} memories rated anew; the usual reward is {report.baseline:+.2f}")
    if report.decomposition is not None and report.decomposition.runs:
        used = "a new policy is used" if report.decomposition.adopted else "no new policy"
        inv.out.line(f"decomposition: {used}; {report.decomposition.reason}")
    if report.policies:
        _show_policies(inv, report.policies)
    for reason in report.skipped:
        inv.out.aside(reason)
    if not report.policies and not report.skipped:
        inv.out.aside(
            "no kind of question has enough judged searches yet; 'recollect learning status' counts them"
        )


@learning_app.command("bootstrap")
def bootstrap(
    ctx: typer.Context,
    iterations: Annotated[int, typer.Option(help="Batches of synthetic questions.", metavar="N")] = 20,
    seed: Annotated[int, typer.Option(help="Other questions for another number.", metavar="N")] = 0,
) -> None:
    """Learn how to decompose questions from synthetic ones.

    They are made from what the memories name. The policy is used only if it isn't worse on kinds that did not train.
    """
    with opened(ctx) as (inv, client):
        result = client.learning.bootstrap(iterations=iterations, seed=seed)
    inv.out.result(result)
    if not result.iterations:
        inv.out.line(result.reason)
        return
    used = "is used from now on" if result.adopted else "is not used"
    inv.out.line(f"the new policy {used}: reward {result.reason}")
    inv.out.pairs(
        [
            ("tasks", f"{result.tasks} to train, {result.held_out} held out; {result.runs} runs"),
            ("reward", f"{result.reward_before:.3f} before, {result.reward_after:.3f} after"),
            ("gain", f"{result.gain:+.3f} ({result.gain_low:+.3f} to {result.gain_high:+.3f})"),
            ("tool calls", f"{result.subcalls_before:.1f} before, {result.subcalls_after:.1f} after"),
        ]
    )


@learning_app.command("runs")
def runs(ctx: typer.Context, limit: Annotated[int, typer.Option(help="How many.", metavar="N")] = 20) -> None:
    """List decomposed searches, and consultations read in steps."""
    with opened(ctx) as (inv, client):
        page = client.learning.runs(limit=limit)
    inv.out.result({"runs": list(page)})
    columns = "at, environment:cyan, by, ended, calls>, tokens>, outcome, reward>"
    rows = [
        (
            f"{run.started_at:%Y-%m-%d %H:%M}",
            run.environment,
            run.user_id,
            run.stopped_by,
            run.subcalls,
            run.tokens,
            (run.outcome or "").replace("_", " "),
            "" if run.reward is None else f"{run.reward:+.2f}",
        )
        for run in page
    ]
    inv.out.table(columns, rows)


@learning_app.command("reset")
def reset(
    ctx: typer.Context,
    events: Annotated[
        bool, typer.Option("--events", help="Erase recorded searches and feedback, too.")
    ] = False,
    yes: YesOption = False,
) -> None:
    """Forget learned weights and experiments.

    Every memory is rated the same again.
    """
    with opened(ctx, "Forget everything that was learned?", yes=yes) as (inv, client):
        rows = client.learning.reset(events=events)
    inv.out.result({"rows": rows})
    inv.out.line(f"forgotten: {_counts({name: n for name, n in rows.items() if n}) or 'nothing was there'}")


@experiment_app.command("start")
def start(
    ctx: typer.Context,
    name: Annotated[str, typer.Argument(help="A name for the experiment.")],
    arm: Annotated[
        list[str],
        typer.Option(
            "--arm",
            help="NAME, or NAME='{\"temporal_relevance\": 1}'; repeat. The first is what others are compared with.",
            metavar="ARM",
        ),
    ],
    share: Annotated[
        list[str] | None, typer.Option("--share", help="ARM=0.1; equal ones if not given.", metavar="SHARE")
    ] = None,
    unit: Annotated[str, typer.Option(help="What a lot is drawn for: user, session or query.")] = "user",
) -> None:
    """Start comparing strategies.

    A NAME alone ranks as without the experiment.
    """
    inv = invocation(ctx)
    arms: dict[str, Any] = {}
    for text in arm:
        key, _, weights = text.partition("=")
        arms[key.strip()] = (parse_object(weights, what=f"arm {key!r}") if weights else None) or {}
    shares = {}
    for text in share or ():
        key, _, number = text.partition("=")
        shares[key.strip()] = parse_json(number or None, what=f"share {key!r}")
    if len(arms) < len(arm):
        raise InvalidInputError("two arms have the same name")
    with inv.client() as client:
        started = client.learning.start_experiment(name, arms, shares=shares or None, unit=unit)
    _show_experiment(inv, started)


@experiment_app.command("stop")
def stop(ctx: typer.Context, name: Annotated[str, typer.Argument(help="The experiment's name.")]) -> None:
    """Stop an experiment; its report stays."""
    with opened(ctx) as (inv, client):
        stopped = client.learning.stop_experiment(name)
    _show_experiment(inv, stopped)


@experiment_app.command("report")
def report(
    ctx: typer.Context,
    name: Annotated[str | None, typer.Argument(help="The latest if not given.")] = None,
) -> None:
    """Show the arms side by side, and what they prove."""
    with opened(ctx) as (inv, client):
        comparison = client.learning.report(name)
    inv.out.result(comparison)
    columns = "arm:cyan, share>, searches>, used, refined, feedback"
    rows = [
        (
            arm.arm,
            f"{arm.share:.0%}",
            arm.queries,
            _share(arm.used),
            _share(arm.refined),
            _score(arm.feedback),
        )
        for arm in comparison.arms
    ]
    inv.out.table(columns, rows)
    inv.out.line(comparison.verdict)


def _share(estimate: Estimate) -> str:
    if estimate.value is None:
        return ""
    span = "" if estimate.low is None else f" ({estimate.low:.1%} to {estimate.high:.1%})"
    return f"{estimate.value:.1%}{span}"


def _score(estimate: Estimate) -> str:
    if estimate.value is None:
        return ""
    span = "" if estimate.low is None else f" ({estimate.low:+.2f} to {estimate.high:+.2f})"
    return f"{estimate.value:+.2f}{span}"


def _counts(counts: Any) -> str:
    return ", ".join(f"{name} {number}" for name, number in sorted(counts.items()))


def _decomposition(policies: Sequence[DecompositionStatus]) -> str:
    """The policy in use, and why the last one that was tried is not."""
    if not policies:
        return "base policy"
    return "; ".join(
        f"{policy.state} since {policy.created_at:%Y-%m-%d} from {policy.runs} runs "
        f"({policy.evaluation.get('reason', '')})"
        for policy in policies
    )


def _show_experiment(inv: Invocation, experiment: Experiment) -> None:
    inv.out.result(experiment)
    arms = ", ".join(f"{arm} {share:.0%}" for arm, share in experiment.shares.items())
    inv.out.line(f"{experiment.name} is {experiment.state}: {arms}, drawn per {experiment.unit}")


def _show_policies(inv: Invocation, policies: Sequence[Policy]) -> None:
    columns = "questions:cyan, of, state, searches>, weights*, why:dim*"
    rows = [
        (
            policy.strategy,
            policy.user_id or "everybody",
            policy.state,
            policy.events,
            ", ".join(f"{name} {weight:.2f}" for name, weight in policy.weights.items()),
            policy.evaluation.get("reason", ""),
        )
        for policy in policies
    ]
    inv.out.table(columns, rows)

"""`recollect explore` and `explorations`: asking about code, and what was found before.

The database is not opened: exploring needs a folder alone. While a person watches, the steps are drawn as a tree on
standard error (`runs.py`), so that a pipe gets the answer and nothing else.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from recollect.surfaces.cli.invocation import (
    LimitOption,
    ModelOption,
    given,
    invocation,
    read_argument,
    read_file,
)
from recollect.surfaces.cli.output import Output, one_line
from recollect.surfaces.cli.runs import call_line, show_answer, show_plan, watch_steps
from recollect.surfaces.counts import many

if TYPE_CHECKING:
    from recollect.domain.codebase import ExplorationTrajectory, ExplorePlan, RLMResult

app = typer.Typer(rich_markup_mode=None)
explorations_app = typer.Typer(
    name="explorations", help="What explorations of code found.", rich_markup_mode=None
)
app.add_typer(explorations_app)

_Task = Annotated[str, typer.Argument(help="The task's id.", metavar="TASK_ID")]


@app.command()
def explore(
    ctx: typer.Context,
    path: Annotated[str, typer.Argument(help="The folder of the code.", metavar="PATH")],
    query: Annotated[
        str, typer.Argument(help="What to look for; - reads standard input. A preset may have its own.")
    ] = "",
    hint: Annotated[
        list[str] | None,
        typer.Option(
            "--hint",
            help="Begin here: a path, symbol, glob, file:line, or @FILE with a stack trace; repeat for more.",
            metavar="HINT",
        ),
    ] = None,
    preset: Annotated[
        str | None,
        typer.Option(help="repo mapper, architecture surveyor, debugger or validation.", metavar="NAME"),
    ] = None,
    model: ModelOption = None,
    max_subcalls: Annotated[
        int | None, typer.Option("--max-subcalls", help="Tool calls in all (RLM_MAX_SUBCALLS).", min=0)
    ] = None,
    max_per_iteration: Annotated[
        int | None,
        typer.Option("--max-per-iteration", help="Tool calls of one step (RLM_MAX_PER_ITERATION).", min=0),
    ] = None,
    timeout: Annotated[
        float | None, typer.Option("--timeout", help="Seconds in all (RLM_TIMEOUT).", min=0.0)
    ] = None,
    max_tokens: Annotated[
        int | None, typer.Option("--max-tokens", help="Tokens to and from the model.", min=0)
    ] = None,
    max_usd: Annotated[
        float | None, typer.Option("--max-usd", help="Dollars for the model.", min=0.0)
    ] = None,
    task_id: Annotated[
        str | None, typer.Option("--task-id", help="Name of the record; made up when not given.")
    ] = None,
    audit_dir: Annotated[
        str | None,
        typer.Option("--audit-dir", help="Folder of the record (RLM_AUDIT_DIR).", metavar="FOLDER"),
    ] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Take up the task of --task-id where it broke off.")
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say where it would begin and cost at most; ask nobody.")
    ] = False,
) -> None:
    """Answer a question about the code below a folder, with checked citations.

    Reads only, below that folder. Without a model the answer is made of the code itself.
    """
    inv = invocation(ctx)
    request = {
        "query": read_argument(query, what="query"),
        "context_hints": [_hint(text) for text in hint or ()],
    }
    with inv.unopened_client() as client:
        if dry_run:
            _show_plan(inv.out, client.explore_dry_run(**{**given(ctx, "explore_dry_run"), **request}))
            return
        with watch_steps(inv.out, "exploring") as (on_event, progress):
            arguments = {**given(ctx, "explore"), **request}
            result = client.explore(**arguments, on_event=on_event, progress=progress)
    _show_result(inv.out, result)


@explorations_app.callback(invoke_without_command=True)
def bare(ctx: typer.Context, limit: LimitOption = 20) -> None:
    """What explorations of code found; called bare, the latest."""
    if ctx.invoked_subcommand is None:
        list_explorations(ctx, limit)


@explorations_app.command("list")
def list_explorations(ctx: typer.Context, limit: LimitOption = 20) -> None:
    """List the latest explorations."""
    inv = invocation(ctx)
    with inv.unopened_client() as client:
        _show_list(inv.out, client.explorations.list(limit=limit))


@explorations_app.command("show")
def show(
    ctx: typer.Context,
    task_id: _Task,
    steps: Annotated[bool, typer.Option("--steps", help="Show its steps instead of the answer.")] = False,
) -> None:
    """Show an exploration with its answer, as it was."""
    inv = invocation(ctx)
    with inv.unopened_client() as client:
        result = client.explorations.get(task_id)
    if steps and not inv.out.as_json:
        _show_steps(inv.out, result.trajectory)
    else:
        _show_result(inv.out, result)


@explorations_app.command("replay")
def replay(ctx: typer.Context, task_id: _Task) -> None:
    """Play an exploration again from its record.

    No tree is read and no model is asked.
    """
    inv = invocation(ctx)
    with inv.unopened_client() as client:
        result = client.explorations.replay(task_id)
    if not inv.out.as_json:
        _show_steps(inv.out, result.trajectory)
    _show_result(inv.out, result)


def _hint(text: str) -> str:
    """A hint, or what stands in a file: stack traces have more lines than a shell likes."""
    return read_file(text[1:], what="hint") if text.startswith("@") and len(text) > 1 else text


# ---------------------------------------------------------------- what they print


def _show_result(out: Output, result: RLMResult) -> None:
    out.result(result)
    usage = result.usage
    model = (
        f", {many(usage.model_calls, 'model call')}, {usage.total_tokens:,} tokens" if result.model else ""
    )
    ended = "" if result.stopped_by == "done" else f"; stopped by {result.stopped_by}"
    written = f"; record {result.audit_file}" if result.audit_file else ""
    summary = (
        f"{many(usage.subcall_count, 'tool call')}, {usage.cached_subcalls} from the cache{model}, "
        f"{usage.wall_time_seconds:.1f} s{ended}{written}"
    )
    code = {finding.citations[0]: finding.evidence for finding in result.findings if finding.citations}
    show_answer(
        out,
        result.synthesis,
        result.citations,
        result.notes,
        found=result.success,
        summary=summary,
        code=code,
    )


def _show_steps(out: Output, trajectory: ExplorationTrajectory, indent: str = "") -> None:
    for step in trajectory.steps:
        out.line(f"{indent}{step.iteration}. {one_line(step.thought) or '(no thought)'}", style="bold")
        for call in step.tool_calls:
            line = call_line(
                call.tool,
                call.parameters,
                ms=call.duration_ms,
                cached=call.cached,
                refused=call.refused,
                summary=call.error or call.summary,
            )
            out.line(f"{indent}   {line}", style="red" if call.error else "dim")
            if call.child is not None:
                _show_steps(out, call.child, indent + "      ")


def _show_list(out: Output, results: Sequence[RLMResult]) -> None:
    if out.as_json:
        names = ("task_id", "query", "root", "success", "stopped_by", "audit_file")
        out.document(
            [
                {name: getattr(result, name) for name in names} | {"start_time": result.trajectory.start_time}
                for result in results
            ]
        )
        return
    if not results:
        out.aside("nothing was explored yet; try: recollect explore . 'where does it start?'")
    columns = "when:dim, question*, ended, calls>, task:dim"
    out.table(
        columns,
        [
            (
                result.trajectory.start_time,
                result.query,
                result.stopped_by,
                result.usage.subcall_count,
                result.task_id,
            )
            for result in results
        ],
    )


def _show_plan(out: Output, plan: ExplorePlan) -> None:
    show_plan(
        out,
        plan,
        [
            ("tree", f"{plan.root}: {plan.files:,} files, about {plan.material_tokens:,} tokens"),
            ("worth it", plan.reasons or ("small enough to be read directly",)),
            ("begins with", plan.likely_files[:10]),
            ("tool calls", f"at most {plan.max_subcalls}, {plan.max_subcalls_per_iteration} in a step"),
            ("time", f"at most {plan.timeout_seconds:g} s"),
            ("record", plan.audit_file),
        ],
    )

"""`recollect doctor sweep reembed consolidate worker overview traces settings completion`: looking after a store."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from recollect.domain.overview import OUTCOMES
from recollect.errors import InvalidInputError
from recollect.surfaces.cli.invocation import LimitOption, ScopeOption, given, invocation, noun_app, opened
from recollect.surfaces.cli.memories import show_receipt
from recollect.surfaces.cli.output import CHECK_FAILED
from recollect.surfaces.counts import many

if TYPE_CHECKING:
    from recollect.domain.results import Check
    from recollect.surfaces.cli.output import Progress

app = typer.Typer(rich_markup_mode=None)
traces_app = noun_app("traces", "Searches as they were recorded.")
app.add_typer(traces_app)

SHELLS = ("bash", "zsh", "fish", "powershell", "pwsh")


@app.command()
def doctor(
    ctx: typer.Context,
    isolation: Annotated[
        bool, typer.Option("--isolation", help="Attack the walls between tenants and scopes as well.")
    ] = False,
    indexes: Annotated[
        bool, typer.Option("--indexes", help="Compare every index with its table as well.")
    ] = False,
    crash: Annotated[
        bool,
        typer.Option("--crash", help="Kill the database of a throw-away store under writers as well."),
    ] = False,
    rounds: Annotated[
        int, typer.Option(help="How often --crash kills it.", min=1, max=100_000, metavar="N")
    ] = 5,
) -> None:
    """Check that the store is well; exit code 9 says it is not."""
    with opened(ctx) as (inv, client):
        checks = list(client.doctor(isolation=isolation, indexes=indexes))
    if crash:
        with inv.out.progress("killing") as progress:
            checks += _crash(inv.settings().embedder, rounds, progress)
    if inv.out.as_json:
        inv.out.document({"ok": all(check.ok for check in checks), "checks": checks})
    elif inv.out.on_terminal:
        mark = {True: inv.out.text("ok", "green"), False: inv.out.text("not ok", "bold red")}
        columns = ", check:cyan, found*"
        details = [c.detail if c.ok or not c.advice else f"{c.detail}\n{c.advice}" for c in checks]
        inv.out.table(columns, [(mark[c.ok], c.name, text) for c, text in zip(checks, details, strict=True)])
    else:
        rows = [
            ("ok" if c.ok else "not ok", c.name, c.detail, "" if c.ok else c.advice or "") for c in checks
        ]
        inv.out.table("", rows)
    if not all(check.ok for check in checks):
        raise typer.Exit(CHECK_FAILED)


def _crash(embedder: str, rounds: int, progress: Progress | None) -> list[Check]:
    """Kill the database of a store that is made for it, and gone afterwards."""
    from recollect.client.async_client import AsyncRecollect
    from recollect.config import Settings
    from recollect.doctor.crash import examine_crashes
    from recollect.storage.embedded import temporary_home

    async def run(home: Path) -> list[Check]:
        async with AsyncRecollect(settings=Settings(home=home, embedder=embedder)) as client:
            crashes = await examine_crashes(client, home, rounds=rounds, progress=progress)
            checks = await client.doctor(indexes=True)
        after = (replace(check, name="indexes after crashes") for check in checks if check.name == "indexes")
        return [crashes.check(), *after]

    with temporary_home() as home:
        return asyncio.run(run(home))


@app.command()
def sweep(ctx: typer.Context) -> None:
    """Erase what has expired, or is older than its layer is kept."""
    with opened(ctx) as (inv, client):
        receipt = client.sweep()
    show_receipt(inv.out, receipt)


@app.command()
def reembed(
    ctx: typer.Context,
    embedder: Annotated[
        str | None,
        typer.Argument(
            help="As arctic, minilm, wordllama, e5, openai:MODEL; the configured one if not given."
        ),
    ] = None,
) -> None:
    """Turn all texts into vectors anew.

    Searches answer meanwhile, and an interrupted run goes on where it was.
    """
    inv = invocation(ctx)
    with inv.client() as client, inv.out.progress("embedding") as progress:
        report = client.reembed(embedder, progress=progress)
    inv.out.result(report)
    inv.out.line(f"{many(report.embedded)} embedded with {report.space} in {report.seconds:.1f} s")


@app.command()
def settings(ctx: typer.Context) -> None:
    """Show every setting, and where its value comes from."""
    inv = invocation(ctx)
    rows = inv.settings().describe()
    columns = "setting:cyan, value*, from:dim, what it is:dim*"
    inv.out.show(rows, columns, lambda row: (row.name, row.value, row.source, row.help))


@app.command()
def completion(
    ctx: typer.Context,
    shell: Annotated[
        str | None, typer.Argument(help="bash, zsh, fish or powershell; yours if not given.")
    ] = None,
    install: Annotated[bool, typer.Option("--install", help="Put it where your shell looks.")] = False,
) -> None:
    """Print the completion script of a shell, or install it."""
    import shellingham  # type: ignore[import-untyped]
    from typer import completion as scripts

    inv = invocation(ctx)
    if shell is None:
        try:
            shell = shellingham.detect_shell()[0]
        except (shellingham.ShellDetectionFailure, OSError) as error:
            raise InvalidInputError(
                f"can't tell which shell this is; name it: {', '.join(SHELLS)}"
            ) from error
    if shell not in SHELLS:
        raise InvalidInputError(f"no completion for shell {shell!r}; shells are {', '.join(SHELLS)}")
    name, variable = "recollect", "_RECOLLECT_COMPLETE"
    if install:
        shell, path = scripts.install(shell=shell, prog_name=name, complete_var=variable)  # type: ignore[attr-defined]
        inv.out.result({"shell": shell, "file": path})
        inv.out.line(f"{shell} completion installed in {path}; open a new terminal")
        return
    script = scripts.get_completion_script(prog_name=name, complete_var=variable, shell=shell)  # type: ignore[attr-defined]
    if inv.out.as_json:
        inv.out.document({"shell": shell, "script": script})
    else:
        print(script)


@app.command()
def consolidate(
    ctx: typer.Context,
    scope: ScopeOption = None,
    kind: Annotated[
        list[str] | None,
        typer.Option(
            "--kind",
            help="Only summaries of this kind: session, scope, entity; repeat for more.",
            metavar="KIND",
        ),
    ] = None,
    entity: Annotated[
        str | None, typer.Option("--entity", help="Only the summary of this entity.", metavar="NAME")
    ] = None,
    conversation: Annotated[
        str | None,
        typer.Option("--conversation", help="Only the summary of this conversation.", metavar="NAME"),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Make again what is up to date, too.")] = False,
) -> None:
    """Summarise conversations, scopes and entities.

    Only what has no summary yet, or has changed since, is summarised. 'recollect list --type summary' shows them.
    """
    inv = invocation(ctx)
    with inv.client() as client, inv.out.progress("summarising") as progress:
        report = client.consolidate(**given(ctx, "consolidate"), progress=progress)
    inv.out.result(report)
    inv.out.line(
        f"{report.made} made, {report.refreshed} made again, {report.unchanged} up to date, "
        f"{report.removed} removed, {report.skipped} skipped"
    )
    for note in report.notes:
        inv.out.aside(note)


@app.command()
def worker(
    ctx: typer.Context,
    once: Annotated[bool, typer.Option("--once", help="Do what waits in the queue, and end.")] = False,
) -> None:
    """Run jobs until stopped: summaries when memories come in, sweeping, learning.

    From the first start on, adding memories hands work to it. Several workers share the queue, on one machine or
    on many; Ctrl-C or SIGTERM lets a running job end first.
    """
    from recollect.jobs import work

    inv = invocation(ctx)
    report = asyncio.run(work(inv.logged_settings(), once=once))
    inv.out.result(report)
    tasks = ", ".join(f"{name.rpartition('.')[2]} {count}" for name, count in sorted(report.jobs.items()))
    inv.out.line(f"{sum(report.jobs.values())} jobs done{f' ({tasks})' if tasks else ''}")


@app.command()
def overview(
    ctx: typer.Context,
    minutes: Annotated[int, typer.Option(help="How far to look back for searches.", min=1)] = 60,
) -> None:
    """Show memories by layer and type, and how the latest searches went."""
    with opened(ctx) as (inv, client):
        counts = client.overview(minutes=minutes)
    inv.out.result(counts)
    inv.out.pairs(
        [
            ("memories", counts.memories),
            ("documents", counts.documents),
            ("searches", f"{counts.searched} in the last {counts.minutes} minutes"),
            ("p50, p95, p99", _percentiles(counts.p50_ms, counts.p95_ms, counts.p99_ms)),
            ("decomposed", f"{counts.decomposed} of {counts.searched}" if counts.searched else None),
            ("consultations", counts.consultations),
            ("tool calls", f"{counts.tool_calls}, {counts.cached_calls} answered by a cache"),
        ]
    )
    if counts.counted:
        columns = "layer:cyan, type, memories>"
        inv.out.table(
            columns, [(cell.layer.value, cell.type.value, cell.memories) for cell in counts.counted]
        )


def _percentiles(*found_ms: float | None) -> str | None:
    known = [value for value in found_ms if value is not None]
    return ", ".join(f"{value:.0f}" for value in known) + " ms" if known else None


@traces_app.command("list")
def list_traces(
    ctx: typer.Context,
    by: Annotated[str | None, typer.Option(help="Only searches of this user.", metavar="USER")] = None,
    since: Annotated[str | None, typer.Option(help="Only from this time on.", metavar="TIME")] = None,
    before: Annotated[str | None, typer.Option(help="Only before this time.", metavar="TIME")] = None,
    found: Annotated[
        bool | None, typer.Option("--found/--silent", help="Only those that found something, or nothing.")
    ] = None,
    outcome: Annotated[str | None, typer.Option(help=f"What came of it: {', '.join(OUTCOMES)}.")] = None,
    min_ms: Annotated[int | None, typer.Option(help="Only those that took so many milliseconds.")] = None,
    text: Annotated[str | None, typer.Option(help="Only questions with these words.")] = None,
    limit: LimitOption = 20,
) -> None:
    """List the latest searches: yours, or as admin everybody's.

    What was asked is shown where the tenant keeps it (recollect tenants traces keep).
    """
    with opened(ctx) as (inv, client):
        traces = client.traces.list(**given(ctx, "traces.list"), user=by)
    inv.out.result({"traces": list(traces)})
    columns = "at:dim, by:cyan, question*, hits>, ms>, outcome, id:dim"
    rows = [
        (t.at, t.user, t.question or f"({t.category})", t.hits, f"{t.latency_ms:.0f}", t.outcome or "", t.id)
        for t in traces
    ]
    inv.out.table(columns, rows)


@traces_app.command("show")
def show_trace(
    ctx: typer.Context,
    id: Annotated[str, typer.Argument(help="The query_id of a search.")],
) -> None:
    """Show one search: its stages with their times, and what it returned."""
    with opened(ctx) as (inv, client):
        trace = client.traces.get(id)
    inv.out.result(trace)
    inv.out.pairs(
        [
            ("at", trace.at),
            ("by", trace.user),
            ("question", trace.question),
            ("read as", f"{trace.category}, {trace.strategy}"),
            ("outcome", trace.outcome),
            *((f"{name} ms", f"{took:.1f}") for name, took in trace.stages.items()),
        ]
    )
    columns = "score>, memory:dim, used"
    inv.out.table(
        columns,
        [
            (f"{hit.score:.2f}", hit.memory_id, {True: "yes", False: "no", None: ""}[hit.used])
            for hit in trace.returned
        ],
    )

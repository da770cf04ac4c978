"""`recollect consolidate worker`: summaries, and the process that keeps them up to date."""

from __future__ import annotations

from typing import Annotated

import typer

from recollect.surfaces.cli.invocation import ScopeOption, invocation

app = typer.Typer(rich_markup_mode=None)


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
    kinds = tuple(kind) if kind else ("session", "scope", "entity")
    with inv.client() as client, inv.out.progress("summarising") as progress:
        report = client.consolidate(
            scope=scope, kinds=kinds, entity=entity, conversation=conversation, force=force, progress=progress
        )
    if inv.out.as_json:
        inv.out.document(report)
        return
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
    import asyncio

    from recollect.jobs.worker import work

    inv = invocation(ctx)
    report = asyncio.run(work(inv.logged_settings(), once=once))
    if inv.out.as_json:
        inv.out.document(report)
        return
    tasks = ", ".join(f"{name.rpartition('.')[2]} {count}" for name, count in sorted(report.jobs.items()))
    inv.out.line(f"{sum(report.jobs.values())} jobs done{f' ({tasks})' if tasks else ''}")

"""`recollect traces`: what was asked, what was found, and how long each stage took."""

from __future__ import annotations

from typing import Annotated

import typer

from recollect.surfaces.cli.invocation import noun_app, opened
from recollect.surfaces.cli.output import Column

app = typer.Typer(rich_markup_mode=None)
traces_app = noun_app("traces", "Searches as they were recorded.")
app.add_typer(traces_app)


@traces_app.command("list")
def list_traces(
    ctx: typer.Context,
    by: Annotated[str | None, typer.Option(help="Only searches of this user.", metavar="USER")] = None,
    since: Annotated[str | None, typer.Option(help="Only from this time on.", metavar="TIME")] = None,
    silent: Annotated[bool, typer.Option("--silent", help="Only those that found nothing.")] = False,
    limit: Annotated[int, typer.Option("--limit", "-n", help="At most this many.", min=1)] = 20,
) -> None:
    """List the latest searches: yours, or as admin everybody's.

    What was asked is shown where the tenant keeps it (recollect tenants traces keep).
    """
    with opened(ctx) as (inv, client):
        found = client.traces.list(user=by, since=since, silent=silent, limit=limit)
    inv.out.result({"traces": list(found)})
    columns = [
        Column(name="at", style="dim"),
        Column(name="by", style="cyan"),
        Column(name="question", wide=True),
        Column(name="hits", right=True),
        Column(name="ms", right=True),
        Column(name="outcome"),
        Column(name="id", style="dim"),
    ]
    rows = [
        (t.at, t.user, t.question or f"({t.category})", t.hits, f"{t.latency_ms:.0f}", t.outcome or "", t.id)
        for t in found
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
    columns = [Column(name="score", right=True), Column(name="memory", style="dim"), Column(name="used")]
    inv.out.table(
        columns,
        [
            (f"{hit.score:.2f}", hit.memory_id, {True: "yes", False: "no", None: ""}[hit.used])
            for hit in trace.returned
        ],
    )

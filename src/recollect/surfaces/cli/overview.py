"""`recollect overview`: a tenant at a glance."""

from __future__ import annotations

from typing import Annotated

import typer

from recollect.surfaces.cli.invocation import opened
from recollect.surfaces.cli.output import Column

app = typer.Typer(rich_markup_mode=None)


@app.command()
def overview(
    ctx: typer.Context,
    minutes: Annotated[int, typer.Option(help="How far to look back for searches.", min=1)] = 60,
) -> None:
    """Show memories by layer and type, and how the latest searches went."""
    with opened(ctx) as (inv, client):
        found = client.overview(minutes=minutes)
    if inv.out.as_json:
        inv.out.document(found)
        return
    inv.out.pairs(
        [
            ("memories", found.memories),
            ("documents", found.documents),
            ("searches", f"{found.searched} in the last {found.minutes} minutes"),
            ("p50, p95, p99", _percentiles(found.p50_ms, found.p95_ms, found.p99_ms)),
            ("decomposed", f"{found.decomposed} of {found.searched}" if found.searched else None),
            ("consultations", found.consultations),
            ("tool calls", f"{found.tool_calls}, {found.cached_calls} answered by a cache"),
        ]
    )
    if found.counted:
        columns = [
            Column(name="layer", style="cyan"),
            Column(name="type"),
            Column(name="memories", right=True),
        ]
        inv.out.table(columns, [(one.layer.value, one.type.value, one.memories) for one in found.counted])


def _percentiles(*found_ms: float | None) -> str | None:
    known = [value for value in found_ms if value is not None]
    return ", ".join(f"{value:.0f}" for value in known) + " ms" if known else None

"""`recollect import`: memories from JSON Lines, or from the export of another package."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from recollect.errors import InvalidInputError
from recollect.surfaces.cli.invocation import invocation, line_source
from recollect.surfaces.cli.output import PARTLY_STORED, USAGE, one_line

if TYPE_CHECKING:
    from recollect.domain.results import AddReport

app = typer.Typer(rich_markup_mode=None)


@app.command("import")
def import_(
    ctx: typer.Context,
    file: Annotated[str, typer.Argument(help="A JSONL file; - reads standard input.")],
    package: Annotated[
        str | None,
        typer.Option(
            "--from", help="The export of another package: mem0, chroma, graphiti, zep, letta or langmem."
        ),
    ] = None,
    scope: Annotated[
        str | None, typer.Option(help="With --from: where all of it goes; otherwise to its users.")
    ] = None,
    skip_broken: Annotated[
        bool,
        typer.Option("--skip-broken", help="With --from: leave broken entries out, and store the others."),
    ] = False,
) -> None:
    """Store memories from JSON Lines, as 'export' writes them, or from the export of another package.

    Ids are kept. A line that can't be stored is named with its number, and the others are stored; the exit
    code is then 8. Of another package's export everything is checked first: if entries are broken they are named and
    nothing is stored. Importing again stores only what is missing.
    """
    if package is None and (scope is not None or skip_broken):
        raise InvalidInputError("--scope and --skip-broken are for exports of other packages; add --from")
    inv = invocation(ctx)
    lines = line_source(file, what="file" if package is None else "export")
    with inv.client() as client, inv.out.progress("importing") as progress:
        if package is None:
            report = client.import_jsonl(lines, progress=progress)
        else:
            from recollect.contrib.importers import import_from

            source = lines if isinstance(lines, Path) else lines.read()
            report = import_from(
                client, package, source, scope=scope, skip_broken=skip_broken, progress=progress
            )
    refused = package is not None and bool(report.errors) and not skip_broken and not report.ids
    if inv.out.as_json:
        inv.out.document(report)
    else:
        for error in report.errors:
            named = package is not None or error.message.startswith(f"line {error.index} ")
            place = "" if named else f"line {error.index}: "
            print(f"recollect: {place}{one_line(error.message)}", file=sys.stderr)
        if refused:
            advice = f"nothing was stored: {len(report.errors)} broken; --skip-broken stores the others"
            print(f"recollect: {advice}", file=sys.stderr)
        else:
            inv.out.line(_summary(report))
    if report.errors:
        raise typer.Exit(USAGE if refused else PARTLY_STORED)


def _summary(report: AddReport) -> str:
    counts = {
        "added": report.added,
        "reinforced": report.reinforced,
        "known already": report.unchanged,
        "not stored": len(report.errors),
    }
    return ", ".join(f"{count} {what}" for what, count in counts.items() if count or what == "added")

"""`recollect export`: every memory as JSON Lines. Importing is contrib/importers/cli.py."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from recollect.errors import InvalidInputError
from recollect.surfaces.cli.invocation import (
    STDIN,
    FilterOption,
    Invocation,
    invocation,
    parse_object,
)

app = typer.Typer(rich_markup_mode=None)


@app.command()
def export(
    ctx: typer.Context,
    file: Annotated[str, typer.Argument(help="Where to write; - is standard output.")] = STDIN,
    filter: FilterOption = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite the file.")] = False,
) -> None:
    """Write every memory you may see as JSON Lines."""
    inv = invocation(ctx)
    filters = parse_object(filter, what="--filter")
    if file == STDIN:
        with inv.client() as client:
            client.export_jsonl(sys.stdout, filters=filters)
        return
    count = _export_to(inv, Path(file), filters=filters, force=force)
    if inv.out.as_json:
        inv.out.document({"exported": count, "file": file})
    else:
        inv.out.line(f"{count} memories written to {file}")


def _export_to(inv: Invocation, path: Path, *, filters: dict[str, object] | None, force: bool) -> int:
    if path.exists() and not force:
        raise InvalidInputError(f"{str(path)!r} exists; choose another name or add --force")
    if not path.parent.is_dir():
        raise InvalidInputError(f"the folder {str(path.parent)!r} does not exist; make it first")
    with inv.client() as client, inv.out.progress("exporting") as progress:
        return client.export_jsonl(path, filters=filters, progress=progress)

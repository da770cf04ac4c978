"""`recollect serve`: the store over HTTP."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from recollect.errors import InvalidInputError
from recollect.surfaces.cli.invocation import invocation

app = typer.Typer(rich_markup_mode=None)


@app.command()
def serve(
    ctx: typer.Context,
    host: Annotated[str | None, typer.Option(help="Address to listen at.")] = None,
    port: Annotated[int | None, typer.Option(help="Port to listen at; 0 for any.", min=0, max=65_535)] = None,
    root: Annotated[
        list[Path] | None,
        typer.Option(help="A folder below which clients may name paths; repeat for more.", metavar="FOLDER"),
    ] = None,
) -> None:
    """Answer requests over HTTP until stopped; Ctrl-C or SIGTERM lets running ones end first."""
    try:
        import uvicorn

        from recollect.surfaces.http.app import create_app
    except ImportError as error:
        raise InvalidInputError(
            "the server's packages are not installed; run: pip install 'recollect[server]'"
        ) from error

    inv = invocation(ctx)
    settings = inv.logged_settings()
    given = {"serve_host": host, "serve_port": port, "serve_roots": tuple(root) if root else None}
    settings = settings.replace(**{name: value for name, value in given.items() if value is not None})
    config = uvicorn.Config(
        create_app(settings),
        host=settings.serve_host,
        port=settings.serve_port,
        log_config=None,
        server_header=False,
        timeout_graceful_shutdown=30,
    )
    uvicorn.Server(config).run()

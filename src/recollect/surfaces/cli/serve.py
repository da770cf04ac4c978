"""`recollect serve` and `recollect mcp`: the store over HTTP, and as tools of an agent."""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from recollect.errors import InvalidInputError
from recollect.surfaces.cli.invocation import invocation

if TYPE_CHECKING:
    from recollect.config import Settings

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
    workers: Annotated[
        int | None, typer.Option(help="Processes to answer with.", min=1, max=256, metavar="N")
    ] = None,
    dashboard: Annotated[
        bool | None,
        typer.Option(
            "--dashboard/--no-dashboard", help="Offer the dashboard, and print a link that logs you in."
        ),
    ] = None,
) -> None:
    """Answer requests over HTTP until stopped; Ctrl-C or SIGTERM lets running ones end first."""
    inv = invocation(ctx)
    settings = inv.logged_settings()
    given = {
        "serve_host": host,
        "serve_port": port,
        "roots": tuple(root) if root else None,
        "serve_workers": workers,
        "serve_dashboard": dashboard,
    }
    settings = settings.replace(**{name: value for name, value in given.items() if value is not None})
    with _listening(settings) as listener:
        _run(settings, listener)


@contextmanager
def _listening(settings: Settings) -> Iterator[socket.socket]:
    """The socket, or an error that says what to do."""
    try:
        listener = socket.create_server((settings.serve_host, settings.serve_port))
    except OSError as error:
        raise InvalidInputError(
            f"can't listen at {settings.serve_host}:{settings.serve_port}: {error.strerror}; --port takes another"
        ) from error
    with listener:
        yield listener


def _run(settings: Settings, listener: socket.socket) -> None:
    try:
        from recollect.surfaces.http.server import address, run, run_workers
    except ImportError as error:
        raise InvalidInputError(
            "the server's packages are not installed; run: pip install 'recollect[server]'"
        ) from error

    def started() -> None:
        print(f"Recollect answers at {address(settings.serve_host, listener)}/v1", flush=True)
        _tell_systemd("READY=1")

    (run if settings.serve_workers == 1 else run_workers)(settings, listener, started)


def _tell_systemd(state: str) -> None:
    """Say how things are to systemd, where a unit with Type=notify started this process."""
    place = os.environ.get("NOTIFY_SOCKET", "")
    if place:
        with suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
            manager.connect(f"\0{place[1:]}" if place.startswith("@") else place)
            manager.sendall(state.encode())


@app.command()
def mcp(ctx: typer.Context) -> None:
    """Speak MCP on standard input and output, for the agent that starts it.

    Over the network, 'recollect serve' offers the same at /mcp to holders of a key.
    """
    try:
        from recollect.surfaces.mcp.server import local_server
    except ImportError as error:
        raise InvalidInputError(
            "the packages for MCP are not installed; run: pip install 'recollect[mcp]'"
        ) from error

    from recollect.client.async_client import AsyncRecollect

    inv = invocation(ctx)
    settings = inv.logged_settings()

    async def run() -> None:
        # Opened by the first call that needs it: an agent that starts us waits for our hello.
        client = AsyncRecollect(settings=settings, context=inv.context(settings))
        try:
            await local_server(client).run_stdio_async()
        finally:
            await client.close()

    asyncio.run(run())

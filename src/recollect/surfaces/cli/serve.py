"""`recollect serve`: the store over HTTP."""

from __future__ import annotations

import signal
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from recollect.errors import InvalidInputError
from recollect.surfaces.cli.invocation import invocation

if TYPE_CHECKING:
    from recollect.config import Settings

app = typer.Typer(rich_markup_mode=None)

#: How long running requests may take to end once the server is told to stop.
_GRACE_S = 30


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
    inv = invocation(ctx)
    settings = inv.logged_settings()
    given = {"serve_host": host, "serve_port": port, "serve_roots": tuple(root) if root else None}
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
        import uvicorn

        from recollect.surfaces.http.app import create_app
    except ImportError as error:
        raise InvalidInputError(
            "the server's packages are not installed; run: pip install 'recollect[server]'"
        ) from error

    class Server(uvicorn.Server):
        """Says where it answers once it does, and ends as a command does when it was asked to."""

        async def startup(self, sockets: list[socket.socket] | None = None) -> None:
            await super().startup(sockets=sockets)
            port = listener.getsockname()[1]
            print(f"Recollect answers at http://{settings.serve_host}:{port}/v1", flush=True)

        @contextmanager
        def capture_signals(self) -> Iterator[None]:
            before: dict[int, Any] = {
                number: signal.signal(number, self.handle_exit) for number in (signal.SIGINT, signal.SIGTERM)
            }
            try:
                yield
            finally:
                for number, handler in before.items():
                    signal.signal(number, handler)

    config = uvicorn.Config(
        create_app(settings), log_config=None, server_header=False, timeout_graceful_shutdown=_GRACE_S
    )
    Server(config).run(sockets=[listener])

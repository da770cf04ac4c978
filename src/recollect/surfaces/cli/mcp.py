"""`recollect mcp`: the store as tools of an agent."""

from __future__ import annotations

import asyncio

import typer

from recollect.errors import InvalidInputError
from recollect.surfaces.cli.invocation import invocation

app = typer.Typer(rich_markup_mode=None)


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

"""The MCP server: on stdio for the operating system's user, and mounted in the HTTP application for holders of keys."""

from __future__ import annotations

import json
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from mcp.server.mcpserver import Context, MCPServer

from recollect.domain.codec import encode
from recollect.surfaces.mcp.tools import Admit, server_tools
from recollect.surfaces.tools import INSTRUCTIONS

if TYPE_CHECKING:
    from recollect.client.async_client import AsyncRecollect


def create_server(admit: Admit, *, roots: Sequence[Path] | None = None) -> MCPServer[Any]:
    """A server whose callers `admit` tells apart."""
    server: MCPServer[Any] = MCPServer(
        "recollect",
        instructions=INSTRUCTIONS,
        version=version("recollect"),
        tools=server_tools(admit, roots),
        log_level="WARNING",  # what a model did wrong is told to the model
    )

    @server.resource(
        "recollect://memories/{id}", name="memory", mime_type="application/json", description="One memory."
    )
    async def memory(id: str, context: Context[Any, Any]) -> str:
        client = await admit(context)
        return json.dumps(encode(await client.get(id)), ensure_ascii=False)

    @server.resource(
        "recollect://documents/{id}",
        name="document",
        mime_type="text/plain",
        description="A document's text.",
    )
    async def document(id: str, context: Context[Any, Any]) -> str:
        client = await admit(context)
        return await client.library.text(id)

    return server


def local_server(client: AsyncRecollect) -> MCPServer[Any]:
    """A server for one caller: whoever started it.

    Without another session, what the caller asks while it runs is one: searches learn from questions asked anew.
    """
    caller = client.tenant_context
    if caller.session_id is None:
        client = client.for_context(caller.replace(session_id=f"mcp-{uuid4().hex}"))

    async def admit(_: Context[Any, Any]) -> AsyncRecollect:
        return client

    return create_server(admit)

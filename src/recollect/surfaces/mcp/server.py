"""The MCP server: on stdio for the operating system's user, and mounted in the HTTP application for holders of keys.

It offers the six tools of recollect/surfaces/tools.py with the names, defaults and errors of Python. An answer is a
short text, which is what a model reads (`words.py`). The whole result is in the answer's `_meta`, which clients keep
from models.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp.server.mcpserver.tools import Tool as ServerTool
from mcp_types import CallToolResult, TextContent, ToolAnnotations

from recollect.client.verbs import arguments_of
from recollect.domain.codec import encode
from recollect.errors import RecollectError
from recollect.surfaces.mcp.words import say
from recollect.surfaces.roots import check_roots
from recollect.surfaces.tools import INSTRUCTIONS, TOOLS, Tool

if TYPE_CHECKING:
    from recollect.client.async_client import AsyncRecollect


#: Who asks, given the context of a call.
Admit = Callable[[Context[Any, Any]], Awaitable["AsyncRecollect"]]
#: Under which name the whole result of a call stands in the metadata of its answer.
RESULT = "recollect/result"


class _PlainTool(ServerTool):
    """A tool whose arguments the client checks: unknown ones are named, and words are ours."""

    async def run(
        self, arguments: dict[str, Any], context: Context[Any, Any], convert_result: bool = False
    ) -> Any:
        """Do what was asked."""
        return await self.fn(arguments, context)


def server_tools(admit: Admit, roots: Sequence[Path] | None) -> list[ServerTool]:
    """The tools for a server. `roots` limits the folders that may be named; None: any."""
    return [_server_tool(tool, admit, roots) for tool in TOOLS]


def _server_tool(tool: Tool, admit: Admit, roots: Sequence[Path] | None) -> ServerTool:
    async def call(arguments: dict[str, Any], context: Context[Any, Any]) -> CallToolResult:
        try:
            client = await admit(context)
            verb, given = tool.request(arguments)
            if roots is not None:
                check_roots(verb, given, roots)
            kwargs = arguments_of(verb, given)
            if verb.streams:
                kwargs["on_event"] = _teller(context)
            document = encode(await verb.bind(client)(**kwargs))
        except RecollectError as error:
            raise ToolError(f"{error.code}: {error}") from error
        text = TextContent(type="text", text=say(verb.name, document))
        return CallToolResult(content=[text], _meta={RESULT: document})

    annotations = ToolAnnotations(
        read_only_hint=tool.reads,
        destructive_hint=tool.destroys,
        idempotent_hint=tool.repeats or tool.reads,
        open_world_hint=False,
    )
    made = _PlainTool.from_function(
        call,
        name=tool.name,
        title=tool.title,
        description=tool.told,
        annotations=annotations,
        structured_output=False,
    )
    made.parameters = tool.schema()
    return made


def _teller(context: Context[Any, Any]) -> Callable[[Any], Awaitable[None]]:
    """Tell the client what happens, as progress without an end: nobody knows how many steps there will be."""
    steps = 0

    async def tell(event: Any) -> None:
        nonlocal steps
        steps += 1
        await context.report_progress(
            steps, None, str(event.document().get("type", "event")).replace("_", " ")
        )

    return tell


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

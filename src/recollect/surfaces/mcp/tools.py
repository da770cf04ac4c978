"""The six tools of recollect/surfaces/tools.py over MCP: the same names, defaults and errors as in Python."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp_types import CallToolResult, TextContent, ToolAnnotations
from pydantic import BaseModel, RootModel, create_model

from recollect.errors import RecollectError
from recollect.surfaces.mcp.words import say
from recollect.surfaces.plain import document_of
from recollect.surfaces.roots import check_roots
from recollect.surfaces.tools import TOOLS, Tool
from recollect.verbs import arguments_of, parameters, returned

if TYPE_CHECKING:
    from recollect.client import AsyncRecollect

#: Who asks, given the context of a call.
Admit = Callable[[Context[Any, Any]], Awaitable["AsyncRecollect"]]


def add_tools(server: MCPServer[Any], admit: Admit, roots: Sequence[Path] | None) -> None:
    """Give the server its tools. `roots` limits the folders that may be named; None: any."""
    for tool in TOOLS:
        server.add_tool(
            _function(tool, admit, roots),
            name=tool.name,
            title=tool.title,
            description=tool.told,
            annotations=ToolAnnotations(
                title=tool.title,
                read_only_hint=tool.reads,
                destructive_hint=tool.destroys,
                idempotent_hint=tool.repeats or tool.reads,
                open_world_hint=False,
            ),
            structured_output=True,
        )


def _function(tool: Tool, admit: Admit, roots: Sequence[Path] | None) -> Callable[..., Any]:
    verb = tool.verb
    answer = returned(verb)
    # What is not one kind of object stands in a field of its own: an answer's structured part is an object.
    wrapped = not isinstance(answer, type)
    name, fields = f"{tool.name}_result", {"result" if wrapped else "root": (answer, ...)}
    form: Any = create_model(name, __base__=BaseModel if wrapped else RootModel, **fields)  # type: ignore[call-overload]

    async def call(**given: Any) -> CallToolResult:
        context: Context[Any, Any] = given.pop("context")
        said = {name: value for name, value in given.items() if value is not None}
        try:
            client = await admit(context)
            if roots is not None:
                check_roots(verb, said, roots)
            kwargs = arguments_of(verb, said)
            if verb.streams:
                kwargs["on_event"] = _teller(context)
            result = await verb.bind(client)(**kwargs)
        except RecollectError as error:
            raise ToolError(f"{error.code}: {error}") from error
        document = document_of(result)
        return CallToolResult(
            content=[TextContent(type="text", text=say(tool.name, document))],
            structured_content={"result": document} if wrapped else document,
        )

    only = inspect.Parameter.KEYWORD_ONLY
    found = [
        inspect.Parameter(one.name, only, annotation=one.type, default=one.default)
        for one in parameters(verb)
    ]
    found.append(inspect.Parameter("context", only, annotation=Context))
    call.__name__ = tool.name
    call.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        found, return_annotation=Annotated[CallToolResult, form]
    )
    call.__annotations__ = {"context": Context}
    return call


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

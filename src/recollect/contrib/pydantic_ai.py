"""`RecollectToolset`: the six tools of the MCP surface as a toolset of pydantic-ai. Needs the extra `pydantic-ai`.

Names, descriptions and parameters are those of recollect/surfaces/tools.py. A model gets a result in words; the whole
of it is the metadata of the tool's return, for the application.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from os import PathLike
from pathlib import Path
from typing import Any

from recollect.client.async_client import AsyncRecollect
from recollect.client.sync_client import Recollect
from recollect.client.verbs import Verb, arguments_of
from recollect.domain.codec import encode
from recollect.errors import (
    ConflictError,
    ForbiddenError,
    IntegrationMissingError,
    InvalidInputError,
    NotFoundError,
)
from recollect.surfaces.mcp.words import say
from recollect.surfaces.roots import check_roots
from recollect.surfaces.tools import INSTRUCTIONS, TOOLS
from recollect.surfaces.tools import Tool as Offered

try:
    from pydantic_ai import FunctionToolset, ModelRetry, Tool, ToolReturn
except ModuleNotFoundError as error:
    raise IntegrationMissingError(
        "recollect.contrib.pydantic_ai needs pydantic-ai: pip install 'recollect[pydantic-ai]'"
    ) from error

#: What a model can mend itself, or go on without; anything else is the application's to know.
_MENDABLE = (InvalidInputError, NotFoundError, ForbiddenError, ConflictError)


class RecollectToolset(FunctionToolset[Any]):
    """Memory, documents and code for an agent: `Agent(model, toolsets=[RecollectToolset(client)])`.

    `tools` are the names to offer, all six when not given. `roots` are the folders below which a model may name paths;
    any when not given, none when empty. With `approve_deletes` a person must approve before anything is erased.
    """

    def __init__(
        self,
        client: Recollect | AsyncRecollect,
        *,
        tools: Sequence[str] | None = None,
        roots: Sequence[str | PathLike[str]] | None = None,
        approve_deletes: bool = False,
        max_retries: int | None = None,
        id: str | None = "recollect",
    ) -> None:
        limits = None if roots is None else [Path(root).resolve() for root in roots]
        made = []
        for offered in _chosen(tools):
            tool: Tool[Any] = Tool.from_schema(
                _function(offered, client, limits),
                name=offered.name,
                description=offered.told,
                json_schema=offered.schema(),
            )
            tool.requires_approval = approve_deletes and offered.destroys
            made.append(tool)
        super().__init__(made, max_retries=max_retries, id=id, instructions=INSTRUCTIONS)


def _chosen(names: Sequence[str] | None) -> list[Offered]:
    known = {tool.name: tool for tool in TOOLS}
    if isinstance(names, str):
        raise InvalidInputError(f"tools must be a list of names, not the string {names!r}; write [{names!r}]")
    unknown = sorted(set(names or ()) - set(known))
    if unknown:
        raise InvalidInputError(f"unknown tool {unknown[0]!r}; tools are {', '.join(known)}")
    return [tool for tool in TOOLS if names is None or tool.name in names]


def _function(
    tool: Offered, client: Recollect | AsyncRecollect, roots: list[Path] | None
) -> Callable[..., Awaitable[ToolReturn[str]]]:
    async def call(**given: Any) -> ToolReturn[str]:
        try:
            verb, arguments = tool.request(given)
            if roots is not None:
                check_roots(verb, arguments, roots)
            result = await _ask(verb, client, arguments_of(verb, arguments))
        except _MENDABLE as error:
            raise ModelRetry(f"{error.code}: {error}") from error
        document = encode(result)
        return ToolReturn(say(verb.name, document), metadata=document)

    call.__name__ = tool.name
    return call


async def _ask(verb: Verb, client: Recollect | AsyncRecollect, kwargs: dict[str, Any]) -> Any:
    if isinstance(client, AsyncRecollect):
        return await verb.bind(client)(**kwargs)
    # The client's connections belong to the loop of its portal.
    return await asyncio.to_thread(client._portal.run, verb.bind(client._async)(**kwargs))

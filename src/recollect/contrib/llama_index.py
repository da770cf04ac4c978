"""`RecollectRetriever`: a retriever of LlamaIndex on a store of Recollect. Needs llama-index-core."""

from __future__ import annotations

import asyncio
from typing import Any

from recollect.client.async_client import AsyncRecollect
from recollect.client.sync_client import Recollect
from recollect.domain.library import SectionHit
from recollect.domain.results import Hit
from recollect.errors import IntegrationMissingError, InvalidInputError

try:
    from llama_index.core.retrievers import BaseRetriever  # type: ignore[import-not-found, unused-ignore]
    from llama_index.core.schema import (  # type: ignore[import-not-found, unused-ignore]
        NodeWithScore,
        QueryBundle,
        TextNode,
    )
except ModuleNotFoundError as error:
    raise IntegrationMissingError(
        "recollect.contrib.llama_index needs LlamaIndex: pip install llama-index-core"
    ) from error


class RecollectRetriever(BaseRetriever):  # type: ignore[misc, unused-ignore]
    """What is remembered about a question, as nodes of LlamaIndex: `RecollectRetriever(client).retrieve("...")`.

    With `library` they are sections of the library instead. Further arguments are those of the client's `search` (or
    `library.search`), such as `scope`, `filters` and `threshold`.
    """

    def __init__(
        self, client: Recollect | AsyncRecollect, *, limit: int = 10, library: bool = False, **options: Any
    ) -> None:
        super().__init__()
        self._client = client
        self._library = library
        self._options = {"limit": limit, **options}

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        if isinstance(self._client, AsyncRecollect):
            raise InvalidInputError(
                "a retriever on an AsyncRecollect has `aretrieve` only; give it a Recollect"
            )
        search = self._client.library.search if self._library else self._client.search
        return [_node(hit) for hit in search(query_bundle.query_str, **self._options)]

    async def _aretrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        if not isinstance(self._client, AsyncRecollect):
            return await asyncio.to_thread(self._retrieve, query_bundle)
        search = self._client.library.search if self._library else self._client.search
        return [_node(hit) for hit in await search(query_bundle.query_str, **self._options)]


def _node(hit: Hit | SectionHit) -> NodeWithScore:
    """A hit as a node: its own metadata, and with it where it comes from."""
    if isinstance(hit, Hit):
        more: dict[str, Any] = {"scope": hit.scope, "created_at": hit.created_at.isoformat()}
        more |= {"speaker": hit.speaker} if hit.speaker else {}
        more |= {"outdated": True} if hit.outdated else {}
        node = TextNode(id_=str(hit.id), text=hit.text, metadata={**hit.metadata, **more})
    else:
        more = {"document": hit.document, "section": hit.path, "lines": list(hit.lines)}
        node = TextNode(text=hit.text, metadata=more)
    return NodeWithScore(node=node, score=hit.score)

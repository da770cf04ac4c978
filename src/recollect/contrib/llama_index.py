"""`RecollectRetriever`: a retriever of LlamaIndex on a store of Recollect. Needs llama-index-core."""

from __future__ import annotations

from operator import attrgetter
from typing import Any

from recollect.client.async_client import AsyncRecollect
from recollect.contrib.clients import Client, ask, metadata_of
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

    def __init__(self, client: Client, *, limit: int = 10, library: bool = False, **options: Any) -> None:
        super().__init__()
        self._client = client
        self._verb = "library.search" if library else "search"
        self._options = {"limit": limit, **options}

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        if isinstance(self._client, AsyncRecollect):
            raise InvalidInputError(
                "a retriever on an AsyncRecollect has `aretrieve` only; give it a Recollect"
            )
        search = attrgetter(self._verb)(self._client)
        return [_node(hit) for hit in search(query_bundle.query_str, **self._options)]

    async def _aretrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        hits = await ask(self._client, self._verb, query_bundle.query_str, **self._options)
        return [_node(hit) for hit in hits]


def _node(hit: Hit | SectionHit) -> NodeWithScore:
    named = {"id_": str(hit.id)} if isinstance(hit, Hit) else {}
    return NodeWithScore(node=TextNode(text=hit.text, metadata=metadata_of(hit), **named), score=hit.score)

"""`RecollectRetriever`: a retriever of LangChain on a store of Recollect. Needs the extra `langgraph`."""

from __future__ import annotations

import asyncio
from typing import Any

from recollect.client.async_client import AsyncRecollect
from recollect.client.sync_client import Recollect
from recollect.domain.library import SectionHit
from recollect.domain.results import Hit
from recollect.errors import IntegrationMissingError, InvalidInputError

try:
    from langchain_core.callbacks import AsyncCallbackManagerForRetrieverRun, CallbackManagerForRetrieverRun
    from langchain_core.documents import Document
    from langchain_core.retrievers import BaseRetriever
    from pydantic import ConfigDict, Field
except ModuleNotFoundError as error:
    raise IntegrationMissingError(
        "recollect.contrib.langchain needs langchain-core: pip install 'recollect[langgraph]'"
    ) from error


class RecollectRetriever(BaseRetriever):
    """What is remembered about a question, as documents of LangChain: `RecollectRetriever(client=client).invoke(...)`.

    With `library` they are sections of the library instead. `options` are further arguments of the client's `search`
    (or `library.search`), such as `scope`, `filters` and `threshold`.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True)

    client: Recollect | AsyncRecollect
    limit: int = 10
    library: bool = False
    options: dict[str, Any] = Field(default_factory=dict)

    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun
    ) -> list[Document]:
        return self._find(query)

    async def _aget_relevant_documents(
        self, query: str, *, run_manager: AsyncCallbackManagerForRetrieverRun
    ) -> list[Document]:
        if not isinstance(self.client, AsyncRecollect):
            return await asyncio.to_thread(self._find, query)
        search = self.client.library.search if self.library else self.client.search
        return [_document(hit) for hit in await search(query, limit=self.limit, **self.options)]

    def _find(self, query: str) -> list[Document]:
        if isinstance(self.client, AsyncRecollect):
            raise InvalidInputError(
                "a retriever on an AsyncRecollect has `ainvoke` only; give it a Recollect"
            )
        search = self.client.library.search if self.library else self.client.search
        return [_document(hit) for hit in search(query, limit=self.limit, **self.options)]


def _document(hit: Hit | SectionHit) -> Document:
    """A hit: its own metadata, and with it where it comes from and how good it is."""
    if isinstance(hit, Hit):
        more: dict[str, Any] = {"scope": hit.scope, "created_at": hit.created_at.isoformat()}
        more |= {"speaker": hit.speaker} if hit.speaker else {}
        more |= {"outdated": True} if hit.outdated else {}
        return Document(
            id=str(hit.id), page_content=hit.text, metadata={**hit.metadata, **more, "score": hit.score}
        )
    more = {"document": hit.document, "section": hit.path, "lines": list(hit.lines), "score": hit.score}
    return Document(page_content=hit.text, metadata=more)

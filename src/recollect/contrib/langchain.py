"""`RecollectRetriever`: a retriever of LangChain on a store of Recollect. Needs the extra `langgraph`."""

from __future__ import annotations

from operator import attrgetter
from typing import Any

from recollect.client.async_client import AsyncRecollect
from recollect.contrib.clients import Client, ask, metadata_of
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

    client: Client
    limit: int = 10
    library: bool = False
    options: dict[str, Any] = Field(default_factory=dict)

    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun
    ) -> list[Document]:
        if isinstance(self.client, AsyncRecollect):
            raise InvalidInputError(
                "a retriever on an AsyncRecollect has `ainvoke` only; give it a Recollect"
            )
        search = attrgetter(self._verb)(self.client)
        return [_document(hit) for hit in search(query, limit=self.limit, **self.options)]

    async def _aget_relevant_documents(
        self, query: str, *, run_manager: AsyncCallbackManagerForRetrieverRun
    ) -> list[Document]:
        hits = await ask(self.client, self._verb, query, limit=self.limit, **self.options)
        return [_document(hit) for hit in hits]

    @property
    def _verb(self) -> str:
        return "library.search" if self.library else "search"


def _document(hit: Hit | SectionHit) -> Document:
    id = str(hit.id) if isinstance(hit, Hit) else None
    return Document(id=id, page_content=hit.text, metadata={**metadata_of(hit), "score": hit.score})

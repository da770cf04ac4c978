"""Any server that speaks OpenAI's embeddings protocol: `openai:<model>`.

The key and the address come from the caller, else from OPENAI_API_KEY and OPENAI_BASE_URL. What the
server answers is checked, not believed: count, order, length and numbers.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from recollect.errors import ConfigurationError, EmbedderFailedError, InvalidInputError, InvalidTextError
from recollect.providers.embedders.contract import EmbedderOptions, EmbeddingSpace
from recollect.providers.embedders.vectors import spans_by_bytes, unit_rows

if TYPE_CHECKING:
    from openai import OpenAI

# OpenAI's models read 8,191 tokens, and a token is at least one byte.
PIECE_BYTES = 8_000
# A request may hold 300,000 tokens: 32 pieces of 8,000 bytes always fit.
BATCH_TEXTS = 32
# Enough for a rate limit to pass; a search must not wait through a long series of attempts.
MAX_RETRIES = 2


def open_openai(options: EmbedderOptions) -> OpenAiEmbedder:
    """Connect and ask for one vector, which tells the dimensions and that the server answers."""
    from openai import OpenAI

    if not options.variant:
        raise InvalidInputError(
            "the embedder 'openai' needs a model: 'openai:text-embedding-3-small', for one"
        )
    base_url = options.base_url or os.environ.get("OPENAI_BASE_URL") or None
    api_key = options.api_key or os.environ.get("OPENAI_API_KEY") or None
    if api_key is None and base_url is None:
        raise ConfigurationError(
            f"the embedder {'openai:' + options.variant!r} has no key: set OPENAI_API_KEY or pass api_key, "
            "or set OPENAI_BASE_URL for a server of your own"
        )
    try:
        client = OpenAI(
            # A server of one's own usually wants no key, the client always does.
            api_key=api_key or "none",
            base_url=base_url,
            timeout=options.timeout_s,
            max_retries=MAX_RETRIES,
        )
    except Exception as error:  # an address that is none surfaces as an error of the HTTP library
        raise ConfigurationError(
            f"the embedder {'openai:' + options.variant!r} can't be set up: {error}; check OPENAI_BASE_URL"
        ) from error
    return OpenAiEmbedder(client=client, model=options.variant)


class OpenAiEmbedder:
    """A connected model. The client keeps its own pool of connections and is shared by threads."""

    def __init__(self, *, client: OpenAI, model: str) -> None:
        self._client = client
        self._model = model
        self._name = f"openai:{model}"
        dimensions = self._request(["dimensions"]).shape[1]
        # Nothing more is known about a remote model's weights than its name.
        self.space = EmbeddingSpace(
            name=self._name, dimensions=dimensions, fingerprint=f"openai-{model}-{dimensions}"
        )

    def split(self, text: str) -> list[str]:
        """Pieces of at most 8,000 bytes, cut at white space."""
        return [text[start:end] for start, end in spans_by_bytes(text, limit=PIECE_BYTES)]

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """One unit vector per text, in requests of up to 32 texts."""
        raw = np.zeros((len(texts), self.space.dimensions), dtype=np.float64)
        # The protocol refuses empty input; a blank text keeps its zeros and gets the blank vector.
        wanted = [index for index, text in enumerate(texts) if text.strip()]
        for start in range(0, len(wanted), BATCH_TEXTS):
            batch = wanted[start : start + BATCH_TEXTS]
            vectors = self._request([_cut(texts[index]) for index in batch])
            if vectors.shape[1] != self.space.dimensions:
                raise self._wrong(f"vectors of {vectors.shape[1]} numbers, before {self.space.dimensions}")
            raw[batch] = vectors
        return unit_rows(raw, name=self._name)

    def embed_query(self, text: str) -> NDArray[np.float32]:
        """The unit vector of a question, in one request."""
        vector: NDArray[np.float32] = self.embed([text])[0]
        return vector

    def _request(self, texts: list[str]) -> NDArray[np.float64]:
        from openai import APIConnectionError, APIStatusError, APITimeoutError

        try:
            # "float": the client asks for base64 by default, which many other servers don't speak.
            answer = self._client.embeddings.create(model=self._model, input=texts, encoding_format="float")
            rows = {item.index: item.embedding for item in answer.data}
        except UnicodeEncodeError as error:
            raise InvalidTextError(f"a text can't be sent: {error}; pass valid Unicode text") from error
        except APITimeoutError as error:
            raise self._failed("did not answer in time; raise the timeout or check the server") from error
        except APIConnectionError as error:
            raise self._failed("can't be reached; check OPENAI_BASE_URL and the network") from error
        except APIStatusError as error:
            hint = "check OPENAI_API_KEY" if error.status_code in (401, 403) else "try again later"
            if error.status_code in (400, 404, 422):
                hint = "check the model's name"
            raise self._failed(f"answered {error.status_code}: {_first_line(error)}; {hint}") from error
        except Exception as error:
            # A body that is no JSON, or JSON of another shape, surfaces as whatever the client's
            # parser met first; all of them mean the same.
            raise self._failed(f"sent an answer that can't be read: {_first_line(error)}") from error
        return self._checked(rows, count=len(texts))

    def _checked(self, rows: dict[int, list[float]], *, count: int) -> NDArray[np.float64]:
        if sorted(rows) != list(range(count)):
            raise self._wrong(f"{len(rows)} vectors for {count} texts")
        try:
            vectors = np.array([rows[index] for index in range(count)], dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise self._wrong("vectors of unequal length, or not of numbers") from error
        if vectors.ndim != 2 or vectors.shape[1] == 0:
            raise self._wrong("no numbers in the vectors")
        return vectors

    def _wrong(self, what: str) -> EmbedderFailedError:
        return self._failed(f"sent {what}; is it an embedding model?")

    def _failed(self, what: str) -> EmbedderFailedError:
        return EmbedderFailedError(f"the embedder {self._name!r} at {self._client.base_url} {what}")


def _cut(text: str) -> str:
    """What the model would cut off itself, or refuse: everything beyond its window."""
    start, end = spans_by_bytes(text, limit=PIECE_BYTES)[0]
    return text[start:end]


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0][:200]

